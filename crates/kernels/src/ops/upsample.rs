//! Interpolation to another size, and sampling at the points of a grid.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::pool::require_filled;
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Func};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    upsample::ALL,
    upsample_backward::ALL,
    grid_sampler::ALL,
    grid_sampler_backward::ALL,
    affine_grid::ALL,
    affine_grid_backward::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| vec(cx, args, 1, true) => "aten.upsample_nearest1d.vec", "aten._upsample_nearest_exact1d.vec";
    |cx, args| vec(cx, args, 2, true) => "aten.upsample_nearest2d.vec", "aten._upsample_nearest_exact2d.vec",
        "aten.upsample_bilinear2d.vec", "aten.upsample_bicubic2d.vec", "aten._upsample_bilinear2d_aa.vec",
        "aten._upsample_bicubic2d_aa.vec", "aten._upsample_lanczos2d_aa.vec";
    |cx, args| vec(cx, args, 3, true) => "aten.upsample_nearest3d.vec", "aten._upsample_nearest_exact3d.vec";
    |cx, args| vec(cx, args, 1, false) => "aten.upsample_linear1d.vec";
    |cx, args| vec(cx, args, 3, false) => "aten.upsample_trilinear3d.vec";
    |cx, args| sized(cx, args, 1, true) => "aten.upsample_nearest1d.default",
        "aten._upsample_nearest_exact1d.default";
    |cx, args| sized(cx, args, 2, true) => "aten.upsample_nearest2d.default",
        "aten._upsample_nearest_exact2d.default", "aten.upsample_bilinear2d.default",
        "aten.upsample_bicubic2d.default", "aten._upsample_bilinear2d_aa.default",
        "aten._upsample_bicubic2d_aa.default", "aten._upsample_lanczos2d_aa.default";
    |cx, args| sized(cx, args, 3, true) => "aten.upsample_nearest3d.default",
        "aten._upsample_nearest_exact3d.default";
    |cx, args| sized(cx, args, 1, false) => "aten.upsample_linear1d.default";
    |cx, args| sized(cx, args, 3, false) => "aten.upsample_trilinear3d.default";
    |cx, args| backward(cx, args, 1) => "aten.upsample_nearest1d_backward.default",
        "aten._upsample_nearest_exact1d_backward.default", "aten.upsample_linear1d_backward.default";
    |cx, args| backward(cx, args, 2) => "aten.upsample_nearest2d_backward.default",
        "aten._upsample_nearest_exact2d_backward.default", "aten.upsample_bilinear2d_backward.default",
        "aten.upsample_bicubic2d_backward.default", "aten._upsample_bilinear2d_aa_backward.default",
        "aten._upsample_bicubic2d_aa_backward.default", "aten._upsample_lanczos2d_aa_backward.default";
    |cx, args| backward(cx, args, 3) => "aten.upsample_nearest3d_backward.default",
        "aten._upsample_nearest_exact3d_backward.default", "aten.upsample_trilinear3d_backward.default";
    |cx, args| grid_sampler(cx, args, None) => "aten.grid_sampler.default";
    |cx, args| grid_sampler(cx, args, Some(2)) => "aten.grid_sampler_2d.default",
        "aten._grid_sampler_2d_cpu_fallback.default";
    |cx, args| grid_sampler(cx, args, Some(3)) => "aten.grid_sampler_3d.default";
    |cx, args| grid_sampler_backward(cx, args, 2) => "aten.grid_sampler_2d_backward.default",
        "aten._grid_sampler_2d_cpu_fallback_backward.default";
    |cx, args| grid_sampler_backward(cx, args, 3) => "aten.grid_sampler_3d_backward.default";
    affine_grid => "aten.affine_grid_generator.default";
    affine_grid_backward => "aten.affine_grid_generator_backward.default";
};

/// `aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor` and the like:
/// `[n, c, ..] → [n, c, output_size]`, or each spatial size `n` becomes `trunc(n * scale)`.
fn vec(cx: &mut Cx, args: &Args, rank: usize, bytes: bool) -> KernelResult {
    let x = args.tensor("input")?;
    let (size, scales) = (args.opt_ints("output_size")?, args.opt_floats("scale_factors")?);
    cx.check(size.is_some() != scales.is_some(), upsample::C1, |_| {
        "exactly one of output_size and scale_factors is to be given".into()
    })?;
    let entries = size.or(scales).map_or(0, <[Expr]>::len);
    cx.check(entries == rank, upsample::C2, |_| format!("{rank} entries are expected, not {entries}"))?;
    let output: Vec<Expr> = match (size, scales) {
        (Some(size), _) => size.to_vec(),
        (_, Some(scales)) => {
            require_rank(cx, x, rank)?;
            let pairs: Vec<(Expr, Expr)> = x.sizes[2..].iter().copied().zip(scales.iter().copied()).collect();
            pairs.into_iter().map(|(n, scale)| scaled(cx, n, scale)).collect()
        }
        _ => Vec::new(),
    };
    interpolated(cx, x, &output, bytes)
}

/// `trunc(n * scale)` for a size `n`: as a floor division where the scale is a fraction whose product with a size is
/// an exact double.
fn scaled(cx: &mut Cx, n: Expr, scale: Expr) -> Expr {
    let pool = cx.pool();
    if let Some(value) = pool.as_float(scale) {
        for bits in 0..=8 {
            let denominator = i64::from(1u16 << bits);
            let numerator = value * denominator as f64;
            if numerator.fract() == 0.0 && (0.0..=4096.0).contains(&numerator) {
                let (p, q) = (pool.int(numerator as i64), pool.int(denominator));
                let product = pool.mul(n, p);
                return pool.floor_div(product, q);
            }
        }
    }
    let n = pool.to_float(n);
    let product = pool.mul(n, scale);
    pool.float_to_int(Func::Trunc, product)
}

/// `aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor`
/// and the like; the scales do not change the shape.
fn sized(cx: &mut Cx, args: &Args, rank: usize, bytes: bool) -> KernelResult {
    let (x, size) = (args.tensor("self")?, args.ints("output_size")?);
    cx.check(size.len() == rank, upsample::C2, |_| {
        format!("output_size is to have {rank} entries, not {}", size.len())
    })?;
    interpolated(cx, x, size, bytes)
}

fn require_rank(cx: &mut Cx, x: &Tensor, rank: usize) -> Result<(), KernelError> {
    cx.rank(x, rank + 2, upsample::C3, "the input")
}

clauses! { upsample {
    C1 "Exactly one of `output_size` and `scale_factors` is given."
    C2 "`output_size` or `scale_factors` has an entry for each spatial dimension."
    C3 "The input has two dimensions more than there are spatial dimensions."
    C4 "Only the batch of the input may be empty, and `output_size` is positive."
    C5 "There is a CPU kernel for the dtype of the input."
} }

/// The image in another size, in the same memory format.
fn interpolated(cx: &mut Cx, x: &Tensor, output: &[Expr], bytes: bool) -> KernelResult {
    require_rank(cx, x, output.len())?;
    require_filled(cx, &x.sizes[1..], upsample::C4)?;
    require_filled(cx, output, upsample::C4)?;
    let served = Domain::FLOAT.contains(x.dtype) || (bytes && x.dtype == Dtype::Uint8);
    cx.require_cpu_kernel(x.dtype, served, upsample::C5)?;
    let mut sizes = Sizes::from_slice(&x.sizes[..2]);
    sizes.extend_from_slice(output);
    one(cx.image(x, sizes, x.dtype))
}

clauses! { upsample_backward {
    C1 "`output_size` has an entry for each spatial dimension. `input_size` has one for each dimension."
    C2 "`output_size` and the spatial entries of `input_size` are positive."
    C3 "`grad_output` has the shape of the result."
    C4 "There is a CPU kernel for the dtype of `grad_output`."
} }

/// `aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, ...) -> Tensor`
/// and the like: of shape `input_size`.
fn backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let grad = args.tensor("grad_output")?;
    let (output, input) = (args.ints("output_size")?, args.ints("input_size")?);
    cx.check(output.len() == rank && input.len() == rank + 2, upsample_backward::C1, |_| {
        format!("{} and {} entries are not {rank} and {}", output.len(), input.len(), rank + 2)
    })?;
    require_filled(cx, &input[2..], upsample_backward::C2)?;
    require_filled(cx, output, upsample_backward::C2)?;
    cx.rank(grad, rank + 2, upsample_backward::C3, "grad_output")?;
    let expected = input[..2].iter().chain(output);
    for (&given, &size) in grad.sizes.iter().zip(expected) {
        cx.require_eq(given, size, upsample_backward::C3, "grad_output does not fit the result")?;
    }
    let served = Domain::FLOAT.contains(grad.dtype) || grad.dtype == Dtype::Uint8;
    cx.require_cpu_kernel(grad.dtype, served, upsample_backward::C4)?;
    let sizes = Sizes::from_slice(input);
    let name = &*args.schema.name;
    let keeps_format = if rank == 3 { name.contains("linear") } else { !name.contains("bicubic") };
    one(if keeps_format {
        cx.image(grad, sizes, grad.dtype)
    } else {
        cx.contiguous(sizes, grad.dtype, &grad.device)
    })
}

clauses! { grid_sampler {
    C1 "`input` and `grid` have two dimensions more than there are spatial dimensions."
    C2 "`input` and `grid` have the same batch size."
    C3 "The last size of `grid` is the number of spatial dimensions."
    C4 "No spatial dimension of `input` is empty."
    C5 "`input` and `grid` have the same floating point dtype."
} }

/// The conditions of sampling, and the shape of the result: `[n, c, ..]` and `[n, out.., rank]` give `[n, c, out..]`.
fn sampled(cx: &mut Cx, x: &Tensor, grid: &Tensor, rank: usize) -> Result<Sizes, KernelError> {
    cx.rank(x, rank + 2, grid_sampler::C1, "the input")?;
    cx.rank(grid, rank + 2, grid_sampler::C1, "the grid")?;
    cx.require_eq(x.size(0), grid.size(0), grid_sampler::C2, "the batch sizes differ")?;
    let spatial = cx.int(rank as i64);
    cx.require_eq(grid.size(-1), spatial, grid_sampler::C3, "the grid's last size is wrong")?;
    require_filled(cx, &x.sizes[2..], grid_sampler::C4)?;
    cx.same_dtype(&[x, grid], grid_sampler::C5)?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), grid_sampler::C5)?;
    let mut sizes = Sizes::from_slice(&x.sizes[..2]);
    sizes.extend_from_slice(&grid.sizes[1..=rank]);
    Ok(sizes)
}

/// `aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) ->
/// Tensor` and the like.
fn grid_sampler(cx: &mut Cx, args: &Args, rank: Option<usize>) -> KernelResult {
    let (x, grid) = (args.tensor("input")?, args.tensor("grid")?);
    let spatial = match rank {
        Some(rank) => rank,
        None => {
            cx.check(x.rank() == 4 || x.rank() == 5, grid_sampler::C1, |_| {
                format!("4 or 5 dimensions are expected, not {}", x.rank())
            })?;
            x.rank() - 2
        }
    };
    let sizes = sampled(cx, x, grid, spatial)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { grid_sampler_backward {
    C6 "`grad_output` has the shape and dtype of the result."
} }

/// `aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, ..., bool[2] output_mask) -> (Tensor,
/// Tensor)` and the like: shaped like input and grid.
fn grid_sampler_backward(cx: &mut Cx, args: &Args, rank: usize) -> KernelResult {
    let (grad, x, grid) = (args.tensor("grad_output")?, args.tensor("input")?, args.tensor("grid")?);
    let sizes = sampled(cx, x, grid, rank)?;
    cx.rank(grad, sizes.len(), grid_sampler_backward::C6, "grad_output")?;
    for (&given, &size) in grad.sizes.iter().zip(&sizes) {
        cx.require_eq(given, size, grid_sampler_backward::C6, "grad_output does not fit the result")?;
    }
    cx.same_dtype(&[x, grad], grid_sampler_backward::C6)?;
    let mask = if args.has("output_mask") { args.flags("output_mask")? } else { vec![true, true] };
    let mut results = Values::new();
    results.push(if mask.first() == Some(&true) {
        cx.contiguous(x.sizes.clone(), x.dtype, &x.device).into()
    } else {
        Value::None
    });
    results.push(cx.contiguous(grid.sizes.clone(), grid.dtype, &grid.device).into());
    Ok(results)
}

clauses! { affine_grid {
    C1 "`size` has 4 or 5 entries."
    C2 "`theta` has 3 dimensions."
    C3 "`theta` is `[n, d, d + 1]`, with `d` spatial dimensions."
    C4 "`theta` is not of `bool`."
} }

/// `aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor`: `[n, 2, 3]` and `[n, c, h,
/// w]` give `[n, h, w, 2]`, `[n, 3, 4]` and `[n, c, d, h, w]` give `[n, d, h, w, 3]`.
fn affine_grid(cx: &mut Cx, args: &Args) -> KernelResult {
    let (theta, size) = (args.tensor("theta")?, args.ints("size")?);
    cx.check(size.len() == 4 || size.len() == 5, affine_grid::C1, |_| {
        format!("4 or 5 sizes are expected, not {}", size.len())
    })?;
    cx.rank(theta, 3, affine_grid::C2, "theta")?;
    let spatial = size.len() as i64 - 2;
    let (rows, columns) = (cx.int(spatial), cx.int(spatial + 1));
    for (given, wanted) in theta.sizes.iter().zip([size[0], rows, columns]) {
        cx.require_eq(*given, wanted, affine_grid::C3, "a size of theta is wrong")?;
    }
    cx.require_kind(theta, Domain::REAL.with(Domain::COMPLEX).on_cpu(), affine_grid::C4)?;
    let mut sizes = Sizes::from_slice(&[size[0]]);
    sizes.extend_from_slice(&size[2..]);
    sizes.push(rows);
    one(cx.contiguous(sizes, theta.dtype, &theta.device))
}

clauses! { affine_grid_backward {
    C1 "`size` has 4 or 5 entries."
    C2 "`grad` has the shape of the grid."
    C3 "`grad` has a floating point dtype."
} }

/// `aten::affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor`: `[n, h, w, 2] → [n,
/// 2, 3]`, a transposed product.
fn affine_grid_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, size) = (args.tensor("grad")?, args.ints("size")?);
    cx.check(size.len() == 4 || size.len() == 5, affine_grid_backward::C1, |_| {
        format!("4 or 5 sizes are expected, not {}", size.len())
    })?;
    let spatial = size.len() as i64 - 2;
    let (rows, columns) = (cx.int(spatial), cx.int(spatial + 1));
    let mut wanted = Sizes::from_slice(&[size[0]]);
    wanted.extend_from_slice(&size[2..]);
    wanted.push(rows);
    cx.rank(grad, wanted.len(), affine_grid_backward::C2, "the gradient")?;
    for (&given, &size) in grad.sizes.iter().zip(&wanted) {
        cx.require_eq(given, size, affine_grid_backward::C2, "the gradient does not fit the grid")?;
    }
    cx.require_kind(grad, Domain::FLOAT.on_cpu(), affine_grid_backward::C3)?;
    let sizes = Sizes::from_slice(&[size[0], rows, columns]);
    let strides = cx.strides_in_order(&sizes, &[1, 2, 0]);
    one(cx.strided(sizes, strides, grad.dtype, &grad.device))
}
