//! Runs the tests against the mutants and keeps what came of each.
use crate::child::{self, End};
use crate::instrument::Number;
use crate::mutants::Mutant;
use crate::suite::{self, Test};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tests are run in one process as long as they cost less than this together, in seconds.
const BATCH: f64 = 0.1;
const BATCH_TESTS: usize = 24;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Caught,
    Timeout,
    Missed,
    /// No test comes to it.
    Unreached,
    /// It does not compile, or no switch can express it.
    Unviable,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Entry {
    pub key: String,
    pub name: String,
    pub outcome: Outcome,
    /// The test that failed, or why there was none.
    pub by: String,
    /// Tests that reach it and were not run, for what they cost.
    #[serde(default)]
    pub not_run: usize,
}

/// What is known, the newest entry of each mutant. A line that was cut short is no entry.
pub fn known(results: &Path) -> BTreeMap<String, Entry> {
    let text = std::fs::read_to_string(results).unwrap_or_default();
    text.lines().filter_map(|l| serde_json::from_str::<Entry>(l).ok()).map(|e| (e.key.clone(), e)).collect()
}

pub struct Campaign<'a> {
    pub root: &'a Path,
    pub work: &'a Path,
    pub mutants: &'a [Mutant],
    pub tests: &'a [Test],
    /// Seconds of tests that one mutant may cost.
    pub budget: f64,
    /// For each file, how often a test caught a mutant of it: such a test is worth trying first.
    catches: Mutex<HashMap<(String, usize), f64>>,
}

impl<'a> Campaign<'a> {
    /// `known` says which tests caught what before.
    pub fn new(
        root: &'a Path,
        work: &'a Path,
        mutants: &'a [Mutant],
        tests: &'a [Test],
        budget: f64,
        known: &BTreeMap<String, Entry>,
    ) -> Self {
        let titles: HashMap<String, usize> = tests.iter().enumerate().map(|(i, t)| (t.title(), i)).collect();
        let mut catches: HashMap<(String, usize), f64> = HashMap::new();
        for entry in known.values() {
            let file = entry.name.split(':').next().unwrap_or_default();
            if let Some(&test) = titles.get(&entry.by) {
                *catches.entry((file.to_string(), test)).or_default() += 1.0;
            }
        }
        Campaign { root, work, mutants, tests, budget, catches: Mutex::new(catches) }
    }

    /// Runs the mutants of these numbers, `jobs` at a time, and appends what comes of each.
    pub fn run(&self, numbers: &[Number], results: &Path, jobs: usize) -> Result<(), String> {
        let mut reaching: HashMap<Number, Vec<usize>> = HashMap::new();
        for (i, test) in self.tests.iter().enumerate() {
            for &n in &test.reached {
                reaching.entry(n).or_default().push(i);
            }
        }
        let file = std::fs::OpenOptions::new().append(true).create(true).open(results);
        let file = Mutex::new(file.map_err(|e| format!("{}: {e}", results.display()))?);
        let next = AtomicUsize::new(0);
        let problem = Mutex::new(None);
        std::thread::scope(|scope| {
            for job in 0..jobs {
                let (reaching, file, next, problem) = (&reaching, &file, &next, &problem);
                scope.spawn(move || {
                    while let Some(&n) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tests = reaching.get(&n).map_or(&[][..], Vec::as_slice);
                        let written = self.try_mutant(n, tests, job).and_then(|entry| {
                            let line = serde_json::to_string(&entry).map_err(|e| e.to_string())? + "\n";
                            let mut file = file.lock().expect("no panic");
                            file.write_all(line.as_bytes()).map_err(|e| e.to_string())
                        });
                        if let Err(error) = written {
                            *problem.lock().expect("no panic") = Some(error);
                            return;
                        }
                    }
                });
            }
        });
        problem.into_inner().expect("no panic").map_or(Ok(()), Err)
    }

    fn try_mutant(&self, n: Number, reaching: &[usize], job: usize) -> Result<Entry, String> {
        let mutant = &self.mutants[n as usize];
        let entry = |outcome, by: String, not_run| Entry {
            key: mutant.key.clone(),
            name: mutant.name.clone(),
            outcome,
            by,
            not_run,
        };
        if reaching.is_empty() {
            return Ok(entry(Outcome::Unreached, String::new(), 0));
        }
        let (batches, not_run) = self.batches(&mutant.file, reaching);
        let output = self.work.join(format!("output-{job}"));
        for batch in batches {
            let names: Vec<&str> = batch.iter().map(|&i| self.tests[i].name.as_str()).collect();
            let normal: f64 = batch.iter().map(|&i| self.tests[i].seconds).sum();
            let mut command =
                suite::command(self.root, &self.tests[batch[0]].program, &names, &n.to_string());
            let ran = child::run(&mut command, &output, (2.0 + 5.0 * normal).ceil() as u64)?;
            if ran.end == End::Passed {
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&output).unwrap_or_default()).into_owned();
            let failed = |i: &&usize| text.contains(&format!("test {} ... FAILED", self.tests[**i].name));
            let culprit = batch.iter().find(failed).or(batch.last()).copied().unwrap_or_default();
            let mut catches = self.catches.lock().expect("no panic");
            *catches.entry((mutant.file.clone(), culprit)).or_default() += 1.0;
            let outcome = if ran.end == End::TimedOut { Outcome::Timeout } else { Outcome::Caught };
            return Ok(entry(outcome, self.tests[culprit].title(), not_run));
        }
        Ok(entry(Outcome::Missed, String::new(), not_run))
    }

    /// The tests in the order of what a catch by them is likely to cost, as many as the budget allows; cheap ones
    /// together.
    fn batches(&self, file: &str, reaching: &[usize]) -> (Vec<Vec<usize>>, usize) {
        let catches = self.catches.lock().expect("no panic");
        let worth = |i: usize| {
            let caught = catches.get(&(file.to_string(), i)).copied().unwrap_or(0.0);
            (self.tests[i].seconds + 0.01) / (1.0 + caught)
        };
        let mut order: Vec<usize> = reaching.to_vec();
        order.sort_by(|&a, &b| worth(a).total_cmp(&worth(b)));
        drop(catches);
        let mut batches: Vec<(f64, Vec<usize>)> = Vec::new();
        let (mut spent, mut not_run) = (0.0, 0);
        for i in order {
            let cost = self.tests[i].seconds;
            if spent > 0.0 && spent + cost > self.budget {
                not_run += 1;
                continue;
            }
            spent += cost;
            let fitting = batches.iter_mut().rev().take(4).find(|(sum, batch)| {
                sum + cost <= BATCH
                    && batch.len() < BATCH_TESTS
                    && self.tests[batch[0]].program == self.tests[i].program
            });
            match fitting {
                Some((sum, batch)) => {
                    *sum += cost;
                    batch.push(i);
                }
                None => batches.push((cost, vec![i])),
            }
        }
        (batches.into_iter().map(|(_, batch)| batch).collect(), not_run)
    }
}
