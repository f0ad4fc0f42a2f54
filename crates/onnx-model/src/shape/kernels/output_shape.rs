//! The sizes that a transposed convolution is to make.
use crate::shape::at_load::Known;
use crate::shape::call::Checked;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[ConvTranspose::ALL];

clauses! { ConvTranspose {
    C1 "Both have the same rank, at least 3."
    C2 "The channels are the weight's first size and divide by groups."
    C3 "The bias has an element for each channel."
    C4 "The result is not empty."
    C6 "Lists have an entry for each spatial dimension."
    C7 "For onnxruntime output padding is below the stride, and a stated size is one that padding can make."
    C8 "Pads have one dimension, with two for each spatial one."
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
