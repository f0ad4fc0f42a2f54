//! Matrix products.
use crate::error::one;
use crate::flops::{Flops, formulas, not_modelled, twice};
use crate::kernel::{Kernel, kernels};
use crate::product::{PRODUCTS, matmul};
use crate::promote::ResultType;
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    mm::ALL,
    bmm::ALL,
    mv::ALL,
    dot::ALL,
    linear::ALL,
    addmm::ALL,
    addmv::ALL,
    baddbmm::ALL,
    addbmm::ALL,
    outer::ALL,
    addr::ALL,
    multi_dot::ALL,
    vecdot::ALL,
    foreach_mm::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| mm(cx, args, None) => "aten.mm.default";
    |cx, args| mm(cx, args, args.opt_dtype("out_dtype")?) => "aten.mm.dtype";
    |cx, args| bmm(cx, args, None) => "aten.bmm.default";
    |cx, args| bmm(cx, args, args.opt_dtype("out_dtype")?) => "aten.bmm.dtype";
    mv => "aten.mv.default";
    dot => "aten.dot.default", "aten.vdot.default";
    matmul => "aten.matmul.default", "aten.linalg_matmul.default";
    linear => "aten.linear.default";
    |cx, args| addmm(cx, args, None) => "aten.addmm.default", "aten._addmm_activation.default";
    |cx, args| addmm(cx, args, args.opt_dtype("out_dtype")?) => "aten.addmm.dtype";
    addmv => "aten.addmv.default";
    |cx, args| baddbmm(cx, args, None) => "aten.baddbmm.default";
    |cx, args| baddbmm(cx, args, args.opt_dtype("out_dtype")?) => "aten.baddbmm.dtype";
    addbmm => "aten.addbmm.default";
    outer => "aten.outer.default", "aten.ger.default";
    addr => "aten.addr.default";
    |cx, args| multi_dot(cx, &args.tensors("tensors")?, true) => "aten.linalg_multi_dot.default";
    |cx, args| multi_dot(cx, &args.tensors("matrices")?, false) => "aten.chain_matmul.default";
    vecdot => "aten.linalg_vecdot.default";
    foreach_mm => "aten._foreach_mm.default";
};

/// What the family's operators compute. Products with a vector count nothing, nor do those of bytes and groups.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| of_product(cx, args.tensor("self")?, args.tensor("mat2")?) =>
        "aten.mm.default", "aten.mm.dtype", "aten.bmm.default", "aten.bmm.dtype", "aten._scaled_mm.default";
    |cx, args, _| of_product(cx, args.tensor("mat1")?, args.tensor("mat2")?) =>
        "aten.addmm.default", "aten.addmm.dtype";
    |cx, args, _| of_product(cx, args.tensor("batch1")?, args.tensor("batch2")?) =>
        "aten.baddbmm.default", "aten.baddbmm.dtype";
    |cx, args, _| of_linear(cx, args.tensor("input")?, args.tensor("weight")?) => "aten.linear.default";
    |cx, args, _| of_matmul(cx, args.tensor("self")?, args.tensor("other")?) =>
        "aten.matmul.default", "aten.linalg_matmul.default";
    not_modelled => "aten.linalg_multi_dot.default", "aten.chain_matmul.default", "aten._foreach_mm.default",
        "aten.linalg_matrix_power.default", "aten.matrix_power.default", "aten.linalg_matrix_exp.default",
        "aten.matrix_exp.default", "aten.cov.default", "aten.corrcoef.default", "aten.pinverse.default",
        "aten.linalg_pinv.default";
};

/// `2 n k p` a batch, of `[.., n, k] × [.., k, p]`.
fn of_product(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<Expr, KernelError> {
    let elements = cx.numel(a);
    Ok(twice(cx, [elements, b.size(-1)]))
}

/// `2 n k p` for `[.., k] × [p, k]`, where `n` is the number of rows.
fn of_linear(cx: &mut Cx, x: &Tensor, w: &Tensor) -> Result<Expr, KernelError> {
    if w.rank() < 2 {
        return Ok(Expr::ZERO);
    }
    let elements = cx.numel(x);
    Ok(twice(cx, [elements, w.size(0)]))
}

/// That of the products which torch chooses by the ranks (`_matmul_impl` in `aten/src/ATen/native/LinearAlgebra.cpp`).
fn of_matmul(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<Expr, KernelError> {
    match (a.rank(), b.rank()) {
        (0, _) | (_, 0) | (1, 1) | (2, 1) => Ok(Expr::ZERO),
        // A vector counts only where the other operand is not taken for one matrix.
        (_, 1) if is_one_matrix(cx, a) => Ok(Expr::ZERO),
        (_, 1) => {
            let elements = cx.numel(a);
            Ok(twice(cx, [elements]))
        }
        (1, 3..) if is_one_matrix(cx, &transposed(b)) => Ok(Expr::ZERO),
        (1, _) => {
            let elements = cx.numel(b);
            Ok(twice(cx, [elements]))
        }
        (_, _) => {
            let sizes = cx.matmul_sizes(a, b)?;
            Ok(twice(cx, sizes.into_iter().chain([a.size(-1)])))
        }
    }
}

/// With the last two dimensions exchanged.
fn transposed(t: &Tensor) -> Tensor {
    let (mut sizes, mut strides, last) = (t.sizes.clone(), t.strides.clone(), t.rank() - 1);
    sizes.swap(last - 1, last);
    strides.swap(last - 1, last);
    t.viewed(sizes, strides)
}

/// Whether the leading dimensions lie in memory as one: torch multiplies them at once then.
fn is_one_matrix(cx: &mut Cx, t: &Tensor) -> bool {
    (0..t.rank() - 2).all(|at| {
        let next = cx.mul(t.sizes[at + 1], t.strides[at + 1]);
        t.strides[at] == next
    })
}

clauses! { mm {
    C1 "Both operands have 2 dimensions."
    C2 "The contracted sizes agree: `self.size(1) == mat2.size(0)`."
    C3 "`self` and `mat2` have the same dtype, with a CPU kernel for products. With `out_dtype`, dtypes \
        are not checked."
} }

/// `[n, k] × [k, p] → [n, p]`.
pub(super) fn matrices(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<[Expr; 2], KernelError> {
    cx.rank(a, 2, mm::C1, "self")?;
    cx.rank(b, 2, mm::C1, "mat2")?;
    cx.require_eq(a.size(1), b.size(0), mm::C2, "self.size(1) and mat2.size(0) differ")?;
    Ok([a.size(0), b.size(1)])
}

/// `aten::mm(Tensor self, Tensor mat2) -> Tensor`: `[n, k] × [k, p] → [n, p]`.
fn mm(cx: &mut Cx, args: &Args, out: Option<Dtype>) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    let sizes = matrices(cx, a, b)?;
    if out.is_none() {
        cx.same_dtype(&[a, b], mm::C3)?;
        cx.products_or_empty(a.dtype, &sizes, mm::C3)?;
    }
    one(cx.contiguous(sizes.as_slice(), out.unwrap_or(a.dtype), &a.device))
}

clauses! { bmm {
    C1 "Both operands have 3 dimensions."
    C2 "Both operands have the same batch size."
    C3 "The last size of the first operand is the second size of the other."
    C4 "`self` and `mat2` have the same dtype. There is a CPU kernel for products in it, unless there is \
        nothing to multiply."
} }

/// `[b, n, k] × [b, k, p] → [b, n, p]`.
fn batches(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<[Expr; 3], KernelError> {
    cx.rank(a, 3, bmm::C1, "the first batch")?;
    cx.rank(b, 3, bmm::C1, "the second batch")?;
    cx.require_eq(a.size(0), b.size(0), bmm::C2, "the batch sizes differ")?;
    cx.require_eq(a.size(2), b.size(1), bmm::C3, "the contracted sizes differ")?;
    Ok([a.size(0), a.size(1), b.size(2)])
}

/// `aten::bmm(Tensor self, Tensor mat2) -> Tensor`: `[b, n, k] × [b, k, p] → [b, n, p]`.
fn bmm(cx: &mut Cx, args: &Args, out: Option<Dtype>) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    let sizes = batches(cx, a, b)?;
    if out.is_none() {
        alike_or_empty(cx, &[a, b], &sizes, a.size(2), bmm::C4)?;
    }
    one(cx.contiguous(sizes.as_slice(), out.unwrap_or(b.dtype), &a.device))
}

/// Requires one dtype that has a kernel, unless the result or the contraction is empty.
fn alike_or_empty(
    cx: &mut Cx,
    tensors: &[&Tensor],
    sizes: &[Expr],
    contracted: Expr,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let Some(other) = tensors.iter().find(|t| t.dtype != tensors[0].dtype) else {
        return cx.products_or_empty(tensors[0].dtype, sizes, clause);
    };
    let (first, other) = (tensors[0].dtype, other.dtype);
    let numel = cx.product(sizes.iter().copied().chain([contracted]));
    let empty = cx.eq(numel, 0);
    cx.require(empty, clause, |_| format!("the dtypes differ: {first} and {other}"))
}

clauses! { mv {
    C1 "`self` has 2 dimensions, and `vec` has 1."
    C2 "The contracted sizes agree: `self.size(1) == vec.size(0)`."
    C3 "`self` and `vec` have the same dtype, with a CPU kernel for products."
} }

/// `aten::mv(Tensor self, Tensor vec) -> Tensor`: `[n, k] × [k] → [n]`.
fn mv(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("vec")?);
    cx.rank(a, 2, mv::C1, "self")?;
    cx.rank(b, 1, mv::C1, "vec")?;
    cx.require_eq(a.size(1), b.size(0), mv::C2, "self.size(1) and vec.size(0) differ")?;
    cx.same_dtype(&[a, b], mv::C3)?;
    cx.products_or_empty(a.dtype, &[a.size(0)], mv::C3)?;
    one(cx.contiguous([a.size(0)].as_slice(), a.dtype, &a.device))
}

clauses! { dot {
    C1 "Both operands have 1 dimension."
    C2 "Both operands have the same dtype."
    C3 "Both operands have the same size."
    C4 "There is a CPU kernel for products in the dtype of the operands."
} }

/// `aten::dot(Tensor self, Tensor tensor) -> Tensor`, `aten::vdot`: `[n] × [n] → []`.
fn dot(cx: &mut Cx, args: &Args) -> KernelResult {
    let a = args.tensor("self")?;
    let b = args.tensor(if args.has("tensor") { "tensor" } else { "other" })?;
    vectors(cx, a, b)?;
    one(cx.contiguous([].as_slice(), a.dtype, &a.device))
}

fn vectors(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<(), KernelError> {
    cx.rank(a, 1, dot::C1, "self")?;
    cx.rank(b, 1, dot::C1, "the other vector")?;
    cx.same_dtype(&[a, b], dot::C2)?;
    cx.require_eq(a.size(0), b.size(0), dot::C3, "the sizes differ")?;
    cx.require_kind(a, PRODUCTS.on_cpu(), dot::C4)
}

/// `aten::matmul(Tensor self, Tensor other) -> Tensor`; see [`Cx::matmul_sizes`] for the shape.
fn matmul(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let sizes = cx.matmul_sizes(a, b)?;
    cx.same_dtype(&[a, b], matmul::C4)?;
    cx.products_or_empty(a.dtype, &sizes, matmul::C4)?;
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { linear {
    C1 "`input` has at least 1 dimension, and `weight` has 2, or 1 without `bias`."
    C2 "`input` and `weight` have the same last size."
    C3 "`bias` broadcasts to the shape of the result."
    C4 "`input`, `weight` and `bias` have the same dtype, with a CPU kernel for products."
} }

/// `aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor`: `[.., k] × [p, k] → [.., p]`, a weight of 1
/// dimension leaving none.
fn linear(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w, bias) = (args.tensor("input")?, args.tensor("weight")?, args.opt_tensor("bias")?);
    cx.check(x.rank() > 0 && (w.rank() == 1 || w.rank() == 2), linear::C1, |_| {
        format!(
            "an input with dimensions and a weight of 1 or 2 are expected, not {} and {}",
            x.rank(),
            w.rank()
        )
    })?;
    // A vector as weight with a bias goes through a product of matrices, which it is not.
    cx.check(w.rank() == 2 || bias.is_none(), linear::C1, |_| {
        "a bias needs a weight of 2 dimensions".into()
    })?;
    cx.require_eq(x.size(-1), w.size(-1), linear::C2, "the input's and the weight's last sizes differ")?;
    let mut sizes = x.sizes.clone();
    sizes.pop();
    if w.rank() == 2 {
        sizes.push(w.size(0));
    }
    if let Some(bias) = bias {
        cx.require_expandable(&bias.sizes, &sizes, linear::C3)?;
        cx.same_dtype(&[x, w, bias], linear::C4)?;
    }
    cx.same_dtype(&[x, w], linear::C4)?;
    cx.products_or_empty(x.dtype, &sizes, linear::C4)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { addmm {
    C3 "`self` broadcasts to the shape of the product."
    C4 "`self`, `mat1` and `mat2` have the same dtype, with a CPU kernel for products."
} }

/// `aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor`: `[n, k] × [k, p] →
/// [n, p]`.
fn addmm(cx: &mut Cx, args: &Args, out: Option<Dtype>) -> KernelResult {
    let (x, a, b) = (args.tensor("self")?, args.tensor("mat1")?, args.tensor("mat2")?);
    let sizes = matrices(cx, a, b)?;
    cx.require_expandable(&x.sizes, &sizes, addmm::C3)?;
    if out.is_none() {
        cx.same_dtype(&[x, a, b], addmm::C4)?;
        cx.products_or_empty(a.dtype, &sizes, addmm::C4)?;
    }
    one(cx.contiguous(sizes.as_slice(), out.unwrap_or(a.dtype), &a.device))
}

clauses! { addmv {
    C1 "`mat` has 2 dimensions, and `vec` has 1."
    C2 "The contracted sizes agree: `mat.size(1) == vec.size(0)`."
    C3 "`self` broadcasts to the shape of the product."
    C4 "`self`, `mat` and `vec` have the same dtype, with a CPU kernel for products."
} }

/// `aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor`: `[n, k] × [k] → [n]`;
/// a `self` without dimensions to which no rows are added keeps its shape.
fn addmv(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, a, b) = (args.tensor("self")?, args.tensor("mat")?, args.tensor("vec")?);
    cx.rank(a, 2, addmv::C1, "mat")?;
    cx.rank(b, 1, addmv::C1, "vec")?;
    cx.require_eq(a.size(1), b.size(0), addmv::C2, "mat.size(1) and vec.size(0) differ")?;
    cx.require_expandable(&x.sizes, &[a.size(0)], addmv::C3)?;
    cx.same_dtype(&[x, a, b], addmv::C4)?;
    cx.products_or_empty(a.dtype, &[a.size(0)], addmv::C4)?;
    let rows = a.size(0);
    let none = cx.eq(rows, 0);
    if x.rank() == 0 && cx.branch(none, addmv::C3)? {
        return one(cx.contiguous([].as_slice(), a.dtype, &a.device));
    }
    one(cx.contiguous([rows].as_slice(), a.dtype, &a.device))
}

clauses! { baddbmm {
    C4 "`self` broadcasts to the shape of the product."
    C5 "`self`, `batch1` and `batch2` have the same dtype, with a CPU kernel for products. That of \
        `batch2` may differ if the result is empty."
} }

/// `aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor`.
fn baddbmm(cx: &mut Cx, args: &Args, out: Option<Dtype>) -> KernelResult {
    let (x, a, b) = (args.tensor("self")?, args.tensor("batch1")?, args.tensor("batch2")?);
    let sizes = batches(cx, a, b)?;
    cx.require_expandable(&x.sizes, &sizes, baddbmm::C4)?;
    if out.is_none() {
        cx.same_dtype(&[x, a], baddbmm::C5)?;
        alike_or_empty(cx, &[a, b], &sizes, Expr::ONE, baddbmm::C5)?;
    }
    one(cx.contiguous(sizes.as_slice(), out.unwrap_or(b.dtype), &a.device))
}

clauses! { addbmm {
    C4 "`self` broadcasts to the shape of the sum of products."
    C5 "`self`, `batch1` and `batch2` have the same dtype. There is a CPU kernel for products in it."
} }

/// `aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor`: the products
/// summed over the batch, `[b, n, k] × [b, k, p] → [n, p]`.
fn addbmm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, a, b) = (args.tensor("self")?, args.tensor("batch1")?, args.tensor("batch2")?);
    let [_, n, p] = batches(cx, a, b)?;
    cx.require_expandable(&x.sizes, &[n, p], addbmm::C4)?;
    cx.same_dtype(&[x, a, b], addbmm::C5)?;
    cx.products_or_empty(a.dtype, &[n, p], addbmm::C5)?;
    one(cx.contiguous([n, p].as_slice(), x.dtype, &x.device))
}

fn promoted(tensors: &[&Tensor], clause: &'static OpClause) -> Result<Dtype, KernelError> {
    ResultType::of(tensors.iter().copied())
        .dtype()
        .map_err(|(a, b)| KernelError::invalid(clause, format!("{a} and {b} do not promote")))
}

clauses! { outer {
    C1 "Both operands have 1 dimension."
    C2 "The dtypes of both operands promote to a common one."
} }

/// `aten::outer(Tensor self, Tensor vec2) -> Tensor`: `[n] × [p] → [n, p]`.
fn outer(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("vec2")?);
    cx.rank(a, 1, outer::C1, "self")?;
    cx.rank(b, 1, outer::C1, "vec2")?;
    let dtype = promoted(&[a, b], outer::C2)?;
    one(cx.contiguous([a.size(0), b.size(0)].as_slice(), dtype, &a.device))
}

clauses! { addr {
    C1 "`vec1` and `vec2` have 1 dimension."
    C2 "`self` broadcasts to the shape of the product."
    C3 "The dtypes of the operands promote to a common one."
} }

/// `aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor`: `[n] × [p] → [n, p]`.
fn addr(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, a, b) = (args.tensor("self")?, args.tensor("vec1")?, args.tensor("vec2")?);
    cx.rank(a, 1, addr::C1, "vec1")?;
    cx.rank(b, 1, addr::C1, "vec2")?;
    let sizes = [a.size(0), b.size(0)];
    cx.require_expandable(&x.sizes, &sizes, addr::C2)?;
    let dtype = promoted(&[x, a, b], addr::C3)?;
    one(cx.contiguous(sizes.as_slice(), dtype, &a.device))
}

clauses! { multi_dot {
    C1 "There are at least 2 tensors, or at least 1 for `chain_matmul`."
    C2 "The tensors have 2 dimensions. For `linalg_multi_dot`, the first and the last may have 1."
    C3 "The tensors have the same dtype, with a CPU kernel for products."
    C4 "The last size of each tensor is the first size of the next one."
} }

/// `aten::linalg_multi_dot(Tensor[] tensors) -> Tensor`: the product of a chain of matrices, the first and the last of
/// which may be vectors where `vectors` says so.
fn multi_dot(cx: &mut Cx, tensors: &[Arc<Tensor>], vectors: bool) -> KernelResult {
    cx.check(tensors.len() >= if vectors { 2 } else { 1 }, multi_dot::C1, |_| {
        format!("{} tensors are too few", tensors.len())
    })?;
    let last = tensors.len() - 1;
    for (i, t) in tensors.iter().enumerate() {
        let vector = vectors && (i == 0 || i == last) && t.rank() == 1;
        cx.check(vector || t.rank() == 2, multi_dot::C2, |cx| {
            format!("tensor {i} is no matrix: {}", cx.show_all(&t.sizes))
        })?;
    }
    let refs: Vec<&Tensor> = tensors.iter().map(|t| &**t).collect();
    cx.same_dtype(&refs, multi_dot::C3)?;
    cx.require_kind(refs[0], PRODUCTS.on_cpu(), multi_dot::C3)?;
    for pair in refs.windows(2) {
        cx.require_eq(pair[0].size(-1), pair[1].size(0), multi_dot::C4, "sizes of neighbours differ")?;
    }
    if tensors.len() == 1 {
        return Ok(smallvec![Value::Tensor(tensors[0].clone())]);
    }
    let (first, end) = (refs[0], refs[last]);
    let mut sizes = Sizes::new();
    if first.rank() == 2 {
        sizes.push(first.size(0));
    }
    if end.rank() == 2 {
        sizes.push(end.size(1));
    }
    one(cx.contiguous(sizes, first.dtype, &first.device))
}

clauses! { vecdot {
    C1 "`x` has a floating point or complex dtype."
    C2 "`x` and `y` have the same dtype."
    C3 "The shapes of `x` and `y` broadcast."
    C4 "`dim` is in range."
} }

/// `aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor`: the shapes broadcast, and `dim` is summed over.
fn vecdot(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("x")?, args.tensor("y")?);
    cx.check(a.dtype.is_float() || a.dtype.is_complex(), vecdot::C1, |_| {
        format!("floating point or complex is expected, not {}", a.dtype)
    })?;
    cx.same_dtype(&[a, b], vecdot::C2)?;
    if a.rank() == 1 && b.rank() == 1 {
        vectors(cx, a, b)?;
        return one(cx.contiguous([].as_slice(), a.dtype, &a.device));
    }
    let mut sizes = cx.broadcast([a.sizes.as_slice(), b.sizes.as_slice()], vecdot::C3)?;
    let dim = cx.dim(args.int("dim")?, sizes.len(), vecdot::C4)?;
    if dim < sizes.len() {
        sizes.remove(dim);
    }
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { foreach_mm {
    C1 "Both lists have the same length."
} }

/// `aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]`: `mm` of each pair.
fn foreach_mm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (left, right) = (args.tensors("self")?, args.tensors("mat2")?);
    cx.check(left.len() == right.len(), foreach_mm::C1, |_| {
        format!("the lists have {} and {} tensors", left.len(), right.len())
    })?;
    let mut products = Vec::with_capacity(left.len());
    for (a, b) in left.iter().zip(&right) {
        let sizes = matrices(cx, a, b)?;
        cx.same_dtype(&[a, b], mm::C3)?;
        cx.products_or_empty(a.dtype, &sizes, mm::C3)?;
        products.push(Some(Arc::new(cx.contiguous(sizes.as_slice(), a.dtype, &a.device))));
    }
    Ok(smallvec![Value::Tensors(products)])
}
