//! What an environment holds: expressions by number, facts, and the texts of assumptions.
use crate::term::Term;
use sizewise::env::{Premises, Requires};
use sizewise::expr::{Expr, Int, Pool, Sort, Symbol, print};
use sizewise::solve::{self, Budget, Facts};

/// Something that was added.
#[derive(Clone, Debug)]
enum Fact {
    Bounds(Symbol, Option<Int>, Option<Int>),
    Hint(Symbol, Int),
    Required(Requires),
    Holds(Expr, Option<String>),
}

/// The state of an environment.
#[derive(Clone, Default)]
pub struct State {
    /// The expressions.
    pub pool: Pool,
    /// The facts, with what was derived from them, and how they are said.
    pub premises: Premises,
    terms: Vec<Term>,
    log: Vec<Fact>,
    for_verdicts: bool,
}

impl State {
    /// No facts, to be asked for verdicts alone.
    pub fn for_verdicts() -> State {
        State { premises: Premises::new(Facts::for_verdicts()), for_verdicts: true, ..State::default() }
    }

    /// A copy whose expressions are its own from here on.
    pub fn branch(&self) -> State {
        State { pool: self.pool.branch(), ..self.clone() }
    }

    /// Numbers a term.
    pub fn keep(&mut self, term: Term) -> usize {
        self.terms.push(term);
        self.terms.len() - 1
    }

    /// The term of a number.
    pub fn term(&self, number: usize) -> Result<&Term, String> {
        self.terms.get(number).ok_or_else(|| format!("there is no expression {number}"))
    }

    /// The expression of a number.
    pub fn expr(&self, number: usize) -> Result<Expr, String> {
        self.term(number)?
            .expr()
            .ok_or_else(|| "infinity or a pair where an expression is expected".to_string())
    }

    /// Applies a function to terms.
    pub fn apply(&mut self, name: &str, operands: &[usize]) -> Result<usize, String> {
        let mut terms = Vec::with_capacity(operands.len());
        for &operand in operands {
            terms.push(self.terms.get(operand).ok_or_else(|| format!("there is no expression {operand}"))?);
        }
        let term = Term::apply(&mut self.pool, name, &terms)?;
        Ok(self.keep(term))
    }

    /// Declares the range of a symbol, and its value in the example.
    pub fn declare(
        &mut self,
        number: usize,
        min: Option<Int>,
        max: Option<Int>,
        hint: Option<Int>,
    ) -> Result<(), String> {
        let e = self.expr(number)?;
        let symbol = self.pool.as_symbol(e).ok_or("not a symbol")?;
        if self.pool.sort(e) != Sort::Int && (min.is_some() || max.is_some()) {
            return Err("only integers have ranges here; assume a condition instead".to_string());
        }
        self.add(Fact::Bounds(symbol, min, max));
        if let Some(hint) = hint {
            self.add(Fact::Hint(symbol, hint));
        }
        Ok(())
    }

    /// Assumes a condition, and what it requires to have a value.
    pub fn assume(&mut self, number: usize, text: Option<String>) -> Result<usize, String> {
        let term = self.term(number)?;
        let requires = term.requirements(&self.pool);
        let e = self.expr(number)?;
        self.add(Fact::Required(requires));
        self.add(Fact::Holds(e, text));
        Ok(self.premises.assumed.len() - 1)
    }

    fn add(&mut self, fact: Fact) {
        fact.learn(&mut self.pool, &mut self.premises);
        self.log.push(fact);
    }

    /// Derives everything anew, after work on the facts was cancelled.
    pub fn rebuild(&mut self) {
        let facts = if self.for_verdicts { Facts::for_verdicts() } else { Facts::new() };
        self.premises = Premises::new(facts);
        for fact in &self.log {
            fact.learn(&mut self.pool, &mut self.premises);
        }
    }

    /// What is known of a condition without reasoning.
    pub fn known(&mut self, number: usize) -> Result<Option<bool>, String> {
        let e = self.expr(number)?;
        Ok(solve::known(&mut self.pool, &mut self.premises.facts, e))
    }

    /// Whether a condition is always true or always false under the facts, and by what that was found.
    /// It is not asked whether facts about other symbols contradict each other, and no reason is sought.
    pub fn settle(&mut self, number: usize, budget: &Budget) -> Result<(Option<bool>, &'static str), String> {
        let goal = self.expr(number)?;
        let (value, means) = solve::settle(&mut self.pool, &mut self.premises.facts, goal, budget);
        Ok((value, means.name()))
    }

    /// The text of an expression.
    pub fn text(&self, e: Expr) -> Result<String, String> {
        print::try_expression(&self.pool, e)
            .map_err(|_| "the expression is too long to be written".to_string())
    }
}

impl Fact {
    fn learn(&self, pool: &mut Pool, premises: &mut Premises) {
        match self {
            Fact::Bounds(symbol, min, max) => premises.declare(pool, *symbol, min.clone(), max.clone()),
            Fact::Hint(symbol, value) => premises.facts.hint(*symbol, value.clone()),
            Fact::Required(requires) => requires.learn(pool, &mut premises.facts),
            Fact::Holds(e, text) => premises.assume(pool, *e, text.clone()),
        }
    }
}
