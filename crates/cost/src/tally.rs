//! The figures of a graph that is walked elsewhere, step by step.
use super::{Cost, Life, Limits, Share, StorageId, Storages};
use indexmap::IndexMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Symbol};

/// What a graph is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// What the user passes.
    Input,
    /// What the model holds.
    Parameter,
}

/// Where a step stands.
pub struct Place<'p> {
    /// Its operator.
    pub op: &'p str,
    /// The innermost module.
    pub module: &'p str,
    /// The line of the user's code.
    pub line: &'p str,
}

/// The figures so far.
pub struct Tally {
    /// The expressions, and what is known of the symbols.
    pub env: ShapeEnv,
    storages: Storages,
    steps: usize,
    flops: Expr,
    given: [Expr; 2],
    reasons: Vec<String>,
    by: [IndexMap<String, Share>; 3],
}

impl Tally {
    /// Nothing yet.
    pub fn new(env: ShapeEnv) -> Tally {
        let (storages, reasons, by) = (Storages::default(), Vec::new(), Default::default());
        Tally { env, storages, steps: 0, flops: Expr::ZERO, given: [Expr::ZERO; 2], reasons, by }
    }

    /// A tensor of so many bytes that the graph is given.
    pub fn given(&mut self, given: Given, bytes: Expr) -> StorageId {
        let total = &mut self.given[given as usize];
        *total = self.env.pool.add(*total, bytes);
        self.storages.given()
    }

    /// Something that the figures leave out or guess.
    pub fn inexact(&mut self, reason: String) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// A tensor of so many bytes that the step after the last one makes.
    pub fn made(&mut self, bytes: Expr) -> StorageId {
        self.storages.made(bytes, self.steps)
    }

    /// The step after the last one is over: it took and gave tensors of these storages, and made what it costs.
    pub fn step(&mut self, place: &Place<'_>, touched: &[StorageId], share: Share) {
        touched.iter().for_each(|&storage| self.storages.touched(storage, self.steps));
        self.steps += 1;
        let pool = &mut self.env.pool;
        self.flops = pool.add(self.flops, share.flops);
        if share == Share::default() {
            return;
        }
        for (of, key) in self.by.iter_mut().zip([place.op, place.module, place.line]) {
            let total = of.entry(key.to_owned()).or_default();
            total.flops = pool.add(total.flops, share.flops);
            total.bytes = pool.add(total.bytes, share.bytes);
        }
    }

    /// Outputs show these storages: they are in use to the end.
    pub fn shown(&mut self, outputs: &[StorageId]) {
        let last = self.steps.saturating_sub(1);
        outputs.iter().for_each(|&storage| self.storages.touched(storage, last));
    }

    /// The bytes of a storage and how long it is in use; `None` for one that the graph is given.
    pub fn life(&self, storage: StorageId) -> Option<Life> {
        self.storages.life(storage)
    }

    /// The figures, where outputs show these storages. `symbols` are the sizes that figures depend on, `places` all sizes
    /// of inputs that are one of them.
    pub fn finish(
        mut self,
        outputs: &[StorageId],
        symbols: Vec<(Symbol, String)>,
        places: Vec<(Symbol, String)>,
        limits: Limits,
    ) -> Cost {
        self.shown(outputs);
        let output_bytes = self.storages.sum(&mut self.env, outputs.iter().copied());
        let activation_bytes = self.storages.total(&mut self.env);
        let peak_bytes = self.storages.peak(&mut self.env, self.steps.max(1));
        let [input_bytes, parameter_bytes] = self.given;
        let [by_op, by_module, by_line] = self.by;
        Cost {
            env: self.env,
            symbols,
            places,
            limits,
            flops: self.flops,
            activation_bytes,
            peak_bytes,
            input_bytes,
            parameter_bytes,
            buffer_bytes: Expr::ZERO,
            constant_bytes: Expr::ZERO,
            output_bytes,
            reasons: self.reasons,
            by_op,
            by_module,
            by_line,
        }
    }
}
