//! Equations of two sizes and their product, as people write them: `(a - 1)*(b - 1) == 49` for `a*b == a + b + 48`.
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, print};

/// An equation, or its opposite, in this form; `None` for another condition.
pub(super) fn factored(pool: &Pool, condition: Expr, name: &dyn Fn(Symbol) -> String) -> Option<String> {
    let (sign, p) = match pool.as_call(condition)? {
        (Func::IsZero, &[p]) => ("==", p),
        (Func::Not, &[inner]) => ("!=", *pool.as_func(inner, Func::IsZero)?.first()?),
        _ => return None,
    };
    let poly = pool.poly(p);
    if poly.terms.len() != 3 {
        return None;
    }
    let product = poly.terms.iter().find_map(|(term, factor)| {
        let parts = pool.monomial(*term);
        let [(a, 1), (b, 1)] = parts.as_slice() else { return None };
        Some((*a, *b, factor.clone()))
    });
    let (a, b, scale) = product?;
    // `scale*(a + x)*(b + y)` has `scale*y*a` and `scale*x*b`.
    let over = |size: Expr| {
        let (_, factor) = poly.terms.iter().find(|(term, _)| *term == size)?;
        factor.is_multiple_of(&scale).then(|| factor.floor_div(&scale)).flatten()
    };
    let (y, x) = (over(a)?, over(b)?);
    let rest = &(&(&scale * &x) * &y) - &poly.constant;
    let number = rest.is_multiple_of(&scale).then(|| rest.floor_div(&scale)).flatten()?;
    let mut pool = pool.clone();
    let mut sum = |size: Expr, added: &Int| {
        let added = pool.int(added.clone());
        let sum = pool.add(size, added);
        print::python(&pool, sum, name)
    };
    Some(format!("({})*({}) {sign} {number}", sum(a, &x), sum(b, &y)))
}

#[cfg(test)]
mod tests {
    use super::factored;
    use sizewise_expr::{Pool, read};

    #[test]
    fn a_product_of_sums_is_written_as_one() {
        for (condition, text) in [
            ("Eq((h//4)*(w//4), (h//4) + (w//4) + 48)", Some("(h // 4 - 1)*(w // 4 - 1) == 49")),
            ("Eq(16*h*w - 16*h - 16*w, 768)", Some("(h - 1)*(w - 1) == 49")),
            ("Ne(a*b + 2*a + 3*b, 4)", Some("(a + 3)*(b + 2) != 10")),
            ("Eq(a*b, 4)", None),
            ("Eq(a*b, 2*a)", None),
            ("Eq(2*a*b + a + b, 4)", None),
            ("Eq(a*b, a + c)", None),
            ("a*b <= a + b + 4", None),
        ] {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, condition).expect("a condition").expr;
            let names = pool.clone();
            let found = factored(&pool, e, &|symbol| names.symbol_name(symbol).to_owned());
            assert_eq!(found.as_deref(), text, "{condition}");
        }
    }
}
