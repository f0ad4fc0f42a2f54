//! What deciding a goal answers: a verdict, the rung that reached it, and what was tried on the way.
use sizewise_expr::{Expr, Int, Symbol};
use std::fmt;

/// The number of an assumption of [`super::Facts`], in the order in which they were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FactId(pub u32);

/// One thing that a proof used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Premise {
    /// An assumption.
    Fact(FactId),
    /// The lower bound of a symbol's declared range.
    Lower(Symbol),
    /// The upper bound of a symbol's declared range.
    Upper(Symbol),
    /// That a divisor is not 0.
    Nonzero(Expr),
}

/// An assignment of integers to symbols that the exact evaluator has replayed.
pub type Witness = Vec<(Symbol, Int)>;

/// The answer to "do the facts imply the goal?".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every assignment that the facts allow satisfies the goal, and there is one.
    Implied {
        /// Premises that suffice.
        because: Vec<Premise>,
    },
    /// Some assignment that the facts allow falsifies the goal.
    Refuted {
        /// Such an assignment.
        witness: Witness,
    },
    /// No assignment satisfies the facts.
    Inconsistent {
        /// Premises that already contradict each other.
        because: Vec<Premise>,
    },
    /// Not settled within the budget.
    Unknown {
        /// The outcome of each rung. A limit that ran out is named as `budget: ` with its size and unit.
        /// [`Budget::times`] raises it.
        reason: String,
    },
}

impl Verdict {
    /// Whether the goal follows.
    pub fn is_implied(&self) -> bool {
        matches!(self, Verdict::Implied { .. })
    }

    /// The status of the question as SMT-LIB has it, the goal being negated: `unsat`, `sat` or `unknown`.
    pub fn status(&self) -> &'static str {
        match self {
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => "unsat",
            Verdict::Refuted { .. } => "sat",
            Verdict::Unknown { .. } => "unknown",
        }
    }

    /// Whether nothing was settled.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Verdict::Unknown { .. })
    }
}

/// A step of the ladder, cheapest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rung {
    /// Canonical form under the facts' equalities.
    NormalForm,
    /// Value ranges and congruences.
    Range,
    /// Equality saturation.
    EGraph,
    /// Linear integer reasoning with case splits.
    Linear,
    /// Search for an assignment.
    Search,
    /// Z3.
    Smt,
}

impl Rung {
    /// Every rung, cheapest first.
    pub const ALL: [Rung; 6] =
        [Rung::NormalForm, Rung::Range, Rung::EGraph, Rung::Linear, Rung::Search, Rung::Smt];

    /// The name used in reports: `normal-form`, `range`, `egraph`, `linear`, `search` or `smt`.
    pub fn name(self) -> &'static str {
        match self {
            Rung::NormalForm => "normal-form",
            Rung::Range => "range",
            Rung::EGraph => "egraph",
            Rung::Linear => "linear",
            Rung::Search => "search",
            Rung::Smt => "smt",
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one rung came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The rung.
    pub rung: Rung,
    /// What it found, in words.
    pub outcome: String,
}

/// A record of attempts, if anybody wants it.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    attempts: Option<Vec<Attempt>>,
}

impl Trace {
    /// A record that keeps nothing.
    pub fn off() -> Trace {
        Trace::default()
    }

    /// A record that keeps up to [`Trace::MAX`] attempts.
    pub fn on() -> Trace {
        Trace { attempts: Some(Vec::new()) }
    }

    /// The most attempts that are kept.
    pub const MAX: usize = 2_000;

    /// What was recorded, in order; none where nothing was to be.
    pub fn attempts(&self) -> Option<&[Attempt]> {
        self.attempts.as_deref()
    }

    pub(super) fn note(&mut self, rung: Rung, outcome: impl FnOnce() -> String) {
        if let Some(attempts) = &mut self.attempts
            && attempts.len() < Trace::MAX
        {
            attempts.push(Attempt { rung, outcome: outcome() });
        }
    }

    /// Records an answer about `what`.
    pub(super) fn answered(&mut self, answer: &Answer, what: impl FnOnce() -> String) {
        self.note(answer.decided_by, || match &answer.verdict {
            Verdict::Implied { .. } => format!("{}: implied", what()),
            Verdict::Refuted { .. } => format!("{}: refuted", what()),
            Verdict::Inconsistent { .. } => format!("{}: the facts contradict each other", what()),
            Verdict::Unknown { reason } => format!("{}: unknown ({reason})", what()),
        });
    }
}

/// A verdict with its history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The rung that settled it, or the last one tried.
    pub decided_by: Rung,
    /// The rungs tried, in order.
    pub trace: Vec<Attempt>,
}

/// How much work a decision may take. All limits count work, none measures time, so that answers are reproducible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Assignments that the search may evaluate.
    pub points: u32,
    /// Branches that linear reasoning may open.
    pub branches: u32,
    /// Entries of tableaus that linear reasoning may change over all branches.
    pub work: u32,
    /// Terms and operands that linear reasoning, number theory and case splits may write and visit; 0 leaves them out.
    pub terms: u32,
    /// Iterations of equality saturation; 0 leaves that rung out.
    pub iterations: u32,
    /// Z3's resource limit (`rlimit`); 0 leaves that rung out.
    pub rlimit: u32,
    /// Whether the classes of the store and its earlier answers are used. Without them its ranges alone answer, also later
    /// questions of the same facts: to measure what they are worth.
    pub classes: bool,
}

impl Budget {
    /// The work that is usual.
    pub const DEFAULT: Budget = Budget {
        points: 60_000,
        branches: 400,
        work: 1_000_000,
        terms: 1_000_000,
        iterations: 4,
        rlimit: 400_000,
        classes: true,
    };
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::DEFAULT
    }
}

impl Budget {
    /// A budget larger by a factor; the e-graph, which grows with its rounds, takes one more for each doubling.
    pub fn times(&self, factor: u32) -> Budget {
        let more = |v: u32| v.saturating_mul(factor);
        Budget {
            points: more(self.points),
            branches: more(self.branches),
            work: more(self.work),
            terms: more(self.terms),
            iterations: if self.iterations == 0 { 0 } else { self.iterations + factor.max(1).ilog2() },
            rlimit: more(self.rlimit),
            classes: self.classes,
        }
    }

    /// This share of the budget, in hundredths; at most the whole.
    pub fn percent(&self, share: u32) -> Budget {
        let part = |v: u32| (u64::from(v) * u64::from(share.min(100)) / 100) as u32;
        self.scaled(part)
    }

    /// The part of a budget for each of this many questions.
    pub(super) fn shared(&self, questions: u32) -> Budget {
        self.scaled(|v: u32| v / questions.max(1))
    }

    fn scaled(&self, part: impl Fn(u32) -> u32) -> Budget {
        Budget {
            points: part(self.points),
            branches: part(self.branches),
            work: part(self.work),
            terms: part(self.terms),
            iterations: self.iterations,
            rlimit: part(self.rlimit),
            classes: self.classes,
        }
    }

    /// A budget for questions asked very often: cheap rungs only.
    pub fn small() -> Budget {
        let (points, branches, work, terms) = (2_000, 30, 60_000, 100_000);
        Budget { points, branches, work, terms, iterations: 0, rlimit: 0, classes: true }
    }
}
