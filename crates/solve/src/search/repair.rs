//! Local search: an assignment that fails is moved, one symbol at a time, towards satisfying what it violates.
use super::super::program::Checked;
use super::violation::Constraint;
use super::{Rng, Run};

/// Steps before a new start.
const MAX_STEPS: usize = 40;
/// Obstacles looked at in one step.
const MAX_REGISTERS: usize = 4;

struct State {
    point: Vec<i128>,
    regs: Vec<i128>,
    /// The sum of the distances of all checks.
    distance: u32,
}

/// Restarts from random points and the seeds until the budget is spent.
pub(super) fn repair(run: &mut Run, values: &[Vec<i128>], rng: &mut Rng) -> Option<Option<Vec<i128>>> {
    let problem = run.problem;
    let program = problem.program;
    let constraints: Vec<Constraint> =
        problem.conditions.iter().map(|&c| Constraint::of(problem.pool, program, c)).collect();
    for round in 0.. {
        let point: Vec<i128> = match problem.seeds.get(round / 2) {
            Some(seed) if round % 2 == 0 => seed.clone(),
            _ => values.iter().map(|v| v[rng.early(v.len())]).collect(),
        };
        let Some(mut state) = evaluate(run, &constraints, point)? else { continue };
        for _ in 0..MAX_STEPS {
            if state.distance == 0 {
                return Some(Some(state.point));
            }
            let moves = moves(run, &constraints, values, &state, rng)?;
            let mut best: Option<State> = None;
            for (slot, v) in moves {
                let mut point = state.point.clone();
                point[slot] = v;
                if let Some(next) = evaluate(run, &constraints, point)?
                    && best.as_ref().is_none_or(|b| next.distance < b.distance)
                {
                    best = Some(next);
                }
            }
            match best {
                // A step that gains nothing is taken now and then, to leave a hollow.
                Some(next) if next.distance < state.distance || rng.below(3) == 0 => state = next,
                _ => break,
            }
        }
    }
    Some(None)
}

/// The state at a point; `Some(None)` where the point is excluded or too large.
fn evaluate(run: &mut Run, constraints: &[Constraint], point: Vec<i128>) -> Option<Option<State>> {
    run.count()?;
    let mut regs = std::mem::take(&mut run.regs);
    let outcome = run.problem.program.run_all(&point, &mut regs);
    if matches!(outcome, Checked::Excluded | Checked::Beyond) {
        run.regs = regs;
        return Some(None);
    }
    let distance = constraints.iter().map(|c| c.distance(&regs)).sum();
    run.regs = vec![0; regs.len()];
    Some(Some(State { point, regs, distance }))
}

/// New values for single symbols that might repair a register of a violated constraint.
fn moves(
    run: &mut Run,
    constraints: &[Constraint],
    values: &[Vec<i128>],
    state: &State,
    rng: &mut Rng,
) -> Option<Vec<(usize, i128)>> {
    let violated: Vec<&Constraint> = constraints.iter().filter(|c| c.distance(&state.regs) > 0).collect();
    let mut moves = Vec::new();
    if violated.is_empty() {
        return Some(moves);
    }
    let mut registers = Vec::new();
    violated[rng.below(violated.len())].violated_registers(&state.regs, &mut registers);
    while registers.len() > MAX_REGISTERS {
        registers.swap_remove(rng.below(registers.len()));
    }
    let constants = run.problem.constants;
    for slot in 0..state.point.len() {
        let v = state.point[slot];
        let mut offer = |x: i128| {
            if x != v && run.in_range(slot, x) && !moves.contains(&(slot, x)) {
                moves.push((slot, x));
            }
        };
        offer(v.saturating_add(1));
        offer(v.saturating_sub(1));
        for _ in 0..2 {
            offer(values[slot][rng.early(values[slot].len())]);
        }
        if !constants.steps.is_empty() {
            let step = constants.steps[rng.early(constants.steps.len())];
            for x in [v.checked_add(step), v.checked_sub(step)].into_iter().flatten() {
                offer(x);
            }
            if let Some(multiple) = v.checked_sub(v.rem_euclid(step)) {
                offer(multiple);
                offer(multiple.saturating_add(step));
            }
        }
        let other = state.point[rng.below(state.point.len())];
        for x in
            [Some(other), other.checked_add(1), v.checked_mul(2), v.checked_mul(other)].into_iter().flatten()
        {
            offer(x);
        }
    }
    secant_moves(run, &registers, state, &mut moves)?;
    Some(moves)
}

/// Adds the values at which violated conditions hold, if a unit step of one symbol changes the violation
/// evenly.
fn secant_moves(
    run: &mut Run,
    registers: &[usize],
    state: &State,
    moves: &mut Vec<(usize, i128)>,
) -> Option<()> {
    let constants = run.problem.constants;
    for &register in registers {
        let here = state.regs[register];
        for slot in 0..state.point.len() {
            for step in [1, constants.steps.first().copied().unwrap_or(2)] {
                let mut point = state.point.clone();
                let Some(moved) = point[slot].checked_add(step) else { continue };
                point[slot] = moved;
                run.count()?;
                let mut regs = std::mem::take(&mut run.regs);
                let outcome = run.problem.program.run_all(&point, &mut regs);
                let there = regs[register];
                run.regs = regs;
                if matches!(outcome, Checked::Excluded | Checked::Beyond) {
                    continue;
                }
                let Some(slope) = there.checked_sub(here).filter(|&d| d != 0) else { continue };
                let Some(scaled) = here.checked_mul(step) else { continue };
                let Some(change) = scaled.checked_div_euclid(slope).and_then(i128::checked_neg) else {
                    continue;
                };
                for x in [change, change.saturating_sub(1), change.saturating_add(1)] {
                    if let Some(x) = state.point[slot].checked_add(x)
                        && run.in_range(slot, x)
                        && !moves.contains(&(slot, x))
                    {
                        moves.push((slot, x));
                    }
                }
            }
        }
    }
    Some(())
}
