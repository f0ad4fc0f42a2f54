//! The queues of the two lanes, for short and for long work; within a lane, tokens take turns.
use super::auth::Holder;
use std::collections::{HashMap, VecDeque};

/// The workers that do a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// Workers for short work: work that takes longer is cancelled, and restarted in the other lane.
    Short,
    /// Workers for long work, with a lower priority.
    Long,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Lane; 2] = [Lane::Short, Lane::Long];

    /// The lane's name.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Short => "short",
            Lane::Long => "long",
        }
    }
}

/// A task of a worker.
pub(super) type Task = Box<dyn FnOnce() + Send>;

/// Every so many tasks of a token, a turn of a batch comes before the single requests.
const BATCH_EVERY: u32 = 4;

/// The waiting tasks of one token.
#[derive(Default)]
struct Waiting {
    /// Single requests.
    single: VecDeque<Task>,
    /// Turns of batches.
    batch: VecDeque<Task>,
    taken: u32,
}

impl Waiting {
    fn len(&self) -> usize {
        self.single.len() + self.batch.len()
    }

    fn take(&mut self) -> Option<Task> {
        self.taken = self.taken.wrapping_add(1);
        let (first, second) = match self.taken % BATCH_EVERY {
            0 => (&mut self.batch, &mut self.single),
            _ => (&mut self.single, &mut self.batch),
        };
        first.pop_front().or_else(|| second.pop_front())
    }
}

/// The waiting tasks of a lane.
#[derive(Default)]
pub(super) struct Queue {
    waiting: HashMap<Option<Holder>, Waiting>,
    /// The holders with waiting tasks, in the order in which they are served.
    turns: VecDeque<Option<Holder>>,
    len: usize,
}

impl Queue {
    pub fn push(&mut self, holder: Option<Holder>, is_batch: bool, task: Task) {
        let waiting = self.waiting.entry(holder).or_insert_with(|| {
            self.turns.push_back(holder);
            Waiting::default()
        });
        let lane = if is_batch { &mut waiting.batch } else { &mut waiting.single };
        lane.push_back(task);
        self.len += 1;
    }

    pub fn take(&mut self) -> Option<Task> {
        let holder = self.turns.pop_front()?;
        let waiting = self.waiting.get_mut(&holder)?;
        let task = waiting.take();
        match waiting.len() {
            0 => drop(self.waiting.remove(&holder)),
            _ => self.turns.push_back(holder),
        }
        self.len -= usize::from(task.is_some());
        task
    }

    /// The number of waiting tasks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of waiting single requests of a token.
    pub fn singles_of(&self, holder: Option<Holder>) -> usize {
        self.waiting.get(&holder).map_or(0, |waiting| waiting.single.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// The order in which tasks are taken; each is a token, whether it is a turn of a batch, and a name.
    fn order(tasks: &[(Option<u8>, bool, &str)]) -> String {
        let mut queue = Queue::default();
        let done = Arc::new(Mutex::new(Vec::new()));
        for &(holder, is_batch, name) in tasks {
            let (done, name) = (Arc::clone(&done), name.to_string());
            let task = Box::new(move || done.lock().unwrap().push(name));
            queue.push(holder.map(|n| Holder([n; 32])), is_batch, task);
        }
        assert_eq!(queue.len(), tasks.len());
        while let Some(task) = queue.take() {
            task();
        }
        assert_eq!((queue.len(), queue.waiting.len()), (0, 0));
        done.lock().unwrap().join(" ")
    }

    #[test]
    fn single_questions_go_before_batches_and_do_not_starve_them() {
        let names: Vec<String> = (0..6).flat_map(|i| [format!("s{i}"), format!("b{i}")]).collect();
        let tasks: Vec<_> = names.iter().map(|name| (None, name.starts_with('b'), name.as_str())).collect();
        assert_eq!(order(&tasks), "s0 s1 s2 b0 s3 s4 s5 b1 b2 b3 b4 b5");
    }

    #[test]
    fn tokens_take_turns_however_much_one_of_them_asks() {
        let (a, b, c) = (Some(1), Some(2), Some(3));
        let tasks = [
            (a, false, "a0"),
            (a, false, "a1"),
            (a, false, "a2"),
            (a, false, "a3"),
            (b, false, "b0"),
            (b, false, "b1"),
            (c, true, "c0"),
        ];
        assert_eq!(order(&tasks), "a0 b0 c0 a1 b1 a2 a3");
    }
}
