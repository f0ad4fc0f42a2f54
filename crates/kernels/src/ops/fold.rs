//! Sliding blocks of images as columns, and back.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[fold::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    im2col => "aten.im2col.default";
    col2im => "aten.col2im.default";
};

/// The blocks of an image: their size, the distances between their elements and between them, and the padding of the
/// image.
struct Blocks {
    kernel: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
}

fn blocks(cx: &mut Cx, args: &Args) -> Result<Blocks, KernelError> {
    let mut read = |name: &str, least: i64| -> Result<Sizes, KernelError> {
        let list = args.ints(name)?;
        cx.check(list.len() == 2, fold::C1, |_| format!("{name} has {} entries, not 2", list.len()))?;
        let bound = cx.int(least);
        for &entry in list {
            let enough = cx.ge(entry, bound);
            cx.require(enough, fold::C2, |cx| format!("{name} {} is below {least}", cx.show(entry)))?;
        }
        Ok(list.into())
    };
    Ok(Blocks {
        kernel: read("kernel_size", 1)?,
        dilation: read("dilation", 1)?,
        padding: read("padding", 0)?,
        stride: read("stride", 1)?,
    })
}

impl Blocks {
    /// The number of elements of a block.
    fn elements(&self, cx: &mut Cx) -> Expr {
        cx.mul(self.kernel[0], self.kernel[1])
    }

    /// The number of blocks of an image: along each dimension `(d + 2 padding - dilation (kernel - 1) - 1) // stride +
    /// 1`.
    fn count(&self, cx: &mut Cx, image: [Expr; 2]) -> Result<Expr, KernelError> {
        let mut count = Expr::ONE;
        for (i, size) in image.into_iter().enumerate() {
            let twice = cx.mul(self.padding[i], 2);
            let padded = cx.add(size, twice);
            let steps = cx.sub(self.kernel[i], 1);
            let span = cx.mul(self.dilation[i], steps);
            let room = cx.sub(padded, span);
            let fits = cx.ge(room, 1);
            cx.require(fits, fold::C3, |cx| {
                format!("no block fits into the padded size {}", cx.show(padded))
            })?;
            let room = cx.sub(room, 1);
            let along = cx.floor_div(room, self.stride[i]);
            let along = cx.add(along, 1);
            count = cx.mul(count, along);
        }
        Ok(count)
    }
}

fn image_dims(cx: &mut Cx, x: &Tensor, rank: usize) -> Result<(), KernelError> {
    cx.check(x.rank() == rank || x.rank() == rank + 1, fold::C4, |_| {
        format!("{rank} or {} dimensions are expected, not {}", rank + 1, x.rank())
    })?;
    for &size in &x.sizes[x.rank() - rank..] {
        let some = cx.ne(size, 0);
        cx.require(some, fold::C4, |cx| format!("no size of {} may be 0", cx.show_all(&x.sizes)))?;
    }
    Ok(())
}

/// `aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor`: `[n, c, h,
/// w] → [n, c k₀ k₁, l]` with `l` the number of blocks.
fn im2col(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let blocks = blocks(cx, args)?;
    image_dims(cx, x, 3)?;
    let count = blocks.count(cx, [x.size(-2), x.size(-1)])?;
    let elements = blocks.elements(cx);
    let mut sizes: Sizes = x.sizes[..x.rank() - 3].into();
    sizes.push(cx.mul(x.size(-3), elements));
    sizes.push(count);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { fold {
    C1 "`kernel_size`, `dilation`, `padding` and `stride` have 2 entries each."
    C2 "`kernel_size`, `dilation` and `stride` are positive. `padding` is not negative."
    C3 "At least one block fits along each dimension of the padded image."
    C4 "`self` has the rank that the operator takes, optionally with a batch, and only the batch is empty."
    C5 "`output_size` has 2 positive entries."
    C6 "The number of rows of `self` is divisible by the product of `kernel_size`."
    C7 "The last size of `self` is the number of blocks of the image."
} }

/// `aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)
/// -> Tensor`: `[n, c k₀ k₁, l] → [n, c, *output_size]`.
fn col2im(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, image) = (args.tensor("self")?, args.ints("output_size")?);
    let blocks = blocks(cx, args)?;
    cx.check(image.len() == 2, fold::C5, |_| format!("output_size has {} entries, not 2", image.len()))?;
    for &size in image {
        let positive = cx.gt(size, 0);
        cx.require(positive, fold::C5, |cx| format!("the output size {} is not positive", cx.show(size)))?;
    }
    image_dims(cx, x, 2)?;
    let elements = blocks.elements(cx);
    let rest = cx.modulo(x.size(-2), elements);
    cx.require_eq(rest, Expr::ZERO, fold::C6, "the rows must be divisible by the elements of a block")?;
    let count = blocks.count(cx, [image[0], image[1]])?;
    cx.require_eq(count, x.size(-1), fold::C7, "the columns must be as many as there are blocks")?;
    let mut sizes: Sizes = x.sizes[..x.rank() - 2].into();
    sizes.push(cx.floor_div(x.size(-2), elements));
    sizes.extend_from_slice(image);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}
