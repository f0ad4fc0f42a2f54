//! Pooling: windows over the last dimensions, their conditions and how many there are.
use super::args::Args;
use super::context::Cx;
use super::conv::windows;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use super::value::Value;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::MemoryFormat;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[pool::ALL];

/// The windows of a pooling operator; one entry for each spatial dimension.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Elements of a window.
    pub kernel: Vec<Expr>,
    /// Steps between windows.
    pub stride: Vec<Expr>,
    /// What is added on both sides.
    pub padding: Vec<Expr>,
    /// Steps within a window.
    pub dilation: Vec<Expr>,
    /// Whether a last window that does not fit counts, as long as it begins inside the input or the padding before it.
    pub ceil: bool,
}

clauses! { pool {
    C1 "Lists of sizes have 1 entry, or one for each spatial dimension. `stride` may be empty."
    C2 "`kernel_size`, `stride` and `dilation` are positive."
    C3 "`padding` is from 0 to half of `kernel_size`."
    C4 "The input has 1 or 2 dimensions more than the spatial ones. Only the batch may be empty."
    C5 "At least one window fits the padded input along each spatial dimension."
    C6 "There is a CPU kernel for the dtype of the input."
    C7 "`divisor_override` is not 0."
    C8 "`kernel_size` does not exceed the sizes of the input, in 3 spatial dimensions."
} }

impl Windows {
    /// The windows that the arguments `kernel_size`, `stride`, `padding`, `dilation` and `ceil_mode` describe.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] for another number of entries.
    pub fn read(args: &Args, rank: usize) -> Result<Windows, KernelError> {
        let list = |name: &str, absent: &[Expr]| -> Result<Vec<Expr>, KernelError> {
            let given = if args.has(name) { args.ints(name)? } else { absent };
            match given {
                [one] => Ok(vec![*one; rank]),
                given if given.len() == rank => Ok(given.to_vec()),
                [] if name == "stride" => Ok(absent.to_vec()),
                given => Err(KernelError::invalid(
                    pool::C1,
                    format!("{name} is to have 1 or {rank} entries, not {}", given.len()),
                )),
            }
        };
        let kernel = list("kernel_size", &[])?;
        Ok(Windows {
            stride: list("stride", &kernel)?,
            padding: list("padding", &[Expr::ZERO])?,
            dilation: list("dilation", &[Expr::ONE])?,
            ceil: args.flag("ceil_mode")?,
            kernel,
        })
    }

    /// The shape of the result for an input `[(n,) c, ..]`: `floor((n + 2p - d(k - 1) - 1) / s) + 1` along each spatial
    /// dimension, with `ceil` rounded upwards but no more than the windows that begin before `n + p`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a condition does not hold.
    pub fn sizes(&self, cx: &mut Cx, x: &Tensor) -> Result<Sizes, KernelError> {
        let spatial = self.kernel.len();
        require_image(cx, x, spatial, pool::C4)?;
        let mut sizes = x.sizes.clone();
        let first = x.rank() - spatial;
        for i in 0..spatial {
            for (e, what) in
                [(self.kernel[i], "kernel size"), (self.stride[i], "stride"), (self.dilation[i], "dilation")]
            {
                let positive = cx.gt(e, 0);
                cx.require(positive, pool::C2, |cx| {
                    format!("the {what} is to be positive, not {}", cx.show(e))
                })?;
            }
            let pad = self.padding[i];
            let half = cx.floor_div(self.kernel[i], 2);
            let (natural, small) = (cx.ge(pad, 0), cx.le(pad, half));
            let fine = cx.all(&[natural, small]);
            cx.require(fine, pool::C3, |cx| {
                format!("a padding of {} is not between 0 and half of the kernel size", cx.show(pad))
            })?;
            let count = self.count(cx, i, x.sizes[first + i]);
            let some = cx.ge(count, 1);
            cx.require(some, pool::C5, |cx| {
                format!("no window fits a size of {}", cx.show(x.sizes[first + i]))
            })?;
            sizes[first + i] = count;
        }
        Ok(sizes)
    }

    /// # Errors
    /// [`KernelError::Invalid`] when it does not hold.
    pub fn positive(&self, cx: &mut Cx) -> Result<(), KernelError> {
        let lists = [(&self.kernel, "kernel size"), (&self.stride, "stride"), (&self.dilation, "dilation")];
        for (list, what) in lists {
            for &e in list {
                let positive = cx.gt(e, 0);
                cx.require(positive, pool::C2, |cx| {
                    format!("the {what} is to be positive, not {}", cx.show(e))
                })?;
            }
        }
        Ok(())
    }

    /// The number of windows along a dimension of size `n`.
    fn count(&self, cx: &mut Cx, i: usize, n: Expr) -> Expr {
        let (stride, pad) = (self.stride[i], self.padding[i]);
        let both = cx.mul(pad, 2);
        let padded = cx.add(n, both);
        if !self.ceil {
            return windows(cx, padded, self.kernel[i], stride, self.dilation[i]);
        }
        let less = cx.sub(stride, 1);
        let padded = cx.add(padded, less);
        let upwards = windows(cx, padded, self.kernel[i], stride, self.dilation[i]);
        if stride == Expr::ONE {
            return upwards;
        }
        // Windows i with i * stride < n + pad.
        let inside = cx.add(n, pad);
        let inside = cx.sub(inside, 1);
        let inside = cx.floor_div(inside, stride);
        let inside = cx.add(inside, 1);
        cx.min(upwards, inside)
    }
}

/// Requires an image: `spatial` dimensions after one of channels and perhaps one of images, which alone may be empty.
///
/// # Errors
/// [`KernelError::Invalid`] when the tensor is none.
pub fn require_image(
    cx: &mut Cx,
    x: &Tensor,
    spatial: usize,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    cx.check(x.rank() == spatial + 1 || x.rank() == spatial + 2, clause, |cx| {
        format!(
            "{} or {} dimensions are expected, the shape is {}",
            spatial + 1,
            spatial + 2,
            cx.show_all(&x.sizes)
        )
    })?;
    require_filled(cx, &x.sizes[x.rank() - spatial - 1..], clause)
}

/// Requires sizes to be positive.
///
/// # Errors
/// [`KernelError::Invalid`] when one is not.
pub fn require_filled(cx: &mut Cx, sizes: &[Expr], clause: &'static OpClause) -> Result<(), KernelError> {
    for &size in sizes {
        let filled = cx.gt(size, 0);
        cx.require(filled, clause, |cx| {
            format!("a dimension other than the batch is empty: size {}", cx.show(size))
        })?;
    }
    Ok(())
}

impl Cx<'_> {
    /// A fresh image that keeps the memory format of `like`, which has as many dimensions.
    pub fn image(&mut self, like: &Tensor, sizes: Sizes, dtype: sizewise_ir::dtype::Dtype) -> Tensor {
        let format = self.suggested_format(like);
        let strides = self.format_strides(&sizes, format);
        self.strided(sizes, strides, dtype, &like.device)
    }

    /// A fresh image that keeps channels last only in 3 spatial dimensions.
    pub fn volume(&mut self, like: &Tensor, sizes: Sizes, dtype: sizewise_ir::dtype::Dtype) -> Tensor {
        if like.rank() == 5 && self.suggested_format(like) == MemoryFormat::ChannelsLast3d {
            return self.image(like, sizes, dtype);
        }
        self.contiguous(sizes, dtype, &like.device)
    }
}

/// The tensor with a dimension of size 1 before the last, by which operators over one spatial dimension reduce to
/// those over two.
pub fn with_height(cx: &mut Cx, x: &Tensor) -> Tensor {
    let mut y = x.clone();
    let Some(at) = x.rank().checked_sub(1) else { return y };
    let span = cx.mul(x.sizes[at], x.strides[at]);
    y.sizes.insert(at, Expr::ONE);
    y.strides.insert(at, span);
    y
}

/// The inverse of [`with_height`].
pub fn without_height(mut x: Tensor) -> Tensor {
    if let Some(at) = x.rank().checked_sub(2) {
        x.sizes.remove(at);
        x.strides.remove(at);
    }
    x
}

/// Results as a list of values.
pub fn results(tensors: impl IntoIterator<Item = Tensor>) -> super::value::Values {
    tensors.into_iter().map(Value::from).collect()
}
