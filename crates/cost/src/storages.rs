//! The storages that a run makes, and how long each is live.
use indexmap::IndexSet;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, Tensor};
use std::sync::Arc;

/// The most sums that are compared with each other to find the greatest.
const MAX_COMPARED: usize = 200;

/// A storage, by its place in [`Storages`].
pub type StorageId = usize;

/// The branches that something is made in, from the outermost: each `cond` by a number, with the graph of it that this is.
/// Nothing is where no `cond` is around.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Branches(Arc<[(usize, usize)]>);

impl Branches {
    /// A graph of a `cond` within these.
    pub fn within(&self, cond: usize, graph: usize) -> Branches {
        Branches(self.0.iter().copied().chain([(cond, graph)]).collect())
    }

    /// The numbers and the graphs.
    pub fn list(&self) -> &[(usize, usize)] {
        &self.0
    }

    /// Whether a run that takes the one does not take the other.
    pub fn exclude(&self, other: &Branches) -> bool {
        let apart = self.0.iter().zip(&*other.0).find(|(one, other)| one != other);
        apart.is_some_and(|(one, other)| one.0 == other.0)
    }

    /// Whether the other ones are within these.
    fn are_around(&self, other: &Branches) -> bool {
        self.0.len() < other.0.len() && other.0.starts_with(&self.0)
    }
}

/// Memory that tensors share.
struct Storage {
    bytes: Expr,
    /// The step that makes it; none for what the program is given.
    made: Option<usize>,
    /// The last step that takes or gives a tensor of it.
    last: usize,
    branches: Branches,
}

/// The storages of a run.
#[derive(Default)]
pub struct Storages {
    all: Vec<Storage>,
    /// Where storages are made from now on.
    pub branches: Branches,
}

/// Memory that is made.
#[derive(Clone, Debug)]
pub struct Life {
    /// Its bytes.
    pub bytes: Expr,
    /// The step that makes it.
    pub from: usize,
    /// The last step that takes or gives a tensor of it.
    pub to: usize,
    /// The branches that it is made in.
    pub branches: Branches,
}

/// The bytes that a tensor's elements take.
pub fn bytes(env: &mut ShapeEnv, tensor: &Tensor) -> Expr {
    let mut cx = Cx::new(env);
    let elements = cx.numel(tensor);
    let size = cx.int(i64::from(tensor.dtype.item_size()));
    cx.mul(elements, size)
}

impl Storages {
    /// One that the program is given.
    pub fn given(&mut self) -> StorageId {
        self.all.push(Storage { bytes: Expr::ZERO, made: None, last: 0, branches: Branches::default() });
        self.all.len() - 1
    }

    /// One of so many bytes that a step makes.
    pub fn made(&mut self, bytes: Expr, step: usize) -> StorageId {
        let branches = self.branches.clone();
        self.all.push(Storage { bytes, made: Some(step), last: step, branches });
        self.all.len() - 1
    }

    /// A step takes or gives a tensor of a storage.
    pub fn touched(&mut self, storage: StorageId, step: usize) {
        let storage = &mut self.all[storage];
        storage.last = storage.last.max(step);
    }

    /// The bytes of a storage, the step that makes it and the last one that takes or gives a tensor of it, and the branches
    /// that it is made in; `None` for one that the program is given.
    pub fn life(&self, storage: StorageId) -> Option<Life> {
        let Storage { bytes, made, last, branches } = &self.all[storage];
        made.map(|from| Life { bytes: *bytes, from, to: *last, branches: branches.clone() })
    }

    /// The bytes of what is made, of these storages: each counts once.
    pub fn sum(&self, env: &mut ShapeEnv, storages: impl Iterator<Item = StorageId>) -> Expr {
        let mut distinct: Vec<StorageId> = storages.collect();
        distinct.sort_unstable();
        distinct.dedup();
        let made = distinct.into_iter().map(|id| &self.all[id]).filter(|storage| storage.made.is_some());
        env.pool.sum(made.map(|storage| storage.bytes))
    }

    /// The bytes of everything that is made.
    pub fn total(&self, env: &mut ShapeEnv) -> Expr {
        self.sum(env, 0..self.all.len())
    }

    /// The bytes that are live at the steps that may have the most: of what is never more than another sum, nothing is
    /// said. There is always one, 0 if nothing is made.
    pub fn peak(&self, env: &mut ShapeEnv, steps: usize) -> Vec<Expr> {
        let (mut begins, mut ends) = (vec![Vec::new(); steps], vec![Vec::new(); steps]);
        for (id, storage) in self.all.iter().enumerate() {
            let Some(made) = storage.made else { continue };
            begins[made].push(id);
            ends[storage.last.min(steps - 1)].push(id);
        }
        // Outside of branches, and within.
        let (mut live, mut within) = (Expr::ZERO, Vec::new());
        let mut grew = false;
        let mut sums: IndexSet<Expr> = IndexSet::new();
        for (begun, ended) in begins.into_iter().zip(ends) {
            grew |= !begun.is_empty();
            live = env.pool.sum(self.outside(&begun).chain([live]));
            within.extend(begun.into_iter().filter(|&id| self.is_within(id)));
            // The most is live where something ends after something has begun.
            if !ended.is_empty() {
                if grew {
                    self.each_run(&within, &mut |own| {
                        let sum = env.pool.sum(own.into_iter().chain([live]));
                        sums.insert(sum);
                    });
                }
                let gone = env.pool.sum(self.outside(&ended));
                live = env.pool.sub(live, gone);
                within.retain(|id| !ended.contains(id));
                grew = false;
            }
        }
        greatest(env, sums)
    }

    fn is_within(&self, id: StorageId) -> bool {
        !self.all[id].branches.list().is_empty()
    }

    /// The bytes of those that are in no branch.
    fn outside(&self, storages: &[StorageId]) -> impl Iterator<Item = Expr> {
        storages.iter().filter(|&&id| !self.is_within(id)).map(|&id| self.all[id].bytes)
    }

    /// The bytes of those storages in branches that one run makes, for each run.
    fn each_run(&self, within: &[StorageId], visit: &mut dyn FnMut(Vec<Expr>)) {
        let taken: IndexSet<&Branches> = within.iter().map(|&id| &self.all[id].branches).collect();
        let innermost = |one: &&&Branches| !taken.iter().any(|other| one.are_around(other));
        let runs: Vec<&Branches> = taken.iter().filter(innermost).copied().collect();
        if runs.is_empty() {
            visit(Vec::new());
        }
        for run in runs {
            let own = within.iter().map(|&id| &self.all[id]).filter(|own| !own.branches.exclude(run));
            visit(own.map(|own| own.bytes).collect());
        }
    }
}

/// Those of some sums that are not known to be at most another one.
fn greatest(env: &mut ShapeEnv, sums: IndexSet<Expr>) -> Vec<Expr> {
    let mut kept: Vec<Expr> = Vec::new();
    for sum in sums {
        let covers = |env: &mut ShapeEnv, more: Expr, less: Expr| {
            let gap = env.pool.sub(more, less);
            env.bounds(gap).0.is_some_and(|least| !least.is_negative())
        };
        if kept.len() < MAX_COMPARED {
            if kept.iter().any(|&other| covers(env, other, sum)) {
                continue;
            }
            kept.retain(|&other| !covers(env, sum, other));
        }
        kept.push(sum);
    }
    if kept.is_empty() {
        kept.push(Expr::ZERO);
    }
    kept
}
