//! Histograms.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::matrix::batch;
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use smallvec::smallvec;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[histogram::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    histc => "aten.histc.default";
    histogram => "aten.histogram.bin_ct", "aten.histogram.bins_tensor";
    histogramdd => "aten.histogramdd.default", "aten.histogramdd.int_bins", "aten.histogramdd.TensorList_bins";
    bin_edges => "aten._histogramdd_bin_edges.default";
    from_bins => "aten._histogramdd_from_bin_cts.default", "aten._histogramdd_from_bin_tensors.default";
};

/// A number, where it is known.
fn known(cx: &mut Cx, number: Scalar) -> Option<f64> {
    match number {
        Scalar::Int(e) => cx.pool().as_int(e).map(|v| v.to_f64()),
        Scalar::Float(e) => cx.pool().as_float(e),
        Scalar::Bool(e) => e.as_literal_bool().map(f64::from),
        Scalar::Complex(..) => None,
    }
}

/// `histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor`: `[bins]`.
fn histc(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, bins) = (args.tensor("self")?, args.int("bins")?);
    require_bins(cx, bins)?;
    let (least, most) = (known(cx, args.scalar("min")?), known(cx, args.scalar("max")?));
    let empty_range = least.zip(most).is_some_and(|(least, most)| least > most);
    cx.check(!empty_range, histogram::C2, |_| "min is greater than max".into())?;
    cx.require_kind(x, Domain::FLOAT.on_cpu(), histogram::C3)?;
    one(cx.contiguous([bins].as_slice(), x.dtype, &x.device))
}

fn require_bins(cx: &mut Cx, bins: Expr) -> Result<(), KernelError> {
    let some = cx.gt(bins, 0);
    cx.require(some, histogram::C1, |cx| format!("there are to be bins, not {}", cx.show(bins)))
}

fn require_weights(cx: &mut Cx, args: &Args, x: &Tensor, sizes: &[Expr]) -> Result<(), KernelError> {
    let Some(weight) = args.opt_tensor("weight")? else { return Ok(()) };
    cx.require_same_shape(&weight.sizes, sizes, histogram::C4)?;
    cx.same_dtype(&[x, weight], histogram::C4)
}

fn require_range(cx: &mut Cx, args: &Args, dims: usize) -> Result<(), KernelError> {
    let range = if args.has("range") { args.opt_floats("range")? } else { None };
    let ends = range.map_or(2 * dims, <[Expr]>::len);
    cx.check(ends == 2 * dims, histogram::C5, |_| format!("a range of {ends} ends for {dims} dimensions"))
}

/// The number of bins between edges.
fn between(cx: &mut Cx, x: &Tensor, edges: &Tensor) -> Result<Expr, KernelError> {
    cx.rank(edges, 1, histogram::C6, "a tensor of edges")?;
    cx.same_dtype(&[x, edges], histogram::C6)?;
    let some = cx.gt(edges.size(0), 0);
    cx.require(some, histogram::C6, |_| "there are no edges".into())?;
    Ok(cx.sub(edges.size(0), 1))
}

/// `histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) ->
/// (Tensor hist, Tensor bin_edges)`, `histogram.bins_tensor`: `[bins]` and `[bins + 1]`.
fn histogram(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_kind(x, Domain::SINGLE_DOUBLE.on_cpu(), histogram::C3)?;
    require_weights(cx, args, x, &x.sizes)?;
    require_range(cx, args, 1)?;
    let bins = match args.value("bins")? {
        Value::Tensor(edges) => between(cx, x, edges)?,
        _ => args.int("bins")?,
    };
    require_bins(cx, bins)?;
    let edges = cx.add(bins, 1);
    let counts = cx.contiguous([bins].as_slice(), x.dtype, &x.device);
    Ok(smallvec![counts.into(), cx.contiguous([edges].as_slice(), x.dtype, &x.device).into()])
}

/// A histogram over more dimensions than this is not followed: no tensor that could be allocated has as many.
const MOST_DIMENSIONS: i64 = 64;

clauses! { histogram {
    C1 "The number of bins is positive. Only edges are computed for 0 bins, too."
    C2 "`min` does not exceed `max`."
    C3 "`self` has a floating point dtype with a CPU kernel."
    C4 "`weight` has the dtype of `self`, and an element for each sample."
    C5 "`range` has a lower and an upper bound for each dimension."
    C6 "`bins` that are edges are a vector, not empty, of the dtype of `self`."
    C7 "`self` has at least 2 dimensions."
    C8 "The last size of `self` is the number of entries of `bins`."
} }

/// The number of bins of each dimension, which the last dimension of `self` counts, as given by `bins`: a number for all,
/// numbers, or edges.
fn bins_of(cx: &mut Cx, args: &Args) -> Result<Vec<Expr>, KernelError> {
    let x = args.tensor("self")?;
    cx.check(x.rank() >= 2, histogram::C7, |_| format!("points form two dimensions, not {}", x.rank()))?;
    cx.require_kind(x, Domain::SINGLE_DOUBLE.on_cpu(), histogram::C3)?;
    let bins = match args.value("bins")? {
        Value::Int(count) => {
            let dims = cx.literal(x.size(-1), histogram::C8)?;
            return Ok(limited(dims)?.map(|_| *count).collect());
        }
        Value::Ints(counts) => counts.clone(),
        _ => {
            let edges: Vec<Arc<Tensor>> = args.tensors("bins")?;
            edges.iter().map(|edges| between(cx, x, edges)).collect::<Result<_, _>>()?
        }
    };
    limited(bins.len() as i64)?;
    let dims = cx.int(bins.len() as i64);
    cx.require_eq(
        x.size(-1),
        dims,
        histogram::C8,
        "the coordinates of a point and the lists of bins differ in number",
    )?;
    Ok(bins)
}

/// As many as `dims` dimensions, if they are not too many.
fn limited(dims: i64) -> Result<std::ops::Range<i64>, KernelError> {
    if dims > MOST_DIMENSIONS {
        return Err(KernelError::Unsupported(format!("a histogram over {dims} dimensions")));
    }
    Ok(0..dims)
}

/// The edges of bins, one tensor a dimension.
fn edges_of(cx: &mut Cx, x: &Tensor, bins: &[Expr]) -> Value {
    let edges: Vec<Tensor> = bins
        .iter()
        .map(|&bins| {
            let edges = cx.add(bins, 1);
            cx.contiguous([edges].as_slice(), x.dtype, &x.device)
        })
        .collect();
    list(edges)
}

/// `_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, …) -> Tensor[]`: `[bins + 1]` each.
fn bin_edges(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, bins) = (args.tensor("self")?, bins_of(cx, args)?);
    require_range(cx, args, bins.len())?;
    for &bins in &bins {
        let natural = cx.ge(bins, 0);
        cx.require(natural, histogram::C1, |cx| format!("{} bins are negative", cx.show(bins)))?;
    }
    Ok(smallvec![edges_of(cx, x, &bins)])
}

/// The counts of points in boxes: a dimension for each coordinate of a point.
fn counted(cx: &mut Cx, args: &Args, x: &Tensor, bins: &[Expr]) -> Result<Tensor, KernelError> {
    for &bins in bins {
        require_bins(cx, bins)?;
    }
    require_weights(cx, args, x, batch(&x.sizes, 1))?;
    require_range(cx, args, bins.len())?;
    Ok(cx.contiguous(bins, x.dtype, &x.device))
}

/// `_histogramdd_from_bin_cts(Tensor self, int[] bins, *, …) -> Tensor`, `_histogramdd_from_bin_tensors`: see
/// [`counted`].
fn from_bins(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, bins) = (args.tensor("self")?, bins_of(cx, args)?);
    one(counted(cx, args, x, &bins)?)
}

/// `histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor
/// hist, Tensor[] bin_edges)` and its like: see [`counted`]; edges that are given are given back.
fn histogramdd(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, bins) = (args.tensor("self")?, bins_of(cx, args)?);
    let counts = counted(cx, args, x, &bins)?;
    let edges = match args.value("bins")? {
        given @ Value::Tensors(_) => given.clone(),
        _ => edges_of(cx, x, &bins),
    };
    Ok(smallvec![counts.into(), edges])
}
