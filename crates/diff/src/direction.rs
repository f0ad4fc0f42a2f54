//! Does one program accept all that another one accepts?
use super::calls::Pairs;
use super::candidates::Candidates;
use super::form::{Form, Goal, SharedSize};
use super::side::{Outcome, Side};
use sizewise_check::check::{Enforcement, Shapes};
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_solve::{Budget, Facts, Verdict, Witness, decide, implies};
use std::cell::Cell;
use std::sync::Arc;

/// The most witnesses of one condition that are replayed.
const MAX_WITNESSES: usize = 3;
/// The fewest calls of large programs, and the most of others, that may be replayed.
const REPLAYS: (usize, usize) = (3, 40);
/// All replays together may take as many steps, if there are not few.
const MAX_STEPS: usize = 40_000;
/// The most conditions that are decided with more than little work.
const MAX_DEEP: usize = 12;
/// The most conditions that calls near the traced example are looked for to break.
const MAX_NEAR: usize = 4;
/// The most calls that break some condition and are replayed.
const MAX_BREAKING: usize = 12;
/// Of more conditions that do not follow it is not asked which follow from the others.
const MAX_COMPARED: usize = 24;

/// The calls of one program, for the other.
pub(super) struct Direction<'s, 'c> {
    pub from: &'s Side<'c>,
    pub to: &'s Side<'c>,
    /// The inputs of `from` and of `to`.
    pub pairs: Pairs,
    /// Whether both take the same steps, so that only what is checked at entry tells them apart.
    pub same_steps: bool,
    /// How many calls may still be replayed.
    left: Cell<usize>,
}

/// Inputs that one program accepts and the other refuses.
pub(super) struct Found {
    pub shapes: Shapes,
    /// What the other one says.
    pub message: String,
}

/// What is known of the calls of one program.
#[derive(Default)]
pub(super) struct Answer {
    pub found: Option<Found>,
    /// Why it is not known whether the other one accepts all of them.
    pub open: Option<String>,
    /// Conditions of the other one that do not follow: positions among its goals.
    pub added: Vec<usize>,
}

impl Answer {
    /// Whether it is proved that the other program accepts all.
    pub fn is_proved(&self) -> bool {
        self.found.is_none() && self.open.is_none()
    }
}

impl Answer {
    /// Settles what is open by the answers of cases, which are all there are.
    pub fn settle(&mut self, cases: Vec<Answer>) {
        if self.open.is_some() {
            self.open = cases.iter().find_map(|case| case.open.clone());
            self.found = cases.into_iter().find_map(|case| case.found);
            self.open = self.open.take().filter(|_| self.found.is_none());
        }
    }
}

impl<'s, 'c> Direction<'s, 'c> {
    pub fn new(from: &'s Side<'c>, to: &'s Side<'c>, pairs: Pairs) -> Direction<'s, 'c> {
        let nodes = [from, to].map(|side| side.nodes);
        let left = MAX_STEPS / (nodes[0] + nodes[1]).max(1);
        Direction { from, to, pairs, same_steps: false, left: Cell::new(left.clamp(REPLAYS.0, REPLAYS.1)) }
    }

    /// The same call of the other program.
    fn translated(&self, shapes: &Shapes) -> Shapes {
        let mut other = Shapes::new();
        for &(i, j) in &self.pairs {
            let (input, to) = (&self.from.inputs[i], &self.to.inputs[j]);
            if let Some(shape) = shapes.get(&input.placeholder) {
                other.insert(Arc::clone(&to.placeholder), shape.clone());
            }
        }
        other
    }

    /// What both programs do with a call of the first.
    pub fn replay(&self, shapes: &Shapes) -> (Outcome, Outcome) {
        let first = self.from.source.replay(shapes);
        match first {
            Outcome::Accepts(_) => (first, self.to.source.replay(&self.translated(shapes))),
            _ => (first, Outcome::Open),
        }
    }

    /// The call, if the first program accepts it and the other one refuses it.
    fn found(&self, shapes: Shapes) -> Option<Found> {
        self.left.set(self.left.get().checked_sub(1)?);
        match self.replay(&shapes) {
            (Outcome::Accepts(_), Outcome::Refuses(message)) => Some(Found { shapes, message }),
            _ => None,
        }
    }

    /// Decides each condition of the other program, and looks for a call that it refuses.
    pub fn decide(&self, from: &mut Form, to: &Form) -> Answer {
        let mut answer = Answer::default();
        let mut facts = from.facts.clone();
        if accepts_nothing(from, &mut facts) {
            return answer;
        }
        if from.sizes.iter().chain(&to.sizes).any(Option::is_none) {
            answer.open = Some("truth values of inputs are not compared".to_owned());
        }
        let candidates = Candidates::of(self.from, self.to);
        let (mut deep, mut near) = (MAX_DEEP, MAX_NEAR);
        let mut broken = Vec::new();
        let is_asked = |goal: &Goal| !self.same_steps || goal.enforced.by == Enforcement::AtEntry;
        for (at, goal) in to.goals.iter().enumerate().filter(|(_, goal)| is_asked(goal)) {
            let Some(condition) = from.taken(to, goal.condition) else {
                answer.open.get_or_insert_with(|| "a condition cannot be carried over".to_owned());
                continue;
            };
            match decided(from, &mut facts, condition, &mut deep) {
                Verdict::Implied { .. } => continue,
                // A divisor of the condition is zero at all sizes.
                Verdict::Inconsistent { .. } => {
                    answer.open.get_or_insert_with(|| "a condition has no value".to_owned());
                }
                Verdict::Unknown { reason } => {
                    answer.open.get_or_insert(reason);
                }
                Verdict::Refuted { witness } => {
                    if answer.found.is_none() && near > 0 {
                        near -= 1;
                        let shapes = candidates.breaking(from, &[condition], MAX_WITNESSES);
                        answer.found = shapes.into_iter().find_map(|shapes| self.found(shapes));
                    }
                    if answer.found.is_none() {
                        answer.found = self.witnessed(from, condition, witness);
                    }
                    if answer.found.is_none() {
                        answer.open = Some(not_replayed(goal));
                    }
                }
            }
            broken.push((at, condition));
        }
        answer.added = without_consequences(from, to, &broken);
        if answer.found.is_none() && !broken.is_empty() {
            let conditions: Vec<Expr> = broken.iter().map(|(_, condition)| *condition).collect();
            let kept = candidates.breaking(from, &conditions, MAX_BREAKING);
            answer.found = kept.into_iter().find_map(|shapes| self.found(shapes));
        }
        if answer.found.is_some() {
            answer.open = None;
        }
        answer
    }

    /// Replays a witness, and others that break the same condition.
    fn witnessed(&self, from: &mut Form, condition: Expr, witness: Witness) -> Option<Found> {
        let (mut facts, mut witness) = (from.facts.clone(), witness);
        for _ in 0..MAX_WITNESSES {
            if let Some(found) = self.from.shapes_with(&witness).and_then(|shapes| self.found(shapes)) {
                return Some(found);
            }
            let others: Vec<Expr> = witness
                .iter()
                .map(|(symbol, value): &(Symbol, Int)| {
                    let (e, value) = (from.pool.symbol_expr(*symbol), from.pool.int(value.clone()));
                    from.pool.ne(e, value)
                })
                .collect();
            let other = from.pool.or(&others);
            facts.assume(&mut from.pool, other);
            match decide(&mut from.pool, &mut facts, condition, &Budget::small()).verdict {
                Verdict::Refuted { witness: next } => witness = next,
                _ => return None,
            }
        }
        None
    }

    /// Looks for a call that the other program refuses, where it is not known as conditions what one of them accepts.
    pub fn tried(&self, reason: String) -> Answer {
        let found = Candidates::of(self.from, self.to)
            .first(REPLAYS.1)
            .into_iter()
            .find_map(|shapes| self.found(shapes));
        let open = found.is_none().then_some(reason);
        Answer { found, open, added: Vec::new() }
    }
}

/// Whether it is proved that no call satisfies the facts.
pub(super) fn accepts_nothing(from: &mut Form, facts: &mut Facts) -> bool {
    let never = from.pool.bool(false);
    let verdict = decide(&mut from.pool, facts, never, &Budget::small()).verdict;
    matches!(verdict, Verdict::Inconsistent { .. })
}

/// Decides a condition, with little work first; with more as long as that is not used up.
fn decided(from: &mut Form, facts: &mut Facts, condition: Expr, deep: &mut usize) -> Verdict {
    match decide(&mut from.pool, facts, condition, &Budget::small()).verdict {
        Verdict::Unknown { .. } if *deep > 0 => {
            *deep -= 1;
            decide(&mut from.pool, facts, condition, &Budget::default()).verdict
        }
        verdict => verdict,
    }
}

fn not_replayed(goal: &Goal) -> String {
    match goal.enforced.by {
        Enforcement::Path => {
            "a program may go another way for some sizes, and no example shows what it does then".to_owned()
        }
        Enforcement::AtEntry | Enforcement::ByStep => {
            "a condition does not follow, and no example shows that it matters".to_owned()
        }
    }
}

/// The conditions that are checked and do not follow from the others: positions among the goals.
fn without_consequences(from: &mut Form, to: &Form, broken: &[(usize, Expr)]) -> Vec<usize> {
    let is_shown = |goal: &Goal| goal.enforced.by != Enforcement::Path && !goal.is_requirement;
    let mut kept: Vec<(usize, Expr)> =
        broken.iter().copied().filter(|(at, _)| is_shown(&to.goals[*at])).collect();
    if kept.len() > MAX_COMPARED {
        return kept.into_iter().map(|(at, _)| at).collect();
    }
    let mut i = kept.len();
    while i > 0 {
        i -= 1;
        let mut facts = from.facts.clone();
        for (_, other) in kept.iter().filter(|(at, _)| *at != kept[i].0) {
            facts.assume(&mut from.pool, *other);
        }
        if kept.len() > 1 && implies(&mut from.pool, &mut facts, kept[i].1, &Budget::small()) {
            kept.remove(i);
        }
    }
    kept.into_iter().map(|(at, _)| at).collect()
}

/// A condition of a program as people read it, and the line that needs it.
pub(super) fn shown(form: &mut Form, places: &[SharedSize], at: usize) -> (String, Option<String>) {
    let Goal { condition, enforced, .. } = form.goals[at].clone();
    (form.shown(places, condition), enforced.line)
}
