//! Which kernel serves which operator overload.
use super::args::Args;
use super::context::Cx;
use super::error::KernelError;
use super::kernel::Kernel;
use super::value::Value;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sizewise_expr::Expr;
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

    /// The overloads that have a kernel, sorted.
    pub fn overloads(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.kernels.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

/// The floating point operations of a call of `op`, named as in `aten.mm.default`; 0 for operators that are not counted.
///
/// # Errors
/// When the count is not known: of operators made of others in a way that is not modelled.
pub fn flops(cx: &mut Cx, op: &str, args: &Args, results: &[Value]) -> Result<Expr, KernelError> {
    let families = super::ops::FLOPS;
    let formula = families.iter().find_map(|family| family.iter().find(|(overload, _)| *overload == op));
    formula.map_or(Ok(Expr::ZERO), |(_, formula)| formula(cx, args, results))
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
