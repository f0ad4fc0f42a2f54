//! Expressions as code in one language or another.
use super::GuardSet;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Sort, Symbol};
use sizewise_ir::Constant;

/// The text of one checker's condition takes at most this many bytes.
const MAX_BYTES: usize = 1 << 20;

/// Operations in one checker's condition nest at most this deep; Python reads 200 brackets within each other, and an operation writes up to two.
const MAX_DEPTH: usize = 90;

/// A condition cannot be written in a language.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{condition}` cannot be written in {language}: {reason}")]
pub struct NotExpressible {
    /// The condition.
    pub condition: String,
    /// The language.
    pub language: &'static str,
    /// Why.
    pub reason: String,
}

/// How a language writes what expressions are made of. Operands come in brackets where they need them.
pub(super) trait Syntax {
    /// The language's name.
    const NAME: &'static str;
    /// An integer; nothing if it is too large.
    fn int(&self, value: &Int) -> Option<String>;
    /// A double.
    fn float(&self, value: f64) -> String;
    /// A call on the texts of its operands, the last of which has a sort; nothing if the language lacks it.
    fn call(&self, func: Func, sort: Sort, args: &[String]) -> Option<String>;
    /// Whether comparisons of an integer with a double are by value, as in Python. Otherwise the integer is converted first, where that is
    /// exact.
    fn compares_by_value(&self) -> bool {
        false
    }
    /// A sum.
    fn add(&self, a: &str, b: &str) -> String;
    /// A product.
    fn mul(&self, a: &str, b: &str) -> String;
    /// A truth value.
    fn truth(&self, value: bool) -> &'static str;
}

/// What checkers call the symbols and the inputs: identifiers of any of the languages, each for one thing only.
pub(super) struct Names {
    symbols: FxHashMap<Symbol, String>,
    /// By position.
    pub inputs: Vec<String>,
}

impl Names {
    pub fn of(set: &GuardSet) -> Names {
        let symbols = set.variables.iter().enumerate().map(|(i, v)| {
            let name = identifier(set.pool.symbol_name(v.symbol));
            // Names of torch stay as they are: `s17`, `u0`. Others could be a keyword, or mean something else in the checker.
            let usual = name.strip_prefix(['s', 'u']).is_some_and(|rest| rest.parse::<u32>().is_ok());
            (v.symbol, if usual { name } else { format!("{name}_{i}") })
        });
        let symbols = symbols.collect();
        let mut inputs: Vec<String> = Vec::new();
        for (i, input) in set.inputs.iter().enumerate() {
            let mut name = identifier(input.name());
            if name != input.name() {
                name = format!("{name}_{i}");
            }
            while inputs.contains(&name) {
                name.push('_');
            }
            inputs.push(name);
        }
        Names { symbols, inputs }
    }

    /// The identifier of a symbol of the set's variables.
    pub fn symbol(&self, symbol: Symbol) -> Option<&str> {
        self.symbols.get(&symbol).map(String::as_str)
    }
}

/// A name as an identifier, though maybe that of something else.
fn identifier(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.collect()
    } else {
        "x_".chars().chain(plain).collect()
    }
}

/// Texts joined two by two, so that many of them nest no deeper than they must.
fn joined(mut parts: Vec<(String, usize)>, join: impl Fn(&str, &str) -> String) -> Option<(String, usize)> {
    while parts.len() > 1 {
        let pairs = parts.chunks(2).map(|pair| match pair {
            [(a, left), (b, right)] => (join(a, b), 1 + left.max(right)),
            rest => rest[0].clone(),
        });
        parts = pairs.collect();
    }
    parts.pop()
}

/// The text of an expression.
pub(super) fn formula<S: Syntax>(
    set: &GuardSet,
    names: &Names,
    syntax: &S,
    e: Expr,
) -> Result<String, NotExpressible> {
    let fail = |reason: String| NotExpressible { condition: set.shown(e), language: S::NAME, reason };
    let too_large = |value: &Int| fail(format!("{value} does not fit its integers"));
    let int = |value: &Int| syntax.int(value).ok_or_else(|| too_large(value));
    // Texts, and how deep their brackets nest.
    let mut texts: FxHashMap<Expr, (String, usize)> = FxHashMap::default();
    let mut bytes = 0;
    // Children come before their parents.
    for part in set.pool.reachable(&[e]) {
        let operand = |e: Expr| match e.as_inline() {
            Some(value) => int(&Int::from(value)).map(|text| (text, 0)),
            None => texts.get(&e).cloned().ok_or_else(|| fail("a part has no text".to_string())),
        };
        let (text, depth) = match set.pool.node(part) {
            None => continue,
            Some(Node::Int(value)) => (int(value)?, 0),
            Some(Node::Float(value)) => (syntax.float(value.0), 0),
            Some(Node::Bool(value)) => (syntax.truth(*value).to_string(), 0),
            Some(Node::Symbol(symbol)) => match names.symbol(*symbol) {
                Some(name) => (name.to_string(), 0),
                None => return Err(fail("no size determines a symbol".to_string())),
            },
            Some(Node::Sum { constant, terms }) => {
                let mut summands = Vec::with_capacity(terms.len() + 1);
                if !constant.is_zero() {
                    summands.push((int(constant)?, 0));
                }
                for (monomial, coefficient) in terms {
                    let (mut term, mut depth) = operand(*monomial)?;
                    if !coefficient.is_one() {
                        term = syntax.mul(&int(coefficient)?, &term);
                        depth += 1;
                    }
                    summands.push((term, depth));
                }
                joined(summands, |a, b| syntax.add(a, b)).unwrap_or_default()
            }
            Some(Node::Product(powers)) => {
                let mut factors = Vec::new();
                for &(atom, power) in powers {
                    let factor = operand(atom)?;
                    if factor.0.len().saturating_mul(power as usize) > MAX_BYTES {
                        return Err(fail("it is too long".to_string()));
                    }
                    factors.extend(std::iter::repeat_n(factor, power as usize));
                }
                joined(factors, |a, b| syntax.mul(a, b)).unwrap_or_default()
            }
            Some(Node::Call(func, args)) => {
                let operands = args.iter().map(|&a| operand(a)).collect::<Result<Vec<_>, _>>()?;
                let deepest = operands.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
                // Languages may nest what is applied to many operands two by two.
                let depth = deepest + if matches!(func, Func::Min | Func::Max) { args.len() } else { 1 };
                let mut texts: Vec<String> = operands.into_iter().map(|(text, _)| text).collect();
                let beside_doubles = matches!(func, Func::FloatEq | Func::FloatLt | Func::FloatLe)
                    || (*func == Func::Ite && set.pool.sort(part) == Sort::Float);
                if beside_doubles && !syntax.compares_by_value() {
                    let converted = to_doubles(set, syntax, args, &mut texts);
                    converted.ok_or_else(|| fail("it lacks doubles".to_string()))?;
                }
                let sort = args.last().map_or(Sort::Int, |&a| set.pool.sort(a));
                let text = syntax.call(*func, sort, &texts);
                (text.ok_or_else(|| fail(format!("it lacks {func:?}")))?, depth)
            }
        };
        bytes += text.len();
        if bytes > MAX_BYTES {
            return Err(fail("it is too long".to_string()));
        }
        if depth > MAX_DEPTH {
            return Err(fail("it is nested too deeply".to_string()));
        }
        texts.insert(part, (text, depth));
    }
    match e.as_inline() {
        Some(value) => int(&Int::from(value)),
        None => Ok(texts.remove(&e).unwrap_or_default().0),
    }
}

/// Converts the texts of integers among operands to those of doubles; none where the language lacks them.
fn to_doubles<S: Syntax>(set: &GuardSet, syntax: &S, args: &[Expr], texts: &mut [String]) -> Option<()> {
    for (text, &a) in texts.iter_mut().zip(args) {
        if set.pool.sort(a) == Sort::Int {
            *text = syntax.call(Func::ToFloat, Sort::Int, std::slice::from_ref(text))?;
        }
    }
    Some(())
}

/// What a checker says where a size is not what it has to be.
pub(super) fn fixed_message(set: &GuardSet, input: usize, dim: Option<usize>, e: Expr) -> String {
    format!("{} has to be {}", set.place(input, dim), set.shown(e))
}

/// What a checker says where an input has another value than the one that was burned in.
pub(super) fn constant_message(name: &str, value: &Constant) -> String {
    format!("{name} has to be {value}")
}

/// What a checker says where a condition does not hold.
pub(super) fn condition_message(set: &GuardSet, e: Expr) -> String {
    format!("{} does not hold", set.shown(e))
}
