//! The order in which terms and operands are written where it is free.
use crate::node::Node;
use crate::{Expr, Pool};
use std::cmp::Ordering;

/// The number of factors of a monomial.
pub(super) fn degree(pool: &Pool, monomial: Expr) -> u64 {
    match pool.node(monomial) {
        Some(Node::Product(factors)) => factors.iter().map(|(_, power)| u64::from(*power)).sum(),
        _ => 1,
    }
}

/// The order of operands of an operation that has none: numbers, names, calls, what begins with a bracket; each by
/// name.
pub(super) fn reading_order(a: &str, b: &str) -> Ordering {
    reading_class(a).cmp(&reading_class(b)).then_with(|| natural_order(a, b))
}

/// Numbers come first, then names, calls, and what begins with a bracket.
pub(super) fn reading_class(text: &str) -> u8 {
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'-') => 0,
        Some(b'(') => 3,
        _ if text.as_bytes().contains(&b'(') => 2,
        _ => 1,
    }
}

/// The beginning of a condition, without its function or brackets: `s0 >= 2` of `(s0 >= 2)`, `s0, 2)` of
/// `Ne(s0, 2)`. Sorting by it puts conditions on one symbol together.
pub(super) fn subject(condition: &str) -> &str {
    let mut rest = condition;
    while let Some(shorter) =
        ["(", "~", "not ", "Eq(", "Ne(", "Mod("].iter().find_map(|p| rest.strip_prefix(p))
    {
        rest = shorter;
    }
    rest
}

/// The order of texts in which runs of digits compare as numbers, so that `s2` comes before `s10`.
pub(super) fn natural_order(a: &str, b: &str) -> Ordering {
    let (a_bytes, b_bytes) = (a.as_bytes(), b.as_bytes());
    let (mut i, mut j) = (0, 0);
    while let (Some(p), Some(q)) = (a_bytes.get(i), b_bytes.get(j)) {
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (x, y) = (digits_at(a_bytes, i), digits_at(b_bytes, j));
            let (p, q) = (a[i..x].trim_start_matches('0'), b[j..y].trim_start_matches('0'));
            match p.len().cmp(&q.len()).then_with(|| p.cmp(q)) {
                Ordering::Equal => (i, j) = (x, y),
                order => return order,
            }
        } else if p == q {
            (i, j) = (i + 1, j + 1);
        } else {
            return p.cmp(q);
        }
    }
    (a_bytes.len() - i).cmp(&(b_bytes.len() - j)).then_with(|| a.cmp(b))
}

/// The end of the run of digits that begins at `start`.
fn digits_at(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| start + n)
}
