//! Operators on lists of tensors: what an operator on one tensor does, for each.
use crate::kernel::{Kernel, kernels};
use crate::registry::Registry;
use crate::{Args, Cx, KernelError, KernelResult, Value, bind};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::schema::SchemaTable;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[foreach::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    // `_foreach_exp` is for `exp`.
    |cx, args| {
        let target = args.schema.name.trim_start_matches("_foreach_").to_string();
        each(cx, args, &format!("aten.{target}.default"), None)
    } => "aten._foreach_abs.default", "aten._foreach_acos.default", "aten._foreach_asin.default",
        "aten._foreach_atan.default", "aten._foreach_ceil.default", "aten._foreach_clone.default",
        "aten._foreach_copy.default", "aten._foreach_cos.default", "aten._foreach_cosh.default",
        "aten._foreach_erf.default", "aten._foreach_erfc.default", "aten._foreach_exp.default",
        "aten._foreach_expm1.default", "aten._foreach_floor.default", "aten._foreach_frac.default",
        "aten._foreach_lgamma.default", "aten._foreach_log.default", "aten._foreach_log10.default",
        "aten._foreach_log1p.default", "aten._foreach_log2.default", "aten._foreach_max.default",
        "aten._foreach_neg.default", "aten._foreach_reciprocal.default",
        "aten._foreach_round.default", "aten._foreach_rsqrt.default", "aten._foreach_sigmoid.default",
        "aten._foreach_sign.default", "aten._foreach_sin.default", "aten._foreach_sinh.default",
        "aten._foreach_sqrt.default", "aten._foreach_tan.default", "aten._foreach_tanh.default",
        "aten._foreach_trunc.default", "aten._foreach_zero.default", "aten._foreach_clamp_max.Scalar",
        "aten._foreach_clamp_max.ScalarList", "aten._foreach_clamp_min.Scalar",
        "aten._foreach_clamp_min.ScalarList";
    |cx, args| each(cx, args, "aten.add.Tensor", Some("alpha")) => "aten._foreach_add.List",
        "aten._foreach_add.Tensor";
    |cx, args| each(cx, args, "aten.add.Scalar", None) => "aten._foreach_add.Scalar",
        "aten._foreach_add.ScalarList";
    |cx, args| each(cx, args, "aten.sub.Tensor", Some("alpha")) => "aten._foreach_sub.List";
    |cx, args| each(cx, args, "aten.sub.Scalar", None) => "aten._foreach_sub.Scalar",
        "aten._foreach_sub.ScalarList";
    |cx, args| each(cx, args, "aten.mul.Tensor", None) => "aten._foreach_mul.List", "aten._foreach_mul.Tensor";
    |cx, args| each(cx, args, "aten.mul.Scalar", None) => "aten._foreach_mul.Scalar",
        "aten._foreach_mul.ScalarList";
    |cx, args| each(cx, args, "aten.div.Tensor", None) => "aten._foreach_div.List", "aten._foreach_div.Tensor";
    |cx, args| each(cx, args, "aten.div.Scalar", None) => "aten._foreach_div.Scalar",
        "aten._foreach_div.ScalarList";
    |cx, args| each(cx, args, "aten.clamp_max.Tensor", None) => "aten._foreach_clamp_max.List";
    |cx, args| each(cx, args, "aten.clamp_min.Tensor", None) => "aten._foreach_clamp_min.List";
    |cx, args| each(cx, args, "aten.maximum.default", None) => "aten._foreach_maximum.List";
    |cx, args| each(cx, args, "aten.minimum.default", None) => "aten._foreach_minimum.List";
    // The greater of a tensor and a number is what limits it from below.
    |cx, args| each(cx, args, "aten.clamp_min.default", None) => "aten._foreach_maximum.Scalar",
        "aten._foreach_maximum.ScalarList";
    |cx, args| each(cx, args, "aten.clamp_max.default", None) => "aten._foreach_minimum.Scalar",
        "aten._foreach_minimum.ScalarList";
    |cx, args| each(cx, args, "aten.pow.Tensor_Tensor", None) => "aten._foreach_pow.List";
    |cx, args| each(cx, args, "aten.pow.Tensor_Scalar", None) => "aten._foreach_pow.Scalar",
        "aten._foreach_pow.ScalarList";
    |cx, args| each(cx, args, "aten.pow.Scalar", None) => "aten._foreach_pow.ScalarAndTensor";
    |cx, args| each(cx, args, "aten.lerp.Tensor", None) => "aten._foreach_lerp.List";
    |cx, args| each(cx, args, "aten.lerp.Scalar", None) => "aten._foreach_lerp.Scalar",
        "aten._foreach_lerp.ScalarList";
    |cx, args| each(cx, args, "aten.addcmul.default", Some("value")) => "aten._foreach_addcmul.Scalar",
        "aten._foreach_addcmul.ScalarList", "aten._foreach_addcmul.Tensor";
    |cx, args| each(cx, args, "aten.addcdiv.default", Some("value")) => "aten._foreach_addcdiv.Scalar",
        "aten._foreach_addcdiv.ScalarList", "aten._foreach_addcdiv.Tensor";
    |cx, args| each(cx, args, "aten.linalg_vector_norm.default", Some("dtype")) => "aten._foreach_norm.Scalar";
    |cx, args| each(cx, args, "aten.linalg__powsum.default", Some("dtype")) => "aten._foreach_powsum.Scalar";
};

clauses! { foreach {
    C1 "All lists have the same length, which is not 0."
    C2 "A tensor of factors has 1 dimension, with an element for each listed tensor."
} }

/// Calls `target` on the first, second, … of every list among the arguments, other arguments being the same each time.
/// The last argument goes by the name `last`, if one is given.
fn each(cx: &mut Cx, args: &Args, target: &str, last: Option<&'static str>) -> KernelResult {
    let Some((kernel, schema)) = Registry::builtin().get(target).zip(SchemaTable::global().get(target))
    else {
        return Err(KernelError::Unsupported(format!("there is no fake kernel for `{target}`")));
    };
    let length = |value: &Value| match value {
        Value::Tensors(items) => Some(items.len()),
        Value::Scalars(items) => Some(items.len()),
        _ => None,
    };
    let count = args.values().iter().find_map(length).unwrap_or(0);
    cx.check(count > 0, foreach::C1, |_| "the list of tensors is empty".to_string())?;
    for other in args.values().iter().filter_map(length) {
        cx.check(other == count, foreach::C1, |_| format!("lists of {count} and {other} elements"))?;
    }
    // Factors given as one tensor are data, one for each tensor of the lists.
    if let (Some("value"), Some(Value::Tensor(factors))) = (last, args.values().last()) {
        cx.check(factors.rank() == 1, foreach::C2, |_| {
            format!("factors have {} dimensions", factors.rank())
        })?;
        let count = cx.int(count as i64);
        cx.require_eq(factors.size(0), count, foreach::C2, "factors and lists differ in length")?;
    }
    let (named, positional) = match last {
        Some(name) => (Some(name).zip(args.values().last()), &args.values()[..args.values().len() - 1]),
        None => (None, args.values()),
    };
    let mut results = Vec::with_capacity(count);
    for at in 0..count {
        let item = |value: &Value| match value {
            Value::Tensors(items) => items[at].clone().map_or(Value::None, Value::Tensor),
            Value::Scalars(items) => items[at].clone(),
            other => other.clone(),
        };
        let positional: Vec<Value> = positional.iter().take(schema.positional().len()).map(item).collect();
        let named = named.filter(|(_, value)| !matches!(value, Value::Tensor(_)));
        let named = named.map(|(name, value)| (name, item(value)));
        let bound = bind(cx.pool(), schema, positional, named)
            .map_err(|error| KernelError::invalid(foreach::C1, error.to_string()))?;
        match kernel(cx, &bound)?.into_iter().next() {
            Some(Value::Tensor(result)) => results.push(Some(result)),
            _ => return Err(KernelError::Unsupported(format!("`{target}` gives no tensor"))),
        }
    }
    Ok(smallvec![Value::Tensors(results)])
}
