//! Domains of the expressions of a pool, with a cache.
use super::correlated;
use super::domain::{Contradiction, Domain, truth};
use super::float_range::FloatRange;
use super::transfer::{self, Abstract};
use crate::{Expr, Func, Int, Node, Pool};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The stored domain of an expression.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Abstract,
    /// The state of the facts that the value was computed from.
    version: u32,
    /// Whether the value says more than the operands do.
    pub(super) fact: bool,
}

/// The domains of the expressions of one pool under facts.
///
/// A *fact* ([`DomainTable::set`]) says that an expression is defined and has a value within a domain.
/// Everything else follows by the transfer functions ([`super::transfer`]) and is computed on demand, once
/// for each shared subexpression. A new fact may make an earlier result imprecise, never wrong, and it is
/// computed again. Facts can be taken back ([`DomainTable::mark`], [`DomainTable::undo`]).
#[derive(Clone, Debug, Default)]
pub struct DomainTable {
    pub(super) memo: FxHashMap<Expr, Entry>,
    /// Sums with a fact, by what their terms are up to a common factor.
    forms: FxHashMap<u64, SmallVec<[Expr; 2]>>,
    version: u32,
    contradiction: Option<Contradiction>,
    /// Entries to restore, newest last, while a mark is active.
    trail: Vec<(Expr, Option<Entry>)>,
    marks: u32,
    stack: Vec<Expr>,
    /// Whether a range was stored whose ends do not fit in a machine word.
    has_large: bool,
}

/// A state of a [`DomainTable`] to come back to.
#[derive(Debug)]
#[must_use = "a mark keeps the table recording until it is undone"]
pub struct Mark {
    trail: usize,
    version: u32,
    contradiction: Option<Contradiction>,
}

/// What a fact is about. The domain of an expression depends only on facts about the subjects of its
/// subexpressions, itself included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FactSubject(u64);

impl FactSubject {
    /// The subject of facts about `e`. Sums whose terms are proportional to each other share a subject,
    /// because they share their facts.
    pub fn of(pool: &Pool, e: Expr) -> FactSubject {
        match pool.node(e) {
            Some(Node::Sum { terms, .. }) if terms.len() > 1 => FactSubject(form_key(terms)),
            _ => FactSubject(e.id()),
        }
    }
}

impl DomainTable {
    /// A table without facts.
    pub fn new() -> DomainTable {
        DomainTable::default()
    }

    /// The domain of an integer or truth value; of a double, the integers between its bounds rounded outwards.
    pub fn domain(&mut self, pool: &Pool, e: Expr) -> Domain {
        self.evaluate(pool, e, &|_| None);
        self.known_domain(pool, e)
    }

    /// The domain of a number, of an integer as that of the nearest double.
    pub fn float_range(&mut self, pool: &Pool, e: Expr) -> FloatRange {
        self.evaluate(pool, e, &|_| None);
        self.known(pool, e).to_float()
    }

    /// The truth of a condition where it is defined, if the domains settle it.
    pub fn decide(&mut self, pool: &Pool, condition: Expr) -> Option<bool> {
        if let Some(value) = pool.as_bool(condition) {
            return Some(value);
        }
        if let Some(settled) = self.compared(pool, condition) {
            return settled;
        }
        self.evaluate(pool, condition, &|_| None);
        match &self.memo.get(&condition)?.value {
            Abstract::Int(domain) => truth(domain),
            Abstract::Float(_) => None,
        }
    }

    /// The truth of a comparison of a symbol with a constant, if there are facts about nothing but the
    /// symbol. Most questions are such, and their answers need not be stored. `None` for any other condition.
    fn compared(&self, pool: &Pool, condition: Expr) -> Option<Option<bool>> {
        let (mut e, mut holds) = (condition, true);
        loop {
            if self.memo.contains_key(&e) {
                return None;
            }
            match pool.as_call(e)? {
                (Func::Not, &[inner]) => (e, holds) = (inner, !holds),
                (func @ (Func::IsZero | Func::NotPositive), &[p]) => {
                    let domain = match pool.node(p)? {
                        Node::Symbol(_) => self.known_domain(pool, p),
                        Node::Sum { constant, terms } if !self.memo.contains_key(&p) => match &**terms {
                            [(symbol, factor)] if pool.as_symbol(*symbol).is_some() => {
                                transfer::sum(constant, [(&self.known_domain(pool, *symbol), factor)])?
                            }
                            _ => return None,
                        },
                        _ => return None,
                    };
                    let is_zero = func == Func::IsZero;
                    let truth =
                        if is_zero { transfer::is_zero(&domain) } else { transfer::not_positive(&domain) };
                    return Some(truth.map(|value| value == holds));
                }
                _ => return None,
            }
        }
    }

    /// Adds the fact that `e` is defined with a value in `domain`. Returns whether that says more than the
    /// facts (about `e` itself) did. Nothing is propagated backwards to the operands of `e`: use
    /// [`DomainTable::restrict`] for that.
    pub fn set(&mut self, pool: &Pool, e: Expr, domain: Domain) -> Result<bool, Contradiction> {
        self.set_abstract(pool, e, Abstract::Int(domain))
    }

    /// [`DomainTable::set`] for a double.
    pub fn set_float(&mut self, pool: &Pool, e: Expr, range: FloatRange) -> Result<bool, Contradiction> {
        self.set_abstract(pool, e, Abstract::Float(range))
    }

    fn set_abstract(&mut self, pool: &Pool, e: Expr, value: Abstract) -> Result<bool, Contradiction> {
        let changed = self.tighten(pool, e, value)?;
        if changed {
            self.facts_changed();
        }
        Ok(changed)
    }

    /// The first contradiction that turned up: from then on every answer is vacuous.
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.contradiction
    }

    /// Begins to record changes, to be taken back by [`DomainTable::undo`]. Marks are undone in reverse order.
    pub fn mark(&mut self) -> Mark {
        self.marks += 1;
        Mark { trail: self.trail.len(), version: self.version, contradiction: self.contradiction }
    }

    /// Takes back every fact added since `mark`, and whatever was computed from it.
    pub fn undo(&mut self, mark: Mark) {
        for (e, entry) in self.trail.drain(mark.trail.min(self.trail.len())..).rev() {
            match entry {
                Some(entry) => self.memo.insert(e, entry),
                None => self.memo.remove(&e),
            };
        }
        self.version = mark.version;
        self.contradiction = mark.contradiction;
        self.marks = self.marks.saturating_sub(1);
    }

    /// The expressions changed since `mark` that carry a fact, each once, oldest first.
    pub(super) fn facts_since(&self, mark: &Mark) -> Vec<Expr> {
        let changed = self.trail.get(mark.trail..).unwrap_or_default();
        let mut facts: Vec<Expr> = changed.iter().map(|(e, _)| *e).filter(|e| self.is_fact(*e)).collect();
        facts.sort_unstable();
        facts.dedup();
        facts
    }

    pub(super) fn is_fact(&self, e: Expr) -> bool {
        self.memo.get(&e).is_some_and(|entry| entry.fact)
    }

    /// Makes everything computed so far recomputable.
    pub(super) fn facts_changed(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    pub(super) fn contradict(&mut self, e: Expr) -> Contradiction {
        let contradiction = Contradiction { at: e };
        *self.contradiction.get_or_insert(contradiction)
    }

    /// Intersects the domain of `e` with a fact. Returns whether that changed anything.
    pub(super) fn tighten(&mut self, pool: &Pool, e: Expr, value: Abstract) -> Result<bool, Contradiction> {
        let old = match self.memo.get(&e) {
            Some(entry) => entry.value.clone(),
            None => self.constant(pool, e).unwrap_or_else(|| Abstract::all(pool.sort(e))),
        };
        let Some(met) = old.meet(&value) else { return Err(self.contradict(e)) };
        if met == old {
            return Ok(false);
        }
        if let Some(Node::Sum { terms, .. }) = pool.node(e)
            && terms.len() > 1
        {
            let known = self.forms.entry(form_key(terms)).or_default();
            if !known.contains(&e) {
                known.push(e);
            }
        }
        self.write(e, Entry { value: met, version: self.version, fact: true });
        Ok(true)
    }

    fn write(&mut self, e: Expr, entry: Entry) {
        self.has_large |= entry.value.words() > 1;
        let old = self.memo.insert(e, entry);
        if self.marks > 0 {
            self.trail.push((e, old));
        }
    }

    fn is_fresh(&self, e: Expr) -> bool {
        e.as_inline().is_some() || self.memo.get(&e).is_some_and(|entry| entry.version == self.version)
    }

    /// Computes `e` and its subexpressions, children first, without recursion. `lookup` may know more about
    /// any of them.
    pub(super) fn evaluate(&mut self, pool: &Pool, e: Expr, lookup: &impl Fn(Expr) -> Option<Domain>) {
        if self.is_fresh(e) {
            return;
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(e);
        while let Some(&top) = stack.last() {
            if !self.is_fresh(top) {
                let before = stack.len();
                pool.for_each_child(top, |child| {
                    if !self.is_fresh(child) {
                        stack.push(child);
                    }
                });
                if stack.len() > before {
                    continue;
                }
                self.compute(pool, top, lookup);
            }
            stack.pop();
        }
        self.stack = stack;
    }

    /// Computes one node whose operands are fresh.
    fn compute(&mut self, pool: &Pool, e: Expr, lookup: &impl Fn(Expr) -> Option<Domain>) {
        pool.charge(2 * pool.operands(e));
        let computed = self.forward(pool, e);
        let version = self.version;
        let (mut value, mut fact) = match (self.memo.get(&e), computed) {
            (None, computed) => (computed.unwrap_or_else(|| Abstract::all(pool.sort(e))), false),
            (Some(old), computed) => {
                let (old_value, fact) = (&old.value, old.fact);
                match computed.and_then(|new| old_value.meet(&new)) {
                    Some(met) => (met, fact),
                    None => {
                        // A fact claims a value; without one, the expression is just never defined.
                        let kept = old_value.clone();
                        if fact {
                            self.contradict(e);
                        }
                        (kept, fact)
                    }
                }
            }
        };
        if let Some(domain) = lookup(e) {
            match value.meet(&Abstract::Int(domain)) {
                Some(met) => {
                    fact |= met != value;
                    value = met;
                }
                None => {
                    self.contradict(e);
                }
            }
        }
        self.write(e, Entry { value, version, fact });
        if self.has_large {
            pool.charge(self.large_arithmetic(pool, e));
        }
    }

    /// The work of arithmetic on ends that do not fit in a machine word, which grows with the square of their length.
    fn large_arithmetic(&self, pool: &Pool, e: Expr) -> usize {
        let words_of = |e| self.memo.get(&e).map_or(1, |entry| entry.value.words());
        let mut words = words_of(e);
        pool.for_each_child(e, |child| words = words.max(words_of(child)));
        (words * words - 1) / 4
    }

    fn constant(&self, pool: &Pool, e: Expr) -> Option<Abstract> {
        if let Some(value) = e.as_inline() {
            return Some(Abstract::Int(Domain::point(value)));
        }
        match pool.node(e)? {
            Node::Int(value) => {
                Domain::new(super::ValueRange::point(value.clone()), super::Congruence::any())
                    .map(Abstract::Int)
            }
            Node::Float(value) => Some(Abstract::Float((*value).into())),
            Node::Bool(value) => Some(Abstract::Int(Domain::of_truth(Some(*value)))),
            _ => None,
        }
    }

    /// The stored domain, or else all values of the sort.
    pub(super) fn known(&self, pool: &Pool, e: Expr) -> Abstract {
        match self.memo.get(&e) {
            Some(entry) => entry.value.clone(),
            None => self.constant(pool, e).unwrap_or_else(|| Abstract::all(pool.sort(e))),
        }
    }

    /// [`DomainTable::known`] of an integer or truth value.
    pub(super) fn known_domain(&self, pool: &Pool, e: Expr) -> Domain {
        if let Some(value) = e.as_inline() {
            return Domain::point(value);
        }
        match self.memo.get(&e) {
            Some(Entry { value: Abstract::Int(domain), .. }) => domain.clone(),
            _ => self.known(pool, e).to_domain(),
        }
    }

    /// The domain of a node from those of its operands alone; `None` when it has no value there.
    pub(super) fn forward(&self, pool: &Pool, e: Expr) -> Option<Abstract> {
        match pool.node(e) {
            Some(Node::Sum { constant, terms }) => self.sum(pool, constant, terms).map(Abstract::Int),
            Some(Node::Product(factors)) => {
                let domains: SmallVec<[(Domain, u32); 2]> =
                    factors.iter().map(|&(atom, power)| (self.known_domain(pool, atom), power)).collect();
                let product = transfer::product(domains.iter().map(|(d, power)| (d, *power)))?;
                match correlated::product(pool, factors, &|e| self.known_domain(pool, e)) {
                    Some(range) => product.meet(&range.into()),
                    None => Some(product),
                }
                .map(Abstract::Int)
            }
            Some(Node::Call(func, args)) => match (func, args.as_slice()) {
                (Func::IsZero, &[p]) => {
                    Some(Abstract::Int(Domain::of_truth(transfer::is_zero(&self.known_domain(pool, p)))))
                }
                (Func::NotPositive, &[p]) => {
                    Some(Abstract::Int(Domain::of_truth(transfer::not_positive(&self.known_domain(pool, p)))))
                }
                (Func::FloorDiv | Func::Mod, &[a, b]) => {
                    let (x, y) = (self.known_domain(pool, a), self.known_domain(pool, b));
                    let known = |e| self.known_domain(pool, e);
                    let (domain, compared) = if *func == Func::FloorDiv {
                        (transfer::floor_div(&x, &y)?, correlated::floor_div(pool, a, b, &known))
                    } else {
                        (transfer::modulo(&x, &y)?, correlated::modulo(pool, a, b, &known))
                    };
                    match compared {
                        Some(range) => domain.meet(&range.into()),
                        None => Some(domain),
                    }
                    .map(Abstract::Int)
                }
                _ => {
                    let operands: SmallVec<[Abstract; 2]> =
                        args.iter().map(|&a| self.known(pool, a)).collect();
                    match pool.may_be_integer(e) {
                        true => transfer::call_on_either(*func, &operands),
                        false => transfer::call(*func, &operands),
                    }
                }
            },
            _ => Some(self.constant(pool, e).unwrap_or_else(|| Abstract::all(pool.sort(e)))),
        }
    }

    fn sum(&self, pool: &Pool, constant: &Int, terms: &[(Expr, Int)]) -> Option<Domain> {
        let any = Domain::all();
        let of_terms = terms.iter().map(|(monomial, coefficient)| {
            let domain = match self.memo.get(monomial) {
                Some(Entry { value: Abstract::Int(domain), .. }) => domain,
                _ => &any,
            };
            (domain, coefficient)
        });
        let mut domain = transfer::sum(constant, of_terms)?;
        if terms.len() == 1 {
            return Some(domain);
        }
        if !self.forms.is_empty() {
            for &known in self.forms.get(&form_key(terms)).into_iter().flatten() {
                if let Some(met) = self.by_form(pool, known, constant, terms) {
                    domain = domain.meet(&met)?;
                }
            }
        }
        if let Some(range) = correlated::sum(pool, constant, terms, &|e| self.known_domain(pool, e)) {
            domain = domain.meet(&range.into())?;
        }
        Some(domain)
    }

    /// The domain of a sum whose terms are a multiple of those of `known`, a sum with a fact.
    fn by_form(&self, pool: &Pool, known: Expr, constant: &Int, terms: &[(Expr, Int)]) -> Option<Domain> {
        let Some(Entry { value: Abstract::Int(domain), fact: true, .. }) = self.memo.get(&known) else {
            return None;
        };
        let Some(Node::Sum { constant: known_constant, terms: known_terms }) = pool.node(known) else {
            return None;
        };
        let (first, known_first) = (&terms.first()?.1, &known_terms.first()?.1);
        if terms.len() != known_terms.len() {
            return None;
        }
        let factor = first.floor_div(known_first)?;
        let same = terms.iter().zip(known_terms.iter()).all(|((m, c), (n, d))| m == n && *c == d * &factor);
        let offset = constant - &(known_constant * &factor);
        if same { transfer::sum(&offset, [(domain, &factor)]) } else { None }
    }
}

/// A hash that sums with proportional terms share: that of the monomials alone.
fn form_key(terms: &[(Expr, Int)]) -> u64 {
    let mut hasher = FxHasher::default();
    for (monomial, _) in terms {
        monomial.hash(&mut hasher);
    }
    hasher.finish()
}
