//! Search for an assignment that satisfies conditions: corners, values next to constants, small boxes, random
//! points and repair of failing ones.
//!
//! What the search finds is an integer assignment that passed compiled code; the caller replays it exactly. When it has
//! tried every assignment of a finite box, there is none.
mod candidates;
mod repair;
mod violation;

use super::program::{Checked, Program, to_i128};
pub use candidates::Constants;
use sizewise_expr::{Expr, Int, Pool, is_cancelled};

/// Boxes of up to this many points are enumerated.
const MAX_BOX: u64 = 20_000;
/// A program of this many steps more counts as one more assignment.
const LONG: usize = 256;
/// Searches of fewer points are short.
const SHORT: u32 = 200;
/// The values of each symbol that a short search looks at.
const SHORT_VALUES: usize = 24;

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// Values for the program's slots, in order.
    Point(Vec<i128>),
    /// Every assignment was tried: there is none.
    Exhausted,
    /// None found.
    Nothing,
}

/// A search problem: a compiled conjunction and the ranges of its slots.
pub struct Problem<'a> {
    /// The pool of the conditions.
    pub pool: &'a Pool,
    /// The compiled conditions, each as a check.
    pub program: &'a Program,
    /// The conditions behind the checks.
    pub conditions: &'a [Expr],
    /// Inclusive ranges of the slots.
    pub ranges: &'a [(Option<i128>, Option<i128>)],
    /// Whether `ranges` is exact (bounds that do not fit in 128 bits were dropped otherwise).
    pub exact: bool,
    /// Assignments of the slots that are known to satisfy most conditions.
    pub seeds: &'a [Vec<i128>],
    /// Constants of the query.
    pub constants: &'a Constants,
}

/// The range of a symbol in machine integers, and whether nothing was lost.
pub fn machine_range(low: Option<&Int>, high: Option<&Int>) -> ((Option<i128>, Option<i128>), bool) {
    // Half the width, so that steps beyond a bound do not overflow.
    let small = |v: &Int| to_i128(v).filter(|v| v.unsigned_abs() < 1 << 120);
    let (l, h) = (low.and_then(small), high.and_then(small));
    ((l, h), l.is_some() == low.is_some() && h.is_some() == high.is_some())
}

/// A deterministic generator of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Default for Rng {
    fn default() -> Rng {
        Rng(0xFACE)
    }
}

impl Rng {
    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    /// A number below `n` that is more often small than large.
    pub fn early(&mut self, n: usize) -> usize {
        let limit = 1 + self.below(n);
        self.below(limit)
    }
}

/// A running search.
pub(super) struct Run<'a> {
    problem: &'a Problem<'a>,
    regs: Vec<i128>,
    left: u32,
}

impl Run<'_> {
    /// Counts an assignment, a long program's as several; `None` when the budget is spent, or the work was cancelled.
    fn count(&mut self) -> Option<()> {
        if is_cancelled() {
            return None;
        }
        self.left = self.left.checked_sub(self.cost())?;
        Some(())
    }

    /// What one assignment counts as.
    fn cost(&self) -> u32 {
        1 + u32::try_from(self.problem.program.len() / LONG).unwrap_or(u32::MAX - 1)
    }

    /// Whether the assignment passes every check; `None` when the budget is spent.
    fn passes(&mut self, point: &[i128]) -> Option<bool> {
        self.count()?;
        Some(self.problem.program.run(0, point, &mut self.regs) == Checked::Passed)
    }

    fn in_range(&self, slot: usize, v: i128) -> bool {
        let (low, high) = self.problem.ranges[slot];
        low.is_none_or(|l| v >= l) && high.is_none_or(|h| v <= h) && v.unsigned_abs() < 1 << 122
    }
}

impl Problem<'_> {
    /// Looks for an assignment, evaluating at most `points`; returns how many were left as well.
    pub fn solve(&self, points: u32) -> (Found, u32) {
        let mut run = Run { problem: self, regs: Vec::new(), left: points };
        let found = self.attempt(&mut run);
        (found.unwrap_or(Found::Nothing), run.left)
    }

    fn attempt(&self, run: &mut Run) -> Option<Found> {
        let slots = self.ranges.len();
        if slots == 0 {
            let found = self.program.run(0, &[], &mut run.regs);
            return Some(match found {
                Checked::Passed => Found::Point(Vec::new()),
                Checked::Beyond => Found::Nothing,
                _ => Found::Exhausted,
            });
        }
        for seed in self.seeds {
            if run.passes(seed)? {
                return Some(Found::Point(seed.clone()));
            }
        }
        // A short search does not get to more values than this.
        let limit = if run.left < SHORT { SHORT_VALUES } else { usize::MAX };
        let values: Vec<Vec<i128>> =
            self.ranges.iter().map(|&(low, high)| self.constants.values_between(low, high, limit)).collect();
        if values.iter().any(Vec::is_empty) {
            return Some(if self.exact { Found::Exhausted } else { Found::Nothing });
        }
        // All symbols at the same rank of their list.
        let longest = values.iter().map(Vec::len).max().unwrap_or_default();
        for rank in 0..longest.min(24) {
            let point: Vec<i128> = values.iter().map(|v| v[rank.min(v.len() - 1)]).collect();
            if run.passes(&point)? {
                return Some(Found::Point(point));
            }
        }
        for seed in self.seeds.iter().take(4) {
            for (slot, values) in values.iter().enumerate() {
                let mut point = seed.clone();
                for &v in values.iter().take(24) {
                    point[slot] = v;
                    if run.passes(&point)? {
                        return Some(Found::Point(point));
                    }
                }
            }
        }
        if let Some(found) = self.grid(run, &values)? {
            return Some(found);
        }
        if let Some(found) = self.enumerate(run)? {
            return Some(found);
        }
        let mut rng = Rng(0x5EED);
        self.random(run, &values, &mut rng, 300)?
            .or(repair::repair(run, &values, &mut rng)?)
            .map_or(Some(Found::Nothing), |point| Some(Found::Point(point)))
    }

    /// All combinations of the first values of each symbol, as many as are affordable.
    fn grid(&self, run: &mut Run, values: &[Vec<i128>]) -> Option<Option<Found>> {
        let width = match values.len() {
            1 => usize::MAX,
            2 => 14,
            3 => 6,
            4 => 4,
            5 => 3,
            _ => return Some(None),
        };
        let mut index = vec![0usize; values.len()];
        let mut point: Vec<i128> = values.iter().map(|v| v[0]).collect();
        loop {
            if run.passes(&point)? {
                return Some(Some(Found::Point(point)));
            }
            let mut slot = 0;
            loop {
                if slot == values.len() {
                    return Some(None);
                }
                index[slot] += 1;
                if index[slot] < values[slot].len().min(width) {
                    point[slot] = values[slot][index[slot]];
                    break;
                }
                index[slot] = 0;
                point[slot] = values[slot][0];
                slot += 1;
            }
        }
    }

    /// Every point of a small finite box.
    fn enumerate(&self, run: &mut Run) -> Option<Option<Found>> {
        let mut size = 1u64;
        for &(low, high) in self.ranges {
            let (Some(l), Some(h)) = (low, high) else { return Some(None) };
            size = size.saturating_mul(u64::try_from(h - l + 1).unwrap_or(u64::MAX));
        }
        if size > MAX_BOX || size.saturating_mul(u64::from(run.cost())) > u64::from(run.left) || !self.exact {
            return Some(None);
        }
        let low = |slot: usize| self.ranges[slot].0.unwrap_or_default();
        let mut point: Vec<i128> = (0..self.ranges.len()).map(low).collect();
        let mut certain = true;
        loop {
            self.pool.note_work(1);
            match self.program.run(0, &point, &mut run.regs) {
                Checked::Passed => return Some(Some(Found::Point(point))),
                Checked::Beyond => certain = false,
                Checked::Failed(_) | Checked::Excluded => {}
            }
            let mut slot = 0;
            loop {
                if slot == point.len() {
                    return Some(if certain { Some(Found::Exhausted) } else { None });
                }
                if Some(point[slot]) < self.ranges[slot].1 {
                    point[slot] += 1;
                    break;
                }
                point[slot] = low(slot);
                slot += 1;
            }
        }
    }

    /// Random combinations of the values.
    fn random(
        &self,
        run: &mut Run,
        values: &[Vec<i128>],
        rng: &mut Rng,
        tries: usize,
    ) -> Option<Option<Vec<i128>>> {
        let mut point: Vec<i128> = vec![0; values.len()];
        for _ in 0..tries {
            for (slot, values) in values.iter().enumerate() {
                point[slot] = values[rng.early(values.len())];
            }
            if run.passes(&point)? {
                return Some(Some(point));
            }
        }
        Some(None)
    }
}

/// The conjunction's parts: nested conjunctions flattened.
pub fn conjuncts(pool: &Pool, e: Expr, out: &mut Vec<Expr>) {
    match pool.as_func(e, sizewise_expr::Func::And) {
        Some(parts) => parts.iter().for_each(|&p| conjuncts(pool, p, out)),
        None => out.push(e),
    }
}
