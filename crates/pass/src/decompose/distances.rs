//! Lengths, distances, and tensors of a given length.
//!
//! Source: torch 2.15, `torch/_refs/__init__.py` (`renorm`), `aten/src/ATen/native/Distance.cpp` and
//! `aten/src/ATen/native/WeightNorm.cpp`.
use super::Made;
use super::builder::{Builder, Function, dims};
use super::call::{Call, refused};
use super::views::one;
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype};

pub const RULES: &[(&str, Function)] = &[
    ("cdist.default", |b, call| {
        let names = ["x1", "x2", "p", "compute_mode"];
        b.one("_cdist_forward.default", &names.map(|name| call.argument(name))).map(one)
    }),
    ("pdist.default", |b, call| {
        let x = call.tensor("self")?;
        let x = if b.is_contiguous(x)? { x } else { super::views::copied(b, x)? };
        b.one("_pdist_forward.default", &[x.into(), call.argument("p")]).map(one)
    }),
    ("renorm.default", renorm),
    ("_weight_norm.default", weight_norm),
    ("linalg_matrix_norm.str_ord", |b, call| {
        if call.text("ord")? != "fro" {
            return Err(refused("norms of singular values are not decomposed"));
        }
        let given = [call.argument("self"), Argument::Int(2), call.argument("dim"), call.argument("keepdim")];
        b.one_with("linalg_vector_norm.default", &given, &[("dtype", call.argument("dtype"))]).map(one)
    }),
    ("dist.default", |b, call| {
        let (x, y) = (call.tensor("self")?, call.tensor("other")?);
        let difference = b.one("sub.Tensor", &[x.into(), y.into()])?;
        b.one("linalg_vector_norm.default", &[difference.into(), call.argument("p")]).map(one)
    }),
];

/// The lengths over all dimensions but one, which stay as ones.
fn lengths(b: &mut Builder<'_, '_>, x: Proxy, order: Argument, dim: usize) -> Result<Proxy, TraceError> {
    let others = dims((0..b.rank(x)?).filter(|&other| other != dim));
    b.one("linalg_vector_norm.default", &[x.into(), order, others, Argument::Bool(true)])
}

/// Slices that are longer than allowed are shortened.
fn renorm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let (rank, dtype) = (b.rank(x)?, b.dtype(x)?);
    if rank < 2 || !dtype.is_float() {
        return Err(refused("operands of one dimension, and other than floating ones, are not decomposed"));
    }
    let dim = b.dim(call.int("dim")?, rank)?;
    let halves = matches!(dtype, Dtype::Float16 | Dtype::Bfloat16);
    let computed = if halves { b.cast(x, Dtype::Float32)? } else { x };
    let length = lengths(b, computed, call.argument("p"), dim)?;
    let most = call.float("maxnorm")?;
    let longer = b.one("gt.Scalar", &[length.into(), Argument::Float(most)])?;
    let shifted = b.one("add.Tensor", &[length.into(), Argument::Float(1e-7)])?;
    let part = b.one("reciprocal.default", &[shifted.into()])?;
    let part = b.one("mul.Tensor", &[part.into(), Argument::Float(most)])?;
    let tensor = b.tensor(part)?;
    let whole = b.scalar(Argument::Float(1.0), tensor.dtype, &tensor.device)?;
    let factor = b.one("where.self", &[longer.into(), part.into(), whole.into()])?;
    let factor = b.cast(factor, dtype)?;
    let made = b.one("mul.Tensor", &[x.into(), factor.into()])?;
    if b.is_contiguous(made)? { Ok(vec![made]) } else { super::views::copied(b, made).map(one) }
}

/// A direction at a length: `v * (g / |v|)` for each slice of a dimension, or for all at once.
fn weight_norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (v, g) = (call.tensor("v")?, call.tensor("g")?);
    let (rank, dim) = (b.rank(v)?, call.int("dim")?);
    if !matches!(b.dtype(v)?, Dtype::Float32 | Dtype::Float64) || rank < 2 {
        return Err(refused("halves, and directions of one dimension, are not decomposed"));
    }
    let length = match dim {
        -1 => b.one("linalg_vector_norm.default", &[v.into(), Argument::Int(2)])?,
        dim => {
            let dim = b.dim(dim, rank)?;
            lengths(b, v, Argument::Int(2), dim)?
        }
    };
    let factor = b.one("div.Tensor", &[g.into(), length.into()])?;
    b.one("mul.Tensor", &[v.into(), factor.into()]).map(one)
}
