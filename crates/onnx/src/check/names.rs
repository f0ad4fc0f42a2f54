//! Declared sizes that are expressions over the names of others: `2*seq + 1`, `floor(seq/2)`, `Min(a, b)`.
//!
//! A text without an operator is a name, and so is one that does not read as an expression of integers. Exporters make
//! names such as `batch-1`, too: what could be a name is an expression only where each word in it is a name that stands
//! alone somewhere.
use sizewise_expr::escape::is_python_keyword;
use sizewise_expr::text::{self, read};
use sizewise_expr::{Evaluator, Expr, Pool, Sort, Value};
use std::ops::Range;

/// Whether a name is a letter for symbols and a number, as exporters make them.
pub(super) fn is_numbered(name: &str) -> bool {
    ["u", "s"].iter().any(|prefix| has_number(name, prefix))
}

fn has_number(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a declared name can be that of a symbol. Names such as `zf0` are those of doubles.
pub(super) fn usable(name: &str) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    plain
        && !has_number(name, "zuf")
        && !has_number(name, "zf")
        && !text::has_meaning(name)
        && !is_python_keyword(name)
        && name.len() <= 100
}

/// The longest text that is read as an expression.
const MAX_TEXT: usize = 1_000;

/// Whether a text has an operator, so that it may be an expression.
pub(super) fn has_operator(text: &str) -> bool {
    text.len() <= MAX_TEXT && text.contains(['+', '-', '*', '/', '%', '('])
}

/// Whether no exporter would make a name of a text: it has a product, a call, or blanks around a sign.
pub(super) fn is_unambiguous(text: &str) -> bool {
    text.contains(['*', '(']) || ["//", " + ", " - ", " / ", " % "].iter().any(|sign| text.contains(sign))
}

/// The names in an expression, but for those of functions.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_word = c.is_alphanumeric() || c == '_' || c == '.';
        match (start, is_word) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                start = None;
                let is_number = text[from..at].starts_with(|c: char| c.is_ascii_digit());
                let is_call = text[at..].trim_start().starts_with('(');
                let is_logic = matches!(&text[from..at], "and" | "or" | "not" | "True" | "False");
                if !is_number && !is_call && !is_logic {
                    words.push(from..at);
                }
            }
            _ => {}
        }
    }
    words
}

/// The expression of a text in which `known` says what to write for each name. `None` where it does not know a name,
/// or the text is no expression of integers that has a value everywhere.
pub(super) fn expression(
    pool: &mut Pool,
    text: &str,
    known: &dyn Fn(&str) -> Option<String>,
) -> Option<Expr> {
    if !has_operator(text) {
        return None;
    }
    read_as(pool, text, known, Sort::Int)
}

/// As [`expression`], of integers or a condition.
pub(super) fn read_as(
    pool: &mut Pool,
    text: &str,
    known: &dyn Fn(&str) -> Option<String>,
    sort: Sort,
) -> Option<Expr> {
    let mut written = String::with_capacity(text.len());
    let mut end = 0;
    for word in words(text) {
        written.push_str(&text[end..word.start]);
        written.push_str(&known(&text[word.clone()])?);
        end = word.end;
    }
    written.push_str(&text[end..]);
    let read = read::closed(pool, &written).ok()?;
    let is_total = read.divisors.is_empty() && read.dropped.is_empty() && read.assumptions.is_empty();
    (is_total && pool.sort(read.expr) == sort && has_values(pool, read.expr)).then_some(read.expr)
}

/// Whether an expression has a value wherever it is tried: half of a size does not.
fn has_values(pool: &Pool, e: Expr) -> bool {
    let symbols = pool.free_symbols(&[e]);
    (1..=24i64).all(|first| {
        let value = |symbol| {
            let at = symbols.iter().position(|&known| known == symbol)? as i64;
            Some(Value::Int((first + 7 * at).into()))
        };
        match Evaluator::new(pool, value).value(e) {
            Ok(Value::Int(_) | Value::Bool(_)) => true,
            Ok(other) => other.as_int().is_some(),
            Err(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_known_names_are_read() {
        for (text, printed) in [
            ("2*seq + 1", Some("2*seq + 1")),
            ("floor(seq/2)", Some("(seq//2)")),
            ("batch * 4", Some("4*batch")),
            ("seq+past", Some("past + seq")),
            ("Min(seq, past)", Some("Min(past, seq)")),
            ("max(seq, 1)", Some("Max(1, seq)")),
            // These are names.
            ("seq", None),
            ("seq/2", None),
            ("seq//past", None),
            ("unk-1", None),
            ("seq +", None),
            ("serving/x:0", None),
            ("f(seq)", None),
            ("2*other", None),
        ] {
            let mut pool = Pool::new();
            for name in ["seq", "past", "batch"] {
                pool.symbol(name);
            }
            let known = |name: &str| ["seq", "past", "batch"].contains(&name).then(|| name.to_owned());
            let found = expression(&mut pool, text, &known);
            let found = found.map(|e| sizewise_expr::text::print::expression(&pool, e));
            assert_eq!(found.as_deref(), printed, "{text}");
        }
    }
}
