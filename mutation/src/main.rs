//! Mutation testing by mutant schemata: all mutants that cargo-mutants lists are compiled at once, each behind a
//! switch.
//!
//! `run` makes the copy, builds its tests, records which test reaches which mutant and runs them; what was run
//! already is not run again. `report` says what came of it.
mod campaign;
mod child;
mod copy;
mod instrument;
mod mutants;
mod report;
mod sites;
mod suite;

use campaign::{Campaign, Entry, Outcome};
use instrument::Number;
use mutants::Mutant;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const USAGE: &str =
    "usage: sizewise-mutation run [--sample N] [--seconds N] [--jobs N] [--again] [PART-OF-A-NAME...]
       sizewise-mutation report [--sample N] [--missed]
--sample   so many mutants that can be switched on, spread over all (all of them)
--seconds  what the tests of one mutant may cost (5)
--jobs     how many mutants are run at the same time (1)
--again    runs again those that were missed";

struct Arguments {
    sample: usize,
    seconds: f64,
    jobs: usize,
    again: bool,
    missed: bool,
    parts: Vec<String>,
}

/// The tests of one program as recorded, and of which build: another one is recorded anew.
#[derive(Deserialize, Serialize)]
struct Recorded {
    build: String,
    tests: Vec<suite::Test>,
}

fn work(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("mutation")
}

fn arguments(mut given: std::env::Args) -> Option<Arguments> {
    let parts = Vec::new();
    let mut arguments =
        Arguments { sample: usize::MAX, seconds: 5.0, jobs: 1, again: false, missed: false, parts };
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--seconds" => arguments.seconds = given.next()?.parse().ok()?,
            "--jobs" => arguments.jobs = given.next()?.parse().ok()?,
            "--sample" => arguments.sample = given.next()?.parse().ok()?,
            "--again" => arguments.again = true,
            "--missed" => arguments.missed = true,
            option if option.starts_with('-') => return None,
            part => arguments.parts.push(part.to_string()),
        }
    }
    Some(arguments)
}

/// What distinguishes a build: the mutants in their order, and the program.
fn build_id(mutants: &[Mutant], program: &Path) -> String {
    let keys: Vec<&str> = mutants.iter().map(|m| m.key.as_str()).collect();
    let modified = std::fs::metadata(program).and_then(|m| m.modified()).ok();
    format!("{:016x} {} {modified:?}", mutants::hash(&keys.join("\n")), program.display())
}

fn record(copy: &copy::Copy, work: &Path, mutants: &[Mutant]) -> Result<Vec<suite::Test>, String> {
    let path = work.join("tests.json");
    let text = std::fs::read(&path).unwrap_or_default();
    let mut before: Vec<Recorded> = serde_json::from_slice(&text).unwrap_or_default();
    let mut recorded: Vec<Recorded> = Vec::new();
    for (target, program) in &copy.programs {
        let build = build_id(mutants, program);
        recorded.push(match before.iter().position(|r| r.build == build) {
            Some(i) => before.swap_remove(i),
            None => Recorded { build, tests: suite::record(&copy.root, work, target, program)? },
        });
        let kept: Vec<&Recorded> = recorded.iter().chain(&before).collect();
        let text = serde_json::to_vec(&kept).map_err(|e| e.to_string())?;
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(recorded.into_iter().flat_map(|r| r.tests).collect())
}

/// Mutants in an order that has nothing to do with where they are: as many as one likes from the beginning are a
/// sample of all.
fn spread(mutants: &[Mutant], wanted: impl Fn(Number) -> bool) -> Vec<Number> {
    let mut numbers: Vec<Number> = (0..mutants.len() as Number).filter(|n| wanted(*n)).collect();
    numbers.sort_by_key(|&n| mutants::hash(&mutants[n as usize].key));
    numbers
}

fn report(root: &Path, work: &Path, arguments: &Arguments) -> Result<(), String> {
    let mutants = mutants::list(root)?;
    let known = campaign::known(&work.join("results.jsonl"));
    let unviable = |m: &Mutant| known.get(&m.key).is_some_and(|e| e.outcome == Outcome::Unviable);
    let mut sample = spread(&mutants, |n| !unviable(&mutants[n as usize]));
    sample.truncate(arguments.sample);
    let is_in = |n: usize| unviable(&mutants[n]) || sample.contains(&(n as Number));
    let chosen: Vec<Mutant> = (0..mutants.len()).filter(|n| is_in(*n)).map(|n| mutants[n].clone()).collect();
    report::print(&chosen, &known, arguments.missed);
    Ok(())
}

fn run(root: &Path, work: &Path, arguments: &Arguments) -> Result<(), String> {
    let results = work.join("results.jsonl");
    let mutants = mutants::list(root)?;
    let copy = copy::Copy::make(root, work, &mutants)?;
    let mut lines = String::new();
    for (&n, why) in &copy.without {
        let m = &mutants[n as usize];
        let entry = Entry {
            key: m.key.clone(),
            name: m.name.clone(),
            outcome: Outcome::Unviable,
            by: why.clone(),
            not_run: 0,
        };
        lines += &(serde_json::to_string(&entry).map_err(|e| e.to_string())? + "\n");
    }
    let known = campaign::known(&results);
    let tests = record(&copy, work, &mutants)?;
    let seconds: f64 = tests.iter().map(|t| t.seconds).sum();
    eprintln!("{} tests of {seconds:.0} s, {} mutants without a switch", tests.len(), copy.without.len());
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&results);
    std::io::Write::write_all(&mut file.map_err(|e| e.to_string())?, lines.as_bytes())
        .map_err(|e| e.to_string())?;
    let wanted = |n: &Number| {
        let m = &mutants[*n as usize];
        let named = arguments.parts.is_empty() || arguments.parts.iter().any(|p| m.name.contains(p));
        let open = known.get(&m.key).is_none_or(|e| match e.outcome {
            Outcome::Caught | Outcome::Timeout => false,
            Outcome::Missed | Outcome::Unreached => arguments.again,
            Outcome::Unviable => true,
        });
        named && open
    };
    let mut numbers = spread(&mutants, |n| !copy.without.contains_key(&n));
    numbers.truncate(arguments.sample);
    numbers.retain(wanted);
    eprintln!("{} mutants to run", numbers.len());
    Campaign::new(&copy.root, work, &mutants, &tests, arguments.seconds, &known).run(
        &numbers,
        &results,
        arguments.jobs,
    )?;
    report(root, work, arguments)
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository");
    let work = work(&root);
    let mut given = std::env::args();
    let verb = given.nth(1).unwrap_or_default();
    let done = match verb.as_str() {
        "run" => arguments(given).ok_or(USAGE.to_string()).and_then(|a| run(&root, &work, &a)),
        "report" => arguments(given).ok_or(USAGE.to_string()).and_then(|a| report(&root, &work, &a)),
        _ => Err(USAGE.to_string()),
    };
    if let Err(error) = done {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
