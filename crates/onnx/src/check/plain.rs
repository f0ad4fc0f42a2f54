//! Expressions without cases that no size takes: `T` for `Max(0, T)` where `T` is at least 1.
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func};
use sizewise_solve::{Budget, Verdict, decide};

/// Of expressions with more cases none is looked at.
const MAX_CASES: usize = 6;

/// Whether a condition is known to hold, or not to.
type Known = fn(&mut ShapeEnv, Expr) -> Option<bool>;

/// The expression without cases that the ranges of sizes exclude.
pub(super) fn plain(env: &mut ShapeEnv, e: Expr) -> Expr {
    without_cases(env, e, ShapeEnv::statically)
}

/// As [`plain`], and without cases that are proved not to be taken.
pub(super) fn proved_plain(env: &mut ShapeEnv, e: Expr) -> Expr {
    without_cases(env, e, |env, condition| {
        let (pool, facts) = env.facts();
        match decide(pool, facts, condition, &Budget::small()).verdict {
            Verdict::Implied { .. } => Some(true),
            _ => None,
        }
    })
}

fn without_cases(env: &mut ShapeEnv, e: Expr, known: Known) -> Expr {
    let mut e = e;
    for _ in 0..MAX_CASES {
        let cases = cases(env, e);
        if cases.len() > MAX_CASES {
            break;
        }
        let found = cases.into_iter().find_map(|case| Some((case, decided(env, case, known)?)));
        let Some((case, instead)) = found else { break };
        e = env.pool.substitute(e, |part| (part == case).then_some(instead));
    }
    e
}

/// Whether an expression has cases.
pub(super) fn has_cases(env: &ShapeEnv, e: Expr) -> bool {
    !cases(env, e).is_empty()
}

fn cases(env: &ShapeEnv, e: Expr) -> Vec<Expr> {
    let is_case =
        |part: &Expr| matches!(env.pool.as_call(*part), Some((Func::Max | Func::Min | Func::Ite, _)));
    env.pool.reachable(&[e]).into_iter().filter(is_case).collect()
}

/// What an expression with cases is, where fewer of them are left.
fn decided(env: &mut ShapeEnv, case: Expr, known: Known) -> Option<Expr> {
    let (func, operands) = env.pool.as_call(case)?;
    let operands = operands.to_vec();
    if let (Func::Ite, &[condition, then, other]) = (func, operands.as_slice()) {
        return match known(env, condition) {
            Some(true) => Some(then),
            Some(false) => Some(other),
            None => greatest(env, condition, then, other),
        };
    }
    let mut left = operands.clone();
    let mut at = 0;
    while at < left.len() && left.len() > 1 {
        let own = left[at];
        let others: Vec<Expr> = left.iter().copied().filter(|&other| other != own).collect();
        let is_excluded = others.into_iter().any(|other| {
            let beyond = match func {
                Func::Max => env.pool.ge(other, own),
                _ => env.pool.le(other, own),
            };
            known(env, beyond) == Some(true)
        });
        if is_excluded {
            left.remove(at);
        } else {
            at += 1;
        }
    }
    (left.len() < operands.len()).then(|| env.pool.extremum(func, &left))
}

/// `Max(number, then)` where a choice gives the number when `then` is at most as large: `Max(1, n//2)` for a quotient
/// that is rounded up where it would be 0.
fn greatest(env: &mut ShapeEnv, condition: Expr, then: Expr, other: Expr) -> Option<Expr> {
    let mut where_not = env.clone();
    let not = where_not.pool.not(condition);
    where_not.assume(not);
    let number = match where_not.bounds(other) {
        (Some(least), Some(most)) if least == most => least,
        _ => return None,
    };
    let number = env.pool.int(number);
    let (same, at_most) = (env.pool.eq(other, number), env.pool.le(then, number));
    if where_not.statically(same) != Some(true) || where_not.statically(at_most) != Some(true) {
        return None;
    }
    let mut where_so = env.clone();
    where_so.assume(condition);
    let at_least = where_so.pool.ge(then, number);
    (where_so.statically(at_least) == Some(true)).then(|| env.pool.extremum(Func::Max, &[number, then]))
}

#[cfg(test)]
mod tests {
    use super::plain;
    use sizewise_env::{ShapeEnv, SymbolInfo};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Int, print, read};

    #[test]
    fn cases_that_no_size_takes_are_left_out() {
        for (text, expected) in [
            ("Max(0, n)", "n"),
            ("Max(2, n)", "Max(2, n)"),
            ("Min(n, n + m)", "n"),
            ("Max(n, 1, m - n)", "Max(n, m - n)"),
            ("2*Max(0, n) + Min(m, 0)", "2*n"),
            ("Where(n >= 1, m, n)", "m"),
            ("Where(n >= 2, n//2, -((-n)//2))", "Max(1, (n//2))"),
            ("Where(n >= 4, n//2, -((-n)//2))", "Where(n >= 4, (n//2), -((-n)//2))"),
            ("n//2", "(n//2)"),
        ] {
            let mut env = ShapeEnv::new();
            for name in ["n", "m"] {
                env.declare(name, ValueRange::at_least(Int::ONE), SymbolInfo::default());
            }
            let e = read::closed(&mut env.pool, text).expect(text).expr;
            let found = plain(&mut env, e);
            let wanted = read::closed(&mut env.pool, expected).expect(expected).expr;
            assert_eq!(found, wanted, "{text}: {}", print::expression(&env.pool, found));
        }
    }
}
