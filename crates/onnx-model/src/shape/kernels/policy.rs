//! What onnxruntime's CPU kernels ask for beyond the operators' specifications.
use crate::shape::at_load::Known;
use crate::shape::call::Checked;
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// Requires a condition of onnxruntime's CPU kernels. On another backend it requires nothing.
pub(super) fn onnxruntime(
    cx: &mut Cx,
    condition: Expr,
    clause: &'static OpClause,
    message: impl FnOnce(&Cx) -> String,
) -> Result<(), KernelError> {
    if cx.on_cpu() { cx.require(condition, clause, message) } else { Ok(()) }
}

/// Requires what does not depend on sizes, where onnxruntime's CPU kernels run the operator.
pub(super) fn onnxruntime_checks(
    cx: &Cx,
    holds: bool,
    clause: &'static OpClause,
    message: impl FnOnce() -> String,
) -> Result<(), KernelError> {
    if holds || !cx.on_cpu() { Ok(()) } else { Err(KernelError::invalid(clause, message())) }
}

/// Requires what the inference of shapes of onnxruntime needs to know when it loads a model.
///
/// # Errors
/// [`KernelError::Unsupported`] where it is not sure whether it knows that.
pub(super) fn known_at_load(
    cx: &Cx,
    call: &Checked,
    known: Known,
    clause: &'static OpClause,
    message: &str,
) -> Result<(), KernelError> {
    if cx.on_cpu() { call.refused_where(!known, clause, || message.to_owned()) } else { Ok(()) }
}

/// Requires elements: onnxruntime's kernel does not take an empty operand.
pub(super) fn not_empty(cx: &mut Cx, sizes: &[Expr], clause: &'static OpClause) -> Result<(), KernelError> {
    for &size in sizes {
        let some = cx.ge(size, 1);
        onnxruntime(cx, some, clause, |cx| format!("{} has an empty dimension", cx.show_all(sizes)))?;
    }
    Ok(())
}
