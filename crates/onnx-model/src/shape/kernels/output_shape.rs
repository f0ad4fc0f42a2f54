//! The sizes that a transposed convolution is to make.
use crate::shape::at_load::Known;
use crate::shape::call::Checked;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[ConvTranspose::ALL];

clauses! { ConvTranspose {
    C1 "The input and the weight have the same rank, at least 3."
    C2 "The input has as many channels as the weight's first size. `group` divides that."
    C3 "The bias has 1 dimension, with an element for each output channel."
    C4 "No spatial size of the result is negative, and for onnxruntime none is 0."
    C6 "`output_padding` and `output_shape` have an entry for each spatial dimension. Output padding is \
        less than the stride or the dilation."
    C7 "For onnxruntime, `output_padding` is less than the stride, and padding can make `output_shape`."
    C8 "The pads have 1 dimension, with two for each spatial dimension. They are not negative, and the \
        kernel is not empty."
} }

/// The spatial sizes of the attribute `output_shape`.
pub(super) fn output_shape<'a>(
    cx: &Cx,
    call: &Checked<'_, 'a>,
    count: usize,
) -> Result<Option<&'a [i64]>, KernelError> {
    let Some(list) = call.ints("output_shape").filter(|list| !list.is_empty()) else { return Ok(None) };
    let message = || format!("output_shape has {} entries", list.len());
    // The kernel takes a batch and channels before them. The inference of shapes does not, where it knows the kernel's sizes.
    if list.len() == count + 2 && cx.on_cpu() {
        call.check(call.ints("kernel_shape").is_none(), ConvTranspose::C6, message)?;
        for dim in 2..count + 2 {
            call.refused_where(call.size_at_load(1, dim), ConvTranspose::C6, message)?;
        }
        return Ok(Some(&list[2..]));
    }
    call.check(list.len() == count, ConvTranspose::C6, message)?;
    Ok(Some(list))
}

/// Notes that the inference of shapes leaves out a stated size below that of the image, if it knows that one.
pub(super) fn left_out(cx: &Cx, call: &Checked, sizes: &[Expr]) {
    let stated = call.ints("output_shape").unwrap_or_default().iter().zip(sizes).enumerate();
    let mut less = stated.filter(|(at, (stated, size))| {
        size.as_inline().is_some_and(|size| **stated < size) && call.size_at_load(0, at + 2) != Known::No
    });
    if less.next().is_some() {
        call.misinferred(cx);
    }
}
