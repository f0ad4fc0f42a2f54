//! Normalisation within one element of the batch: over the last dimensions, or over groups of channels; and of weights.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Dtype, MemoryFormat};
use smallvec::smallvec;

/// What the normalisation of groups accepts: its definition takes means, which integers have none of.
const GROUPED: Accepted = Domain::FLOAT.on_cpu().within(Domain::FLOAT_COMPLEX);

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    layer_norm::ALL,
    layer_norm_backward::ALL,
    rms_norm::ALL,
    fused_rms_norm::ALL,
    group_norm::ALL,
    group_norm_backward::ALL,
    weight_norm::ALL,
    weight_norm_backward::ALL,
    norm_except_dim::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| layer_norm(cx, args, false) => "aten.layer_norm.default";
    |cx, args| layer_norm(cx, args, true) => "aten.native_layer_norm.default";
    layer_norm_backward => "aten.native_layer_norm_backward.default";
    rms_norm => "aten.rms_norm.default";
    fused_rms_norm => "aten._fused_rms_norm.default";
    group_norm => "aten.group_norm.default";
    native_group_norm => "aten.native_group_norm.default";
    group_norm_backward => "aten.native_group_norm_backward.default";
    |cx, args| weight_norm(cx, args, false) => "aten._weight_norm.default";
    |cx, args| weight_norm(cx, args, true) => "aten._weight_norm_interface.default";
    weight_norm_backward => "aten._weight_norm_interface_backward.default";
    weight_norm_differentiable_backward => "aten._weight_norm_differentiable_backward.default";
    norm_except_dim => "aten.norm_except_dim.default";
};

clauses! { layer_norm {
    C1 "`normalized_shape` has at least 1 entry."
    C2 "`weight` and `bias` have the shape `normalized_shape`."
    C3 "The last sizes of the input are `normalized_shape`."
    C4 "The dtypes of the input and the parameters are supported together."
} }

/// Where the normalised dimensions begin.
fn normalized(
    cx: &mut Cx,
    x: &Tensor,
    shape: &[Expr],
    parameters: &[Option<&Tensor>],
) -> Result<usize, KernelError> {
    cx.check(!shape.is_empty(), layer_norm::C1, |_| "the normalised shape has no dimension".into())?;
    for parameter in parameters.iter().flatten() {
        cx.same_shape(
            &parameter.sizes,
            shape,
            layer_norm::C2,
            "a parameter does not fit the normalised shape",
        )?;
    }
    cx.check(x.rank() >= shape.len(), layer_norm::C3, |cx| {
        format!(
            "the input's shape {} has fewer dimensions than {}",
            cx.show_all(&x.sizes),
            cx.show_all(shape)
        )
    })?;
    let axis = x.rank() - shape.len();
    cx.same_shape(&x.sizes[axis..], shape, layer_norm::C3, "the input does not end in the normalised shape")?;
    Ok(axis)
}

/// A statistic for each element of the leading dimensions, the others staying with size 1.
fn statistic(cx: &mut Cx, x: &Tensor, axis: usize, dtype: Dtype) -> Tensor {
    let mut sizes = Sizes::from_slice(&x.sizes[..axis]);
    sizes.resize(x.rank(), Expr::ONE);
    cx.contiguous(sizes, dtype, &x.device)
}

/// `aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
/// bool cudnn_enable=True) -> Tensor`, shaped like the input; `native_layer_norm` gives mean and inverse deviation too.
fn layer_norm(cx: &mut Cx, args: &Args, native: bool) -> KernelResult {
    let (x, shape) = (args.tensor("input")?, args.ints("normalized_shape")?);
    let parameters = [args.opt_tensor("weight")?.map(|t| &**t), args.opt_tensor("bias")?.map(|t| &**t)];
    let axis = normalized(cx, x, shape, &parameters)?;
    let dtype = cx.statistics_dtype((x, Domain::FLOAT.by_definition()), &parameters, layer_norm::C4)?;
    let result = cx.contiguous(x.sizes.clone(), x.dtype, &x.device);
    if !native {
        return one(result);
    }
    let statistic = statistic(cx, x, axis, dtype);
    Ok([result, statistic.clone(), statistic].into_iter().map(Value::from).collect())
}

clauses! { layer_norm_backward {
    C5 "`grad_out` broadcasts to the shape of the input and has its dtype."
    C6 "`mean` and `rstd` broadcast to the leading dimensions of the input, the others being 1."
    C7 "A parameter whose gradient is requested is given."
    idle "Whether there are no rows, which decides which conditions are checked."
} }

/// `aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd,
/// Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)`: the gradients of input, weight and
/// bias as far as the mask asks for them.
fn layer_norm_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, shape) = (args.tensor("grad_out")?, args.tensor("input")?, args.ints("normalized_shape")?);
    let parameters = [args.opt_tensor("weight")?.map(|t| &**t), args.opt_tensor("bias")?.map(|t| &**t)];
    let axis = normalized(cx, x, shape, &parameters)?;
    let statistics = [args.tensor("mean")?, args.tensor("rstd")?];
    let rows = cx.product(x.sizes[..axis].iter().copied());
    let idle = cx.eq(rows, 0);
    if !cx.branch_or(idle, false, layer_norm_backward::idle) {
        let all = [parameters[0], parameters[1], Some(&**statistics[0]), Some(&**statistics[1])];
        let dtype = cx.statistics_dtype((x, Domain::FLOAT.on_cpu()), &all, layer_norm::C4)?;
        cx.require_expandable(&grad.sizes, &x.sizes, layer_norm_backward::C5)?;
        cx.same_dtype(&[x, grad], layer_norm_backward::C5)?;
        let leading = statistic(cx, x, axis, dtype);
        for given in statistics {
            cx.require_expandable(&given.sizes, &leading.sizes, layer_norm_backward::C6)?;
        }
    }
    let mask = args.flags("output_mask")?;
    let asked = |i: usize| mask.get(i) == Some(&true);
    let mut results = Values::new();
    let like = |cx: &mut Cx, t: &Tensor| Value::from(cx.contiguous(t.sizes.clone(), t.dtype, &t.device));
    results.push(if asked(0) { like(cx, x) } else { Value::None });
    for (i, parameter) in parameters.iter().enumerate() {
        results.push(match parameter {
            Some(parameter) if asked(i + 1) => like(cx, parameter),
            None if asked(i + 1) => {
                return Err(KernelError::invalid(layer_norm_backward::C7, "the parameter is absent"));
            }
            _ => Value::None,
        });
    }
    Ok(results)
}

clauses! { rms_norm {
    C4 "The input has a floating point or complex dtype."
} }

/// `aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor`: shaped like
/// the input.
fn rms_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, shape) = (args.tensor("input")?, args.ints("normalized_shape")?);
    normalized(cx, x, shape, &[args.opt_tensor("weight")?.map(|t| &**t)])?;
    cx.require_kind(x, Domain::FLOAT_COMPLEX.on_cpu(), rms_norm::C4)?;
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

clauses! { fused_rms_norm {
    C1 "The input has at least as many dimensions as `normalized_shape` has entries."
    C2 "`weight` broadcasts to the shape of the input."
    C3 "The input has a floating point or complex dtype."
} }

/// `aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)`: the
/// result, and the inverse root mean square.
fn fused_rms_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, shape) = (args.tensor("input")?, args.ints("normalized_shape")?);
    cx.check(x.rank() >= shape.len(), fused_rms_norm::C1, |_| "the input has too few dimensions".into())?;
    if let Some(weight) = args.opt_tensor("weight")? {
        cx.require_expandable(&weight.sizes, &x.sizes, fused_rms_norm::C2)?;
    }
    cx.require_kind(x, Domain::FLOAT_COMPLEX.on_cpu(), fused_rms_norm::C3)?;
    let axis = if shape.is_empty() { 0 } else { x.rank() - shape.len() };
    let strides = cx.preserved_strides(x);
    let result = cx.strided(x.sizes.clone(), strides, x.dtype, &x.device);
    let dtype = if Domain::HALVES.contains(x.dtype) { Dtype::Float32 } else { x.dtype };
    let statistic = statistic(cx, x, axis, dtype);
    Ok([result, statistic].into_iter().map(Value::from).collect())
}

clauses! { group_norm {
    C1 "The number of groups is positive."
    C2 "The number of channels is positive and divisible by the number of groups."
    C3 "`weight` and `bias` have 1 dimension, with an element for each channel."
    C4 "The input has at least 2 dimensions. For the native kernel, it has `N * C * HxW` elements."
    C5 "The dtypes of the input and the parameters are supported together."
    C6 "The dimensions of the input behind the channels are not empty."
} }

/// The conditions of group normalisation on sizes.
fn groups(
    cx: &mut Cx,
    channels: Expr,
    group: Expr,
    parameters: [Option<&Tensor>; 2],
) -> Result<(), KernelError> {
    let positive = cx.gt(group, 0);
    cx.require(positive, group_norm::C1, |cx| format!("{} groups are too few", cx.show(group)))?;
    let some = cx.gt(channels, 0);
    cx.require(some, group_norm::C2, |_| "there are no channels".into())?;
    let rest = cx.modulo(channels, group);
    cx.require_eq(rest, Expr::ZERO, group_norm::C2, "the groups do not divide the channels")?;
    for parameter in parameters {
        cx.channel_vector(parameter, channels, group_norm::C3, "a parameter")?;
    }
    Ok(())
}

/// `aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool
/// cudnn_enabled=True) -> Tensor`: shaped like the input.
fn group_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    cx.check(x.rank() >= 2, group_norm::C4, |_| format!("{} dimensions are too few", x.rank()))?;
    let parameters = [args.opt_tensor("weight")?.map(|t| &**t), args.opt_tensor("bias")?.map(|t| &**t)];
    groups(cx, x.size(1), args.int("num_groups")?, parameters)?;
    let space = cx.product(x.sizes[2..].iter().copied());
    let filled = cx.gt(space, 0);
    cx.require(filled, group_norm::C6, |_| "a dimension after the channels is empty".into())?;
    cx.statistics_dtype((x, GROUPED), &parameters, group_norm::C5)?;
    one(cx.image(x, x.sizes.clone(), x.dtype))
}

/// `aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float
/// eps) -> (Tensor, Tensor, Tensor)`: the result, and the mean and the inverse deviation `[N, group]`.
///
/// The input has `N * C * HxW` elements. `HxW` is positive.
fn native_group_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let (n, c, space, group) = (args.int("N")?, args.int("C")?, args.int("HxW")?, args.int("group")?);
    let parameters = [args.opt_tensor("weight")?.map(|t| &**t), args.opt_tensor("bias")?.map(|t| &**t)];
    groups(cx, c, group, parameters)?;
    let (numel, product) = (cx.numel(x), cx.product([n, c, space]));
    cx.require_eq(numel, product, group_norm::C4, "the number of elements is wrong")?;
    let filled = cx.gt(space, 0);
    cx.require(filled, group_norm::C6, |_| "HxW is not positive".into())?;
    cx.check(x.rank() >= 2, group_norm::C4, |_| format!("{} dimensions are too few", x.rank()))?;
    let dtype = cx.statistics_dtype((x, GROUPED), &parameters, group_norm::C5)?;
    let statistic = cx.contiguous([n, group].as_slice(), dtype, &x.device);
    let result = if matches!(cx.suggested_format(x), MemoryFormat::Contiguous) {
        cx.contiguous(x.sizes.clone(), x.dtype, &x.device)
    } else {
        cx.image(x, x.sizes.clone(), x.dtype)
    };
    Ok([result, statistic.clone(), statistic].into_iter().map(Value::from).collect())
}

clauses! { group_norm_backward {
    C4 "`grad_out` has the shape of the input, which has `N * C * HxW` elements."
    C5 "`mean` and `rstd` are `[N, group]`."
    C6 "`grad_out` and the input have the same dtype. It goes with that of the parameters."
} }

/// `aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N,
/// SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)`: the gradients of input, weight and
/// bias as far as the mask asks for them.
fn group_norm_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x) = (args.tensor("grad_out")?, args.tensor("input")?);
    let (n, c, space, group) = (args.int("N")?, args.int("C")?, args.int("HxW")?, args.int("group")?);
    let weight = args.opt_tensor("weight")?.map(|t| &**t);
    groups(cx, c, group, [weight, None])?;
    cx.same_dtype(&[x, grad], group_norm_backward::C6)?;
    cx.same_shape(&grad.sizes, &x.sizes, group_norm_backward::C4, "gradient and input differ in shape")?;
    let (numel, product) = (cx.numel(x), cx.product([n, c, space]));
    cx.require_eq(numel, product, group_norm_backward::C4, "the number of elements is wrong")?;
    let statistics = [args.tensor("mean")?, args.tensor("rstd")?];
    for given in statistics {
        cx.same_shape(&given.sizes, &[n, group], group_norm_backward::C5, "a statistic is not [N, group]")?;
    }
    let all = [weight, Some(&**statistics[0]), Some(&**statistics[1])];
    let dtype = cx.statistics_dtype((x, Domain::FLOAT.on_cpu()), &all, group_norm_backward::C6)?;
    let mask = args.flags("output_mask")?;
    let asked = |i: usize| mask.get(i) == Some(&true);
    let dtype = weight.map_or(dtype, |w| w.dtype);
    let vector = cx.contiguous([c].as_slice(), dtype, &x.device);
    let mut results = Values::new();
    results.push(if asked(0) { cx.image(x, x.sizes.clone(), x.dtype).into() } else { Value::None });
    results.push(if asked(1) { vector.clone().into() } else { Value::None });
    results.push(if asked(2) { vector.into() } else { Value::None });
    Ok(results)
}

clauses! { weight_norm {
    C1 "`dim` is in range. For `_weight_norm_interface` it is 0 or the last dimension, and not negative."
    C2 "`g` broadcasts to the shape of `v`."
    C3 "`v` and `g` have the same floating point dtype. Along an inner dimension it may be complex."
} }

/// `aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor`: shaped like `v`; `_weight_norm_interface` gives the
/// norms too, shaped like `g`.
fn weight_norm(cx: &mut Cx, args: &Args, interface: bool) -> KernelResult {
    let (v, g) = (args.tensor("v")?, args.tensor("g")?);
    let given = cx.literal(args.int("dim")?, weight_norm::C1)?;
    let dim = cx.wrap_dim(given, v.rank(), weight_norm::C1)?;
    let fused = dim == 0 || dim + 1 == v.rank();
    cx.check(!interface || (fused && given >= 0), weight_norm::C1, |_| {
        format!("dimension {given} is neither 0 nor the last one")
    })?;
    cx.require_expandable(&g.sizes, &v.sizes, weight_norm::C2)?;
    cx.same_dtype(&[v, g], weight_norm::C3)?;
    cx.require_kind(
        v,
        if fused { Domain::FLOAT.on_cpu() } else { Domain::FLOAT_COMPLEX.on_cpu() },
        weight_norm::C3,
    )?;
    let strides = cx.preserved_strides(v);
    let result = if fused {
        cx.contiguous(v.sizes.clone(), v.dtype, &v.device)
    } else {
        cx.strided(v.sizes.clone(), strides, v.dtype, &v.device)
    };
    if !interface {
        return one(result);
    }
    let dtype = if Domain::HALVES.contains(g.dtype) { Dtype::Float32 } else { g.dtype };
    let norms = cx.contiguous(g.sizes.clone(), dtype, &g.device);
    Ok([result, norms].into_iter().map(Value::from).collect())
}

/// `aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) ->
/// (Tensor, Tensor)`: shaped like `saved_v` and `saved_g`.
fn weight_norm_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, v, g) = (args.tensor("grad_w")?, args.tensor("saved_v")?, args.tensor("saved_g")?);
    let norms = args.tensor("saved_norms")?;
    let dim = cx.literal(args.int("dim")?, weight_norm_backward::C1)?;
    cx.check(dim == 0 || dim == v.rank() as i64 - 1, weight_norm_backward::C1, |_| {
        format!("dimension {dim} is neither the first nor the last")
    })?;
    cx.same_dtype(&[v, grad, g], weight_norm_backward::C2)?;
    let wanted = if Domain::HALVES.contains(v.dtype) { Dtype::Float32 } else { v.dtype };
    cx.check(norms.dtype == wanted, weight_norm_backward::C2, |_| {
        format!("norms are to be {wanted}, not {}", norms.dtype)
    })?;
    cx.require_kind(v, Domain::FLOAT.on_cpu(), weight_norm_backward::C3)?;
    let like = |cx: &mut Cx, t: &Tensor| Value::from(cx.contiguous(t.sizes.clone(), t.dtype, &t.device));
    let mut results = Values::new();
    results.push(like(cx, v));
    results.push(like(cx, g));
    Ok(results)
}

clauses! { weight_norm_backward {
    C1 "`dim` is 0 or the last dimension. For the differentiable kernel, it is not empty."
    C2 "`grad_w`, `saved_v` and `saved_g` have the same dtype. `saved_norms` has it too, or `float32` for \
        16-bit floats."
    C3 "`saved_v` has a floating point dtype."
    C4 "All operands are contiguous."
    C5 "The shapes of the operands broadcast, and their dtypes promote to a common one."
    C6 "`grad_w` broadcasts to the shape of `saved_v`."
} }

/// `aten::_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int
/// dim) -> (Tensor, Tensor)`: the gradients of `v`, in which all operands meet, and of `g`, in which the norms meet one
/// sum for each element along `dim`.
fn weight_norm_differentiable_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, v, g) = (args.tensor("grad_w")?, args.tensor("saved_v")?, args.tensor("saved_g")?);
    let norms = args.tensor("saved_norms")?;
    for operand in [grad, v, g, norms] {
        let contiguous = cx.is_contiguous(operand);
        cx.check(contiguous, weight_norm_backward::C4, |_| "an operand is not contiguous".into())?;
    }
    let dim = cx.literal(args.int("dim")?, weight_norm_backward::C1)?;
    cx.check(v.rank() > 0 && (dim == 0 || dim == v.rank() as i64 - 1), weight_norm_backward::C1, |_| {
        format!("dimension {dim} is neither the first nor the last")
    })?;
    let at = dim as usize;
    let filled = cx.ne(v.sizes[at], 0);
    cx.require(filled, weight_norm_backward::C1, |_| format!("dimension {dim} is empty"))?;
    let product = cx.combined(&[grad, v], weight_norm_backward::C5)?;
    cx.require_same_shape(&product.sizes, &v.sizes, weight_norm_backward::C6)?;
    let mut sizes: Sizes = smallvec![Expr::ONE; v.rank()];
    sizes[at] = v.sizes[at];
    let sums = cx.contiguous(sizes, product.dtype, &v.device);
    let norms = norms.with_dtype(g.dtype);
    let mut results = Values::new();
    for operands in [&[&**g, &norms, grad, v, &sums][..], &[&sums, &norms]] {
        let result = cx.combined(operands, weight_norm_backward::C5)?;
        let dtype = crate::promote::to_float(result.dtype);
        results.push(result.with_dtype(dtype).into());
    }
    Ok(results)
}

clauses! { norm_except_dim {
    C1 "`dim` is in range, and `v` is not a scalar unless `dim` is -1."
    C2 "The dimension `dim` is not empty."
    C3 "`v` has a floating point or complex dtype."
} }

/// `aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor`: the norm over all dimensions but one, the others
/// staying with size 1; over all for `dim == -1`.
fn norm_except_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let v = args.tensor("v")?;
    cx.require_kind(v, Domain::FLOAT_COMPLEX.on_cpu(), norm_except_dim::C3)?;
    let dtype = crate::promote::to_real(v.dtype);
    let dim = cx.literal(args.int("dim")?, norm_except_dim::C1)?;
    if dim == -1 {
        return one(cx.contiguous([].as_slice(), dtype, &v.device));
    }
    let dim = cx.wrap_dim(dim, v.rank(), norm_except_dim::C1)?;
    let Some(&size) = v.sizes.get(dim) else {
        return Err(KernelError::invalid(norm_except_dim::C1, "there is no dimension"));
    };
    let filled = cx.gt(size, 0);
    cx.require(filled, norm_except_dim::C2, |_| "the dimension that stays is empty".into())?;
    let mut sizes: Sizes = v.sizes.iter().map(|_| Expr::ONE).collect();
    sizes[dim] = size;
    one(cx.contiguous(sizes, dtype, &v.device))
}
