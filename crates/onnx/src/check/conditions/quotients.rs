//! Equations of quotients that say of sizes that they are multiples: `h % 4 == 0` for `4*(h//4) == h`.
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func, Int, Pool};

/// The most factors of a product.
const MAX_FACTORS: usize = 6;

/// On which side of the number that is divided the multiple lies that a quotient makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Never above.
    Below,
    /// Never below.
    Above,
    /// On either.
    Either,
}

/// A quotient of a size: `(size + c) // divisor`.
struct Quotient {
    /// Its place among the sizes.
    size: usize,
    divisor: Int,
    side: Side,
    /// Whether its negative is the quotient.
    is_negated: bool,
}

/// The conditions `size % divisor == 0` that together are the equation `difference == 0` between a product of sizes and
/// one of their quotients, where these sizes are known to be at least 1. `None` where it is no such equation.
pub(super) fn multiples(env: &mut ShapeEnv, difference: Expr) -> Option<Vec<Expr>> {
    let poly = env.pool.poly(difference);
    let [(one, one_factor), (other, other_factor)] = poly.terms.as_slice() else { return None };
    if !poly.constant.is_zero() {
        return None;
    }
    let factors = |e: Expr| {
        let monomial = env.pool.monomial(e);
        let is_plain = monomial.len() <= MAX_FACTORS && monomial.iter().all(|(_, power)| *power == 1);
        is_plain.then(|| monomial.into_iter().map(|(factor, _)| factor).collect::<Vec<Expr>>())
    };
    let (one, other) = ((factors(*one)?, one_factor), (factors(*other)?, other_factor));
    multiples_of(env, (&one.0, one.1), (&other.0, other.1))
        .or_else(|| multiples_of(env, (&other.0, other.1), (&one.0, one.1)))
}

/// As [`multiples`] of factors, with the number before their product, of quotients and of sizes.
fn multiples_of(
    env: &mut ShapeEnv,
    (quotients, of_quotients): (&[Expr], &Int),
    (sizes, of_sizes): (&[Expr], &Int),
) -> Option<Vec<Expr>> {
    if quotients.len() != sizes.len() {
        return None;
    }
    let mut found: Vec<Quotient> = Vec::new();
    for &quotient in quotients {
        let next = quotient_of(&mut env.pool, quotient, sizes)?;
        if found.iter().any(|known| known.size == next.size) {
            return None;
        }
        found.push(next);
    }
    // The number before the quotients is the product of the divisors, on the other side of the equation.
    let mut product = of_sizes.clone();
    for quotient in &found {
        product = &product * &quotient.divisor;
        if quotient.is_negated {
            product = -&product;
        }
    }
    let sides: Vec<Side> = found.iter().map(|quotient| quotient.side).collect();
    // Of several multiples none may be larger where another one is smaller.
    let is_bounded = match sides.as_slice() {
        [_] => true,
        sides => sides[0] != Side::Either && sides.iter().all(|side| *side == sides[0]),
    };
    if -&product != *of_quotients || !is_bounded {
        return None;
    }
    for &size in sizes {
        let some = env.pool.ge(size, Expr::ONE);
        if found.len() > 1 && env.statically(some) != Some(true) {
            return None;
        }
    }
    let multiple = |quotient: &Quotient| {
        let divisor = env.pool.int(quotient.divisor.clone());
        let rest = env.pool.modulo(sizes[quotient.size], divisor);
        env.pool.eq(rest, Expr::ZERO)
    };
    Some(found.iter().map(multiple).collect())
}

/// The quotient that a call is of one of some sizes.
fn quotient_of(pool: &mut Pool, call: Expr, sizes: &[Expr]) -> Option<Quotient> {
    let &[number, divisor] = pool.as_func(call, Func::FloorDiv)? else { return None };
    let divisor = pool.as_int(divisor).filter(Int::is_positive)?;
    for (at, &size) in sizes.iter().enumerate() {
        // A quotient of a quotient is written as one: `(h + 3)//4` is `((h + 1)//2 + 1)//2`.
        if let Some(&[inner, by]) = pool.as_func(size, Func::FloorDiv)
            && let Some(by) = pool.as_int(by).filter(|by| by.is_positive() && divisor.is_multiple_of(by))
        {
            let rest = pool.sub(number, inner);
            if let Some(rest) = pool.as_int(rest).filter(|rest| rest.is_multiple_of(&by))
                && let (Some(rest), Some(divisor)) = (rest.floor_div(&by), divisor.floor_div(&by))
                && !rest.is_negative()
                && rest < divisor
            {
                return Some(quotient_with(at, divisor, rest, false));
            }
        }
        for is_negated in [false, true] {
            let own = if is_negated { pool.neg(size) } else { size };
            let rest = pool.sub(number, own);
            let Some(rest) = pool.as_int(rest) else { continue };
            if !rest.is_negative() && rest < divisor {
                return Some(quotient_with(at, divisor, rest, is_negated));
            }
        }
    }
    None
}

/// `(size + rest) // divisor`, or of the negative of the size.
fn quotient_with(size: usize, divisor: Int, rest: Int, is_negated: bool) -> Quotient {
    let last = &divisor - &Int::ONE;
    // `divisor * quotient` is `size + rest` without what is left over, which is `rest` for a multiple.
    let side = match (rest.is_zero(), rest == last, is_negated) {
        (true, _, false) | (_, true, true) => Side::Below,
        (_, true, false) | (true, _, true) => Side::Above,
        _ => Side::Either,
    };
    Quotient { size, divisor, side, is_negated }
}

#[cfg(test)]
mod tests {
    use super::multiples;
    use sizewise_env::{ShapeEnv, SymbolInfo};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Evaluator, Expr, Int, Value, print, read};

    #[test]
    fn equations_of_quotients_are_conditions_on_multiples() {
        for (difference, expected) in [
            ("h - 4*((h + 3)//4)", Some("Eq(Mod(h, 4), 0)")),
            ("4*(h//4) - h", Some("Eq(Mod(h, 4), 0)")),
            ("h - 4*((h + 1)//4)", Some("Eq(Mod(h, 4), 0)")),
            ("h + 4*((-h)//4)", Some("Eq(Mod(h, 4), 0)")),
            ("16*(h//4)*(w//4) - h*w", Some("And(Eq(Mod(h, 4), 0), Eq(Mod(w, 4), 0))")),
            ("6*((h + 1)//2)*((w + 2)//3) - h*w", Some("And(Eq(Mod(h, 2), 0), Eq(Mod(w, 3), 0))")),
            ("2*((h + 3)//4) - ((h + 1)//2)", Some("Eq(Mod((h + 1)//2, 2), 0)")),
            ("((h + 1)//2) - 2*((h + 2)//4)", None),
            ("(h//2) - 3*(h//6)", Some("Eq(Mod(h//2, 3), 0)")),
            // One is rounded up and the other down.
            ("4*((h + 1)//2)*(w//2) - h*w", None),
            ("8*(h//4)*(w//4) - h*w", None),
            ("16*(h//4)*(h//4) - h*w", None),
            ("4*(h//4) - h - 1", None),
            ("h - 4*((h + 4)//4)", None),
            ("4*(h//4) - w", None),
            ("h - w", None),
        ] {
            let mut env = ShapeEnv::new();
            let range = ValueRange::at_least(Int::ONE);
            let symbols: Vec<Expr> = ["h", "w"]
                .iter()
                .map(|name| env.declare(name, range.clone(), SymbolInfo::default()))
                .collect();
            let difference = read::closed(&mut env.pool, difference).expect(difference).expr;
            let found = multiples(&mut env, difference).map(|parts| env.pool.and(&parts));
            let wanted = expected.map(|text| read::closed(&mut env.pool, text).expect(text).expr);
            assert_eq!(found, wanted, "{}", print::expression(&env.pool, difference));
            let Some(found) = found else { continue };
            let same = env.pool.eq(difference, Expr::ZERO);
            for (h, w) in (1..=30i64).flat_map(|h| (1..=30i64).map(move |w| (h, w))) {
                let value = |symbol| {
                    let at = symbols.iter().position(|&e| env.pool.as_symbol(e) == Some(symbol))?;
                    Some(Value::Int([h, w][at].into()))
                };
                let mut evaluator = Evaluator::new(&env.pool, value);
                assert_eq!(evaluator.truth(same), evaluator.truth(found), "{h} {w}");
            }
        }
    }
}
