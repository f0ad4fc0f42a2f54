//! Small expressions in order of size, told apart by their values at known assignments.
use super::facts::Facts;
use super::program::{Checked, Program, floor_div, modulo};
use super::search::Constants;
use super::verdict::Witness;
use crate::egraph::Reading;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::{Expr, Func, Pool, Sort, Symbol};

/// The most different expressions kept.
const MAX_BANK: usize = 3_000;
/// The most combinations tried.
const MAX_PAIRS: usize = 150_000;
/// The most assignments compared at.
const MAX_POINTS: usize = 40;
/// The most constants used.
const MAX_CONSTANTS: usize = 10;
/// Expressions of more operators are not tried.
const MAX_COST: u32 = 4;

/// The expression to find a smaller form of.
pub(super) struct Target {
    part: Expr,
    symbols: Vec<Symbol>,
    points: Vec<Vec<i128>>,
    /// Building blocks in addition to symbols: other parts of the expression.
    blocks: Vec<Expr>,
    constants: Vec<i128>,
}

impl Target {
    /// A part of `root`, to be expressed by symbols, constants and other parts. `None` if there are no
    /// assignments to compare at.
    pub fn new(pool: &Pool, facts: &Facts, part: Expr, root: Expr) -> Option<Target> {
        let (symbols, mut points) = facts.models.points();
        points.truncate(MAX_POINTS);
        if points.is_empty() || pool.sort(part) != Sort::Int {
            return None;
        }
        let blocks =
            pool.reachable(&[root]).into_iter().filter(|&e| e != part && pool.sort(e) == Sort::Int).collect();
        let found = Constants::of(pool, &[part]);
        let mut constants = vec![0, 1, 2, -1];
        for v in found.steps.iter().chain(&found.values).copied() {
            if !constants.contains(&v) && constants.len() < MAX_CONSTANTS {
                constants.push(v);
            }
        }
        Some(Target { part, symbols: symbols.to_vec(), points, blocks, constants })
    }
}

/// The values of an integer expression at known assignments.
pub(super) struct Points {
    symbols: Vec<Symbol>,
    points: Vec<Vec<i128>>,
    values: Vec<i128>,
}

impl Points {
    /// The values of `e` where they can be computed. None without assignments, or if `e` is not an integer.
    pub fn new(pool: &Pool, facts: &Facts, e: Expr) -> Option<Points> {
        let (symbols, points) = facts.models.points();
        let mut found = Points { symbols: symbols.to_vec(), points: Vec::new(), values: Vec::new() };
        for point in points.into_iter().take(MAX_POINTS) {
            if let Some(value) = found.values_at(pool, e, std::slice::from_ref(&point)).pop() {
                found.points.push(point);
                found.values.push(value);
            }
        }
        (pool.sort(e) == Sort::Int && !found.points.is_empty()).then_some(found)
    }

    /// Whether another expression has the same values.
    pub fn agree(&self, pool: &Pool, other: Expr) -> bool {
        self.values_at(pool, other, &self.points) == self.values
    }

    /// The values at assignments, up to the first where there is none.
    fn values_at(&self, pool: &Pool, e: Expr, points: &[Vec<i128>]) -> Vec<i128> {
        let mut program = Program::default();
        for &s in &self.symbols {
            program.slot(s);
        }
        let register = program.compile(pool, e) as usize;
        let mut regs = Vec::new();
        let mut value_at = |point: &Vec<i128>| {
            let passed =
                point.len() == program.symbols().len() && program.run(0, point, &mut regs) == Checked::Passed;
            passed.then(|| regs[register])
        };
        points.iter().map_while(&mut value_at).collect()
    }
}

#[derive(Clone, Copy)]
enum Construction {
    Leaf(Expr),
    Add(u32, u32),
    Sub(u32, u32),
    Mul(u32, u32),
    Div(u32, u32),
    Mod(u32, u32),
    Min(u32, u32),
    Max(u32, u32),
}

struct Entry {
    construction: Construction,
    values: Vec<i128>,
}

/// Small expressions by size, one for each vector of values at the points.
pub(super) struct TermBank {
    target: Target,
    wanted: Vec<i128>,
    entries: Vec<Entry>,
    /// The entries of each cost, as a range of positions.
    levels: Vec<(usize, usize)>,
    seen: FxHashSet<Vec<i128>>,
    /// Entries whose values are those of the target, not yet offered.
    matches: Vec<Construction>,
    pairs: usize,
    limit: u32,
}

impl TermBank {
    /// A bank of expressions with fewer than `limit` operators.
    pub fn new(pool: &mut Pool, reading: &mut Reading, mut target: Target, limit: u32) -> TermBank {
        let mut leaves: Vec<(u32, Expr)> = Vec::new();
        for &c in &target.constants {
            leaves.push((0, pool.int(c)));
        }
        for &s in &target.symbols {
            let e = pool.symbol_expr(s);
            if pool.sort(e) == Sort::Int {
                leaves.push((0, e));
            }
        }
        for &block in &target.blocks {
            let cost = reading.operators(pool, block);
            if cost > 0 && cost < limit {
                leaves.push((cost, block));
            }
        }
        let mut program = Program::default();
        for &s in &target.symbols {
            program.slot(s);
        }
        let part = program.compile(pool, target.part) as usize;
        let registers: Vec<usize> = leaves.iter().map(|(_, e)| program.compile(pool, *e) as usize).collect();
        let mut wanted = Vec::new();
        let mut columns: Vec<Vec<i128>> = vec![Vec::new(); leaves.len()];
        let mut regs = Vec::new();
        target.points.retain(|point| {
            let passed =
                point.len() == target.symbols.len() && program.run(0, point, &mut regs) == Checked::Passed;
            if passed {
                wanted.push(regs[part]);
                for (column, &r) in columns.iter_mut().zip(&registers) {
                    column.push(regs[r]);
                }
            }
            passed
        });
        let mut bank = TermBank {
            target,
            wanted,
            entries: Vec::new(),
            levels: Vec::new(),
            seen: FxHashSet::default(),
            matches: Vec::new(),
            pairs: 0,
            limit: limit.min(MAX_COST + 1),
        };
        let mut waiting: FxHashMap<u32, Vec<(Expr, Vec<i128>)>> = FxHashMap::default();
        for ((cost, e), values) in leaves.into_iter().zip(columns) {
            waiting.entry(cost).or_default().push((e, values));
        }
        bank.fill(&mut waiting);
        bank
    }

    /// The next expression whose values agree with the target's everywhere.
    pub fn next(&mut self, pool: &mut Pool) -> Option<Expr> {
        if self.matches.is_empty() {
            return None;
        }
        let construction = self.matches.remove(0);
        Some(self.build(pool, construction))
    }

    /// Drops matches that differ from the target at an assignment.
    pub fn learn(&mut self, pool: &mut Pool, witness: &Witness) {
        let values: FxHashMap<Symbol, sizewise_expr::Int> = witness.iter().cloned().collect();
        let at = |pool: &Pool, e: Expr| {
            pool.eval(e, |s| values.get(&s).cloned().map(sizewise_expr::Value::Int)).ok()
        };
        let wanted = at(pool, self.target.part);
        let matches = std::mem::take(&mut self.matches);
        for construction in matches {
            let e = self.build(pool, construction);
            if at(pool, e) == wanted {
                self.matches.push(construction);
            }
        }
    }

    /// Builds all expressions, by cost.
    fn fill(&mut self, waiting: &mut FxHashMap<u32, Vec<(Expr, Vec<i128>)>>) {
        if self.wanted.is_empty() {
            return;
        }
        for cost in 0..self.limit {
            let start = self.entries.len();
            for (e, values) in waiting.remove(&cost).unwrap_or_default() {
                self.offer(Construction::Leaf(e), values);
            }
            // A combination has one operator more than its operands have together.
            for left in 0..cost {
                self.combine(left as usize, (cost - 1 - left) as usize);
            }
            self.levels.push((start, self.entries.len()));
            if self.entries.len() >= MAX_BANK || self.pairs >= MAX_PAIRS {
                return;
            }
        }
    }

    fn combine(&mut self, left: usize, right: usize) {
        let (Some(&(a0, a1)), Some(&(b0, b1))) = (self.levels.get(left), self.levels.get(right)) else {
            return;
        };
        for i in a0..a1 {
            for j in b0..b1 {
                self.pairs += 1;
                if self.entries.len() >= MAX_BANK || self.pairs >= MAX_PAIRS {
                    return;
                }
                let (x, y) = (i as u32, j as u32);
                if j >= i {
                    self.pointwise(Construction::Add(x, y), i, j, i128::checked_add);
                    self.pointwise(Construction::Mul(x, y), i, j, i128::checked_mul);
                    self.pointwise(Construction::Min(x, y), i, j, |a, b| Some(a.min(b)));
                    self.pointwise(Construction::Max(x, y), i, j, |a, b| Some(a.max(b)));
                }
                self.pointwise(Construction::Sub(x, y), i, j, i128::checked_sub);
                self.pointwise(Construction::Div(x, y), i, j, floor_div);
                self.pointwise(Construction::Mod(x, y), i, j, modulo);
            }
        }
    }

    fn pointwise(
        &mut self,
        construction: Construction,
        i: usize,
        j: usize,
        f: impl Fn(i128, i128) -> Option<i128>,
    ) {
        let (a, b) = (&self.entries[i].values, &self.entries[j].values);
        let values: Option<Vec<i128>> = a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        if let Some(values) = values {
            self.offer(construction, values);
        }
    }

    fn offer(&mut self, construction: Construction, values: Vec<i128>) {
        if values == self.wanted {
            self.matches.push(construction);
        } else if self.entries.len() < MAX_BANK && self.seen.insert(values.clone()) {
            self.entries.push(Entry { construction, values });
        }
    }

    fn build(&self, pool: &mut Pool, construction: Construction) -> Expr {
        let operand = |pool: &mut Pool, i: u32| self.build(pool, self.entries[i as usize].construction);
        match construction {
            Construction::Leaf(e) => e,
            Construction::Add(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.add(a, b)
            }
            Construction::Sub(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.sub(a, b)
            }
            Construction::Mul(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.mul(a, b)
            }
            Construction::Div(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.floor_div(a, b)
            }
            Construction::Mod(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.modulo(a, b)
            }
            Construction::Min(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.extremum(Func::Min, &[a, b])
            }
            Construction::Max(a, b) => {
                let (a, b) = (operand(pool, a), operand(pool, b));
                pool.extremum(Func::Max, &[a, b])
            }
        }
    }
}
