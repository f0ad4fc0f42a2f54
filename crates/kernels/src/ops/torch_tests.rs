//! Operators that torch's own tests are made with.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[optional_list::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| added(cx, args, Dtype::Int32) => "aten._test_optional_intlist.default",
        "aten._test_optional_filled_intlist.default";
    |cx, args| added(cx, args, Dtype::Float32) => "aten._test_optional_floatlist.default";
};

clauses! { optional_list {
    C1 "`values` has 1 dimension."
    C2 "`values` has the dtype of `addends`: `int32` or `float32`."
    C3 "`addends` has at least as many entries as `values` has elements."
} }

/// `_test_optional_intlist(Tensor values, int[]? addends) -> Tensor`: an addend added to each value; without addends,
/// the values.
fn added(cx: &mut Cx, args: &Args, dtype: Dtype) -> KernelResult {
    let values = args.tensor("values")?;
    let given = match args.value("addends")? {
        Value::Ints(list) | Value::Floats(list) => list.len(),
        _ => return one(Tensor { wrapped: false, ..(**values).clone() }),
    };
    cx.rank(values, 1, optional_list::C1, "values")?;
    cx.check(values.dtype == dtype, optional_list::C2, |_| {
        format!("{dtype} is expected, not {}", values.dtype)
    })?;
    let count = cx.int(given as i64);
    let enough = cx.le(values.size(0), count);
    cx.require(enough, optional_list::C3, |cx| {
        format!("{given} addends for {} values", cx.show(values.size(0)))
    })?;
    one(cx.contiguous(values.sizes.clone(), dtype, &values.device))
}
