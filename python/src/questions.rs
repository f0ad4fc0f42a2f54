//! Questions that are answered in full: with witnesses, reasons and texts.
use crate::facts::State;
use sizewise::env::narrow;
use sizewise::expr::{Expr, Int, Pool, Symbol};
use sizewise::solve::egraph::Reading;
use sizewise::solve::{self, Answer, Bounds, Budget, Facts, Premise, Trace, Verdict};

/// The answer to "do the facts imply this?".
pub struct Implied {
    /// `implied`, `refuted`, `inconsistent` or `unknown`.
    pub verdict: &'static str,
    /// Values of the symbols for which it is false.
    pub witness: Option<Vec<(String, Int)>>,
    /// The facts that it follows from.
    pub because: Vec<String>,
    /// The rung of the ladder that decided.
    pub decided_by: &'static str,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// A certificate, if it was asked for and there is one.
    pub certificate: Option<String>,
}

/// Guards that are left, and those that are not with what they follow from.
pub struct Smaller {
    /// Texts of the guards that are left.
    pub kept: Vec<String>,
    /// Positions of the others, each with its reasons.
    pub dropped: Vec<(usize, Vec<String>)>,
}

impl State {
    /// Does something under the facts and the requirements of a question, which do not become facts.
    fn under<T>(
        &mut self,
        number: usize,
        ask: impl FnOnce(&mut Pool, &mut Facts, Expr) -> T,
    ) -> Result<T, String> {
        let requires = self.term(number)?.requirements(&self.pool);
        let e = self.expr(number)?;
        let declared = |s: &Symbol| self.premises.facts.range(*s).is_some();
        let all_declared = self.pool.free_symbols(&[e]).iter().all(declared);
        if all_declared && requires.is_empty() {
            return Ok(ask(&mut self.pool, &mut self.premises.facts, e));
        }
        let mut facts = self.premises.facts.clone();
        requires.learn(&mut self.pool, &mut facts);
        Ok(ask(&mut self.pool, &mut facts, e))
    }

    /// Do the facts imply a condition?
    pub fn implies(&mut self, number: usize, budget: &Budget, certified: bool) -> Result<Implied, String> {
        let (answer, certificate) = self.under(number, |pool, facts, goal| {
            solve::prepare(pool, facts, budget);
            let mut answer = solve::decide(pool, facts, goal, budget);
            narrow(pool, facts, goal, budget, &mut answer);
            let certificate =
                certified.then(|| solve::certificate(pool, facts, goal, &answer.verdict)).flatten();
            (answer, certificate)
        })?;
        Ok(Implied { certificate, ..self.written(&answer) })
    }

    fn written(&self, answer: &Answer) -> Implied {
        let texts = |because: &[Premise]| {
            because.iter().map(|premise| self.premises.premise(&self.pool, premise)).collect()
        };
        let named =
            |&(symbol, ref value): &(Symbol, Int)| (self.pool.symbol_name(symbol).to_string(), value.clone());
        let (verdict, witness, because, reason) = match &answer.verdict {
            Verdict::Implied { because } => ("implied", None, texts(because), None),
            Verdict::Inconsistent { because } => ("inconsistent", None, texts(because), None),
            Verdict::Refuted { witness } => {
                ("refuted", Some(witness.iter().map(named).collect()), Vec::new(), None)
            }
            Verdict::Unknown { reason } => ("unknown", None, Vec::new(), Some(reason.clone())),
        };
        Implied { verdict, witness, because, decided_by: answer.decided_by.name(), reason, certificate: None }
    }

    /// The smallest expression that is equal under the facts; `written` is its text if it had one.
    pub fn simplify(
        &mut self,
        number: usize,
        written: Option<&str>,
        budget: &Budget,
    ) -> Result<String, String> {
        self.under(number, |pool, facts, e| {
            let simple = solve::simplify_traced(pool, facts, e, budget, &mut Trace::off());
            Reading::new().text_or(pool, simple, written)
        })
    }

    /// The least and the greatest value.
    pub fn bounds(&mut self, number: usize, budget: &Budget) -> Result<Bounds, String> {
        self.under(number, |pool, facts, e| solve::bounds(pool, facts, e, budget))
    }

    /// An equivalent set of guards under the ranges of the symbols, without redundant members.
    pub fn minimize(
        &mut self,
        guards: &[(usize, Option<String>)],
        budget: &Budget,
    ) -> Result<Smaller, String> {
        let mut conditions = Vec::with_capacity(guards.len());
        for (number, _) in guards {
            let requires = self.term(*number)?.requirements(&self.pool);
            let condition = self.expr(*number)?;
            conditions.push(requires.defined(&mut self.pool, condition));
        }
        let Some(ranges) = self.premises.ranges() else {
            return Ok(Smaller { kept: vec!["False".to_string()], dropped: Vec::new() });
        };
        let smaller = solve::minimize(&mut self.pool, &ranges, &conditions, budget);
        let text_of = |i: usize| guards.get(i).and_then(|(_, text)| text.as_deref());
        let mut kept = Vec::with_capacity(smaller.kept.len());
        for &guard in &smaller.kept {
            let written = conditions.iter().position(|&c| c == guard).and_then(text_of);
            kept.push(Reading::new().text_or(&mut self.pool, guard, written));
        }
        let mut said = Vec::with_capacity(smaller.said.len());
        for (i, &e) in smaller.said.iter().enumerate() {
            let given = text_of(i).filter(|_| conditions.get(i) == Some(&e));
            said.push(given.map_or_else(|| Reading::new().text(&mut self.pool, e), str::to_string));
        }
        let premise = |premise: &Premise| match premise {
            Premise::Fact(id) => said.get(id.0 as usize).cloned().unwrap_or_default(),
            other => self.premises.premise(&self.pool, other),
        };
        let dropped = smaller.dropped.iter();
        let dropped = dropped.map(|(i, because)| (*i, because.iter().map(premise).collect())).collect();
        Ok(Smaller { kept, dropped })
    }
}
