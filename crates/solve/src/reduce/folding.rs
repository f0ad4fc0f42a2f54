//! Folding by the table of domains: single values, and quotients, minima and conditionals with one outcome.
use super::*;

impl Reduced {
    /// Replaces expressions that have one value by the table, and minima, maxima and quotients that it decides.
    pub(super) fn fold(&mut self, pool: &mut Pool) -> bool {
        let mut replace = FxHashMap::default();
        let mut solved = None;
        for e in pool.reachable(&self.conditions) {
            if pool.sort(e) != Sort::Int || pool.is_constant(e) {
                continue;
            }
            let domain = self.table.domain(pool, e);
            if let (Some(v), Some(Node::Symbol(_))) = (domain.as_point(), pool.node(e)) {
                solved.get_or_insert((e, v.clone()));
                continue;
            }
            if let Some(new) = self.settled(pool, e, domain.as_point()) {
                self.steps.push(("settle", e, new));
                replace.insert(e, new);
            }
        }
        if let Some((symbol, v)) = solved {
            let value = pool.int(v);
            self.replace_symbol(pool, "single-value", symbol, value);
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

    /// An expression that is equal to `e` under the conditions, with the conditions that this depends on
    /// added. `value` is its only value, if it has one.
    fn settled(&mut self, pool: &mut Pool, e: Expr, value: Option<&Int>) -> Option<Expr> {
        match (value, pool.node(e)) {
            (_, Some(Node::Sum { .. } | Node::Product(_) | Node::Symbol(_))) => None,
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
                    self.nested_quotient(pool, a, b)
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
}
