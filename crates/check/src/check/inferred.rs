//! Fixes that leave sizes to torch.export (`Dim.AUTO`), where no range of named dimensions says what the program needs.
//!
//! torch.export gives a size that it computes from others (`total == past + q`) the range that follows from theirs,
//! and takes each of those to be 2 or more meanwhile. The exported module then checks that range: with `past >= 0` and
//! `q >= 0` it still refuses a total below 4. So the others start at 2 where that matters, and where they reach
//! further than the computed size may, they are left to torch as well.
use super::pipeline::Examined;
use super::repair::Changes;
use crate::spec::{Change, UNCHECKED_MINIMUM};
use rustc_hash::FxHashSet;
use sizewise_expr::range::{Domain, DomainTable, ValueRange};
use sizewise_expr::{Expr, Func, Int, Symbol};

/// The most violated equations, and the most sizes of one equation, of which one is left to torch.
const MAX_CHOICES: usize = 3;
/// The least size that torch.export assumes while it infers others.
const LEAST: i64 = 2;

/// Changes that leave sizes to torch.export.
pub(super) struct Inferred {
    pub changes: Changes,
    /// What is to be known about them besides.
    pub note: Option<String>,
}

/// The range of a dimension in the given spec.
type Bounds = (i64, Option<i64>);

/// What leaves dimensions of violated conditions to torch.export, in the order in which they are to be tried: one that
/// an equation ties to several others; all that an equation ties; all.
pub(super) fn proposals(first: &mut Examined) -> Vec<Inferred> {
    let (mut one, mut tied, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let (violated, mut any_raised) = (first.violated.clone(), false);
    for &condition in &violated {
        let symbols = named(first, &[condition]);
        let is_equation = first.assumptions.env.pool.as_func(condition, Func::IsZero).is_some();
        if !is_equation || symbols.len() <= 2 || tied.len() >= MAX_CHOICES {
            continue;
        }
        for &symbol in symbols.iter().rev().take(MAX_CHOICES) {
            match computed(first, condition, symbol) {
                Ok(inferred) => one.push(inferred),
                Err(inferred) => refused.push(inferred),
            }
        }
        let raised = symbols.iter().any(|&symbol| {
            let Some(rest) = solved(first, condition, symbol) else { return false };
            let others = first.assumptions.env.pool.free_symbols(&[rest]);
            too_great(first, rest, &others)
        });
        any_raised |= raised;
        tied.push(all_tied(first, condition, raised));
    }
    let all = named(first, &violated);
    tied.push(left(first, &all, any_raised));
    let mut choices = one;
    choices.append(&mut tied);
    choices.append(&mut refused);
    choices.retain(|choice| !choice.changes.is_empty());
    choices
}

/// The symbols of conditions that stand for named dimensions.
fn named(first: &Examined, conditions: &[Expr]) -> Vec<Symbol> {
    let symbols = first.assumptions.env.pool.free_symbols(conditions).into_iter();
    symbols.filter(|symbol| first.assumptions.dims.contains_key(symbol)).collect()
}

fn name(first: &Examined, symbol: Symbol) -> String {
    first.assumptions.dims.get(&symbol).cloned().unwrap_or_default()
}

/// Dimensions that are left to torch, in the ranges that the given spec has for them. None where one is new.
pub(super) fn in_given_ranges(changes: &Changes, first: &Examined) -> Changes {
    let given = |name: &String| {
        let dims = &first.assumptions.dims;
        let (min, max) = bounds(first, dims.iter().find(|(_, known)| *known == name).map(|(s, _)| *s)?);
        Some((name.clone(), Change::Auto { min, max }))
    };
    changes.keys().map(given).collect::<Option<_>>().unwrap_or_default()
}

fn bounds(first: &Examined, symbol: Symbol) -> Bounds {
    let range = first.assumptions.env.known_facts().range(symbol);
    let bound = |v: Option<Int>| v.and_then(|v| v.to_i64());
    (bound(range.and_then(|r| r.lower())).unwrap_or(0), bound(range.and_then(|r| r.upper())))
}

/// Whether a dimension can start at 2.
fn can_start_at_least(first: &Examined, symbol: Symbol) -> bool {
    let example = first.assumptions.env.symbol(symbol).and_then(|info| info.hint.as_ref()?.as_int());
    let (min, max) = bounds(first, symbol);
    min < LEAST
        && max.is_none_or(|max| max > LEAST)
        && example.is_some_and(|example| example >= Int::from(LEAST))
}

/// Leaves these dimensions to torch, from 2 on if they are to be `raised`.
fn left(first: &Examined, symbols: &[Symbol], raised: bool) -> Inferred {
    let mut changes = Changes::new();
    for &symbol in symbols {
        let (min, max) = bounds(first, symbol);
        let min = if raised && can_start_at_least(first, symbol) { LEAST } else { min };
        changes.insert(name(first, symbol), Change::Auto { min, max });
    }
    Inferred { changes, note: None }
}

/// Leaves to torch whatever violated equations tie to the sizes of one of them.
fn all_tied(first: &Examined, equation: Expr, raised: bool) -> Inferred {
    let pool = &first.assumptions.env.pool;
    let equations = first.violated.iter().filter(|c| pool.as_func(**c, Func::IsZero).is_some());
    let mut groups: Vec<Vec<Symbol>> = equations.map(|&e| named(first, &[e])).collect();
    let mut tied = named(first, &[equation]);
    let mut seen: FxHashSet<Symbol> = tied.iter().copied().collect();
    while let Some(at) = groups.iter().position(|group| group.iter().any(|s| seen.contains(s))) {
        tied.extend(groups.swap_remove(at).into_iter().filter(|s| seen.insert(*s)));
    }
    let mut inferred = left(first, &tied, raised);
    let small = tied.into_iter().filter(|&s| raised && can_start_at_least(first, s));
    let small: Vec<String> = small.map(|s| name(first, s)).collect();
    if !small.is_empty() {
        inferred.note = Some(format!(
            "rejects sizes below 2 of {}: torch.export infers the other ranges as if each is 2 or more",
            small.join(" and ")
        ));
    }
    inferred
}

/// Whether the exported module checks the least value that torch.export infers for a computed size, and the spec
/// allows less.
fn too_great(first: &Examined, rest: Expr, others: &[Symbol]) -> bool {
    let least = |range: Option<ValueRange>| range.and_then(|range| range.lower());
    let Some(checked) = least(range_of(first, rest, others, Some(LEAST))) else { return false };
    let given = least(range_of(first, rest, others, None));
    checked > Int::from(UNCHECKED_MINIMUM) && given.is_none_or(|given| given < checked)
}

/// Leaves one size of an equation to torch, the others starting where the exported module takes them. `Err` if it
/// refuses some of them all the same.
fn computed(first: &mut Examined, equation: Expr, symbol: Symbol) -> Result<Inferred, Inferred> {
    let (min, max) = bounds(first, symbol);
    let auto = Change::Auto { min, max };
    let of = name(first, symbol);
    let mut changes: Changes = [(of.clone(), auto)].into_iter().collect();
    let doubtful = |changes| {
        let note =
            format!("torch.export infers the range of {of}, and may refuse the least and the greatest sizes");
        Err(Inferred { changes, note: Some(note) })
    };
    let Some(rest) = solved(first, equation, symbol) else { return doubtful(changes) };
    let others = first.assumptions.env.pool.free_symbols(&[rest]);
    let mut raised = Vec::new();
    if too_great(first, rest, &others) {
        for &other in &others {
            if bounds(first, other).0 >= LEAST {
                continue;
            }
            if !can_start_at_least(first, other) || !first.assumptions.dims.contains_key(&other) {
                return doubtful(changes);
            }
            changes.insert(name(first, other), Change::Range { min: LEAST, max: bounds(first, other).1 });
            raised.push(name(first, other));
        }
    }
    // The range that the spec itself gives the size is checked as well.
    let reached = range_of(first, rest, &others, (!raised.is_empty()).then_some(LEAST));
    let above = reached.as_ref().and_then(|range| range.lower()).is_some_and(|lower| lower >= Int::from(min));
    let below = max.is_none_or(|max| {
        reached.as_ref().and_then(|range| range.upper()).is_some_and(|upper| upper <= Int::from(max))
    });
    if !(below && (above || min <= UNCHECKED_MINIMUM)) {
        return doubtful(changes);
    }
    Ok(Inferred { changes, note: (!raised.is_empty()).then(|| left_out(&of, &raised)) })
}

/// What a fix says of the small sizes that it leaves out.
fn left_out(of: &str, raised: &[String]) -> String {
    let each = if raised.len() == 1 { "it is" } else { "each is" };
    let names = raised.join(" and ");
    format!("rejects sizes below 2 of {names}: torch.export infers the range of {of} as if {each} 2 or more")
}

/// What an equation makes of one of its symbols: `past + q` of `total` in `total - past - q == 0`.
pub(super) fn solved(first: &mut Examined, equation: Expr, symbol: Symbol) -> Option<Expr> {
    let pool = &mut first.assumptions.env.pool;
    let &[p] = pool.as_func(equation, Func::IsZero)? else { return None };
    let e = pool.symbol_expr(symbol);
    let factor =
        pool.poly(p).terms.iter().find(|(monomial, _)| *monomial == e).map(|(_, a)| a.to_i64())??;
    let rest = match factor {
        1 => {
            let rest = pool.sub(p, e);
            pool.neg(rest)
        }
        -1 => pool.add(p, e),
        _ => return None,
    };
    (!pool.free_symbols(&[rest]).contains(&symbol)).then_some(rest)
}

/// The range of an expression, its symbols being in those of the given spec, and not below `least`.
fn range_of(first: &Examined, e: Expr, symbols: &[Symbol], least: Option<i64>) -> Option<ValueRange> {
    let pool = &first.assumptions.env.pool;
    let mut table = DomainTable::new();
    for &symbol in symbols {
        let (min, max) = bounds(first, symbol);
        let range =
            ValueRange::between_options(Some(Int::from(min.max(least.unwrap_or(min)))), max.map(Int::from))?;
        table.set(pool, pool.known_symbol_expr(symbol)?, Domain::from(range)).ok()?;
    }
    Some(table.domain(pool, e).range)
}
