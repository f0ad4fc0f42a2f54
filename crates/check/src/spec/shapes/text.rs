//! Expressions over a spec's variables as Python that torch takes: without `and`, `or`, `not`, `max` and `min`.
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Func, Pool, Symbol};

/// Conditions nested deeper than this are not written.
const MAX_DEPTH: usize = 32;

/// An expression as Python over named variables; `None` where torch has no operator for a part of it. `Max` and `Min` are
/// `torch.sym_max` and `torch.sym_min` for torch, else Python's functions.
pub fn in_python(pool: &Pool, e: Expr, names: &dyn Fn(Symbol) -> String, for_torch: bool) -> Option<String> {
    written(pool, e, names, for_torch, MAX_DEPTH)
}

fn written(
    pool: &Pool,
    e: Expr,
    names: &dyn Fn(Symbol) -> String,
    for_torch: bool,
    depth: usize,
) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let joined = |parts: &[Expr], op: &str| {
        let part = |&part: &Expr| Some(format!("({})", written(pool, part, names, for_torch, depth)?));
        Some(parts.iter().map(part).collect::<Option<Vec<_>>>()?.join(op))
    };
    match pool.as_call(e) {
        Some((Func::And, parts)) => joined(parts, " & "),
        Some((Func::Or, parts)) => joined(parts, " | "),
        Some((Func::Not, &[inner])) if matches!(pool.as_call(inner), Some((Func::And | Func::Or, _))) => {
            let inner = written(pool, inner, names, for_torch, depth)?;
            Some(if for_torch { format!("torch.sym_not({inner})") } else { format!("not ({inner})") })
        }
        _ => {
            let text = print::python(pool, e, names);
            let text = if for_torch { calls(&text)? } else { text };
            is_python(&text).then_some(text)
        }
    }
}

/// Whether a text has only what torch defines on symbols.
fn is_python(text: &str) -> bool {
    let is_word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
    let known = ["max", "min", "abs", "torch.sym_max", "torch.sym_min", "torch.sym_not"];
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let (word, after) =
            rest[start..].split_at(rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start));
        let is_call = after.starts_with('(');
        if ["and", "or", "not", "if", "else"].contains(&word) || (is_call && !known.contains(&word)) {
            return false;
        }
        rest = after;
    }
    !text.starts_with('<')
}

/// The text with `torch.sym_max` for `max`: of two operands each.
fn calls(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, name)) = first_call(rest) {
        let open = at + name.len();
        let close = closing(&rest[open..])? + open;
        let parts = operands(&rest[open + 1..close]).into_iter().map(calls).collect::<Option<Vec<_>>>()?;
        out.push_str(&rest[..at]);
        let nested = parts.into_iter().reduce(|a, b| format!("torch.sym_{name}({a}, {b})"))?;
        out.push_str(&nested);
        rest = &rest[close + 1..];
    }
    Some(out + rest)
}

/// The first call of `max` or `min`.
fn first_call(text: &str) -> Option<(usize, &'static str)> {
    let word = |c: char| c == '_' || c.is_alphanumeric();
    let find = |name: &'static str| {
        let starts = text.match_indices(name).map(|(at, _)| at);
        let is_call = |at: &usize| !text[..*at].ends_with(word) && text[at + name.len()..].starts_with('(');
        starts.into_iter().find(is_call).map(|at| (at, name))
    };
    [find("max"), find("min")].into_iter().flatten().min()
}

/// Where the bracket is closed with which a text begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// The operands of a call: what commas outside of brackets part.
fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::text::read;

    #[test]
    fn conditions_are_written_as_torch_takes_them() {
        for (text, torch, plain) in [
            ("a % 2 == 0", "a % 2 == 0", "a % 2 == 0"),
            ("Min(n, x) >= 3", "torch.sym_min(n, x) >= 3", "min(n, x) >= 3"),
            ("Abs(n - s) >= 4", "abs(n - s) >= 4", "abs(n - s) >= 4"),
            ("(a == 2) | (a % 5 == 0)", "(a == 2) | (a % 5 == 0)", "(a == 2) | (a % 5 == 0)"),
            ("Max(a, b, 3) <= c", "c >= torch.sym_max(torch.sym_max(3, a), b)", "c >= max(3, a, b)"),
            (
                "Min(a, 2*b) >= 1 + Max(b, c)",
                "torch.sym_min(2*b, a) > torch.sym_max(b, c)",
                "min(2*b, a) > max(b, c)",
            ),
        ] {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, text).expect(text).expr;
            let names = |s: Symbol| pool.symbol_name(s).to_owned();
            assert_eq!(in_python(&pool, e, &names, true).as_deref(), Some(torch), "{text}");
            assert_eq!(in_python(&pool, e, &names, false).as_deref(), Some(plain), "{text}");
        }
    }
}
