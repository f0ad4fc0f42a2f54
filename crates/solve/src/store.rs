//! The store of what is known: one e-graph that lives as long as its facts and grows with each of them.
//!
//! Facts enter it once. Ranges and congruences of every expression are in its table; conditions that hold are in the
//! class of `true`; an equation is solved and replaces what it determines; what is built of equal parts is equal. A
//! question about something that is settled is a lookup. So is one that was answered before.
//!
//! The classes are filled when a second question is asked: one question alone is answered sooner without them.
use super::verdict::{Budget, FactId};
use super::worklist::Worklist;
use crate::egraph::{Graph, Join, Why};
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Domain, DomainTable, FactSubject};
use sizewise_expr::{Expr, Func, Moved, Pool, Sort};

/// How often the conditions are assumed again so that they learn from each other.
const MAX_ROUNDS: usize = 4;

/// Answers that are remembered; after so many the store begins anew.
const MAX_ANSWERS: usize = 1 << 16;

/// Terms and operands that entering a fact may write: what is built of the sizes that it determines is left as it is
/// after that.
const TERMS_PER_FACT: u64 = 4_000;

/// Questions before which the classes are not filled.
const FIRST_QUESTIONS: u32 = 1;

/// Equal integers, with the values that they can have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// The expressions.
    pub members: Vec<Expr>,
    /// Their range and congruence.
    pub values: Domain,
    /// What has joined them. Members that no entry names are built alike of equal parts.
    pub joins: Vec<Join>,
}

/// What a store of facts holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreView {
    /// The classes of integers that are no constants.
    pub classes: Vec<Class>,
    /// The conditions that hold ([`Join::a`]), with what they follow from.
    pub holds: Vec<Join>,
    /// Expressions that the equations replace, and by what.
    pub equations: Vec<(Expr, Expr)>,
    /// Whether the facts were found to contradict each other.
    pub contradictory: bool,
}

/// Known conditions, as an e-graph with the ranges and congruences of its expressions.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    graph: Graph,
    /// The conditions in the store, without conjunctions, and the fact each comes from.
    parts: Vec<(Expr, FactId)>,
    /// Divisors that are not zero.
    nonzero: Vec<Expr>,
    /// How many of the parts and of the divisors are in the classes.
    entered: (usize, usize),
    /// Answers to earlier questions.
    answers: FxHashMap<Expr, bool>,
    /// Questions that the facts so far were found to leave open, with the work that was spent on that.
    open: FxHashMap<Expr, u32>,
    asked: u32,
    /// Whether conditions contradict each other.
    empty: bool,
    /// Whether the table may still learn from assuming conditions.
    unsettled: bool,
    /// The subjects of which the table has learned something since.
    dirty: Vec<FactSubject>,
    /// The conditions that are to be assumed again.
    worklist: Worklist,
    /// Whether classes and earlier answers are left out, to see what they are worth.
    ranges_only: bool,
}

impl Store {
    /// Narrows the values of an expression.
    pub fn declare(&mut self, pool: &Pool, e: Expr, domain: Domain) {
        // An empty domain is remembered by the table as its contradiction.
        self.empty |= self.graph.table.set(pool, e, domain).is_err();
        self.dirty.push(FactSubject::of(pool, e));
        self.open.clear();
        self.unsettled = true;
    }

    /// Adds a condition, which is no conjunction.
    pub fn assume(&mut self, condition: Expr, id: FactId) {
        self.parts.push((condition, id));
        self.open.clear();
        self.unsettled = true;
    }

    /// Adds that a divisor is not zero.
    pub fn exclude_zero(&mut self, pool: &mut Pool, divisor: Expr) {
        let nonzero = pool.ne(divisor, Expr::ZERO);
        self.empty |= self.graph.table.assume_recording(pool, nonzero, &mut self.dirty).is_err();
        self.nonzero.push(nonzero);
        self.open.clear();
        self.unsettled = true;
    }

    /// Notes that the facts cannot all hold.
    pub fn contradict(&mut self) {
        self.empty = true;
    }

    /// Whether ranges, congruences and equalities alone show that the facts contradict each other.
    pub fn is_empty(&mut self, pool: &Pool) -> bool {
        self.settle(pool);
        self.empty
    }

    /// Whether that has been shown so far.
    pub fn is_known_empty(&self) -> bool {
        self.empty
    }

    /// The conditions, without conjunctions, with the fact that each comes from.
    pub fn parts(&self) -> &[(Expr, FactId)] {
        &self.parts
    }

    /// The ranges and congruences, with everything that the conditions say about each other.
    pub fn table(&mut self, pool: &Pool) -> &mut DomainTable {
        self.settle(pool);
        &mut self.graph.table
    }

    /// What the store knows of a condition: by its own class, the classes of its parts, or an earlier answer.
    pub fn truth(&mut self, pool: &mut Pool, condition: Expr) -> Option<bool> {
        if self.ranges_only {
            return None;
        }
        if let Some(&known) = self.answers.get(&condition) {
            return Some(known);
        }
        self.asked = self.asked.saturating_add(1);
        if self.asked <= FIRST_QUESTIONS {
            return None;
        }
        self.enter(pool);
        let normal = self.graph.normal(pool, condition);
        self.graph.known(pool, condition).or_else(|| self.answers.get(&normal).copied()).or_else(|| {
            let known = self.graph.known(pool, normal);
            known.or_else(|| self.by_parts(pool, normal))
        })
    }

    /// The truth of a conjunction or disjunction by that of its parts.
    fn by_parts(&self, pool: &Pool, condition: Expr) -> Option<bool> {
        let (func, parts) = pool.as_call(condition)?;
        let decisive = match func {
            Func::And => false,
            Func::Or => true,
            _ => return None,
        };
        let known = |part: &Expr| self.graph.known(pool, *part).or_else(|| self.answers.get(part).copied());
        let mut all = true;
        for part in parts {
            match known(part) {
                Some(value) if value == decisive => return Some(decisive),
                Some(_) => {}
                None => all = false,
            }
        }
        all.then_some(!decisive)
    }

    /// Remembers the answer to a question: every assignment that the facts allow, and at which the condition has a
    /// value, gives it this truth value.
    pub fn remember(&mut self, pool: &mut Pool, condition: Expr, value: bool) {
        if self.answers.len() >= MAX_ANSWERS {
            self.answers.clear();
        }
        let opposite = pool.not(condition);
        self.answers.insert(condition, value);
        self.answers.insert(opposite, !value);
    }

    /// Remembers that a question is open, as far as this budget goes, until a fact is added.
    pub fn remember_open(&mut self, condition: Expr, budget: &Budget) {
        if self.open.len() >= MAX_ANSWERS {
            self.open.clear();
        }
        self.open.insert(condition, budget.work);
    }

    /// Whether a question was open with no smaller budget and the same facts.
    pub fn is_open(&self, condition: Expr, budget: &Budget) -> bool {
        !self.ranges_only && self.open.get(&condition).is_some_and(|&work| work >= budget.work)
    }

    /// Takes over from the store of the same facts in another pool what was asked about expressions that were moved.
    pub fn take_answers(&mut self, pool: &mut Pool, other: &Store, moved: &Moved) {
        let known = other.answers.iter().filter_map(|(e, &value)| Some((moved.get(*e)?, value)));
        let mut known: Vec<(Expr, bool)> = known.collect();
        known.sort_unstable();
        for (condition, value) in known {
            self.remember(pool, condition, value);
        }
        let open = other.open.iter().filter_map(|(e, &work)| Some((moved.get(*e)?, work)));
        self.open.extend(open);
        self.asked = other.asked;
        self.empty |= other.empty;
        self.ranges_only = other.ranges_only;
    }

    /// A copy of the e-graph in which all facts are, to suppose something and saturate.
    pub fn branch(&mut self, pool: &mut Pool) -> Graph {
        self.enter(pool);
        self.graph.clone()
    }

    /// Uses ranges and congruences only: classes, equalities and earlier answers are left out.
    pub fn use_ranges_only(&mut self) {
        self.ranges_only = true;
    }

    /// What is in the store, to be looked at.
    pub fn view(&mut self, pool: &mut Pool) -> StoreView {
        self.enter(pool);
        let mut classes: Vec<Class> = Vec::new();
        let mut class_of: FxHashMap<Expr, usize> = FxHashMap::default();
        for i in 0..self.graph.nodes() {
            let Some(e) = self.graph.expression(i).filter(|e| pool.sort(*e) == Sort::Int) else { continue };
            if pool.is_constant(e) || class_of.contains_key(&e) {
                continue;
            }
            let members = self.graph.members(e).to_vec();
            class_of.extend(members.iter().map(|&member| (member, classes.len())));
            let values = members.iter().map(|&m| self.graph.table.domain(pool, m));
            let values = values.reduce(|a, b| a.meet(&b).unwrap_or(a)).unwrap_or_else(Domain::all);
            classes.push(Class { members, values, joins: Vec::new() });
        }
        for join in self.graph.joins() {
            if let Some(&class) = class_of.get(&join.a) {
                classes[class].joins.push(*join);
            }
        }
        let holds = self.graph.joins().iter().filter(|join| pool.as_bool(join.b) == Some(true));
        StoreView {
            holds: holds.copied().collect(),
            equations: self.graph.equations(pool),
            contradictory: self.empty,
            classes,
        }
    }

    /// Brings facts that are not there yet into the classes.
    fn enter(&mut self, pool: &mut Pool) {
        self.settle(pool);
        if self.entered == (self.parts.len(), self.nonzero.len()) {
            return;
        }
        let (parts, nonzero) = self.entered;
        let new = self.parts.len() - parts + self.nonzero.len() - nonzero;
        let limit = pool.limit_work(TERMS_PER_FACT.saturating_mul(new as u64));
        for (part, FactId(id)) in &self.parts[parts..] {
            self.graph.enter(pool, *part, Why::Fact(*id));
        }
        for &condition in &self.nonzero[nonzero..] {
            self.graph.enter(pool, condition, Why::Nonzero);
        }
        pool.restore_work(limit);
        self.entered = (self.parts.len(), self.nonzero.len());
        self.empty |= self.graph.contradiction().is_some();
        self.dirty.append(&mut self.graph.take_learned());
        self.unsettled |= !self.dirty.is_empty();
        self.settle(pool);
    }

    fn settle(&mut self, pool: &Pool) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        let table = &mut self.graph.table;
        let parts = self.parts.iter().map(|(condition, _)| *condition);
        let learn =
            |pool: &Pool, condition, learned: &mut _| table.assume_recording(pool, condition, learned);
        let settled = self.worklist.run(pool, parts, self.dirty.drain(..), MAX_ROUNDS, learn);
        self.empty |= settled.is_err();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Facts, Rung, Verdict, decide, known};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Expr, Pool, read};

    fn read(pool: &mut Pool, text: &str) -> Expr {
        read::closed(pool, text).expect(text).expr
    }

    /// Facts about sizes from 2 to 4096.
    fn facts(pool: &mut Pool, conditions: &[&str]) -> Facts {
        let mut facts = Facts::new();
        for name in ["a", "b", "c", "n"] {
            let e = pool.symbol(name);
            let range = ValueRange::new(2, 4_096).expect("not empty");
            facts.declare(pool, pool.as_symbol(e).expect("a symbol"), range);
        }
        for text in conditions {
            let condition = read(pool, text);
            facts.assume(pool, condition);
        }
        facts
    }

    #[test]
    fn what_follows_by_equalities_is_looked_up() {
        for (conditions, goal, expected) in [
            (&["Eq(a, b)"][..], "Eq(b, a)", Some(true)),
            (&["Eq(a, b)"], "Eq(a // 4, b // 4)", Some(true)),
            (&["Eq(a, 3*b)", "Eq(b, c + 1)"], "Eq(a, 3*c + 3)", Some(true)),
            (&["Eq(a, b)", "Eq(a % 8, 0)"], "Eq(b % 8, 0)", Some(true)),
            (&["Eq(a // 4, n)", "Eq(a, b)"], "Eq(b // 4, n)", Some(true)),
            (&["Eq(a, b)", "a*c <= n"], "b*c <= n", Some(true)),
            (&["Eq(a*b, n)"], "Eq(a*b*c, n*c)", Some(true)),
            (&["Ne(a, b)"], "Eq(a, b)", Some(false)),
            (&["a <= b", "Ne(c, 7)"], "(a <= b) & Ne(c, 7)", Some(true)),
            (&["a <= b"], "(a > b) & Eq(c, 7)", Some(false)),
            (&["Eq(a, 2*b)"], "Eq(a, 3*b)", None),
            (&["Eq(a % 8, 0)"], "Eq(a % 16, 0)", None),
        ] {
            let mut pool = Pool::new();
            let mut facts = facts(&mut pool, conditions);
            let goal = read(&mut pool, goal);
            // The classes are filled with the second question.
            known(&mut pool, &mut facts, goal);
            assert_eq!(known(&mut pool, &mut facts, goal), expected, "{conditions:?} => {goal:?}");
        }
    }

    #[test]
    fn an_answer_is_looked_up_when_the_question_is_asked_again() {
        let mut pool = Pool::new();
        let mut facts = facts(&mut pool, &["a + b <= 100", "b + c >= 90", "c <= 50"]);
        let (goal, weaker) = (read(&mut pool, "a <= 60"), read(&mut pool, "(a <= 60) | Eq(n, 2)"));
        let mut by = |goal| {
            let answer = decide(&mut pool, &mut facts, goal, &Budget::default());
            assert!(answer.verdict.is_implied(), "{answer:?}");
            answer.decided_by
        };
        assert_ne!(by(goal), Rung::EGraph);
        assert_eq!([by(goal), by(weaker)], [Rung::EGraph; 2]);
    }

    #[test]
    fn a_goal_that_has_no_value_contradicts_no_facts() {
        let mut pool = Pool::new();
        let mut facts = facts(&mut pool, &["a % 3 < (b + 1) % c"]);
        let goals = ["Eq(a % (n - n), 1)", "a >= 2"].map(|text| read(&mut pool, text));
        let verdicts = goals.map(|goal| decide(&mut pool, &mut facts, goal, &Budget::small()).verdict);
        assert!(!verdicts[0].is_implied(), "{verdicts:?}");
        assert!(matches!(verdicts[1], Verdict::Implied { .. }), "{verdicts:?}");
    }

    #[test]
    fn what_a_fact_writes_is_bounded() {
        // Put into each other, these would have degrees of 2 to the power of 30.
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        let open = read(&mut pool, "s0 >= 5");
        known(&mut pool, &mut facts, open);
        for i in 0..30 {
            let equation = read(&mut pool, &format!("Eq(s{i}, s{next}*s{next} + 1)", next = i + 1));
            facts.assume(&mut pool, equation);
            known(&mut pool, &mut facts, open);
        }
        assert!(pool.len() < 3_000, "{}", pool.len());
    }

    #[test]
    fn classes_and_earlier_answers_can_be_left_out() {
        let mut pool = Pool::new();
        let mut facts = facts(&mut pool, &["Eq(a, b)", "a*c <= n"]);
        facts.use_ranges_only();
        let goal = read(&mut pool, "b*c <= n");
        assert_eq!([known(&mut pool, &mut facts, goal), known(&mut pool, &mut facts, goal)], [None, None]);
    }
}
