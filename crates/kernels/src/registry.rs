//! Which kernel serves which operator overload.
use super::args::Args;
use super::context::Cx;
use super::error::KernelResult;
use super::inplace;
use super::operators::FakeKernel;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sizewise_ir::schema::{Schema, SchemaTable};
use std::sync::OnceLock;

/// A fake kernel.
pub type Kernel = fn(&mut Cx, &Args) -> KernelResult;

/// A family's kernels: each function is followed by the overloads that it serves.
macro_rules! kernels {
    ($($kernel:expr => $($overload:literal),+;)*) => {
        &[$($(($overload, $kernel)),+),*]
    };
}
pub(super) use kernels;

/// The kernels by overload.
pub struct Registry {
    kernels: FxHashMap<&'static str, Entry>,
}

/// A kernel, and its overload's schema once that has been asked for.
struct Entry {
    kernel: Kernel,
    schema: OnceLock<Option<&'static Schema>>,
}

impl Registry {
    /// The kernels that come with the crate.
    pub fn builtin() -> &'static Registry {
        static BUILTIN: OnceLock<Registry> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let families = super::ops::FAMILIES;
            let count = families.iter().map(|(_, family)| family.len()).sum();
            let mut kernels = FxHashMap::with_capacity_and_hasher(count, FxBuildHasher);
            for (overload, kernel) in families.iter().flat_map(|(_, family)| family.iter()) {
                kernels.insert(*overload, Entry { kernel: *kernel, schema: OnceLock::new() });
            }
            Registry { kernels }
        })
    }

    /// The kernel of an overload, named as in `aten.add.Tensor`.
    pub fn get(&self, op: &str) -> Option<&Kernel> {
        self.kernels.get(op).map(|entry| &entry.kernel)
    }

    /// The schema and kernel of an overload, as [`Registry::resolve`] finds it.
    pub fn find(&'static self, op: &str) -> Option<(&'static Schema, &'static dyn FakeKernel)> {
        match self.kernels.get(op) {
            Some(entry) => {
                let schema = entry.schema.get_or_init(|| SchemaTable::global().get(op));
                Some(((*schema)?, &entry.kernel))
            }
            None => Some((SchemaTable::global().get(op)?, inplace::find(op)?)),
        }
    }

    /// The kernel of an overload, that of an in-place overload being made of the functional one's.
    pub fn resolve(&self, op: &str) -> Option<&dyn FakeKernel> {
        match self.kernels.get(op) {
            Some(entry) => Some(&entry.kernel),
            None => inplace::find(op).map(|kernel| kernel as &dyn FakeKernel),
        }
    }

    /// The overloads that have a kernel, sorted.
    pub fn overloads(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.kernels.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::super::ops::FAMILIES;
    use std::collections::HashMap;

    #[test]
    fn an_overload_has_one_kernel() {
        let mut families: HashMap<&str, Vec<&str>> = HashMap::new();
        for (family, kernels) in FAMILIES {
            for (op, _) in *kernels {
                families.entry(*op).or_default().push(*family);
            }
        }
        let mut twice: Vec<String> = families
            .into_iter()
            .filter(|(_, families)| families.len() > 1)
            .map(|(op, families)| format!("{op}: {}", families.join(", ")))
            .collect();
        twice.sort();
        assert!(twice.is_empty(), "{}", twice.join("\n"));
    }
}
