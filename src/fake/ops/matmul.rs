//! Matrix products.
use crate::fake::error::one;
use crate::fake::registry::Kernel;
use crate::fake::{Args, Cx, KernelResult};

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = &[("aten.mm.default", mm)];

/// `aten::mm(Tensor self, Tensor mat2) -> Tensor`: `[n, k] × [k, p] → [n, p]`.
///
/// (C1) Both operands have 2 dimensions. (C2) `self.size(1) == mat2.size(0)`. (C3) The dtypes agree.
fn mm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    cx.check(a.rank() == 2 && b.rank() == 2, "mm.C1", |_| {
        format!("two matrices are expected, not {} and {} dimensions", a.rank(), b.rank())
    })?;
    cx.require_eq(a.size(1), b.size(0), "mm.C2", "self.size(1) and mat2.size(0) differ")?;
    cx.check(a.dtype == b.dtype, "mm.C3", |_| format!("the dtypes differ: {} and {}", a.dtype, b.dtype))?;
    one(cx.contiguous([a.size(0), b.size(1)].as_slice(), a.dtype, &a.device))
}
