//! Products of conditions: with factors of known sign, and with each other.
//!
//! `p <= 0` and `f >= l` give `(f - l)*p <= 0`. A factor is worth trying if it turns a monomial of the
//! condition into one that occurs elsewhere. Such a product may have new monomials, which help only if
//! another product has them, too. So products are dropped until every monomial occurs in the problem or in
//! two products.
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Func, Int, Monomial, Poly, Pool};

/// The most products that are made.
const MAX_CANDIDATES: usize = 200;
/// The most products that are kept.
const MAX_PRODUCTS: usize = 120;
/// Factors of a higher degree are not tried.
const MAX_DEGREE: u32 = 4;
/// Conditions are multiplied with each other when there are no more than this many.
const MAX_PAIRED: usize = 14;

/// Products of `conditions` that constrain the monomials of the problem.
pub fn multiplied(pool: &mut Pool, table: &mut DomainTable, conditions: &[Expr]) -> Vec<Expr> {
    let mut literals: Vec<(Func, Poly)> = Vec::new();
    let mut known: FxHashSet<Expr> = FxHashSet::default();
    for &c in conditions {
        let (inner, positive) = match pool.as_func(c, Func::Not) {
            Some(&[inner]) => (inner, false),
            _ => (c, true),
        };
        let Some((func @ (Func::IsZero | Func::NotPositive), &[p])) = pool.as_call(inner) else { continue };
        let poly = pool.poly(p);
        known.extend(poly.terms.iter().map(|(m, _)| *m));
        if positive {
            literals.push((func, poly));
        }
    }
    let products: Vec<(Expr, Monomial)> = known
        .iter()
        .map(|&m| (m, pool.monomial(m)))
        .filter(|(_, factors)| factors.len() > 1 || factors.iter().any(|f| f.1 > 1))
        .collect();
    let mut products = products;
    products.sort_unstable_by_key(|(m, _)| *m);
    if products.is_empty() {
        return Vec::new();
    }
    let mut made: Vec<(Func, Poly)> = Vec::new();
    let mut seen: FxHashSet<(usize, Expr)> = FxHashSet::default();
    'all: for (i, (func, poly)) in literals.iter().enumerate() {
        for (_, whole) in &products {
            if made.len() >= MAX_CANDIDATES || pool.is_spent() {
                break 'all;
            }
            pool.charge(poly.terms.len());
            for (m, _) in &poly.terms {
                let Some(factor) = divided(whole, &pool.monomial(*m)) else { continue };
                if factor.iter().map(|f| f.1).sum::<u32>() > MAX_DEGREE || made.len() >= MAX_CANDIDATES {
                    continue;
                }
                let factor = pool.from_monomial(&factor);
                if seen.insert((i, factor)) {
                    times(pool, table, *func, poly, factor, &mut made);
                }
            }
        }
    }
    let inequalities: Vec<Poly> =
        literals.iter().filter(|(f, _)| *f == Func::NotPositive).map(|(_, p)| p.clone()).collect();
    if inequalities.len() <= MAX_PAIRED {
        for (i, p) in inequalities.iter().enumerate() {
            for q in inequalities.iter().skip(i + 1).filter(|q| q.terms.len() > 1 && p.terms.len() > 1) {
                // p <= 0 and q <= 0 give p*q >= 0.
                if pool.is_spent() {
                    continue;
                }
                let product = pool.mul_poly(p, q);
                if product.terms.iter().all(|(m, _)| known.contains(m) || !is_product(pool, *m)) {
                    made.push((Func::NotPositive, product.scaled(&Int::from(-1))));
                }
            }
        }
    }
    keep_connected(pool, &known, &mut made);
    made.truncate(MAX_PRODUCTS);
    made.into_iter()
        .map(|(func, poly)| {
            let e = pool.from_poly(&poly);
            if func == Func::IsZero { pool.eq(e, Expr::ZERO) } else { pool.le(e, Expr::ZERO) }
        })
        .collect()
}

/// The products of a condition with a factor and with its distances from its bounds.
fn times(
    pool: &mut Pool,
    table: &mut DomainTable,
    func: Func,
    poly: &Poly,
    factor: Expr,
    made: &mut Vec<(Func, Poly)>,
) {
    let multiple = pool.mul_poly(poly, &pool.poly(factor));
    if func == Func::IsZero {
        made.push((func, multiple));
        return;
    }
    let range = table.domain(pool, factor).range;
    if let Some(low) = range.lo.finite() {
        // (factor - low) * p <= 0.
        made.push((func, multiple.add_scaled(poly, &-low)));
        if low.is_positive() {
            made.push((func, multiple.clone()));
        }
    }
    if let Some(high) = range.hi.finite() {
        made.push((func, poly.scaled(high).add_scaled(&multiple, &Int::from(-1))));
    }
}

/// Drops products with a monomial that occurs nowhere else.
fn keep_connected(pool: &Pool, known: &FxHashSet<Expr>, made: &mut Vec<(Func, Poly)>) {
    loop {
        let mut uses: FxHashMap<Expr, u32> = FxHashMap::default();
        for (_, poly) in made.iter() {
            for (m, _) in &poly.terms {
                *uses.entry(*m).or_default() += 1;
            }
        }
        let before = made.len();
        made.retain(|(_, poly)| {
            poly.terms.iter().all(|(m, _)| known.contains(m) || !is_product(pool, *m) || uses[m] > 1)
        });
        if made.len() == before {
            return;
        }
    }
}

fn is_product(pool: &Pool, m: Expr) -> bool {
    matches!(pool.node(m), Some(sizewise_expr::Node::Product(_)))
}

/// `whole / part`, if that is a monomial other than 1.
fn divided(whole: &Monomial, part: &Monomial) -> Option<Monomial> {
    let mut left = Monomial::new();
    let mut matched = 0;
    for &(atom, power) in whole {
        let taken = part.iter().find(|(f, _)| *f == atom).map_or(0, |f| f.1);
        matched += usize::from(taken > 0);
        match power.checked_sub(taken)? {
            0 => {}
            rest => left.push((atom, rest)),
        }
    }
    (matched == part.len() && !left.is_empty()).then_some(left)
}
