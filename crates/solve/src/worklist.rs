//! A worklist of conditions: when the table of domains learns something from one of them, those about the
//! same expressions are queued to be assumed again.
use rustc_hash::FxHashMap;
use sizewise_expr::range::{FactSubject, is_learned_at_once};
use sizewise_expr::{Expr, Pool};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// This many more assumptions are allowed than `rounds` times the number of conditions, which helps few conditions.
const FEW_MORE: usize = 16;

/// Conditions, the subjects that they depend on, and the queue of those that are to be assumed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Worklist {
    /// The conditions, each with whether assuming it a second time may tighten more although nothing else has changed.
    conditions: Vec<(Expr, bool)>,
    /// The conditions that depend on a subject.
    dependents: FxHashMap<FactSubject, SmallVec<[u32; 4]>>,
    queue: VecDeque<u32>,
    /// Whether a condition is in the queue.
    queued: Vec<bool>,
}

impl Worklist {
    /// Assumes the new conditions (`all` begins with those of the previous call) and those that depend on
    /// `dirty` subjects. `learn` assumes a condition and lists the subjects about which it has learned
    /// something; the conditions that depend on these follow. Stops when the queue is empty, or when every
    /// condition was assumed `rounds` times on average, and a few more. The queue is kept for the next call.
    ///
    /// # Errors
    /// Those of `learn`: a contradiction.
    pub fn run<E>(
        &mut self,
        pool: &Pool,
        all: impl Iterator<Item = Expr>,
        dirty: impl Iterator<Item = FactSubject>,
        rounds: usize,
        mut learn: impl FnMut(&Pool, Expr, &mut Vec<FactSubject>) -> Result<(), E>,
    ) -> Result<(), E> {
        for condition in all.skip(self.conditions.len()) {
            let number = self.conditions.len() as u32;
            for part in pool.reachable(&[condition]) {
                // If only the condition itself has become true, assuming it again tightens nothing.
                if part != condition {
                    self.dependents.entry(FactSubject::of(pool, part)).or_default().push(number);
                }
            }
            self.conditions.push((condition, !is_learned_at_once(pool, condition)));
            self.queued.push(true);
            self.queue.push_back(number);
        }
        dirty.for_each(|subject| self.enqueue(subject, None));
        let mut left = rounds * self.conditions.len() + FEW_MORE;
        let mut learned = Vec::new();
        while left > 0
            && let Some(number) = self.queue.pop_front()
        {
            left -= 1;
            self.queued[number as usize] = false;
            let (condition, may_tighten_more) = self.conditions[number as usize];
            learn(pool, condition, &mut learned)?;
            let others = if may_tighten_more { None } else { Some(number) };
            learned.drain(..).for_each(|subject| self.enqueue(subject, others));
        }
        Ok(())
    }

    /// Queues the conditions that depend on a subject, except one.
    fn enqueue(&mut self, subject: FactSubject, except: Option<u32>) {
        let Some(numbers) = self.dependents.get(&subject) else { return };
        for &number in numbers {
            if except != Some(number) && !std::mem::replace(&mut self.queued[number as usize], true) {
                self.queue.push_back(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::text::read::closed;

    #[test]
    fn conditions_are_queued_when_their_subjects_change() {
        let mut pool = Pool::new();
        let mut parse = |text: &str| closed(&mut pool, text).expect("an expression").expr;
        let texts = ["a <= b", "b*c <= 9", "Eq(d % 2, 0)", "2*b - 2*a >= 1"];
        let conditions = texts.map(&mut parse);
        // The subject that the first condition tightens when it is assumed a second time.
        let cases = [
            ("a", "", &["a <= b", "2*b - 2*a >= 1"][..]),
            ("b", "", &["a <= b", "b*c <= 9", "2*b - 2*a >= 1"]),
            ("b - a", "", &["a <= b", "2*b - 2*a >= 1"]),
            ("b*c", "", &["b*c <= 9"]),
            ("e", "", &[]),
            ("a", "c", &["a <= b", "2*b - 2*a >= 1", "b*c <= 9"]),
            ("a", "a", &["a <= b", "2*b - 2*a >= 1"]),
        ]
        .map(|(dirty, learned, expected)| {
            (parse(dirty), (!learned.is_empty()).then(|| parse(learned)), expected)
        });
        for (dirty, learned, expected) in cases {
            let mut worklist = Worklist::default();
            let mut asked: Vec<&str> = Vec::new();
            for dirty in [None, Some(dirty)] {
                asked.clear();
                let learn = |pool: &Pool, condition: Expr, told: &mut Vec<FactSubject>| {
                    let number = conditions.iter().position(|c| *c == condition).expect("a condition");
                    asked.push(texts[number]);
                    let says = learned.filter(|_| dirty.is_some() && number == 0);
                    told.extend(says.map(|e| FactSubject::of(pool, e)));
                    Ok::<(), ()>(())
                };
                let dirty = dirty.map(|e| FactSubject::of(&pool, e));
                let all = conditions.iter().copied();
                assert_eq!(worklist.run(&pool, all, dirty.into_iter(), 4, learn), Ok(()));
                if dirty.is_none() {
                    assert_eq!(asked, texts, "new conditions are all assumed");
                }
            }
            assert_eq!(asked, expected);
        }
    }
}
