//! Conditions as people write them.
//!
//! The program records a condition in normal form: `(-h) % 4 <= 0`, or with cases that no size can be in. Reports show
//! `h % 4 == 0`, and only the cases that the ranges of the sizes leave open. It is the same condition for all sizes
//! that are allowed.
use sizewise_expr::range::{Domain, DomainTable};
use sizewise_expr::{Expr, Func, Int, Pool};
use sizewise_solve::Facts;

/// Of greater divisors residues are not listed.
const MAX_DIVISOR: i64 = 256;
/// Of more parts it is not asked which follow from others.
const MAX_COMPARED: usize = 16;

/// The condition to show for this one.
pub fn readable(pool: &Pool, facts: &Facts, condition: Expr) -> Expr {
    let mut pool = pool.clone();
    let mut table = DomainTable::new();
    for symbol in pool.free_symbols(&[condition]) {
        if let (Some(range), Some(e)) = (facts.range(symbol), pool.known_symbol_expr(symbol))
            && table.set(&pool, e, Domain::from(range.clone())).is_err()
        {
            return condition;
        }
    }
    let mut reader = Reader { pool: &mut pool, table };
    let open = reader.open_extremes(condition);
    let rewritten = reader.rewritten(open);
    // Where the ranges decide all of it, the condition is shown as it is.
    if pool.as_bool(rewritten).is_some() { condition } else { rewritten }
}

struct Reader<'a> {
    pool: &'a mut Pool,
    /// The ranges of the sizes.
    table: DomainTable,
}

impl Reader<'_> {
    /// A condition without operands of extremes that the ranges leave out: `n` for `max(1, n)` where `n` is 1 or more.
    fn open_extremes(&mut self, condition: Expr) -> Expr {
        let mut replaced: Vec<(Expr, Expr)> = Vec::new();
        for part in self.pool.reachable(&[condition]) {
            let Some((func @ (Func::Min | Func::Max), operands)) = self.pool.as_call(part) else { continue };
            let mut kept = operands.to_vec();
            if kept.len() > MAX_COMPARED {
                continue;
            }
            let all = kept.clone();
            for operand in all {
                let is_beyond = kept
                    .iter()
                    .copied()
                    .any(|other| other != operand && self.is_beyond(func, other, operand));
                if is_beyond {
                    kept.retain(|&known| known != operand);
                }
            }
            if kept.len() < self.pool.as_func(part, func).map_or(0, <[Expr]>::len) {
                let extreme =
                    |pool: &mut Pool, a, b| if func == Func::Max { pool.max(a, b) } else { pool.min(a, b) };
                let left = kept[1..].iter().fold(kept[0], |left, &other| extreme(self.pool, left, other));
                replaced.push((part, left));
            }
        }
        if replaced.is_empty() {
            return condition;
        }
        let replacement = |e: Expr| replaced.iter().find(|(part, _)| *part == e).map(|(_, left)| *left);
        self.pool.substitute(condition, replacement)
    }

    /// Whether the ranges make an operand of an extreme the other one's: for `max`, it is never less.
    fn is_beyond(&mut self, func: Func, one: Expr, other: Expr) -> bool {
        let beyond = if func == Func::Max { self.pool.ge(one, other) } else { self.pool.le(one, other) };
        self.table.decide(self.pool, beyond) == Some(true)
    }

    fn rewritten(&mut self, e: Expr) -> Expr {
        let Some((func, operands)) = self.pool.as_call(e) else { return e };
        match (func, operands) {
            (Func::And | Func::Or, parts) => {
                let parts = parts.to_vec();
                self.open_cases(func, &parts)
            }
            (Func::NotPositive, &[p]) => {
                let simpler =
                    self.divisible(p).or_else(|| self.of_residues(p)).or_else(|| self.of_quotient(p));
                simpler.unwrap_or(e)
            }
            (Func::IsZero, &[p]) => {
                let simpler =
                    self.divisible(p).or_else(|| self.of_extreme(p)).or_else(|| self.of_extremes(p));
                simpler.unwrap_or(e)
            }
            _ => e,
        }
    }

    /// For a quotient that is bounded by a number: the bound of what is divided. `(a + 3) // 4 <= 8` is `a <= 32`.
    fn of_quotient(&mut self, p: Expr) -> Option<Expr> {
        let poly = self.pool.poly(p);
        let [(term, factor)] = poly.terms.as_slice() else { return None };
        let &[a, k] = self.pool.as_func(*term, Func::FloorDiv)? else { return None };
        let k = self.pool.as_int(k).filter(Int::is_positive)?;
        let most = (&Int::ZERO - &poly.constant).floor_div(&factor.abs())?;
        if factor.is_positive() {
            // At most `most`: below the first number that gives one more.
            let first = &k * &(&most + &Int::ONE);
            let end = self.pool.int(&first - &Int::ONE);
            return Some(self.pool.le(a, end));
        }
        // `constant - |factor| * quotient <= 0`: at least the quotient rounded up.
        let least = poly.constant.floor_div(&factor.abs())?;
        let is_exact = poly.constant.is_multiple_of(&factor.abs());
        let least = if is_exact { least } else { &least + &Int::ONE };
        let start = self.pool.int(&k * &least);
        Some(self.pool.ge(a, start))
    }

    /// The least and the greatest of some expressions in a sum, with their factors of 1 and -1.
    fn extremes(&self, p: Expr) -> Vec<(Expr, Func, bool)> {
        let terms = self.pool.poly(p).terms;
        let extreme = |(term, factor): &(Expr, Int)| {
            let (func, _) = self.pool.as_call(*term)?;
            let is_extreme = matches!(func, Func::Min | Func::Max) && factor.abs() == Int::ONE;
            is_extreme.then_some((*term, func, factor.is_positive()))
        };
        terms.iter().filter_map(extreme).collect()
    }

    /// What else a sum of 0 that has one extreme says: `s == min(16, s)` is `s <= 16`, `min(16, s) == 3` is `s == 3`.
    fn of_extreme(&mut self, p: Expr) -> Option<Expr> {
        let [(extreme, func, is_added)] = *self.extremes(p) else { return None };
        let operands = self.pool.as_func(extreme, func)?.to_vec();
        // What the extreme is equal to.
        let value = match is_added {
            true => self.pool.sub(extreme, p),
            false => self.pool.add(extreme, p),
        };
        let is_least = func == Func::Min;
        let beyond = |pool: &mut Pool, others: &[Expr]| {
            let parts: Vec<Expr> = others
                .iter()
                .map(|&other| if is_least { pool.le(value, other) } else { pool.ge(value, other) })
                .collect();
            pool.and(&parts)
        };
        if let Some(own) = operands.iter().position(|&operand| operand == value) {
            let others: Vec<Expr> = [&operands[..own], &operands[own + 1..]].concat();
            return Some(beyond(self.pool, &others));
        }
        if let Some(open) = self.of_nested_extremes(func, &operands, value) {
            return Some(open);
        }
        let number = self.pool.as_int(value)?;
        let [a, b] = operands[..] else { return None };
        let (limit, other) = match (self.pool.as_int(a), self.pool.as_int(b)) {
            (Some(limit), None) => (limit, b),
            (None, Some(limit)) => (limit, a),
            _ => return None,
        };
        if number == limit {
            return Some(if is_least { self.pool.ge(other, value) } else { self.pool.le(other, value) });
        }
        ((number < limit) == is_least).then(|| self.pool.eq(other, value))
    }

    /// What `v == max(c, min(v, a))` says of a value that is at least `c` anyway: `v <= a or v == c`. The other way round
    /// for `v == min(c, max(v, a))`.
    fn of_nested_extremes(&mut self, outer: Func, operands: &[Expr], value: Expr) -> Option<Expr> {
        let is_least = outer == Func::Min;
        let inner = if is_least { Func::Max } else { Func::Min };
        let parts_of = |pool: &Pool, e: Expr| pool.as_func(e, inner).map(<[Expr]>::to_vec);
        let (at, parts) = operands.iter().enumerate().find_map(|(at, &operand)| {
            Some((at, parts_of(self.pool, operand).filter(|parts| parts.contains(&value))?))
        })?;
        let rest: Vec<Expr> = [&operands[..at], &operands[at + 1..]].concat();
        for &other in &rest {
            let is_beyond = if is_least { self.pool.le(value, other) } else { self.pool.ge(value, other) };
            if self.table.decide(self.pool, is_beyond) != Some(true) {
                return None;
            }
        }
        let others = parts.into_iter().filter(|&part| part != value);
        let within: Vec<Expr> = others
            .map(|part| if is_least { self.pool.ge(value, part) } else { self.pool.le(value, part) })
            .collect();
        let within = self.pool.and(&within);
        let ends: Vec<Expr> = rest.iter().map(|&other| self.pool.eq(value, other)).collect();
        let [end] = ends[..] else { return None };
        Some(self.pool.or(&[within, end]))
    }

    /// What else a sum of 0 says that has the least of two expressions and one number each: `min(k, a + s) - min(k, a) ==
    /// s` is `a + s <= k` where `s` is positive.
    fn of_extremes(&mut self, p: Expr) -> Option<Expr> {
        let [(first, Func::Min, one), (second, Func::Min, other)] = *self.extremes(p) else { return None };
        if one == other {
            return None;
        }
        let (upper, lower) = if one { (first, second) } else { (second, first) };
        let apart = self.pool.sub(upper, lower);
        let step = self.pool.sub(apart, p);
        let parts = |pool: &Pool, e: Expr| {
            let &[a, b] = pool.as_func(e, Func::Min)? else { return None };
            if pool.as_int(a).is_some() { Some((a, b)) } else { pool.as_int(b).map(|_| (b, a)) }
        };
        let ((limit, far), (same, near)) = (parts(self.pool, upper)?, parts(self.pool, lower)?);
        // The other way round the step is negative, and its two ends change their places.
        for (far, near, step) in [(far, near, step), (near, far, self.pool.neg(step))] {
            let positive = self.pool.ge(step, Expr::ONE);
            let is_step = self.pool.sub(far, near) == step;
            if limit == same && is_step && self.table.decide(self.pool, positive) == Some(true) {
                return Some(self.pool.le(far, limit));
            }
        }
        None
    }

    /// A disjunction without equations that follow from an inequality of it: `s == 1 or s <= 16`.
    fn without_equations(&mut self, parts: &mut Vec<Expr>) {
        let operand = |pool: &Pool, e: Expr, func: Func| pool.as_func(e, func)?.first().copied();
        let bounds: Vec<Expr> =
            parts.iter().filter_map(|&e| operand(self.pool, e, Func::NotPositive)).collect();
        parts.retain(|&part| {
            let Some(own) = operand(self.pool, part, Func::IsZero) else { return true };
            // Where the sum of the equation is 0, that of the inequality is this number.
            let follows = |&bound: &Expr| {
                let (less, more) = (self.pool.sub(bound, own), self.pool.add(bound, own));
                [less, more].into_iter().any(|e| self.pool.as_int(e).is_some_and(|n| !n.is_positive()))
            };
            !bounds.iter().any(follows)
        });
    }

    /// Inequalities without those that follow from another one, which differs by a number: of `n <= 20 and n <= 59` the
    /// first is left. Of a disjunction the weakest is left.
    fn strongest(&mut self, func: Func, parts: &mut Vec<Expr>) {
        let at_most = |pool: &Pool, e: Expr| pool.as_func(e, Func::NotPositive)?.first().copied();
        let mut at = 0;
        while at < parts.len() {
            let follows = at_most(self.pool, parts[at]).is_some_and(|own| {
                parts.iter().enumerate().any(|(other, &part)| {
                    let Some(p) = at_most(self.pool, part).filter(|_| other != at) else { return false };
                    let difference = self.pool.sub(p, own);
                    let Some(ahead) = self.pool.as_int(difference) else { return false };
                    if func == Func::And { ahead.is_positive() } else { ahead.is_negative() }
                })
            });
            if follows {
                parts.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// A conjunction without what always holds, or a disjunction without what never does.
    fn open_cases(&mut self, func: Func, parts: &[Expr]) -> Expr {
        let neutral = func == Func::And;
        let mut open = Vec::new();
        for &part in parts {
            let part = self.rewritten(part);
            if self.table.decide(self.pool, part) != Some(neutral) {
                open.push(part);
            }
        }
        if open.len() <= MAX_COMPARED {
            self.strongest(func, &mut open);
            if func == Func::Or {
                self.without_equations(&mut open);
            }
        }
        if neutral { self.pool.and(&open) } else { self.pool.or(&open) }
    }

    /// For a bounded remainder that one or two residues satisfy, or all but one: `a % k != 0` for `(-a) % k >= 1`.
    fn of_residues(&mut self, p: Expr) -> Option<Expr> {
        let poly = self.pool.poly(p);
        let [(remainder, factor)] = poly.terms.as_slice() else { return None };
        let &[a, k] = self.pool.as_func(*remainder, Func::Mod)? else { return None };
        let divisor = self.pool.as_int(k)?.to_i64().filter(|k| (2..=MAX_DIVISOR).contains(k))?;
        let is_allowed = |r: &i64| !(&poly.constant + &(factor * &Int::from(*r))).is_positive();
        let allowed: Vec<i64> = (0..divisor).filter(is_allowed).collect();
        let missing = (0..divisor).find(|r| !is_allowed(r))?;
        let of = self.pool.poly(a);
        let signed = of.terms.iter().all(|(_, factor)| factor.is_negative());
        let base = self.pool.int(of.constant.clone());
        let base = self.pool.sub(a, base);
        let base = if signed { self.pool.neg(base) } else { base };
        let added = of.constant.modulo(&Int::from(divisor))?.to_i64()?;
        let mut is = |r: i64| {
            let rest = if signed { added - r } else { r - added };
            let rest = self.pool.int(rest.rem_euclid(divisor));
            let remainder = self.pool.modulo(base, k);
            self.pool.eq(remainder, rest)
        };
        match *allowed.as_slice() {
            [r] => Some(is(r)),
            _ if allowed.len() as i64 == divisor - 1 => {
                let equal = is(missing);
                Some(self.pool.not(equal))
            }
            [r, s] if signed || added != 0 => {
                let equal = [is(r), is(s)];
                Some(self.pool.or(&equal))
            }
            _ => None,
        }
    }

    /// For a remainder that is at most 0: `a % k == 0`, without a sign before `a`, or `a % k == r` for a sum with a number.
    fn divisible(&mut self, p: Expr) -> Option<Expr> {
        let &[a, k] = self.pool.as_func(p, Func::Mod)? else { return None };
        let divisor = self.pool.as_int(k).filter(Int::is_positive)?;
        let signed = self.pool.poly(a).terms.iter().all(|(_, factor)| factor.is_negative());
        let a = if signed { self.pool.neg(a) } else { a };
        let added = self.pool.poly(a).constant;
        let rest = (&Int::ZERO - &added).modulo(&divisor)?;
        let (added, rest) = (self.pool.int(added), self.pool.int(rest));
        let a = self.pool.sub(a, added);
        let remainder = self.pool.modulo(a, k);
        Some(self.pool.eq(remainder, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::readable;
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Int, Pool, print, read};
    use sizewise_solve::Facts;

    #[test]
    fn conditions_are_shown_as_people_write_them() {
        let table = [
            ("Mod(-a, 4) <= 0", "Eq(Mod(a, 4), 0)"),
            ("Eq(Mod(-a, 4), 0)", "Eq(Mod(a, 4), 0)"),
            ("Mod(-a, b) <= 0", "Mod(-a, b) <= 0"),
            ("Mod(-a, 8) >= 1", "Ne(Mod(a, 8), 0)"),
            ("Mod(a + 1, 4) >= 1", "Ne(Mod(a, 4), 3)"),
            ("Mod(a, 4) >= 2", "Mod(a, 4) >= 2"),
            ("Mod(a, 4) >= 3", "Eq(Mod(a, 4), 3)"),
            ("Mod(a + 7, 8) >= 6", "Or(Eq(Mod(a, 8), 0), Eq(Mod(a, 8), 7))"),
            ("Mod(5 - a, 8) <= 1", "Or(Eq(Mod(a, 8), 4), Eq(Mod(a, 8), 5))"),
            ("Eq(Mod(a + 1, 2), 0)", "Eq(Mod(a, 2), 1)"),
            ("Eq(Mod(a + 2*b - 3, 8), 0)", "Eq(Mod(a + 2*b, 8), 3)"),
            ("Eq(Mod(5 - a, 8), 0)", "Eq(Mod(a, 8), 5)"),
            ("Or(And(Ne(a, -1), Or(Eq(a, 0), Eq(a, b))), Eq(a, b))", "Or(Eq(a, 0), Eq(a, b))"),
            ("Or(Eq(a, -3), Eq(b, 2))", "Eq(b, 2)"),
            ("a <= 3", "a <= 3"),
            ("And(a >= 0, b >= 0)", "And(a >= 0, b >= 0)"),
            ("Or(Eq(a, -1), Eq(b, -1))", "Or(Eq(a, -1), Eq(b, -1))"),
            ("a >= 0", "a >= 0"),
            ("((a + 3)//4) <= 8", "a <= 32"),
            ("(a//3) >= 5", "a >= 15"),
            ("3*((a + 1)//5) >= 8", "a >= 14"),
            ("2*((b + a)//4) <= 7", "a + b <= 15"),
            ("(a//b) <= 3", "(a//b) <= 3"),
            ("And(a <= 20, a <= 59)", "a <= 20"),
            ("Or(a <= 20, a <= 59)", "a <= 59"),
            ("And(2*a <= b, (a//3) >= 5, a >= 2)", "And(2*a <= b, a >= 15)"),
            ("Eq(a, Min(16, a))", "a <= 16"),
            ("Eq(a, Max(b, a))", "a >= b"),
            ("Eq(a + b, Min(a + b, 7, c))", "And(a + b <= 7, a + b <= c)"),
            ("Or(Eq(a, 1), Eq(a, Min(16, a)))", "a <= 16"),
            ("Or(Eq(a, 17), Eq(a, Min(16, a)))", "Or(Eq(a, 17), a <= 16)"),
            ("Eq(a, Max(0, Min(a, b)))", "a <= b"),
            ("Eq(b + 1, Max(1, Min(b + 1, a)))", "Or(b + 1 <= a, Eq(b, 0))"),
            ("Eq(a, Max(1, Min(a, b)))", "Eq(a, Max(1, Min(a, b)))"),
            ("Eq(Min(16, a), 3)", "Eq(a, 3)"),
            ("Eq(Min(16, a), 16)", "a >= 16"),
            ("Eq(Max(16, a), 16)", "a <= 16"),
            ("Eq(Max(16, a), 20)", "Eq(a, 20)"),
            ("Eq(Min(16, a), 20)", "Eq(Min(16, a), 20)"),
            ("Eq(Min(64, a + b + 1), b + 1 + Min(64, a))", "a + b <= 63"),
            ("Eq(Min(64, a + b), b + Min(64, a))", "Eq(Min(64, a + b), b + Min(64, a))"),
        ];
        for (condition, shown) in table {
            let mut pool = Pool::new();
            let mut facts = Facts::new();
            let e = read::closed(&mut pool, condition).expect("a condition").expr;
            let shown = read::closed(&mut pool, shown).expect("a condition").expr;
            for symbol in pool.free_symbols(&[e]) {
                facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ZERO));
            }
            let found = readable(&pool, &facts, e);
            assert_eq!(found, shown, "{condition} is shown as {}", print::expression(&pool, found));
        }
    }
}
