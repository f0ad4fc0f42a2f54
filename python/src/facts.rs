//! What an environment holds: expressions by number, facts, and the texts of assumptions.
use crate::term::Term;
use sizewise::decide::{self as solve, Budget, Facts};
use sizewise::expr::{Expr, Int, Pool, Sort, Symbol, print};
use sizewise::range::ValueRange;

/// Something that was added.
#[derive(Clone, Debug)]
enum Fact {
    Range(Symbol, ValueRange),
    Hint(Symbol, Int),
    Nonzero(Expr),
    Defined(Expr),
    Holds(Expr),
}

/// The declared bounds of a symbol.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The symbol.
    pub symbol: Symbol,
    /// Its least value.
    pub min: Option<Int>,
    /// Its greatest value.
    pub max: Option<Int>,
}

/// The state of an environment.
#[derive(Clone, Default)]
pub struct State {
    /// The expressions.
    pub pool: Pool,
    /// The facts, with what was derived from them.
    pub facts: Facts,
    /// The symbols that were declared.
    pub symbols: Vec<Declared>,
    /// The texts of the assumptions by their numbers; `None` where the expression itself is to be printed.
    pub texts: Vec<(Expr, Option<String>)>,
    terms: Vec<Term>,
    log: Vec<Fact>,
    for_verdicts: bool,
}

impl State {
    /// No facts, to be asked for verdicts alone.
    pub fn for_verdicts() -> State {
        State { facts: Facts::for_verdicts(), for_verdicts: true, ..State::default() }
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
        match ValueRange::between_options(min.clone(), max.clone()) {
            Some(range) => self.add(Fact::Range(symbol, range)),
            None => {
                let shown = |bound: &Option<Int>| bound.as_ref().map_or("?".to_string(), Int::to_string);
                let text = format!("{} <= {} <= {}", shown(&min), self.pool.symbol_name(symbol), shown(&max));
                let never = self.pool.bool(false);
                self.assume_expr(never, Some(text));
            }
        }
        match self.symbols.iter_mut().find(|known| known.symbol == symbol) {
            Some(known) => {
                known.min = known.min.take().max(min);
                known.max = [known.max.take(), max].into_iter().flatten().min();
            }
            None => self.symbols.push(Declared { symbol, min, max }),
        }
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
        for divisor in requires.divisors {
            self.add(Fact::Nonzero(divisor));
        }
        for operation in requires.partial {
            self.add(Fact::Defined(operation));
        }
        self.assume_expr(e, text);
        Ok(self.texts.len() - 1)
    }

    fn assume_expr(&mut self, e: Expr, text: Option<String>) {
        self.texts.push((e, text));
        self.add(Fact::Holds(e));
    }

    fn add(&mut self, fact: Fact) {
        learn(&mut self.pool, &mut self.facts, &fact);
        self.log.push(fact);
    }

    /// Derives everything anew, after work on the facts was cancelled.
    pub fn rebuild(&mut self) {
        self.facts = if self.for_verdicts { Facts::for_verdicts() } else { Facts::new() };
        for fact in &self.log {
            learn(&mut self.pool, &mut self.facts, fact);
        }
    }

    /// What is known of a condition without reasoning.
    pub fn known(&mut self, number: usize) -> Result<Option<bool>, String> {
        let e = self.expr(number)?;
        Ok(solve::known(&mut self.pool, &mut self.facts, e))
    }

    /// Whether a condition is always true or always false under the facts, and by what that was found.
    /// It is not asked whether facts about other symbols contradict each other, and no reason is sought.
    pub fn settle(&mut self, number: usize, budget: &Budget) -> Result<(Option<bool>, &'static str), String> {
        let goal = self.expr(number)?;
        let (value, means) = solve::settle(&mut self.pool, &mut self.facts, goal, budget);
        Ok((value, means.name()))
    }

    /// The text of an expression.
    pub fn text(&self, e: Expr) -> Result<String, String> {
        print::try_expression(&self.pool, e)
            .map_err(|_| "the expression is too long to be written".to_string())
    }
}

fn learn(pool: &mut Pool, facts: &mut Facts, fact: &Fact) {
    match fact {
        Fact::Range(symbol, range) => facts.declare(pool, *symbol, range.clone()),
        Fact::Hint(symbol, value) => facts.hint(*symbol, value.clone()),
        Fact::Nonzero(e) => facts.exclude_zero(pool, *e),
        Fact::Defined(e) => facts.require_value(pool, *e),
        Fact::Holds(e) => {
            facts.assume(pool, *e);
        }
    }
}
