//! One environment of a trace: its facts so far, and what follows from them.
use super::event::{Fact, Guards, Hint, Question, Range};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};
use sizewise_check::query::minimize;
use sizewise_env::Premises;
use sizewise_expr::text::read::{self, Read};
use sizewise_expr::{Expr, Int, Pool, Sort};
use sizewise_solve::{self as solve, Budget, Facts, Means, Trace, Verdict};
use std::time::{Duration, Instant};

/// The most conditions that an environment reasons with. Later ones are left out: what follows without them holds.
const MAX_FACTS: usize = 10_000;

/// How a replay answers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What a question may take, in counted work.
    pub budget: Budget,
    /// Leaves the classes of the e-graph and earlier answers out, to see what they are worth.
    pub ranges_only: bool,
    /// Whether the summary names the facts from which needless guards and avoidable errors follow.
    pub explains: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { budget: Budget::small().percent(25), ranges_only: false, explains: false }
    }
}

/// The answer to a question.
#[derive(Debug)]
pub(super) struct Answered {
    pub answer: Option<bool>,
    pub means: Means,
    pub time: Duration,
}

/// The facts of one environment.
pub(super) struct ReplayEnv {
    pool: Pool,
    /// The facts; conditions as torch wrote them, with the lines that they come from.
    premises: Premises,
    budget: Budget,
    /// Expressions by their texts.
    known: FxHashMap<String, Option<Expr>>,
}

impl ReplayEnv {
    pub fn new(settings: &Settings) -> ReplayEnv {
        let mut facts = Facts::for_verdicts();
        if settings.ranges_only {
            facts.use_ranges_only();
        }
        ReplayEnv {
            pool: Pool::new(),
            premises: Premises::new(facts),
            budget: settings.budget.clone(),
            known: FxHashMap::default(),
        }
    }

    /// Adds a fact.
    pub fn learn(&mut self, fact: &Fact) {
        match fact {
            Fact::Symbol { name, range, hint } => self.declare(name, *range, *hint),
            Fact::Equal { symbol, to } => self.assume(&format!("Eq({symbol}, {to})"), None),
        }
    }

    fn declare(&mut self, name: &str, (min, max): Range, hint: Option<Hint>) {
        // A size that torch has made a constant is no symbol.
        let Some(symbol) = self.read(name).and_then(|e| self.pool.as_symbol(e)) else { return };
        let is_float = self.pool.known_symbol_expr(symbol).is_some_and(|e| self.pool.sort(e) == Sort::Float);
        if is_float {
            if let Some(Hint::Float(hint)) = hint {
                self.premises.facts.hint_float(symbol, hint);
            }
            return;
        }
        self.premises.declare(&mut self.pool, symbol, min.map(Int::from), max.map(Int::from));
        if let Some(Hint::Int(hint)) = hint {
            self.premises.facts.hint(symbol, hint.into());
        }
    }

    /// Adds what torch recorded for a question.
    pub fn record(&mut self, question: &Question) {
        if let Some(recorded) = &question.recorded {
            self.assume(recorded, question.at.as_deref());
        }
    }

    /// Adds a condition. One that cannot be read is left out.
    fn assume(&mut self, text: &str, at: Option<&str>) {
        let Some(condition) = self.read(text) else { return };
        if self.premises.assumed.len() < MAX_FACTS {
            let shown = at.map_or_else(|| text.to_owned(), |at| format!("{text} ({at})"));
            self.premises.assume(&mut self.pool, condition, Some(shown));
        }
    }

    /// An expression as Python or sympy prints it. Doubles have names of their own.
    fn read(&mut self, text: &str) -> Option<Expr> {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|word| is_float_name(word)) {
            self.pool.symbol_of_sort(name, Sort::Float);
        }
        let expr = read::closed(&mut self.pool, text).ok().map(|Read { expr, .. }| expr);
        self.known.insert(text.to_owned(), expr);
        expr
    }

    /// What follows from the facts so far.
    pub fn ask(&mut self, question: &Question) -> Answered {
        let read = self.read(&question.expr);
        let start = Instant::now();
        let (answer, means) = read.map_or((None, Means::Open), |goal| {
            solve::settle(&mut self.pool, &mut self.premises.facts, goal, &self.budget)
        });
        Answered { answer, means, time: start.elapsed() }
    }

    /// The facts from which an answer follows, as torch wrote them, each with its line; `None` where they are not found.
    pub fn reasons(&mut self, question: &Question, answer: bool) -> Option<Vec<String>> {
        let goal = self.read(&question.expr)?;
        let (pool, facts) = (&mut self.pool, &mut self.premises.facts);
        let goal = if answer { goal } else { pool.not(goal) };
        let Verdict::Implied { because } = solve::decide(pool, facts, goal, &Budget::default()).verdict
        else {
            return None;
        };
        let because = solve::narrow(pool, facts, Some(goal), &because);
        Some(because.iter().map(|premise| self.premises.shown(pool, premise)).collect())
    }

    /// An equivalent set of guards without redundant members, as torch wrote them where they are unchanged.
    pub fn minimal(&mut self, guards: &Guards) -> Vec<String> {
        let (plain, others): (Vec<&String>, Vec<&String>) =
            guards.recorded.iter().partition(|guard| self.is_of_integers(guard));
        let bound = |bound: Option<i64>| bound.map_or(Json::Null, Json::from);
        let mut symbols: Map<String, Json> = guards
            .ranges
            .iter()
            .filter(|(name, _)| !is_float_name(name))
            .map(|(name, (min, max))| (name.clone(), json!({"min": bound(*min), "max": bound(*max)})))
            .collect();
        for guard in &plain {
            let read = self.read(guard);
            for symbol in read.map(|e| self.pool.free_symbols(&[e])).unwrap_or_default() {
                let name = self.pool.symbol_name(symbol).to_owned();
                symbols.entry(name).or_insert_with(|| json!({"min": null, "max": null}));
            }
        }
        let request = [("symbols".to_owned(), symbols.into()), ("guards".to_owned(), json!(plain))];
        let answer = minimize::answer(&request.into_iter().collect(), &Budget::default(), &mut Trace::off());
        let kept = answer.ok().and_then(|reply| Some(reply.get("guards")?.as_array()?.clone()));
        let kept = kept.map(|kept| kept.iter().filter_map(|g| g.as_str().map(str::to_owned)).collect());
        let mut kept: Vec<String> = kept.unwrap_or_else(|| plain.into_iter().cloned().collect());
        kept.extend(others.into_iter().cloned());
        kept
    }

    fn is_of_integers(&mut self, text: &str) -> bool {
        let Some(e) = self.read(text) else { return false };
        !self.pool.reachable(&[e]).into_iter().any(|part| self.pool.sort(part) == Sort::Float)
    }
}

/// Whether torch names doubles so: `zf0`, `zuf1`.
fn is_float_name(name: &str) -> bool {
    let index = name.strip_prefix("zuf").or_else(|| name.strip_prefix("zf"));
    index.is_some_and(|index| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()))
}
