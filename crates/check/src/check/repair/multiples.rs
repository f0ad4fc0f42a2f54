//! Dimensions that have to be multiples: they are written as such before equations are solved.
//!
//! From `x % 2 == 0` and `y == x // 2` follows `x == 2*y`, which only shows once `x` is `2*t`.
use super::{Changes, ViolatedDim};
use crate::spec::Change;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};

/// The greatest number of which sizes have to be multiples.
const MAX_FACTOR: i64 = 1 << 20;
/// The largest factor for which all sizes between two multiples are tried.
const MAX_TRIED: i64 = 4096;

/// Dimensions and conditions, some dimensions being `factor * t + offset`.
pub(super) struct Split {
    /// The dimensions; the symbol of one that is split stands for `t`.
    pub dims: Vec<ViolatedDim>,
    /// The conditions on them.
    pub conditions: Vec<Expr>,
    /// Those that are split, by the name of `t`.
    split: Vec<(String, MultipleDim)>,
}

/// A dimension that is `factor * t + offset`.
struct MultipleDim {
    name: String,
    factor: i64,
    offset: i64,
    /// The range of `t`.
    min: i64,
    max: Option<i64>,
}

/// The constants in conditions that may be factors, the least first.
pub(super) fn constants(pool: &Pool, conditions: &[Expr]) -> Vec<i64> {
    let mut factors: Vec<i64> = Vec::new();
    for e in pool.reachable(conditions) {
        pool.for_each_child(e, |part| {
            let constant = pool.as_int(part).and_then(|c| c.to_i64());
            factors.extend(constant.filter(|c| (2..=MAX_FACTOR).contains(c)));
        });
    }
    factors.sort_unstable();
    factors.dedup();
    factors
}

/// The system with dimensions split that conditions on them alone require to be multiples; `None` if there are none.
pub(super) fn split(pool: &mut Pool, dims: &[ViolatedDim], conditions: &[Expr]) -> Option<Split> {
    let mut all = Split::none(dims, conditions);
    for dim in &mut all.dims {
        let about: Vec<Expr> =
            conditions.iter().copied().filter(|&c| pool.free_symbols(&[c]) == [dim.symbol]).collect();
        let Some(factor) = factor(pool, dim, &about) else { continue };
        let offset = dim.example.rem_euclid(factor);
        let min = dim.min.saturating_add(factor - 1 - offset).div_euclid(factor).max(0);
        let max = dim.max.map(|max| max.saturating_sub(offset).div_euclid(factor));
        let part = MultipleDim { name: dim.name.clone(), factor, offset, min, max };
        let (name, example) = (format!("_{}", dim.name), (dim.example - offset) / factor);
        *dim = ViolatedDim { symbol: dim.symbol, name: name.clone(), min, max, example };
        all.split.push((name, part));
        let (times, plus) = (pool.int(factor), pool.int(offset));
        let t = pool.symbol_expr(dim.symbol);
        let product = pool.mul(times, t);
        let size = pool.add(product, plus);
        for condition in &mut all.conditions {
            *condition = pool.substitute_symbols(*condition, |s| (s == dim.symbol).then_some(size));
        }
    }
    all.conditions.retain(|&c| pool.as_bool(c) != Some(true));
    (!all.split.is_empty()).then_some(all)
}

/// The factor whose multiples, from the example on, satisfy the conditions while no size between them does.
fn factor(pool: &Pool, dim: &ViolatedDim, about: &[Expr]) -> Option<i64> {
    let holds = |size: i64| {
        let value = |s: Symbol| (s == dim.symbol).then(|| Value::Int(Int::from(size)));
        about.iter().all(|&c| pool.eval(c, value).is_ok_and(|v| v.as_bool()))
    };
    let far = |factor: i64| dim.example.checked_add(factor.checked_mul(3)?).map(|_| factor);
    let factors = constants(pool, about).into_iter().filter(|&f| f <= MAX_TRIED).filter_map(far);
    let mut factors = factors.filter(|f| (1..=2).all(|n| holds(dim.example + n * f)));
    factors.find(|f| (1..*f).all(|between| !holds(dim.example + between)))
}

impl Split {
    /// The system as it is.
    pub fn none(dims: &[ViolatedDim], conditions: &[Expr]) -> Split {
        Split { dims: dims.to_vec(), conditions: conditions.to_vec(), split: Vec::new() }
    }

    /// Changes of the split dimensions as changes of the dimensions that the spec has.
    pub fn joined(&self, changes: Changes) -> Option<Changes> {
        let mut joined = Changes::new();
        let ranges: Vec<(&String, (i64, Option<i64>))> = self
            .split
            .iter()
            .filter_map(|(name, part)| match changes.get(name) {
                None => Some((name, (part.min, part.max))),
                Some(Change::Range { min, max }) => Some((name, (*min, *max))),
                Some(_) => None,
            })
            .collect();
        let linear = |root: &String, factor: i64, offset: i64| {
            let (_, (min, max)) = ranges.iter().find(|(name, _)| *name == root)?;
            Some(Change::Linear { root: root.clone(), factor, offset, min: *min, max: *max })
        };
        let of_root = |change: Change| match &change {
            Change::Derived { root, factor, offset } if self.split.iter().any(|(name, _)| name == root) => {
                match changes.get(root) {
                    Some(known) if !matches!(known, Change::Range { .. }) => {
                        known.composed(root, *factor, *offset)
                    }
                    _ => linear(root, *factor, *offset),
                }
            }
            _ => Some(change),
        };
        let of_part = |root: &String, part: &MultipleDim| match changes.get(root) {
            None | Some(Change::Range { .. }) => linear(root, part.factor, part.offset),
            Some(known) => of_root(known.composed(root, part.factor, part.offset)?),
        };
        for (name, change) in &changes {
            match self.split.iter().find(|(split, _)| split == name) {
                Some((root, part)) => joined.insert(part.name.clone(), of_part(root, part)?),
                None => joined.insert(name.clone(), of_root(change.clone())?),
            };
        }
        for (root, part) in self.split.iter().filter(|(root, _)| !changes.contains_key(root)) {
            joined.insert(part.name.clone(), of_part(root, part)?);
        }
        Some(joined)
    }
}
