//! Linear consequences of the definitions of atoms and products.
use rustc_hash::FxHashSet;
use sizewise_expr::range::{Domain, DomainTable};
use sizewise_expr::{Expr, Func, Int, Monomial, Node, Poly, Pool, Sort};

/// Conditions that hold by the definitions of the quotients, minima, maxima, magnitudes, conditionals, common bits and
/// powers of numbers in `roots`. If the table does not know the sign of a divisor, it becomes a case.
pub fn definitions(
    pool: &mut Pool,
    table: &mut DomainTable,
    roots: &[Expr],
    done: &mut FxHashSet<Expr>,
) -> Vec<Expr> {
    let mut out = Vec::new();
    for e in pool.reachable(roots) {
        if pool.sort(e) != Sort::Int || !done.insert(e) {
            continue;
        }
        let Some((func, args)) = pool.as_call(e).map(|(f, a)| (f, a.to_vec())) else { continue };
        if args.iter().any(|&a| pool.sort(a) == Sort::Float) {
            continue;
        }
        match (func, args.as_slice()) {
            (Func::FloorDiv, &[a, b]) => quotient(pool, table, e, a, b, &mut out),
            (Func::Min | Func::Max, operands) => {
                let mut reached = Vec::new();
                for &a in operands {
                    let (low, high) = if func == Func::Min { (e, a) } else { (a, e) };
                    out.push(pool.le(low, high));
                    reached.push(pool.le(high, low));
                }
                out.push(pool.or(&reached));
            }
            (Func::Abs, &[a]) => {
                let negative = pool.neg(a);
                out.push(pool.le(a, e));
                out.push(pool.le(negative, e));
                let reached = [pool.le(e, a), pool.le(e, negative)];
                out.push(pool.or(&reached));
            }
            (Func::Ite, &[c, p, q]) => {
                let (is_p, is_q, not_c) = (pool.eq(e, p), pool.eq(e, q), pool.not(c));
                let cases = [pool.and(&[c, is_p]), pool.and(&[not_c, is_q])];
                out.push(pool.or(&cases));
            }
            (Func::BitAnd, &[a, b]) => common_bits(pool, table, e, [a, b], &mut out),
            (Func::Pow, &[base, n]) => {
                // Bernoulli: `b**n >= 1 + (b - 1)*n`; there is no value for `n < 0`.
                if let Some(base) = pool.as_int(base).filter(Int::is_positive) {
                    let slope = pool.int(&base - &Int::ONE);
                    let rise = pool.mul(slope, n);
                    out.push(pool.lt(rise, e));
                }
            }
            _ => {}
        }
    }
    out
}

/// `a & b` has no bit that an operand lacks: it is at most each operand that is not negative, and at most both where
/// they have the same sign bit.
fn common_bits(pool: &mut Pool, table: &mut DomainTable, e: Expr, operands: [Expr; 2], out: &mut Vec<Expr>) {
    let ranges = operands.map(|a| table.domain(pool, a).range);
    let are_negative = ranges.iter().all(|range| range.hi.is_negative());
    for (a, range) in operands.into_iter().zip(ranges) {
        if are_negative || range.lo.signum() >= 0 {
            out.push(pool.le(e, a));
        }
    }
}

/// `b*q <= a < b*q + b` for `b > 0`, `b*q >= a > b*q + b` for `b < 0`.
fn quotient(pool: &mut Pool, table: &mut DomainTable, q: Expr, a: Expr, b: Expr, out: &mut Vec<Expr>) {
    let multiple = pool.mul(b, q);
    let next = pool.add(multiple, b);
    let upwards = [pool.le(multiple, a), pool.lt(a, next)];
    let downwards = [pool.le(a, multiple), pool.lt(next, a)];
    let domain = table.domain(pool, b);
    if domain.range.lo.signum() > 0 {
        out.extend(upwards);
    } else if domain.range.hi.is_negative() {
        out.extend(downwards);
    } else {
        let (positive, negative) = (pool.lt(Expr::ZERO, b), pool.lt(b, Expr::ZERO));
        let cases = [
            pool.and(&[positive, upwards[0], upwards[1]]),
            pool.and(&[negative, downwards[0], downwards[1]]),
        ];
        out.push(pool.or(&cases));
    }
}

/// The products among `roots`, as `(product, factor, other factor)`, each way of taking one atom out.
pub fn products(pool: &mut Pool, roots: &[Expr]) -> Vec<(Expr, Expr, Expr)> {
    let mut found: Vec<(Expr, Expr, Expr)> = Vec::new();
    let mut waiting: Vec<Expr> = pool
        .reachable(roots)
        .into_iter()
        .filter(|&e| matches!(pool.node(e), Some(Node::Product(_))))
        .collect();
    let mut seen: FxHashSet<Expr> = waiting.iter().copied().collect();
    while let Some(e) = waiting.pop() {
        let factors = pool.monomial(e);
        for i in 0..factors.len() {
            let mut rest: Monomial = factors.clone();
            if rest[i].1 > 1 {
                rest[i].1 -= 1;
            } else {
                rest.remove(i);
            }
            let other = pool.from_monomial(&rest);
            found.push((e, factors[i].0, other));
            // A product of three needs one chain of products of two, not all of them.
            if i == 0 && rest.len() + usize::from(rest.iter().any(|f| f.1 > 1)) > 1 && seen.insert(other) {
                waiting.push(other);
            }
        }
    }
    found.retain(|(_, _, other)| {
        pool.monomial(*other).len() == 1 && pool.monomial(*other)[0].1 == 1 || seen.contains(other)
    });
    found
}

/// `(x - l)*(y - m) >= 0` and the like (McCormick envelopes) for the bounds of the factors of a product, each
/// as a polynomial that is at least 0.
pub fn envelopes(pool: &Pool, table: &mut DomainTable, &(m, x, y): &(Expr, Expr, Expr)) -> Vec<Poly> {
    let (dx, dy) = (table.domain(pool, x), table.domain(pool, y));
    let ends = |d: &Domain| (d.range.lo.finite().cloned(), d.range.hi.finite().cloned());
    let ((lx, hx), (ly, hy)) = (ends(&dx), ends(&dy));
    let mut out = Vec::new();
    // sign * (x - a)*(y - b) >= 0.
    let mut add = |sign: i64, a: &Option<Int>, b: &Option<Int>| {
        if let (Some(a), Some(b)) = (a, b) {
            let sign = Int::from(sign);
            let mut p = Poly { constant: &(a * b) * &sign, terms: [(m, sign.clone())].into_iter().collect() };
            for (v, c) in [(x, b), (y, a)] {
                let term = Poly { constant: Int::ZERO, terms: [(v, Int::ONE)].into_iter().collect() };
                p = p.add_scaled(&term, &-(c * &sign));
            }
            out.push(p);
        }
    };
    add(1, &lx, &ly);
    add(-1, &lx, &hy);
    add(1, &hx, &hy);
    add(-1, &hx, &ly);
    if x == y {
        // No integer lies between two adjacent ones: (x - a)*(x - a - 1) >= 0, here around 0 and inside the ends.
        for a in [Some(Int::ZERO), lx, hx.map(|h| &h - &Int::ONE)].into_iter().flatten() {
            let next = &a + &Int::ONE;
            let mut p = Poly { constant: &a * &next, terms: [(m, Int::ONE)].into_iter().collect() };
            let term = Poly { constant: Int::ZERO, terms: [(x, Int::ONE)].into_iter().collect() };
            p = p.add_scaled(&term, &-(&a + &next));
            out.push(p);
        }
    }
    out
}
