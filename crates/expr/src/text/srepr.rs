//! A fast path for the texts that torch writes for most sizes, in sympy's `srepr`:
//! `Mul(Integer(4), Add(Symbol('s17', positive=True, integer=True), Integer(2)))`.
//!
//! It handles short texts of integer symbols, integers, sums, products, floor divisions, remainders and
//! extrema, each as torch writes it. For anything else, including invalid texts, it returns nothing, and the
//! full reader takes over.
use crate::node::Sort;
use crate::{Expr, Func, Pool};
use smallvec::SmallVec;

/// Longer texts are left to the reader that knows calls read before.
const MAX_TEXT: usize = 256;
/// The text after a symbol's name.
const ASSUMPTIONS: &str = "', positive=True, integer=True)";

/// The expression of a text, or `None` if the text has an unknown form.
pub(super) fn read(pool: &mut Pool, text: &str) -> Option<Expr> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut rest = text;
    let e = expression(pool, &mut rest)?;
    rest.is_empty().then_some(e)
}

/// The name of a symbol that `text` begins with, and what follows it.
pub(super) fn symbol(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("Symbol('")?;
    let end = text.bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_'))?;
    let (name, rest) = text.split_at(end);
    Some((name, rest.strip_prefix(ASSUMPTIONS)?)).filter(|_| end > 0)
}

/// Reads what the text begins with. Each level of nesting takes some bytes of a short text, so there are few.
fn expression(pool: &mut Pool, text: &mut &str) -> Option<Expr> {
    if let Some((name, rest)) = symbol(text) {
        *text = rest;
        let e = pool.symbol(name);
        return (pool.sort(e) == Sort::Int).then_some(e);
    }
    if let Some(rest) = text.strip_prefix("Integer(") {
        let end = rest.find(')')?;
        let digits = &rest[..end];
        let plain = digits.strip_prefix('-').unwrap_or(digits).bytes().all(|b| b.is_ascii_digit());
        *text = &rest[end + 1..];
        return Some(pool.int(digits.parse::<i64>().ok().filter(|_| plain)?));
    }
    let (name, rest) = text.split_at(text.find('(')?);
    if !matches!(name, "Add" | "Mul" | "FloorDiv" | "Mod" | "Min" | "Max") {
        return None;
    }
    *text = &rest[1..];
    let mut operands: SmallVec<[Expr; 4]> = SmallVec::new();
    loop {
        operands.push(expression(pool, text)?);
        match text.strip_prefix(", ") {
            Some(rest) => *text = rest,
            None => break,
        }
    }
    *text = text.strip_prefix(')')?;
    // A ratio below a quotient or a remainder is the reader's business.
    if operands.iter().any(|&e| pool.is_inexact(e)) {
        return None;
    }
    Some(match (name, operands.as_slice()) {
        ("Add", all) => pool.sum(all.iter().copied()),
        ("Mul", all) => pool.product(all.iter().copied()),
        ("Min", all) => pool.extremum(Func::Min, all),
        ("Max", all) => pool.extremum(Func::Max, all),
        ("FloorDiv", &[a, b]) => pool.floor_div(a, b),
        ("Mod", &[a, b]) => pool.modulo(a, b),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::read::closed;

    const S: &str = "Symbol('s0', positive=True, integer=True)";
    const T: &str = "Symbol('u1', positive=True, integer=True)";

    #[test]
    fn what_is_read_is_what_the_reader_proper_reads() {
        for text in [
            S.to_string(),
            "Integer(-12)".to_string(),
            format!("Add({S}, Integer(2))"),
            format!("Mul(Integer(-1), {S}, {T}, {S})"),
            format!("Mul(Add({S}, {T}), Add({S}, Mul(Integer(-1), {T})))"),
            format!("FloorDiv(Add({S}, Integer(7)), Integer(2))"),
            format!("Mod(Mul(Integer(6), {S}), Integer(4))"),
            format!("FloorDiv({S}, {T})"),
            format!("Mod({S}, Integer(0))"),
            format!("Add({S})"),
            format!("Max(Integer(1), {S}, Min(Integer(4), Mul(Integer(4), {T})))"),
        ] {
            let mut pool = Pool::new();
            let quick = read(&mut pool, &text);
            assert_eq!(quick, closed(&mut pool, &text).ok().map(|read| read.expr), "{text}");
            assert!(quick.is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_to_the_reader_proper() {
        let zf = "Symbol('zf0', positive=True, integer=True)";
        for text in [
            "",
            "s0",
            "Integer(+1)",
            "Integer()",
            "Integer(1",
            "Integer(9223372036854775808)",
            "Symbol('', positive=True, integer=True)",
            "Symbol('s0', integer=True)",
            "Symbol('s0', positive=True, integer=True) + 1",
            "Abs(Integer(1))",
            "Max(Integer(1), oo)",
            "Add()",
            "Add(Integer(1),Integer(2))",
            "FloorDiv(Integer(1), Integer(2), Integer(3))",
            "Add(Integer(1), Integer(2)",
            &format!("Add({zf}, Integer(1))"),
            &format!("Add({}Integer(1))", "Integer(1), ".repeat(30)),
        ] {
            assert_eq!(read(&mut Pool::new(), text), None, "{text}");
        }
    }
}
