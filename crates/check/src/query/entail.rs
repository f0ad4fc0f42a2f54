//! Do ranges and assumptions imply a goal?
use super::premises::{Given, assignment};
use super::refusal::only;
use super::{Fields, Refusal};
use serde_json::Value;
use sizewise_certificate::Term;
use sizewise_env::{Premises, narrow};
use sizewise_expr::{Expr, Pool, Sort};
use sizewise_solve::{self as decide, Answer, Budget, Premise, Verdict};
use std::time::{Duration, Instant};

/// A question that has been read.
pub struct Question {
    /// The pool of its expressions.
    pub pool: Pool,
    given: Given,
    /// What is assumed.
    pub premises: Premises,
    /// What is asked.
    pub goal: Expr,
    /// The conditions and the goal as they are written; only where they are asked for.
    texts: Vec<String>,
    /// Whether the request asks for a certificate.
    pub asks_certificate: bool,
}

/// The answer to a question, and how long it took.
#[derive(Clone, PartialEq, Debug)]
pub struct Settled {
    /// The answer; premises are narrowed down to those needed.
    pub answer: Answer,
    /// Nanoseconds of deciding.
    pub time_ns: u64,
    /// Nanoseconds of making the facts ready.
    pub setup_ns: u64,
}

impl Question {
    /// Reads a request.
    ///
    /// # Errors
    /// When it cannot be understood.
    pub fn read(request: &Fields) -> Result<Question, Refusal> {
        only(request, &["id", "symbols", "given", "goal", "certificate"])?;
        let asks_certificate = asks_certificate(request)?;
        let mut pool = Pool::new();
        let mut given = Given::read(&mut pool, request, "given")?;
        let goal = given.expression(&mut pool, request, "goal")?;
        let mut texts: Vec<String> = given.conditions.iter().map(|stated| stated.text.clone()).collect();
        texts.extend(request.get("goal").and_then(Value::as_str).map(str::to_owned));
        Ok(Question { pool, given, premises: Premises::default(), goal, texts, asks_certificate })
    }

    /// Turns what was read into facts; to be called once, before any of the following.
    pub fn assume(&mut self) {
        std::mem::take(&mut self.given).learn(&mut self.pool, &mut self.premises);
    }

    /// Decides.
    pub fn decide(&mut self, budget: &Budget) -> Settled {
        let setup = Instant::now();
        self.assume();
        decided(&mut self.pool, &mut self.premises, self.goal, budget, setup)
    }

    /// The fields of the reply.
    pub fn reply(&self, settled: &Settled) -> Fields {
        fields(&self.pool, &self.premises, settled)
    }

    /// The steps of a proof, which are those of the certificate; null where there is nothing to prove. Where there is no
    /// certificate, the one step names the rung.
    pub fn proof(&mut self, settled: &Settled) -> Value {
        let certificate = self.certificate(settled);
        steps(settled, &certificate)
    }

    /// Adds the fields `proof` and `certificate` to a reply, where they are asked for; the certificate is made once.
    pub fn prove(&mut self, settled: &Settled, (proof, certificate): (bool, bool), reply: &mut Fields) {
        let certificate = certificate || self.asks_certificate;
        if proof || certificate {
            let made = self.certificate(settled);
            if proof {
                reply.insert("proof".into(), steps(settled, &made));
            }
            if certificate {
                reply.insert("certificate".into(), made);
            }
        }
    }

    /// A certificate of the answer; null where nothing is proved, or no proof is found in the words of certificates.
    pub fn certificate(&mut self, settled: &Settled) -> Value {
        let verdict = &settled.answer.verdict;
        let words = self.as_asked();
        let facts = &self.premises.facts;
        let asked = match words {
            Some(words) => decide::certificate_as_asked(&mut self.pool, facts, words, verdict),
            None => None,
        };
        let text = asked.or_else(|| decide::certificate(&mut self.pool, facts, self.goal, verdict));
        text.map_or(Value::Null, Value::from)
    }

    /// The conditions and the goal as they stand; `None` where one has no counterpart in certificates.
    fn as_asked(&mut self) -> Option<(Vec<Term>, Term)> {
        // What is assumed besides, such as ranges that are empty, has no text of its own.
        if self.texts.len() != self.premises.assumed.len() + 1 {
            return None;
        }
        let symbols: Vec<_> = self.premises.facts.ranges().map(|(symbol, ..)| symbol).collect();
        let mut integers = Vec::new();
        for symbol in symbols {
            let e = self.pool.symbol_expr(symbol);
            if self.pool.sort(e) == Sort::Int {
                integers.push(self.pool.symbol_name(symbol).to_owned());
            }
        }
        let is_integer = |name: &str| integers.iter().any(|known| known == name);
        let read = |text: &String| sizewise_prove::text::formula(text, &is_integer);
        let mut terms = self.texts.iter().map(read).collect::<Option<Vec<_>>>()?;
        let goal = terms.pop()?;
        Some((terms, goal))
    }

    /// The outcome of each rung of the ladder.
    pub fn explanation(settled: &Settled) -> Value {
        super::attempts(&settled.answer.trace)
    }
}

/// The steps of a certificate that was made, or why there are none.
fn steps(settled: &Settled, certificate: &Value) -> Value {
    match (&settled.answer.verdict, certificate) {
        (Verdict::Refuted { .. } | Verdict::Unknown { .. }, _) => Value::Null,
        (_, Value::String(certificate)) => super::proof::steps(certificate),
        _ => super::proof::uncertified(settled.answer.decided_by.name()),
    }
}

/// Whether a request asks for a certificate.
///
/// # Errors
/// When the field is no truth value.
pub(super) fn asks_certificate(request: &Fields) -> Result<bool, Refusal> {
    match request.get("certificate") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(asked)) => Ok(*asked),
        Some(_) => {
            Err(Refusal::invalid("`certificate`: expected true or false").at(|| "certificate".to_owned()))
        }
    }
}

/// Decides under facts, and narrows the premises down; `setup` is when the facts began to be made ready.
pub(super) fn decided(
    pool: &mut Pool,
    premises: &mut Premises,
    goal: Expr,
    budget: &Budget,
    setup: Instant,
) -> Settled {
    decide::prepare(pool, &mut premises.facts, budget);
    let start = Instant::now();
    let mut answer = decide::decide(pool, &mut premises.facts, goal, budget);
    let time = start.elapsed();
    narrow(pool, &premises.facts, goal, budget, &mut answer);
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Settled { answer, time_ns: nanoseconds(time), setup_ns: nanoseconds(start - setup) }
}

/// The fields of a reply.
pub(super) fn fields(pool: &Pool, premises: &Premises, settled: &Settled) -> Fields {
    let answer = &settled.answer;
    let mut reply = Fields::new();
    let (verdict, witness, because): (_, _, &[Premise]) = match &answer.verdict {
        Verdict::Implied { because } => ("implied", Value::Null, because),
        Verdict::Refuted { witness } => ("refuted", assignment(pool, witness), &[]),
        Verdict::Inconsistent { because } => ("inconsistent", Value::Null, because),
        Verdict::Unknown { .. } => ("unknown", Value::Null, &[]),
    };
    reply.insert("verdict".into(), verdict.into());
    reply.insert("witness".into(), witness);
    reply.insert("decided_by".into(), answer.decided_by.name().into());
    reply.insert("because".into(), because.iter().map(|p| Value::from(premises.premise(pool, p))).collect());
    reply.insert("time_ns".into(), settled.time_ns.into());
    if let Verdict::Unknown { reason } = &answer.verdict {
        reply.insert("reason".into(), reason.as_str().into());
    }
    reply.insert("setup_ns".into(), settled.setup_ns.into());
    reply
}
