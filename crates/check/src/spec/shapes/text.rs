//! Expressions over a spec's variables as Python that torch takes: without `and`, `or`, `not`, `max` and `min`.
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Func, Pool, Sort, Symbol};
use sizewise_solve::requirements;

/// Conditions nested deeper than this are not written.
const MAX_DEPTH: usize = 32;
/// Expressions with more choices than this are not written.
const MAX_CHOICES: usize = 16;

/// An expression as Python over named variables; `None` where torch has no operator for a part of it. For torch, `Max` and
/// `Min` are `torch.sym_max` and `torch.sym_min`, and a choice between two numbers is arithmetic; else they are Python's own.
pub fn in_python(pool: &Pool, e: Expr, names: &dyn Fn(Symbol) -> String, for_torch: bool) -> Option<String> {
    let mut own = pool.clone();
    let torch = without_choices(&mut own, e).and_then(|e| written(&own, e, names, true, MAX_DEPTH))?;
    if for_torch { Some(torch) } else { written(pool, e, names, false, MAX_DEPTH) }
}

/// The same expression without choices: `p if c else q` is `q + (p - q)*[c]`, where `[c]` is 1 or 0. `None` where that
/// cannot be said, or would divide in the case that is not taken.
fn without_choices(pool: &mut Pool, mut e: Expr) -> Option<Expr> {
    for _ in 0..MAX_CHOICES {
        // What is chosen between stands before the choice.
        let parts = pool.reachable(&[e]).into_iter();
        let choice = parts.filter_map(|part| match pool.as_func(part, Func::Ite)? {
            &[c, p, q] => Some((part, c, p, q)),
            _ => None,
        });
        let Some((choice, c, p, q)) = choice.into_iter().next() else { return Some(e) };
        if pool.sort(choice) != Sort::Int || !requirements(pool, &[p, q]).is_empty() {
            return None;
        }
        let holds = indicator(pool, c, MAX_DEPTH)?;
        let apart = pool.sub(p, q);
        let apart = pool.mul(apart, holds);
        let sum = pool.add(q, apart);
        e = pool.substitute(e, |part| (part == choice).then_some(sum));
    }
    None
}

/// 1 where a condition on integers holds, else 0.
fn indicator(pool: &mut Pool, condition: Expr, depth: usize) -> Option<Expr> {
    let depth = depth.checked_sub(1)?;
    let (func, operands) = pool.as_call(condition)?;
    let operands = operands.to_vec();
    match (func, operands.as_slice()) {
        (Func::NotPositive, &[p]) => {
            let below = pool.sub(Expr::ONE, p);
            let most = pool.min(Expr::ONE, below);
            Some(pool.max(Expr::ZERO, most))
        }
        (Func::IsZero, &[p]) => {
            let distance = pool.abs(p);
            let most = pool.min(Expr::ONE, distance);
            Some(pool.sub(Expr::ONE, most))
        }
        (Func::Not, &[inner]) => {
            let holds = indicator(pool, inner, depth)?;
            Some(pool.sub(Expr::ONE, holds))
        }
        (Func::And | Func::Or, parts) => {
            let parts: Vec<Expr> =
                parts.iter().map(|&part| indicator(pool, part, depth)).collect::<Option<_>>()?;
            let both = |a, b| if func == Func::And { pool.min(a, b) } else { pool.max(a, b) };
            parts.into_iter().reduce(both)
        }
        _ => None,
    }
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
            is_python(&text, for_torch).then_some(text)
        }
    }
}

/// Whether a text has only what torch, or Python, defines on sizes.
fn is_python(text: &str, for_torch: bool) -> bool {
    let is_word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
    let functions = ["max", "min", "abs", "torch.sym_max", "torch.sym_min", "torch.sym_not"];
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let (word, after) =
            rest[start..].split_at(rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start));
        let is_known = match word {
            "and" | "or" | "not" | "if" | "else" => !for_torch,
            _ => !after.starts_with('(') || functions.contains(&word),
        };
        if !is_known {
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
            (
                "Max(0, Max(0, n - 1) - Min(1, n)) <= b",
                "b >= torch.sym_max(0, torch.sym_max(0, n - 1) - torch.sym_min(1, n))",
                "b >= max(0, max(0, n - 1) - min(1, n))",
            ),
            (
                "a % (b - (b + k if k <= -1 else k)) == 0",
                "a % (b - b*torch.sym_max(0, torch.sym_min(-k, 1)) - k) == 0",
                "a % (b - (b + k if k <= -1 else k)) == 0",
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
