//! Facts and expressions under equality.
use super::classes::Classes;
use super::rule_set::RuleSet;
use super::solve::{Consequence, SolveStep, Solved, consequences};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use sizewise_expr::range::{Domain, DomainTable, FactSubject};
use sizewise_expr::{Expr, Func, Pool, Sort};

/// The facts contradict each other: two values that cannot be equal are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contradiction {
    /// This expression has no value within its domain.
    Empty(Expr),
    /// Two different constants are equal.
    Distinct(Expr, Expr),
    /// This condition is true and false.
    Truth(Expr),
    /// This expression is zero and cannot be.
    Zero(Expr),
}

/// Work that a new fact leaves.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Zero(Expr),
    Truth(Expr, bool),
    /// The table knows already that this holds.
    InTable(Expr),
}

/// Why two expressions are in one class, apart from being built alike of equal parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Why {
    /// A fact says so: the number under which it was entered.
    Fact(u32),
    /// A divisor is not zero.
    Nonzero,
    /// The equations make one of the other.
    #[default]
    Equations,
}

/// Two expressions that a fact or the equations have joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// One expression.
    pub a: Expr,
    /// The other.
    pub b: Expr,
    /// Why they are equal.
    pub why: Why,
}

/// The most facts that are followed up after one another.
const MAX_PENDING: usize = 512;

/// The most expressions that are brought to normal form when a fact is entered.
const MAX_RENEWED: usize = 512;

/// Expressions of one pool in classes of equal ones, with the domains of their values.
///
/// Every expression in the graph is taken to be defined: divisors are not 0.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) classes: Classes,
    pub(crate) table: DomainTable,
    pub(super) solved: Solved,
    /// The rules that taught something, by their positions, in the order in which they first did.
    pub(super) fired: IndexSet<usize, FxBuildHasher>,
    pending: Vec<Pending>,
    contradiction: Option<Contradiction>,
    /// How many expressions have been looked at by `settle`, and at which version of the replacements.
    settled: (usize, usize),
    /// What facts and equations have joined, in order.
    joins: Vec<Join>,
    /// Why what is joined now is.
    why: Why,
    /// What the table has learned something of since [`Graph::take_learned`], if that is kept.
    learned: Vec<FactSubject>,
}

impl Graph {
    /// A graph without facts.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds an expression and all it is built of.
    pub fn add(&mut self, pool: &mut Pool, e: Expr) {
        let mut divisors = Vec::new();
        {
            let pool = &*pool;
            self.classes.add(pool, e, |part| {
                if let Some((Func::FloorDiv | Func::Mod, &[_, d])) = pool.as_call(part)
                    && !pool.is_constant(d)
                {
                    divisors.push(d);
                }
            });
        }
        for d in divisors {
            let nonzero = pool.ne(d, Expr::ZERO);
            self.pend(Pending::Truth(nonzero, true));
        }
    }

    /// Declares that the value of an expression, usually a symbol, lies in a domain.
    pub fn declare(&mut self, pool: &mut Pool, e: Expr, domain: Domain) {
        self.add(pool, e);
        if let Err(found) = self.table.restrict(pool, e, domain) {
            self.contradict(Contradiction::Empty(found.at));
        }
    }

    /// Assumes a condition.
    pub fn assume(&mut self, pool: &mut Pool, condition: Expr) {
        let condition = pool.truth(condition);
        self.set_truth(pool, condition, true);
    }

    /// Why the facts cannot all hold, if that was found. From then on every answer is vacuous.
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.contradiction
    }

    /// The number of expressions.
    pub fn nodes(&self) -> usize {
        self.classes.len()
    }

    /// The truth of a condition that has been settled itself, or whose class holds a truth value.
    pub(crate) fn known(&self, pool: &Pool, condition: Expr) -> Option<bool> {
        let constant = |value| self.classes.same(condition, pool.bool(value)).then_some(value);
        let literal = pool.as_bool(condition).or_else(|| self.solved.truth(pool, condition));
        literal.or_else(|| constant(true)).or_else(|| constant(false))
    }

    /// The truth of a condition, if it is known.
    pub fn truth(&mut self, pool: &mut Pool, condition: Expr) -> Option<bool> {
        if let Some(value) = pool.as_bool(condition) {
            return Some(value);
        }
        if let Some(value) = self.known(pool, condition) {
            return Some(value);
        }
        if let Some(value) = self.table.decide(pool, condition) {
            return Some(value);
        }
        let normal = self.solved.normal(pool, condition);
        if normal == condition {
            return None;
        }
        pool.as_bool(normal).or_else(|| self.known(pool, normal)).or_else(|| self.table.decide(pool, normal))
    }

    /// Everything found equal to `e` so far, `e` included once it has been added.
    pub fn members(&self, e: Expr) -> &[Expr] {
        self.classes.members(e).map_or(&[], |m| m)
    }

    /// The expression added as number `i`.
    pub fn expression(&self, i: usize) -> Option<Expr> {
        self.classes.expression(i)
    }

    /// The normal form of an expression under the equations found so far.
    pub fn normal(&mut self, pool: &mut Pool, e: Expr) -> Expr {
        self.solved.normal(pool, e)
    }

    /// The names of the rules that taught something so far, in the order in which they first did.
    pub fn fired_rules<'a>(&self, rules: &'a RuleSet) -> Vec<&'a str> {
        self.fired.iter().filter_map(|&i| rules.rules().get(i)).map(|r| r.name.as_str()).collect()
    }

    pub(super) fn contradict(&mut self, found: Contradiction) {
        self.contradiction.get_or_insert(found);
    }

    fn pend(&mut self, work: Pending) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push(work);
        }
    }

    /// Makes two expressions equal; whether that was new.
    pub(super) fn equate(&mut self, pool: &mut Pool, a: Expr, b: Expr) -> bool {
        self.add(pool, a);
        self.add(pool, b);
        let new = self.classes.union(a, b);
        if pool.sort(a) == Sort::Int {
            let difference = pool.sub(a, b);
            self.pend(Pending::Zero(difference));
        }
        for (e, other) in [(a, b), (b, a)] {
            if let (Some(value), Sort::Bool) = (pool.as_bool(e), pool.sort(other)) {
                self.pend(Pending::Truth(other, value));
            }
        }
        self.follow_up(pool);
        new
    }

    fn set_truth(&mut self, pool: &mut Pool, condition: Expr, value: bool) {
        self.pend(Pending::Truth(condition, value));
        self.follow_up(pool);
    }

    fn follow_up(&mut self, pool: &mut Pool) {
        let mut left = MAX_PENDING;
        while let Some(work) = self.pending.pop() {
            if self.contradiction.is_some() || left == 0 {
                self.pending.clear();
                return;
            }
            left -= 1;
            match work {
                Pending::Zero(e) => {
                    let zero = pool.eq(e, Expr::ZERO);
                    let denied = pool.as_bool(zero).or_else(|| self.solved.truth(pool, zero)) == Some(false);
                    if denied || self.solved.equation(pool, e) == SolveStep::Impossible {
                        self.contradict(Contradiction::Zero(e));
                    }
                }
                Pending::Truth(e, value) => {
                    if !self.contradicts(pool, e, value) {
                        self.learn(pool, e, value);
                    }
                }
                Pending::InTable(e) => self.learn(pool, e, true),
            }
        }
    }

    /// Tells the table that a condition has a truth value; whether it cannot have it.
    fn contradicts(&mut self, pool: &mut Pool, e: Expr, value: bool) -> bool {
        let holds = if value { e } else { pool.not(e) };
        if pool.as_bool(holds).or_else(|| self.solved.truth(pool, holds)) == Some(true) {
            return false;
        }
        let told = self.table.assume_recording(pool, holds, &mut self.learned);
        if let Err(found) = &told {
            self.contradict(Contradiction::Empty(found.at));
        }
        told.is_err()
    }

    /// Records that a condition has a truth value, and its consequences.
    fn learn(&mut self, pool: &mut Pool, e: Expr, value: bool) {
        let known = pool.as_bool(e).or_else(|| self.solved.truth(pool, e));
        match known {
            Some(known) if known == value => return,
            Some(_) => return self.contradict(Contradiction::Truth(e)),
            None => {}
        }
        let complement = pool.not(e);
        for (e, value) in [(e, value), (complement, !value)] {
            self.add(pool, e);
            self.add(pool, pool.bool(value));
            self.join(e, pool.bool(value));
            self.solved.set_truth(pool, e, value);
            match consequences(pool, e, value) {
                Consequence::None => {}
                Consequence::Zero(p) => {
                    self.add(pool, p);
                    self.add(pool, Expr::ZERO);
                    self.join(p, Expr::ZERO);
                    self.pend(Pending::Zero(p));
                }
                Consequence::Each(parts, value) => {
                    parts.into_iter().for_each(|part| self.pend(Pending::Truth(part, value)));
                }
            }
        }
    }

    /// Enters a condition that the table knows. What is built of the expressions that it determines joins the class of
    /// its normal form, so the work does not grow with what else is known. It stops when the pool's work is spent.
    pub(crate) fn enter(&mut self, pool: &mut Pool, condition: Expr, why: Why) {
        self.why = why;
        self.pend(Pending::InTable(condition));
        self.follow_up(pool);
        let mut left = MAX_RENEWED;
        loop {
            self.classes.rebuild_if_due();
            if let Some((a, b)) = self.classes.distinct_constants() {
                self.contradict(Contradiction::Distinct(a, b));
            }
            let new = self.solved.take_new();
            self.why = Why::Equations;
            if new.is_empty() || self.contradiction.is_some() || pool.is_spent() {
                break;
            }
            for replaced in new {
                for e in self.classes.built_of(replaced, left) {
                    left = left.saturating_sub(1);
                    if pool.is_spent() {
                        break;
                    }
                    // What is settled is in the class of its truth value already.
                    if self.solved.truth(pool, e).is_none() {
                        self.join_normal(pool, e);
                    }
                }
            }
            self.follow_up(pool);
        }
    }

    /// What the table has learned something of since the last call.
    pub(crate) fn take_learned(&mut self) -> Vec<FactSubject> {
        std::mem::take(&mut self.learned)
    }

    /// What facts and equations have joined, in order.
    pub(crate) fn joins(&self) -> &[Join] {
        &self.joins
    }

    /// The equations: expressions that are replaced, and by what.
    pub(crate) fn equations(&self, pool: &Pool) -> Vec<(Expr, Expr)> {
        self.solved.equations(pool)
    }

    fn join(&mut self, a: Expr, b: Expr) {
        if self.classes.union(a, b) {
            self.joins.push(Join { a, b, why: self.why });
        }
    }

    /// Puts the normal form of an expression into its class.
    fn join_normal(&mut self, pool: &mut Pool, e: Expr) {
        let normal = self.solved.normal(pool, e);
        if normal != e {
            self.add(pool, normal);
            self.join(e, normal);
            if let (Some(value), Sort::Bool) = (pool.as_bool(normal), pool.sort(e)) {
                self.pend(Pending::Truth(e, value));
            }
        }
    }

    /// Brings classes, replacements and domains in line: normal forms join their classes, members of a class
    /// share their domain, single-valued expressions become constants.
    pub(super) fn settle(&mut self, pool: &mut Pool, nodes: usize) {
        self.follow_up(pool);
        self.classes.rebuild();
        if let Some((a, b)) = self.classes.distinct_constants() {
            self.contradict(Contradiction::Distinct(a, b));
        }
        let (seen, version) = self.settled;
        let from = if version == self.solved.version() { seen } else { 0 };
        let now = (self.classes.len(), self.solved.version());
        for i in from..now.0 {
            let Some(e) = self.classes.expression(i) else { break };
            if self.contradiction.is_some() || self.classes.len() > nodes {
                return;
            }
            self.join_normal(pool, e);
        }
        self.settled = now;
        self.follow_up(pool);
        self.classes.rebuild();
        self.share_domains(pool);
        self.read_domains(pool);
        self.follow_up(pool);
        self.classes.rebuild();
        if let Some((a, b)) = self.classes.distinct_constants() {
            self.contradict(Contradiction::Distinct(a, b));
        }
    }

    fn share_domains(&mut self, pool: &mut Pool) {
        let mut found = None;
        let mut tighter: Vec<(Expr, Domain)> = Vec::new();
        for members in self.classes.shared() {
            if pool.sort(members[0]) != Sort::Int {
                continue;
            }
            let domains: Vec<Domain> = members.iter().map(|&e| self.table.domain(pool, e)).collect();
            let met = domains[1..].iter().try_fold(domains[0].clone(), |met, d| met.meet(d));
            let Some(met) = met else {
                found.get_or_insert(Contradiction::Empty(members[0]));
                continue;
            };
            for (&e, domain) in members.iter().zip(&domains) {
                if *domain != met {
                    tighter.push((e, met.clone()));
                }
            }
        }
        for (e, domain) in tighter {
            if let Err(contradiction) = self.table.restrict(pool, e, domain) {
                found.get_or_insert(Contradiction::Empty(contradiction.at));
            }
        }
        if let Some(found) = found {
            self.contradict(found);
        }
    }

    fn read_domains(&mut self, pool: &mut Pool) {
        for i in 0..self.classes.len() {
            let Some(e) = self.classes.expression(i) else { break };
            if pool.is_constant(e) || self.contradiction.is_some() {
                continue;
            }
            match pool.sort(e) {
                Sort::Bool if self.solved.truth(pool, e).is_none() => {
                    if let Some(value) = self.table.decide(pool, e) {
                        self.pend(Pending::Truth(e, value));
                    }
                }
                Sort::Int => {
                    let point = self.table.domain(pool, e).as_point().cloned();
                    if let Some(value) = point {
                        let value = pool.int(value);
                        if !self.classes.same(e, value) {
                            self.equate(pool, e, value);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
