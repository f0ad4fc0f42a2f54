//! Calls that were read before. Programs build long expressions from shorter ones that they write out again:
//! the size after fifty layers contains the size after forty-nine.
use super::lexer::Brackets;
use super::read::{Dialect, read};
use super::read_error::ReadError;
pub use super::reader::KnownCalls;
use super::reader::Reader;
use super::srepr;
use crate::{Expr, Pool};

/// Reads an expression that names no sources; calls read before are known by their texts, which may take in deeper
/// nesting than a text that is read from scratch.
pub fn knowing<'a>(pool: &mut Pool, text: &'a str, known: &mut KnownCalls<'a>) -> Result<Expr, ReadError> {
    // A size that is one symbol occurs in many longer ones.
    if let Some((name, "")) = srepr::symbol(text) {
        return Ok(*known.0.entry(text).or_insert_with(|| pool.symbol(name)));
    }
    if let Some(e) = srepr::read(pool, text) {
        known.0.insert(text, e);
        return Ok(e);
    }
    read(pool, text, Dialect::Auto, &mut |_| None, Some(known)).map(|read| read.expr)
}

impl<'a> Reader<'a, '_> {
    /// The text of the call whose name begins at an offset and whose bracket comes next, and the expression
    /// that it was read as. `None` if it is not stored.
    pub(super) fn known_call(&mut self, at: usize) -> Option<(&'a str, Option<Expr>)> {
        let known = self.known.as_ref()?;
        let text = self.lexer.text();
        let brackets = self.brackets.get_or_insert_with(|| Brackets::of(text));
        let call = &text[at..brackets.end_of_call(at, self.at)?];
        if let Some(&e) = known.0.get(call) {
            return Some((call, Some(e)));
        }
        let quick = srepr::read(self.pool, call);
        if let Some(e) = quick {
            self.remember(call, e);
        }
        Some((call, quick))
    }

    /// Goes on behind a part of the text.
    pub(super) fn skip(&mut self, at: usize, part: &str) -> Result<(), ReadError> {
        self.lexer.jump(at + part.len());
        self.advance()
    }

    /// Stores the expression that a call was read as.
    pub(super) fn remember(&mut self, text: &'a str, e: Expr) {
        if let Some(known) = &mut self.known {
            known.0.insert(text, e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::read::closed;

    #[test]
    fn a_part_read_before_is_what_it_was() {
        let half = "FloorDiv(Add(Symbol('s0', positive=True), Integer(3)), Integer(2))";
        let texts = [
            half.to_string(),
            format!("Add({half}, Mul(Integer(2), {half}))"),
            format!("Max(Integer(1), Add({half}, {half}))"),
            "Mul(Symbol('a)b', integer=True), Integer(2))".to_string(),
            "Symbol('s1', positive=True, integer=True)".to_string(),
            "Add(Symbol('s1', positive=True, integer=True), Integer(1))".to_string(),
            "Symbol('', positive=True, integer=True)".to_string(),
            "Symbol('s1', positive=True, integer=True) + Symbol('s2', positive=True, integer=True)"
                .to_string(),
            "Add(oo, Integer(1))".to_string(),
            format!("{half}("),
            format!("Add({half}"),
        ];
        let (mut pool, mut known) = (Pool::new(), KnownCalls::default());
        for text in &texts {
            let expected = closed(&mut pool, text).map(|read| read.expr);
            for _ in 0..2 {
                assert_eq!(knowing(&mut pool, text, &mut known), expected, "{text}");
            }
        }
    }

    #[test]
    fn python_and_sympy_do_not_share_what_a_quotient_is() {
        let (mut pool, mut known) = (Pool::new(), KnownCalls::default());
        let sympy = knowing(&mut pool, "Max(s0/2, 1)", &mut known);
        let python = knowing(&mut pool, "math.trunc(Max(s0/2, 1))", &mut known);
        assert_ne!(sympy, python);
        assert_eq!(python, closed(&mut pool, "math.trunc(Max(s0/2, 1))").map(|read| read.expr));
    }
}
