//! Repairing a spec: changes of named dimensions after which it implies what it did not.
//!
//! A change is proposed from the violated conditions by trying sizes around the traced example; whether it works is
//! for a check of the changed spec to say.
use crate::decide::Facts;
use crate::expr::{Expr, Func, Int, Pool, Symbol, Value};
use crate::spec::{Change, Spec};
use indexmap::IndexMap;

/// How many sizes beyond the example are tried.
const REACH: i64 = 400;
/// The greatest factor that a dimension is tried to be a multiple of.
const MAX_FACTOR: i64 = 64;

/// A named dimension as the violated conditions see it.
struct Named {
    symbol: Symbol,
    name: String,
    min: i64,
    max: Option<i64>,
    example: i64,
}

/// The changes that violated conditions call for, by the name of the dimension.
pub(super) fn propose(
    pool: &mut Pool,
    facts: &Facts,
    dims: &IndexMap<Symbol, (String, Int)>,
    violated: &[Expr],
) -> IndexMap<String, Change> {
    let mut named = Vec::new();
    for (symbol, (name, example)) in dims {
        let range = facts.ranges().find(|(s, ..)| s == symbol);
        let min = range.and_then(|(_, min, _)| min.and_then(Int::to_i64)).unwrap_or(0);
        let max = range.and_then(|(.., max)| max.and_then(Int::to_i64));
        if let Some(example) = example.to_i64() {
            named.push(Named { symbol: *symbol, name: name.clone(), min, max, example });
        }
    }
    let mut changes = IndexMap::new();
    for dim in &named {
        let own: Vec<Expr> =
            violated.iter().copied().filter(|&c| pool.free_symbols(&[c]) == [dim.symbol]).collect();
        if !own.is_empty() {
            changes.insert(dim.name.clone(), alone(pool, dim, &own));
        }
    }
    for &condition in violated {
        let symbols = pool.free_symbols(&[condition]);
        let [first, second] = symbols.as_slice() else { continue };
        let find = |s: &Symbol| named.iter().find(|d| d.symbol == *s);
        let (Some(a), Some(b)) = (find(first), find(second)) else { continue };
        if changes.contains_key(&a.name) || changes.contains_key(&b.name) {
            continue;
        }
        if let Some((name, change)) =
            related(pool, a, b, condition).or_else(|| related(pool, b, a, condition))
        {
            changes.insert(name, change);
        } else if let Some(change) = raised(pool, a, b, condition) {
            changes.insert(a.name.clone(), change);
        }
    }
    changes
}

fn holds(pool: &Pool, conditions: &[Expr], at: &[(Symbol, i64)]) -> bool {
    let value = |s: Symbol| at.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(Int::from(*v)));
    conditions.iter().all(|&c| pool.eval(c, value).is_ok_and(|v| v.as_bool()))
}

/// A change of one dimension that satisfies conditions on it alone: the widest range around the example, else multiples of the
/// least factor, else the example's size.
fn alone(pool: &Pool, dim: &Named, conditions: &[Expr]) -> Change {
    let good = |v: i64| holds(pool, conditions, &[(dim.symbol, v)]);
    let last = dim.max.unwrap_or(i64::MAX).min(dim.example.saturating_add(REACH));
    let run = |step: i64| {
        let (mut low, mut high) = (dim.example, dim.example);
        while low - step >= dim.min && good(low - step) {
            low -= step;
        }
        while high <= last - step && good(high + step) {
            high += step;
        }
        (low, high)
    };
    let open_end = |high: i64, step: i64| if high > last - step { dim.max } else { Some(high) };
    let (low, high) = run(1);
    if high > low {
        return Change::Range { min: low, max: open_end(high, 1) };
    }
    for factor in 2..=MAX_FACTOR {
        if dim.example % factor == 0 {
            let (low, high) = run(factor);
            if high > low {
                let max = open_end(high, factor).map(|m| m / factor);
                return Change::Multiple { factor, min: low / factor, max };
            }
        }
    }
    Change::Size(dim.example)
}

/// `a` computed from `b` where the condition is an equation that says so: `a == k*b + c` with `k` positive.
fn related(pool: &Pool, a: &Named, b: &Named, condition: Expr) -> Option<(String, Change)> {
    let &[p] = pool.as_func(condition, Func::IsZero)? else { return None };
    let poly = pool.poly(p);
    let coefficient = |s: Symbol| {
        let term = poly.terms.iter().find(|(m, _)| pool.as_symbol(*m) == Some(s))?;
        term.1.to_i64()
    };
    let (x, y, c) = (coefficient(a.symbol)?, coefficient(b.symbol)?, poly.constant.to_i64()?);
    if poly.terms.len() != 2 || x.abs() != 1 {
        return None;
    }
    let (factor, offset) = (-y * x, -c * x);
    (factor > 0).then(|| (a.name.clone(), Change::Derived { root: b.name.clone(), factor, offset }))
}

/// The least lower bound of `a`, at most the example, from which on the condition holds at the ends of the range of `b`.
fn raised(pool: &Pool, a: &Named, b: &Named, condition: Expr) -> Option<Change> {
    let ends = [b.min, b.max.unwrap_or(b.example.saturating_add(REACH))];
    let good = |v: i64| ends.iter().all(|&w| holds(pool, &[condition], &[(a.symbol, v), (b.symbol, w)]));
    let low = (a.min..=a.example).find(|&v| good(v))?;
    good(a.max.unwrap_or(a.example.saturating_add(REACH))).then_some(Change::Range { min: low, max: a.max })
}

/// The changed spec and the changes as Python.
pub(super) fn apply(spec: &Spec, changes: &IndexMap<String, Change>) -> (Spec, String) {
    let mut changed = spec.clone();
    let mut lines = Vec::new();
    for (name, change) in changes {
        changed = changed.with_change(name, change);
        lines.push(change.python(name));
    }
    (changed, lines.join("\n"))
}
