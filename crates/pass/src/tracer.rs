//! Building programs: calls are recorded as nodes, and their shapes are inferred as they are made.
use super::derive::{float, size, tensor_meta, truth};
use super::names::Names;
use indexmap::IndexMap;
use sizewise_check::propagate::arguments;
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Value as Number};
use sizewise_ir::{
    Argument, Bounds, ExprTable, GraphBuilder, Input, InputSpec, Meta, Node, Operand, Output, PassedAs,
    Program, Provenance, ReadError, Target, ValueId,
};
use sizewise_kernels::{Cx, KernelError, Operators, Tensor, Value, bind, python_function};
use std::sync::Arc;

mod finish;
mod flow;
mod inlined;
mod inputs;
mod known;
mod over;

pub(super) use over::{Edit, retrace_edits, retrace_graphs};
pub use over::{OldCall, retrace};

/// An input, as the signature has it.
struct Given {
    name: Arc<str>,
    spec: InputSpec,
    kind: Option<Kind>,
}

/// Stands for a value while a program is built: a tensor, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proxy {
    value: ValueId,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tensor,
    Int,
    Float,
    Bool,
}

impl From<Proxy> for Argument {
    fn from(proxy: Proxy) -> Argument {
        match proxy.kind {
            Kind::Tensor => Argument::Tensor(proxy.value),
            Kind::Int => Argument::SymInt(Operand::Value(proxy.value)),
            Kind::Float => Argument::SymFloat(Operand::Value(proxy.value)),
            Kind::Bool => Argument::SymBool(Operand::Value(proxy.value)),
        }
    }
}

/// Why a call cannot be recorded.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TraceError {
    /// Nothing is known of the operator.
    #[error("there is no fake kernel for `{0}`")]
    Unknown(String),
    /// The arguments do not fit the operator's schema.
    #[error("{0}")]
    Arguments(String),
    /// The operator rejects its operands, or what it does is open.
    #[error("{}", rejection(.0))]
    Rejected(KernelError),
    /// A size cannot be read, or a name is given twice.
    #[error("{0}")]
    Malformed(String),
}

fn rejection(error: &KernelError) -> &str {
    match error {
        KernelError::Invalid { message, .. } | KernelError::DataDependent { message, .. } => message,
        KernelError::Unsupported(message) => message,
    }
}

impl From<KernelError> for TraceError {
    fn from(error: KernelError) -> TraceError {
        TraceError::Rejected(error)
    }
}

impl From<ReadError> for TraceError {
    fn from(error: ReadError) -> TraceError {
        TraceError::Malformed(error.message)
    }
}

/// What was traced.
#[derive(Debug, Clone)]
pub struct Traced {
    /// The program.
    pub program: Program,
    /// What it needs of its inputs beyond the ranges of their sizes, as torch prints expressions.
    pub guards: Vec<String>,
    /// Where these hold too, strides are as at the example; a view of a result may be refused elsewhere.
    pub layout_choices: Vec<String>,
}

/// Builds a program front to back.
///
/// ```
/// use sizewise_kernels::Operators;
/// use sizewise_ir::{Argument, Dtype};
/// use sizewise_pass::Tracer;
///
/// let operators = Operators::new();
/// let mut tracer = Tracer::new(&operators);
/// tracer.size("s0", 2, Some(64), 8)?;
/// let x = tracer.tensor("x", Dtype::Float32, &["s0", "3"])?;
/// let w = tracer.tensor("w", Dtype::Float32, &["3", "2*s0"])?;
/// let product = tracer.call("aten.mm.default", [("self", x.into()), ("mat2", w.into())])?[0];
/// let flat = tracer.call("aten.view.default", [("self", product.into()), ("size", Argument::Ints(vec![-1]))])?[0];
/// assert_eq!(tracer.shape(flat), "f32[2*s0**2]");
/// let traced = tracer.finish(&[flat]);
/// assert_eq!(traced.program.graph.nodes().len(), 2);
/// # Ok::<(), sizewise_pass::TraceError>(())
/// ```
pub struct Tracer<'o> {
    operators: &'o Operators,
    env: ShapeEnv,
    exprs: ExprTable,
    builder: GraphBuilder,
    /// The value of each proxy, by number.
    values: Vec<Value>,
    inputs: Vec<Given>,
    names: Names,
    ranges: IndexMap<Arc<str>, Bounds>,
    writes: bool,
    /// Where new calls come from: the call that they are recorded for.
    origin: Provenance,
    /// The program that is traced anew.
    over: Option<over::Over>,
    /// The autocast regions around the call at hand.
    around: inlined::Around,
}

impl<'o> Tracer<'o> {
    /// A tracer of calls of these operators.
    pub fn new(operators: &'o Operators) -> Tracer<'o> {
        Tracer {
            operators,
            env: ShapeEnv::new(),
            exprs: ExprTable::default(),
            builder: GraphBuilder::default(),
            values: Vec::new(),
            inputs: Vec::new(),
            names: Names::default(),
            ranges: IndexMap::new(),
            writes: false,
            origin: Provenance::default(),
            over: None,
            around: inlined::Around::default(),
        }
    }

    /// Declares a size with its least and greatest value and an example, which decides what its range leaves open.
    ///
    /// # Errors
    /// When the example or the range is none.
    pub fn size(&mut self, name: &str, min: i64, max: Option<i64>, example: i64) -> Result<(), TraceError> {
        let range = ValueRange::between_options(Some(min.into()), max.map(Into::into));
        let range = range.filter(|range| range.contains(&example.into())).ok_or_else(|| {
            TraceError::Malformed(format!("the example {example} of `{name}` is not in its range"))
        })?;
        let info = SymbolInfo { hint: Some(Number::Int(example.into())), source: None };
        self.env.declare(name, range, info);
        self.ranges.insert(name.into(), Bounds { min: Some(min), max });
        Ok(())
    }

    /// Records a call: `aten.add.Tensor`, or a function on numbers such as `_operator.mul`. What it gives comes back,
    /// one proxy a result, lists taken apart.
    ///
    /// # Errors
    /// When the operator is not known or rejects its operands; then nothing is recorded.
    pub fn call<'a>(
        &mut self,
        target: &str,
        given: impl IntoIterator<Item = (&'a str, Argument)>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let given: Vec<(&str, Argument)> = given.into_iter().collect();
        let target = Target::parse(&format!("{}{target}", if is_python(target) { "" } else { "torch.ops." }));
        let returns = self.infer(&target, &given)?;
        self.record(target, given, returns)
    }

    /// What a call gives.
    fn infer(&mut self, target: &Target, given: &[(&str, Argument)]) -> Result<Vec<Value>, TraceError> {
        let values = &self.values;
        let lookup = |id: ValueId| values.get(id.index()).cloned().unwrap_or(Value::Opaque);
        let mut read = Vec::with_capacity(given.len());
        for (name, argument) in given {
            read.push((*name, arguments::value(&mut self.env, argument, &lookup)));
        }
        let op = target.to_string();
        if target.python().is_some() {
            let values: Vec<Value> = read.into_iter().map(|(_, value)| value).collect();
            return Ok(python_function(&mut Cx::new(&mut self.env), &op, &values)?.into_vec());
        }
        let (schema, kernel) = self.operators.find(&op).ok_or_else(|| TraceError::Unknown(op.clone()))?;
        let args = bind(&mut self.env.pool, schema, std::iter::empty(), read)
            .map_err(|error| TraceError::Arguments(error.to_string()))?;
        self.writes |= schema.args.iter().any(|argument| argument.is_written());
        Ok(kernel.call(&mut Cx::new(&mut self.env), &args)?.into_vec())
    }

    fn record(
        &mut self,
        target: Target,
        given: Vec<(&str, Argument)>,
        returns: Vec<Value>,
    ) -> Result<Vec<Proxy>, TraceError> {
        let base = match target.op() {
            Some((_, op, _)) => op.to_owned(),
            None => target.python().map_or_else(|| "call".to_owned(), |(_, function)| function.to_owned()),
        };
        let name = self.fresh(&base);
        let mut proxies = Vec::new();
        let mut outputs = Vec::with_capacity(returns.len());
        let several = returns.len() > 1;
        for (index, value) in returns.into_iter().enumerate() {
            match value {
                Value::Tensors(items) => {
                    let mut ids = Vec::with_capacity(items.len());
                    for (at, item) in items.into_iter().enumerate() {
                        let Some(item) = item else {
                            ids.push(None);
                            continue;
                        };
                        let proxy = self.define(&format!("{name}_{at}"), Value::Tensor(item))?;
                        ids.push(proxy.map(|proxy| proxy.value));
                        proxies.extend(proxy);
                    }
                    outputs.push(Output::List(ids));
                }
                value => {
                    let result = if several { format!("{name}_{index}") } else { name.to_string() };
                    let proxy = self.define(&result, value)?;
                    outputs.push(proxy.map_or(Output::None, |proxy| Output::Value(proxy.value)));
                    proxies.extend(proxy);
                }
            }
        }
        let inputs = self.inputs_of(&target, given);
        let mut node = Node::new(name, target, inputs, outputs);
        node.provenance = self.origin.clone();
        self.builder.node(node)?;
        Ok(proxies)
    }

    /// The arguments as a call gives them: by position as far as they come in the schema's order, then by keyword.
    fn inputs_of(&self, target: &Target, given: Vec<(&str, Argument)>) -> Vec<Input> {
        let schema = self.operators.find(&target.to_string()).map(|(schema, _)| schema);
        let mut in_order = true;
        let mut inputs = Vec::with_capacity(given.len());
        for (index, (name, arg)) in given.into_iter().enumerate() {
            in_order &= schema
                .is_none_or(|schema| schema.positional().get(index).is_some_and(|spec| spec.name == name));
            let passed_as = if in_order { PassedAs::Positional } else { PassedAs::Keyword };
            inputs.push(Input { name: name.into(), arg, passed_as });
        }
        inputs
    }

    fn define(&mut self, name: &str, value: Value) -> Result<Option<Proxy>, TraceError> {
        let Some((meta, kind)) = self.meta(&value) else { return Ok(None) };
        let value_id = self.builder.output_of_next_node(name.into(), meta)?;
        self.values.push(value);
        Ok(Some(Proxy { value: value_id, kind }))
    }

    /// What is recorded of a value.
    fn meta(&mut self, value: &Value) -> Option<(Meta, Kind)> {
        let (env, exprs) = (&mut self.env, &mut self.exprs);
        Some(match value {
            Value::Tensor(tensor) => (tensor_meta(env, exprs, tensor), Kind::Tensor),
            Value::Int(e) => (Meta::SymInt(size(env, exprs, *e)), Kind::Int),
            Value::Float(e) => (Meta::SymFloat(float(env, exprs, *e)), Kind::Float),
            Value::Bool(e) => (Meta::SymBool(truth(env, exprs, *e)), Kind::Bool),
            _ => return None,
        })
    }

    fn fresh(&mut self, base: &str) -> Arc<str> {
        self.names.fresh(base)
    }

    /// The shape of a proxy, as it is known now: `f32[s0, 3]`, or a number's expression.
    pub fn shape(&self, proxy: Proxy) -> String {
        match self.values.get(proxy.value.index()) {
            Some(Value::Tensor(t)) => self.shape_of(t),
            Some(Value::Int(e) | Value::Float(e) | Value::Bool(e)) => print::expression(&self.env.pool, *e),
            _ => String::new(),
        }
    }

    /// The shape of a tensor, in the same form.
    pub(super) fn shape_of(&self, tensor: &Tensor) -> String {
        let text = |e: &Expr| print::expression(&self.env.pool, *e);
        let sizes: Vec<String> = tensor.sizes.iter().map(text).collect();
        format!("{}[{}]", tensor.dtype.short_name(), sizes.join(", "))
    }
}

/// Whether a target is a function of Python.
fn is_python(target: &str) -> bool {
    ["_operator.", "operator.", "math.", "torch."].iter().any(|module| target.starts_with(module))
}
