//! Named dimensions that torch.export refuses because of a guard, although the spec implies it.
//!
//! When an export ends, torch looks at each guard again (`ShapeEnv.produce_guards` of torch 2.15). It drops a guard that
//! interval arithmetic proves within the ranges of the spec, no size being below 2 (`_maybe_evaluate_static`); and one that
//! holds whatever the size once each `//` and `%` has the remainder of the example (`DimConstraints.add`). A guard on one
//! size that is left over is a violation if the size is that of a named dimension, even if it holds for the entire range.
//! So is a size that is computed from a named dimension, unless the spec says so.
//! Guards on several sizes are none, nor are those on a number that only derived dimensions are computed from.
//! Of an equation that divides what is itself made of a remainder (`(n + (-n) % 8) // 8`: a size padded to a multiple), torch
//! records parts that an archive does not hold, and looks at those.
use crate::spec::{Assumptions, Contract, DemandKind, Spec};
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Abstract, Domain, DomainTable, ValueRange, transfer};
use sizewise_expr::{Expr, Func, Int, Poly, Pool, Symbol, Value};
use sizewise_solve::{Budget, decide};

/// The least size that torch.export takes a dynamic size to have.
const LEAST: i64 = 2;
/// Guards of more parts than this count as not proved.
const MAX_PARTS: usize = 512;

/// A named dimension that torch.export refuses.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// Its name.
    pub name: String,
    /// Its range in the spec.
    pub min: i64,
    pub max: Option<i64>,
    /// What torch refuses it for.
    pub why: Reason,
}

/// Why torch.export refuses a named dimension.
#[derive(Clone, Debug)]
pub(crate) enum Reason {
    /// It does not prove this guard for the entire range.
    Guard(Expr),
    /// The size that stands there is computed from it, and the spec leaves that to torch.
    Computed(String),
}

/// The named dimensions of a spec that torch.export refuses.
pub(crate) fn refused(assumptions: &mut Assumptions, contract: &Contract, spec: &Spec) -> Vec<Refused> {
    let guards = assumptions.demands.iter().filter(|demand| demand.kind == DemandKind::Guard);
    let guards: Vec<Expr> = guards.map(|guard| guard.condition).collect();
    let mut reasons: Vec<(Symbol, Reason)> = Vec::new();
    for guard in guards {
        let symbols = match assumptions.env.pool.free_symbols(&[guard]).as_slice() {
            &[symbol] if is_left_over(assumptions, guard, symbol) => vec![symbol],
            _ => divided_remainders(assumptions, guard),
        };
        reasons.extend(symbols.into_iter().map(|symbol| (symbol, Reason::Guard(guard))));
    }
    for (path, recorded) in spec.inferred(contract) {
        let size = assumptions.records.translate(&mut assumptions.env, recorded);
        let pool = &assumptions.env.pool;
        if let (None, &[symbol]) = (pool.as_symbol(size), pool.free_symbols(&[size]).as_slice()) {
            reasons.push((symbol, Reason::Computed(path)));
        }
    }
    let mut refused: Vec<Refused> = Vec::new();
    for (symbol, why) in reasons {
        let Some(name) = assumptions.dims.get(&symbol).filter(|_| is_named(assumptions, symbol)) else {
            continue;
        };
        if refused.iter().all(|known| known.name != *name) {
            let range = assumptions.env.known_facts().range(symbol);
            let end = |end: Option<Int>| end.and_then(|end| end.to_i64());
            let (min, max) = range.map(|range| (end(range.lower()), end(range.upper()))).unwrap_or_default();
            refused.push(Refused { name: name.clone(), min: min.unwrap_or(0), max, why });
        }
    }
    refused
}

/// Whether a named dimension is the size of an input, and not only what others are multiples of.
fn is_named(assumptions: &Assumptions, symbol: Symbol) -> bool {
    let pool = &assumptions.env.pool;
    let is_size = |size: &Expr| {
        let poly = pool.poly(*size);
        matches!(poly.terms.as_slice(), [(of, factor)] if factor.is_one() && pool.as_symbol(*of) == Some(symbol))
    };
    assumptions.dims.contains_key(&symbol)
        && assumptions.inputs.iter().flat_map(|input| input.allowed.iter().flatten()).any(is_size)
}

/// Whether torch keeps a guard on one size.
fn is_left_over(assumptions: &mut Assumptions, guard: Expr, symbol: Symbol) -> bool {
    let known = assumptions.env.known_facts().range(symbol).cloned().unwrap_or_else(ValueRange::all);
    let hint = assumptions.env.symbol(symbol).and_then(|info| info.hint.as_ref()?.as_int());
    let pool = &mut assumptions.env.pool;
    if pool.reachable(&[guard]).len() > MAX_PARTS {
        return true;
    }
    let Some(range) = known.meet(&ValueRange::at_least(Int::from(LEAST))) else { return true };
    if is_proved(pool, guard, symbol, &range) {
        return false;
    }
    hint.and_then(|hint| at_example(pool, guard, symbol, &hint)).and_then(|rest| pool.as_bool(rest))
        != Some(true)
}

/// Whether interval arithmetic proves a condition. torch counts a size from its least value, so that what grows with it
/// grows with a number that is 1 at least.
fn is_proved(pool: &mut Pool, condition: Expr, symbol: Symbol, range: &ValueRange) -> bool {
    let offset = &range.lower().unwrap_or_default() - &Int::ONE;
    let shift = pool.int(offset.clone());
    let counted = pool.symbol_expr(symbol);
    let size = pool.add(counted, shift);
    let shifted = pool.substitute_symbols(condition, |s| (s == symbol).then_some(size));
    let range = range.add_int(&-offset);
    truth(pool, shifted, &range) == Some(true)
}

fn truth(pool: &Pool, condition: Expr, range: &ValueRange) -> Option<bool> {
    if let Some(known) = pool.as_bool(condition) {
        return Some(known);
    }
    let mut intervals = Intervals { pool, range, known: FxHashMap::default() };
    sizewise_expr::range::truth(&intervals.of(condition)?.to_domain())
}

/// The intervals of expressions of one symbol, the parts of which count as independent.
struct Intervals<'a> {
    pool: &'a Pool,
    range: &'a ValueRange,
    known: FxHashMap<Expr, Abstract>,
}

impl Intervals<'_> {
    /// `None` if the expression has no value.
    fn of(&mut self, e: Expr) -> Option<Abstract> {
        if let Some(known) = self.known.get(&e) {
            return Some(known.clone());
        }
        // What is none of these is like any number.
        self.known.insert(e, Abstract::Int(Domain::all()));
        let found = if self.pool.as_symbol(e).is_some() {
            Abstract::Int(self.range.clone().into())
        } else if let Some((func, operands)) = self.pool.as_call(e) {
            let operands: Vec<Abstract> =
                operands.iter().map(|&operand| self.of(operand)).collect::<Option<_>>()?;
            match self.pool.as_func(e, Func::Mod) {
                Some(&[a, b]) if self.is_less(a, b) => self.of(a)?,
                _ if self.pool.may_be_integer(e) => transfer::call_on_either(func, &operands)?,
                _ => transfer::call(func, &operands)?,
            }
        } else if self.pool.as_float(e).is_some() {
            Abstract::Float(DomainTable::new().float_range(self.pool, e))
        } else {
            self.of_poly(&self.pool.poly(e))?
        };
        // torch knows no residues.
        let found = match found {
            Abstract::Int(domain) => Abstract::Int(domain.range.into()),
            float => float,
        };
        self.known.insert(e, found.clone());
        Some(found)
    }

    /// Whether `0 <= a < b`, the difference being taken as one expression: `a % b` is `a` then.
    fn is_less(&mut self, a: Expr, b: Expr) -> bool {
        let difference = self.pool.poly(b).add_scaled(&self.pool.poly(a), &-Int::ONE);
        let is_at_least = |found: Option<Abstract>, least: Int| {
            found.and_then(|found| found.to_domain().range.lower()).is_some_and(|low| low >= least)
        };
        is_at_least(self.of(a), Int::ZERO) && is_at_least(self.of_poly(&difference), Int::ONE)
    }

    fn of_poly(&mut self, poly: &Poly) -> Option<Abstract> {
        let mut terms = Vec::with_capacity(poly.terms.len());
        for (monomial, factor) in &poly.terms {
            let factors = self.pool.monomial(*monomial);
            let factors = factors.iter().map(|(atom, power)| Some((self.of(*atom)?.to_domain(), *power)));
            let factors: Vec<(Domain, u32)> = factors.collect::<Option<_>>()?;
            let product = transfer::product(factors.iter().map(|(domain, power)| (domain, *power)))?;
            terms.push((Domain::from(product.range), factor));
        }
        let sum = transfer::sum(&poly.constant, terms.iter().map(|(domain, factor)| (domain, *factor)));
        sum.map(Abstract::Int)
    }
}

/// A condition with the remainder of the example in the place of each `%`, and of what each `//` leaves. `None` if a remainder is
/// another one at other sizes, which torch takes as a further guard.
fn at_example(pool: &mut Pool, e: Expr, symbol: Symbol, example: &Int) -> Option<Expr> {
    let divisions = |pool: &Pool, e: Expr| -> Vec<Expr> {
        let parts = pool.reachable(&[e]).into_iter();
        parts.filter(|&part| matches!(pool.as_call(part), Some((Func::FloorDiv | Func::Mod, _)))).collect()
    };
    let mut rest = e;
    // The innermost ones first; each round has one less.
    for _ in 0..divisions(pool, e).len() {
        let innermost = divisions(pool, rest).into_iter().find(|&part| divisions(pool, part).len() == 1);
        let Some(part) = innermost else { break };
        let (func, operands) = pool.as_call(part)?;
        let (&[dividend, divisor], is_quotient) = (operands, func == Func::FloorDiv) else { return None };
        let remainder = pool.modulo(dividend, divisor);
        let at =
            pool.eval(remainder, |s| (s == symbol).then(|| Value::Int(example.clone()))).ok()?.as_int()?;
        let at = pool.int(at);
        let divided = pool.sub(dividend, at);
        if pool.modulo(divided, divisor) != Expr::ZERO {
            return None;
        }
        let value = if is_quotient { pool.floor_div(divided, divisor) } else { at };
        rest = pool.substitute(rest, |e| (e == part).then_some(value));
    }
    Some(rest)
}

/// The sizes of remainders that an equation divides again, where the remainder is not 0 for all sizes.
fn divided_remainders(assumptions: &mut Assumptions, guard: Expr) -> Vec<Symbol> {
    let (pool, facts) = assumptions.env.facts();
    if !is_comparison(pool, guard) || pool.reachable(&[guard]).len() > MAX_PARTS {
        return Vec::new();
    }
    let divided = pool.reachable(&[guard]).into_iter().filter_map(|part| match pool.as_call(part) {
        Some((Func::FloorDiv | Func::Mod, &[dividend, _])) => Some(dividend),
        _ => None,
    });
    let divided: Vec<Expr> = divided.collect();
    let inner = pool.reachable(&divided).into_iter().filter_map(|part| match pool.as_call(part) {
        Some((Func::Mod, &[of, by])) if pool.as_int(by).is_some() => {
            match pool.free_symbols(&[of]).as_slice() {
                &[symbol] => Some((part, symbol)),
                _ => None,
            }
        }
        _ => None,
    });
    let inner: Vec<(Expr, Symbol)> = inner.collect();
    let varies = |(remainder, _): &(Expr, Symbol)| {
        let zero = pool.eq(*remainder, Expr::ZERO);
        !decide(pool, facts, zero, &Budget::small()).verdict.is_implied()
    };
    inner.into_iter().filter(varies).map(|(_, symbol)| symbol).collect()
}

/// Whether a condition is an equation or an inequality, and not `!=`.
fn is_comparison(pool: &Pool, condition: Expr) -> bool {
    match pool.as_call(condition) {
        Some((Func::Not, &[inner])) => pool.as_func(inner, Func::NotPositive).is_some(),
        Some((func, _)) => matches!(func, Func::IsZero | Func::NotPositive),
        None => false,
    }
}
