//! What the store's classes, equations and earlier answers are worth: the same questions with them, and by value
//! ranges and further reasoning alone.
//!
//! Arguments: files of recorded questions (`.jsonl`), of programs (`.pt2`). A row of the table for each file of
//! questions, each question in an environment of its own; one for all of them, where questions of equal facts share an
//! environment; and one for the conditions of all programs.
use serde_json::{Map, Value};
use sizewise::check::Checker;
use sizewise::expr::{Expr, Pool};
use sizewise::kernels::Operators;
use sizewise::query::entail::Question;
use sizewise::solve::{self, Budget, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How often everything is asked; the least time counts.
const REPEATS: usize = 3;

/// Times below this are not compared.
const LEAST_NS: u64 = 5_000;

/// An answer.
#[derive(Clone, PartialEq)]
struct Answer {
    verdict: String,
    rung: String,
    time_ns: u64,
}

/// A line of questions with its number.
type Numbered = (usize, Map<String, Value>);

/// The answers of one way of reasoning, by question.
type Answers = BTreeMap<String, Answer>;

fn shown(verdict: &Verdict) -> String {
    verdict.status().to_owned()
}

/// Keeps the shortest time.
fn note(answers: &mut Answers, name: String, answer: Answer) {
    let known = answers.entry(name).or_insert_with(|| answer.clone());
    known.time_ns = known.time_ns.min(answer.time_ns);
}

fn lines(path: &Path) -> Vec<Map<String, Value>> {
    let text = std::fs::read_to_string(path).expect("a file of questions");
    let fields = |line: &str| match serde_json::from_str(line).expect("JSON") {
        Value::Object(all) => {
            all.into_iter().filter(|(key, _)| ["symbols", "given", "goal"].contains(&key.as_str())).collect()
        }
        _ => Map::new(),
    };
    text.lines().map(fields).filter(|fields: &Map<_, _>| fields.contains_key("goal")).collect()
}

/// Each question by itself.
fn alone(path: &Path, answers: &mut Answers, budget: &Budget) {
    for (i, line) in lines(path).iter().enumerate() {
        let Ok(mut question) = Question::read(line) else { continue };
        let settled = question.decide(budget);
        let (verdict, rung) = (shown(&settled.answer.verdict), settled.answer.decided_by.name().to_owned());
        note(answers, format!("{i}"), Answer { verdict, rung, time_ns: settled.time_ns });
    }
}

/// The questions with equal facts, where there are several.
fn sessions(path: &Path) -> Vec<Vec<Numbered>> {
    let mut sessions: BTreeMap<String, Vec<Numbered>> = BTreeMap::new();
    for (i, line) in lines(path).into_iter().enumerate() {
        let facts = format!("{:?} {:?}", line.get("symbols"), line.get("given"));
        sessions.entry(facts).or_default().push((i, line));
    }
    sessions.into_values().filter(|lines| lines.len() > 1).collect()
}

/// Questions of equal facts one after the other, in one environment.
fn together(path: &Path, answers: &mut Answers, budget: &Budget) {
    for lines in &sessions(path) {
        let Ok(mut session) = Question::read(&lines[0].1) else { continue };
        session.assume();
        for (i, line) in lines {
            let goal = line.get("goal").and_then(Value::as_str).unwrap_or_default();
            let Ok(read) = sizewise::expr::read::closed(&mut session.pool, goal) else { continue };
            // What a goal divides by is no fact for the others.
            if !read.divisors.is_empty() || !read.dropped.is_empty() {
                continue;
            }
            let start = Instant::now();
            let facts = &mut session.premises.facts;
            let answer = solve::decide(&mut session.pool, facts, read.expr, budget);
            let time_ns = start.elapsed().as_nanos() as u64;
            let (verdict, rung) = (shown(&answer.verdict), answer.decided_by.name().to_owned());
            note(answers, format!("{i}"), Answer { verdict, rung, time_ns });
        }
    }
}

/// Counts the questions of sessions; those of them whose goal, or its negation, was asked or settled before; and which
/// of these the store answers, where reasons are asked for and where the verdict alone is.
///
/// Asked before: a goal before it in the session has the same normal form under the facts' equations. Settled before: it
/// is a fact, or the classes know its truth, and ranges alone do not.
fn repeated(path: &Path) -> [usize; 4] {
    let mut counts = [0; 4];
    for lines in &sessions(path) {
        let Ok(mut session) = Question::read(&lines[0].1) else { continue };
        session.assume();
        let (pool, facts) = (&mut session.pool, &mut session.premises.facts);
        let equations: BTreeMap<_, _> = facts.clone().view(pool).equations.into_iter().collect();
        let normal = |pool: &mut Pool, e: Expr| {
            let e = pool.truth(e);
            pool.substitute(e, |part| equations.get(&part).copied())
        };
        let mut before: BTreeSet<Expr> = BTreeSet::new();
        let note = |pool: &mut Pool, before: &mut BTreeSet<Expr>, e: Expr| {
            before.extend([e, pool.not(e)]);
        };
        for fact in facts.conditions().to_vec() {
            note(pool, &mut before, fact);
        }
        let mut by_verdict = facts.clone();
        for (_, line) in lines {
            let goal = line.get("goal").and_then(Value::as_str).unwrap_or_default();
            let Ok(read) = sizewise::expr::read::closed(pool, goal) else { continue };
            if !read.divisors.is_empty() || !read.dropped.is_empty() {
                continue;
            }
            let goal = pool.truth(read.expr);
            let in_normal_form = normal(pool, goal);
            let (mut by_classes, mut by_ranges) = (facts.clone(), facts.clone());
            by_ranges.use_ranges_only();
            // The first question does not look at the classes.
            solve::known(pool, &mut by_classes, goal);
            let settled = solve::known(pool, &mut by_classes, goal).is_some()
                && solve::known(pool, &mut by_ranges, goal).is_none();
            let repeats = settled || before.contains(&goal) || before.contains(&in_normal_form);
            let answer = solve::decide(pool, facts, goal, &Budget::default());
            let (_, means) = solve::settle(pool, &mut by_verdict, goal, &Budget::default());
            counts[0] += 1;
            counts[1] += usize::from(repeats);
            counts[2] += usize::from(repeats && answer.decided_by.name() == "egraph");
            counts[3] += usize::from(repeats && means == solve::Means::Store);
            note(pool, &mut before, goal);
            note(pool, &mut before, in_normal_form);
        }
    }
    counts
}

/// The conditions of a program. Its time is that of the whole check, in the answer without a condition.
fn conditions(path: &Path, operators: &Operators, answers: &mut Answers, budget: &Budget) {
    let bytes = std::fs::read(path).expect("a program");
    let start = Instant::now();
    let Ok(checker) = Checker::read("program.pt2", &bytes) else { return };
    let Ok(report) = checker.check(None, operators, budget) else { return };
    let time_ns = start.elapsed().as_nanos() as u64;
    let name = path.display();
    let (verdict, rung) = (format!("{:?}", report.verdict), String::new());
    note(answers, format!("{name}"), Answer { verdict, rung, time_ns });
    for (i, guard) in report.guards.iter().enumerate() {
        let (verdict, rung) = (format!("{:?}", guard.verdict), guard.decided_by.clone().unwrap_or_default());
        note(answers, format!("{name} {i} {}", guard.expr), Answer { verdict, rung, time_ns: 0 });
    }
}

/// Asks everything in both ways, alternating, and prints a row.
fn compare(what: &str, ask: impl Fn(&mut Answers, &Budget)) {
    let (all, ranges) = (Budget::default(), Budget { classes: false, ..Budget::default() });
    let (mut with, mut without) = (Answers::new(), Answers::new());
    for _ in 0..REPEATS {
        ask(&mut with, &all);
        ask(&mut without, &ranges);
    }
    let pairs: Vec<(&Answer, &Answer)> =
        with.iter().filter_map(|(name, answer)| Some((answer, without.get(name)?))).collect();
    let count = |differs: &dyn Fn(&Answer, &Answer) -> bool| {
        pairs.iter().filter(|(a, b)| differs(a, b)).count() + with.len().abs_diff(pairs.len())
    };
    let slower = |a: &Answer, b: &Answer| b.time_ns > LEAST_NS && b.time_ns > 2 * a.time_ns;
    let total = |answers: &Answers| answers.values().map(|a| a.time_ns).sum::<u64>() as f64 / 1e6;
    println!(
        "| {what} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} |",
        with.len(),
        with.values().filter(|answer| answer.rung == "egraph").count(),
        count(&|a, b| a.verdict != b.verdict),
        count(&|a, b| a.rung != b.rung),
        count(&|a, b| slower(a, b)),
        count(&|a, b| slower(b, a)),
        total(&with),
        total(&without),
    );
}

fn main() {
    let paths: Vec<PathBuf> =
        std::env::args_os().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    let of_kind = |kind: &str| -> Vec<&PathBuf> {
        paths.iter().filter(|path| path.extension().is_some_and(|e| e == kind)).collect()
    };
    println!(
        "| questions | number | by classes | verdict | rung | slower without | faster without | ms | ms without |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for path in of_kind("jsonl") {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        compare(&name, |answers, budget| alone(path, answers, budget));
        compare(&format!("{name}, in sessions"), |answers, budget| together(path, answers, budget));
    }
    println!(
        "\n| in sessions | questions | asked or settled before | by the store | by the store, verdict alone |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    for path in of_kind("jsonl") {
        let [all, repeats, reasons, verdicts] = repeated(path);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("| {name} | {all} | {repeats} | {reasons} | {verdicts} |");
    }
    println!();
    let (operators, programs) = (Operators::new(), of_kind("pt2"));
    if !programs.is_empty() {
        compare("conditions of programs", |answers, budget| {
            programs.iter().for_each(|path| conditions(path, &operators, answers, budget));
        });
    }
}
