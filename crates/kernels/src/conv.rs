//! Convolutions: conditions, shape and memory format.
use super::context::Cx;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[convolution::ALL];

/// How a convolution is taken; one entry for each spatial dimension.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Steps between windows.
    pub stride: Vec<Expr>,
    /// What is added on both sides.
    pub padding: Vec<Expr>,
    /// Steps within a window.
    pub dilation: Vec<Expr>,
    /// Whether input and output change places.
    pub transposed: bool,
    /// What a transposed convolution adds at the end.
    pub output_padding: Vec<Expr>,
    /// Into how many groups channels are divided.
    pub groups: Expr,
}

/// A condition on each spatial dimension at once.
fn each(cx: &mut Cx, items: &[Expr], condition: fn(&mut Cx, Expr) -> Expr) -> Expr {
    let conditions: Vec<Expr> = items.iter().map(|&e| condition(cx, e)).collect();
    cx.all(&conditions)
}

/// The number of windows along a dimension: `(n + before + after - dilation * (kernel - 1) - 1) // stride + 1`.
pub fn windows(cx: &mut Cx, padded: Expr, kernel: Expr, stride: Expr, dilation: Expr) -> Expr {
    let reach = cx.sub(kernel, 1);
    let reach = cx.mul(dilation, reach);
    let room = cx.sub(padded, reach);
    let room = cx.sub(room, 1);
    let steps = cx.floor_div(room, stride);
    cx.add(steps, 1)
}

/// Whether there is nothing to convolve: no image, or no channel.
pub fn idle(cx: &mut Cx, x: &Tensor) -> Expr {
    let conditions: Vec<Expr> = x.sizes.iter().take(2).map(|&size| cx.eq(size, 0)).collect();
    cx.any(&conditions)
}

clauses! { convolution {
    C1 "The weight has at least 3 dimensions, and the input has the same rank. `stride`, `padding`, \
        `dilation` and `output_padding` have an entry for each spatial dimension."
    C2 "`stride` and `groups` are positive, `padding` is not negative, and `dilation` is positive. Without \
        batch or channels, dilation may be 0; so it may for a kernel of size 1 where oneDNN computes a \
        transposed convolution in 1 or 2 dimensions."
    C3 "The first size of the weight is a positive multiple of `groups`."
    C4 "The input has the number of channels that the weight and `groups` say."
    C5 "The bias has 1 dimension, with an element for each channel of the result."
    C6 "The kernel has elements, and does not exceed the padded input."
    C7 "`output_padding` is less than `stride` or `dilation`, and the result of a transposed convolution \
        is not empty. Without batch or channels it may be empty, but no size is negative."
    C8 "Only the batch or the channels of the input may be empty."
    C9 "The input and the weight have the same dtype, and there is a CPU kernel for it."
    C10 "Padding is `same` or `valid` if it is a name, and with `same` the stride is 1."
    C11 "`kernel_size` fits the weight, which is not empty."
    C12 "The bias has the dtype of the input, where the kernel does not copy it: for dilated convolutions, \
         and transposed ones in 3 spatial dimensions."
} }

impl Conv {
    /// One entry for each of `rank` spatial dimensions, a lone entry standing for all.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] for any other number of entries.
    pub fn spread(list: &[Expr], rank: usize, what: &str) -> Result<Vec<Expr>, KernelError> {
        match list {
            [one] => Ok(vec![*one; rank]),
            list if list.len() == rank => Ok(list.to_vec()),
            list => Err(KernelError::invalid(
                convolution::C1,
                format!("{what} is to have 1 or {rank} entries, not {}", list.len()),
            )),
        }
    }

    /// The shape of the result for an input `[n, c, ..]` and a weight `[out, c / groups, kernel..]`, transposed `[c, out
    /// / groups, kernel..]`: along each spatial dimension [`windows`], transposed `(n - 1) * stride - 2 * padding +
    /// dilation * (kernel - 1) + output_padding + 1`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a condition does not hold.
    pub fn sizes(
        &self,
        cx: &mut Cx,
        x: &Tensor,
        w: &Tensor,
        bias: Option<&[Expr]>,
    ) -> Result<Sizes, KernelError> {
        let idle = idle(cx, x);
        cx.check(w.rank() >= 3 && x.rank() == w.rank(), convolution::C1, |_| {
            format!("an input of {} dimensions does not go with a weight of {}", x.rank(), w.rank())
        })?;
        self.signs(cx, x, w, idle)?;
        let out = w.size(0);
        let (enough, rest) = (cx.ge(out, self.groups), cx.modulo(out, self.groups));
        cx.require(enough, convolution::C3, |cx| {
            format!("{} groups need as many rows of the weight, not {}", cx.show(self.groups), cx.show(out))
        })?;
        cx.require_eq(rest, Expr::ZERO, convolution::C3, "the groups do not divide the weight's first size")?;
        let inner = cx.mul(w.size(1), self.groups);
        let (channels, features) = if self.transposed { (out, inner) } else { (inner, out) };
        cx.require_eq(x.size(1), channels, convolution::C4, "the input's channels do not fit the weight")?;
        if let Some(bias) = bias {
            cx.check(bias.len() == 1, convolution::C5, |cx| {
                format!("a bias of 1 dimension is expected, its shape is {}", cx.show_all(bias))
            })?;
            cx.require_eq(bias[0], features, convolution::C5, "the bias does not fit the channels")?;
        }
        let mut sizes = Sizes::from_slice(&[x.size(0), features]);
        for i in 0..self.stride.len() {
            let (n, kernel) = (x.sizes[i + 2], w.sizes[i + 2]);
            let size = self.extent(cx, i, n, kernel)?;
            let mut needed = vec![(n, convolution::C8), (kernel, convolution::C6)];
            if self.transposed {
                needed.extend([(size, convolution::C7), (features, convolution::C7)]);
                // Also where nothing is computed: no tensor has a negative size.
                let natural = cx.ge(size, 0);
                cx.require(natural, convolution::C7, |cx| {
                    format!("the padding leaves a size of {}", cx.show(size))
                })?;
            }
            for (size, clause) in needed {
                let some = cx.gt(size, 0);
                let fine = cx.any(&[some, idle]);
                cx.require(fine, clause, |cx| {
                    format!("a size of {} leaves nothing to compute", cx.show(size))
                })?;
            }
            sizes.push(size);
        }
        Ok(sizes)
    }

    fn signs(&self, cx: &mut Cx, x: &Tensor, w: &Tensor, idle: Expr) -> Result<(), KernelError> {
        let positive: fn(&mut Cx, Expr) -> Expr = |cx, e| cx.gt(e, 0);
        let natural: fn(&mut Cx, Expr) -> Expr = |cx, e| cx.ge(e, 0);
        let conditions = [
            (each(cx, &self.stride, positive), "the stride is to be positive"),
            (each(cx, &[self.groups], positive), "the number of groups is to be positive"),
            (each(cx, &self.padding, natural), "the padding is not to be negative"),
            (each(cx, &self.output_padding, natural), "the output padding is not to be negative"),
        ];
        for (condition, what) in conditions {
            cx.require(condition, convolution::C2, |_| what.into())?;
        }
        let mut dilated = each(cx, &self.dilation, positive);
        if let Some(exempt) = self.takes_no_dilation(cx, x, w) {
            dilated = cx.any(&[dilated, exempt]);
        }
        let dilated = cx.any(&[dilated, idle]);
        cx.require(dilated, convolution::C2, |_| "the dilation is to be positive".into())
    }

    /// The size of the result along a spatial dimension, with
    fn extent(&self, cx: &mut Cx, i: usize, n: Expr, kernel: Expr) -> Result<Expr, KernelError> {
        let (stride, dilation) = (self.stride[i], self.dilation[i]);
        let reach = cx.sub(kernel, 1);
        let reach = cx.mul(dilation, reach);
        let both = cx.mul(self.padding[i], 2);
        if !self.transposed {
            let padded = cx.add(n, both);
            let window = cx.add(reach, 1);
            let fits = cx.ge(padded, window);
            cx.require(fits, convolution::C6, |cx| {
                format!("a window of {} exceeds the padded input's size {}", cx.show(window), cx.show(padded))
            })?;
            return Ok(windows(cx, padded, kernel, stride, dilation));
        }
        let extra = self.output_padding[i];
        let (below, within) = (cx.lt(extra, stride), cx.lt(extra, dilation));
        let small = cx.any(&[below, within]);
        cx.require(small, convolution::C7, |cx| {
            format!("an output padding of {} is not below stride or dilation", cx.show(extra))
        })?;
        let steps = cx.sub(n, 1);
        let steps = cx.mul(steps, stride);
        let size = cx.sub(steps, both);
        let size = cx.sum([size, reach, extra]);
        Ok(cx.add(size, 1))
    }
}
