//! Which kernel serves which operator overload.
use super::kernel::{Family, Kernel};
use rustc_hash::{FxBuildHasher, FxHashMap};
use sizewise_ir::schema::Schema;
use std::sync::OnceLock;

/// The kernels by overload.
pub struct Registry {
    pub(super) kernels: FxHashMap<&'static str, Entry>,
}

/// A kernel, and its overload's schema once that has been asked for.
pub(super) struct Entry {
    pub(super) kernel: Kernel,
    pub(super) schema: OnceLock<Option<&'static Schema>>,
}

impl Registry {
    /// The kernels of families.
    pub(super) fn of(families: &[Family]) -> Registry {
        let count = families.iter().map(|family| family.kernels.len()).sum();
        let mut kernels = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
        for (overload, kernel) in families.iter().flat_map(|family| family.kernels) {
            kernels.insert(*overload, Entry { kernel: *kernel, schema: OnceLock::new() });
        }
        Registry { kernels }
    }

    /// The kernel of an overload, named as in `aten.add.Tensor`.
    pub fn get(&self, op: &str) -> Option<&Kernel> {
        self.kernels.get(op).map(|entry| &entry.kernel)
    }

    /// The overloads that have a kernel, sorted.
    pub fn overloads(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.kernels.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
