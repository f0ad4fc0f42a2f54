//! Conditions that bound sizes: an ONNX file has names and numbers for sizes, and no ranges.
use sizewise_expr::{Expr, Func, Pool};

/// Whether a condition says that sums of sizes have at least or at most some value, and no more.
pub(super) fn is_bound(pool: &Pool, condition: Expr) -> bool {
    match pool.as_call(condition) {
        Some((Func::NotPositive, &[sum])) => {
            let poly = pool.poly(sum);
            !poly.terms.is_empty() && poly.terms.iter().all(|(term, _)| pool.as_symbol(*term).is_some())
        }
        Some((Func::And | Func::Or, parts)) => parts.iter().all(|&part| is_bound(pool, part)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_bound;
    use sizewise_expr::Pool;
    use sizewise_expr::text::read;

    #[test]
    fn ranges_are_bounds_and_equal_sizes_and_multiples_are_none() {
        for (text, expected) in [
            ("h >= 9", true),
            ("(h >= 9) & (h <= 64)", true),
            ("p + q <= 64", true),
            ("Eq(h, 9)", false),
            ("Eq(h, w)", false),
            ("Eq(Mod(h, 2), 0)", false),
            ("(h >= 9) & Eq(h, w)", false),
            ("True", false),
        ] {
            let mut pool = Pool::new();
            let condition = read::closed(&mut pool, text).expect("a condition").expr;
            assert_eq!(is_bound(&pool, condition), expected, "{text}");
        }
    }
}
