//! Deciding obligations, and replaying what refutes them.
use super::evaluate::{Evaluator, Refused, Shapes};
use super::obligation::Obligation;
use super::summary;
use crate::report::{GuardVerdict, int_json};
use crate::spec::{Assumptions, Shape};
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value as Number, text};
use sizewise_solve::{
    Budget, Facts, Premise, Rung, Verdict, Witness, certificate, decide, obligation as smt_obligation,
    unsat_core, up_to,
};

/// No tensor has a larger dimension: it would take more memory than 64-bit machines can address.
const LARGEST_SIZE: i64 = 1 << 48;

/// Why a condition is undecided at whose counterexample nothing goes wrong.
pub(super) const TAKEN: &str = "the program takes the inputs of the counterexample";

/// How an obligation was decided.
#[derive(Clone, Debug)]
pub(super) struct Proof {
    pub verdict: GuardVerdict,
    /// The rung that decided.
    pub decided_by: &'static str,
    /// The facts used, in the user's names.
    pub because: Vec<String>,
    pub witness: Option<Witness>,
    /// The input shapes at the witness.
    pub shapes: Option<Shapes>,
    /// What happens to them.
    pub consequence: Option<String>,
    /// Whether the program runs there, with another shape than recorded.
    pub runs: bool,
    /// Why it is undecided.
    pub reason: Option<String>,
    /// The assumptions contradict each other.
    pub inconsistent: bool,
    /// The greatest size for which it is proved, where doubles round beyond.
    pub limit: Option<Int>,
}

impl Proof {
    pub fn new(verdict: GuardVerdict, decided_by: &'static str) -> Proof {
        Proof {
            verdict,
            decided_by,
            because: Vec::new(),
            witness: None,
            shapes: None,
            consequence: None,
            runs: false,
            reason: None,
            inconsistent: false,
            limit: None,
        }
    }

    /// Whether the condition needed Z3 or is still open.
    pub fn is_hard(&self) -> bool {
        self.verdict == GuardVerdict::Unknown || self.decided_by == Rung::Smt.name()
    }

    /// Whether the program takes the inputs of the counterexample, and its outputs are as it records.
    pub fn is_harmless_there(&self) -> bool {
        self.verdict == GuardVerdict::Unknown && self.reason.as_deref().is_some_and(|why| why.contains(TAKEN))
    }

    fn unknown(decided_by: &'static str, reason: impl Into<String>) -> Proof {
        Proof { reason: Some(reason.into()), ..Proof::new(GuardVerdict::Unknown, decided_by) }
    }
}

/// The part of a budget for the e-graph and what is cheaper.
pub(super) fn by_rewriting(budget: &Budget) -> Budget {
    Budget {
        points: 100,
        branches: 0,
        work: 1,
        terms: 0,
        iterations: budget.iterations,
        rlimit: 0,
        classes: true,
    }
}

/// What goes wrong at a counterexample.
pub(super) struct Replayed {
    pub consequence: String,
    /// Whether the program runs, and an output has another shape than recorded.
    pub runs: bool,
}

/// A callback that receives each question that is decided, as a text.
#[derive(Clone, Copy)]
pub struct Emit<'a> {
    /// What is written.
    pub form: EmitForm,
    /// Receives each text.
    pub to: &'a dyn Fn(&str),
}

/// How a question is written for others to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmitForm {
    /// As an SMT-LIB 2 file, for other solvers.
    Smt2,
    /// As a certificate of what was proved; `(uncertified RUNG)` where there is none.
    Certificate,
}

/// Decides obligations under one set of assumptions.
pub(super) struct Prover<'a, 'p> {
    pub assumptions: &'a Assumptions<'p>,
    pub evaluator: &'a Evaluator<'p>,
    pub budget: Budget,
    /// Who receives each question, written for others to check.
    pub emit: Option<Emit<'a>>,
}

/// Whether doubles occur in any of these conditions.
fn has_doubles(pool: &Pool, conditions: &[Expr]) -> bool {
    pool.has_floats() && pool.reachable(conditions).into_iter().any(|e| pool.sort(e) == Sort::Float)
}

impl Prover<'_, '_> {
    /// Decides one condition under the facts of the spec in `base`, or, if it has symbols that the spec does not know,
    /// under those in `derived`. Both have the same pool.
    pub fn decide(&self, base: &mut ShapeEnv, derived: &mut ShapeEnv, obligation: &Obligation) -> Proof {
        let symbols = base.pool.free_symbols(&[obligation.condition]);
        if symbols.iter().all(|&s| base.symbol(s).is_some()) {
            let (pool, facts) = base.facts();
            return self.prove(pool, facts, obligation);
        }
        let (pool, facts) = derived.facts();
        self.prove(pool, facts, obligation)
    }

    /// Decides one obligation under `facts`, expressions being of `pool`.
    pub fn prove(&self, pool: &mut Pool, facts: &mut Facts, obligation: &Obligation) -> Proof {
        let answer = decide(pool, facts, obligation.condition, &self.budget);
        let by = answer.decided_by.name();
        self.emit(pool, facts, obligation, &answer.verdict, by);
        let through_doubles = match answer.verdict {
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => false,
            Verdict::Refuted { .. } => has_doubles(pool, &[obligation.condition]),
            Verdict::Unknown { .. } => {
                has_doubles(pool, &[obligation.condition]) || has_doubles(pool, facts.conditions())
            }
        };
        if through_doubles && let Some(proof) = self.prove_realistic(pool, facts, obligation) {
            return proof;
        }
        match answer.verdict {
            Verdict::Implied { because } => {
                let because = self.premises(pool, facts, &because);
                Proof { because, ..Proof::new(GuardVerdict::Implied, by) }
            }
            Verdict::Refuted { witness } => self.refuted(obligation, witness, by),
            Verdict::Inconsistent { because } => {
                let because = unsat_core(pool, facts, &self.budget).unwrap_or(because);
                let because = self.premises(pool, facts, &because);
                Proof {
                    because,
                    inconsistent: true,
                    ..Proof::unknown(by, "the assumptions contradict each other")
                }
            }
            Verdict::Unknown { reason } => Proof::unknown(by, reason),
        }
    }

    /// Emits the question: its certificate, or its status, unless it cannot be written in SMT-LIB.
    fn emit(&self, pool: &mut Pool, facts: &Facts, obligation: &Obligation, verdict: &Verdict, by: &str) {
        let Some(emit) = self.emit else { return };
        if emit.form == EmitForm::Certificate {
            if matches!(verdict, Verdict::Implied { .. } | Verdict::Inconsistent { .. }) {
                let text = certificate(pool, facts, obligation.condition, verdict);
                (emit.to)(&text.unwrap_or_else(|| format!("(uncertified {by})\n")));
            }
            return;
        }
        // Facts that contradict each other imply even what never holds.
        let goal = match verdict {
            Verdict::Inconsistent { .. } => pool.bool(false),
            _ => obligation.condition,
        };
        if let Some(text) = smt_obligation(pool, facts, goal, verdict.status()) {
            (emit.to)(&text);
        }
    }

    /// Decides a condition with doubles for sizes that tensors can have: without a declared maximum, doubles begin
    /// to round at sizes that do not fit in memory.
    fn prove_realistic(&self, pool: &mut Pool, facts: &Facts, obligation: &Obligation) -> Option<Proof> {
        let limit = Int::from(LARGEST_SIZE);
        let mut capped = up_to(pool, facts, &limit);
        let answer = decide(pool, &mut capped, obligation.condition, &self.budget);
        let Verdict::Implied { because } = answer.verdict else { return None };
        let because = self.premises(pool, &capped, &because);
        let proof = Proof::new(GuardVerdict::Implied, answer.decided_by.name());
        Some(Proof { because, limit: Some(limit), ..proof })
    }

    /// A refutation counts only if the program fails on the inputs of the witness, or if an output has another shape
    /// than recorded.
    pub fn refuted(&self, obligation: &Obligation, witness: Witness, by: &'static str) -> Proof {
        if !self.assumptions.allows(&witness) {
            return Proof::unknown(by, "the program has more guards than are taken into account");
        }
        let Some(shapes) = self.shapes_at(&witness) else {
            return Proof::unknown(by, "the counterexample involves data-dependent sizes");
        };
        match self.replay(&shapes) {
            Ok(Replayed { consequence, runs }) => Proof {
                witness: Some(witness),
                shapes: Some(shapes),
                consequence: Some(consequence),
                runs,
                ..Proof::new(GuardVerdict::Violated, by)
            },
            Err(reason) if obligation.is_branch() => Proof {
                witness: Some(witness),
                ..Proof::unknown(by, format!("another path is taken there ({reason})"))
            },
            Err(reason) => Proof { witness: Some(witness), ..Proof::unknown(by, reason) },
        }
    }

    /// The input shapes at a witness.
    pub fn shapes_at(&self, witness: &Witness) -> Option<Shapes> {
        let shapes: Shapes = self.assumptions.shapes_at(witness)?.into_iter().collect();
        let sizes_exist = shapes.values().all(|shape| match shape {
            Shape::Tensor(sizes) => sizes.iter().all(|s| !s.is_negative()),
            Shape::Scalar(_) | Shape::Text(_) | Shape::None => true,
        });
        sizes_exist.then_some(shapes)
    }

    /// What goes wrong with these inputs; an error if nothing does.
    pub fn replay(&self, shapes: &Shapes) -> Result<Replayed, String> {
        match self.evaluator.evaluate(shapes) {
            Err(Refused { malformed: true, message, .. }) => {
                Err(format!("the counterexample cannot be replayed: {message}"))
            }
            Err(refused) => {
                let consequence = self.in_users_names(&match &refused.node {
                    Some(node) => format!("{node} fails: {}", without_operator(&refused.message)),
                    None => refused.message,
                });
                Ok(Replayed { consequence, runs: false })
            }
            Ok(evaluation) => {
                let pool = &evaluation.env.pool;
                for (got, recorded) in evaluation.outputs.iter().zip(&evaluation.recorded) {
                    let (Some(got), Some(recorded)) = (got, recorded) else { continue };
                    // Sizes that data decide are not compared.
                    let differ = |(&a, &b): (&Expr, &Expr)| matches!((pool.as_int(a), pool.as_int(b)), (Some(a), Some(b)) if a != b);
                    if got.len() != recorded.len() || got.iter().zip(recorded).any(differ) {
                        let show = |sizes: &[Expr]| {
                            let shown: Vec<String> =
                                sizes.iter().map(|&e| text::print::expression(pool, e)).collect();
                            format!("[{}]", shown.join(", "))
                        };
                        let consequence =
                            format!("an output has the shape {}, recorded as {}", show(got), show(recorded));
                        return Ok(Replayed { consequence, runs: true });
                    }
                }
                Err(TAKEN.to_string())
            }
        }
    }

    /// A text with the user's names for the program's symbols: messages of assertions have been written at export.
    fn in_users_names(&self, text: &str) -> String {
        let is_word = |c: char| c == '_' || c.is_alphanumeric();
        let name = |word: &str| {
            let symbol = self.assumptions.env.pool.find_symbol(word)?;
            self.assumptions.names.get(&symbol).map(String::as_str)
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = rest.find(|other| is_word(other) != is_word(c)).unwrap_or(rest.len());
            let part = &rest[..length];
            out.push_str(name(part).unwrap_or(part));
            rest = &rest[length..];
        }
        out
    }

    fn premises(&self, pool: &Pool, facts: &Facts, because: &[Premise]) -> Vec<String> {
        shown_premises(pool, facts, because, &|s| summary::name(self.assumptions, pool, s).to_owned())
    }
}

/// The facts that a proof rests on, in the user's names.
pub fn shown_premises(
    pool: &Pool,
    facts: &Facts,
    because: &[Premise],
    name: &dyn Fn(Symbol) -> String,
) -> Vec<String> {
    let bounds = |s: Symbol| facts.ranges().find(|(symbol, ..)| *symbol == s);
    let shown = |premise: &Premise| match premise {
        Premise::Fact(id) => match facts.conditions().get(id.0 as usize) {
            Some(&e) => text::print::python(pool, e, &name),
            None => String::new(),
        },
        Premise::Lower(s) => match bounds(*s).and_then(|(_, lower, _)| lower.cloned()) {
            Some(lower) => format!("{} >= {lower}", name(*s)),
            None => name(*s),
        },
        Premise::Upper(s) => match bounds(*s).and_then(|(.., upper)| upper.cloned()) {
            Some(upper) => format!("{} <= {upper}", name(*s)),
            None => name(*s),
        },
        Premise::Nonzero(e) => format!("{} != 0", text::print::python(pool, *e, &name)),
    };
    because.iter().map(shown).collect()
}

/// The message of a refusal without the operator before it.
fn without_operator(message: &str) -> &str {
    match message.split_once(": ") {
        Some((operator, rest)) if operator.contains('.') && !operator.contains(' ') => rest,
        _ => message,
    }
}

/// Shapes as JSON, by placeholder.
pub(super) fn shapes_json(shapes: &Shapes) -> IndexMap<String, Json> {
    let number = |v: &Number| match v {
        Number::Int(v) => int_json(v),
        Number::Float(v) => Json::from(*v),
        Number::Bool(b) => Json::from(*b),
        Number::Ratio(v) => Json::from(v.to_string()),
    };
    shapes
        .iter()
        .map(|(name, shape)| {
            let json = match shape {
                Shape::Tensor(sizes) => sizes.iter().map(int_json).collect(),
                Shape::Scalar(value) => number(value),
                Shape::Text(text) => Json::from(&**text),
                Shape::None => Json::Null,
            };
            (name.to_string(), json)
        })
        .collect()
}
