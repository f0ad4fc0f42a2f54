//! The storages that a run makes, and how long each is live.
use indexmap::IndexSet;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, Tensor};

/// The most sums that are compared with each other to find the greatest.
const MAX_COMPARED: usize = 200;

/// A storage, by its place in [`Storages`].
pub type StorageId = usize;

/// Memory that tensors share.
struct Storage {
    bytes: Expr,
    /// The step that makes it; none for what the program is given.
    made: Option<usize>,
    /// The last step that takes or gives a tensor of it.
    last: usize,
}

/// The storages of a run.
#[derive(Default)]
pub struct Storages {
    all: Vec<Storage>,
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
        self.all.push(Storage { bytes: Expr::ZERO, made: None, last: 0 });
        self.all.len() - 1
    }

    /// One of so many bytes that a step makes.
    pub fn made(&mut self, bytes: Expr, step: usize) -> StorageId {
        self.all.push(Storage { bytes, made: Some(step), last: step });
        self.all.len() - 1
    }

    /// A step takes or gives a tensor of a storage.
    pub fn touched(&mut self, storage: StorageId, step: usize) {
        let storage = &mut self.all[storage];
        storage.last = storage.last.max(step);
    }

    /// The bytes of a storage, the step that makes it and the last one that takes or gives a tensor of it; `None` for one
    /// that the program is given.
    pub fn life(&self, storage: StorageId) -> Option<(Expr, usize, usize)> {
        let Storage { bytes, made, last } = &self.all[storage];
        made.map(|made| (*bytes, made, *last))
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
        for storage in &self.all {
            let Some(made) = storage.made else { continue };
            begins[made].push(storage.bytes);
            ends[storage.last.min(steps - 1)].push(storage.bytes);
        }
        let (mut live, mut grew) = (Expr::ZERO, false);
        let mut sums: IndexSet<Expr> = IndexSet::new();
        for (begun, ended) in begins.into_iter().zip(ends) {
            grew |= !begun.is_empty();
            live = env.pool.sum(begun.into_iter().chain([live]));
            // The most is live where something ends after something has begun.
            if !ended.is_empty() {
                if grew {
                    sums.insert(live);
                }
                let ended = env.pool.sum(ended);
                live = env.pool.sub(live, ended);
                grew = false;
            }
        }
        greatest(env, sums)
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
