//! The ledger: all assumptions that the program's shapes depend on, and what enforces each.
//!
//! An assumption is enforced by a range or guard that the exported module checks, by an assertion in the
//! graph, by an operator that fails otherwise, or by a proof. An assumption that nothing enforces is a dropped
//! assertion. An assertion that follows from the others is redundant.
use super::minimal::declared_ranges;
use super::summary;
use crate::propagate::Run;
use crate::report::{GuardReport, GuardVerdict, Keeper, LedgerEntry};
use crate::spec::{Assumptions, Contract, UNCHECKED_MINIMUM};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::Origin;
use sizewise_expr::{Expr, Pool, Symbol};
use sizewise_ir::Bounds;
use sizewise_solve::{Budget, Facts, Verdict, decide, implies};

/// Bounds of at least this magnitude only say that a number has 64 bits.
const WIDTH: i64 = i64::MAX - 1;

/// The ledger of a run under assumptions.
pub(super) fn ledger(
    assumptions: &Assumptions,
    contract: &Contract,
    run: &mut Run,
    proved: &[GuardReport],
) -> Vec<LedgerEntry> {
    let mut entries = Vec::new();
    inputs(assumptions, contract, run, &mut entries);
    entries.extend(of_conditions(proved));
    unbacked(assumptions, contract, run, &mut entries);
    entries
}

/// What enforces the conditions of steps: a proof, or the operator.
pub fn of_conditions(guards: &[GuardReport]) -> impl Iterator<Item = LedgerEntry> {
    let of_steps = guards.iter().filter(|guard| guard.node.is_some());
    of_steps.map(|guard| LedgerEntry {
        assumption: guard.shown.clone(),
        kept_by: match guard.verdict {
            GuardVerdict::Implied => Keeper::Proof,
            GuardVerdict::Violated | GuardVerdict::Unknown => Keeper::Operator,
        },
        by: guard.node.clone(),
        redundant: false,
    })
}

/// The ranges and guards that the exported module checks of its inputs.
fn inputs(assumptions: &Assumptions, contract: &Contract, run: &mut Run, entries: &mut Vec<LedgerEntry>) {
    let of_inputs = contract.input_symbols();
    for (e, bounds) in &contract.ranges {
        let symbols = run.env.pool.free_symbols(&[*e]);
        if symbols.is_empty() || !symbols.iter().all(|s| of_inputs.contains(s)) {
            continue;
        }
        let e = assumptions.records.translate(&mut run.env, *e);
        for (condition, bound, is_lower) in conditions(&mut run.env.pool, e, *bounds) {
            let checked = !is_lower || bound > UNCHECKED_MINIMUM;
            entries.push(LedgerEntry {
                assumption: summary::shown(assumptions, &run.env, condition),
                kept_by: if checked { Keeper::Range } else { Keeper::Policy },
                by: None,
                redundant: false,
            });
        }
    }
    for guard in contract.guards.iter().filter(|guard| !guard.is_asserted) {
        let condition = assumptions.records.translate(&mut run.env, guard.condition);
        entries.push(LedgerEntry {
            assumption: summary::shown(assumptions, &run.env, condition),
            kept_by: Keeper::Guard,
            by: None,
            redundant: false,
        });
    }
}

/// What is assumed about data-dependent sizes: assertions in the graph, recorded ranges, and what operators
/// need.
fn unbacked(assumptions: &Assumptions, contract: &Contract, run: &mut Run, entries: &mut Vec<LedgerEntry>) {
    let budget = Budget::small();
    let stated: Vec<(Expr, Origin)> =
        run.env.stated().iter().map(|assert| (assert.condition, assert.origin)).collect();
    // Most programs have none, and nothing to find out.
    if stated.is_empty() && run.named.is_empty() {
        return operators(assumptions, run, &stated, entries);
    }
    let mut known = without_recorded_ranges(assumptions, run, &stated);
    let mut derived: FxHashMap<Symbol, Expr> = FxHashMap::default();
    for named in &run.named {
        derived.entry(named.symbol).or_insert(named.derived);
    }
    for &(condition, origin) in &stated {
        if run.env.pool.as_bool(condition).is_some() {
            continue;
        }
        let redundant = implies(&mut run.env.pool, &mut known, condition, &budget);
        known.assume(&mut run.env.pool, condition);
        entries.push(LedgerEntry {
            assumption: summary::shown(assumptions, &run.env, condition),
            kept_by: Keeper::Assertion,
            by: run.step(origin).map(|s| s.node()),
            redundant,
        });
    }
    // From assertions that contradict each other nothing follows: only what one of them states is told.
    let never = run.env.pool.bool(false);
    let verdict = decide(&mut run.env.pool, &mut known, never, &budget).verdict;
    let contradictory = matches!(verdict, Verdict::Inconsistent { .. });
    for (e, bounds) in &contract.ranges {
        // A symbol that no step made or named does not occur in the graph.
        let Some(symbol) = run.env.pool.as_symbol(*e) else { continue };
        let Some(&derived) = derived.get(&symbol) else { continue };
        for (shown, bound, is_lower) in conditions(&mut run.env.pool, *e, *bounds) {
            if bound.abs() >= WIDTH {
                continue;
            }
            let condition =
                if derived == *e { shown } else { limit(&mut run.env.pool, derived, bound, is_lower) };
            let implied = stated.iter().any(|&(other, _)| other == condition)
                || !contradictory && implies(&mut run.env.pool, &mut known, condition, &budget);
            if contradictory && !implied {
                continue;
            }
            entries.push(LedgerEntry {
                assumption: summary::shown(assumptions, &run.env, shown),
                kept_by: if implied { Keeper::Proof } else { Keeper::Nothing },
                by: None,
                redundant: false,
            });
        }
    }
    operators(assumptions, run, &stated, entries);
}

/// What operators need of data-dependent sizes.
fn operators(
    assumptions: &Assumptions,
    run: &Run,
    stated: &[(Expr, Origin)],
    entries: &mut Vec<LedgerEntry>,
) {
    let stated: FxHashSet<Expr> = stated.iter().map(|(condition, _)| *condition).collect();
    for assert in &run.asserts {
        if !stated.contains(&assert.condition) {
            entries.push(LedgerEntry {
                assumption: summary::shown(assumptions, &run.env, assert.condition),
                kept_by: Keeper::Operator,
                by: run.step(assert.origin).map(|s| s.node()),
                redundant: false,
            });
        }
    }
}

/// What is known about the inputs, and about data-dependent sizes from the operators that make them, without
/// assertions and recorded ranges.
fn without_recorded_ranges(assumptions: &Assumptions, run: &mut Run, stated: &[(Expr, Origin)]) -> Facts {
    let mut known = Facts::new();
    for (symbol, range) in declared_ranges(assumptions.env.known_facts()) {
        known.declare(&mut run.env.pool, symbol, range);
    }
    for (symbol, range) in run.named.iter().filter_map(|named| Some((named.symbol, named.range.clone()?))) {
        known.declare(&mut run.env.pool, symbol, range);
    }
    let made = run.env.known_facts().conditions().to_vec();
    let stated: FxHashSet<Expr> = stated.iter().map(|(assertion, _)| *assertion).collect();
    for condition in made.into_iter().filter(|condition| !stated.contains(condition)) {
        known.assume(&mut run.env.pool, condition);
    }
    known
}

/// Bounds as conditions, each with the bound and whether it is the lower one.
fn conditions(pool: &mut Pool, e: Expr, bounds: Bounds) -> Vec<(Expr, i64, bool)> {
    let ends = [(bounds.min, true), (bounds.max, false)];
    let ends = ends.into_iter().filter_map(|(end, is_lower)| Some((end?, is_lower)));
    ends.map(|(bound, is_lower)| (limit(pool, e, bound, is_lower), bound, is_lower)).collect()
}

/// A bound as a condition.
fn limit(pool: &mut Pool, e: Expr, bound: i64, is_lower: bool) -> Expr {
    let end = pool.int(bound);
    if is_lower { pool.ge(e, end) } else { pool.le(e, end) }
}
