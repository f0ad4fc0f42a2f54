//! Conditions in their simplest form: `t % 2 == 0` for `(t + 1) // 2 == t // 2`.
//!
//! What the engine does not find is guessed: the sizes at which a condition holds are tried, and what they look like (multiples, a
//! bound) is taken only if it is proved to be the same condition.
use super::pattern::{common_divisor, pattern, remainder};
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};
use sizewise_solve::{Budget, Compiled, Facts, decide, requirements, simplify};
use std::collections::BTreeSet;

/// How many sizes are tried of one size alone, and of each of two or three.
const TRIED: [i64; 3] = [240, 40, 11];
/// Multiples of more are not looked for.
const MAX_FACTOR: i64 = 256;
/// Of a disjunction of more parts all are kept.
const MAX_PARTS: usize = 6;

/// The simplest condition that was found which is the same wherever the facts hold: `n == 2` for `n*m == 2*m`, `h % 4 == 0`
/// for `4*(h//4) == h`. True, if the facts imply it.
pub fn simplest(pool: &mut Pool, facts: &mut Facts, condition: Expr) -> Expr {
    let simple = simplify(pool, facts, condition, &Budget::small());
    let guessed = is_involved(pool, simple).then(|| simpler(pool, facts, &[], simple)).flatten();
    let guessed = guessed.filter(|&guess| weight(pool, guess) < weight(pool, simple));
    let simple = without_implied(pool, facts, guessed.unwrap_or(simple));
    if pool.as_bool(simple) == Some(false) { condition } else { simple }
}

/// A disjunction without the parts of which the others are true: `m <= n` for `m <= n or max(m, n) == 1`.
fn without_implied(pool: &mut Pool, facts: &Facts, e: Expr) -> Expr {
    let Some(parts) = pool.as_func(e, Func::Or).map(<[Expr]>::to_vec) else { return e };
    if parts.len() > MAX_PARTS {
        return e;
    }
    let mut kept = parts.clone();
    for part in parts {
        let others: Vec<Expr> = kept.iter().copied().filter(|&other| other != part).collect();
        if others.is_empty() {
            break;
        }
        let other = pool.or(&others);
        let mut facts = facts.clone();
        facts.assume(pool, part);
        if decide(pool, &mut facts, other, &Budget::small()).verdict.is_implied() {
            kept = others;
        }
    }
    pool.or(&kept)
}

/// The simplest size that was found which is the same wherever the facts hold: `max(0, t - 5)` for
/// `max(0, max(0, t - 3) - min(2, t))`.
pub fn simplest_size(pool: &mut Pool, facts: &mut Facts, size: Expr) -> Expr {
    let simple = simplify(pool, facts, size, &Budget::small());
    let guessed = is_involved(pool, simple).then(|| straight(pool, facts, simple)).flatten();
    guessed.filter(|&guess| weight(pool, guess) < weight(pool, simple)).unwrap_or(simple)
}

/// A comparison with the sizes in it in their simplest form: `d + 1 == max(0, d - 1)` for `d + 1 == max(0, d - min(1, d))`.
pub(super) fn with_simple_sizes(pool: &mut Pool, facts: &mut Facts, condition: Expr) -> Expr {
    let Some((func @ (Func::IsZero | Func::NotPositive), &[p])) = pool.as_call(condition) else {
        return condition;
    };
    let mut sum = p;
    for (term, factor) in pool.poly(p).terms {
        let is_extreme = matches!(pool.as_call(term), Some((Func::Min | Func::Max, _)));
        if !is_extreme {
            continue;
        }
        let simple = simplest_size(pool, facts, term);
        if weight(pool, simple) < weight(pool, term) {
            let factor = pool.int(factor);
            let (old, new) = (pool.mul(factor, term), pool.mul(factor, simple));
            let less = pool.sub(sum, old);
            sum = pool.add(less, new);
        }
    }
    let simple = if func == Func::IsZero { pool.eq(sum, Expr::ZERO) } else { pool.le(sum, Expr::ZERO) };
    // What is known to be true or false shows nothing.
    if pool.as_bool(simple).is_some() { condition } else { simple }
}

/// A size that grows by the same step from some size on, and is one number before that.
fn straight(pool: &mut Pool, facts: &Facts, size: Expr) -> Option<Expr> {
    let symbols = pool.free_symbols(&[size]);
    let [symbol] = symbols[..] else { return None };
    let tried = sizes(facts, symbol, TRIED[1])?;
    let value = |n: i64| {
        let value = pool.eval(size, |_| Some(sizewise_expr::Value::Int(n.into()))).ok()?;
        value.as_int()?.to_i64()
    };
    let values: Vec<i64> = tried.iter().map(|&n| value(n)).collect::<Option<_>>()?;
    let ([first, ..], [.., before, last]) = (values.as_slice(), values.as_slice()) else { return None };
    let step = last.checked_sub(*before)?;
    let at_zero = last.checked_sub(step.checked_mul(*tried.last()?)?)?;
    let (symbol, step_by) = (pool.symbol_expr(symbol), pool.int(step));
    let (grown, at_zero) = (pool.mul(step_by, symbol), pool.int(at_zero));
    let line = pool.add(grown, at_zero);
    let end = pool.int(*first);
    let bent = if step > 0 { pool.max(end, line) } else { pool.min(end, line) };
    [line, bent].into_iter().find(|&guess| {
        let same = pool.eq(size, guess);
        decide(pool, &mut facts.clone(), same, &Budget::small()).verdict.is_implied()
    })
}

/// Whether a condition or size has parts that are seldom its simplest form.
fn is_involved(pool: &Pool, e: Expr) -> bool {
    pool.reachable(&[e]).into_iter().any(|part| match pool.as_call(part) {
        Some((Func::FloorDiv | Func::Min | Func::Max | Func::Ite | Func::Or, _)) => true,
        Some((Func::Mod, operands)) => {
            operands.first().is_some_and(|&of| pool.as_symbol(of).is_none())
                || operands.get(1).is_some_and(|&by| pool.as_int(by).is_none())
        }
        _ => false,
    })
}

/// How much there is to read.
fn weight(pool: &Pool, e: Expr) -> usize {
    sizewise_expr::text::print::expression(pool, e).chars().filter(|c| !c.is_ascii_digit()).count()
}

/// A simpler condition that is the same under the facts, of which these are bounds.
pub(super) fn simpler(pool: &mut Pool, facts: &Facts, bounds: &[Expr], condition: Expr) -> Option<Expr> {
    let symbols = pool.free_symbols(&[condition]);
    let count = *TRIED.get(symbols.len().checked_sub(1)?)?;
    let sizes: Vec<Vec<i64>> = symbols.iter().map(|&s| sizes(facts, s, count)).collect::<Option<_>>()?;
    let defined = requirements(pool, &[condition]);
    let compiled = Compiled::new(pool, condition);
    let bounds: Vec<Compiled> = bounds.iter().map(|&bound| Compiled::new(pool, bound)).collect();
    let (mut holds, mut fails) = (Vec::new(), Vec::new());
    let mut room = Vec::new();
    for sizes in product(&sizes) {
        let numbers: Vec<Int> = sizes.iter().map(|&size| Int::from(size)).collect();
        let value = |s: Symbol| symbols.iter().position(|&known| known == s).map(|at| &numbers[at]);
        // What bounds also other sizes is not known here.
        if bounds.iter().any(|bound| bound.holds(pool, value, &mut room) == Some(false)) {
            continue;
        }
        // What divides by zero is refused as well.
        match compiled.holds(pool, value, &mut room) {
            Some(true) => holds.push(sizes),
            Some(false) | None => fails.push(sizes),
        }
    }
    let guess = guess(pool, &symbols, &holds, &fails)?;
    let mut implies = |given: &[Expr], implied: Expr| {
        let mut facts = facts.clone();
        for &e in given {
            facts.assume(pool, e);
        }
        decide(pool, &mut facts, implied, &Budget::small()).verdict.is_implied()
    };
    let defined_by_guess = defined.iter().all(|&e| implies(&[guess], e));
    let with = |e: Expr| [&[e], defined.as_slice()].concat();
    let same = defined_by_guess && implies(&with(condition), guess) && implies(&with(guess), condition);
    same.then_some(guess)
}

/// The least sizes that a symbol may have.
fn sizes(facts: &Facts, symbol: Symbol, count: i64) -> Option<Vec<i64>> {
    let range = facts.range(symbol)?;
    let low = range.lower().and_then(|low| low.to_i64()).unwrap_or(0).max(0);
    let high = range.upper().and_then(|high| high.to_i64()).unwrap_or(i64::MAX);
    Some((low..=high.min(low.saturating_add(count))).collect())
}

/// All choices of one size of each.
fn product(sizes: &[Vec<i64>]) -> Vec<Vec<i64>> {
    match sizes {
        [first] => first.iter().map(|&a| vec![a]).collect(),
        [first, others @ ..] => {
            let others = product(others);
            let with = |&a: &i64| others.iter().map(move |rest| [&[a], rest.as_slice()].concat());
            first.iter().flat_map(with).collect()
        }
        [] => vec![Vec::new()],
    }
}

/// What the sizes at which a condition holds have in common, and those at which it fails have not.
fn guess(pool: &mut Pool, symbols: &[Symbol], holds: &[Vec<i64>], fails: &[Vec<i64>]) -> Option<Expr> {
    if fails.is_empty() || holds.is_empty() {
        return None;
    }
    let of = |sizes: &[Vec<i64>], at: usize| sizes.iter().map(|sizes| sizes[at]).collect::<BTreeSet<i64>>();
    // One size may decide alone.
    let alone = symbols.iter().enumerate().find_map(|(at, &symbol)| {
        let (holds, fails) = (of(holds, at), of(fails, at));
        let is_alone = holds.is_disjoint(&fails);
        let (holds, fails): (Vec<i64>, Vec<i64>) = (holds.into_iter().collect(), fails.into_iter().collect());
        let symbol = pool.symbol_expr(symbol);
        is_alone.then(|| pattern(pool, symbol, &holds, &fails)).flatten()
    });
    alone.or_else(|| multiples(pool, symbols, holds, fails))
}

/// Sizes that are all multiples.
fn multiples(pool: &mut Pool, symbols: &[Symbol], holds: &[Vec<i64>], fails: &[Vec<i64>]) -> Option<Expr> {
    if symbols.len() < 2 || holds.len() < 2 {
        return None;
    }
    let own = |at: usize| common_divisor(&holds.iter().map(|sizes| sizes[at]).collect::<Vec<i64>>());
    let factors: Vec<i64> = (0..symbols.len()).map(own).collect();
    let divides = |sizes: &Vec<i64>| factors.iter().zip(sizes).all(|(factor, size)| size % factor == 0);
    let is_small = factors.iter().all(|factor| (1..=MAX_FACTOR).contains(factor));
    (is_small && factors.iter().any(|&factor| factor > 1) && !fails.iter().any(divides)).then(|| {
        let of = |pool: &mut Pool, symbol: Symbol, factor: i64| {
            let size = pool.symbol_expr(symbol);
            remainder(pool, size, (factor, 0))
        };
        let parts: Vec<Expr> =
            symbols.iter().zip(&factors).map(|(&s, &factor)| of(pool, s, factor)).collect();
        pool.and(&parts)
    })
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, simpler, simplest, simplest_size, with_simple_sizes};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::text::{print, read};
    use sizewise_expr::{Expr, Int, Pool};
    use sizewise_solve::Facts;

    /// What is read over sizes of at least 1.
    fn of_sizes(text: &str) -> (Pool, Facts, Expr) {
        let mut pool = Pool::new();
        let e = read::closed(&mut pool, text).expect(text).expr;
        let mut facts = Facts::default();
        for symbol in pool.free_symbols(&[e]) {
            facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ONE));
        }
        (pool, facts, e)
    }

    #[test]
    fn conditions_are_put_simply_where_that_is_proved() {
        for (condition, simple) in [
            ("Eq((t + 1)//2, t//2)", Some("t % 2 == 0")),
            ("Eq(2*b*(t//2), b*t)", Some("t % 2 == 0")),
            ("Ne(2*(t//2), t)", Some("t % 2 != 0")),
            ("t//5 >= 7", Some("t >= 35")),
            ("Eq(6*(t//6), 6)", Some("t <= 11 and t >= 6")),
            ("And(Eq(t//2, 6), Eq(Mod(t, 2), 0))", Some("t == 12")),
            ("Ne(b*(t//2) + b, 5*(t//2) + 5)", Some("b != 5")),
            ("Eq(16*(h//4)*(t//4), h*t)", Some("h % 4 == 0 and t % 4 == 0")),
            // It holds of no multiples alone, and of no range.
            ("Eq(Mod(t*t, 7), 2)", None),
            ("Eq(h//2, t//3)", None),
            ("Eq(Mod(t, t//8), 0)", None),
            ("And(Eq(Mod(t, t//8), 0), Eq(t//(t//8), 8))", Some("t % 8 == 0")),
            ("Or(Eq(h, 1), Eq(h, 4*Max(1, h//4)))", Some("h == 1 or h % 4 == 0")),
            ("Or(Eq(Mod(h, 2), 0), And(Eq(h//2, 1), h >= 2), h <= 2)", Some("h % 2 == 0 or h <= 3")),
            ("Eq(Mod(b*t, 4*b), 0)", Some("t % 4 == 0")),
            ("And(Ne(t//2, 1), Eq(2*(t//2), t))", Some("t % 2 == 0 and t >= 4")),
        ] {
            let (mut pool, facts, e) = of_sizes(condition);
            let found = simpler(&mut pool, &facts, &[], e);
            let shown = found.map(|found| print::python(&pool, found, &|s| pool.symbol_name(s)));
            let parts = |text: &str| {
                let joint = if text.contains(" or ") { " or " } else { " and " };
                text.split(joint).map(str::to_owned).collect::<BTreeSet<String>>()
            };
            assert_eq!(shown.as_deref().map(parts), simple.map(parts), "{condition}");
        }
    }

    #[test]
    fn alternatives_that_others_imply_are_left_out() {
        for (condition, simple) in [
            ("Or(m <= n, Eq(n, 1), Eq(Max(m, n), 1))", "m <= n or n == 1"),
            ("Or(Eq(m, 1), m >= 3)", "m == 1 or m >= 3"),
            ("Or(m >= 3, m >= 5)", "m >= 3"),
        ] {
            let (mut pool, mut facts, e) = of_sizes(condition);
            let found = simplest(&mut pool, &mut facts, e);
            let shown = print::python(&pool, found, &|s| pool.symbol_name(s));
            let parts = |text: &str| text.split(" or ").map(str::to_owned).collect::<BTreeSet<String>>();
            assert_eq!(parts(&shown), parts(simple), "{condition}");
        }
    }

    #[test]
    fn sizes_within_comparisons_are_put_simply() {
        for (condition, simple) in [
            ("Eq(b, Max(0, t - Min(2, t)))", "b == max(0, t - 2)"),
            ("Eq(t + 1, Max(0, t - Min(1, t)))", "t == max(0, t - min(1, t)) - 1"),
            ("b >= 2*Max(0, Max(0, t - 3) - Min(2, t))", "b >= 2*max(0, t - 5)"),
            ("Eq(b, t//2)", "b == t // 2"),
        ] {
            let (mut pool, mut facts, e) = of_sizes(condition);
            let found = with_simple_sizes(&mut pool, &mut facts, e);
            assert_eq!(print::python(&pool, found, &|s| pool.symbol_name(s)), simple, "{condition}");
        }
    }

    #[test]
    fn sizes_are_put_simply_where_that_is_proved() {
        for (size, simple) in [
            ("Max(0, Max(0, t - 3) - Min(2, t))", "max(0, t - 5)"),
            ("Max(1, t)", "t"),
            ("Min(7, 2*t + Max(0, t - t))", "min(2*t, 7)"),
            ("t//2", "t // 2"),
        ] {
            let (mut pool, mut facts, e) = of_sizes(size);
            let found = simplest_size(&mut pool, &mut facts, e);
            let shown = print::python(&pool, found, &|s| pool.symbol_name(s));
            assert_eq!(shown, simple, "{size}");
        }
    }
}
