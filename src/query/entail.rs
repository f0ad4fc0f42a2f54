//! Do ranges and assumptions imply a goal?
use super::premises::Premises;
use super::refusal::only;
use super::{Fields, Refusal};
use crate::decide::{self, Answer, Budget, Premise, Rung, Verdict, Witness};
use crate::expr::{Expr, Int, Pool, print, read};
use serde_json::{Value, json};
use std::time::Instant;

/// The version of [`Question::canonical`] and [`Question::certificate`]; both change with the engine, which may decide more from then on.
const FORM: &str = concat!("sizewise ", env!("CARGO_PKG_VERSION"), " entail 1");

/// A question that has been read.
pub struct Question {
    /// Where its expressions live.
    pub pool: Pool,
    /// What is assumed.
    pub premises: Premises,
    /// What is asked.
    pub goal: Expr,
    canonical: Option<String>,
}

/// What became of a question, and how long that took.
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
        only(request, &["id", "symbols", "given", "goal"])?;
        let mut pool = Pool::new();
        let mut premises = Premises::read(&mut pool, request, "given")?;
        let goal = premises.expression(&mut pool, request, "goal")?;
        let canonical = premises.canonical(&pool, goal);
        Ok(Question { pool, premises, goal, canonical })
    }

    /// A text that is the same for all requests that put the same question in the same order: expressions are in normal form. None when an
    /// expression is too large to be written.
    pub fn canonical(&self, budget: &Budget) -> Option<String> {
        let asked = self.canonical.as_deref()?;
        let Budget { points, branches, work, terms, iterations, rlimit } = budget;
        Some(format!("{FORM}\n{points} {branches} {work} {terms} {iterations} {rlimit}\n{asked}"))
    }

    /// Turns what was read into facts; to be called once, before any of the following.
    pub fn assume(&mut self) {
        self.premises.finish(&mut self.pool, true);
    }

    /// Decides.
    pub fn decide(&mut self, budget: &Budget) -> Settled {
        let setup = Instant::now();
        self.assume();
        decide::prepare(&mut self.pool, &mut self.premises.facts, budget);
        let start = Instant::now();
        let mut settled = decided(&mut self.pool, &mut self.premises, self.goal, budget, start);
        settled.setup_ns = u64::try_from((start - setup).as_nanos()).unwrap_or(u64::MAX);
        settled
    }

    /// The fields of the reply.
    pub fn reply(&self, settled: &Settled) -> Fields {
        let mut reply = fields(&self.pool, &self.premises, settled);
        reply.insert("setup_ns".into(), settled.setup_ns.into());
        reply
    }

    /// The steps of a proof; null where there is nothing to prove.
    pub fn proof(&mut self, settled: &Settled) -> Value {
        let (goal, because) = match &settled.answer.verdict {
            Verdict::Implied { because } => (Some(self.goal), because),
            Verdict::Inconsistent { because } => (None, because),
            _ => return Value::Null,
        };
        let steps = decide::proof(&mut self.pool, &self.premises.facts, goal, because);
        let rung = settled.answer.decided_by;
        if steps.is_empty() {
            let premises = because.iter().map(|p| self.premises.premise(&self.pool, *p));
            let mut shown: Vec<Value> =
                premises.map(|says| json!({"rule": "premise", "says": says})).collect();
            let negated = goal.map(|goal| self.pool.not(goal));
            shown.extend(
                negated
                    .and_then(|e| print::try_expression(&self.pool, e).ok())
                    .map(|says| json!({"rule": "negated-goal", "says": says})),
            );
            let says = match rung {
                Rung::Smt => "Z3 finds that these cannot all hold",
                Rung::EGraph => "the rewrite rules find that these cannot all hold",
                _ => "every assignment was tried: these never all hold",
            };
            shown.push(json!({"rule": rung.name(), "says": says}));
            return shown.into();
        }
        steps.into_iter().map(|s| json!({"rule": s.rule, "says": s.says})).collect()
    }

    /// What each rung of the ladder came to.
    pub fn explanation(settled: &Settled) -> Value {
        super::attempts(&settled.answer.trace)
    }

    /// The answer with what is needed to check it again: premises or a witness, and for `implied` an assignment that satisfies the facts.
    /// None where there is no such thing.
    pub fn certificate(&mut self, settled: &Settled) -> Option<Value> {
        let Question { pool, premises, .. } = self;
        let answer = &settled.answer;
        let mut out =
            json!({"by": answer.decided_by.name(), "ns": settled.time_ns, "setup": settled.setup_ns});
        match &answer.verdict {
            Verdict::Implied { because } => {
                let model = decide::model(pool, &mut premises.facts)?;
                out["implied"] = written(pool, because)?;
                out["model"] = premises.assignment(pool, &model);
            }
            Verdict::Inconsistent { because } => out["inconsistent"] = written(pool, because)?,
            Verdict::Refuted { witness } => out["refuted"] = premises.assignment(pool, witness),
            Verdict::Unknown { reason } => out["unknown"] = reason.as_str().into(),
        }
        Some(out)
    }

    /// The answer that a certificate holds, if it stands up to being checked again. [`Question::assume`] comes first.
    pub fn recheck(&mut self, certificate: &Value) -> Option<Settled> {
        let by = certificate.get("by")?.as_str()?;
        let decided_by = Rung::ALL.into_iter().find(|rung| rung.name() == by)?;
        let mut model = None;
        let verdict = if let Some(because) = certificate.get("implied") {
            model = Some(self.witness(certificate.get("model")?)?);
            Verdict::Implied { because: self.premises_of(because)? }
        } else if let Some(because) = certificate.get("inconsistent") {
            Verdict::Inconsistent { because: self.premises_of(because)? }
        } else if let Some(witness) = certificate.get("refuted") {
            Verdict::Refuted { witness: self.witness(witness)? }
        } else {
            Verdict::Unknown { reason: certificate.get("unknown")?.as_str()?.to_string() }
        };
        let facts = &mut self.premises.facts;
        if !decide::confirms(&mut self.pool, facts, self.goal, &verdict, model.as_ref()) {
            return None;
        }
        Some(Settled {
            answer: Answer { verdict, decided_by, trace: Vec::new() },
            time_ns: certificate.get("ns")?.as_u64()?,
            setup_ns: certificate.get("setup")?.as_u64()?,
        })
    }

    fn witness(&self, json: &Value) -> Option<Witness> {
        let entry = |(name, value): (&String, &Value)| {
            let Value::Number(value) = value else { return None };
            Some((self.pool.find_symbol(name)?, value.to_string().parse::<Int>().ok()?))
        };
        json.as_object()?.iter().map(entry).collect()
    }

    fn premises_of(&mut self, json: &Value) -> Option<Vec<Premise>> {
        let mut premises = Vec::new();
        for item in json.as_array()? {
            let (kind, of) = item.as_object()?.iter().next()?;
            premises.push(match kind.as_str() {
                "fact" => Premise::Fact(decide::FactId(u32::try_from(of.as_u64()?).ok()?)),
                "lower" => Premise::Lower(self.pool.find_symbol(of.as_str()?)?),
                "upper" => Premise::Upper(self.pool.find_symbol(of.as_str()?)?),
                "nonzero" => Premise::Nonzero(read::closed(&mut self.pool, of.as_str()?).ok()?.expr),
                _ => return None,
            });
        }
        // A divisor is a premise only where the question divides by it.
        let divisors = decide::divisors(&self.pool, &self.premises.facts, self.goal);
        let known = |p: &Premise| !matches!(p, Premise::Nonzero(e) if !divisors.contains(e));
        premises.iter().all(known).then_some(premises)
    }
}

/// Premises as a certificate has them.
fn written(pool: &Pool, because: &[Premise]) -> Option<Value> {
    let mut out = Vec::with_capacity(because.len());
    for premise in because {
        out.push(match premise {
            Premise::Fact(id) => json!({"fact": id.0}),
            Premise::Lower(s) => json!({"lower": pool.symbol_name(*s)}),
            Premise::Upper(s) => json!({"upper": pool.symbol_name(*s)}),
            Premise::Nonzero(e) => json!({"nonzero": crate::expr::print::try_expression(pool, *e).ok()?}),
        });
    }
    Some(out.into())
}

/// Decides under facts that have been made ready, and narrows the premises down.
pub(super) fn decided(
    pool: &mut Pool,
    premises: &mut Premises,
    goal: Expr,
    budget: &Budget,
    start: Instant,
) -> Settled {
    let mut answer = decide::decide(pool, &mut premises.facts, goal, budget);
    let time_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    if let Verdict::Implied { because } = &mut answer.verdict {
        *because = decide::narrow(pool, &premises.facts, Some(goal), because);
    } else if let Verdict::Inconsistent { because } = &mut answer.verdict {
        *because = decide::minimal_clash(pool, &premises.facts, because, budget);
    }
    Settled { answer, time_ns, setup_ns: 0 }
}

/// The fields of a reply without `setup_ns`.
pub(super) fn fields(pool: &Pool, premises: &Premises, settled: &Settled) -> Fields {
    let answer = &settled.answer;
    let mut reply = Fields::new();
    let (verdict, witness, because): (_, _, &[Premise]) = match &answer.verdict {
        Verdict::Implied { because } => ("implied", Value::Null, because),
        Verdict::Refuted { witness } => ("refuted", premises.assignment(pool, witness), &[]),
        Verdict::Inconsistent { because } => ("inconsistent", Value::Null, because),
        Verdict::Unknown { .. } => ("unknown", Value::Null, &[]),
    };
    reply.insert("verdict".into(), verdict.into());
    reply.insert("witness".into(), witness);
    reply.insert("decided_by".into(), answer.decided_by.name().into());
    reply.insert("because".into(), because.iter().map(|p| premises.premise(pool, *p)).collect());
    reply.insert("time_ns".into(), settled.time_ns.into());
    if let Verdict::Unknown { reason } = &answer.verdict {
        reply.insert("reason".into(), reason.as_str().into());
    }
    reply
}
