//! Steps of optimizers over lists of parameters, and the scaling of gradients that goes with them.
use crate::domain::Domain;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[optimizer::ALL, amp::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    step => "aten._fused_adam.default", "aten._fused_adam.tensor_lr", "aten._fused_adamw.default",
        "aten._fused_adamw.tensor_lr", "aten._fused_sgd.default", "aten._fused_sgd.tensor_lr",
        "aten._fused_adagrad.default", "aten._fused_adagrad.tensor_lr";
    unscale => "aten._amp_foreach_non_finite_check_and_unscale.default";
    update_scale => "aten._amp_update_scale.default";
};

fn copies(cx: &mut Cx, tensors: &[Option<Arc<Tensor>>]) -> Value {
    let copy = |t: &Option<Arc<Tensor>>| {
        t.as_ref().map(|t| {
            let strides = cx.preserved_strides(t);
            Arc::new(cx.strided(t.sizes.clone(), strides, t.dtype, &t.device))
        })
    };
    Value::Tensors(tensors.iter().map(copy).collect())
}

clauses! { optimizer {
    C1 "Each used list of gradients or states has one tensor for each parameter."
    C2 "The parameters have floating point dtypes."
    C3 "Gradients and states have the dtypes of their parameters."
    C4 "Step counts, and a learning rate that is a tensor, have one element. The kernel does not check \
        their shapes."
} }

/// `_fused_adam(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs, ..., *, float lr, ...) -> (Tensor[] self_out, Tensor[]
/// grads_out, ...)` and the like: the lists of parameters, gradients and states, after the step; as many of them as the
/// schema returns.
fn step(cx: &mut Cx, args: &Args) -> KernelResult {
    let lists: Vec<&[Option<Arc<Tensor>>]> = args
        .values()
        .iter()
        .filter_map(|value| if let Value::Tensors(list) = value { Some(list.as_slice()) } else { None })
        .collect();
    let parameters = lists.first().copied().unwrap_or_default();
    for list in &lists {
        cx.check(list.is_empty() || list.len() == parameters.len(), optimizer::C1, |_| {
            format!("lists of {} and {} tensors", parameters.len(), list.len())
        })?;
    }
    for parameter in parameters.iter().flatten() {
        cx.require_kind(parameter, Domain::FLOAT.on_cpu(), optimizer::C2)?;
    }
    let used = |name: &str| name != "max_exp_avg_sqs" || args.flag("amsgrad").unwrap_or(true);
    for (spec, value) in args.schema.args.iter().zip(args.values()) {
        if let (Value::Tensor(t), "lr") = (value, spec.name.as_str()) {
            let numel = cx.numel(t);
            cx.require_eq(numel, Expr::ONE, optimizer::C4, "the rate is to be one element")?;
        }
        let Value::Tensors(list) = value else { continue };
        if !used(&spec.name) {
            continue;
        }
        cx.check(
            list.len() == parameters.len() || spec.name == "momentum_buffer_list",
            optimizer::C1,
            |_| format!("{} has {} tensors for {} parameters", spec.name, list.len(), parameters.len()),
        )?;
        for (t, parameter) in list.iter().flatten().zip(parameters.iter().flatten()) {
            if spec.name == "state_steps" {
                let numel = cx.numel(t);
                cx.require_eq(numel, Expr::ONE, optimizer::C4, "a number of steps is to be one element")?;
            } else {
                cx.same_dtype(&[parameter, t], optimizer::C3)?;
            }
        }
    }
    let returned = args.schema.returns.len();
    if lists.len() < returned {
        return Err(KernelError::Unsupported("an optimizer that returns more than it takes".into()));
    }
    Ok(lists[..returned].iter().map(|list| copies(cx, list)).collect())
}

clauses! { amp {
    C1 "The scale and `found_inf` have one element, of `float32`."
    C2 "The tensors have floating point dtypes."
    C3 "`growth_tracker` has one element, of `int32`."
} }

fn single(cx: &mut Cx, t: &Tensor, what: &str) -> Result<(), KernelError> {
    let numel = cx.numel(t);
    cx.require_eq(numel, Expr::ONE, amp::C1, &format!("{what} is to be one element"))?;
    cx.check(t.dtype == Dtype::Float32, amp::C1, |_| format!("{what} is to be float32, not {}", t.dtype))
}

/// `_amp_foreach_non_finite_check_and_unscale(Tensor[] self, Tensor found_inf, Tensor inv_scale) -> (Tensor[] self_out,
/// Tensor found_inf_out)`: the tensors times the scale, and whether one has infinite elements.
fn unscale(cx: &mut Cx, args: &Args) -> KernelResult {
    let (tensors, found) = (args.opt_tensors("self")?, args.tensor("found_inf")?);
    single(cx, found, "found_inf")?;
    single(cx, args.tensor("inv_scale")?, "inv_scale")?;
    for tensor in tensors.iter().flatten() {
        cx.require_kind(tensor, Domain::FLOAT.on_cpu(), amp::C2)?;
    }
    let strides = cx.preserved_strides(found);
    let found = cx.strided(found.sizes.clone(), strides, found.dtype, &found.device);
    Ok([copies(cx, tensors), found.into()].into_iter().collect())
}

/// `_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float
/// scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)`: the scale and the number of steps
/// since it changed.
///
/// The scale and whether something was infinite are one element of `float32`.
fn update_scale(cx: &mut Cx, args: &Args) -> KernelResult {
    let (scale, tracker) = (args.tensor("self")?, args.tensor("growth_tracker")?);
    single(cx, scale, "the scale")?;
    single(cx, args.tensor("found_inf")?, "found_inf")?;
    let numel = cx.numel(tracker);
    cx.require_eq(numel, Expr::ONE, amp::C3, "the number of steps is to be one element")?;
    cx.check(tracker.dtype == Dtype::Int32, amp::C3, |_| {
        format!("the number of steps is to be int32, not {}", tracker.dtype)
    })?;
    let results = [scale, tracker].map(|t| cx.contiguous(t.sizes.clone(), t.dtype, &t.device));
    Ok(results.into_iter().map(Value::from).collect())
}
