//! Residues: a conjunction without a solution modulo some `M` has none.
//!
//! Polynomials and remainders by divisors of `M` depend only on the residues of their atoms, so trying all
//! residues decides them. A remainder is known exactly, everything else modulo `M`. Atoms other than
//! remainders are unknowns. If `p` is no multiple of a composite `m`, it is no multiple of some prime power
//! that divides `m`; each is examined separately.
use super::Lemma;
use super::factor::factors;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool};

/// Larger moduli are not tried.
const MAX_MODULUS: i64 = 5_000;
/// Moduli tried on nonlinear equations, in addition to those that occur: squares and cubes have few residues there.
const USUAL: [i64; 9] = [8, 9, 5, 7, 16, 3, 4, 11, 13];
/// The most moduli tried.
const MAX_MODULI: usize = 14;
/// Problems with more unknowns are not tried.
const MAX_UNKNOWNS: usize = 8;
/// Assignments tried for one modulus.
const MAX_ASSIGNMENTS: u32 = 12_000;

/// Whether the conditions have no solution modulo something.
pub fn refute(pool: &mut Pool, conditions: &[Expr], steps: &mut u32) -> Option<Lemma> {
    if !worthwhile(pool, conditions) {
        return None;
    }
    for (i, &c) in conditions.iter().enumerate() {
        let Some((p, m)) = indivisible(pool, c) else { continue };
        let Some(primes) = factors(m.unsigned_abs(), steps).filter(|primes| primes.len() > 1) else {
            continue;
        };
        let mut closed = 0;
        for (prime, power) in primes {
            let modulus = pool.int(i64::try_from(prime.pow(power)).ok()?);
            let remainder = pool.modulo(p, modulus);
            let mut part = conditions.to_vec();
            part[i] = pool.ne(remainder, Expr::ZERO);
            if !plain(pool, &part, steps) {
                break;
            }
            closed += 1;
        }
        let parts = factors(m.unsigned_abs(), steps)?.len();
        if closed == parts {
            return Some(Lemma::Closed);
        }
    }
    plain(pool, conditions, steps).then_some(Lemma::Closed)
}

/// Whether residues have something to say: a remainder of something nonlinear, or a nonlinear equation.
fn worthwhile(pool: &Pool, conditions: &[Expr]) -> bool {
    pool.reachable(conditions).into_iter().any(|e| match pool.node(e) {
        Some(Node::Call(Func::Mod, args)) => pool.as_int(args[1]).is_some(),
        Some(Node::Call(Func::IsZero, args)) => nonlinear(pool, args[0]),
        _ => false,
    })
}

fn nonlinear(pool: &Pool, p: Expr) -> bool {
    pool.poly(p).terms.iter().any(|(m, _)| matches!(pool.node(*m), Some(Node::Product(_))))
}

/// `(p, m)` when the condition says that a composite `m` does not divide `p`.
fn indivisible(pool: &Pool, c: Expr) -> Option<(Expr, i64)> {
    let &[inner] = pool.as_func(c, Func::Not)? else { return None };
    let &[r] = pool.as_func(inner, Func::IsZero)? else { return None };
    let &[p, m] = pool.as_func(r, Func::Mod)? else { return None };
    let m = m.as_inline().filter(|m| (2..=MAX_MODULUS).contains(m))?;
    Some((p, m))
}

/// A modulus for which there is no solution.
fn plain(pool: &Pool, conditions: &[Expr], steps: &mut u32) -> bool {
    if conditions.iter().any(|c| pool.as_bool(*c) == Some(false)) {
        return true;
    }
    moduli(pool, conditions).into_iter().any(|m| {
        if pool.is_spent() {
            return false;
        }
        let Some(mut problem) = Problem::new(pool, conditions, m) else { return false };
        let mut left = MAX_ASSIGNMENTS.min(*steps);
        let before = left;
        let found = problem.extend(0, &mut left);
        *steps -= before - left;
        found == Some(false)
    })
}

/// Moduli worth trying, small ones first.
fn moduli(pool: &Pool, conditions: &[Expr]) -> Vec<i64> {
    let mut own: Vec<i64> = Vec::new();
    let mut equations = false;
    let mut powers = false;
    for e in pool.reachable(conditions) {
        match pool.node(e) {
            Some(Node::Call(Func::Mod, args)) => own.extend(args[1].as_inline().map(i64::abs)),
            Some(Node::Call(Func::IsZero, args)) => {
                let poly = pool.poly(args[0]);
                if conditions.contains(&e) && nonlinear(pool, args[0]) {
                    equations = true;
                    own.extend(poly.terms.iter().filter_map(|(_, c)| c.to_i64()).map(i64::abs));
                }
            }
            Some(Node::Product(_)) => powers = true,
            _ => {}
        }
    }
    own.retain(|m| (2..=MAX_MODULUS).contains(m));
    own.sort_unstable();
    own.dedup();
    let mut all = own.clone();
    let whole = own.iter().try_fold(1i64, |l, &m| {
        let l = num_integer::lcm(l, m);
        (l <= MAX_MODULUS).then_some(l)
    });
    all.extend(whole);
    if powers {
        // A square may need a finer modulus than the one that is asked about.
        for &m in &own {
            for p in factors(m.unsigned_abs(), &mut 1_000).unwrap_or_default() {
                let p = p.0 as i64;
                all.extend([m.saturating_mul(p), m.saturating_mul(p).saturating_mul(p)]);
            }
        }
    }
    if equations {
        all.extend(USUAL);
    }
    let mut seen = Vec::new();
    all.retain(|m| {
        (2..=MAX_MODULUS).contains(m) && !seen.contains(m) && {
            seen.push(*m);
            true
        }
    });
    all.truncate(MAX_MODULI);
    all
}

/// A register's value: modulo `M`, and exactly where that is known. Truth values are known exactly or not at all.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    residue: Option<i64>,
    exact: Option<i64>,
}

#[derive(Clone, Debug)]
enum Op {
    Unknown,
    Variable(usize),
    Sum(Value, Vec<(usize, i64, Option<i64>)>),
    Product(Vec<(usize, u32)>),
    Remainder(usize, i64),
    IsZero(usize),
    NotPositive(usize),
    Not(usize),
    And(Vec<usize>),
    Or(Vec<usize>),
}

/// Conditions modulo something, ordered by the last unknown that they depend on.
struct Problem {
    modulus: i64,
    unknowns: usize,
    ops: Vec<Op>,
    /// For each unknown, the code and the conditions that are settled once it has a value.
    levels: Vec<(Vec<usize>, Vec<usize>)>,
    values: Vec<Value>,
    point: Vec<i64>,
}

impl Problem {
    fn new(pool: &Pool, conditions: &[Expr], modulus: i64) -> Option<Problem> {
        let mut builder =
            Builder { pool, modulus, ops: Vec::new(), known: FxHashMap::default(), unknowns: 0 };
        let mut roots = Vec::new();
        for &c in conditions {
            let root = builder.add(c);
            if builder.informative(c) {
                roots.push(root);
            }
        }
        if roots.is_empty() || builder.unknowns > 4 * MAX_UNKNOWNS {
            return None;
        }
        let (ops, all) = (builder.ops, builder.unknowns);
        // Which unknowns each register depends on.
        let depends: Vec<u64> = {
            let mut depends: Vec<u64> = Vec::with_capacity(ops.len());
            for op in &ops {
                let of = |r: &usize| depends[*r];
                depends.push(match op {
                    Op::Unknown => 0,
                    Op::Variable(v) => 1 << v,
                    Op::Sum(_, terms) => {
                        terms.iter().filter(|t| t.1 != 0 || t.2.is_some()).fold(0, |d, t| d | of(&t.0))
                    }
                    Op::Product(factors) => factors.iter().fold(0, |d, f| d | of(&f.0)),
                    Op::Remainder(r, _) | Op::IsZero(r) | Op::NotPositive(r) | Op::Not(r) => of(r),
                    Op::And(rs) | Op::Or(rs) => rs.iter().fold(0, |d, r| d | of(r)),
                });
            }
            depends
        };
        let needed = roots.iter().fold(0, |d, &r| d | depends[r]);
        let mut order: Vec<usize> = (0..all).filter(|v| needed >> v & 1 == 1).collect();
        if order.is_empty() || order.len() > MAX_UNKNOWNS {
            return None;
        }
        let uses = |v: usize| roots.iter().filter(|&&r| depends[r] >> v & 1 == 1).count();
        order.sort_by_key(|&v| std::cmp::Reverse(uses(v)));
        let mut levels = Vec::new();
        let mut done = 0u64;
        let mut computed = vec![false; ops.len()];
        for &unknown in &order {
            done |= 1 << unknown;
            let ready = |d: u64| d & !done == 0;
            let code: Vec<usize> = (0..ops.len()).filter(|&r| ready(depends[r]) && !computed[r]).collect();
            code.iter().for_each(|&r| computed[r] = true);
            let checks = roots.iter().copied().filter(|r| code.contains(r)).collect();
            levels.push((code, checks));
        }
        let mut ops = ops;
        for op in &mut ops {
            if let Op::Variable(v) = op {
                *op = match order.iter().position(|o| o == v) {
                    Some(place) => Op::Variable(place),
                    None => Op::Unknown,
                };
            }
        }
        let values = vec![Value::default(); ops.len()];
        Some(Problem { modulus, unknowns: order.len(), ops, levels, values, point: vec![0; order.len()] })
    }

    /// Whether the residues of the first unknowns extend to all; `None` when that was not found out.
    fn extend(&mut self, level: usize, left: &mut u32) -> Option<bool> {
        if level == self.unknowns {
            return Some(true);
        }
        for v in 0..self.modulus {
            *left = left.checked_sub(1)?;
            self.point[level] = v;
            if self.consistent(level) && self.extend(level + 1, left)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn consistent(&mut self, level: usize) -> bool {
        for i in 0..self.levels[level].0.len() {
            let r = self.levels[level].0[i];
            self.values[r] = self.compute(r);
        }
        self.levels[level].1.iter().all(|&r| self.values[r].exact != Some(0))
    }

    fn compute(&self, r: usize) -> Value {
        let m = self.modulus;
        let residue = |v: i64| Value { residue: Some(v.rem_euclid(m)), exact: None };
        let exactly = |v: Option<i64>| Value { residue: v.map(|v| v.rem_euclid(m)), exact: v };
        let truth = |v: Option<bool>| Value { residue: None, exact: v.map(i64::from) };
        let at = |r: usize| self.values[r];
        match &self.ops[r] {
            Op::Unknown => Value::default(),
            Op::Variable(v) => residue(self.point[*v]),
            Op::Sum(constant, terms) => {
                let mut exact = constant.exact;
                let mut sum = constant.residue;
                for &(r, c, whole) in terms {
                    let value = at(r);
                    sum = match (sum, value.residue) {
                        (Some(s), _) if c == 0 => Some(s),
                        (Some(s), Some(v)) => Some((s + c * v) % m),
                        _ => None,
                    };
                    exact = match (exact, whole, value.exact) {
                        (Some(s), Some(c), Some(v)) => c.checked_mul(v).and_then(|t| s.checked_add(t)),
                        _ => None,
                    };
                }
                Value { residue: sum, exact }
            }
            Op::Product(factors) => {
                let mut product = Some(1i64);
                let mut exact = Some(1i64);
                for &(r, power) in factors {
                    for _ in 0..power {
                        product = product.zip(at(r).residue).map(|(p, v)| p * v % m);
                        exact = exact.zip(at(r).exact).and_then(|(p, v)| p.checked_mul(v));
                    }
                }
                Value { residue: product, exact }
            }
            Op::Remainder(r, d) => exactly(at(*r).residue.map(|v| v.rem_euclid(*d))),
            Op::IsZero(r) => {
                let v = at(*r);
                truth(v.exact.map(|v| v == 0).or(v.residue.filter(|v| *v != 0).map(|_| false)))
            }
            Op::NotPositive(r) => truth(at(*r).exact.map(|v| v <= 0)),
            Op::Not(r) => truth(at(*r).exact.map(|v| v == 0)),
            Op::And(rs) => truth(all(rs.iter().map(|&r| at(r).exact.map(|v| v != 0)))),
            Op::Or(rs) => truth(all(rs.iter().map(|&r| at(r).exact.map(|v| v == 0))).map(|none| !none)),
        }
    }
}

/// Whether all are true: false as soon as one is false.
fn all(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut known = Some(true);
    for v in values {
        match v {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = None,
        }
    }
    known
}

struct Builder<'a> {
    pool: &'a Pool,
    modulus: i64,
    ops: Vec<Op>,
    known: FxHashMap<Expr, usize>,
    unknowns: usize,
}

impl Builder<'_> {
    fn add(&mut self, root: Expr) -> usize {
        for e in self.pool.reachable(&[root]) {
            if !self.known.contains_key(&e) {
                let op = self.op(e);
                self.push(e, op);
            }
        }
        self.register(root)
    }

    fn push(&mut self, e: Expr, op: Op) -> usize {
        let register = self.ops.len();
        self.ops.push(op);
        self.known.insert(e, register);
        register
    }

    fn register(&mut self, e: Expr) -> usize {
        // Only atoms that count as unknowns have constants as operands.
        match self.known.get(&e) {
            Some(&r) => r,
            None => self.push(e, Op::Unknown),
        }
    }

    fn constant(&self, v: &Int) -> Value {
        let residue = v.modulo(&Int::from(self.modulus)).and_then(|v| v.to_i64());
        Value { residue, exact: v.to_i64() }
    }

    fn op(&mut self, e: Expr) -> Op {
        let pool = self.pool;
        match pool.node(e) {
            Some(Node::Sum { constant, terms }) => {
                let mut parts = Vec::with_capacity(terms.len());
                for (m, c) in terms {
                    let Some(residue) = self.constant(c).residue else { return Op::Unknown };
                    let r = self.register(*m);
                    // A term that vanishes modulo M is looked at only where its value is exact.
                    let exact = residue != 0 || matches!(self.ops[r], Op::Remainder(..));
                    parts.push((r, residue, c.to_i64().filter(|_| exact)));
                }
                Op::Sum(self.constant(constant), parts)
            }
            Some(Node::Product(factors)) => {
                if factors.iter().any(|f| f.1 > 64) {
                    return Op::Unknown;
                }
                Op::Product(factors.iter().map(|(a, k)| (self.register(*a), *k)).collect())
            }
            Some(Node::Call(func, args)) => {
                let regs: Vec<usize> = args.iter().map(|&a| self.register(a)).collect();
                match (func, regs.as_slice()) {
                    (Func::Mod, &[r, _]) => match args[1].as_inline() {
                        Some(d) if d > 0 && self.modulus % d == 0 => Op::Remainder(r, d),
                        _ => self.variable(),
                    },
                    (Func::IsZero, &[r]) => Op::IsZero(r),
                    (Func::NotPositive, &[r]) => Op::NotPositive(r),
                    (Func::Not, &[r]) => Op::Not(r),
                    (Func::And, rs) => Op::And(rs.to_vec()),
                    (Func::Or, rs) => Op::Or(rs.to_vec()),
                    _ if pool.sort(e) == sizewise_expr::Sort::Int => self.variable(),
                    _ => Op::Unknown,
                }
            }
            Some(Node::Symbol(_)) if pool.sort(e) == sizewise_expr::Sort::Int => self.variable(),
            _ => Op::Unknown,
        }
    }

    fn variable(&mut self) -> Op {
        // More than these cannot be tried anyway.
        if self.unknowns >= 60 {
            return Op::Unknown;
        }
        self.unknowns += 1;
        Op::Variable(self.unknowns - 1)
    }

    /// Whether a condition can be false for residues: it has a remainder that is known, or is an equation.
    fn informative(&self, c: Expr) -> bool {
        self.pool.reachable(&[c]).into_iter().any(|e| {
            e == c && self.pool.as_func(e, Func::IsZero).is_some()
                || self.known.get(&e).is_some_and(|&r| matches!(self.ops[r], Op::Remainder(..)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    fn closed(texts: &[&str]) -> bool {
        let mut pool = Pool::new();
        let conditions: Vec<Expr> = texts
            .iter()
            .map(|t| read::closed(&mut pool, t).expect("the text is an expression").expr)
            .collect();
        refute(&mut pool, &conditions, &mut 100_000).is_some()
    }

    #[test]
    fn squares_and_cubes_miss_residues() {
        assert!(closed(&["Eq(Mod(a**2, 4), 2)"]));
        assert!(!closed(&["Eq(Mod(a**2, 4), 1)"]));
        assert!(closed(&["Eq(Mod(a**3 + b**3 + c**3, 9), 4)"]));
        assert!(closed(&["Eq(a**2 - 2*b**2, 5)"]));
        assert!(!closed(&["Eq(a**2 - 2*b**2, 7)"]));
    }

    #[test]
    fn composite_moduli_are_taken_apart() {
        assert!(closed(&["Ne(Mod(a**5 - a, 30), 0)"]));
        assert!(!closed(&["Ne(Mod(a**5 - a, 60), 0)"]));
        assert!(closed(&["Eq(a**2 + b**2, c**2)", "Ne(Mod(a*b*c, 60), 0)"]));
    }
}
