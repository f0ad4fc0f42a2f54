//! Symbols that are one of a few terms, `u == a or u == b`: some value satisfies conditions where one of the terms does.
use sizewise_expr::{Expr, Func, Pool, Symbol};

/// The most conditions that a case split makes.
const MAX_CASES: usize = 256;

/// What is exactly needed for a choice of the symbols, each of which a condition makes one of a few terms; with the
/// position of the last condition that says more. `None` where a symbol may be anything else.
pub(super) fn eliminated(pool: &mut Pool, chosen: &[Symbol], conditions: &[Expr]) -> Option<(Expr, usize)> {
    let mut cases = vec![conditions.to_vec()];
    let mut splits = Vec::new();
    for &symbol in chosen {
        let found = |(at, &c): (usize, &Expr)| Some((at, alternatives(pool, chosen, symbol, c)?));
        let (split, terms) = conditions.iter().enumerate().find_map(found)?;
        if cases.len() * terms.len() * conditions.len() > MAX_CASES {
            return None;
        }
        splits.push(split);
        let mut split_cases = Vec::with_capacity(cases.len() * terms.len());
        for case in &cases {
            for &term in &terms {
                let mut at = |&c: &Expr| pool.substitute_symbols(c, |s| (s == symbol).then_some(term));
                split_cases.push(case.iter().map(&mut at).collect::<Vec<Expr>>());
            }
        }
        cases = split_cases;
    }
    let of = (0..conditions.len()).rfind(|at| !splits.contains(at))?;
    let cases: Vec<Expr> = cases.iter().map(|case| pool.and(case)).collect();
    Some((pool.or(&cases), of))
}

/// The terms of which a condition says that the symbol is one; they have no symbol that is chosen.
fn alternatives(pool: &mut Pool, chosen: &[Symbol], symbol: Symbol, condition: Expr) -> Option<Vec<Expr>> {
    let cases = match pool.as_call(condition) {
        Some((Func::Or, cases)) => cases.to_vec(),
        _ => return None,
    };
    let own = pool.symbol_expr(symbol);
    let mut terms = Vec::with_capacity(cases.len());
    for case in cases {
        let Some((Func::IsZero, &[difference])) = pool.as_call(case) else { return None };
        let both = [pool.sub(own, difference), pool.add(own, difference)];
        let is_other = |pool: &Pool, e: Expr| pool.free_symbols(&[e]).iter().all(|s| !chosen.contains(s));
        terms.push(both.into_iter().find(|&term| is_other(pool, term))?);
    }
    Some(terms)
}
