//! The least and the greatest value of expressions over all allowed inputs. Each is found once.
use super::at::{self, At};
use super::{Sizing, SizingError};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::spec::InputSizes;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Evaluator, Expr, Int, Symbol};
use sizewise_solve::{Budget, Verdict, Witness, bounds_from, decide, greatest, replays};
use std::rc::Rc;

/// Symbols that are moved to their ends one by one, to find where an expression is greatest.
const MAX_MOVED: usize = 12;
/// Assignments that are kept to begin from.
const MAX_STARTS: usize = 8;
/// The work ([`sizewise_solve::Work::effort`], about microseconds) after which questions get small budgets, and after
/// which ranges alone answer.
const MUCH_WORK: u64 = 4_000_000;
const MOST_WORK: u64 = 12_000_000;

/// The least or the greatest value of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The value, which nothing exceeds; `None` if there is none, or none was found.
    pub value: Option<Int>,
    /// The number of the assignment that attains it.
    pub(super) at: Option<usize>,
    /// Whether it is settled: the value is attained, the same everywhere, or proved not to exist.
    pub is_settled: bool,
}

/// Both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The least value.
    pub min: End,
    /// The greatest.
    pub max: End,
}

/// Assignments that attain something, and whether the program takes them, once that was asked.
#[derive(Default)]
pub(super) struct Assignments {
    all: Vec<(Witness, Option<bool>)>,
    numbers: FxHashMap<Witness, usize>,
}

impl Assignments {
    /// The number of an assignment.
    fn number(&mut self, witness: Witness) -> usize {
        let Assignments { all, numbers } = self;
        *numbers.entry(witness).or_insert_with_key(|witness| {
            all.push((witness.clone(), None));
            all.len() - 1
        })
    }
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Known {
    ends: FxHashMap<Expr, Rc<Ends>>,
    starts: Vec<Witness>,
    symbols: FxHashMap<Symbol, (Option<Int>, Option<Int>)>,
    /// Sizes that data decide, with the only number that each can be, if there is one.
    only: FxHashMap<Symbol, Option<Int>>,
}

impl Known {
    /// Nothing but some allowed inputs to begin from: one, and those of the least and of the greatest sizes where these
    /// are allowed.
    ///
    /// # Errors
    /// When no input is allowed, or none is found.
    pub fn new(env: &mut ShapeEnv, inputs: &[InputSizes]) -> Result<Known, SizingError> {
        let mut known = Known::default();
        let sizes: Vec<Expr> = inputs
            .iter()
            .flat_map(|input| input.allowed.iter().flatten().copied().chain(input.scalar))
            .collect();
        // Symbols that were not declared are declared by this question.
        let zero = Expr::ZERO;
        let mut conditions: Vec<Expr> = Vec::new();
        for input in inputs {
            for &size in input.allowed.iter().flatten() {
                conditions.push(env.pool.ge(size, zero));
            }
        }
        conditions.into_iter().for_each(|condition| env.assume(condition));
        let never = env.pool.bool(false);
        let (pool, facts) = env.facts();
        let base = match decide(pool, facts, never, &Budget::default()).verdict {
            Verdict::Refuted { witness } => witness,
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => {
                return Err(SizingError::Nothing);
            }
            Verdict::Unknown { reason } => {
                return Err(SizingError::Unanswered(format!("no allowed input was found: {reason}")));
            }
        };
        let symbols = pool.free_symbols(&sizes);
        let declared: FxHashSet<Symbol> = facts.ranges().map(|(symbol, ..)| symbol).collect();
        for symbol in declared.into_iter().chain(symbols) {
            let e = pool.symbol_expr(symbol);
            let range = facts.domain(pool, e).range;
            known.symbols.insert(symbol, (range.lower(), range.upper()));
        }
        known.starts.push(base.clone());
        for is_least in [true, false] {
            let end = |(symbol, value): &(Symbol, Int)| {
                let (low, high) = known.symbols.get(symbol).cloned().unwrap_or_default();
                let end = if is_least { low } else { high };
                (*symbol, end.unwrap_or_else(|| value.clone()))
            };
            let start: Witness = base.iter().map(end).collect();
            if replays(pool, facts, None, &start) && !known.starts.contains(&start) {
                known.starts.push(start);
            }
        }
        Ok(known)
    }

    /// Keeps an assignment to begin from.
    fn begin_at(&mut self, witness: &Witness) {
        if self.starts.len() < MAX_STARTS && !self.starts.contains(witness) {
            self.starts.push(witness.clone());
        }
    }
}

fn value_at(env: &ShapeEnv, e: Expr, witness: &Witness) -> Option<Int> {
    Evaluator::new(&env.pool, |symbol| at::value_in(witness, symbol)).int(e).ok()
}

impl Sizing<'_> {
    /// The least and the greatest value of an expression.
    pub fn ends(&mut self, e: Expr) -> Rc<Ends> {
        if let Some(known) = self.known.ends.get(&e) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.find(e));
        self.known.ends.insert(e, Rc::clone(&found));
        found
    }

    fn find(&mut self, e: Expr) -> Ends {
        if let Some(value) = self.env.pool.as_int(e) {
            let end = End { value: Some(value), at: None, is_settled: true };
            return Ends { min: end.clone(), max: end };
        }
        if self.is_open(e) {
            return self.open_ends(e);
        }
        let work = self.effort() + self.elsewhere;
        if work > MOST_WORK {
            let (min, max) = self.env.bounds(e);
            let end = |value| End { value, ..End::default() };
            return Ends { min: end(min), max: end(max) };
        }
        let budget = if work > MUCH_WORK { Budget::small() } else { Budget::default() };
        let starts = [self.far(e, false), self.far(e, true)];
        let (pool, facts) = self.env.facts();
        let found = bounds_from(pool, facts, e, &starts, &budget);
        let mut end = |value: Option<Int>, at: Option<Witness>| {
            let is_settled = at.is_some() || (value.is_none() && found.exact);
            let at = at.map(|at| {
                self.known.begin_at(&at);
                self.assignments.number(at)
            });
            End { value, at, is_settled }
        };
        Ends { min: end(found.min, found.min_at), max: end(found.max, found.max_at) }
    }

    /// The work that was done with what is known.
    pub(super) fn effort(&self) -> u64 {
        self.env.known_facts().work().effort()
    }

    /// The same expression with the numbers of those sizes in place that data decide, but that can be one number only.
    pub(super) fn settled(&mut self, e: Expr) -> Expr {
        let Sizing { env, open: Some(open), known, .. } = self else { return e };
        let Known { symbols, only, .. } = known;
        let decided = env.pool.free_symbols(&[e]).into_iter().filter(|symbol| !symbols.contains_key(symbol));
        for symbol in decided {
            only.entry(symbol).or_insert_with(|| {
                let symbol = open.pool.symbol_expr(symbol);
                let (low, high) = open.bounds(symbol);
                low.filter(|low| high.as_ref() == Some(low))
            });
        }
        let of = |symbol| only.get(&symbol).cloned().flatten();
        let numbers: FxHashMap<Symbol, Expr> = env
            .pool
            .free_symbols(&[e])
            .into_iter()
            .filter_map(|symbol| Some((symbol, of(symbol)?)))
            .map(|(symbol, number)| (symbol, env.pool.int(number)))
            .collect();
        if numbers.is_empty() {
            return e;
        }
        env.pool.substitute_symbols(e, |symbol| numbers.get(&symbol).copied())
    }

    /// Whether data decide something of an expression.
    pub(super) fn is_open(&self, e: Expr) -> bool {
        self.env.pool.free_symbols(&[e]).iter().any(|&symbol| !self.is_of_inputs(symbol))
    }

    /// Whether sizes of inputs decide a symbol.
    pub(super) fn is_of_inputs(&self, symbol: Symbol) -> bool {
        self.known.symbols.contains_key(&symbol)
    }

    /// Bounds of what data decide.
    fn open_ends(&mut self, e: Expr) -> Ends {
        let Some(env) = &mut self.open else { return Ends::default() };
        let negated = env.pool.neg(e);
        let (pool, facts) = env.facts();
        let small = Budget::small();
        let max = greatest(pool, facts, e, &small);
        let min = greatest(pool, facts, negated, &small).map(|least| -least);
        let is_settled = min.is_some() && min == max;
        let end = |value| End { value, at: None, is_settled };
        Ends { min: end(min), max: end(max) }
    }

    /// An allowed assignment at which an expression is large, or small: the best one of those to begin from, its symbols
    /// moved to their ends.
    fn far(&mut self, e: Expr, is_greatest: bool) -> Witness {
        let better = |a: &Int, b: &Int| if is_greatest { a > b } else { a < b };
        let mut best: Option<(Int, Witness)> = None;
        for start in &self.known.starts {
            let Some(value) = value_at(&self.env, e, start) else { continue };
            if best.as_ref().is_none_or(|(known, _)| better(&value, known)) {
                best = Some((value, start.clone()));
            }
        }
        let Some((mut value, mut witness)) = best else { return Witness::new() };
        let symbols = self.env.pool.free_symbols(&[e]);
        if symbols.len() > MAX_MOVED {
            return witness;
        }
        for symbol in symbols.iter().chain(&symbols) {
            let (low, high) = self.known.symbols.get(symbol).cloned().unwrap_or_default();
            for end in [low, high].into_iter().flatten() {
                let moved: Witness = witness
                    .iter()
                    .map(|(s, v)| (*s, if s == symbol { end.clone() } else { v.clone() }))
                    .collect();
                let Some(there) = value_at(&self.env, e, &moved) else { continue };
                if !better(&there, &value) {
                    continue;
                }
                let (pool, facts) = self.env.facts();
                if replays(pool, facts, None, &moved) {
                    (value, witness) = (there, moved);
                }
            }
        }
        witness
    }

    /// Whether the program takes the inputs of an assignment. It is run once.
    pub(super) fn is_taken(&mut self, number: usize) -> bool {
        if let Some(known) = self.assignments.all[number].1 {
            return known;
        }
        let taken = self.at(number).is_some_and(|at| (self.replay)(&at));
        self.assignments.all[number].1 = Some(taken);
        taken
    }

    /// The inputs of an assignment.
    pub(super) fn at(&self, number: usize) -> Option<At> {
        self.inputs_at(&self.assignments.all[number].0)
    }

    /// The inputs at an assignment.
    pub(super) fn inputs_at(&self, witness: &Witness) -> Option<At> {
        at::at(&self.env, &self.inputs, witness)
    }

    /// An assignment with sizes that are chosen between a least and a greatest one, or those of an allowed one, if it is
    /// allowed.
    pub fn allowed_at(&mut self, choose: &mut dyn FnMut(i64, i64) -> i64) -> Option<Witness> {
        const FAR: i64 = 1_000;
        let last = self.known.starts.len().saturating_sub(1) as i64;
        let start = usize::try_from(choose(0, last)).unwrap_or(0);
        // How often a size stays: never, or up to three times of four.
        let kept = choose(0, 3);
        let witness: Witness = self.known.starts[start]
            .iter()
            .map(|(symbol, value)| {
                let (low, high) = self.known.symbols.get(symbol).cloned().unwrap_or_default();
                let low = low.and_then(|low| low.to_i64());
                let high = high.map_or_else(|| low.map(|low| low.saturating_add(FAR)), |high| high.to_i64());
                let chosen = low.zip(high).map(|(low, high)| Int::from(choose(low, high.max(low))));
                let chosen = chosen.filter(|_| choose(0, 3) >= kept);
                (*symbol, chosen.unwrap_or_else(|| value.clone()))
            })
            .collect();
        let (pool, facts) = self.env.facts();
        replays(pool, facts, None, &witness).then_some(witness)
    }

    /// The allowed assignments of the least and of the greatest sizes, where there are such.
    pub(super) fn starts(&self) -> &[Witness] {
        &self.known.starts
    }

    /// The least and the greatest value of a symbol.
    pub(super) fn range(&self, symbol: Symbol) -> (Option<Int>, Option<Int>) {
        self.known.symbols.get(&symbol).cloned().unwrap_or_default()
    }
}
