//! Environments: facts that are kept while questions are asked, symbols and assumptions being added as they
//! become known.
use super::premises::{Given, symbols_json};
use super::refusal::only;
use super::simplify::{self, Written};
use super::{Fields, Refusal, bounds, entail};
use serde_json::{Value, json};
use sizewise_env::Premises;
use sizewise_expr::{Pool, is_cancelled};
use sizewise_solve::{Budget, Trace, certificate};
use std::time::Instant;

/// An environment is rebuilt from the texts of its facts when questions have added this many expressions.
const MAX_ADDED: usize = 1 << 16;

/// How much an environment may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// Symbols and assumptions.
    pub facts: usize,
    /// Bytes of their texts.
    pub bytes: usize,
    /// Nodes of their expressions.
    pub nodes: usize,
}

/// Symbols and assumptions, with what was derived from them so far.
pub struct Environment {
    pool: Pool,
    premises: Premises,
    /// What was added, to rebuild from.
    additions: Vec<Fields>,
    bytes: usize,
    /// The size of the pool without what questions have added.
    own_nodes: usize,
    capacity: Capacity,
    /// Whether the last question was cancelled: what was derived from the facts then cannot be relied on.
    was_cancelled: bool,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Is `goal` implied?
    Entail,
    /// What is the simplest form of `expr`?
    Simplify,
    /// What are the bounds of `expr`?
    Bounds,
}

impl Ask {
    /// The field that holds the expression.
    fn key(self) -> &'static str {
        if self == Ask::Entail { "goal" } else { "expr" }
    }
}

impl Environment {
    /// No facts.
    pub fn new(capacity: Capacity) -> Environment {
        let pool = Pool::new();
        let own_nodes = pool.len();
        Environment {
            pool,
            premises: Premises::default(),
            additions: Vec::new(),
            bytes: 0,
            own_nodes,
            capacity,
            was_cancelled: false,
        }
    }

    /// Adds the `symbols` and the assumptions `given` of a request; all of them or, when something is wrong, nothing.
    ///
    /// # Errors
    /// When the request cannot be understood, or the environment cannot hold it (kind `limit`).
    pub fn add(&mut self, request: &Fields) -> Result<(), Refusal> {
        only(request, &["id", "symbols", "given"])?;
        let mut addition = Fields::new();
        for key in ["symbols", "given"] {
            if let Some(value) = request.get(key) {
                addition.insert(key.into(), value.clone());
            }
        }
        let bytes = Value::Object(addition.clone()).to_string().len();
        let before = self.pool.len();
        let more = Given::read(&mut self.pool, &addition, "given")?;
        let grown = self.pool.len() - before;
        let full = |what: &str, most: usize| {
            Err(Refusal::no_result("limit", format!("an environment holds at most {most} {what}")))
        };
        if self.bytes + bytes > self.capacity.bytes {
            return full("bytes of facts", self.capacity.bytes);
        }
        if self.premises.declared.len() + self.premises.assumed.len() + more.len() > self.capacity.facts {
            return full("symbols and facts", self.capacity.facts);
        }
        if self.own_nodes + grown > self.capacity.nodes {
            return full("nodes", self.capacity.nodes);
        }
        more.learn(&mut self.pool, &mut self.premises);
        self.bytes += bytes;
        self.additions.push(addition);
        self.own_nodes += grown;
        Ok(())
    }

    /// The numbers of symbols and of assumptions.
    pub fn size(&self) -> (usize, usize) {
        (self.premises.declared.len(), self.premises.assumed.len())
    }

    /// The symbols with their ranges, and the assumptions, as texts.
    pub fn describe(&self) -> Fields {
        let mut fields = Fields::new();
        let texts = (0..self.premises.assumed.len()).map(|number| self.premises.text(&self.pool, number));
        fields.insert("symbols".into(), symbols_json(&self.premises, &self.pool));
        fields.insert("given".into(), json!(texts.collect::<Vec<_>>()));
        fields
    }

    /// Answers a question. Its own `symbols` and `given` hold for this question only. The answer to one that is
    /// [cancelled](sizewise_expr::CancelToken) means nothing; later ones do not suffer.
    ///
    /// # Errors
    /// When the request cannot be understood.
    pub fn ask(&mut self, ask: Ask, request: &Fields, budget: &Budget) -> Result<Fields, Refusal> {
        match ask {
            Ask::Entail => only(request, &["id", "symbols", "given", "goal", "certificate"])?,
            Ask::Simplify | Ask::Bounds => only(request, &["id", "symbols", "given", "expr"])?,
        }
        if self.was_cancelled || self.pool.len() > self.own_nodes + MAX_ADDED {
            self.rebuild();
        }
        let answer = self.ask_once(ask, request, budget);
        self.was_cancelled = is_cancelled();
        answer
    }

    fn ask_once(&mut self, ask: Ask, request: &Fields, budget: &Budget) -> Result<Fields, Refusal> {
        let (pool, kept) = (&mut self.pool, &mut self.premises);
        let mut own = Given::read(pool, request, "given")?;
        let e = own.expression(pool, request, ask.key())?;
        let asked = Written { expr: e, text: request.get(ask.key()).and_then(Value::as_str) };
        let certified = entail::asks_certificate(request)?;
        if own.is_empty() && pool.free_symbols(&[e]).iter().all(|s| kept.facts.range(*s).is_some()) {
            return Ok(answer((ask, certified), pool, kept, asked, budget));
        }
        // The question's own assumptions, and divisors in its text, do not become facts of the environment.
        let mut scratch = kept.clone();
        own.learn(pool, &mut scratch);
        Ok(answer((ask, certified), pool, &mut scratch, asked, budget))
    }

    /// Rebuilds the pool and the facts from what was added.
    fn rebuild(&mut self) {
        let (mut pool, mut premises) = (Pool::new(), Premises::default());
        for addition in &self.additions {
            // It was read without an error before.
            if let Ok(more) = Given::read(&mut pool, addition, "given") {
                more.learn(&mut pool, &mut premises);
            }
        }
        self.own_nodes = pool.len();
        (self.pool, self.premises) = (pool, premises);
    }
}

fn answer(
    (ask, certified): (Ask, bool),
    pool: &mut Pool,
    premises: &mut Premises,
    asked: Written<'_>,
    budget: &Budget,
) -> Fields {
    let e = asked.expr;
    match ask {
        Ask::Entail => {
            let settled = entail::decided(pool, premises, e, budget, Instant::now());
            let mut fields = entail::fields(pool, premises, &settled);
            if certified {
                let made = certificate(pool, &premises.facts, e, &settled.answer.verdict);
                fields.insert("certificate".into(), made.into());
            }
            fields
        }
        Ask::Simplify => simplify::under(pool, premises, asked, budget, &mut Trace::off()),
        Ask::Bounds => bounds::under(pool, premises, e, budget, &mut Trace::off()),
    }
}
