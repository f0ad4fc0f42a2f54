//! The sizes of a model's inputs as symbols, and the shapes of all values in them.
use crate::read::Model;
use crate::shape::{Dtype, Value};
use crate::walk::{Given, Input, Walk, inputs, value};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::escape::is_python_keyword;
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::print;
use sizewise_expr::{Evaluator, Expr, Int, Pool, Symbol, Value as Number};
use sizewise_kernels::KernelError;
use sizewise_solve::{Budget, Verdict, decide};

use super::evaluate::evaluate;
use super::names;
use super::size::ShownSize;

/// How often other example sizes are looked for.
const MAX_TRIES: usize = 16;

/// A symbol that stands for sizes of inputs.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name in expressions.
    pub name: String,
    /// An input and a dimension that has the size; none for a name that stands within expressions alone.
    pub source: Option<(String, usize)>,
    /// The name that the model gives it.
    pub declared: Option<String>,
    /// Its size in the example.
    pub hint: Option<i64>,
}

/// The inputs of a model with symbols for their sizes.
#[derive(Clone)]
pub(super) struct Symbolic {
    pub env: ShapeEnv,
    pub symbols: Vec<(Symbol, Named)>,
    /// The sizes of each input.
    pub sizes: Vec<(Input, Vec<Expr>)>,
    /// The least size.
    least: i64,
}

/// Names that mean something in expressions, besides keywords of Python.
const RESERVED: &[&str] = &[
    "Min",
    "Max",
    "Abs",
    "Eq",
    "Ne",
    "Lt",
    "Le",
    "Gt",
    "Ge",
    "And",
    "Or",
    "Not",
    "Mod",
    "Where",
    "Piecewise",
    "FloorDiv",
    "CeilDiv",
    "CleanDiv",
    "PythonMod",
    "ModularIndexing",
    "ToFloat",
    "IntTrueDiv",
    "FloatTrueDiv",
    "TruncToInt",
    "FloorToInt",
    "CeilToInt",
    "RoundToInt",
    "Pow",
    "floor",
    "ceiling",
    "sqrt",
    "int",
    "float",
    "abs",
    "min",
    "max",
    "oo",
    "nan",
    "pi",
    "inf",
];

/// Whether a declared name can be that of a symbol. Names of letters and digits alone may be those of other symbols.
fn usable(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    plain
        && !numbered("u")
        && !numbered("s")
        && !numbered("zuf")
        && !numbered("zf")
        && !RESERVED.contains(&name)
        && !is_python_keyword(name)
        && name.len() <= 100
}

/// Which of the texts that inputs declare are read as expressions.
fn expressions(inputs: &[Input]) -> impl Fn(&str) -> bool + use<> {
    let texts =
        inputs.iter().filter_map(|input| input.shape.as_ref()).flatten().filter_map(|given| match given {
            Given::Name(name) => Some(name.clone()),
            _ => None,
        });
    let alone: FxHashSet<String> = texts.filter(|text| !names::has_operator(text)).collect();
    move |text| {
        let all_known = || names::words(text).into_iter().all(|word| alone.contains(&text[word]));
        names::has_operator(text) && (names::is_unambiguous(text) || all_known())
    }
}

impl Symbolic {
    /// Symbols for the sizes of a model's inputs, at least `least`, with these hints by their order.
    pub fn new(model: &Model, least: i64, hint: impl Fn(usize) -> i64) -> Symbolic {
        let mut symbolic = Symbolic { env: ShapeEnv::new(), symbols: Vec::new(), sizes: Vec::new(), least };
        let mut known: FxHashMap<String, Expr> = FxHashMap::default();
        let inputs = inputs(model);
        let is_expression = expressions(&inputs);
        for input in inputs {
            let mut sizes = Vec::new();
            for (at, given) in input.shape.iter().flatten().enumerate() {
                let source = Some((input.name.clone(), at));
                let size = match given {
                    Given::Size(size) => symbolic.env.pool.int(*size),
                    // Names come first.
                    Given::Name(name) if is_expression(name) => Expr::ZERO,
                    Given::Name(name) => match known.get(name) {
                        Some(&size) => size,
                        None => {
                            let size = symbolic.declare(source, Some(name), least, &hint);
                            known.insert(name.clone(), size);
                            size
                        }
                    },
                    Given::Open => symbolic.declare(source, None, least, &hint),
                };
                sizes.push(size);
            }
            symbolic.sizes.push((input, sizes));
        }
        for input in 0..symbolic.sizes.len() {
            for at in 0..symbolic.sizes[input].1.len() {
                let (declared, _) = &symbolic.sizes[input];
                let Some(Given::Name(text)) = declared.shape.as_ref().map(|shape| shape[at].clone()) else {
                    continue;
                };
                if is_expression(&text) {
                    let source = (declared.name.clone(), at);
                    symbolic.sizes[input].1[at] = symbolic.derived(&text, source, least, &mut known, &hint);
                }
            }
        }
        symbolic
    }

    /// The size of which an expression is declared; that of a name if it does not read as one.
    fn derived(
        &mut self,
        text: &str,
        source: (String, usize),
        least: i64,
        known: &mut FxHashMap<String, Expr>,
        hint: &impl Fn(usize) -> i64,
    ) -> Expr {
        if let Some(&size) = known.get(text) {
            return size;
        }
        // Sizes that the model has nowhere alone may be 0.
        let (env, symbols) = (self.env.clone(), self.symbols.len());
        for word in names::words(text) {
            let word = &text[word];
            if !known.contains_key(word) {
                let size = self.declare(None, Some(word), 0, hint);
                known.insert(word.to_owned(), size);
            }
        }
        let written = |pool: &Pool, name: &str| {
            let symbol = pool.as_symbol(*known.get(name)?)?;
            Some(pool.symbol_name(symbol).to_owned())
        };
        let pool = self.env.pool.clone();
        let found = names::expression(&mut self.env.pool, text, &|name| written(&pool, name));
        if let Some(size) = found {
            let bound = self.env.pool.int(least);
            let enough = self.env.pool.ge(size, bound);
            self.env.assume(enough);
            return size;
        }
        // What was declared for it is not needed.
        let unneeded: Vec<String> =
            self.symbols.drain(symbols..).filter_map(|(_, named)| named.declared).collect();
        known.retain(|name, _| !unneeded.contains(name));
        self.env = env;
        let size = self.declare(Some(source), Some(text), least, hint);
        known.insert(text.to_owned(), size);
        size
    }

    fn declare(
        &mut self,
        source: Option<(String, usize)>,
        declared: Option<&str>,
        least: i64,
        hint: &impl Fn(usize) -> i64,
    ) -> Expr {
        let name = match declared {
            Some(name) if usable(name) => name.to_owned(),
            _ => format!("s{}", self.symbols.len()),
        };
        let value = Number::Int(Int::from(hint(self.symbols.len()).max(least)));
        let place = source.as_ref().map(|(input, at)| format!("{input}[{at}]").into());
        let info = SymbolInfo { hint: Some(value), source: place };
        let range = ValueRange::at_least(Int::from(least));
        let e = self.env.declare(&name, range, info);
        if let Some(symbol) = self.env.pool.as_symbol(e) {
            self.symbols
                .push((symbol, Named { name, source, declared: declared.map(str::to_owned), hint: None }));
        }
        e
    }

    /// The values of the inputs.
    pub fn values(&self) -> Vec<(String, Value)> {
        let of = |(input, sizes): &(Input, Vec<Expr>)| {
            let value = if input.is_tensor && input.shape.is_none() {
                let dtype = input.dtype.unwrap_or(Dtype::F32);
                crate::shape::Tensor::unranked(dtype).into()
            } else {
                value(input, sizes.clone())
            };
            (input.name.clone(), value)
        };
        self.sizes.iter().map(of).collect()
    }

    /// The sizes of the inputs at an assignment of the symbols.
    pub fn at(&self, assigned: impl Fn(Symbol) -> Option<i64>) -> Option<FxHashMap<String, Vec<i64>>> {
        let size = |&e: &Expr| match (e.as_inline(), self.env.pool.as_symbol(e)) {
            (Some(size), _) => Some(size),
            (_, Some(symbol)) => assigned(symbol),
            _ => self.value(e, &assigned).filter(|&size| size >= self.least),
        };
        let of = |(input, sizes): &(Input, Vec<Expr>)| {
            Some((input.name.clone(), sizes.iter().map(size).collect::<Option<Vec<i64>>>()?))
        };
        self.sizes.iter().filter(|(input, _)| input.shape.is_some()).map(of).collect()
    }

    /// The value of an expression at an assignment of the symbols.
    pub fn value(&self, e: Expr, assigned: &impl Fn(Symbol) -> Option<i64>) -> Option<i64> {
        let value = |symbol| assigned(symbol).map(|value| Number::Int(value.into()));
        Evaluator::new(&self.env.pool, value).value(e).ok()?.as_int()?.to_i64()
    }

    /// What a symbol of a pool is called in texts for people: by the name that the model gives it, or by a place.
    pub fn shown_name(&self, pool: &Pool, symbol: Symbol) -> String {
        let known = self.symbols.iter().find(|(known, _)| *known == symbol).map(|(_, named)| named);
        match known {
            Some(Named { name, declared, source: Some((input, dim)), .. })
                if declared.as_ref() != Some(name) =>
            {
                format!("{input}.shape[{dim}]")
            }
            Some(named) => named.name.clone(),
            None => pool.symbol_name(symbol).to_owned(),
        }
    }

    /// The hint of a symbol.
    pub fn hint(&self, symbol: Symbol) -> Option<i64> {
        match self.env.symbol(symbol)?.hint.as_ref()? {
            Number::Int(value) => value.to_i64(),
            _ => None,
        }
    }
}

/// Example sizes that are tried, by the order of symbols: different ones first, since equal ones hide conditions.
const EXAMPLES: &[(i64, i64)] = &[
    (7, 4),
    (16, 3),
    (64, 8),
    (224, 32),
    (4, 0),
    (8, 0),
    (16, 0),
    (32, 0),
    (64, 0),
    (224, 0),
    (256, 0),
    (1, 0),
    (2, 0),
];

/// A walk over symbols for the sizes of inputs.
pub(super) struct Walked<'m> {
    pub symbolic: Symbolic,
    pub walk: Walk<'m>,
    /// The values of the outputs, if the walk came to its end.
    pub results: Option<Vec<Value>>,
}

/// Walks a model at hints that it accepts, if such hints are found.
pub(super) fn walked(model: &Model, least: i64) -> Walked<'_> {
    let walked = |symbolic: Symbolic| {
        let mut walk = Walk::new(model, symbolic.env.clone(), false);
        let results = walk.run(symbolic.values());
        Walked { symbolic, walk, results }
    };
    let (first, step) = EXAMPLES[0];
    let once = walked(Symbolic::new(model, least, |at| first + step * at as i64));
    // Most models accept the first example.
    if once.results.is_some() && once.walk.failures.is_empty() && once.walk.unknown.is_empty() {
        return once;
    }
    walked(symbolic(model, least))
}

/// The model's inputs with symbols whose hints the model accepts, if such hints are found.
pub(super) fn symbolic(model: &Model, least: i64) -> Symbolic {
    for &(first, step) in EXAMPLES {
        let symbolic = Symbolic::new(model, least, |at| first + step * at as i64);
        let Some(sizes) = symbolic.at(|symbol| symbolic.hint(symbol)) else { break };
        let refused = evaluate(model, &sizes, &FxHashMap::default()).err();
        if refused.is_none_or(|refused| refused.is_unsupported) {
            return symbolic;
        }
    }
    solved(model, least)
}

/// Hints that satisfy the conditions which the walk meets, one after the other.
fn solved(model: &Model, least: i64) -> Symbolic {
    let mut hints: Vec<i64> = Vec::new();
    let mut best = Symbolic::new(model, least, |at| 7 + 4 * at as i64);
    for _ in 0..MAX_TRIES {
        let symbolic = Symbolic::new(model, least, |at| hints.get(at).copied().unwrap_or(7 + 4 * at as i64));
        best = symbolic.clone();
        let mut walk = Walk::new(model, symbolic.env.clone(), true);
        if walk.run(symbolic.values()).is_some() {
            break;
        }
        let Some(condition) = walk.failures.first().and_then(|failure| match &failure.error {
            KernelError::Invalid { condition, .. } => *condition,
            _ => None,
        }) else {
            break;
        };
        let conditions: Vec<Expr> =
            walk.env.guards().iter().map(|guard| guard.condition).chain([condition]).collect();
        let mut env = symbolic.env.clone();
        conditions.into_iter().for_each(|condition| env.assume(condition));
        let (pool, facts) = env.facts();
        let never = pool.bool(false);
        let Verdict::Refuted { witness } = decide(pool, facts, never, &Budget::default()).verdict else {
            break;
        };
        let value = |symbol: &Symbol| witness.iter().find(|(s, _)| s == symbol).and_then(|(_, v)| v.to_i64());
        hints = symbolic.symbols.iter().map(|(s, _)| value(s).or(symbolic.hint(*s)).unwrap_or(1)).collect();
    }
    best
}

/// The shapes of a model's values.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    /// The symbols, and where their sizes stand.
    pub symbols: Vec<Named>,
    /// For each value its element type and its sizes as texts, numbers being numbers; and least upper bounds of sizes
    /// that data decide.
    pub values: IndexMap<String, ShownValue>,
}

/// The shape of a value.
#[derive(Debug, Clone)]
pub struct ShownValue {
    /// Its element type.
    pub dtype: Option<Dtype>,
    /// Its sizes.
    pub shape: Option<Vec<ShownSize>>,
}

/// The shapes of all values of the main graph.
pub fn shapes(model: &Model) -> Shapes {
    let Walked { symbolic, mut walk, .. } = walked(model, 1);
    shapes_of(model, &symbolic, &mut walk)
}

/// The shapes that a walk found.
pub(super) fn shapes_of(model: &Model, symbolic: &Symbolic, walk: &mut Walk) -> Shapes {
    let mut names: Vec<&String> = model.graph.input.iter().map(|input| &input.name).collect();
    names.extend(model.graph.initializer.iter().map(|tensor| &tensor.name));
    names.extend(model.graph.node.iter().flat_map(|node| &node.output).filter(|name| !name.is_empty()));
    let known: Vec<Symbol> = symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
    let mut values = IndexMap::new();
    for name in names {
        let Some(value) = walk.values.get(name).cloned() else { continue };
        let shown = match &value {
            Value::Tensor(tensor) => ShownValue {
                dtype: Some(tensor.dtype),
                shape: tensor
                    .shape
                    .as_ref()
                    .map(|sizes| sizes.iter().map(|&size| shown_size(&mut walk.env, &known, size)).collect()),
            },
            Value::Sequence(sequence) => ShownValue { dtype: Some(sequence.dtype), shape: None },
            _ => ShownValue { dtype: None, shape: None },
        };
        values.insert(name.clone(), shown);
    }
    let named = |(symbol, named): &(Symbol, Named)| Named { hint: symbolic.hint(*symbol), ..named.clone() };
    Shapes { symbols: symbolic.symbols.iter().map(named).collect(), values }
}

fn shown_size(env: &mut ShapeEnv, known: &[Symbol], size: Expr) -> ShownSize {
    if let Some(number) = size.as_inline() {
        return ShownSize::Number(number);
    }
    if env.pool.free_symbols(&[size]).iter().all(|symbol| known.contains(symbol)) {
        return ShownSize::Text(print::expression(&env.pool, size));
    }
    ShownSize::Open(env.upper_bound(size).map(|bound| bound.to_string()))
}
