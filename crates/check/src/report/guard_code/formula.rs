//! Expressions, and what is checked with them, as code in one language or another.
use super::{GuardSet, GuardedInput};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Sort, Symbol};
use sizewise_ir::Constant;

/// The longest text of a condition, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting of operations in a condition: Python reads 200 nested brackets, and an operation
/// writes up to two.
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

/// How a language writes expressions. Operands have brackets where they need them.
pub(super) trait Syntax {
    /// The language's name.
    const NAME: &'static str;
    /// A suffix for conditions that also checks that no operation failed.
    const HAS_VALUES: &'static str = "";
    /// An integer; `None` if it is too large.
    fn int(&self, value: &Int) -> Option<String>;
    /// A double.
    fn float(&self, value: f64) -> String;
    /// A call with these operands as texts; `sort` is that of the last one, or of doubles if any is one. `None` if the
    /// language lacks it.
    /// Calls that all languages write alike are not passed here.
    fn call(&self, func: Func, sort: Sort, args: &[String]) -> Option<String>;
    /// Whether comparisons of an integer with a double are by value, as in Python. Otherwise the integer is
    /// converted first, where that is exact.
    fn compares_by_value(&self) -> bool {
        false
    }
    /// A sum.
    fn add(&self, a: &str, b: &str) -> String;
    /// A product.
    fn mul(&self, a: &str, b: &str) -> String;
    /// A truth value.
    fn truth(&self, value: bool) -> &'static str;
    /// A size of an input, or the input's value.
    fn size(&self, input: &str, dim: Option<usize>) -> String;
    /// Whether a tensor has so many dimensions.
    fn has_rank(&self, input: &str, rank: usize) -> String;
    /// What else [`Syntax::has_rank`] asks for, in a message.
    fn of_sizes(&self) -> &'static str {
        ""
    }
    /// Whether a constant input has its value: `None` if any will do, an error if the language cannot express it.
    fn is_constant(&self, input: &str, value: &Constant) -> Result<Option<String>, &'static str>;
}

/// A call that all languages write alike.
fn plain_call(func: Func, args: &[String]) -> Option<String> {
    use Func::*;
    let operator = match func {
        BitAnd => " & ",
        BitOr => " | ",
        BitXor => " ^ ",
        FloatEq => " == ",
        FloatLt => " < ",
        FloatLe => " <= ",
        FloatAdd => " + ",
        FloatMul => " * ",
        IsZero => return Some(format!("({} == 0)", args.first()?)),
        NotPositive => return Some(format!("({} <= 0)", args.first()?)),
        _ => return None,
    };
    Some(format!("({})", args.join(operator)))
}

/// A condition that a checker evaluates, and what it says where the condition does not hold.
pub(super) struct Check {
    pub condition: String,
    pub message: String,
    /// The sizes that it speaks of: as messages name them, and as the language reads them.
    pub sizes: Vec<(String, String)>,
}

/// What is checked before the sizes of an input: its rank, or its value if it is constant.
pub(super) fn input_check<S: Syntax>(
    set: &GuardSet,
    syntax: &S,
    input: &GuardedInput,
    identifier: &str,
) -> Result<Option<Check>, NotExpressible> {
    let name = input.name();
    Ok(match input {
        GuardedInput::Tensor { sizes, .. } => {
            let plural = if sizes.len() == 1 { "" } else { "s" };
            let message =
                format!("{name} has to have {} dimension{plural}{}", sizes.len(), syntax.of_sizes());
            Some(Check { condition: syntax.has_rank(identifier, sizes.len()), message, sizes: Vec::new() })
        }
        GuardedInput::Number { .. } => None,
        GuardedInput::Constant { value, .. } => {
            let condition = syntax.is_constant(identifier, value).map_err(|reason| NotExpressible {
                condition: format!("{identifier} == {value}"),
                language: S::NAME,
                reason: format!("a string of {} {reason}", set.program),
            })?;
            let message = constant_message(name, value);
            condition.map(|condition| Check { condition, message, sizes: Vec::new() })
        }
    })
}

/// What is checked when the symbols are known: sizes that do not determine one, then the conditions. `inputs`
/// are the inputs' identifiers.
pub(super) fn checks<S: Syntax>(
    set: &GuardSet,
    names: &Names,
    syntax: &S,
    inputs: &[String],
) -> Result<Vec<Check>, NotExpressible> {
    let mut checks = Vec::with_capacity(set.fixed.len() + set.conditions.len());
    let size = |input: usize, dim| (set.place(input, dim), syntax.size(&inputs[input], dim));
    let sizes = |e: Expr| {
        let symbols = set.pool.free_symbols(&[e]);
        let known = set.variables.iter().filter(move |v| symbols.contains(&v.symbol));
        known.map(|v| size(v.input, v.dim)).collect::<Vec<_>>()
    };
    for &(input, dim, e) in &set.fixed {
        let own = size(input, dim);
        let condition = format!("{} == {}{}", own.1, formula(set, names, syntax, e)?, S::HAS_VALUES);
        let sizes = std::iter::once(own).chain(sizes(e)).collect();
        checks.push(Check { condition, message: fixed_message(set, input, dim, e), sizes });
    }
    for &e in &set.conditions {
        let condition = format!("{}{}", formula(set, names, syntax, e)?, S::HAS_VALUES);
        checks.push(Check { condition, message: condition_message(set, e), sizes: sizes(e) });
    }
    Ok(checks)
}

/// An integer by which a size determines a symbol.
pub(super) fn int<S: Syntax>(set: &GuardSet, syntax: &S, value: &Int) -> Result<String, NotExpressible> {
    syntax.int(value).ok_or_else(|| NotExpressible {
        condition: value.to_string(),
        language: S::NAME,
        reason: format!("a size of {} does not fit its integers", set.program),
    })
}

/// The identifiers of symbols and inputs in checkers, valid in every language and distinct.
pub(super) struct Names {
    symbols: FxHashMap<Symbol, String>,
    /// By position.
    pub inputs: Vec<String>,
}

impl Names {
    pub fn of(set: &GuardSet) -> Names {
        let symbols = set.variables.iter().enumerate().map(|(i, v)| {
            let name = identifier(set.pool.symbol_name(v.symbol));
            // Names of torch stay as they are: `s17`, `u0`. Others could be a keyword, or mean something else
            // in the checker.
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

/// A name as an identifier, not necessarily a unique one.
fn identifier(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.collect()
    } else {
        "x_".chars().chain(plain).collect()
    }
}

/// Joins texts pairwise, so that the nesting is logarithmic.
fn joined(mut parts: Vec<Text>, join: impl Fn(&str, &str) -> String) -> Option<Text> {
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
fn formula<S: Syntax>(set: &GuardSet, names: &Names, syntax: &S, e: Expr) -> Result<String, NotExpressible> {
    let mut parts = Parts { set, names, syntax, whole: e, texts: FxHashMap::default() };
    let mut bytes = 0;
    // Children come before their parents.
    for part in set.pool.reachable(&[e]) {
        let Some(node) = set.pool.node(part) else { continue };
        let (text, depth) = parts.written(part, node)?;
        bytes += text.len();
        if bytes > MAX_BYTES {
            return Err(parts.fail("it is too long"));
        }
        if depth > MAX_DEPTH {
            return Err(parts.fail("it is nested too deeply"));
        }
        parts.texts.insert(part, (text, depth));
    }
    parts.operand(e).map(|(text, _)| text)
}

/// A text, and how deep its brackets nest.
type Text = (String, usize);

/// The texts of an expression's parts.
struct Parts<'a, S> {
    set: &'a GuardSet,
    names: &'a Names,
    syntax: &'a S,
    whole: Expr,
    texts: FxHashMap<Expr, Text>,
}

impl<S: Syntax> Parts<'_, S> {
    fn fail(&self, reason: impl Into<String>) -> NotExpressible {
        let (condition, reason) = (self.set.shown(self.whole), reason.into());
        NotExpressible { condition, language: S::NAME, reason }
    }

    fn int(&self, value: &Int) -> Result<String, NotExpressible> {
        self.syntax.int(value).ok_or_else(|| self.fail(format!("{value} does not fit its integers")))
    }

    /// The text of a part that was written before.
    fn operand(&self, e: Expr) -> Result<Text, NotExpressible> {
        match e.as_inline() {
            Some(value) => Ok((self.int(&Int::from(value))?, 0)),
            None => self.texts.get(&e).cloned().ok_or_else(|| self.fail("a part has no text")),
        }
    }

    /// The text of a part whose operands were written before.
    fn written(&self, part: Expr, node: &Node) -> Result<Text, NotExpressible> {
        Ok(match node {
            Node::Int(value) => (self.int(value)?, 0),
            Node::Float(value) => (self.syntax.float(value.0), 0),
            Node::Bool(value) => (self.syntax.truth(*value).to_string(), 0),
            Node::Symbol(symbol) => match self.names.symbol(*symbol) {
                Some(name) => (name.to_string(), 0),
                None => return Err(self.fail("no size determines a symbol")),
            },
            Node::Sum { constant, terms } => {
                let mut summands = Vec::with_capacity(terms.len() + 1);
                if !constant.is_zero() {
                    summands.push((self.int(constant)?, 0));
                }
                for (monomial, coefficient) in terms {
                    let (mut term, mut depth) = self.operand(*monomial)?;
                    if !coefficient.is_one() {
                        term = self.syntax.mul(&self.int(coefficient)?, &term);
                        depth += 1;
                    }
                    summands.push((term, depth));
                }
                joined(summands, |a, b| self.syntax.add(a, b)).unwrap_or_default()
            }
            Node::Product(powers) => {
                let mut factors = Vec::new();
                for &(atom, power) in powers {
                    let factor = self.operand(atom)?;
                    if factor.0.len().saturating_mul(power as usize) > MAX_BYTES {
                        return Err(self.fail("it is too long"));
                    }
                    factors.extend(std::iter::repeat_n(factor, power as usize));
                }
                joined(factors, |a, b| self.syntax.mul(a, b)).unwrap_or_default()
            }
            Node::Call(func, args) => self.call(part, *func, args)?,
        })
    }

    fn call(&self, part: Expr, func: Func, args: &[Expr]) -> Result<Text, NotExpressible> {
        let (set, syntax) = (self.set, self.syntax);
        let operands = args.iter().map(|&a| self.operand(a)).collect::<Result<Vec<_>, _>>()?;
        let deepest = operands.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        // Calls with many operands may be written as nested calls with two.
        let depth = deepest + if matches!(func, Func::Min | Func::Max) { args.len() } else { 1 };
        let mut texts: Vec<String> = operands.into_iter().map(|(text, _)| text).collect();
        let beside_doubles = matches!(func, Func::FloatEq | Func::FloatLt | Func::FloatLe)
            || (func == Func::Ite && set.pool.sort(part) == Sort::Float);
        if beside_doubles && !syntax.compares_by_value() {
            to_doubles(set, syntax, args, &mut texts).ok_or_else(|| self.fail("it lacks doubles"))?;
        }
        let is_double = |&e: &Expr| set.pool.sort(e) == Sort::Float;
        let sort = match args.iter().any(is_double) {
            true => Sort::Float,
            false => args.last().map_or(Sort::Int, |&a| set.pool.sort(a)),
        };
        // Without types at run time, it is not known whether to compute with integers or with doubles.
        let is_either = match func {
            Func::IntTrueDiv => sort == Sort::Float,
            Func::Ite => false,
            _ => set.pool.may_be_integer(part),
        };
        if !syntax.compares_by_value() && is_either {
            return Err(self.fail("a number may be an integer or a double"));
        }
        if !syntax.compares_by_value() && func == Func::ToFloat && sort == Sort::Float {
            // A choice between an integer and a double has been made of doubles.
            return Ok((texts.swap_remove(0), depth));
        }
        let text = plain_call(func, &texts).or_else(|| syntax.call(func, sort, &texts));
        Ok((text.ok_or_else(|| self.fail(format!("it lacks {func:?}")))?, depth))
    }
}

/// Converts integer operands to doubles; `None` if the language lacks them.
fn to_doubles<S: Syntax>(set: &GuardSet, syntax: &S, args: &[Expr], texts: &mut [String]) -> Option<()> {
    for (text, &a) in texts.iter_mut().zip(args) {
        if set.pool.sort(a) == Sort::Int {
            *text = syntax.call(Func::ToFloat, Sort::Int, std::slice::from_ref(text))?;
        }
    }
    Some(())
}

/// What a checker says if a size is wrong.
pub(super) fn fixed_message(set: &GuardSet, input: usize, dim: Option<usize>, e: Expr) -> String {
    format!("{} has to be {}", set.place(input, dim), set.shown(e))
}

/// What a checker says if a constant input has another value.
pub(super) fn constant_message(name: &str, value: &Constant) -> String {
    format!("{name} has to be {value}")
}

/// What a checker says if a condition does not hold.
pub(super) fn condition_message(set: &GuardSet, e: Expr) -> String {
    format!("{} does not hold", set.shown(e))
}
