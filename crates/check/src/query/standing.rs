//! Facts that stand while questions are put to them: symbols and assumptions are added as they become known.
use super::premises::Premises;
use super::refusal::only;
use super::simplify::{self, Written};
use super::{Fields, Refusal, bounds, entail};
use serde_json::{Value, json};
use sizewise_expr::{Pool, is_cancelled};
use sizewise_solve::{self as decide, Budget, Trace};
use std::time::Instant;

/// Facts are made anew from their texts when questions have left this many expressions behind.
const LEFT_BEHIND: usize = 1 << 16;

/// How much standing facts may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Symbols and assumptions.
    pub facts: usize,
    /// Bytes of their texts.
    pub bytes: usize,
    /// Nodes of their expressions.
    pub nodes: usize,
}

/// Facts, and what was found out about them so far.
pub struct Standing {
    pool: Pool,
    premises: Premises,
    /// What was added, to start anew from.
    additions: Vec<Fields>,
    bytes: usize,
    /// The size of the pool when no question had been asked.
    unasked: usize,
    room: Room,
    /// Whether the work on a question was cancelled: what was found out of the facts then is not to be relied on.
    was_cancelled: bool,
}

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Is `goal` implied?
    Entail,
    /// What is `expr` at its simplest?
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

impl Standing {
    /// No facts.
    pub fn new(room: Room) -> Standing {
        let pool = Pool::new();
        let unasked = pool.len();
        Standing {
            pool,
            premises: Premises::none(),
            additions: Vec::new(),
            bytes: 0,
            unasked,
            room,
            was_cancelled: false,
        }
    }

    /// Adds the `symbols` and the assumptions `given` of a request; all of them or, when something is wrong, nothing.
    ///
    /// # Errors
    /// When the request cannot be understood, or there is no room (kind `limit`).
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
        let more = Premises::read(&mut self.pool, &addition, "given")?;
        let grown = self.pool.len() - before;
        let full = |what: &str, most: usize| {
            Err(Refusal::no_result("limit", format!("an environment holds at most {most} {what}")))
        };
        if self.bytes + bytes > self.room.bytes {
            return full("bytes of facts", self.room.bytes);
        }
        if self.premises.len() + more.len() > self.room.facts {
            return full("symbols and facts", self.room.facts);
        }
        if self.unasked + grown > self.room.nodes {
            return full("nodes", self.room.nodes);
        }
        self.premises.append(&mut self.pool, more);
        self.bytes += bytes;
        self.additions.push(addition);
        self.unasked += grown;
        Ok(())
    }

    /// The numbers of symbols and of assumptions.
    pub fn size(&self) -> (usize, usize) {
        self.premises.counts()
    }

    /// The symbols with their ranges, and the assumptions, as texts.
    pub fn describe(&self) -> Fields {
        let mut fields = Fields::new();
        fields.insert("symbols".into(), self.premises.symbols_json(&self.pool));
        fields.insert("given".into(), json!(self.premises.texts));
        fields
    }

    /// Answers a question. Its own `symbols` and `given` hold for this question only. The answer to one that is
    /// [cancelled](sizewise_expr::CancelToken) means nothing; later ones do not suffer.
    ///
    /// # Errors
    /// When the request cannot be understood.
    pub fn ask(&mut self, ask: Ask, request: &Fields, budget: &Budget) -> Result<Fields, Refusal> {
        only(request, &["id", "symbols", "given", ask.key()])?;
        if self.was_cancelled || self.pool.len() > self.unasked + LEFT_BEHIND {
            self.start_anew();
        }
        let answer = self.ask_once(ask, request, budget);
        self.was_cancelled = is_cancelled();
        answer
    }

    fn ask_once(&mut self, ask: Ask, request: &Fields, budget: &Budget) -> Result<Fields, Refusal> {
        let (pool, standing) = (&mut self.pool, &mut self.premises);
        let mut own = Premises::read(pool, request, "given")?;
        let e = own.expression(pool, request, ask.key())?;
        let asked = Written { expr: e, text: request.get(ask.key()).and_then(Value::as_str) };
        if own.is_empty() && pool.free_symbols(&[e]).iter().all(|s| standing.declares(*s)) {
            return Ok(answer(ask, pool, standing, asked, budget));
        }
        // Divisors that the question's text mentions and its own assumptions are no facts of the environment.
        let mut scratch = standing.clone();
        scratch.append(pool, own);
        Ok(answer(ask, pool, &mut scratch, asked, budget))
    }

    /// Forgets everything but what was added.
    fn start_anew(&mut self) {
        let (mut pool, mut premises) = (Pool::new(), Premises::none());
        for addition in &self.additions {
            // It was read before.
            if let Ok(more) = Premises::read(&mut pool, addition, "given") {
                premises.append(&mut pool, more);
            }
        }
        self.unasked = pool.len();
        (self.pool, self.premises) = (pool, premises);
    }
}

fn answer(ask: Ask, pool: &mut Pool, premises: &mut Premises, asked: Written<'_>, budget: &Budget) -> Fields {
    let e = asked.expr;
    match ask {
        Ask::Entail => {
            let setup = Instant::now();
            decide::prepare(pool, &mut premises.facts, budget);
            let start = Instant::now();
            let mut settled = entail::decided(pool, premises, e, budget, start);
            settled.setup_ns = u64::try_from((start - setup).as_nanos()).unwrap_or(u64::MAX);
            let mut reply = entail::fields(pool, premises, &settled);
            reply.insert("setup_ns".into(), settled.setup_ns.into());
            reply
        }
        Ask::Simplify => simplify::under(pool, premises, asked, budget, &mut Trace::off()),
        Ask::Bounds => bounds::under(pool, premises, e, budget, &mut Trace::off()),
    }
}
