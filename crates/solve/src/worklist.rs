//! Conditions that are about the same expressions: what the table of domains learns from one, it may learn more of from its worklist.
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Subject, teaches_once};
use sizewise_expr::{Expr, Pool};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// So many times may conditions be assumed beside what many of them may: few that share much take turns for longer.
const FEW_MORE: usize = 16;

/// Conditions by what facts about them may be about, and those that are to be assumed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Worklist {
    /// The conditions, each with whether it may teach more when it is assumed again and nothing else has become known.
    conditions: Vec<(Expr, bool)>,
    dependents: FxHashMap<Subject, SmallVec<[u32; 4]>>,
    queue: VecDeque<u32>,
    /// Whether a condition is among those that wait.
    queued: Vec<bool>,
}

impl Worklist {
    /// Assumes the conditions that are new (`all` begins with those of the time before) or depend on `dirty` subjects, which `learn` does
    /// and lists the subjects about which something was learned, then those that depend on these, until there are none, or on the average
    /// every condition was assumed `rounds` times and some: what queued then queued on.
    ///
    /// # Errors
    /// Those of `learn`: a contradiction.
    pub fn run<E>(
        &mut self,
        pool: &Pool,
        all: impl Iterator<Item = Expr>,
        dirty: impl Iterator<Item = Subject>,
        rounds: usize,
        mut learn: impl FnMut(&Pool, Expr, &mut Vec<Subject>) -> Result<(), E>,
    ) -> Result<(), E> {
        for condition in all.skip(self.conditions.len()) {
            let number = self.conditions.len() as u32;
            for part in pool.reachable(&[condition]) {
                // That the condition itself has become true teaches nothing when it is assumed again.
                if part != condition {
                    self.dependents.entry(Subject::of(pool, part)).or_default().push(number);
                }
            }
            self.conditions.push((condition, !teaches_once(pool, condition)));
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
            let (condition, teaches_more) = self.conditions[number as usize];
            learn(pool, condition, &mut learned)?;
            let others = if teaches_more { None } else { Some(number) };
            learned.drain(..).for_each(|subject| self.enqueue(subject, others));
        }
        Ok(())
    }

    /// Has the conditions wait that depend on a subject, but for one.
    fn enqueue(&mut self, subject: Subject, except: Option<u32>) {
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
    fn conditions_wait_for_what_they_are_about() {
        let mut pool = Pool::new();
        let mut parse = |text: &str| closed(&mut pool, text).expect("an expression").expr;
        let texts = ["a <= b", "b*c <= 9", "Eq(d % 2, 0)", "2*b - 2*a >= 1"];
        let conditions = texts.map(&mut parse);
        // What the first condition says when it is assumed for the second time.
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
                let learn = |pool: &Pool, condition: Expr, told: &mut Vec<Subject>| {
                    let number = conditions.iter().position(|c| *c == condition).expect("a condition");
                    asked.push(texts[number]);
                    let says = learned.filter(|_| dirty.is_some() && number == 0);
                    told.extend(says.map(|e| Subject::of(pool, e)));
                    Ok::<(), ()>(())
                };
                let dirty = dirty.map(|e| Subject::of(&pool, e));
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
