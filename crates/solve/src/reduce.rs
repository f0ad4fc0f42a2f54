//! An equivalent problem in fewer and better symbols.
//!
//! Equations are solved for a symbol, which is substituted everywhere else. Those like `s = 3*t/8` are solved
//! by integer elimination. A symbol under divisions by constants is split into quotient and remainder
//! (`s = 8*k + r`, `0 <= r < 8`), which turns most floor divisions into linear terms. Common factors that
//! cannot be 0 are cancelled. Equations that define an atom or a product rewrite it elsewhere. The result has
//! literals and disjunctions without remainders.
//!
//! No step loses a solution, so a contradiction of the result is one of the problem. A step may add solutions
//! (a bound that made a simplification possible can be lost), so an assignment of the result, completed by
//! [`Reduced::extend`], is a candidate to replay.
mod folding;
mod lattice;
mod powers;
mod steps;

use super::search::conjuncts;
pub(super) use folding::folded;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::range::{DomainTable, ValueRange};
use sizewise_expr::{Divisor, Evaluator, Expr, Func, Int, Monomial, Node, Poly, Pool, Sort, Symbol, Value};

/// The most replacements of one problem.
const MAX_STEPS: usize = 60;
/// The most bits of the modulus by which a symbol is split.
const MAX_MODULUS_BITS: u64 = 200;
/// The most symbols that are split by a divisor that is not constant.
const MAX_SYMBOLIC_SPLITS: u32 = 6;
/// Equations of more symbols are solved for one symbol at a time.
const MAX_LATTICE: usize = 8;
/// Equations with longer coefficients are not solved.
const MAX_COEFFICIENT_BITS: u64 = 512;
/// The most symbols that are written as multiples of others.
const MAX_FACTORED: u32 = 4;
/// Problems with more nodes than this are left as they are.
const MAX_NODES: usize = 3_000;

/// A conjunction with what was replaced to get there.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduced {
    /// Literals and disjunctions; all have to hold.
    pub conditions: Vec<Expr>,
    /// The conditions before remainders were written as quotients.
    pub unexpanded: Vec<Expr>,
    /// Symbols replaced, with their values in terms of the symbols that are left.
    pub replaced: Vec<(Symbol, Expr)>,
    /// What the conditions say about the values of expressions.
    pub table: DomainTable,
    /// Whether the conditions contradict each other.
    pub contradiction: bool,
    /// Symbols made on the way.
    fresh: usize,
    /// Symbols split by other symbols.
    splits: u32,
    /// Symbols found to be multiples of others.
    factored: u32,
}

/// A literal: whether a sum is zero, or at most zero, or the negation of that.
struct Comparison {
    func: Func,
    poly: Poly,
    is_negated: bool,
}

impl Comparison {
    fn of(pool: &Pool, condition: Expr) -> Option<Comparison> {
        let (is_negated, inner) = match pool.as_func(condition, Func::Not) {
            Some(&[inner]) => (true, inner),
            _ => (false, condition),
        };
        match pool.as_call(inner)? {
            (func @ (Func::IsZero | Func::NotPositive), &[p]) => {
                Some(Comparison { func, poly: pool.poly(p), is_negated })
            }
            _ => None,
        }
    }

    /// The same of another expression.
    fn with(&self, pool: &mut Pool, e: Expr) -> Expr {
        let compared = match self.func {
            Func::IsZero => pool.eq(e, Expr::ZERO),
            _ => pool.le(e, Expr::ZERO),
        };
        if self.is_negated { pool.not(compared) } else { compared }
    }
}

impl Reduced {
    /// Reduces a conjunction. Bounds of symbols have to be among the conditions.
    pub fn new(pool: &mut Pool, conditions: &[Expr]) -> Reduced {
        Reduced::after(pool, conditions, 0)
    }

    /// A conjunction to which nothing was done.
    #[cfg(test)]
    pub fn as_written(pool: &mut Pool, conditions: &[Expr]) -> Reduced {
        let mut reduced = Reduced { conditions: conditions.to_vec(), ..Reduced::default() };
        reduced.learn(pool);
        reduced.unexpanded = reduced.conditions.clone();
        reduced
    }

    /// Reduces this problem further, together with another condition.
    pub fn with(&self, pool: &mut Pool, condition: Expr) -> Reduced {
        let mut conditions = self.unexpanded.clone();
        conditions.push(condition);
        Reduced::after(pool, &conditions, self.fresh)
    }

    /// Reduces conditions in which the first `fresh` new symbols may occur already.
    fn after(pool: &mut Pool, conditions: &[Expr], fresh: usize) -> Reduced {
        let mut reduced = Reduced { fresh, ..Reduced::default() };
        for &c in conditions {
            conjuncts(pool, c, &mut reduced.conditions);
        }
        reduced.learn(pool);
        reduced.unexpanded = reduced.conditions.clone();
        if pool.reachable(&reduced.conditions).len() > MAX_NODES {
            return reduced;
        }
        let mut used: FxHashSet<Expr> = FxHashSet::default();
        for _ in 0..MAX_STEPS {
            if reduced.contradiction || pool.is_spent() {
                break;
            }
            if !(reduced.cancel(pool)
                || reduced.compare_powers(pool)
                || reduced.solve_one(pool)
                || reduced.split_one(pool)
                || reduced.fold(pool)
                || reduced.divide_one(pool)
                || reduced.rewrite_one(pool, &mut used)
                || reduced.factor_one(pool)
                || reduced.signs(pool, &mut used)
                || reduced.split_by_symbol(pool))
            {
                break;
            }
        }
        reduced.unexpanded = reduced.conditions.clone();
        // A quotient that the first pass makes is seen by the second.
        if reduced.expand(pool) {
            reduced.expand(pool);
            let conditions = reduced.conditions.clone();
            reduced.learn_new(pool, &conditions);
        }
        reduced
    }

    /// The values of the symbols that were replaced, added to an assignment of the others.
    pub fn extend(&self, pool: &Pool, values: &mut FxHashMap<Symbol, Int>) -> Option<()> {
        let mut found = Vec::with_capacity(self.replaced.len());
        {
            let known = &*values;
            let mut evaluator = Evaluator::new(pool, |s| known.get(&s).cloned().map(Value::Int));
            for &(symbol, value) in &self.replaced {
                found.push((symbol, evaluator.int(value).ok()?));
            }
        }
        values.extend(found);
        Some(())
    }

    /// Tidies the conditions and assumes them in the table.
    fn learn(&mut self, pool: &mut Pool) {
        self.tidy(pool);
        self.table = DomainTable::new();
        let conditions = self.conditions.clone();
        self.assume(pool, &conditions, 3);
    }

    fn tidy(&mut self, pool: &mut Pool) {
        let mut flat = Vec::with_capacity(self.conditions.len());
        for &c in &self.conditions {
            conjuncts(pool, c, &mut flat);
        }
        let mut seen = FxHashSet::default();
        flat.retain(|&c| pool.as_bool(c) != Some(true) && seen.insert(c));
        self.contradiction |= flat.iter().any(|&c| pool.as_bool(c) == Some(false));
        self.conditions = flat;
    }

    /// Assumes new conditions in the table. Its earlier facts still hold: a step changes the form of the
    /// conditions, not the set of assignments (of the old and the new symbols) that satisfy them.
    fn learn_new(&mut self, pool: &mut Pool, new: &[Expr]) {
        self.tidy(pool);
        self.assume(pool, new, 2);
    }

    /// Assumes conditions in the table, again as long as that tightens something, but only a limited number
    /// of times.
    fn assume(&mut self, pool: &Pool, conditions: &[Expr], rounds: usize) {
        for _ in 0..rounds {
            let mut changed = false;
            for &c in conditions {
                if pool.is_spent() {
                    return;
                }
                match self.table.assume(pool, c) {
                    Ok(more) => changed |= more,
                    Err(_) => {
                        self.contradiction = true;
                        return;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Rewrites all conditions but the one at `except`, and the values of replaced expressions. Returns the
    /// conditions that changed.
    fn substitute(
        &mut self,
        pool: &mut Pool,
        replace: &FxHashMap<Expr, Expr>,
        except: Option<usize>,
    ) -> Vec<Expr> {
        let mut memo = FxHashMap::default();
        let rule = |e: Expr| replace.get(&e).copied();
        let mut changed = Vec::new();
        for (i, c) in self.conditions.iter_mut().enumerate() {
            if Some(i) != except {
                // A condition that stays as it was still holds.
                let Some(new) = pool.substitute_within(*c, &rule, &mut memo) else { return changed };
                if new != *c {
                    *c = new;
                    changed.push(new);
                }
            }
        }
        for (_, value) in &mut self.replaced {
            match pool.substitute_within(*value, &rule, &mut memo) {
                Some(new) => *value = new,
                None => break,
            }
        }
        changed
    }

    fn replace_symbol(&mut self, pool: &mut Pool, symbol: Expr, value: Expr) {
        let replace = FxHashMap::from_iter([(symbol, value)]);
        let known = self.table.domain(pool, symbol);
        let changed = self.substitute(pool, &replace, None);
        if let Some(s) = pool.as_symbol(symbol) {
            self.replaced.push((s, value));
        }
        self.contradiction |= self.table.restrict(pool, value, known).is_err();
        self.learn_new(pool, &changed);
    }

    fn fresh(&mut self, pool: &mut Pool) -> Expr {
        self.fresh += 1;
        pool.symbol_of_sort(&format!("%{}", self.fresh), Sort::Int)
    }

    /// Divides the terms of an equation or inequality by a common factor that has one sign or, in an
    /// equation, is not 0.
    fn cancel(&mut self, pool: &mut Pool) -> bool {
        let mut changed = Vec::new();
        for i in 0..self.conditions.len() {
            let c = self.conditions[i];
            let Some(comparison) = Comparison::of(pool, c) else { continue };
            let poly = &comparison.poly;
            // Of a single term, the factors are what the condition is about.
            if !poly.constant.is_zero() || poly.terms.len() < 2 {
                continue;
            }
            let mut common = pool.monomial(poly.terms[0].0);
            for (m, _) in &poly.terms[1..] {
                let factors = pool.monomial(*m);
                common.retain(|(atom, power)| {
                    factors.iter().find(|(f, _)| f == atom).is_some_and(|(_, p)| {
                        *power = (*power).min(*p);
                        true
                    })
                });
            }
            let mut divisor = Vec::new();
            for (atom, power) in common {
                let domain = self.table.domain(pool, atom);
                let useful = match comparison.func {
                    Func::IsZero => !domain.contains_zero(),
                    _ => domain.range.lo.signum() > 0,
                };
                if useful {
                    divisor.push((atom, power));
                }
            }
            if divisor.is_empty() {
                continue;
            }
            let divisor = pool.from_monomial(&divisor);
            let Some(quotient) = pool.exact_division(poly, &pool.poly(divisor)) else { continue };
            let quotient = pool.from_poly(&quotient);
            let reduced = comparison.with(pool, quotient);
            if reduced != c {
                self.conditions[i] = reduced;
                changed.push(reduced);
            }
        }
        self.learn_new(pool, &changed);
        !changed.is_empty()
    }

    /// Solves one equation for a symbol.
    fn solve_one(&mut self, pool: &mut Pool) -> bool {
        for i in 0..self.conditions.len() {
            let Some(&[p]) = pool.as_func(self.conditions[i], Func::IsZero) else { continue };
            let poly = pool.poly(p);
            if poly.terms.iter().any(|(_, c)| c.bits() > MAX_COEFFICIENT_BITS) {
                continue;
            }
            let symbols: Vec<usize> =
                (0..poly.terms.len()).filter(|&j| pool.as_symbol(poly.terms[j].0).is_some()).collect();
            let plain = symbols.len() == poly.terms.len();
            let mut best: Option<usize> = None;
            for &j in &symbols {
                let coefficient = &poly.terms[j].1;
                // A common factor was divided out by construction, so the least coefficient makes progress.
                let better = best.is_none_or(|b| coefficient.abs() <= poly.terms[b].1.abs());
                if better && (coefficient.abs().is_one() || plain) && pool.stands_alone(&poly, j) {
                    best = Some(j);
                }
            }
            let Some(best) = best else { continue };
            let (symbol, coefficient) = poly.terms[best].clone();
            if !coefficient.abs().is_one() && poly.terms.len() <= MAX_LATTICE {
                if self.solve_by_lattice(pool, &poly) {
                    return true;
                }
                continue;
            }
            let value = match poly.solved_for(best) {
                Some(value) => pool.from_poly(&value),
                None => {
                    let Some(value) = nearly_solved(&poly, best) else { continue };
                    let (value, k) = (pool.from_poly(&value), self.fresh(pool));
                    pool.add(value, k)
                }
            };
            self.replace_symbol(pool, symbol, value);
            return true;
        }
        false
    }

    /// Splits one symbol under divisions by constants into quotient and remainder.
    fn split_one(&mut self, pool: &mut Pool) -> bool {
        let mut moduli: Vec<(Expr, Int)> = Vec::new();
        for e in pool.reachable(&self.conditions) {
            let Some((Func::FloorDiv | Func::Mod, &[a, d])) = pool.as_call(e) else { continue };
            let Some(d) = pool.as_int(d).filter(|d| !d.is_zero()) else { continue };
            let poly = pool.poly(a);
            for (m, c) in &poly.terms {
                // What the multiples of the symbol have to be split by to come out of the division.
                let Some(step) = d.floor_div(&c.gcd(&d)).map(|step| step.abs()) else { continue };
                if pool.as_symbol(*m).is_none() || step <= Int::ONE {
                    continue;
                }
                match moduli.iter_mut().find(|(s, _)| s == m) {
                    Some((_, modulus)) => {
                        let lcm = modulus.lcm(&step);
                        if lcm.bits() <= MAX_MODULUS_BITS {
                            *modulus = lcm;
                        }
                    }
                    None => moduli.push((*m, step)),
                }
            }
        }
        for (symbol, modulus) in moduli {
            let domain = self.table.domain(pool, symbol);
            // A remainder is as small as it gets.
            if domain.range.lo.signum() >= 0 && domain.range.hi.finite().is_some_and(|h| *h < modulus) {
                continue;
            }
            let (k, r) = (self.fresh(pool), self.fresh(pool));
            let scale = pool.int(modulus.clone());
            let scaled = pool.mul(scale, k);
            let value = pool.add(scaled, r);
            let low = pool.le(Expr::ZERO, r);
            let high = pool.lt(r, scale);
            self.conditions.extend([low, high]);
            self.learn_new(pool, &[low, high]);
            self.replace_symbol(pool, symbol, value);
            return true;
        }
        false
    }

    /// Splits a symbol under a division by something positive that is no constant: `a = b*k + r`, `0 <= r < b`.
    fn split_by_symbol(&mut self, pool: &mut Pool) -> bool {
        if self.splits >= MAX_SYMBOLIC_SPLITS {
            return false;
        }
        // Oldest first: inner divisions before those around them.
        for e in pool.reachable(&self.conditions) {
            let Some((Func::FloorDiv | Func::Mod, &[a, b])) = pool.as_call(e) else { continue };
            if pool.is_constant(b) || self.table.domain(pool, b).range.lo.signum() <= 0 {
                continue;
            }
            let poly = pool.poly(a);
            let Some((symbol, sign)) = poly.terms.iter().rev().find_map(|(m, c)| {
                let others = poly.terms.iter().map(|(o, _)| *o).filter(|o| o != m);
                let roots: Vec<Expr> = others.chain([b]).collect();
                (pool.as_symbol(*m).is_some() && c.abs().is_one() && !pool.reachable(&roots).contains(m))
                    .then(|| (*m, c.clone()))
            }) else {
                continue;
            };
            self.splits += 1;
            let (k, r) = (self.fresh(pool), self.fresh(pool));
            let (quotient, remainder) = (pool.floor_div(a, b), pool.modulo(a, b));
            for (e, value) in [(k, quotient), (r, remainder)] {
                let known = self.table.domain(pool, value);
                self.contradiction |= self.table.restrict(pool, e, known).is_err();
            }
            let multiple = pool.mul(b, k);
            let new = pool.add(multiple, r);
            // a = sign*symbol + rest, so symbol = sign*(b*k + r - rest).
            let own = Poly { constant: Int::ZERO, terms: [(symbol, sign.clone())].into_iter().collect() };
            let rest = poly.add_scaled(&own, &Int::from(-1));
            let rest = pool.from_poly(&rest);
            let difference = pool.sub(new, rest);
            let sign = pool.int(sign);
            let value = pool.mul(sign, difference);
            let (low, high) = (pool.le(Expr::ZERO, r), pool.lt(r, b));
            self.conditions.extend([low, high]);
            self.learn_new(pool, &[low, high]);
            self.replace_symbol(pool, symbol, value);
            return true;
        }
        false
    }
}

/// The value without `k` of `s = k - Σ floor(c/a)·m - floor(c0/a)`, which makes the other coefficients of
/// `a*s + Σ c·m + c0 == 0` smaller.
fn nearly_solved(poly: &Poly, best: usize) -> Option<Poly> {
    let coefficient = &poly.terms.get(best)?.1;
    let quotient = poly.constant.floor_div(coefficient)?;
    let mut value = Poly::constant(-quotient);
    for (j, (m, c)) in poly.terms.iter().enumerate() {
        if j != best
            && let Some(q) = c.floor_div(coefficient)
            && !q.is_zero()
        {
            let term = Poly { constant: Int::ZERO, terms: [(*m, Int::ONE)].into_iter().collect() };
            value = value.add_scaled(&term, &-q);
        }
    }
    Some(value)
}

/// `a // b`, with whole multiples of a constant divisor taken out of each coefficient.
fn near_quotient(pool: &mut Pool, a: Expr, b: Expr) -> Expr {
    let Some(d) = pool.as_int(b).filter(Int::is_positive) else { return pool.floor_div(a, b) };
    let Some(divisor) = Divisor::of(&d) else { return pool.floor_div(a, b) };
    let mut poly = pool.poly(a);
    let mut whole = Poly::default();
    for (m, c) in &mut poly.terms {
        // The nearest multiple: halves go down.
        let q = divisor.quotient_of(&(&*c + c));
        let q = Divisor::TWO.quotient_of(&(&q + &Int::ONE));
        *c = &*c - &(&q * &d);
        let term = Poly { constant: Int::ZERO, terms: [(*m, Int::ONE)].into_iter().collect() };
        whole = whole.add_scaled(&term, &q);
    }
    poly.terms.retain(|(_, c)| !c.is_zero());
    let rest = pool.from_poly(&poly);
    let divided = pool.floor_div(rest, b);
    let whole = pool.from_poly(&whole);
    pool.add(whole, divided)
}
