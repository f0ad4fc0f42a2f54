//! Work that deciding took, counted rather than timed: the same question counts the same on every machine.
use sizewise_expr::Pool;

/// The work spent on questions, in the units of [`super::Budget`] and some more. [`super::Facts::work`] has
/// the work of one set of facts. [`sizewise_expr::Pool::work`] counts the work on expressions meanwhile,
/// which is not included here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Assignments that the search evaluated.
    pub points: u64,
    /// Variations of cached assignments, to be tried on goals.
    pub variations: u64,
    /// Branches that linear reasoning opened, and cases that were reduced anew.
    pub branches: u64,
    /// Entries of tableaus that were changed.
    pub entries: u64,
    /// Assignments of residues and of symbols with few values that number theory looked at.
    pub steps: u64,
    /// Rounds of equality saturation.
    pub rounds: u64,
    /// Expressions in the e-graphs when these were done.
    pub nodes: u64,
    /// Attempts at matching a rule.
    pub attempts: u64,
    /// Uses of rules.
    pub uses: u64,
    /// Work of Z3's, in microseconds that it may take: counted from its units and the size of the question.
    pub solver: u64,
}

impl Work {
    /// What came since, when `before` was all.
    pub fn since(self, before: Work) -> Work {
        self.with(before, u64::saturating_sub)
    }

    /// The work as one number: about as many microseconds as it takes, so that work of several kinds can be
    /// limited together. The weights are a fit to measured times.
    pub fn effort(self) -> u64 {
        let weighted =
            [(self.points, 4), (self.attempts, 5), (self.steps, 1), (self.variations, 1), (self.solver, 1)];
        let weighted = weighted.into_iter().map(|(count, weight): (u64, u64)| count.saturating_mul(weight));
        weighted.fold(self.entries / 2, u64::saturating_add)
    }

    fn with(self, other: Work, each: fn(u64, u64) -> u64) -> Work {
        Work {
            points: each(self.points, other.points),
            variations: each(self.variations, other.variations),
            branches: each(self.branches, other.branches),
            entries: each(self.entries, other.entries),
            steps: each(self.steps, other.steps),
            rounds: each(self.rounds, other.rounds),
            nodes: each(self.nodes, other.nodes),
            attempts: each(self.attempts, other.attempts),
            uses: each(self.uses, other.uses),
            solver: each(self.solver, other.solver),
        }
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, more: Work) {
        *self = self.with(more, u64::saturating_add);
    }
}

/// What questions that belong together may take in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// The work on expressions when it began; see [`Pool::work`].
    begun: u64,
    /// What was spent on sets of facts that are done with.
    spent: u64,
    /// What may be spent.
    most: u64,
}

impl Allowance {
    /// An allowance of so much [effort](Work::effort).
    pub(super) fn new(pool: &Pool, most: u64) -> Allowance {
        Allowance { begun: pool.work(), spent: 0, most }
    }

    /// Adds what a set of facts took.
    pub(super) fn spend(&mut self, work: Work) {
        self.spent = self.spent.saturating_add(work.effort());
    }

    /// The rest of it, when `work` is being spent.
    pub(super) fn left(&self, pool: &Pool, work: Work) -> u64 {
        let on_expressions = pool.work().saturating_sub(self.begun) / 2;
        self.most.saturating_sub(on_expressions).saturating_sub(self.spent).saturating_sub(work.effort())
    }
}
