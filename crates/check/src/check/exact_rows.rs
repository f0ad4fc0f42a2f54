//! What the assumptions of an exact fix make of each variable, in words: the rows of the table of a ShapesSpec.
use super::readable::readable;
use super::simpler::simplest;
use crate::report::Changed;
use crate::spec::shapes::{Shapes, bound};
use crate::spec::{Assumptions, range_in_words};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, print};

/// A variable: its range, and what else is needed of it.
struct Row {
    symbol: Symbol,
    min: Int,
    max: Option<Int>,
    /// A number of which it is a multiple.
    multiple: Option<Int>,
    others: Vec<String>,
}

/// The variables of which the conditions speak. A condition on several is said of the one that it computes, or of the last.
pub(super) fn rows(
    assumptions: &mut Assumptions,
    shapes: &Shapes,
    conditions: &[Expr],
    names: &FxHashMap<Symbol, String>,
) -> Vec<Changed> {
    let mut rows: IndexMap<&str, Row> = IndexMap::new();
    for (key, variable) in &shapes.variables {
        if let Some((&symbol, _)) = names.iter().find(|(_, name)| *name == key) {
            let e = assumptions.env.pool.symbol_expr(symbol);
            let least = assumptions.env.bounds(e).0;
            let min = variable.min.clone().or(least).unwrap_or(Int::ZERO);
            let row = Row { symbol, min, max: variable.max.clone(), multiple: None, others: Vec::new() };
            rows.insert(key, row);
        }
    }
    let given: Vec<String> = rows.values().map(in_words).collect();
    let (pool, facts) = assumptions.env.facts();
    let mut facts = facts.clone();
    for &condition in conditions {
        let simple = simplest(pool, &mut facts, condition);
        // What it comes to under what is known may be nothing, beside the others.
        let simple = if pool.as_bool(simple).is_some() { condition } else { readable(pool, &facts, simple) };
        note(pool, &mut rows, simple, names);
    }
    let needed = rows.iter().zip(given).map(|((key, row), given)| (*key, row.symbol, in_words(row), given));
    let changed: Vec<_> = needed.filter(|(.., needs, given)| needs != given).collect();
    changed
        .into_iter()
        .map(|(key, symbol, needs, _)| Changed {
            dim: key.to_owned(),
            source: place(assumptions, symbol),
            needs,
        })
        .collect()
}

/// Adds what a condition says to the row of a variable.
fn note(pool: &mut Pool, rows: &mut IndexMap<&str, Row>, condition: Expr, names: &FxHashMap<Symbol, String>) {
    if let Some((symbol, min, max)) = bound(pool, condition) {
        let Some(row) = rows.values_mut().find(|row| row.symbol == symbol) else { return };
        row.min = min.map_or(row.min.clone(), |min| min.max(row.min.clone()));
        row.max = match (max, row.max.take()) {
            (Some(new), Some(old)) => Some(new.min(old)),
            (new, old) => new.or(old),
        };
        return;
    }
    if let Some((symbol, divisor)) = multiple(pool, condition)
        && let Some(row) = rows.values_mut().find(|row| row.symbol == symbol && row.multiple.is_none())
    {
        row.multiple = Some(divisor);
        return;
    }
    if let Some((symbol, number, is_equal)) = number(pool, condition)
        && let Some(row) = rows.values_mut().find(|row| row.symbol == symbol)
        && (is_equal || number == row.min)
    {
        row.min = if is_equal { number.clone() } else { &number + &Int::ONE };
        row.max = if is_equal { Some(number) } else { row.max.take() };
        return;
    }
    let about = pool.free_symbols(&[condition]);
    let of: Vec<Symbol> = rows.values().map(|row| row.symbol).filter(|s| about.contains(s)).collect();
    let computed = of.iter().rev().find_map(|&symbol| Some((symbol, value(pool, condition, symbol)?)));
    let shown = |pool: &Pool, e: Expr| {
        print::python(pool, e, &|symbol| {
            names.get(&symbol).map_or_else(|| pool.symbol_name(symbol), String::as_str)
        })
    };
    let (symbol, text) = match (computed, of.last()) {
        (Some((symbol, e)), _) if pool.as_symbol(e).is_some() => {
            (symbol, format!("equal to {}", shown(pool, e)))
        }
        (Some((symbol, e)), _) => (symbol, shown(pool, e)),
        (None, Some(&last)) => (last, shown(pool, condition)),
        (None, None) => return,
    };
    if let Some(row) = rows.values_mut().find(|row| row.symbol == symbol) {
        row.others.push(text);
    }
}

/// The symbol that a condition says to be a number, or not to be it.
pub(super) fn number(pool: &Pool, condition: Expr) -> Option<(Symbol, Int, bool)> {
    let (equation, is_equal) = match pool.as_call(condition)? {
        (Func::Not, &[inner]) => (inner, false),
        _ => (condition, true),
    };
    let &[p] = pool.as_func(equation, Func::IsZero)? else { return None };
    let poly = pool.poly(p);
    let [(term, factor)] = poly.terms.as_slice() else { return None };
    let value = if factor.is_one() { -&poly.constant } else { poly.constant.clone() };
    let is_unit = factor.abs().is_one();
    pool.as_symbol(*term).filter(|_| is_unit).map(|symbol| (symbol, value, is_equal))
}

/// The symbol and the number by which a condition says that it divides.
fn multiple(pool: &Pool, condition: Expr) -> Option<(Symbol, Int)> {
    let &[p] =
        pool.as_func(condition, Func::IsZero).or_else(|| pool.as_func(condition, Func::NotPositive))?
    else {
        return None;
    };
    let &[of, by] = pool.as_func(p, Func::Mod)? else { return None };
    Some((pool.as_symbol(of)?, pool.as_int(by).filter(Int::is_positive)?))
}

/// What an equation computes a symbol as, if it stands there once, alone, and beside others.
fn value(pool: &mut Pool, condition: Expr, symbol: Symbol) -> Option<Expr> {
    let &[p] = pool.as_func(condition, Func::IsZero)? else { return None };
    let own = pool.symbol_expr(symbol);
    let factor =
        pool.poly(p).terms.iter().find(|(term, _)| *term == own).map(|(_, factor)| factor.clone())?;
    let value = match (factor.is_one(), (-&factor).is_one()) {
        (true, _) => pool.sub(own, p),
        (_, true) => pool.add(own, p),
        _ => return None,
    };
    let others = pool.free_symbols(&[value]);
    (!others.is_empty() && !others.contains(&symbol)).then_some(value)
}

/// `a multiple of 4, 4..64`, `equal to b`, `2 or more`.
fn in_words(row: &Row) -> String {
    let number = |value: &Int| value.to_i64();
    let Some(multiple) = &row.multiple else {
        let range = number(&row.min).map(|min| range_in_words(min, row.max.as_ref().and_then(number)));
        return match row.others.as_slice() {
            [] => range.unwrap_or_default(),
            others => others.join(", "),
        };
    };
    // The ends are multiples as well.
    let up = |value: &Int| Some(-&(&(-value).floor_div(multiple)? * multiple));
    let down = |value: &Int| Some(&value.floor_div(multiple)? * multiple);
    let (min, max) = (up(&row.min).as_ref().and_then(number), row.max.as_ref().and_then(down));
    let range = min.map(|min| range_in_words(min, max.as_ref().and_then(number)));
    let all =
        std::iter::once(format!("a multiple of {multiple}")).chain(range).chain(row.others.iter().cloned());
    all.collect::<Vec<_>>().join(", ")
}

/// Where a variable first stands alone: `x.shape[0]`.
fn place(assumptions: &Assumptions, symbol: Symbol) -> Option<String> {
    let is_own = |e: Expr| assumptions.env.pool.as_symbol(e) == Some(symbol);
    assumptions.inputs.iter().find_map(|input| {
        let dim = input.allowed.iter().flatten().position(|&size| is_own(size));
        let size = dim.map(|dim| format!("{}.shape[{dim}]", input.path));
        size.or_else(|| input.scalar.filter(|&e| is_own(e)).map(|_| input.path.to_string()))
    })
}
