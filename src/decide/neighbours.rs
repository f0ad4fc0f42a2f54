//! Conditions that are about the same expressions: what the table of domains learns from one, it may learn more of from its neighbours.
use crate::expr::{Expr, Pool};
use crate::range::Subject;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Conditions by what facts about them may be about, and those that are to be assumed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    conditions: Vec<Expr>,
    of: FxHashMap<Subject, Vec<u32>>,
    waiting: VecDeque<u32>,
    /// Whether a condition is among those that wait.
    waits: Vec<bool>,
}

impl Neighbours {
    /// Assumes the conditions that depend on `stirred` subjects, which `learn` does and lists the subjects about which something was
    /// learned, then those that depend on these, until there are none, or on the average every condition was assumed `rounds` times:
    /// what waits then waits on. `all` begins with the conditions of the time before; new ones have been assumed once.
    ///
    /// # Errors
    /// Those of `learn`: a contradiction.
    pub fn settle<E>(
        &mut self,
        pool: &Pool,
        all: impl Iterator<Item = Expr>,
        stirred: impl Iterator<Item = Subject>,
        rounds: usize,
        mut learn: impl FnMut(&Pool, Expr, &mut Vec<Subject>) -> Result<bool, E>,
    ) -> Result<(), E> {
        for condition in all.skip(self.conditions.len()) {
            let number = self.conditions.len() as u32;
            for part in pool.reachable(&[condition]) {
                // That the condition itself has become true teaches nothing when it is assumed again.
                if part != condition {
                    self.of.entry(Subject::of(pool, part)).or_default().push(number);
                }
            }
            self.conditions.push(condition);
            self.waits.push(false);
        }
        stirred.for_each(|subject| self.stir(subject));
        let mut left = rounds * self.conditions.len();
        let mut learned = Vec::new();
        while left > 0
            && let Some(number) = self.waiting.pop_front()
        {
            left -= 1;
            self.waits[number as usize] = false;
            learn(pool, self.conditions[number as usize], &mut learned)?;
            learned.drain(..).for_each(|subject| self.stir(subject));
        }
        Ok(())
    }

    fn stir(&mut self, subject: Subject) {
        let Some(numbers) = self.of.get(&subject) else { return };
        for &number in numbers {
            if !std::mem::replace(&mut self.waits[number as usize], true) {
                self.waiting.push_back(number);
            }
        }
    }
}
