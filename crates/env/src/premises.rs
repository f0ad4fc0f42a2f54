//! Facts with how they were declared and written, so that answers can name them.
use super::unsat_core::condition;
use sizewise_expr::range::ValueRange;
use sizewise_expr::read::Read;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, print};
use sizewise_solve::{self as solve, Answer, Budget, Facts, Premise, Verdict, requirements};

/// What an expression requires to have a value, beyond what its canonical form shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requires {
    /// Divisors that must not be zero.
    pub divisors: Vec<Expr>,
    /// Operations other than integer divisions that may have no value.
    pub partial: Vec<Expr>,
}

impl Requires {
    /// What a text requires that was read.
    pub fn of(read: &Read) -> Requires {
        Requires { divisors: read.divisors.clone(), partial: read.dropped.clone() }
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.divisors.is_empty() && self.partial.is_empty()
    }

    /// Adds this to facts.
    pub fn learn(&self, pool: &mut Pool, facts: &mut Facts) {
        for &divisor in &self.divisors {
            facts.exclude_zero(pool, divisor);
        }
        for &operation in &self.partial {
            facts.require_value(pool, operation);
        }
    }

    /// A condition that also says that the operations in its text which construction has cancelled have a value.
    pub fn defined(&self, pool: &mut Pool, condition: Expr) -> Expr {
        let parts = pool.reachable(&[condition]);
        let divides = |part: Expr, d: Expr| match pool.as_call(part) {
            Some((Func::FloorDiv | Func::Mod, args)) => args[1] == d,
            _ => false,
        };
        let is_cancelled = |d: &&Expr| !parts.iter().any(|&part| divides(part, **d));
        let cancelled: Vec<Expr> = self.divisors.iter().filter(is_cancelled).copied().collect();
        let mut all = vec![condition];
        for divisor in cancelled {
            all.push(pool.ne(divisor, Expr::ZERO));
        }
        all.extend(requirements(pool, &self.partial));
        pool.and(&all)
    }
}

/// A symbol with the bounds that were declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declared {
    /// The symbol.
    pub symbol: Symbol,
    /// Its least value.
    pub min: Option<Int>,
    /// Its greatest value.
    pub max: Option<Int>,
}

/// Facts, with the bounds and the texts by which answers name them. The pool of the expressions is kept beside them.
#[derive(Clone, Default)]
pub struct Premises {
    /// The facts, with what was derived from them.
    pub facts: Facts,
    /// The symbols as declared.
    pub declared: Vec<Declared>,
    /// The conditions by number, with their texts; `None` where the expression itself is to be printed.
    pub assumed: Vec<(Expr, Option<String>)>,
}

impl Premises {
    /// No premises but what these facts hold.
    pub fn new(facts: Facts) -> Premises {
        Premises { facts, ..Premises::default() }
    }

    /// Declares a symbol. Declared again, it has both ranges. An empty range is assumed as a condition that never holds.
    pub fn declare(&mut self, pool: &mut Pool, symbol: Symbol, min: Option<Int>, max: Option<Int>) {
        match ValueRange::between_options(min.clone(), max.clone()) {
            Some(range) => self.facts.declare(pool, symbol, range),
            None => {
                let shown = |bound: &Option<Int>| bound.as_ref().map_or("?".to_owned(), Int::to_string);
                let text = format!("{} <= {} <= {}", shown(&min), pool.symbol_name(symbol), shown(&max));
                self.never(pool, text);
            }
        }
        match self.declared.iter_mut().find(|known| known.symbol == symbol) {
            Some(known) => {
                known.min = known.min.take().max(min);
                known.max = [known.max.take(), max].into_iter().flatten().min();
            }
            None => self.declared.push(Declared { symbol, min, max }),
        }
    }

    /// Assumes a condition; without a text it is shown as it is printed.
    pub fn assume(&mut self, pool: &mut Pool, condition: Expr, text: Option<String>) {
        self.facts.assume(pool, condition);
        self.assumed.push((condition, text));
    }

    /// Assumes a condition that never holds, with its text.
    pub fn never(&mut self, pool: &mut Pool, text: String) {
        let never = pool.bool(false);
        self.assume(pool, never, Some(text));
    }

    /// The declared ranges; `None` if one is empty.
    pub fn ranges(&self) -> Option<Vec<(Symbol, ValueRange)>> {
        let range = |known: &Declared| {
            Some((known.symbol, ValueRange::between_options(known.min.clone(), known.max.clone())?))
        };
        self.declared.iter().map(range).collect()
    }

    /// The text of a condition by its number.
    pub fn text(&self, pool: &Pool, number: usize) -> String {
        match self.assumed.get(number) {
            Some((_, Some(text))) => text.clone(),
            Some((condition, None)) => print::expression(pool, *condition),
            None => String::new(),
        }
    }

    /// A premise as text: a condition as it was written, a bound as `2 <= s0`, a divisor as `Ne(s0, 0)`.
    pub fn premise(&self, pool: &Pool, premise: &Premise) -> String {
        let declared = |symbol: &Symbol| self.declared.iter().find(|known| known.symbol == *symbol);
        let shown = |bound: Option<&Int>| bound.map_or("?".to_owned(), Int::to_string);
        match premise {
            Premise::Fact(id) => self.text(pool, id.0 as usize),
            Premise::Lower(s) => {
                format!("{} <= {}", shown(declared(s).and_then(|k| k.min.as_ref())), pool.symbol_name(*s))
            }
            Premise::Upper(s) => {
                format!("{} <= {}", pool.symbol_name(*s), shown(declared(s).and_then(|k| k.max.as_ref())))
            }
            Premise::Nonzero(e) => format!("Ne({}, 0)", print::expression(pool, *e)),
        }
    }

    /// As [`Premises::premise`], with a bound as a condition: `s0 >= 2`.
    pub fn shown(&self, pool: &mut Pool, premise: &Premise) -> String {
        match premise {
            Premise::Fact(id) => self.text(pool, id.0 as usize),
            bound => {
                let bound = condition(pool, &self.facts, bound);
                bound.map_or_else(String::new, |bound| print::expression(pool, bound))
            }
        }
    }

    /// Goes on in a new pool that holds no more than the premises. Handles made before are of no use to them.
    pub fn compact(&mut self, pool: &mut Pool) {
        let mut roots: Vec<Expr> = self.assumed.iter().map(|(condition, _)| *condition).collect();
        self.facts.each_assumed(&mut |e| roots.push(e));
        let (mut new, moved) = pool.compacted(&roots);
        self.facts = self.facts.moved(&mut new, &moved);
        for (condition, _) in &mut self.assumed {
            *condition = moved.get(*condition).unwrap_or(*condition);
        }
        *pool = new;
    }

    /// Premises that contradict each other, if that is found. There has to be an assumption.
    pub fn contradiction(&mut self, pool: &mut Pool) -> Option<Vec<Premise>> {
        if self.assumed.is_empty() {
            return None;
        }
        let (never, budget) = (pool.bool(false), Budget::small());
        match solve::decide(pool, &mut self.facts, never, &budget).verdict {
            Verdict::Inconsistent { because } => {
                Some(solve::minimal_unsat_core(pool, &self.facts, &because, &budget))
            }
            _ => None,
        }
    }
}

/// Leaves out premises of an answer that are not needed.
pub fn narrow(pool: &mut Pool, facts: &Facts, goal: Expr, budget: &Budget, answer: &mut Answer) {
    match &mut answer.verdict {
        Verdict::Implied { because } => *because = solve::narrow(pool, facts, Some(goal), because),
        Verdict::Inconsistent { because } => {
            *because = solve::minimal_unsat_core(pool, facts, because, budget);
        }
        Verdict::Refuted { .. } | Verdict::Unknown { .. } => {}
    }
}
