//! One of the two that are compared: what it accepts, and what it does with inputs.
use sizewise_check::check::{Acceptance, Session, Shapes};
use sizewise_check::spec::Shape;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number};
use sizewise_ir::{Bounds, Constant, SymbolHints};
use std::sync::Arc;

/// What is compared: a program, a model, or the inputs that a spec allows.
pub struct Side<'c> {
    /// Its name in reports.
    pub name: String,
    /// How many steps it has.
    pub nodes: usize,
    /// The inputs that callers pass.
    pub inputs: Vec<Input>,
    /// The expressions of the sizes of inputs.
    pub pool: Pool,
    /// The values of symbols at an example.
    pub hints: SymbolHints,
    /// The ranges that it gives sizes: their ends are tried.
    pub ranges: Vec<Bounds>,
    /// What the outputs are, in words; `None` where there are none to compare.
    pub outputs: Option<Vec<String>>,
    /// What it accepts, or why that is not known.
    pub acceptance: Result<Acceptance, String>,
    /// The sizes of each output, or its value, in the symbols of the acceptance; `None` for what is neither.
    pub results: Vec<Option<Vec<Expr>>>,
    /// What answers calls.
    pub source: Box<dyn Source + 'c>,
}

/// What answers calls of one of the two.
pub trait Source {
    /// What it does with these inputs.
    fn replay(&self, shapes: &Shapes) -> Outcome;

    /// What it accepts where a symbol has a value; `None` if it is not followed for single values.
    fn case(&self, _symbol: Symbol, _value: Int) -> Option<Acceptance> {
        None
    }

    /// The line of the user's code that makes an output.
    fn line(&self, _output: usize) -> Option<String> {
        None
    }

    /// All that decides what is done with inputs that were taken, in some form; `None` if that has none.
    fn steps(&self) -> Option<Vec<u8>> {
        None
    }

    /// All that decides what is answered, in some form; `None` if that has none.
    fn whole(&self) -> Option<Vec<u8>> {
        None
    }

    /// The exported program, if it is one.
    fn program(&self) -> Option<&Followed<'_>> {
        None
    }
}

/// An exported program that was followed.
pub struct Followed<'c>(pub(super) Session<'c>);

/// An input that callers pass.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name in calls of `sizewise eval`.
    pub placeholder: Arc<str>,
    /// Its place in the call, as Python writes it: `xs[0]`.
    pub path: String,
    /// Whether it is passed by name only.
    pub is_keyword: bool,
    /// Its place among the arguments, `args[0]['a']`, if calls are recorded.
    pub call: Option<String>,
    /// What it is.
    pub kind: Kind,
}

/// What an input is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A tensor.
    Tensor {
        /// Its sizes.
        sizes: Vec<Expr>,
        /// The type of its elements.
        dtype: String,
    },
    /// A number.
    Scalar(Expr),
    /// A constant.
    Constant(Constant),
    /// Something without a shape.
    Other,
}

/// What one of the two does with inputs of given sizes.
pub enum Outcome {
    /// It takes them; the sizes or the value of each output, where sizes of inputs decide them.
    Accepts(Vec<Option<serde_json::Value>>),
    /// It refuses them, with a reason.
    Refuses(String),
    /// It is not known.
    Open,
}

impl Side<'_> {
    /// The symbols of the inputs' sizes, in the order in which they occur.
    pub(super) fn input_symbols(&self) -> Vec<Symbol> {
        let mut symbols = Vec::new();
        for input in &self.inputs {
            let sizes = match &input.kind {
                Kind::Tensor { sizes, .. } => sizes.as_slice(),
                Kind::Scalar(e) => std::slice::from_ref(e),
                Kind::Constant(_) | Kind::Other => &[],
            };
            for &size in sizes {
                let new = self.pool.free_symbols(&[size]).into_iter().filter(|s| !symbols.contains(s));
                symbols.extend(new.collect::<Vec<_>>());
            }
        }
        symbols
    }

    /// The sizes at a witness; symbols that it does not name have their values at the example.
    pub(super) fn shapes_with(&self, witness: &[(Symbol, Int)]) -> Option<Shapes> {
        self.shapes_at(&|symbol: Symbol| {
            let named = witness.iter().find(|(s, _)| *s == symbol).map(|(_, v)| Number::Int(v.clone()));
            named.or_else(|| self.hints.get(&symbol).cloned())
        })
    }

    /// The sizes of all inputs where the symbols have these values; `None` where one has no value, or is negative.
    fn shapes_at(&self, value: &dyn Fn(Symbol) -> Option<Number>) -> Option<Shapes> {
        let mut shapes = Shapes::new();
        for input in &self.inputs {
            let shape = match &input.kind {
                Kind::Tensor { sizes, .. } => {
                    let size = |&e| self.pool.eval(e, value).ok()?.as_int().filter(|v| !v.is_negative());
                    Shape::Tensor(sizes.iter().map(size).collect::<Option<_>>()?)
                }
                Kind::Scalar(e) => Shape::Scalar(self.pool.eval(*e, value).ok()?),
                Kind::Constant(constant) => constant_shape(constant),
                Kind::Other => continue,
            };
            shapes.insert(Arc::clone(&input.placeholder), shape);
        }
        Some(shapes)
    }
}

/// A constant as a caller passes it.
pub(super) fn constant_shape(constant: &Constant) -> Shape {
    match constant {
        Constant::None => Shape::None,
        Constant::Int(v) => Shape::Scalar(Number::Int((*v).into())),
        Constant::Float(v) => Shape::Scalar(Number::Float(*v)),
        Constant::Bool(v) => Shape::Scalar(Number::Bool(*v)),
        Constant::Str(v) => Shape::Text(Arc::clone(v)),
    }
}
