//! Branching on narrow directions, as in Lenstra's algorithm for integer programming.
//!
//! If only few values of `p` satisfy `p <= 0`, each of them is an equation, which eliminates one unknown.
//! These cases soon settle a region that is long and thin, with vertices far out, where branching on single
//! unknowns would not end.
use super::super::reduce::Reduced;
use super::rational::Small;
use super::simplex::{Feasibility, System};
use num_rational::BigRational;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Poly, Pool};

/// The widths that are tried. `-p` has one value more.
const WIDTHS: [i64; 4] = [0, 1, 4, 16];
/// The most conditions that are looked at.
const MAX_FORMS: usize = 16;
/// Larger systems are not looked at.
const MAX_ROWS: usize = 60;

/// Cases `p == 0`, `p == -1`, … of a condition `p <= 0`, together exhaustive. None if the region is wide
/// in the direction of every condition.
pub fn narrow_cases(pool: &mut Pool, problem: &mut Reduced, work: &mut u32) -> Vec<Expr> {
    let mut index: FxHashMap<Expr, usize> = FxHashMap::default();
    let mut system = System::default();
    let mut forms: Vec<(Poly, usize)> = Vec::new();
    for &c in &problem.conditions {
        let Some((func @ (Func::IsZero | Func::NotPositive), &[p])) = pool.as_call(c) else { continue };
        let poly = pool.poly(p);
        let mut terms = Vec::with_capacity(poly.terms.len());
        for (m, k) in &poly.terms {
            let next = index.len();
            let column = *index.entry(*m).or_insert(next);
            if column == next {
                let range = problem.table.domain(pool, *m).range;
                system.variables.push((range.lo.finite().cloned(), range.hi.finite().cloned()));
            }
            terms.push((column, k.clone()));
        }
        let limit = -&poly.constant;
        let low = (func == Func::IsZero).then(|| limit.clone());
        if func == Func::NotPositive
            && poly.terms.len() > 1
            && poly.terms.iter().all(|(m, _)| pool.as_symbol(*m).is_some())
        {
            forms.push((poly, system.rows.len()));
        }
        system.rows.push((terms, (low, Some(limit))));
    }
    if system.rows.len() > MAX_ROWS {
        return Vec::new();
    }
    for width in WIDTHS {
        for (poly, row) in forms.iter().take(MAX_FORMS) {
            // p <= 0 where p <= -(width + 1) is not possible.
            let limit = -&(&poly.constant + &Int::from(width + 1));
            let own = system.rows[*row].1.1.replace(limit);
            let mut found = system.check::<Small>(work);
            if found == Feasibility::Open {
                found = system.check::<BigRational>(work);
            }
            system.rows[*row].1.1 = own;
            if matches!(found, Feasibility::Infeasible(_)) {
                let p = pool.from_poly(poly);
                return (0..=width).map(|v| pool.eq(p, Expr::from(-(v as i32)))).collect();
            }
        }
    }
    Vec::new()
}
