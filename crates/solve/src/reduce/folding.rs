//! Folding by the table of domains: single values, and quotients, minima and conditionals with one outcome.
use super::*;

impl Reduced {
    /// Replaces expressions that have one value by the table, and minima, maxima and quotients that it decides.
    pub(super) fn fold(&mut self, pool: &mut Pool) -> bool {
        let mut replace = FxHashMap::default();
        let mut solved = None;
        let parts = pool.reachable(&self.conditions);
        let mut folding = Folding { table: &mut self.table, conditions: &mut self.conditions };
        for e in parts {
            if pool.sort(e) != Sort::Int || pool.is_constant(e) {
                continue;
            }
            let domain = folding.table.domain(pool, e);
            if let (Some(v), Some(Node::Symbol(_))) = (domain.as_point(), pool.node(e)) {
                solved.get_or_insert((e, v.clone()));
                continue;
            }
            if let Some(new) = folding.settled(pool, e, domain.as_point()) {
                replace.insert(e, new);
            }
        }
        if let Some((symbol, v)) = solved {
            let value = pool.int(v);
            self.replace_symbol(pool, symbol, value);
            // The fact that made it a single value has become trivial only if it followed from it.
            return true;
        }
        if replace.is_empty() {
            return false;
        }
        let changed = self.substitute(pool, &replace, None);
        self.learn_new(pool, &changed);
        true
    }
}

/// Most rounds in which a condition is folded: what is folded inside may decide what is around it.
const MAX_ROUNDS: usize = 3;

/// An expression that has the same value as `e` wherever that has one and the facts of the table hold.
pub(in super::super) fn folded(pool: &mut Pool, table: &mut DomainTable, e: Expr) -> Expr {
    let mut e = e;
    for _ in 0..MAX_ROUNDS {
        let mut replaced: FxHashMap<Expr, Expr> = FxHashMap::default();
        // What the folding depends on is known already.
        let mut folding = Folding { table: &mut *table, conditions: &mut Vec::new() };
        for part in pool.reachable(&[e]) {
            if pool.sort(part) != Sort::Int || pool.is_constant(part) {
                continue;
            }
            let domain = folding.table.domain(pool, part);
            let constant = domain.as_point().map(|value| pool.int(value.clone()));
            if let Some(new) = constant.or_else(|| folding.settled(pool, part, None)) {
                replaced.insert(part, new);
            }
        }
        if replaced.is_empty() || pool.is_spent() {
            break;
        }
        e = pool.substitute(e, |part| replaced.get(&part).copied());
    }
    e
}

/// What the values of an expression's parts make of it, with the conditions that this depends on.
struct Folding<'a> {
    table: &'a mut DomainTable,
    conditions: &'a mut Vec<Expr>,
}

impl Folding<'_> {
    /// An expression that is equal to `e` under the conditions, with the conditions that this depends on
    /// added. `value` is its only value, if it has one.
    fn settled(&mut self, pool: &mut Pool, e: Expr, value: Option<&Int>) -> Option<Expr> {
        match (value, pool.node(e)) {
            (_, Some(Node::Sum { .. } | Node::Symbol(_))) => None,
            (_, Some(Node::Product(_))) => self.merged_exponentials(pool, e),
            (None, Some(Node::Call(Func::Pow, args))) if pool.is_constant(args[0]) => {
                let (base, n) = (args[0], args[1]);
                self.without_offset(pool, base, n)
            }
            (_, Some(Node::Call(Func::Mod | Func::FloorDiv, args))) if !pool.is_constant(args[1]) => {
                let (a, b) = (args[0], args[1]);
                let gap = pool.sub(b, a);
                let inside = self.table.domain(pool, a).range.lo.signum() >= 0
                    && self.table.domain(pool, gap).range.lo.signum() > 0;
                let quotient = matches!(pool.as_call(e), Some((Func::FloorDiv, _)));
                if inside {
                    let bounds = [pool.le(Expr::ZERO, a), pool.lt(a, b)];
                    self.conditions.extend(bounds);
                    Some(if quotient { Expr::ZERO } else { a })
                } else if quotient {
                    self.nested_quotient(pool, a, b).or_else(|| self.quotient_of_extremum(pool, a, b))
                } else {
                    None
                }
            }
            (_, Some(Node::Call(Func::Ite, args))) => {
                let (c, p, q) = (args[0], args[1], args[2]);
                self.table.decide(pool, c).map(|holds| {
                    let settled = if holds { c } else { pool.not(c) };
                    self.conditions.push(settled);
                    if holds { p } else { q }
                })
            }
            (_, Some(Node::Call(Func::Abs, args))) => {
                let a = args[0];
                let range = self.table.domain(pool, a).range;
                if range.lo.signum() >= 0 {
                    self.conditions.push(pool.le(Expr::ZERO, a));
                    Some(a)
                } else if range.hi.signum() <= 0 {
                    self.conditions.push(pool.le(a, Expr::ZERO));
                    Some(pool.neg(a))
                } else {
                    None
                }
            }
            (Some(v), Some(Node::Call(Func::FloorDiv, args))) => {
                let (value, a, d) = (v.clone(), args[0], args[1]);
                self.fixed_quotient(pool, &value, a, d)
            }
            // The value of another atom is known under conditions that must not be lost with it.
            (Some(_), _) => None,
            (None, Some(Node::Call(Func::Min | Func::Max, args))) => {
                let (func, args) = (pool.as_call(e).map(|(f, _)| f), args.to_vec());
                self.settled_extremum(pool, func == Some(Func::Min), &args)
            }
            (None, Some(Node::Call(Func::Mod, args))) => {
                let (a, d) = (args[0], args[1]);
                self.fixed_remainder(pool, a, d)
            }
            _ => None,
        }
    }

    /// `b**n * b**m` as `b**(n + m)`, where no exponent is negative.
    fn merged_exponentials(&mut self, pool: &mut Pool, e: Expr) -> Option<Expr> {
        let mut merged: Vec<(Expr, Expr)> = Vec::new();
        let (mut others, mut exponents) = (Monomial::default(), Vec::new());
        for (atom, power) in pool.monomial(e) {
            let parts = pool.as_func(atom, Func::Pow).map(|parts| (parts[0], parts[1]));
            let Some((base, n)) = parts.filter(|(base, _)| pool.is_constant(*base)) else {
                others.push((atom, power));
                continue;
            };
            if self.table.domain(pool, n).range.lo.is_negative() {
                return None;
            }
            exponents.push(n);
            let power = pool.int(i64::from(power));
            let term = pool.mul(power, n);
            match merged.iter_mut().find(|(known, _)| *known == base) {
                Some((_, sum)) => *sum = pool.add(*sum, term),
                None => merged.push((base, term)),
            }
        }
        let mut product = pool.from_monomial(&others);
        for (base, n) in merged {
            let power = pool.pow(base, n);
            product = pool.mul(product, power);
        }
        if product == e {
            return None;
        }
        self.conditions.extend(exponents.into_iter().map(|n| pool.le(Expr::ZERO, n)));
        Some(product)
    }

    /// `b**(n + c)` as `b**c * b**n`, where `n` is not negative.
    fn without_offset(&mut self, pool: &mut Pool, base: Expr, n: Expr) -> Option<Expr> {
        let mut exponent = pool.poly(n);
        let offset = std::mem::replace(&mut exponent.constant, Int::ZERO);
        let offset = offset.to_i64().and_then(|offset| u32::try_from(offset).ok()).filter(|c| *c > 0)?;
        let factor = pool.as_int(base)?.pow(offset, MAX_COEFFICIENT_BITS)?;
        let rest = pool.from_poly(&exponent);
        if self.table.domain(pool, rest).range.lo.is_negative() {
            return None;
        }
        self.conditions.push(pool.le(Expr::ZERO, rest));
        let (factor, power) = (pool.int(factor), pool.pow(base, rest));
        Some(pool.mul(factor, power))
    }

    /// `a % d` where the quotient of all values of `a` by the constant `d` is the same.
    fn fixed_remainder(&mut self, pool: &mut Pool, a: Expr, d: Expr) -> Option<Expr> {
        let d = pool.as_int(d)?;
        let inner = self.table.domain(pool, a);
        let end = |b: Option<&Int>| b.and_then(|v| v.floor_div(&d));
        let (x, y) = (end(inner.range.lo.finite())?, end(inner.range.hi.finite())?);
        if x != y {
            return None;
        }
        let offset = pool.int(&x * &d);
        let remainder = pool.sub(a, offset);
        let (zero, positive, d) = (Expr::ZERO, d.is_positive(), pool.int(d));
        let inside = match positive {
            true => [pool.le(zero, remainder), pool.lt(remainder, d)],
            false => [pool.le(remainder, zero), pool.lt(d, remainder)],
        };
        self.conditions.extend(inside);
        Some(remainder)
    }

    /// The quotient of known value by a constant, with what that says about the dividend made a condition.
    fn fixed_quotient(&mut self, pool: &mut Pool, value: &Int, a: Expr, d: Expr) -> Option<Expr> {
        let divisor = pool.as_int(d).filter(Int::is_positive)?;
        let least = value * &divisor;
        let (least, next) = (pool.int(least.clone()), pool.int(&least + &divisor));
        let inside = [pool.le(least, a), pool.lt(a, next)];
        self.conditions.extend(inside);
        Some(pool.int(value.clone()))
    }

    /// A minimum or maximum without operands that another one beats everywhere.
    fn settled_extremum(&mut self, pool: &mut Pool, least: bool, args: &[Expr]) -> Option<Expr> {
        let mut kept: Vec<Expr> = args.to_vec();
        let mut i = 0;
        while i < kept.len() {
            let beaten = kept.clone().into_iter().enumerate().find_map(|(j, other)| {
                let difference = if least { pool.sub(kept[i], other) } else { pool.sub(other, kept[i]) };
                (j != i && self.table.domain(pool, difference).range.lo.signum() >= 0).then_some(difference)
            });
            match beaten {
                Some(difference) => {
                    kept.remove(i);
                    let ordered = pool.le(Expr::ZERO, difference);
                    self.conditions.push(ordered);
                }
                None => i += 1,
            }
        }
        (kept.len() < args.len() && !kept.is_empty())
            .then(|| pool.extremum(if least { Func::Min } else { Func::Max }, &kept))
    }

    /// `(a//b + r) // c` as `(a + b*r) // (b*c)` for `c > 0`.
    fn nested_quotient(&mut self, pool: &mut Pool, a: Expr, c: Expr) -> Option<Expr> {
        let poly = pool.poly(a);
        let (q, x, b) = poly.terms.iter().find_map(|(m, k)| {
            let &[x, b] = pool.as_func(*m, Func::FloorDiv)? else { return None };
            k.is_one().then_some((*m, x, b))
        })?;
        if self.table.domain(pool, c).range.lo.signum() <= 0 {
            return None;
        }
        let rest = pool.sub(a, q);
        let scaled = pool.mul(b, rest);
        let (numerator, divisor) = (pool.add(x, scaled), pool.mul(b, c));
        // The sign of the divisor is what the condition on c was about.
        let positive = pool.lt(Expr::ZERO, c);
        self.conditions.push(positive);
        Some(pool.floor_div(numerator, divisor))
    }

    /// `(c*Min(x, y) + r) // d` as `Min((c*x + r)//d, (c*y + r)//d)`, or as the maximum where one of `c` and `d` is
    /// negative. The sign of `d` has to be known, and `d` is a symbol: of larger divisors, the copies are too many.
    fn quotient_of_extremum(&mut self, pool: &mut Pool, a: Expr, d: Expr) -> Option<Expr> {
        pool.as_symbol(d)?;
        let poly = pool.poly(a);
        let (extremum, factor, func, args) = poly.terms.iter().find_map(|(m, c)| {
            let (func @ (Func::Min | Func::Max), args) = pool.as_call(*m)? else { return None };
            Some((*m, c.clone(), func, args.to_vec()))
        })?;
        let range = self.table.domain(pool, d).range;
        let (positive, sign) = match (range.lo.signum() > 0, range.hi.signum() < 0) {
            (true, _) => (true, pool.lt(Expr::ZERO, d)),
            (_, true) => (false, pool.lt(d, Expr::ZERO)),
            _ => return None,
        };
        self.conditions.push(sign);
        let (ascends, factor) = (factor.is_positive() == positive, pool.int(factor));
        let whole = pool.mul(factor, extremum);
        let rest = pool.sub(a, whole);
        let mut quotients = Vec::with_capacity(args.len());
        for arg in args {
            let scaled = pool.mul(factor, arg);
            let numerator = pool.add(scaled, rest);
            quotients.push(pool.floor_div(numerator, d));
        }
        let least = (func == Func::Min) == ascends;
        Some(pool.extremum(if least { Func::Min } else { Func::Max }, &quotients))
    }
}
