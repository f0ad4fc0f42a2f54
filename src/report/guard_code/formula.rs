//! Expressions as code in one language or another.
use super::GuardSet;
use crate::expr::{Expr, Func, Int, Node, Sort, Symbol};
use rustc_hash::FxHashMap;

/// The text of one checker's condition takes at most this many bytes.
const MAX_BYTES: usize = 1 << 20;

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
    /// A symbol.
    fn symbol(&self, name: &str) -> String;
    /// A call on the texts of its operands, the last of which has a sort; nothing if the language lacks it.
    fn call(&self, func: Func, sort: Sort, args: &[String]) -> Option<String>;
    /// A sum.
    fn add(&self, a: &str, b: &str) -> String;
    /// A product.
    fn mul(&self, a: &str, b: &str) -> String;
    /// A truth value.
    fn truth(&self, value: bool) -> &'static str;
}

/// The text of an expression.
pub(super) fn formula<S: Syntax>(set: &GuardSet, syntax: &S, e: Expr) -> Result<String, NotExpressible> {
    let fail = |reason: String| NotExpressible { condition: set.shown(e), language: S::NAME, reason };
    let too_large = |value: &Int| fail(format!("{value} does not fit its integers"));
    let mut texts: FxHashMap<Expr, String> = FxHashMap::default();
    let mut bytes = 0;
    // Children come before their parents.
    for part in set.pool.reachable(&[e]) {
        let of = |e: Expr| match e.as_inline() {
            Some(value) => syntax.int(&Int::from(value)),
            None => texts.get(&e).cloned(),
        };
        let operand = |e: Expr| of(e).ok_or_else(|| fail("a constant is too large".to_string()));
        let int = |value: &Int| syntax.int(value).ok_or_else(|| too_large(value));
        let text = match set.pool.node(part) {
            None => continue,
            Some(Node::Int(value)) => int(value)?,
            Some(Node::Float(value)) => syntax.float(value.0),
            Some(Node::Bool(value)) => syntax.truth(*value).to_string(),
            Some(Node::Symbol(symbol)) => syntax.symbol(&name(set, *symbol)),
            Some(Node::Sum { constant, terms }) => {
                let mut text = (!constant.is_zero()).then(|| int(constant)).transpose()?;
                for (monomial, coefficient) in terms {
                    let mut term = operand(*monomial)?;
                    if !coefficient.is_one() {
                        term = syntax.mul(&int(coefficient)?, &term);
                    }
                    text = Some(match text {
                        Some(text) => syntax.add(&text, &term),
                        None => term,
                    });
                }
                text.unwrap_or_default()
            }
            Some(Node::Product(factors)) => {
                let mut text: Option<String> = None;
                for &(atom, power) in factors {
                    let factor = operand(atom)?;
                    for _ in 0..power {
                        text = Some(match text {
                            Some(text) => syntax.mul(&text, &factor),
                            None => factor.clone(),
                        });
                        if text.as_ref().is_some_and(|t| t.len() > MAX_BYTES) {
                            return Err(fail("it is too long".to_string()));
                        }
                    }
                }
                text.unwrap_or_default()
            }
            Some(Node::Call(func, args)) => {
                let texts = args.iter().map(|&a| operand(a)).collect::<Result<Vec<_>, _>>()?;
                let sort = args.last().map_or(Sort::Int, |&a| set.pool.sort(a));
                syntax.call(*func, sort, &texts).ok_or_else(|| fail(format!("it lacks {func:?}")))?
            }
        };
        bytes += text.len();
        if bytes > MAX_BYTES {
            return Err(fail("it is too long".to_string()));
        }
        texts.insert(part, text);
    }
    match e.as_inline() {
        Some(value) => {
            syntax.int(&Int::from(value)).ok_or_else(|| fail("a constant is too large".to_string()))
        }
        None => Ok(texts.remove(&e).unwrap_or_default()),
    }
}

/// The name of a symbol; what is no identifier becomes one.
fn name(set: &GuardSet, symbol: Symbol) -> String {
    identifier(set.pool.symbol_name(symbol))
}

/// A name as an identifier of any of the languages.
pub(super) fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A text as a string literal of any of the languages.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => out.push('?'),
        }
    }
    out.push('"');
    out
}

/// What a checker says where a size is not what it has to be.
pub(super) fn fixed_message(set: &GuardSet, input: usize, dim: Option<usize>, e: Expr) -> String {
    format!("{} has to be {}", set.place(input, dim), set.shown(e))
}

/// What a checker says where a condition does not hold.
pub(super) fn condition_message(set: &GuardSet, e: Expr) -> String {
    format!("{} does not hold", set.shown(e))
}
