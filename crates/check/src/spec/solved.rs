//! Symbols that no size is by itself, as people read them.
use sizewise_expr::{Expr, Pool, Symbol};

/// The symbol of a size that is `a*symbol + b`, computed from that size.
pub(super) fn solved_text(pool: &Pool, size: Expr, source: &str) -> Option<(Symbol, String)> {
    let poly = pool.poly(size);
    let [(monomial, factor)] = poly.terms.as_slice() else { return None };
    let symbol = pool.as_symbol(*monomial)?;
    let rest = match poly.constant.signum() {
        0 => source.to_string(),
        1 => format!("({source} - {})", poly.constant),
        _ => format!("({source} + {})", poly.constant.abs()),
    };
    Some((symbol, if factor.is_one() { rest } else { format!("({rest}//{factor})") }))
}
