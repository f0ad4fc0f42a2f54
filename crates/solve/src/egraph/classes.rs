//! The core of the e-graph: classes of equal expressions, closed under congruence.
use super::language::{ENode, MemberAnalysis, Members, Operations};
use egg::{EGraph, Id};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use sizewise_expr::{Expr, Func, Pool};
use smallvec::SmallVec;
use std::sync::LazyLock;

/// A summary of the context of an expression, to skip rules that cannot match there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Context {
    /// The functions of the calls, see [`bit`].
    pub funcs: u64,
    /// Grows with every expression that joins.
    size: usize,
}

/// The bit of a function in a set of functions.
pub(super) fn bit(func: Func) -> u64 {
    1 << (func as u64 % 64)
}

/// egg looks at the clock, for a log that nobody reads; the real one takes up to 200 ms to be calibrated.
static STOPPED_CLOCK: LazyLock<quanta::Clock> = LazyLock::new(|| quanta::Clock::mock().0);

/// Graphs of up to this many expressions are always closed under congruence.
const SMALL_GRAPH: usize = 256;
/// Larger ones when one of this many expressions has been merged.
const OPEN_SHARE: usize = 4;

/// Sets of up to this many expressions are searched from end to end.
const MAX_SCANNED: usize = 16;

/// Classes of equal expressions.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    egg: EGraph<ENode, MemberAnalysis>,
    operations: Operations,
    ids: IndexMap<Expr, Id, FxBuildHasher>,
    by_func: FxHashMap<Func, Vec<Expr>>,
    /// The expressions that have one as an operand.
    users: FxHashMap<Expr, SmallVec<[Expr; 2]>>,
    /// How many unions took place.
    unions: usize,
    /// How many of them since the classes were closed under congruence.
    open: usize,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes {
            egg: EGraph::new(MemberAnalysis::default()),
            operations: Operations::default(),
            ids: IndexMap::default(),
            by_func: FxHashMap::default(),
            users: FxHashMap::default(),
            unions: 0,
            open: 0,
        }
    }
}

impl Classes {
    /// Adds an expression and all it is built of; the new ones are told to `on_new`, parts first.
    pub fn add(&mut self, pool: &Pool, e: Expr, mut on_new: impl FnMut(Expr)) {
        if self.ids.contains_key(&e) {
            return;
        }
        let mut parts: SmallVec<[Expr; 16]> = SmallVec::from_slice(&[e]);
        let mut order: SmallVec<[Expr; 16]> = SmallVec::new();
        // A part is older than expressions that contain it, but integers stored in their handle compare arbitrarily.
        while let Some(part) = parts.pop() {
            if self.ids.contains_key(&part) || order.contains(&part) {
                continue;
            }
            order.push(part);
            pool.for_each_child(part, |child| parts.push(child));
        }
        order.sort_unstable_by_key(|&part| (part.as_inline().is_none(), part));
        for part in order {
            self.add_one(pool, part);
            on_new(part);
        }
    }

    fn add_one(&mut self, pool: &Pool, e: Expr) {
        let ids = &self.ids;
        let term = self.operations.term(pool, e, |child| ids.get(&child).copied().unwrap_or(Id::from(0)));
        // The two zeros are equal, but not the same constant: that they meet contradicts nothing.
        let is_constant = pool.is_constant(e) && pool.as_float(e) != Some(0.0);
        (self.egg.analysis.adding, self.egg.analysis.adding_constant) = (Some(e), is_constant);
        let id = self.egg.add(term);
        self.egg[id].data.insert(e, is_constant);
        self.ids.insert(e, id);
        pool.for_each_child(e, |child| {
            if !pool.is_constant(child) {
                self.users.entry(child).or_default().push(e);
            }
        });
        if let Some((func, _)) = pool.as_call(e) {
            self.by_func.entry(func).or_default().push(e);
        }
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The expression added as number `i`.
    pub fn expression(&self, i: usize) -> Option<Expr> {
        self.ids.get_index(i).map(|(e, _)| *e)
    }

    /// Whether the expression has been added.
    pub fn contains(&self, e: Expr) -> bool {
        self.ids.contains_key(&e)
    }

    /// The calls of a function, in the order in which they were added.
    pub fn calls(&self, func: Func) -> &[Expr] {
        self.by_func.get(&func).map_or(&[], Vec::as_slice)
    }

    /// Everything known to be equal to `e`, if that has been added.
    pub fn members(&self, e: Expr) -> Option<&Members> {
        Some(&self.egg[*self.ids.get(&e)?].data)
    }

    /// The expressions that a pattern may match in place of `e`: the members of its class. Of a class of a
    /// constant, only `e` and the constant (whatever else is true or zero says nothing about this place).
    pub fn shapes(&self, e: Expr) -> Option<&[Expr]> {
        let members = self.members(e)?;
        (members.len() == 1 || members.constant().is_none()).then_some(&**members)
    }

    /// What patterns rooted at `e` can meet below it.
    pub fn context(&self, pool: &Pool, e: Expr) -> Context {
        let mut found = Context::default();
        let mut meet = |part: Expr| {
            found.size += 1;
            if let Some((func, _)) = pool.as_call(part) {
                found.funcs |= bit(func);
            }
        };
        let each_shape = |part: Expr, visit: &mut dyn FnMut(Expr)| match self.shapes(part) {
            Some(shapes) => shapes.iter().for_each(|&m| visit(m)),
            None => visit(part),
        };
        pool.for_each_child(e, |child| {
            each_shape(child, &mut |member| {
                meet(member);
                pool.for_each_child(member, |part| {
                    each_shape(part, &mut |m| meet(m));
                    pool.for_each_child(part, |atom| each_shape(atom, &mut |m| meet(m)));
                });
            });
        });
        pool.note_work(found.size);
        found
    }

    /// Whether two expressions are known to be equal.
    pub fn same(&self, a: Expr, b: Expr) -> bool {
        a == b
            || match (self.ids.get(&a), self.ids.get(&b)) {
                (Some(&x), Some(&y)) => self.egg.find(x) == self.egg.find(y),
                _ => false,
            }
    }

    /// Merges the classes of two expressions that have been added; whether they were different.
    pub fn union(&mut self, a: Expr, b: Expr) -> bool {
        let (Some(&x), Some(&y)) = (self.ids.get(&a), self.ids.get(&b)) else { return false };
        let merged = self.egg.union(x, y);
        self.unions += usize::from(merged);
        self.open += usize::from(merged);
        merged
    }

    /// The expressions that are built of `e`, `e` included if it has been added, up to a number of them.
    pub fn built_of(&self, e: Expr, most: usize) -> SmallVec<[Expr; 8]> {
        let mut found: SmallVec<[Expr; 8]> = SmallVec::new();
        found.extend(self.contains(e).then_some(e));
        // A scan of a few handles costs less than hashing them.
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let mut next = 0;
        while found.len() < most
            && let Some(&part) = found.get(next)
        {
            next += 1;
            for &user in self.users.get(&part).into_iter().flatten() {
                let new = match found.len() {
                    0..=MAX_SCANNED => !found.contains(&user),
                    _ => {
                        if seen.is_empty() {
                            seen.extend(found.iter().copied());
                        }
                        seen.insert(user)
                    }
                };
                if new {
                    found.push(user);
                }
            }
        }
        found
    }

    /// Closes the classes under congruence.
    pub fn rebuild(&mut self) {
        self.unions += quanta::with_clock(&STOPPED_CLOCK, || self.egg.rebuild());
        self.open = 0;
    }

    /// Closes the classes under congruence if that is due: egg looks at every class then, so large graphs wait until
    /// there is much to close. Until then some equal expressions are in classes of their own.
    pub fn rebuild_if_due(&mut self) {
        if self.open > 0 && self.open * OPEN_SHARE >= self.ids.len().saturating_sub(SMALL_GRAPH) {
            self.rebuild();
        }
    }

    /// The number of unions so far: unchanged means that nothing was learned.
    pub fn unions(&self) -> usize {
        self.unions
    }

    /// Two different constants that were found equal.
    pub fn distinct_constants(&self) -> Option<(Expr, Expr)> {
        self.egg.analysis.distinct_constants
    }

    /// The classes with more than one member.
    pub fn shared(&self) -> impl Iterator<Item = &Members> {
        let mut shared: Vec<&Members> = self.egg.classes().map(|c| &c.data).filter(|m| m.len() > 1).collect();
        shared.sort_unstable();
        shared.into_iter()
    }
}
