//! Questions that are answered in full: with witnesses, reasons and texts.
use crate::facts::State;
use sizewise::decide::egraph::Reading;
use sizewise::decide::{self as solve, Answer, Bounds, Budget, Facts, Premise, Trace, Verdict, requirements};
use sizewise::expr::text::size;
use sizewise::expr::{Expr, Func, Int, Pool, Symbol, print};
use sizewise::range::ValueRange;

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
        let declared = |s: &Symbol| self.facts.range(*s).is_some();
        let all_declared = self.pool.free_symbols(&[e]).iter().all(declared);
        if all_declared && requires.divisors.is_empty() && requires.partial.is_empty() {
            return Ok(ask(&mut self.pool, &mut self.facts, e));
        }
        let mut facts = self.facts.clone();
        for divisor in requires.divisors {
            facts.exclude_zero(&mut self.pool, divisor);
        }
        for operation in requires.partial {
            facts.require_value(&mut self.pool, operation);
        }
        Ok(ask(&mut self.pool, &mut facts, e))
    }

    /// Do the facts imply a condition?
    pub fn implies(&mut self, number: usize, budget: &Budget) -> Result<Implied, String> {
        let answer = self.under(number, |pool, facts, goal| {
            solve::prepare(pool, facts, budget);
            let mut answer = solve::decide(pool, facts, goal, budget);
            match &mut answer.verdict {
                Verdict::Implied { because } => *because = solve::narrow(pool, facts, Some(goal), because),
                Verdict::Inconsistent { because } => {
                    *because = solve::minimal_unsat_core(pool, facts, because, budget);
                }
                _ => {}
            }
            answer
        })?;
        Ok(self.written(&answer))
    }

    fn written(&self, answer: &Answer) -> Implied {
        let texts = |because: &[Premise]| because.iter().map(|premise| self.premise(premise)).collect();
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
        Implied { verdict, witness, because, decided_by: answer.decided_by.name(), reason }
    }

    /// A premise as text.
    fn premise(&self, premise: &Premise) -> String {
        let declared = |symbol: &Symbol| self.symbols.iter().find(|known| known.symbol == *symbol);
        let shown = |bound: Option<&Int>| bound.map_or("?".to_string(), Int::to_string);
        match premise {
            Premise::Fact(id) => match self.texts.get(id.0 as usize) {
                Some((_, Some(text))) => text.clone(),
                Some((e, None)) => print::expression(&self.pool, *e),
                None => String::new(),
            },
            Premise::Lower(s) => {
                let least = shown(declared(s).and_then(|known| known.min.as_ref()));
                format!("{least} <= {}", self.pool.symbol_name(*s))
            }
            Premise::Upper(s) => {
                let greatest = shown(declared(s).and_then(|known| known.max.as_ref()));
                format!("{} <= {greatest}", self.pool.symbol_name(*s))
            }
            Premise::Nonzero(e) => format!("Ne({}, 0)", print::expression(&self.pool, *e)),
        }
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
            shortest(pool, simple, written)
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
            conditions.push(self.defined(*number)?);
        }
        let range = |known: &crate::facts::Declared| {
            Some((known.symbol, ValueRange::between_options(known.min.clone(), known.max.clone())?))
        };
        let Some(ranges) = self.symbols.iter().map(range).collect::<Option<Vec<_>>>() else {
            return Ok(Smaller { kept: vec!["False".to_string()], dropped: Vec::new() });
        };
        let smaller = solve::minimize(&mut self.pool, &ranges, &conditions, budget);
        let text_of = |i: usize| guards.get(i).and_then(|(_, text)| text.as_deref());
        let mut kept = Vec::with_capacity(smaller.kept.len());
        for &guard in &smaller.kept {
            let written = conditions.iter().position(|&c| c == guard).and_then(text_of);
            kept.push(shortest(&mut self.pool, guard, written));
        }
        let mut said = Vec::with_capacity(smaller.said.len());
        for (i, &e) in smaller.said.iter().enumerate() {
            let given = text_of(i).filter(|_| conditions.get(i) == Some(&e));
            said.push(given.map_or_else(|| shortest(&mut self.pool, e, None), str::to_string));
        }
        let premise = |premise: &Premise| match premise {
            Premise::Fact(id) => said.get(id.0 as usize).cloned().unwrap_or_default(),
            other => self.premise(other),
        };
        let dropped = smaller.dropped.iter();
        let dropped = dropped.map(|(i, because)| (*i, because.iter().map(premise).collect())).collect();
        Ok(Smaller { kept, dropped })
    }

    /// A condition that also says that what construction has cancelled has a value.
    fn defined(&mut self, number: usize) -> Result<Expr, String> {
        let requires = self.term(number)?.requirements(&self.pool);
        let condition = self.expr(number)?;
        let parts = self.pool.reachable(&[condition]);
        let divides = |part: Expr, d: Expr| match self.pool.as_call(part) {
            Some((Func::FloorDiv | Func::Mod, args)) => args[1] == d,
            _ => false,
        };
        let is_cancelled = |d: &Expr| !parts.iter().any(|&part| divides(part, *d));
        let cancelled: Vec<Expr> = requires.divisors.into_iter().filter(is_cancelled).collect();
        let mut all = vec![condition];
        for divisor in cancelled {
            all.push(self.pool.ne(divisor, Expr::ZERO));
        }
        all.extend(requirements(&mut self.pool, &requires.partial));
        Ok(self.pool.and(&all))
    }
}

/// The shortest text found for an expression, or the text that it had if that has fewer operators.
fn shortest(pool: &mut Pool, e: Expr, written: Option<&str>) -> String {
    let mut reading = Reading::new();
    let fewest = reading.operators(pool, e);
    let written = written.filter(|text| size::operators(text).is_some_and(|n| n < fewest));
    written.map_or_else(|| reading.text(pool, e), |text| text.trim().to_string())
}
