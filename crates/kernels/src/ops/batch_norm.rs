//! Normalisation over the batch: statistics for each channel, the second dimension.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[batch_norm::ALL, batch_norm_backward::ALL, batch_norm_update_stats::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    batch_norm => "aten.batch_norm.default";
    impl_index => "aten._batch_norm_impl_index.default";
    instance_norm => "aten.instance_norm.default";
    |cx, args| native(cx, args, args.flag("training")?, Extra::None) => "aten.native_batch_norm.default";
    |cx, args| {
        native(cx, args, args.flag("training")?, Extra::None)
    } => "aten._native_batch_norm_legit.default", "aten._native_batch_norm_legit.no_stats";
    |cx, args| native(cx, args, false, Extra::None) => "aten._native_batch_norm_legit_no_training.default";
    |cx, args| {
        native(cx, args, args.flag("training")?, Extra::Running)
    } => "aten._native_batch_norm_legit_functional.default";
    |cx, args| native(cx, args, false, Extra::Reserve) => "aten._batch_norm_no_update.default";
    |cx, args| {
        native(cx, args, true, Extra::ReserveAndRunning)
    } => "aten._batch_norm_with_update_functional.default";
    |cx, args| native(cx, args, true, Extra::Reserve) => "aten._batch_norm_with_update.default";
    |cx, args| backward(cx, args, "save_invstd") => "aten.native_batch_norm_backward.default";
    |cx, args| backward(cx, args, "save_var") => "aten.batch_norm_backward.default";
    update_stats => "aten.batch_norm_update_stats.default";
};

/// What an overload returns beside the result and its statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extra {
    None,
    Running,
    Reserve,
    ReserveAndRunning,
}

fn optional<'a>(args: &'a Args, name: &str) -> Result<Option<&'a Tensor>, KernelError> {
    Ok(if args.has(name) { args.opt_tensor(name)?.map(|t| &**t) } else { None })
}

/// The four parameters, absent ones being none.
fn parameters<'a>(args: &'a Args) -> Result<[Option<&'a Tensor>; 4], KernelError> {
    Ok([
        optional(args, "weight")?,
        optional(args, "bias")?,
        optional(args, "running_mean")?,
        optional(args, "running_var")?,
    ])
}

const NAMES: [&str; 4] = ["weight", "bias", "running_mean", "running_var"];

/// Whether there is nothing to normalise.
fn is_empty(cx: &mut Cx, x: &Tensor) -> bool {
    let numel = cx.numel(x);
    let empty = cx.eq(numel, 0);
    cx.branch_or(empty, false, batch_norm::empty)
}

/// An empty input times the first element of the weight, plus that of the bias, each vector repeated.
fn scaled_empty(
    cx: &mut Cx,
    x: &Tensor,
    parameters: &[Option<&Tensor>; 4],
    repeats: Expr,
) -> Result<Tensor, KernelError> {
    let mut result = x.clone();
    for (parameter, name) in parameters.iter().zip(NAMES).take(2) {
        let Some(parameter) = parameter else { continue };
        cx.rank(parameter, 1, batch_norm::C5, name)?;
        let length = cx.mul(parameter.size(0), repeats);
        let some = cx.gt(length, 0);
        cx.require(some, batch_norm::C5, |_| format!("{name} has no first element"))?;
        let first = parameter.viewed(Sizes::new(), Sizes::new());
        result = cx.combined(&[&result, &first], batch_norm::C5)?;
    }
    Ok(cx.image(x, x.sizes.clone(), result.dtype))
}

clauses! { batch_norm {
    C1 "The input has at least 2 dimensions."
    C2 "Weight, bias and running statistics are vectors with an element for each channel. Some kernels \
        take more elements, or a single one."
    C3 "Running statistics are given if the statistics of the input are not used."
    C4 "The dtypes of the input and the parameters are supported together. An empty input is exempt."
    C5 "Weight and bias have a first element if the input is empty. The input of a native kernel in \
        training is not empty."
    C6 "Running statistics that an empty input updates have an element for each channel."
    empty "Whether the input is empty, which decides which conditions are checked."
} }

/// `aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
/// training, float momentum, float eps, bool cudnn_enabled) -> Tensor`: shaped like the input.
fn batch_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, parameters) = (args.tensor("input")?, parameters(args)?);
    if is_empty(cx, x) {
        return one(scaled_empty(cx, x, &parameters, Expr::ONE)?);
    }
    checked(cx, x, &parameters, args.flag("training")?)?;
    one(cx.image(x, x.sizes.clone(), x.dtype))
}

/// The dtypes of an input. By definition only training needs floating point or complex numbers, for the mean.
fn accepted(training: bool) -> Accepted {
    if training { Domain::FLOAT.on_cpu().within(Domain::FLOAT_COMPLEX) } else { Domain::FLOAT.on_cpu() }
}

/// The conditions of [`batch_norm`]; the dtype of statistics.
fn checked(
    cx: &mut Cx,
    x: &Tensor,
    parameters: &[Option<&Tensor>; 4],
    training: bool,
) -> Result<Dtype, KernelError> {
    cx.check(x.rank() >= 2, batch_norm::C1, |_| format!("{} dimensions are too few", x.rank()))?;
    for (parameter, name) in parameters.iter().zip(NAMES) {
        cx.channel_vector(*parameter, x.size(1), batch_norm::C2, name)?;
    }
    cx.check(training || (parameters[2].is_some() && parameters[3].is_some()), batch_norm::C3, |_| {
        "without training, running statistics are needed".into()
    })?;
    cx.statistics_dtype((x, accepted(training)), parameters, batch_norm::C4)
}

/// `aten::_batch_norm_impl_index(...) -> (Tensor, Tensor, Tensor, Tensor, int)`: the result, its statistics, a reserve
/// and which implementation it was.
fn impl_index(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, parameters) = (args.tensor("input")?, parameters(args)?);
    let (result, size, dtype) = if is_empty(cx, x) {
        let result = scaled_empty(cx, x, &parameters, Expr::ONE)?;
        (result, x.sizes.get(1).copied().unwrap_or(Expr::ZERO), cx.accumulated(x.dtype))
    } else {
        let training = args.flag("training")?;
        let dtype = checked(cx, x, &parameters, training)?;
        (cx.image(x, x.sizes.clone(), x.dtype), if training { x.size(1) } else { Expr::ZERO }, dtype)
    };
    let statistic = cx.contiguous([size].as_slice(), dtype, &x.device);
    let reserve = cx.contiguous([Expr::ZERO].as_slice(), Dtype::Uint8, &x.device);
    let tensors = [result, statistic.clone(), statistic, reserve];
    let mut values: Values = tensors.into_iter().map(Value::from).collect();
    values.push(Value::Int(Expr::ZERO));
    Ok(values)
}

/// `aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
/// training, float momentum, float eps) -> (Tensor, Tensor, Tensor)` and the like: the result, and in training the mean
/// and the inverse deviation of each channel, else two empty vectors.
///
/// Parameters are vectors with an element for each channel, or more, which are not read, or with a single one; running
/// statistics in training are not of the last kind. In training the input is not empty.
fn native(cx: &mut Cx, args: &Args, training: bool, extra: Extra) -> KernelResult {
    let x = args.tensor("input")?;
    cx.check(x.rank() >= 2, batch_norm::C1, |_| format!("{} dimensions are too few", x.rank()))?;
    let parameters = parameters(args)?;
    for (i, (parameter, name)) in parameters.iter().zip(NAMES).enumerate() {
        let Some(parameter) = parameter else { continue };
        reaches(cx, parameter, x.size(1), !training || i < 2, batch_norm::C2, name)?;
    }
    cx.check(training || (parameters[2].is_some() && parameters[3].is_some()), batch_norm::C3, |_| {
        "without training, running statistics are needed".into()
    })?;
    let dtype = cx.statistics_dtype((x, accepted(training)), &parameters, batch_norm::C4)?;
    if training {
        let numel = cx.numel(x);
        let filled = cx.ne(numel, 0);
        cx.require(filled, batch_norm::C5, |cx| {
            format!("an input of shape {} is empty", cx.show_all(&x.sizes))
        })?;
    }
    let size = if training { x.size(1) } else { Expr::ZERO };
    let statistic = cx.contiguous([size].as_slice(), dtype, &x.device);
    let mut tensors = vec![cx.image(x, x.sizes.clone(), x.dtype), statistic.clone(), statistic];
    if matches!(extra, Extra::Reserve | Extra::ReserveAndRunning) {
        tensors.push(cx.contiguous([Expr::ZERO].as_slice(), Dtype::Uint8, &x.device));
    }
    if matches!(extra, Extra::Running | Extra::ReserveAndRunning) {
        for running in [args.tensor("running_mean")?, args.tensor("running_var")?] {
            tensors.push(cx.contiguous(running.sizes.clone(), running.dtype, &running.device));
        }
    }
    Ok(tensors.into_iter().map(Value::from).collect())
}

/// Requires a parameter to be a vector that reaches over the channels: the kernels read as many elements as there are
/// channels and ask for no more. Tracing takes a single element for all channels.
fn reaches(
    cx: &mut Cx,
    parameter: &Tensor,
    channels: Expr,
    or_single: bool,
    clause: &'static OpClause,
    what: &str,
) -> Result<(), KernelError> {
    cx.rank(parameter, 1, clause, what)?;
    let size = parameter.size(0);
    if size == channels {
        return Ok(());
    }
    let (enough, single) = (cx.ge(size, channels), cx.eq(size, 1));
    let condition = if or_single { cx.any(&[enough, single]) } else { enough };
    cx.require(condition, clause, |cx| {
        format!("{what} has {} elements for {} channels", cx.show(size), cx.show(channels))
    })
}

/// `aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
/// use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor`: shaped like the input, contiguous.
fn instance_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, parameters) = (args.tensor("input")?, parameters(args)?);
    let training = args.flag("use_input_stats")?;
    if !is_empty(cx, x) || x.rank() < 2 {
        let meant = parameters[0].map_or(x.dtype, |weight| weight.dtype);
        let converts = parameters[2].is_some_and(|mean| mean.dtype != meant);
        let converted =
            parameters.map(|p| p.filter(|_| converts).map(|p| Tensor { dtype: meant, ..p.clone() }));
        let mut seen = parameters;
        for at in 2..4 {
            seen[at] = converted[at].as_ref().or(seen[at]);
        }
        checked(cx, x, &seen, training)?;
        return one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device));
    }
    cx.check(training || (parameters[2].is_some() && parameters[3].is_some()), batch_norm::C3, |_| {
        "without input statistics, running ones are needed".into()
    })?;
    for running in parameters[2..].iter().flatten().filter(|_| training) {
        cx.rank(running, 1, batch_norm::C6, "a running statistic")?;
        let [held, needed] = [running.size(0), x.size(1)].map(|size| cx.mul(size, x.size(0)));
        cx.require_eq(held, needed, batch_norm::C6, "a running statistic does not fit the channels")?;
        cx.require_expandable(&[x.size(1)], &running.sizes, batch_norm::C6)?;
    }
    let result = scaled_empty(cx, x, &parameters, x.size(0))?;
    one(cx.contiguous(x.sizes.clone(), result.dtype, &x.device))
}

clauses! { batch_norm_backward {
    C1 "The input has at least 2 dimensions."
    C2 "`grad_out` broadcasts to the shape of the input and has its dtype."
    C3 "The dtypes of the input and the parameters are supported together."
    C4 "Weight and statistics that are used are vectors with at least an element for each channel, or with \
        a single one."
} }

/// `aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor?
/// running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor,
/// Tensor)`: the gradients of the input, and of weight and bias, one element a channel.
fn backward(cx: &mut Cx, args: &Args, deviation: &str) -> KernelResult {
    let (grad, x) = (args.tensor("grad_out")?, args.tensor("input")?);
    cx.check(x.rank() >= 2, batch_norm_backward::C1, |_| format!("{} dimensions are too few", x.rank()))?;
    cx.require_expandable(&grad.sizes, &x.sizes, batch_norm_backward::C2)?;
    cx.same_dtype(&[x, grad], batch_norm_backward::C2)?;
    let weight = optional(args, "weight")?;
    let training = args.flag(if args.has("train") { "train" } else { "update" })?;
    let running = [optional(args, "running_mean")?, optional(args, "running_var")?];
    let saved = [optional(args, "save_mean")?, optional(args, deviation)?];
    let all = [weight, running[0], running[1], saved[0], saved[1]];
    let dtype = cx.statistics_dtype((x, Domain::FLOAT.on_cpu()), &all, batch_norm_backward::C3)?;
    let used = if training { saved } else { running };
    for vector in used.into_iter().chain([weight]).flatten() {
        reaches(cx, vector, x.size(1), true, batch_norm_backward::C4, "a parameter")?;
    }
    let mask = args.flags("output_mask")?;
    let asked = |i: usize| mask.get(i) == Some(&true);
    let mut results = Values::new();
    results.push(if asked(0) { cx.image(x, x.sizes.clone(), x.dtype).into() } else { Value::None });
    let dtype = weight.map_or(dtype, |w| w.dtype);
    for i in [1, 2] {
        let vector = cx.contiguous([x.size(1)].as_slice(), dtype, &x.device);
        results.push(if asked(i) { vector.into() } else { Value::None });
    }
    Ok(results)
}

clauses! { batch_norm_update_stats {
    C1 "The input has at least 2 dimensions."
    C2 "Running statistics have 1 dimension."
    C3 "The dtypes of the input and the running statistics are supported together."
    C4 "The input is not empty."
} }

/// `aten::batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor,
/// Tensor)`: mean and variance of each channel.
fn update_stats(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    cx.check(x.rank() >= 2, batch_norm_update_stats::C1, |_| format!("{} dimensions are too few", x.rank()))?;
    let running = [optional(args, "running_mean")?, optional(args, "running_var")?];
    for vector in running.into_iter().flatten() {
        cx.rank(vector, 1, batch_norm_update_stats::C2, "a running statistic")?;
    }
    let dtype = cx.statistics_dtype((x, Domain::FLOAT.on_cpu()), &running, batch_norm_update_stats::C3)?;
    let numel = cx.numel(x);
    let filled = cx.ne(numel, 0);
    cx.require(filled, batch_norm_update_stats::C4, |_| "the input is empty".into())?;
    let vector = cx.contiguous([x.size(1)].as_slice(), dtype, &x.device);
    Ok([vector.clone(), vector].into_iter().map(Value::from).collect())
}
