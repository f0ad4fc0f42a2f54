//! Where conditions have a value at all.
//!
//! Everywhere else a query ranges over the assignments at which every operation has a value. Code that
//! evaluates a condition on actual sizes, such as the guards of an exported module, meets the other
//! assignments too, and Python raises an error there.
use sizewise_expr::{Expr, Func, Pool};

/// The greatest operand of `exp` that does not overflow, rounded down; `sinh` and `cosh` reach a little further.
const MAX_EXPONENT: f64 = 709.0;

/// Conditions under which the operations in `roots` have a value: divisors are not zero, operands of square
/// roots are not negative, and so on. They suffice, but may be stronger than needed. Operations that fail
/// only for numbers beyond the greatest double (`ToFloat`, quotients and roundings) are left out, because
/// sizes are 64-bit integers at run time.
pub fn requirements(pool: &mut Pool, roots: &[Expr]) -> Vec<Expr> {
    let mut conditions = Vec::new();
    for part in pool.reachable(roots) {
        let Some((func, args)) = pool.as_call(part) else { continue };
        if !func.is_partial() {
            continue;
        }
        let args = args.to_vec();
        let Some(condition) = requirement(pool, func, &args) else { continue };
        if pool.as_bool(condition) != Some(true) && !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
    conditions
}

/// The condition under which one call has a value.
fn requirement(pool: &mut Pool, func: Func, args: &[Expr]) -> Option<Expr> {
    use Func::*;
    let (&a, b) = (args.first()?, args.get(1).copied());
    let zero = Expr::ZERO;
    Some(match func {
        FloorDiv | Mod | IntTrueDiv | FloatTrueDiv => pool.ne(b?, zero),
        Pow => pool.ge(b?, zero),
        FloatPow => power(pool, a, b?),
        Sqrt => pool.ge(a, zero),
        Log | Log2 => pool.gt(a, zero),
        Asin | Acos => {
            let (above, below) = (pool.ge(a, Expr::from(-1)), pool.le(a, Expr::ONE));
            pool.and(&[above, below])
        }
        Exp => {
            let most = pool.float(MAX_EXPONENT);
            pool.le(a, most)
        }
        Sinh | Cosh => {
            let most = pool.float(MAX_EXPONENT);
            let magnitude = pool.abs(a);
            pool.le(magnitude, most)
        }
        _ => return None,
    })
}

/// `a ** b` of doubles: of a positive base always; of 0 if `b` is not negative; of a negative one if `b` is whole.
fn power(pool: &mut Pool, a: Expr, b: Expr) -> Expr {
    let exponent = pool.constant_value(b).map(|b| b.as_f64());
    match exponent {
        Some(b) if b.fract() == 0.0 && b >= 0.0 => pool.bool(true),
        Some(b) if b.fract() == 0.0 => pool.ne(a, Expr::ZERO),
        Some(b) if b >= 0.0 => pool.ge(a, Expr::ZERO),
        _ => pool.gt(a, Expr::ZERO),
    }
}

/// Whether a part of a condition is a call that may have no value; a division by a nonzero constant always has one.
pub(super) fn may_be_undefined(pool: &Pool, e: Expr) -> bool {
    match pool.as_call(e) {
        Some((Func::FloorDiv | Func::Mod | Func::IntTrueDiv, args)) => {
            pool.as_int(args[1]).is_none_or(|d| d.is_zero())
        }
        // An integer beside a double may be too large to become one.
        Some((func, _)) => func.is_partial() || pool.may_be_integer(e),
        None => false,
    }
}

/// Whether division by zero is the only reason why `e` may have no value.
pub(super) fn only_divides(pool: &Pool, e: Expr) -> bool {
    let divides = |e: Expr| matches!(pool.as_call(e), Some((Func::FloorDiv | Func::Mod, _)));
    pool.reachable(&[e]).into_iter().all(|e| !may_be_undefined(pool, e) || divides(e))
}
