//! Arbitrary strides, and the inverses of views: a part of a tensor replaced, or its gradient put in its place.
use super::diagonal::diagonal_of;
use super::slice::{real_dim, require_index, selected, slice_arguments};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::ops::scatter::scatter;
use crate::ops::slice::{select, slice};
use crate::tensor::Sizes;
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[as_strided::ALL, view_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| one(as_strided(cx, args)?) => "aten.as_strided.default";
    |cx, args| copied(cx, args, |cx, args| one(as_strided(cx, args)?)) => "aten.as_strided_copy.default";
    |cx, args| one(restrided(cx, args)?) => "aten._reshape_alias.default";
    |cx, args| copied(cx, args, |cx, args| one(restrided(cx, args)?)) => "aten._reshape_alias_copy.default";
    |cx, args| {
        let part = as_strided(cx, args)?;
        scattered(cx, args, part)
    } => "aten.as_strided_scatter.default", "prims.as_strided_scatter.default";
    |cx, args| {
        let part = diagonal_of(cx, args, args.tensor("self")?)?;
        scattered(cx, args, part)
    } => "aten.diagonal_scatter.default";
    |cx, args| {
        let part = slice_of(cx, args, args.tensor("self")?)?;
        scattered(cx, args, part)
    } => "aten.slice_scatter.default";
    |cx, args| {
        let part = selection_of(cx, args, args.tensor("self")?)?;
        scattered(cx, args, part)
    } => "aten.select_scatter.default";
    |cx, args| {
        let input = gradient_of(cx, args)?;
        let part = diagonal_of(cx, args, &input)?;
        put_back(cx, args, input, part)
    } => "aten.diagonal_backward.default";
    |cx, args| {
        let input = gradient_of(cx, args)?;
        let part = slice_of(cx, args, &input)?;
        put_back(cx, args, input, part)
    } => "aten.slice_backward.default";
    |cx, args| {
        let input = gradient_of(cx, args)?;
        let part = selection_of(cx, args, &input)?;
        put_back(cx, args, input, part)
    } => "aten.select_backward.default";
    unfold_backward => "aten.unfold_backward.default";
    slice_inverse => "aten.slice_inverse.default";
};

clauses! { as_strided {
    C1 "`size` and `stride` have the same number of entries."
    C2 "No entry of `size` and `stride` is negative, nor is `storage_offset`."
    C3 "The elements of the view lie within the storage of `self`. A tensor that is not dense from the \
        beginning of its storage may be a view of a larger one; sizewise does not follow views beyond its \
        elements."
} }

/// `aten::as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset) -> Tensor`: other sizes and
/// strides on the same storage, from the same offset where none is given.
///
/// The storage reaches that far.
fn as_strided(cx: &mut Cx, args: &Args) -> Result<Tensor, KernelError> {
    let part = restrided(cx, args)?;
    require_inside(cx, args.tensor("self")?, &part)?;
    Ok(part)
}

fn restrided(cx: &mut Cx, args: &Args) -> Result<Tensor, KernelError> {
    let (x, sizes, strides) = (args.tensor("self")?, args.ints("size")?, args.ints("stride")?);
    cx.check(sizes.len() == strides.len(), as_strided::C1, |_| {
        format!("{} strides for {} sizes", strides.len(), sizes.len())
    })?;
    let offset = if args.has("storage_offset") { args.opt_int("storage_offset")? } else { None };
    let offset = offset.unwrap_or(x.offset);
    for &number in sizes.iter().chain(strides).chain([&offset]) {
        let natural = cx.ge(number, 0);
        cx.require(natural, as_strided::C2, |cx| format!("{} is negative", cx.show(number)))?;
    }
    let mut result = x.viewed(sizes.into(), strides.into());
    result.offset = offset;
    Ok(result)
}

/// How many elements of its storage a tensor that is not empty reaches over: `offset + 1 + sum((size - 1) * stride)`.
fn reach(cx: &mut Cx, x: &Tensor) -> Expr {
    cx.env.need_strides();
    let mut last = cx.add(x.offset, 1);
    for (&size, &stride) in x.sizes.iter().zip(&x.strides) {
        let steps = cx.sub(size, 1);
        let far = cx.mul(steps, stride);
        last = cx.add(last, far);
    }
    last
}

fn require_inside(cx: &mut Cx, x: &Tensor, part: &Tensor) -> Result<(), KernelError> {
    let (held, needed) = (reach(cx, x), reach(cx, part));
    let (all, wanted) = (cx.numel(x), cx.numel(part));
    let (inside, some, none) = (cx.le(needed, held), cx.ne(all, 0), cx.eq(wanted, 0));
    let inside = cx.all(&[inside, some]);
    let fits = cx.any(&[inside, none]);
    let message =
        |cx: &Cx| format!("{} elements of storage are needed, there are {}", cx.show(needed), cx.show(held));
    let whole = x.offset == Expr::ZERO && cx.is_dense(x);
    match cx.require(fits, as_strided::C3, message) {
        Err(_) if !whole => Err(KernelError::Unsupported(format!("{}; it may be a view", message(cx)))),
        outcome => outcome,
    }
}

/// The part that `dim`, `start`, `end` and `step` of the call select.
fn slice_of(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Tensor, KernelError> {
    let dim = real_dim(cx, x, args.int("dim")?, slice::C1)?;
    let (start, end, step) = slice_arguments(cx, args)?;
    Ok(cx.sliced(x, dim, start, end, step))
}

/// The part that `dim` and `index` of the call select.
///
/// `index` is in range.
fn selection_of(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Tensor, KernelError> {
    let dim = real_dim(cx, x, args.int("dim")?, select::C1)?;
    let index = args.int("index")?;
    require_index(cx, index, x.sizes[dim], select::C2)?;
    Ok(selected(cx, x, dim, index))
}

/// `self` with a part replaced by `src`: a copy with the strides of `self`.
///
/// `src` has the sizes of the part.
fn scattered(cx: &mut Cx, args: &Args, part: Tensor) -> KernelResult {
    let (x, src) = (args.tensor("self")?, args.tensor("src")?);
    cx.check(src.rank() == part.rank(), scatter::C4, |cx| {
        let (a, b) = (cx.show_all(&src.sizes), cx.show_all(&part.sizes));
        format!("src has shape {a}, the part to be replaced {b}")
    })?;
    for (&a, &b) in src.sizes.iter().zip(&part.sizes) {
        cx.require_eq(a, b, scatter::C4, "src has another size than the part to be replaced")?;
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

/// A tensor of zeros of `input_sizes`, for the gradient of a view.
fn gradient_of(cx: &mut Cx, args: &Args) -> Result<Tensor, KernelError> {
    let (grad, sizes) = (args.tensor("grad_output")?, args.ints("input_sizes")?);
    natural_sizes(cx, sizes)?;
    Ok(cx.contiguous(sizes, grad.dtype, &grad.device))
}

fn natural_sizes(cx: &mut Cx, sizes: &[Expr]) -> Result<(), KernelError> {
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, view_backward::C1, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    Ok(())
}

/// The gradient of a view, put in its place among zeros.
fn put_back(cx: &mut Cx, args: &Args, input: Tensor, part: Tensor) -> KernelResult {
    let sizes = &args.tensor("grad_output")?.sizes;
    cx.require_expandable(sizes, &part.sizes, view_backward::C2)?;
    one(input)
}

clauses! { view_backward {
    C1 "No entry of `input_sizes` is negative."
    C2 "`grad_output` broadcasts to the shape of the view."
    C3 "`dim` is in range."
    C4 "`step` is positive."
    C5 "`grad_in` has one dimension more than the input."
    C6 "`grad_in` broadcasts to the windows if `step >= size`, and `size` is at most the size of the \
        dimension."
    C7 "`grad_in` has a window, with at least `size` elements, if `step < size`. It broadcasts along the \
        dimensions other than `dim`."
} }

/// `aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor`: windows summed
/// up where they come from, those left out that do not fit.
fn unfold_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, sizes) = (args.tensor("grad_in")?, args.ints("input_sizes")?);
    let (size, step) = (args.int("size")?, args.int("step")?);
    natural_sizes(cx, sizes)?;
    let dim = cx.dim(args.int("dim")?, sizes.len(), view_backward::C3)?;
    let positive = cx.gt(step, 0);
    cx.require(positive, view_backward::C4, |cx| format!("the step {} is not positive", cx.show(step)))?;
    cx.check(grad.rank() == sizes.len() + 1, view_backward::C5, |_| {
        format!("the gradient has {} dimensions, the input {}", grad.rank(), sizes.len())
    })?;
    let (mut wanted, mut given): (Sizes, Sizes) = (sizes.into(), grad.sizes.clone());
    let apart = cx.ge(step, size);
    if cx.branch(apart, view_backward::C6)? {
        let extent = sizes.get(dim).copied().unwrap_or(Expr::ONE);
        let fits = cx.le(size, extent);
        cx.require(fits, view_backward::C6, |cx| {
            format!("a window of {} elements does not fit into {}", cx.show(size), cx.show(extent))
        })?;
        if let Some(count) = wanted.get_mut(dim) {
            let rest = cx.sub(extent, size);
            let further = cx.floor_div(rest, step);
            *count = cx.add(further, 1);
        }
        wanted.push(size);
        cx.require_expandable(&given, &wanted, view_backward::C6)?;
    } else if dim < sizes.len() {
        let (enough, some) = (cx.ge(grad.size(-1), size), cx.gt(grad.sizes[dim], 0));
        let filled = cx.all(&[enough, some]);
        cx.require(filled, view_backward::C7, |cx| {
            let (count, length) = (cx.show(grad.sizes[dim]), cx.show(grad.size(-1)));
            format!("{count} windows of {} elements have {length}", cx.show(size))
        })?;
        given.pop();
        wanted.remove(dim);
        given.remove(dim);
        cx.require_expandable(&given, &wanted, view_backward::C7)?;
    }
    one(cx.contiguous(Sizes::from(sizes), grad.dtype, &grad.device))
}

/// `aten::slice_inverse(Tensor self, Tensor src, ...) -> Tensor`: the storage of `self` as `src` is laid out on its own.
fn slice_inverse(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, src) = (args.tensor("self")?, args.tensor("src")?);
    let [sizes, strides] = [&src.sizes, &src.strides].map(|list| Value::Ints(list.to_vec()));
    one(cx
        .invoke_one("aten.as_strided.default", [Value::from(&**x), sizes, strides, Value::Int(src.offset)])?)
}
