//! In-place operators: the functional one, whose result has to fit the tensor that is written.
use super::args::Args;
use super::context::Cx;
use super::error::{KernelError, KernelResult};
use super::compose::can_cast;
use super::registry::Kernel;
use super::value::Value;
use smallvec::smallvec;

/// Runs a functional kernel for its in-place overload: the written tensor keeps its form.
///
/// (C1) The result has the shape of the written tensor. (C2) Its dtype can be cast to that of the written tensor.
///
/// # Errors
/// Those of the kernel, and [`KernelError::Invalid`] for a violated clause.
pub fn call(kernel: Kernel, cx: &mut Cx, args: &Args) -> KernelResult {
    let Some(Value::Tensor(written)) = args.values().first() else {
        return Err(KernelError::Unsupported("an in-place operator that writes no tensor".into()));
    };
    let results = kernel(cx, args)?;
    if let Some(Value::Tensor(result)) = results.first() {
        cx.check(result.rank() == written.rank(), "inplace.C1", |cx| {
            format!("the result {} does not fit {}", cx.show_all(&result.sizes), cx.show_all(&written.sizes))
        })?;
        for (&size, &kept) in result.sizes.iter().zip(&written.sizes) {
            cx.require_eq(size, kept, "inplace.C1", "the result does not fit the written tensor")?;
        }
        cx.check(can_cast(result.dtype, written.dtype), "inplace.C2", |_| {
            format!("a result of {} cannot be written to {}", result.dtype, written.dtype)
        })?;
    }
    Ok(smallvec![Value::Tensor(written.clone())])
}
