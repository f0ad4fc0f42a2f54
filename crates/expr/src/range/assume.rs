//! Conditions run backwards: the domains of subexpressions from a condition that is known to be true.
use super::backward;
use super::domain::{Contradiction, Domain, truth};
use super::table::{DomainTable, FactSubject};
use super::transfer::{self, Abstract};
use super::value_range::ValueRange;
use crate::{Expr, Func, Int, Node, Pool};
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// The most nodes that one call visits.
const MAX_VISITS: usize = 2_000;
/// Products of more factors are not run backwards.
const MAX_FACTORS: usize = 8;
/// Disjunctions with more open operands are not split.
const MAX_BRANCHES: usize = 4;
/// Disjunctions below this many others are not split.
const MAX_SPLIT_DEPTH: u32 = 2;

/// The nodes still to visit. A child is older than its parents, so the newest first is parents first.
struct Work {
    queue: BinaryHeap<Expr>,
    /// The expressions whose domains became smaller, each as often as that happened.
    learned: SmallVec<[Expr; 8]>,
    depth: u32,
}

impl DomainTable {
    /// Adds the fact that `condition` is defined and true, and tightens the domains of its subexpressions.
    /// Returns whether anything changed.
    ///
    /// This is one pass from the top down. Several conditions on the same symbols may tighten more when they
    /// are assumed again. Repeat until nothing changes, but set a limit: `x < y` and `y < x` never reach a
    /// fixed point.
    pub fn assume(&mut self, pool: &Pool, condition: Expr) -> Result<bool, Contradiction> {
        self.restrict(pool, condition, Domain::of_truth(Some(true)))
    }

    /// Like [`DomainTable::assume`], and adds the subjects whose domains became smaller to `learned`.
    pub fn assume_recording(
        &mut self,
        pool: &Pool,
        condition: Expr,
        learned: &mut Vec<FactSubject>,
    ) -> Result<(), Contradiction> {
        let told = self.restrict_at_depth(pool, condition, Domain::of_truth(Some(true)), 0)?;
        learned.extend(told.iter().map(|&e| FactSubject::of(pool, e)));
        Ok(())
    }

    /// Adds the fact that the integer or truth value `e` is defined with a value in `domain`, and tightens
    /// the domains of its subexpressions.
    pub fn restrict(&mut self, pool: &Pool, e: Expr, domain: Domain) -> Result<bool, Contradiction> {
        self.restrict_at_depth(pool, e, domain, 0).map(|learned| !learned.is_empty())
    }

    /// Returns the expressions whose domains became smaller.
    fn restrict_at_depth(
        &mut self,
        pool: &Pool,
        e: Expr,
        domain: Domain,
        depth: u32,
    ) -> Result<SmallVec<[Expr; 8]>, Contradiction> {
        let mut work = Work { queue: BinaryHeap::new(), learned: SmallVec::new(), depth };
        let result = self.run(pool, e, domain, &mut work);
        if !work.learned.is_empty() {
            self.facts_changed();
        }
        result.map(|()| work.learned)
    }

    fn run(&mut self, pool: &Pool, e: Expr, domain: Domain, work: &mut Work) -> Result<(), Contradiction> {
        self.require(pool, e, Some(domain), work)?;
        for _ in 0..MAX_VISITS {
            let Some(next) = work.queue.pop() else { break };
            while work.queue.peek() == Some(&next) {
                work.queue.pop();
            }
            self.push_down(pool, next, work)?;
        }
        self.contradiction().map_or(Ok(()), Err)
    }

    /// Adds a fact about `e`, and queues it for its operands if it says more than they do. An empty domain is
    /// a contradiction.
    fn require(
        &mut self,
        pool: &Pool,
        e: Expr,
        domain: Option<Domain>,
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        let Some(domain) = domain else { return Err(self.contradict(e)) };
        self.evaluate(pool, e, &|_| None);
        let changed = !domain.is_all() && self.tighten(pool, e, Abstract::Int(domain))?;
        if changed {
            work.learned.push(e);
        }
        // A fact from before may say more now that other facts have come.
        let inner = matches!(pool.node(e), Some(Node::Sum { .. } | Node::Product(_) | Node::Call(..)));
        if inner && (changed || self.is_fact(e)) {
            work.queue.push(e);
        }
        Ok(())
    }

    fn operand(&mut self, pool: &Pool, e: Expr) -> Domain {
        self.domain(pool, e)
    }

    /// Runs the domain of `e` backwards to its operands.
    fn push_down(&mut self, pool: &Pool, e: Expr, work: &mut Work) -> Result<(), Contradiction> {
        let target = self.operand(pool, e);
        match pool.node(e) {
            Some(Node::Sum { constant, terms }) => self.push_sum(pool, &target, constant, terms, work),
            Some(Node::Product(factors)) => self.push_product(pool, &target, factors, work),
            Some(Node::Call(func, args)) => match (*func, args.as_slice()) {
                (Func::And | Func::Or, operands) => {
                    self.push_connective(pool, e, *func, &target, operands, work)
                }
                (Func::Min | Func::Max, operands) => {
                    self.push_extremum(pool, e, *func, &target, operands, work)
                }
                (Func::Ite, &[c, p, q]) => self.push_ite(pool, &target, (c, p, q), work),
                (func, &[a]) => self.push_unary(pool, func, &target, a, work),
                (func, &[a, b]) => self.push_binary(pool, func, &target, a, b, work),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// `constant + Σ c·m`: each monomial lies in `(target - the others) / c`.
    fn push_sum(
        &mut self,
        pool: &Pool,
        target: &Domain,
        constant: &Int,
        terms: &[(Expr, Int)],
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        // after[i] is the sum of the terms from i on.
        let mut after: SmallVec<[Domain; 5]> = SmallVec::new();
        after.push(Domain::point(0));
        for (monomial, coefficient) in terms.iter().rev() {
            let domain = self.operand(pool, *monomial);
            let rest = after.last().cloned().unwrap_or_else(Domain::all);
            after.push(scaled_sum(&rest, &domain, coefficient));
        }
        after.reverse();
        let mut before = Domain::point(constant.clone());
        for (i, (monomial, coefficient)) in terms.iter().enumerate() {
            let others = scaled_sum(&before, &after[i + 1], &Int::ONE);
            self.require(pool, *monomial, backward::summand(target, &others, coefficient), work)?;
            let domain = self.operand(pool, *monomial);
            before = scaled_sum(&before, &domain, coefficient);
        }
        Ok(())
    }

    /// `Π atom^power`: each power lies in `target / the others`.
    fn push_product(
        &mut self,
        pool: &Pool,
        target: &Domain,
        factors: &[(Expr, u32)],
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        if factors.len() > MAX_FACTORS {
            return Ok(());
        }
        for (i, &(atom, power)) in factors.iter().enumerate() {
            let mut others = Domain::point(1);
            for (_, &(other, power)) in factors.iter().enumerate().filter(|(j, _)| *j != i) {
                let domain = self.operand(pool, other);
                let widest = Domain::all();
                let times = transfer::product([(&others, 1), (&domain, power)]).unwrap_or(widest);
                others = times;
            }
            self.require(pool, atom, backward::factor(target, &others, power), work)?;
        }
        Ok(())
    }

    fn push_unary(
        &mut self,
        pool: &Pool,
        func: Func,
        target: &Domain,
        a: Expr,
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        match (func, truth(target)) {
            (Func::Abs, _) if pool.sort(a) == crate::Sort::Int => {
                let operand = self.operand(pool, a);
                self.require(pool, a, backward::signed(target, &operand), work)
            }
            (Func::IsZero, Some(true)) => self.require(pool, a, Some(Domain::point(0)), work),
            (Func::IsZero, Some(false)) => {
                let operand = self.operand(pool, a);
                self.require(pool, a, operand.without(&Int::ZERO), work)
            }
            (Func::NotPositive, Some(true)) => {
                self.require(pool, a, Some(Domain::at_most(Int::from(0))), work)
            }
            (Func::NotPositive, Some(false)) => {
                self.require(pool, a, Some(Domain::at_least(Int::from(1))), work)
            }
            (Func::Not, Some(value)) => self.require(pool, a, Some(Domain::of_truth(Some(!value))), work),
            _ => Ok(()),
        }
    }

    fn push_binary(
        &mut self,
        pool: &Pool,
        func: Func,
        target: &Domain,
        a: Expr,
        b: Expr,
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        if !matches!(func, Func::FloorDiv | Func::Mod) {
            return Ok(());
        }
        let (dividend, divisor) = (self.operand(pool, a), self.operand(pool, b));
        let (for_a, for_b) = if func == Func::FloorDiv {
            (backward::dividend(target, &divisor), backward::divisor(target, &dividend, &divisor))
        } else {
            (backward::reduced(target, &dividend, &divisor), backward::modulus(target, &dividend, &divisor))
        };
        self.require(pool, a, for_a, work)?;
        self.require(pool, b, for_b, work)
    }

    /// `p if c else q`: a branch that cannot give the target is not taken; the one that is taken gives it.
    fn push_ite(
        &mut self,
        pool: &Pool,
        target: &Domain,
        (c, p, q): (Expr, Expr, Expr),
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        let known = self.operand(pool, c);
        let taken = match truth(&known) {
            Some(value) => value,
            None => {
                let then = self.operand(pool, p).meet(target).is_some();
                let otherwise = self.operand(pool, q).meet(target).is_some();
                if then && otherwise {
                    return Ok(());
                }
                then
            }
        };
        self.require(pool, c, Some(Domain::of_truth(Some(taken))), work)?;
        self.require(pool, if taken { p } else { q }, Some(target.clone()), work)
    }

    /// The maximum: no operand is above the target. If only one operand can reach the lower end, it does. The
    /// minimum mirrors this.
    fn push_extremum(
        &mut self,
        pool: &Pool,
        e: Expr,
        func: Func,
        target: &Domain,
        operands: &[Expr],
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        if pool.sort(e) != crate::Sort::Int {
            return Ok(());
        }
        let side = if func == Func::Max {
            ValueRange { lo: super::Bound::NegInf, hi: target.range.hi.clone() }
        } else {
            ValueRange { lo: target.range.lo.clone(), hi: super::Bound::PosInf }
        };
        let mut reaching = None;
        let mut count = 0;
        for &a in operands {
            self.require(pool, a, Some(side.clone().into()), work)?;
            if self.operand(pool, a).meet(target).is_some() {
                reaching = Some(a);
                count += 1;
            }
        }
        match (count, reaching) {
            (0, _) => Err(self.contradict(e)),
            (1, Some(a)) => self.require(pool, a, Some(target.clone()), work),
            _ => Ok(()),
        }
    }

    /// A true `And` and a false `Or` hold for each operand. For the opposite value, one operand has to
    /// decide. If only one can, it does. If several can, each is tried, and what follows from all of them
    /// holds.
    fn push_connective(
        &mut self,
        pool: &Pool,
        e: Expr,
        func: Func,
        target: &Domain,
        operands: &[Expr],
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        let Some(value) = truth(target) else { return Ok(()) };
        let wanted = Domain::of_truth(Some(value));
        if value == (func == Func::And) {
            for &a in operands {
                self.require(pool, a, Some(wanted.clone()), work)?;
            }
            return Ok(());
        }
        let (mut open, mut decided): (SmallVec<[Expr; 4]>, SmallVec<[Expr; 4]>) = Default::default();
        for &a in operands {
            let known = self.operand(pool, a);
            match truth(&known) {
                Some(known) if known != value => {}
                Some(_) => decided.push(a),
                None => open.push(a),
            }
        }
        match (open.as_slice(), decided.as_slice()) {
            ([], []) => Err(self.contradict(e)),
            // What is left was decided earlier, and may say more by now.
            (&[only], []) | ([], &[only]) => self.require(pool, only, Some(wanted), work),
            (several, []) if several.len() <= MAX_BRANCHES && work.depth < MAX_SPLIT_DEPTH => {
                self.push_split(pool, e, &wanted, several, work)
            }
            _ => Ok(()),
        }
    }

    /// Assumes one branch after the other and keeps the facts that all possible ones have in common, joined.
    fn push_split(
        &mut self,
        pool: &Pool,
        e: Expr,
        wanted: &Domain,
        branches: &[Expr],
        work: &mut Work,
    ) -> Result<(), Contradiction> {
        let mut common: Option<Vec<(Expr, Domain)>> = None;
        for &branch in branches {
            let mark = self.mark();
            let possible = self.restrict_at_depth(pool, branch, wanted.clone(), work.depth + 1).is_ok();
            if possible {
                let facts = self.facts_since(&mark);
                let found: Vec<(Expr, Domain)> = facts
                    .into_iter()
                    .filter(|&fact| pool.sort(fact) != crate::Sort::Float)
                    .map(|fact| (fact, self.known_domain(pool, fact)))
                    .collect();
                common = Some(match common {
                    None => found,
                    Some(so_far) => shared(&so_far, &found),
                });
            }
            self.undo(mark);
        }
        let Some(common) = common else { return Err(self.contradict(e)) };
        for (fact, domain) in common {
            // The condition's own operands stay open; only the facts about other expressions count.
            if !branches.contains(&fact) {
                self.require(pool, fact, Some(domain), work)?;
            }
        }
        Ok(())
    }
}

/// Whether assuming a condition a second time changes nothing, unless something else has changed. That is so
/// if it compares a symbol with a constant, or one sum of symbols with another: then lower bounds follow from
/// lower bounds alone, and upper bounds from upper bounds.
pub fn is_idempotent(pool: &Pool, condition: Expr) -> bool {
    let mut e = condition;
    let mut compares = None;
    while let Some((func @ (Func::Not | Func::IsZero | Func::NotPositive), &[inner])) = pool.as_call(e) {
        compares = Some(func);
        e = inner;
    }
    match pool.node(e) {
        Some(Node::Symbol(_)) => true,
        Some(Node::Sum { terms, .. }) => {
            let is_symbol = |(monomial, _): &(Expr, Int)| pool.as_symbol(*monomial).is_some();
            let compared = compares == Some(Func::NotPositive) && terms.iter().all(|(_, c)| c.abs().is_one());
            terms.iter().all(is_symbol) && (terms.len() == 1 || compared)
        }
        _ => false,
    }
}

/// Whether assuming a condition once teaches all that it says by itself, so that it is worth assuming again only when
/// something else has changed: as [`is_idempotent`], and where two symbols differ by a constant or have a constant sum
/// (each then has the values that the other leaves it, exactly), or a symbol is a multiple of a constant.
pub fn is_learned_at_once(pool: &Pool, condition: Expr) -> bool {
    let is_symbol = |e: Expr| pool.as_symbol(e).is_some();
    let Some(zero) = pool.as_func(condition, Func::IsZero).and_then(|args| args.first()) else {
        return is_idempotent(pool, condition);
    };
    match pool.node(*zero) {
        Some(Node::Sum { terms, .. }) if terms.len() == 2 => {
            terms.iter().all(|(monomial, c)| is_symbol(*monomial) && c.abs().is_one())
        }
        Some(Node::Call(Func::Mod, args)) => {
            matches!(args.as_slice(), &[a, d] if is_symbol(a) && pool.is_constant(d))
        }
        _ => is_idempotent(pool, condition),
    }
}

/// The facts about expressions that occur in both lists (sorted), joined.
fn shared(a: &[(Expr, Domain)], b: &[(Expr, Domain)]) -> Vec<(Expr, Domain)> {
    a.iter()
        .filter_map(|(e, domain)| {
            let i = b.binary_search_by_key(e, |(other, _)| *other).ok()?;
            Some((*e, domain.join(&b[i].1)))
        })
        .collect()
}

/// `a + coefficient * b`.
fn scaled_sum(a: &Domain, b: &Domain, coefficient: &Int) -> Domain {
    transfer::sum(&Int::ZERO, [(a, &Int::ONE), (b, coefficient)]).unwrap_or_else(Domain::all)
}
