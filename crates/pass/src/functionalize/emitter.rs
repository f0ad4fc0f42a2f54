//! The graph that is being made: nodes are added one by one, and what is recorded of new values is inferred.
use super::NAME;
use crate::derive::{float, size, tensor_meta, truth};
use crate::error::PassError;
use crate::names::Names;
use sizewise_check::propagate::{arguments, recorded};
use sizewise_check::records::Records;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::{
    Argument, Constant, ExprTable, Graph, GraphBuilder, Input, Meta, Node, Output, Provenance, Target,
    ValueId,
};
use sizewise_kernels::sharing;
use sizewise_kernels::{Cx, Operators, Tensor, Value, bind};
use std::sync::Arc;

/// The most nodes that are made of one program: each write through views makes the views anew.
const MAX_NODES: usize = 4_000_000;

/// What is known of shapes in the whole program.
pub struct Shapes<'p> {
    pub operators: &'p Operators,
    pub env: ShapeEnv,
    pub records: Records<'p>,
    pub exprs: ExprTable,
    /// How many nodes have been made.
    pub nodes: usize,
}

/// A value that a new node makes: its name's beginning, and what is recorded of it where that cannot be inferred.
#[derive(Clone)]
pub struct Made {
    pub base: Arc<str>,
    pub expected: Meta,
}

/// Old values with what they are now.
pub type Pairs = Vec<(ValueId, ValueId)>;

/// What a new node gives.
#[derive(Clone)]
pub enum Results {
    /// One value a result.
    Values(Vec<Made>),
    /// One list.
    List(Vec<Made>),
}

/// Makes one graph.
pub struct Emitter<'s, 'p> {
    pub shapes: &'s mut Shapes<'p>,
    builder: GraphBuilder,
    values: Vec<Value>,
    names: Names,
}

fn malformed(error: &dyn std::fmt::Display) -> PassError {
    PassError::failed(NAME, error.to_string())
}

impl<'s, 'p> Emitter<'s, 'p> {
    /// An empty graph, in which the names of `old` are kept for what is kept of it.
    pub fn new(shapes: &'s mut Shapes<'p>, old: &Graph) -> Emitter<'s, 'p> {
        let names = Names::of(old);
        Emitter { shapes, builder: GraphBuilder::with_capacity(old.value_count()), values: Vec::new(), names }
    }

    /// An input.
    pub fn input(&mut self, name: Arc<str>, meta: Meta) -> Result<ValueId, PassError> {
        let value = self.recorded(&meta);
        let id = self.builder.input(name, meta).map_err(|error| malformed(&error))?;
        self.values.push(value);
        Ok(id)
    }

    /// An input that is a constant.
    pub fn constant_input(&mut self, constant: Constant) {
        self.builder.constant_input(constant);
    }

    fn recorded(&mut self, meta: &Meta) -> Value {
        let Shapes { env, records, .. } = &mut *self.shapes;
        recorded::value(records, env, meta).unwrap_or(Value::Opaque)
    }

    fn define(&mut self, name: Arc<str>, meta: Meta, value: Value) -> Result<ValueId, PassError> {
        let id = self.builder.output_of_next_node(name, meta).map_err(|error| malformed(&error))?;
        self.values.push(value);
        Ok(id)
    }

    /// A name that nothing has, like `base`.
    pub fn fresh(&mut self, base: &str) -> Arc<str> {
        self.names.fresh(base)
    }

    /// What is recorded of a value.
    pub fn meta(&self, value: ValueId) -> &Meta {
        self.builder.meta(value).unwrap_or(&Meta::Unknown)
    }

    /// A tensor as kernels see it, if its shape can be read.
    pub fn tensor(&self, value: ValueId) -> Option<&Arc<Tensor>> {
        match self.values.get(value.index()) {
            Some(Value::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// Adds a node of the old graph with its records, under its own name or a new one: its old values with the new
    /// ones.
    pub fn keep(
        &mut self,
        old: &Graph,
        node: &Node,
        inputs: Vec<Input>,
        own_names: bool,
    ) -> Result<Pairs, PassError> {
        self.keep_with(old, node, inputs, own_names, &[]).map(|(pairs, _)| pairs)
    }

    /// As [`Emitter::keep`], with more values behind those of the old node.
    pub fn keep_with(
        &mut self,
        old: &Graph,
        node: &Node,
        inputs: Vec<Input>,
        own_names: bool,
        more: &[Meta],
    ) -> Result<(Pairs, Vec<ValueId>), PassError> {
        let mut pairs = Pairs::new();
        let mut value = |this: &mut Self, id: ValueId| {
            let meta = old.meta(id).clone();
            let name = if own_names { old.name(id).clone() } else { this.fresh(old.name(id)) };
            let known = this.recorded(&meta);
            let made = this.define(name, meta, known)?;
            pairs.push((id, made));
            Ok::<ValueId, PassError>(made)
        };
        let mut outputs = Vec::with_capacity(node.outputs.len());
        for output in &node.outputs {
            outputs.push(match output {
                Output::Value(id) => Output::Value(value(self, *id)?),
                Output::List(ids) => {
                    let mut list = Vec::with_capacity(ids.len());
                    for id in ids {
                        list.push(match id {
                            Some(id) => Some(value(self, *id)?),
                            None => None,
                        });
                    }
                    Output::List(list)
                }
                other => other.clone(),
            });
        }
        let mut added = Vec::with_capacity(more.len());
        for meta in more {
            let (name, known) = (self.fresh(&node.name), self.recorded(meta));
            let id = self.define(name, meta.clone(), known)?;
            outputs.push(Output::Value(id));
            added.push(id);
        }
        let name = if own_names { node.name.clone() } else { self.fresh(&node.name) };
        self.add(Node { name, inputs, outputs, ..node.clone() })?;
        Ok((pairs, added))
    }

    fn add(&mut self, node: Node) -> Result<(), PassError> {
        self.shapes.nodes += 1;
        if self.shapes.nodes > MAX_NODES {
            return Err(PassError::failed(
                NAME,
                format!("the program becomes larger than {MAX_NODES} nodes"),
            ));
        }
        self.builder.node(node).map_err(|error| malformed(&error))
    }

    /// Adds a call of an operator; what is recorded of its results is inferred.
    pub fn call(
        &mut self,
        op: &str,
        inputs: Vec<Input>,
        results: Results,
        provenance: &Provenance,
    ) -> Result<Vec<ValueId>, PassError> {
        let target = Target::parse(&format!("torch.ops.{op}"));
        let inferred = self.infer(op, &inputs);
        let (made, list) = match results {
            Results::Values(made) => (made, false),
            Results::List(made) => (made, true),
        };
        let mut inferred: Vec<Option<Value>> = match inferred.as_deref() {
            Some([Value::Tensors(items)]) if list && items.len() == made.len() => {
                items.iter().map(|item| item.clone().map(Value::Tensor)).collect()
            }
            Some(values) if !list && values.len() >= made.len() => values.iter().cloned().map(Some).collect(),
            _ => Vec::new(),
        };
        inferred.resize(made.len(), None);
        let name = self.fresh(made.first().map_or("call", |made| &made.base));
        let single = made.len() == 1 && !list;
        let mut ids = Vec::with_capacity(made.len());
        for (made, value) in made.into_iter().zip(inferred) {
            let value_name = if single { name.clone() } else { self.fresh(&made.base) };
            let (meta, value) = self.record(made.expected, value);
            ids.push(self.define(value_name, meta, value)?);
        }
        let outputs = if list {
            vec![Output::List(ids.iter().copied().map(Some).collect())]
        } else {
            ids.iter().copied().map(Output::Value).collect()
        };
        let mut node = Node::new(name, target, inputs, outputs);
        node.provenance = provenance.clone();
        self.add(node)?;
        Ok(ids)
    }

    /// The record of a result: what was inferred, else what was expected.
    fn record(&mut self, expected: Meta, inferred: Option<Value>) -> (Meta, Value) {
        let Shapes { env, exprs, .. } = &mut *self.shapes;
        let meta = match &inferred {
            Some(Value::Tensor(tensor)) => tensor_meta(env, exprs, tensor),
            Some(Value::Int(e)) => Meta::SymInt(size(env, exprs, *e)),
            Some(Value::Float(e)) => Meta::SymFloat(float(env, exprs, *e)),
            Some(Value::Bool(e)) => Meta::SymBool(truth(env, exprs, *e)),
            _ => {
                let value = self.recorded(&expected);
                return (expected, value);
            }
        };
        (meta, inferred.unwrap_or(Value::Opaque))
    }

    fn infer(&mut self, op: &str, inputs: &[Input]) -> Option<Vec<Value>> {
        let values = &self.values;
        let lookup = |id: ValueId| values.get(id.index()).cloned().unwrap_or(Value::Opaque);
        let Shapes { env, operators, .. } = &mut *self.shapes;
        let mut read = Vec::with_capacity(inputs.len());
        for input in inputs {
            read.push((&*input.name, arguments::value(env, &input.arg, &lookup)));
        }
        let (schema, kernel) = operators.find(op)?;
        let args = bind(&mut env.pool, schema, std::iter::empty(), read).ok()?;
        kernel.call(&mut Cx::new(env), &args).ok().map(|values| values.into_vec())
    }

    /// What an operator does to a tensor of these sizes, contiguous: what comes out.
    pub fn probe(&mut self, op: &str, sizes: &[i64], like: &Tensor, rest: &[Input]) -> Option<Arc<Tensor>> {
        let Shapes { env, operators, .. } = &mut *self.shapes;
        let sizes: Vec<Expr> = sizes.iter().map(|&size| env.pool.int(size)).collect();
        let (schema, kernel) = operators.find(op)?;
        let tensor = Cx::new(env).contiguous(sizes.as_slice(), like.dtype, &like.device);
        let mut read = vec![(schema.args.first()?.name.as_str(), Value::from(tensor))];
        for input in rest {
            read.push((&*input.name, arguments::value(env, &input.arg, &|_| Value::Opaque)));
        }
        let args = bind(&mut env.pool, schema, std::iter::empty(), read).ok()?;
        let results = kernel.call(&mut Cx::new(env), &args).ok()?;
        match results.into_vec().pop()? {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The size that an expression has at the example.
    pub fn example(&mut self, e: Expr) -> Option<i64> {
        sharing::example(&mut self.shapes.env, e)
    }

    /// A recorded tensor, if it is one and its sizes can be read.
    pub fn recorded_tensor(&mut self, meta: &Meta) -> Option<Tensor> {
        let Meta::Tensor(meta) = meta else { return None };
        recorded::tensor(&mut self.shapes.records, &mut self.shapes.env, meta).ok()
    }

    /// Whether sizes are proved to be equal, one by one.
    pub fn same_sizes(&mut self, a: &[Expr], b: &[Expr]) -> bool {
        let env = &mut self.shapes.env;
        let mut same = |a: Expr, b: Expr| {
            let equal = env.pool.eq(a, b);
            a == b || env.statically_known_true(equal)
        };
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| same(a, b))
    }

    /// Ends the graph.
    pub fn finish(self, outputs: Vec<Argument>, single: bool) -> Graph {
        self.builder.finish(outputs, single)
    }
}
