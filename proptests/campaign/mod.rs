//! How many cases a law is tried on, from which seed, and how many evaluations that came to.
//!
//! `SIZEWISE_CASES` (else `PROPTEST_CASES`) is a factor on the number of cases that a law has by default,
//! `SIZEWISE_SEED` the seed of the random generator. `SIZEWISE_TALLY` names a file to which each law appends its
//! figures.
// Each crate of laws uses a part of this.
#![allow(dead_code)]
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

/// The seed of the random generator.
pub fn seed() -> u64 {
    number("SIZEWISE_SEED").unwrap_or(2026)
}

/// How many cases a law is tried on that is tried on `quick` ones by default.
pub fn cases(quick: u32) -> u32 {
    let factor = number("SIZEWISE_CASES").or_else(|| number("PROPTEST_CASES")).unwrap_or(1);
    u32::try_from(u64::from(quick).saturating_mul(factor)).unwrap_or(u32::MAX)
}

/// The configuration of a law that is tried on `quick` cases by default.
pub fn config(quick: u32) -> Config {
    Config {
        cases: cases(quick),
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        max_global_rejects: 1 << 20,
        ..Config::default()
    }
}

/// Tries a law that is tried on `quick` cases by default.
///
/// # Panics
/// With the least case that breaks it, and how many cases held before one did.
pub fn hold<S: Strategy>(quick: u32, strategy: &S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let (held, broken) = (Cell::new(0), Cell::new(false));
    let outcome = TestRunner::new(config(quick)).run(strategy, |case| {
        let outcome = law(case);
        match &outcome {
            // Smaller cases that are tried afterwards do not count.
            Ok(()) if !broken.get() => held.set(held.get() + 1),
            Err(TestCaseError::Fail(_)) => broken.set(true),
            _ => {}
        }
        outcome
    });
    if let Err(error) = outcome {
        panic!("after {} cases: {error}", held.get());
    }
}

/// Counts the evaluations of one law; says how many there were when the law is done with.
pub struct Tally {
    law: String,
    evaluations: AtomicU64,
    started: std::time::Instant,
}

impl Tally {
    /// None so far.
    pub fn new(law: &str) -> Tally {
        Tally { law: law.to_owned(), evaluations: AtomicU64::new(0), started: std::time::Instant::now() }
    }

    /// Counts some more.
    pub fn add(&self, evaluations: u64) {
        self.evaluations.fetch_add(evaluations, Ordering::Relaxed);
    }

    /// Those so far.
    pub fn count(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }
}

thread_local! {
    /// The tally of the law that this thread tries: the test harness names threads by their tests and ends each with
    /// its test.
    static LAW: Tally = Tally::new(std::thread::current().name().unwrap_or("a law"));
}

/// Counts evaluations of the law that this thread tries.
pub fn count(evaluations: usize) {
    LAW.with(|tally| tally.add(evaluations as u64));
}

impl Drop for Tally {
    fn drop(&mut self) {
        let Ok(path) = std::env::var("SIZEWISE_TALLY") else { return };
        let line =
            format!("{}\t{}\t{}\t{}\n", self.law, self.count(), seed(), self.started.elapsed().as_secs());
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        if let Err(error) = file.and_then(|mut f| f.write_all(line.as_bytes())) {
            eprintln!("{}: {error}", self.law);
        }
    }
}
