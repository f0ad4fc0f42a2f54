//! Einstein summation and the contractions that are special cases of it.
//!
//! Torch contracts operands pairwise by a batched product of matrices; the order of the result's strides follows from
//! that, so the contraction is repeated here step by step on sizes and strides.
use super::einsum_equation::{Equation, Label};
use crate::error::one;
use crate::flops::{Flops, formulas, twice};
use crate::kernel::{Kernel, kernels};
use crate::product::PRODUCTS;
use crate::promote::{Category, ResultType, promote};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use std::collections::VecDeque;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[einsum::ALL, tensordot::ALL, inner::ALL, kron::ALL, bilinear::ALL, trilinear::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    einsum => "aten.einsum.default";
    tensordot => "aten.tensordot.default";
    inner => "aten.inner.default";
    kron => "aten.kron.default";
    bilinear => "aten.bilinear.default";
    trilinear => "aten._trilinear.default";
};

/// What the family's operators compute.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| of_einsum(cx, args) => "aten.einsum.default";
    |cx, args, results| of_contraction(cx, args, results) => "aten.tensordot.default";
    |cx, args, results| of_contraction(cx, args, results) => "aten.inner.default";
};

/// Twice the products of each contraction of two operands. Operands that share nothing to be summed are multiplied
/// element by element, which does not count.
fn of_einsum(cx: &mut Cx, args: &Args) -> Result<Expr, KernelError> {
    let mut total = Expr::ZERO;
    contracted(cx, args, &mut |cx, [a, b], both| {
        if !both.is_empty() {
            let sizes = cx.broadcast([a.sizes.as_slice(), b.sizes.as_slice()], einsum::C2)?;
            let products = twice(cx, sizes);
            total = cx.add(total, products);
        }
        Ok(())
    })?;
    Ok(total)
}

/// Twice the elements of the result, times those of an operand that the result does not have.
fn of_contraction(cx: &mut Cx, args: &Args, results: &[Value]) -> Result<Expr, KernelError> {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let Some(Value::Tensor(result)) = results.first() else { return Ok(Expr::ZERO) };
    let summed: Vec<usize> = match args.has("dims_self") {
        true => {
            let summed = cx.dims(Some(args.ints("dims_self")?), a.rank(), false, tensordot::C3)?;
            (0..a.rank()).filter(|dim| summed[*dim]).collect()
        }
        false => (a.rank() > 0 && b.rank() > 0).then(|| a.rank() - 1).into_iter().collect(),
    };
    let elements = cx.numel(result);
    if summed.is_empty() && !args.has("dims_self") {
        return Ok(Expr::ZERO);
    }
    Ok(twice(cx, summed.into_iter().map(|dim| a.sizes[dim]).chain([elements])))
}

clauses! { einsum {
    C1 "`equation` is well formed, and fits the number and the ranks of the operands."
    C2 "Sizes of the same subscript are equal or broadcast, and equal if it is repeated within one operand."
    C3 "`path` has two indices of distinct operands for each contraction."
    C4 "Operands that are contracted have the same dtype, with a CPU kernel for products."
} }

/// `aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor`.
fn einsum(cx: &mut Cx, args: &Args) -> KernelResult {
    contracted(cx, args, &mut |_, _, _| Ok(()))
}

/// What is told of a contraction: its two operands, with one dimension for each position of the equation, and the
/// dimensions that both have and that are summed.
type Told<'a> = dyn FnMut(&mut Cx, [&Tensor; 2], &[usize]) -> Result<(), KernelError> + 'a;

/// As [`einsum`]; each contraction is told as it is made.
fn contracted(cx: &mut Cx, args: &Args, told: &mut Told) -> KernelResult {
    let operands = args.tensors("tensors")?;
    let invalid = |message: String| KernelError::invalid(einsum::C1, message);
    if operands.is_empty() {
        return Err(invalid("at least one operand is needed".into()));
    }
    let ranks: Vec<usize> = operands.iter().map(|t| t.rank()).collect();
    let equation = Equation::parse(args.str("equation")?, &ranks).map_err(invalid)?;
    let path = path(cx, args, operands.len())?;

    // Align: every operand gets the dimensions of the equation, output labels first.
    let mut ops: VecDeque<Tensor> = VecDeque::new();
    let mut met: Vec<Expr> = vec![Expr::ONE; equation.positions];
    let mut wide = vec![0usize; equation.positions];
    for (operand, labels) in operands.iter().zip(&equation.operands) {
        let aligned = align(cx, operand, labels, &equation)?;
        for (i, &size) in aligned.sizes.iter().enumerate() {
            met[i] = cx.broadcast_size(met[i], size, einsum::C2)?;
            wide[i] += usize::from(!is_one(cx, size));
        }
        ops.push_back(aligned);
    }

    // Contract two operands at a time.
    let mut path = path.into_iter();
    let explicit = path.len() > 0;
    while ops.len() > 1 {
        let (i, j) = path.next().unwrap_or((0, 1));
        if i == j || j >= ops.len() {
            return Err(KernelError::invalid(
                einsum::C3,
                format!("the path names operands {i} and {j} of {}", ops.len()),
            ));
        }
        let (Some(mut b), Some(mut a)) = (ops.remove(j), ops.remove(i)) else { break };
        let (mut both, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for (dim, left_wide) in wide.iter_mut().enumerate().take(equation.positions).skip(equation.output) {
            let (sa, sb) = (!is_one(cx, a.sizes[dim]), !is_one(cx, b.sizes[dim]));
            if sa && sb {
                *left_wide -= 1;
                if *left_wide == 1 {
                    both.push(dim);
                    *left_wide = 0;
                }
            } else if *left_wide == 1 && (sa || sb) {
                if sa { &mut left } else { &mut right }.push(dim);
                *left_wide = 0;
            }
        }
        if !left.is_empty() {
            a = summed(cx, &a, &left);
        }
        if !right.is_empty() {
            b = summed(cx, &b, &right);
        }
        told(cx, [&a, &b], &both)?;
        let product = contract_pair(cx, a, b, &both, einsum::C4)?;
        if explicit {
            ops.push_back(product);
        } else {
            ops.push_front(product);
        }
    }

    let Some(mut last) = ops.pop_front() else { return Err(invalid("no operand is left".into())) };
    if equation.output == equation.positions {
        for (i, size) in last.sizes.iter_mut().enumerate() {
            *size = met[i];
        }
        return one(last.viewed(last.sizes.clone(), last.strides.clone()));
    }
    if operands.len() == 1 {
        let sizes = Sizes::from_slice(&last.sizes[..equation.output]);
        return one(cx.contiguous(sizes, sum_dtype(last.dtype), &last.device));
    }
    last.sizes.truncate(equation.output);
    last.strides.truncate(equation.output);
    one(last)
}

/// The path as pairs of operands, the lesser first; empty when there is none.
fn path(cx: &mut Cx, args: &Args, operands: usize) -> Result<Vec<(usize, usize)>, KernelError> {
    let Some(path) = args.opt_ints("path")? else { return Ok(Vec::new()) };
    let length = if operands == 1 { 1 } else { 2 * (operands - 1) };
    cx.check(path.len() == length, einsum::C3, |_| {
        format!("the path is to have {length} entries, not {}", path.len())
    })?;
    let mut pairs = Vec::new();
    for pair in path.chunks_exact(2) {
        let (i, j) = (cx.literal(pair[0], einsum::C3)?, cx.literal(pair[1], einsum::C3)?);
        let (Ok(i), Ok(j)) = (usize::try_from(i.min(j)), usize::try_from(i.max(j))) else {
            return Err(KernelError::invalid(einsum::C3, format!("the path names operands {i} and {j}")));
        };
        pairs.push((i, j));
    }
    Ok(pairs)
}

/// Whether a size is 1, which only the strides of the result depend on.
fn is_one(cx: &mut Cx, size: Expr) -> bool {
    let one = cx.eq(size, 1);
    cx.layout_choice(one)
}

/// The dtype of a sum: integers and truth values become `int64`.
fn sum_dtype(dtype: Dtype) -> Dtype {
    if dtype.is_integral() || dtype.is_bool() { Dtype::Int64 } else { dtype }
}

/// The sum over some dimensions, which stay with size 1.
fn summed(cx: &mut Cx, tensor: &Tensor, dims: &[usize]) -> Tensor {
    let mut sizes = tensor.sizes.clone();
    for &dim in dims {
        sizes[dim] = Expr::ONE;
    }
    cx.contiguous(sizes, sum_dtype(tensor.dtype), &tensor.device)
}

/// An operand with one dimension for each position of the equation: a repeated label takes the diagonal, a missing one is
/// a size of 1.
fn align(
    cx: &mut Cx,
    operand: &Tensor,
    labels: &[Label],
    equation: &Equation,
) -> Result<Tensor, KernelError> {
    let mut sizes: Sizes = smallvec::smallvec![Expr::ONE; equation.positions];
    let mut strides: Sizes = smallvec::smallvec![Expr::ONE; equation.positions];
    let mut taken = vec![false; equation.positions];
    let mut dim = 0;
    for label in labels {
        let covered = match label {
            Label::Letter(_) => 1,
            Label::Ellipsis => operand.rank() + 1 - labels.len(),
        };
        let first = match label {
            Label::Letter(letter) => equation.position_of(*letter),
            Label::Ellipsis => equation.ellipsis + equation.ellipsis_rank - covered,
        };
        for at in first..first + covered {
            let (size, stride) = (operand.sizes[dim], operand.strides[dim]);
            dim += 1;
            if taken[at] {
                cx.require_eq(size, sizes[at], einsum::C2, "sizes under a repeated label differ")?;
                strides[at] = cx.add(strides[at], stride);
            } else {
                (sizes[at], strides[at], taken[at]) = (size, stride, true);
            }
        }
    }
    Ok(operand.viewed(sizes, strides))
}

/// The product of two tensors of one rank, summed over `contracted`, which stay with size 1; other dimensions
/// broadcast.
///
/// (C) Without anything to contract the dtypes promote; else they agree and have a kernel for products.
fn contract_pair(
    cx: &mut Cx,
    mut a: Tensor,
    mut b: Tensor,
    contracted: &[usize],
    clause: &'static OpClause,
) -> Result<Tensor, KernelError> {
    if contracted.is_empty() {
        let dtype = ResultType::of([&a, &b])
            .dtype()
            .map_err(|(x, y)| KernelError::invalid(clause, format!("{x} and {y} do not promote")))?;
        let sizes = cx.broadcast([a.sizes.as_slice(), b.sizes.as_slice()], clause)?;
        let strides = cx.elementwise_strides(&sizes, &[&a, &b]);
        return Ok(cx.strided(sizes, strides, dtype, &a.device));
    }
    let rank = a.rank().min(b.rank());
    let (mut common, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    let mut sizes: Sizes = smallvec::smallvec![Expr::ONE; rank];
    for dim in 0..rank {
        let (sa, sb) = (!is_one(cx, a.sizes[dim]), !is_one(cx, b.sizes[dim]));
        if contracted.contains(&dim) {
            if sa && sb {
                cx.require_eq(a.sizes[dim], b.sizes[dim], clause, "contracted sizes differ")?;
            } else if sa {
                a = summed(cx, &a, &[dim]);
            } else if sb {
                b = summed(cx, &b, &[dim]);
            }
            continue;
        }
        sizes[dim] = cx.broadcast_size(a.sizes[dim], b.sizes[dim], clause)?;
        match (sa, sb) {
            (true, true) => common.push(dim),
            (true, false) => left.push(dim),
            _ => right.push(dim),
        }
    }
    cx.same_dtype(&[&a, &b], clause)?;
    if !PRODUCTS.contains(a.dtype) {
        cx.products_or_empty(a.dtype, &sizes, clause)?;
    }
    // The batched product is laid out as: common, left, contracted, right.
    let order: Vec<usize> =
        common.iter().chain(&left).chain(contracted).chain(&right).copied().rev().collect();
    let strides = cx.strides_in_order(&sizes, &order);
    Ok(cx.strided(sizes, strides, a.dtype, &a.device))
}

clauses! { tensordot {
    C1 "`dims_self` and `dims_other` have the same length."
    C2 "`self` and `other` have the same dtype, with a CPU kernel for products."
    C3 "`dims_self` and `dims_other` are distinct and in range."
    C4 "Contracted sizes are equal, or one of them is 1."
} }

/// `aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor`: the remaining dimensions of
/// `self`, then those of `other`.
fn tensordot(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let (left, right) = (args.ints("dims_self")?, args.ints("dims_other")?);
    cx.check(left.len() == right.len(), tensordot::C1, |_| {
        format!("{} and {} dimensions are to be contracted", left.len(), right.len())
    })?;
    let mut pairs = Vec::with_capacity(left.len());
    for (&x, &y) in left.iter().zip(right) {
        let (x, y) = (cx.literal(x, tensordot::C3)?, cx.literal(y, tensordot::C3)?);
        let strict = |rank: usize, dim: i64| rank > 0 && dim >= -(rank as i64) && dim < rank as i64;
        cx.check(strict(a.rank(), x) && strict(b.rank(), y), tensordot::C3, |_| {
            format!("dimensions {x} and {y} are out of range")
        })?;
        pairs.push((cx.wrap_dim(x, a.rank(), tensordot::C3)?, cx.wrap_dim(y, b.rank(), tensordot::C3)?));
    }
    contract(cx, a, b, &pairs)
}

/// The contraction of pairs of dimensions.
fn contract(cx: &mut Cx, a: &Tensor, b: &Tensor, pairs: &[(usize, usize)]) -> KernelResult {
    cx.same_dtype(&[a, b], tensordot::C2)?;
    for (i, (x, y)) in pairs.iter().enumerate() {
        let again = pairs[..i].iter().any(|(p, q)| p == x || q == y);
        cx.check(!again, tensordot::C3, |_| "a dimension appears twice".into())?;
        cx.broadcast_size(a.sizes[*x], b.sizes[*y], tensordot::C4)?;
    }
    let mut sizes = Sizes::new();
    sizes.extend((0..a.rank()).filter(|i| pairs.iter().all(|p| p.0 != *i)).map(|i| a.sizes[i]));
    sizes.extend((0..b.rank()).filter(|i| pairs.iter().all(|p| p.1 != *i)).map(|i| b.sizes[i]));
    cx.products_or_empty(a.dtype, &sizes, tensordot::C2)?;
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { inner {
    C1 "`self` and `other` have the same last size."
    C2 "The dtypes of the operands promote to a common one if one is a scalar."
} }

/// `aten::inner(Tensor self, Tensor other) -> Tensor`: contracts the last dimensions; with a 0-dimensional operand it is
/// a product.
fn inner(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    if a.rank() == 0 || b.rank() == 0 {
        let product = contract_pair(cx, (**a).clone(), (**b).clone(), &[], inner::C2)?;
        return one(product);
    }
    cx.require_eq(a.size(-1), b.size(-1), inner::C1, "the last sizes differ")?;
    contract(cx, a, b, &[(a.rank() - 1, b.rank() - 1)])
}

clauses! { kron {
    C1 "The dtypes of the operands promote to a common one."
} }

/// `aten::kron(Tensor self, Tensor other) -> Tensor`: sizes multiply, aligned at the last dimension.
fn kron(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let dtype = ResultType::of([&**a, &**b])
        .dtype()
        .map_err(|(x, y)| KernelError::invalid(kron::C1, format!("{x} and {y} do not promote")))?;
    let rank = a.rank().max(b.rank());
    let mut sizes = Sizes::new();
    for i in 0..rank {
        let at = |t: &Tensor| (i + t.rank()).checked_sub(rank).map_or(Expr::ONE, |i| t.sizes[i]);
        sizes.push(cx.mul(at(a), at(b)));
    }
    one(cx.contiguous(sizes, dtype, &a.device))
}

clauses! { bilinear {
    C1 "`input1` and `input2` have the same rank, which is not 0."
    C2 "The sizes of `input1` and `input2` are the same, other than the last one."
    C3 "`weight` is `[o, i, j]`, with the last sizes of `input1` and `input2`."
    C4 "`bias` has 1 dimension, with an element for each output feature."
    C5 "The inputs, `weight` and `bias` have the same dtype. There is a CPU kernel for products in it."
    C6 "The last dimensions of `input1` and `input2` are not empty."
} }

/// `aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor`: `[.., i], [.., j], [o, i,
/// j] → [.., o]`.
fn bilinear(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("input1")?, args.tensor("input2")?);
    let (w, bias) = (args.tensor("weight")?, args.opt_tensor("bias")?);
    cx.same_dtype(&[a, b, w], bilinear::C5)?;
    cx.check(a.rank() == b.rank() && a.rank() > 0, bilinear::C1, |_| {
        format!("inputs of {} and {} dimensions", a.rank(), b.rank())
    })?;
    cx.rank(w, 3, bilinear::C3, "weight")?;
    let last = a.rank() - 1;
    for i in 0..last {
        cx.require_eq(a.sizes[i], b.sizes[i], bilinear::C2, "leading sizes differ")?;
    }
    cx.require_eq(a.size(-1), w.size(1), bilinear::C3, "input1 does not fit the weight")?;
    cx.require_eq(b.size(-1), w.size(2), bilinear::C3, "input2 does not fit the weight")?;
    for size in [a.size(-1), b.size(-1)] {
        let some = cx.gt(size, 0);
        cx.require(some, bilinear::C6, |_| "an input's last size is 0".into())?;
    }
    if let Some(bias) = bias {
        cx.same_dtype(&[a, bias], bilinear::C5)?;
        cx.check(bias.rank() == 1, bilinear::C4, |cx| {
            format!("a bias of 1 dimension is expected, its shape is {}", cx.show_all(&bias.sizes))
        })?;
        cx.require_eq(bias.size(0), w.size(0), bilinear::C4, "the bias does not fit the weight")?;
    }
    let mut sizes = Sizes::from_slice(&a.sizes[..last]);
    sizes.push(w.size(0));
    cx.products_or_empty(a.dtype, &sizes, bilinear::C5)?;
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

clauses! { trilinear {
    C1 "The dimensions are in range and distinct, and give all operands the same rank."
    C2 "The sizes of the operands broadcast to those of the result, unless one is empty. Along \
        `unroll_dim`, no operand is shorter than the last one that has it."
    C3 "The dtypes of the operands go together, unless one is empty. Those that are contracted are the \
        same, and the product is of no higher category than `i1`."
} }

/// `aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int
/// unroll_dim=1) -> Tensor`: the operands, with dimensions of size 1 put in at `expand`, multiplied and summed over
/// `sumdim`.
fn trilinear(cx: &mut Cx, args: &Args) -> KernelResult {
    let operands = [args.tensor("i1")?, args.tensor("i2")?, args.tensor("i3")?];
    let total = operands[0].rank() + args.ints("expand1")?.len();
    let unroll = cx.literal(args.int("unroll_dim")?, trilinear::C1)?;
    let unroll = usize::try_from(unroll).ok().filter(|u| *u < total);
    let Some(unroll) = unroll else {
        return Err(KernelError::invalid(trilinear::C1, "unroll_dim is out of range"));
    };
    let summed = cx.dims(Some(args.ints("sumdim")?), total, false, trilinear::C1)?;
    let mut aligned: Vec<Sizes> = Vec::new();
    let mut last = vec![Expr::ZERO; total];
    let mut has_unroll = Vec::new();
    let mut without_third = Vec::new();
    for (operand, name) in operands.iter().zip(["expand1", "expand2", "expand3"]) {
        let expand = cx.dims(Some(args.ints(name)?), total, false, trilinear::C1)?;
        let inserted = expand.iter().filter(|e| **e).count();
        cx.check(operand.rank() + inserted == total, trilinear::C1, |_| {
            format!("an operand of {} dimensions with {inserted} more does not have {total}", operand.rank())
        })?;
        let mut sizes = operand.sizes.iter().copied();
        let sizes: Sizes =
            expand.iter().map(|e| if *e { Expr::ONE } else { sizes.next().unwrap_or(Expr::ONE) }).collect();
        for dim in (0..total).filter(|d| !expand[*d]) {
            last[dim] = sizes[dim];
        }
        has_unroll.push(!expand[unroll]);
        without_third = expand;
        aligned.push(sizes);
    }
    let numels: Vec<Expr> = aligned.iter().map(|s| cx.product(s.iter().copied())).collect();
    let all = cx.product(numels.iter().copied().chain([last[unroll]]));
    let idle = cx.eq(all, 0);
    let computed = |cx: &mut Cx, condition: Expr| {
        let either = cx.any(&[idle, condition]);
        cx.require(either, trilinear::C2, |_| "the operands' sizes do not fit each other".into())
    };
    for dim in 0..total {
        if dim == unroll {
            for (sizes, _) in aligned.iter().zip(&has_unroll).filter(|(_, has)| **has) {
                let long = cx.ge(sizes[dim], last[dim]);
                computed(cx, long)?;
            }
            continue;
        }
        let sizes = [aligned[0][dim], aligned[1][dim], aligned[2][dim]];
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let (same, p, q) = (cx.eq(sizes[i], sizes[j]), cx.eq(sizes[i], 1), cx.eq(sizes[j], 1));
            let meet = cx.any(&[same, p, q]);
            computed(cx, meet)?;
        }
        if !summed[dim] {
            // The result has the size of the last operand with this dimension; the product is to broadcast to it.
            for size in sizes {
                let (same, one) = (cx.eq(size, last[dim]), cx.eq(size, 1));
                let fits = cx.any(&[same, one]);
                computed(cx, fits)?;
            }
        }
    }
    // The first two are contracted over what the third does not have, then the product and the third over the rest.
    let sums = |inside: bool| (0..total).any(|d| d != unroll && summed[d] && without_third[d] == inside);
    let dtype = operands[0].dtype;
    let computed = step_dtype(dtype, operands[1].dtype, sums(true))
        .and_then(|product| step_dtype(product, operands[2].dtype, sums(false)))
        .filter(|product| Category::of(*product) <= Category::of(dtype));
    if computed.is_none() {
        cx.require(idle, trilinear::C3, |_| format!("the dtypes do not go together with {dtype}"))?;
    }
    let sizes: Sizes = (0..total).filter(|d| !summed[*d]).map(|d| last[d]).collect();
    one(cx.contiguous(sizes, dtype, &operands[0].device))
}

/// The dtype of a product of two operands: with something to contract they are to have the same one, else they promote.
fn step_dtype(a: Dtype, b: Dtype, contracts: bool) -> Option<Dtype> {
    if contracts { (a == b && PRODUCTS.contains(a)).then_some(a) } else { promote(a, b) }
}
