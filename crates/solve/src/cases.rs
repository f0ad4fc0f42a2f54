//! Case splits on whole problems: each case is reduced anew, which simplifies the expressions.
//!
//! The linear rung splits, too, but keeps its expressions. Here `Min(a, b)` becomes `a` in one case and `b`
//! in the other, `Abs(a)` becomes `a` or `-a`, and products of them are multiplied out.
use super::linear::{self, Effort, Relaxed};
use super::number::{self, Lemma};
use super::reduce::Reduced;
use super::work::Work;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Symbol};

/// Splits below one another.
const MAX_DEPTH: u32 = 7;
/// A symbol with more values than this is not split into them.
const MAX_VALUES: u64 = 12;
/// Branches of linear reasoning in one case.
const BRANCHES: u32 = 24;
/// Work of linear reasoning in one case.
const WORK: u32 = 30_000;

/// Work still allowed on the cases of one problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// Cases that may be opened.
    pub cases: u32,
    /// Entries of tableaus that may be changed in looking for narrow directions.
    pub work: u32,
    /// Assignments that number theory may look at.
    pub steps: u32,
    /// What was allowed in the beginning: cases, entries, assignments.
    allowed: [u32; 3],
    /// What linear reasoning took within the cases.
    within: Work,
}

impl Allowance {
    pub(super) fn new(cases: u32, work: u32, steps: u32) -> Allowance {
        Allowance { cases, work, steps, allowed: [cases, work, steps], within: Work::default() }
    }

    /// What was taken of it, and within the cases.
    pub(super) fn spent(&self) -> Work {
        let [cases, work, steps] = self.allowed;
        let mut spent = self.within;
        spent.branches += u64::from(cases - self.cases);
        spent.entries += u64::from(work - self.work);
        spent.steps += u64::from(steps - self.steps);
        spent
    }
}

/// Looks for a contradiction or a solution of a reduced problem that linear reasoning left open, by number
/// theory and by cases. A solution gives the values of the problem's symbols.
pub(super) fn refute(pool: &mut Pool, problem: &mut Reduced, left: &mut Allowance) -> Relaxed {
    split(pool, problem, left, 0)
}

fn split(pool: &mut Pool, problem: &mut Reduced, left: &mut Allowance, depth: u32) -> Relaxed {
    if pool.is_spent() {
        return Relaxed::Open;
    }
    let mut cases: Vec<Expr> = Vec::new();
    match number::examine(pool, problem, &mut left.steps) {
        Some(Lemma::Closed) => return Relaxed::Closed,
        Some(Lemma::Values(e, values)) => {
            for v in values {
                let v = pool.int(v);
                cases.push(pool.eq(e, v));
            }
        }
        None => {}
    }
    if cases.is_empty() {
        if depth >= MAX_DEPTH {
            return Relaxed::Open;
        }
        cases = choose(pool, problem);
    }
    if cases.is_empty() {
        cases = linear::narrow_cases(pool, problem, &mut left.work);
    }
    if cases.is_empty() {
        return Relaxed::Open;
    }
    let mut all = Relaxed::Closed;
    for case in cases {
        match left.cases.checked_sub(1) {
            Some(rest) => left.cases = rest,
            None => return Relaxed::Open,
        }
        let mut inner = problem.with(pool, case);
        let mut effort = Effort { branches: BRANCHES, work: WORK };
        let mut outcome = linear::refute(pool, &mut inner, &mut effort);
        left.within.branches += u64::from(BRANCHES - effort.branches);
        left.within.entries += u64::from(WORK - effort.work);
        if outcome == Relaxed::Open {
            outcome = split(pool, &mut inner, left, depth + 1);
        }
        match outcome {
            Relaxed::Closed => {}
            Relaxed::Candidate(values) => match completed(pool, problem, &mut inner, values) {
                Some(values) => return Relaxed::Candidate(values),
                None => all = Relaxed::Open,
            },
            Relaxed::Open => return Relaxed::Open,
        }
    }
    all
}

/// An assignment of a case's symbols as one of the problem's.
fn completed(
    pool: &mut Pool,
    problem: &mut Reduced,
    inner: &mut Reduced,
    mut values: FxHashMap<Symbol, Int>,
) -> Option<FxHashMap<Symbol, Int>> {
    inner.extend(pool, &mut values)?;
    // Symbols that the case lost are free within their ranges.
    for (s, range) in problem.ranges(pool) {
        let free = || range.lo.finite().or(range.hi.finite()).cloned().unwrap_or_default();
        values.entry(s).or_insert_with(free);
    }
    Some(values)
}

/// The cases to look at, all together exhaustive; none if there is nothing to split.
fn choose(pool: &mut Pool, problem: &mut Reduced) -> Vec<Expr> {
    let roots = problem.unexpanded.clone();
    let atoms = pool.reachable(&roots);
    // Inner atoms are older, and are settled first.
    for &e in &atoms {
        let Some((func, args)) = pool.as_call(e).map(|(f, a)| (f, a.to_vec())) else { continue };
        if pool.sort(e) != sizewise_expr::Sort::Int {
            continue;
        }
        let condition = match (func, args.as_slice()) {
            (Func::Ite, &[c, _, _]) => first_literal(pool, problem, c),
            (Func::Abs, &[a]) => Some(pool.le(Expr::ZERO, a)),
            (Func::Min | Func::Max, &[a, b, ..]) => Some(pool.le(a, b)),
            _ => None,
        };
        if let Some(c) = condition
            && problem.table.decide(pool, c).is_none()
            && pool.as_bool(c).is_none()
        {
            return vec![c, pool.not(c)];
        }
    }
    // The sign of a divisor, or of a factor.
    for &e in &atoms {
        let atom = match pool.node(e) {
            Some(Node::Call(Func::FloorDiv | Func::Mod, args)) if !pool.is_constant(args[1]) => args[1],
            Some(Node::Product(factors)) => factors[0].0,
            _ => continue,
        };
        let range = problem.table.domain(pool, atom).range;
        if range.lo.is_negative() && range.hi.signum() > 0 {
            let (negative, positive) = (pool.lt(atom, Expr::ZERO), pool.lt(Expr::ZERO, atom));
            let zero = pool.eq(atom, Expr::ZERO);
            return match problem.table.domain(pool, atom).contains_zero() {
                true => vec![positive, negative, zero],
                false => vec![positive, negative],
            };
        }
    }
    // A symbol with few values inside a product or quotient.
    let mut best: Option<(u64, Expr)> = None;
    for &e in &atoms {
        let inside = match pool.node(e) {
            Some(Node::Call(Func::FloorDiv | Func::Mod, _)) | Some(Node::Product(_)) => e,
            _ => continue,
        };
        for s in pool.reachable(&[inside]) {
            if pool.as_symbol(s).is_some()
                && let Some(n) =
                    problem.table.domain(pool, s).count().filter(|n| (2..=MAX_VALUES).contains(n))
            {
                best = Some(best.map_or((n, s), |b| b.min((n, s))));
            }
        }
    }
    let Some((_, symbol)) = best else { return Vec::new() };
    let members = problem.table.domain(pool, symbol).members(MAX_VALUES).unwrap_or_default();
    let mut cases = Vec::with_capacity(members.len());
    for v in members {
        let value = pool.int(v);
        cases.push(pool.eq(symbol, value));
    }
    cases
}

/// A literal of a condition that is open.
fn first_literal(pool: &mut Pool, problem: &mut Reduced, c: Expr) -> Option<Expr> {
    let c = match pool.as_func(c, Func::Not) {
        Some(&[inner]) => inner,
        _ => c,
    };
    match pool.as_call(c).map(|(f, a)| (f, a.to_vec())) {
        Some((Func::And | Func::Or, parts)) => {
            parts.into_iter().find_map(|part| first_literal(pool, problem, part))
        }
        _ => (problem.table.decide(pool, c).is_none() && pool.as_bool(c).is_none()).then_some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::{print, read};

    /// What a problem is split into.
    fn cases(conditions: &[&str]) -> Vec<String> {
        let mut pool = Pool::new();
        let conditions: Vec<Expr> = conditions
            .iter()
            .map(|text| read::closed(&mut pool, text).unwrap_or_else(|e| panic!("{text}: {e}")).expr)
            .collect();
        let mut problem = Reduced::as_written(&mut pool, &conditions);
        let chosen = choose(&mut pool, &mut problem);
        chosen.into_iter().map(|c| print::expression(&pool, c)).collect()
    }

    #[test]
    fn what_is_open_about_an_operation_is_what_is_split() {
        let table: [(&[&str], &[&str]); 21] = [
            (&["Min(x, y) <= 3"], &["x <= y", "x > y"]),
            (&["Min(x, y) <= 3", "x < y"], &[]),
            (&["Max(x, y, z) <= 3"], &["x <= y", "x > y"]),
            (&["Abs(x) >= 3"], &["x >= 0", "x <= -1"]),
            (&["Abs(x) >= 3", "x >= -1"], &[]),
            (&["Abs(x) >= 3", "x >= 1"], &[]),
            (&["Where(x > y, x, z) >= 3"], &["x > y", "x <= y"]),
            (&["Where(And(x > y, y > z), x, z) >= 3", "x > y"], &["y > z", "y <= z"]),
            (&["Where(x > y, x, z) >= 3", "x > y + 2"], &[]),
            // Inner ones first.
            (&["Abs(Min(x, y)) >= 3"], &["x <= y", "x > y"]),
            // The sign of a divisor, and of a factor.
            (&["x//y >= 3"], &["y >= 1", "y <= -1", "Eq(y, 0)"]),
            (&["Mod(x, y) >= 3"], &["y >= 1", "y <= -1", "Eq(y, 0)"]),
            (&["x//y >= 3", "Eq(Mod(y, 2), 1)"], &["y >= 1", "y <= -1"]),
            (&["x//y >= 3", "y >= 1"], &[]),
            (&["x//y >= 3", "y <= -1"], &[]),
            (&["x*y >= 3", "y >= 1"], &[]),
            (&["x*y >= -3"], &["x >= 1", "x <= -1", "Eq(x, 0)"]),
            (&["x*y >= 3", "x <= 0", "y <= 9"], &[]),
            // The symbol with the fewest values.
            (&["x*y >= -3", "x >= 1", "x <= 5", "y >= 2", "y <= 4"], &["Eq(y, 2)", "Eq(y, 3)", "Eq(y, 4)"]),
            (&["x*y >= -3", "x >= 1", "x <= 13", "y >= 2"], &[]),
            (&["x + y >= -3", "x >= 1", "x <= 5"], &[]),
        ];
        let found: Vec<(&[&str], Vec<String>)> =
            table.iter().map(|(conditions, _)| (*conditions, cases(conditions))).collect();
        let wanted: Vec<(&[&str], Vec<String>)> = table
            .iter()
            .map(|(conditions, cases)| (*conditions, cases.iter().map(|c| c.to_string()).collect()))
            .collect();
        assert_eq!(found, wanted);
        let twelve = |high: i64| cases(&["x*y >= -3", "x >= 1", &format!("x <= {high}"), "y >= 2"]).len();
        assert_eq!((twelve(12), twelve(13)), (12, 0));
    }
}
