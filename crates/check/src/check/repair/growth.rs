//! Growing a box of sizes around the traced example as far as the conditions are proved in it.
use super::Changes;
use super::equations::{Role, System};
use super::multiples;
use crate::spec::Change;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_solve::{Budget, Facts, Verdict, decide};

/// The greatest stride that is tried.
const MAX_STRIDE: i64 = 64;
/// How far from the example sizes are tried one by one, to find the stride that allows most of them.
const REACH: i64 = 360;
/// How many multiples of a large stride are tried.
const FEW: i64 = 3;
/// How far beyond the example an unbounded end is tried first.
const BEYOND: i64 = 1009;
/// Larger sizes count as unbounded.
const FAR: i64 = 1 << 40;
/// The greatest size but one that 64 bits have; torch records it for sizes without an end.
const LAST: i64 = i64::MAX - 1;

/// Sizes `stride * t + offset` for `t` from `low` to `high`.
#[derive(Clone, Debug)]
struct Span {
    stride: i64,
    offset: i64,
    low: i64,
    high: Option<i64>,
}

impl Span {
    fn point(size: i64) -> Span {
        Span { stride: 1, offset: 0, low: size, high: Some(size) }
    }
}

/// A box: one span per free dimension.
struct Growing<'a> {
    pool: &'a mut Pool,
    system: &'a System,
    free: Vec<usize>,
    spans: Vec<Span>,
    budget: Budget,
}

/// The changes that make the conditions of a solved system hold.
pub(super) fn grow(pool: &mut Pool, system: System) -> Changes {
    let mentioned = pool.free_symbols(&system.conditions);
    let free: Vec<usize> = (0..system.dims.len())
        .filter(|&i| system.roles[i] == Role::Free && mentioned.contains(&system.dims[i].symbol))
        .collect();
    let spans = free.iter().map(|&i| Span::point(system.dims[i].example)).collect();
    let mut growing = Growing { pool, system: &system, free, spans, budget: Budget::small() };
    if system.holds(growing.pool, &system.conditions, &[]) {
        for k in 0..growing.free.len() {
            growing.widen(k);
        }
    }
    let (free, spans) = (growing.free, growing.spans);
    changes(&system, &free, &spans)
}

impl Growing<'_> {
    /// The conditions on a dimension.
    fn about(&self, symbol: Symbol) -> Vec<Expr> {
        let conditions = self.system.conditions.iter().copied();
        conditions.filter(|&c| self.pool.free_symbols(&[c]).contains(&symbol)).collect()
    }

    /// Grows one dimension of the box, first its stride, then its ends.
    fn widen(&mut self, k: usize) {
        let dim = &self.system.dims[self.free[k]];
        let conditions = self.about(dim.symbol);
        let good = |v: i64| {
            let inside = v >= dim.min && dim.max.is_none_or(|max| v <= max);
            inside && self.system.holds(self.pool, &conditions, &[(dim.symbol, v)])
        };
        let reached = |stride: i64| {
            let near = |direction: i64| {
                let at = |n: i64| dim.example.checked_add(direction * n * stride);
                (1..=REACH / stride).take_while(|&n| at(n).is_some_and(good)).count()
            };
            near(1) + near(-1)
        };
        // The best stride with the other dimensions at their example sizes may restrict them: then take the
        // least stride that reaches two sizes.
        let alone = conditions.iter().all(|&c| self.pool.free_symbols(&[c]) == [dim.symbol]);
        let enough = if alone { usize::MAX } else { 2 };
        // Of strides that allow as many sizes, the least.
        let mut best = (0, 1);
        for stride in 1..=MAX_STRIDE {
            // A greater stride reaches no more than this.
            if best.0 >= enough || usize::try_from(2 * REACH / stride).unwrap_or(0) <= best.0 {
                break;
            }
            let count = reached(stride);
            if count > best.0 {
                best = (count, stride);
            }
        }
        if best.0 == 0 {
            // Code that needs multiples of a larger number says so.
            let at = |n: i64, stride: i64| dim.example.checked_add(n.checked_mul(stride)?);
            let near = |stride: i64| (1..=FEW).take_while(|&n| at(n, stride).is_some_and(good)).count();
            let named = multiples::constants(self.pool, &conditions).into_iter();
            let found = named.filter(|&stride| stride > MAX_STRIDE).find(|&stride| near(stride) > 0);
            best = found.map_or(best, |stride| (near(stride), stride));
        }
        let (count, stride) = best;
        if count == 0 {
            return;
        }
        let example = dim.example;
        let offset = if stride == 1 { 0 } else { example.rem_euclid(stride) };
        let at = (example - offset) / stride;
        let floor = dim.min.saturating_add(stride - 1 - offset).div_euclid(stride).max(0);
        let ceiling = dim.max.map(|max| (max - offset).div_euclid(stride));
        self.spans[k] = Span { stride, offset, low: at, high: Some(at) };
        // The upper end.
        let with = |high: Option<i64>, low: i64| Span { stride, offset, low, high };
        let high = if self.proved(k, with(ceiling, at), &conditions) {
            ceiling
        } else {
            let mut good = |growing: &mut Self, high| growing.proved(k, with(Some(high), at), &conditions);
            let high = self.farthest(at, ceiling.unwrap_or(FAR), &mut good);
            // What is proved so far may have an end all the same: what torch takes for infinity.
            let is_open = ceiling.is_none() && high == FAR;
            Some(if is_open && good(self, LAST) { LAST } else { high })
        };
        self.spans[k].high = high;
        let low = if self.proved(k, with(high, floor), &conditions) {
            floor
        } else {
            -self.farthest(-at, -floor, |growing, low| growing.proved(k, with(high, -low), &conditions))
        };
        self.spans[k].low = low;
    }

    /// The greatest value from `start` (where it is proved) to `end` up to which everything is proved.
    fn farthest(&mut self, start: i64, end: i64, mut proved: impl FnMut(&mut Self, i64) -> bool) -> i64 {
        let (mut good, mut step) = (start, 1);
        let mut bad = end.saturating_add(1);
        while good < end {
            let probe = good.saturating_add(step).min(end);
            if proved(self, probe) {
                good = probe;
                step *= 2;
            } else {
                bad = probe;
                break;
            }
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if proved(self, middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    /// Whether the conditions hold in the box with another span for one dimension.
    fn proved(&mut self, k: usize, span: Span, conditions: &[Expr]) -> bool {
        let mut facts = Facts::new();
        let mut sizes: Vec<(Symbol, Expr)> = Vec::new();
        for (j, &i) in self.free.iter().enumerate() {
            let span = if j == k { &span } else { &self.spans[j] };
            if span.high.is_some_and(|high| high < span.low) {
                return false;
            }
            let symbol = self.system.dims[i].symbol;
            // The symbol stands for `t`, which is the size itself where the stride is 1.
            let range = ValueRange::between_options(Some(Int::from(span.low)), span.high.map(Int::from));
            facts.declare(self.pool, symbol, range.unwrap_or_else(ValueRange::all));
            if (span.stride, span.offset) != (1, 0) {
                let (stride, offset) = (self.pool.int(span.stride), self.pool.int(span.offset));
                let t = self.pool.symbol_expr(symbol);
                let product = self.pool.mul(stride, t);
                sizes.push((symbol, self.pool.add(product, offset)));
            }
        }
        // Cheap refutations first: what fails at a corner of the box fails.
        for end in [false, true] {
            let corner: Vec<(Symbol, i64)> = self
                .free
                .iter()
                .enumerate()
                .map(|(j, &i)| {
                    let span = if j == k { &span } else { &self.spans[j] };
                    let t = if end { span.high.unwrap_or(span.low.saturating_add(BEYOND)) } else { span.low };
                    (self.system.dims[i].symbol, span.stride.saturating_mul(t).saturating_add(span.offset))
                })
                .collect();
            if !self.system.holds(self.pool, conditions, &corner) {
                return false;
            }
        }
        conditions.iter().all(|&condition| {
            let condition = self.pool.substitute_symbols(condition, |s| {
                sizes.iter().find(|(symbol, _)| *symbol == s).map(|(_, size)| *size)
            });
            let answer = decide(self.pool, &mut facts, condition, &self.budget);
            matches!(answer.verdict, Verdict::Implied { .. })
        })
    }
}

/// What the roles and spans change.
fn changes(system: &System, free: &[usize], spans: &[Span]) -> Changes {
    let mut changes = Changes::new();
    for (&i, span) in free.iter().zip(spans) {
        let dim = &system.dims[i];
        let change = match span {
            Span { low, high: Some(high), .. } if low >= high => Change::Size(dim.example),
            Span { stride: 1, low, high, .. } => {
                if *low == dim.min && *high == dim.max {
                    continue;
                }
                Change::Range { min: *low, max: *high }
            }
            Span { stride, offset, low, high } => Change::Linear {
                root: format!("_{}", dim.name),
                factor: *stride,
                offset: *offset,
                min: *low,
                max: *high,
            },
        };
        changes.insert(dim.name.clone(), change);
    }
    for (dim, role) in system.dims.iter().zip(&system.roles) {
        let change = match *role {
            Role::Free => continue,
            Role::Fixed => Change::Size(dim.example),
            Role::Derived { root, factor, offset } => {
                let root = &system.dims[root];
                // The root must not reach sizes for which this dimension leaves its own range.
                let low = |min: i64| min.saturating_sub(offset).saturating_add(factor - 1).div_euclid(factor);
                let high = dim.max.map(|max| max.saturating_sub(offset).div_euclid(factor));
                let known = changes.get(&root.name).cloned();
                let (min, max) = match known {
                    Some(Change::Range { min, max }) => (min, max),
                    None => (root.min, root.max),
                    _ => (i64::MIN, None),
                };
                if min != i64::MIN {
                    let narrowed = (min.max(low(dim.min)), least(max, high));
                    if narrowed != (root.min, root.max) {
                        changes.insert(root.name.clone(), Change::Range { min: narrowed.0, max: narrowed.1 });
                    }
                }
                Change::Derived { root: root.name.clone(), factor, offset }
            }
            Role::Shared { of, factor, offset } => {
                let partners = system.dims.iter().zip(&system.roles).filter_map(|(d, role)| match *role {
                    Role::Shared { of: other, factor, offset } if other == of => Some((d, factor, offset)),
                    _ => None,
                });
                let (mut min, mut max) = (0, None);
                for (d, factor, offset) in partners {
                    let from = d.min.saturating_sub(offset).saturating_add(factor - 1);
                    min = min.max(from.div_euclid(factor));
                    max = least(max, d.max.map(|m| m.saturating_sub(offset).div_euclid(factor)));
                }
                Change::Linear { root: format!("_{}", system.dims[of].name), factor, offset, min, max }
            }
        };
        changes.insert(dim.name.clone(), change);
    }
    changes
}

fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
