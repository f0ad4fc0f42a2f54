//! What is assumed of a program's inputs, and what is still to be proved.
use super::inputs::solved_text;
use crate::records::Records;
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Evaluator, Expr, Int, Symbol, Value as Number, text};
use std::sync::Arc;

/// Why a condition is demanded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DemandKind {
    /// The program records this size, range or relation of its inputs.
    Contract,
    /// The program was traced under this guard.
    Guard,
}

/// A condition that the program puts on its inputs and that the spec has to imply.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The condition.
    pub condition: Expr,
    /// Why.
    pub kind: DemandKind,
    /// The condition as the program has it.
    pub text: String,
}

/// The sizes of one input that the spec allows.
#[derive(Clone, Debug)]
pub struct InputSizes {
    /// The placeholder's name.
    pub placeholder: Arc<str>,
    /// The place among the graph's inputs.
    pub index: usize,
    /// The input as the user writes it: `xs[0]`.
    pub path: String,
    /// The sizes of a tensor.
    pub allowed: Option<Vec<Expr>>,
    /// The value of a scalar.
    pub scalar: Option<Expr>,
    /// Whether it is a tensor that was contiguous at the traced example. It is taken to be contiguous at all sizes.
    pub contiguous: bool,
}

/// Everything assumed before the program runs.
#[derive(Clone)]
pub struct Assumptions<'p> {
    /// Symbols with ranges and hints; assumed conditions.
    pub env: ShapeEnv,
    /// The program's records, its symbols bound to what the spec makes of them.
    pub records: Records<'p>,
    /// The user's inputs.
    pub inputs: Vec<InputSizes>,
    /// What the program demands.
    pub demands: Vec<Demand>,
    /// What the user calls the symbols.
    pub names: FxHashMap<Symbol, String>,
    /// The named dimension that a symbol is, if the spec names it.
    pub dims: FxHashMap<Symbol, String>,
}

impl<'p> Assumptions<'p> {
    pub(super) fn new(env: ShapeEnv, records: Records<'p>, inputs: Vec<InputSizes>) -> Assumptions<'p> {
        let (demands, names, dims) = (Vec::new(), FxHashMap::default(), FxHashMap::default());
        Assumptions { env, records, inputs, demands, names, dims }
    }

    /// The assumptions with a value in place of a symbol: in the sizes of the inputs, and in what the program records.
    pub fn with(&self, symbol: Symbol, value: Int) -> Assumptions<'p> {
        let mut case = self.clone();
        let constant = case.env.pool.int(value.clone());
        for size in case
            .inputs
            .iter_mut()
            .flat_map(|input| input.allowed.iter_mut().flatten().chain(&mut input.scalar))
        {
            *size = case.env.pool.substitute_symbols(*size, |s| (s == symbol).then_some(constant));
        }
        case.records.replace(&mut case.env, symbol, constant);
        case.env.narrow(symbol, ValueRange::point(value));
        case
    }

    /// Names the symbols after the inputs that they are sizes of.
    pub(super) fn name_sources(&mut self) {
        for input in &self.inputs {
            for (i, &size) in input.allowed.iter().flatten().enumerate() {
                if let Some(symbol) = self.env.pool.as_symbol(size) {
                    self.names.entry(symbol).or_insert_with(|| format!("{}.shape[{i}]", input.path));
                }
            }
            if let Some(symbol) = input.scalar.and_then(|e| self.env.pool.as_symbol(e)) {
                self.names.entry(symbol).or_insert_with(|| input.path.clone());
            }
        }
        // A symbol that is the whole size of no dimension is named by what it is computed from.
        for input in &self.inputs {
            for (i, &size) in input.allowed.iter().flatten().enumerate() {
                let source = format!("{}.shape[{i}]", input.path);
                if let Some((symbol, text)) = solved_text(&self.env.pool, size, &source) {
                    self.names.entry(symbol).or_insert(text);
                }
            }
        }
        self.name_differences();
        // Where an input has the name of a dimension, the dimension goes by its source.
        for (symbol, name) in &self.dims {
            if !self.names.iter().any(|(other, known)| other != symbol && known == name) {
                self.names.insert(*symbol, name.clone());
            }
        }
    }

    /// Names a symbol that stands only beside others by the difference: of `past + q`, `(mask.shape[3] - x.shape[1])`.
    fn name_differences(&mut self) {
        for input in &self.inputs {
            for (i, &size) in input.allowed.iter().flatten().enumerate() {
                let symbols = self.env.pool.free_symbols(&[size]);
                let unnamed: Vec<Symbol> =
                    symbols.iter().copied().filter(|symbol| !self.names.contains_key(symbol)).collect();
                let &[symbol] = unnamed.as_slice() else { continue };
                let e = self.env.pool.symbol_expr(symbol);
                let rest = self.env.pool.sub(size, e);
                if symbols.len() < 2 || self.env.pool.free_symbols(&[rest]).contains(&symbol) {
                    continue;
                }
                let rest = self.shown(rest);
                let rest = if rest.contains(' ') { format!("({rest})") } else { rest };
                self.names.insert(symbol, format!("({}.shape[{i}] - {rest})", input.path));
            }
        }
    }

    /// The input shapes at an assignment of the symbols; unassigned symbols take their hints.
    pub fn shapes_at(&self, witness: &[(Symbol, Int)]) -> Option<Vec<(Arc<str>, Shape)>> {
        let assigned: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
        let value = |s: Symbol| match assigned.get(&s) {
            Some(v) => Some(Number::Int((*v).clone())),
            None => self.env.symbol(s).and_then(|info| info.hint.clone()),
        };
        let mut evaluator = Evaluator::new(&self.env.pool, value);
        let mut shapes = Vec::new();
        for input in &self.inputs {
            if let Some(sizes) = &input.allowed {
                let sizes = sizes.iter().map(|&e| evaluator.int(e)).collect::<Result<Vec<Int>, _>>().ok()?;
                shapes.push((input.placeholder.clone(), Shape::Tensor(sizes)));
            } else if let Some(e) = input.scalar {
                shapes.push((input.placeholder.clone(), Shape::Scalar(evaluator.value(e).ok()?)));
            }
        }
        Some(shapes)
    }

    /// Whether the assumptions that are not reasoned with ([`ShapeEnv::left_out`]) hold at an assignment that
    /// satisfies the others.
    pub fn allows(&self, witness: &[(Symbol, Int)]) -> bool {
        let assigned: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
        let mut evaluator =
            Evaluator::new(&self.env.pool, |s| assigned.get(&s).map(|v| Number::Int((*v).clone())));
        self.env.left_out().iter().all(|&e| evaluator.truth(e) == Ok(true))
    }

    /// An expression in the user's own names.
    pub fn shown(&self, e: Expr) -> String {
        let name =
            |s: Symbol| self.names.get(&s).map_or_else(|| self.env.pool.symbol_name(s), String::as_str);
        text::print::python(&self.env.pool, e, &name)
    }
}

/// The shape of an input, or the value of one that is no tensor.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// The sizes of a tensor.
    Tensor(Vec<Int>),
    /// A number.
    Scalar(Number),
    /// A string.
    Text(Arc<str>),
    /// Python's `None`.
    None,
}
