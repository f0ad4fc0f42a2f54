//! Assumptions that say no more than a range, as the range of a variable.
use super::Shapes;
use sizewise_expr::text::read;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};

impl Shapes {
    /// The spec with ranges in place of the assumptions that say no more than a range.
    #[must_use]
    pub(crate) fn folded(&self) -> Shapes {
        let mut changed = self.clone();
        let mut pool = Pool::new();
        changed.assumptions.retain(|text| {
            let Ok(read) = read::closed(&mut pool, text) else { return true };
            let condition = pool.truth(read.expr);
            let Some((symbol, min, max)) = bound(&pool, condition).filter(|_| read.divisors.is_empty())
            else {
                return true;
            };
            let Some(variable) = changed.variables.get_mut(pool.symbol_name(symbol)) else { return true };
            let (least, most) = (variable.min.clone().max(min), smaller(variable.max.clone(), max));
            if least.as_ref().zip(most.as_ref()).is_some_and(|(min, max)| max < min) {
                return true;
            }
            (variable.min, variable.max) = (least, most);
            false
        });
        changed
    }
}

/// The smaller one of two upper bounds.
fn smaller(a: Option<Int>, b: Option<Int>) -> Option<Int> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The symbol that a condition bounds, with its bounds; `None` for any other condition.
pub(crate) fn bound(pool: &Pool, condition: Expr) -> Option<(Symbol, Option<Int>, Option<Int>)> {
    let (p, is_greater) = match pool.as_call(condition)? {
        (Func::NotPositive, &[p]) => (p, false),
        (Func::Not, &[inner]) => match pool.as_call(inner)? {
            (Func::NotPositive, &[p]) => (p, true),
            _ => return None,
        },
        _ => return None,
    };
    let poly = pool.poly(p);
    let [(monomial, factor)] = poly.terms.as_slice() else { return None };
    let symbol = pool.as_symbol(*monomial)?;
    let constant = &poly.constant;
    let one = Int::ONE;
    // `s + c <= 0`, `-s + c <= 0`, and their opposites.
    match (factor.is_one(), (-factor).is_one(), is_greater) {
        (true, _, false) => Some((symbol, None, Some(-constant))),
        (_, true, false) => Some((symbol, Some(constant.clone()), None)),
        (true, _, true) => Some((symbol, Some(&one - constant), None)),
        (_, true, true) => Some((symbol, None, Some(constant - &one))),
        _ => None,
    }
}
