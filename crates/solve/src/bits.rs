//! Bitwise operations as arithmetic.
//!
//! Integers are strings of bits without end, as in Python. `x & 7` is `x % 8`, and `x & -8` is `8*(x // 8)`; other masks
//! are differences of remainders, one for each run of ones. So are `2**n - 1` and `-2**n`. Of `x & y`, `x | y` and `x ^ y` one gives the others:
//! `x + y` adds the bits that are in both twice.
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Pool};

/// Masks of more bits than this are left as they are.
const MAX_BITS: u64 = 128;
/// Masks of more runs of ones than this are left as they are.
const MAX_RUNS: usize = 4;

/// An expression with the same values, in which only [`Func::BitAnd`] of what are no masks is left.
pub(super) fn arithmetic(pool: &mut Pool, e: Expr) -> Expr {
    let mut memo = FxHashMap::default();
    for part in pool.reachable(&[e]) {
        let Some((func @ (Func::BitAnd | Func::BitOr | Func::BitXor), &[a, b])) = pool.as_call(part) else {
            continue;
        };
        let [a, b] = [a, b].map(|operand| pool.substitute_memo(operand, &|_| None, &mut memo));
        let common = common(pool, a, b);
        let value = match func {
            Func::BitAnd => common,
            _ => {
                let twice = pool.int(if func == Func::BitOr { -1 } else { -2 });
                let (sum, taken) = (pool.add(a, b), pool.mul(twice, common));
                pool.add(sum, taken)
            }
        };
        memo.insert(part, value);
    }
    if memo.is_empty() { e } else { pool.substitute_memo(e, &|_| None, &mut memo) }
}

/// `a & b`.
fn common(pool: &mut Pool, a: Expr, b: Expr) -> Expr {
    let masked = match (pool.as_int(a), pool.as_int(b)) {
        (Some(mask), None) => masked(pool, b, &mask),
        (None, Some(mask)) => masked(pool, a, &mask),
        _ => by_power(pool, a, b).or_else(|| by_power(pool, b, a)),
    };
    masked.unwrap_or_else(|| pool.bitwise(Func::BitAnd, a, b))
}

/// `e & mask`, where the mask is `2**n - 1` or `-2**n`.
fn by_power(pool: &mut Pool, e: Expr, mask: Expr) -> Option<Expr> {
    let is_power = |pool: &Pool, e: Expr| matches!(pool.as_call(e), Some((Func::Pow, &[base, _])) if base.as_inline() == Some(2));
    let next = pool.add(mask, Expr::ONE);
    if is_power(pool, next) {
        return Some(pool.modulo(e, next));
    }
    let power = pool.neg(mask);
    is_power(pool, power).then(|| {
        let below = pool.modulo(e, power);
        pool.sub(e, below)
    })
}

/// The bits of `e` that a mask lets through.
fn masked(pool: &mut Pool, e: Expr, mask: &Int) -> Option<Expr> {
    if mask.is_negative() {
        let others = masked(pool, e, &(&-mask - &Int::ONE))?;
        return Some(pool.sub(e, others));
    }
    let mut sum = Expr::ZERO;
    for (low, high) in runs(mask)? {
        // The bits below the end of the run, without those below its beginning.
        let [below, under] = [high, low].map(|bit| {
            let modulus = pool.int(Int::power_of_two(bit));
            pool.modulo(e, modulus)
        });
        let run = pool.sub(below, under);
        sum = pool.add(sum, run);
    }
    Some(sum)
}

/// The runs of ones in a number that is not negative: the first bit of each, and the first after it.
fn runs(mask: &Int) -> Option<Vec<(u32, u32)>> {
    let bits = u32::try_from(mask.bits()).ok().filter(|bits| u64::from(*bits) <= MAX_BITS)?;
    let is_one = |bit: u32| {
        let shifted = mask.floor_div(&Int::power_of_two(bit));
        shifted.and_then(|v| v.modulo(&Int::from(2))).is_some_and(|v| v.is_one())
    };
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for bit in (0..bits).filter(|&bit| is_one(bit)) {
        match runs.last_mut() {
            Some((_, end)) if *end == bit => *end += 1,
            _ => runs.push((bit, bit + 1)),
        }
    }
    (runs.len() <= MAX_RUNS).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::{Value, read};

    #[test]
    fn what_is_replaced_has_the_same_value() {
        for text in [
            "x & 7",
            "x & -8",
            "x & 12",
            "x & 0",
            "x & -13",
            "x | 5",
            "x ^ 5",
            "(x ^ 5) ^ 5",
            "x | y",
            "x ^ y",
            "(x | y) & 6",
            "(x & y) + (x | y)",
            "x & 340282366920938463463374607431768211455",
            "x & (2**y - 1)",
            "-2**y & x",
            "2**y & (2**y - 1)",
            "2**y | x",
        ] {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, text).expect(text).expr;
            let replaced = arithmetic(&mut pool, e);
            for (a, b) in (-20..20).flat_map(|a| (-20..20).map(move |b| (a, b))) {
                let at = |symbol| {
                    let is_x = pool.find_symbol("x") == Some(symbol);
                    Some(Value::Int(Int::from(if is_x { a } else { b })))
                };
                // `2**y` has no value below 0.
                let value = pool.eval(e, at);
                assert!(value.is_err() || value == pool.eval(replaced, at), "{text} at {a}, {b}");
            }
        }
    }

    #[test]
    fn masks_of_many_runs_or_bits_stay() {
        for (mask, stays) in [("85", false), ("341", true), ("2**128 - 1", false), ("2**129 - 1", true)] {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, &format!("x & ({mask})")).expect("a mask").expr;
            assert_eq!(arithmetic(&mut pool, e) == e, stays, "{mask}");
        }
    }
}
