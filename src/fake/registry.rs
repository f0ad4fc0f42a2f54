//! Which kernel serves which operator overload.
use super::args::Args;
use super::context::Cx;
use super::error::KernelResult;
use super::inplace;
use super::operators::FakeKernel;
use rustc_hash::FxHashMap;
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
    kernels: FxHashMap<&'static str, Kernel>,
    in_place: FxHashMap<String, InPlace>,
}

/// The kernel of an in-place overload.
struct InPlace(Kernel);

impl FakeKernel for InPlace {
    fn call(&self, cx: &mut Cx, args: &Args) -> KernelResult {
        inplace::call(self.0, cx, args)
    }
}

impl Registry {
    /// The kernels that come with the crate.
    pub fn builtin() -> &'static Registry {
        static BUILTIN: OnceLock<Registry> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let kernels: FxHashMap<&str, Kernel> =
                super::ops::FAMILIES.iter().flat_map(|(_, family)| family.iter().copied()).collect();
            let in_place = kernels.iter().filter_map(|(op, kernel)| {
                let (name, overload) = op.rsplit_once('.')?;
                Some((format!("{name}_.{overload}"), InPlace(*kernel)))
            });
            Registry { in_place: in_place.collect(), kernels }
        })
    }

    /// The kernel of an overload, named as in `aten.add.Tensor`.
    pub fn get(&self, op: &str) -> Option<&Kernel> {
        self.kernels.get(op)
    }

    /// The kernel of an overload, that of an in-place overload being made of the functional one's.
    pub fn resolve(&self, op: &str) -> Option<&dyn FakeKernel> {
        match self.kernels.get(op) {
            Some(kernel) => Some(kernel),
            None => self.in_place.get(op).map(|kernel| kernel as &dyn FakeKernel),
        }
    }

    /// The overloads that have a kernel, sorted.
    pub fn overloads(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.kernels.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
