//! Shape functions of the ONNX operators: `ai.onnx` from version 7 on, `ai.onnx.ml` and `com.microsoft`.
//!
//! A kernel says the shapes of the outputs, and what the inputs have to satisfy, as the operator's specification does
//! (<https://onnx.ai/onnx/operators/>, and onnxruntime's `docs/ContribOperators.md`). Conditions are numbered where
//! they are required. Beside shapes, kernels follow the elements of small tensors, since models compute shapes with
//! tensors.
mod at_load;
mod call;
mod dtype;
mod elements;
pub(crate) mod kernels;
mod known;
mod op;
mod run_time;
pub(crate) mod schema;
mod spans;
#[cfg(test)]
mod tests;
mod value;
mod work;

pub use call::{Attribute, Call, Checked, FoundAtLoad};
pub use dtype::Dtype;
pub use elements::stacked;
#[cfg(test)]
pub use kernels::conditions_on_elements;
pub use kernels::{clauses, conditions, is_way, operator};
pub use known::{AtLoad, Known};
pub use op::{Counts, Op, Use};
pub use run_time::RunTime;
pub use schema::{Told, is_known, operators, told};
pub use value::{Element, Elements, MAX_ELEMENTS, Origin, Sequence, Tensor, Value};
pub use work::Work;

use schema::signature;
use sizewise_expr::{Expr, Pool};
use sizewise_kernels::{Backend, Cx, KernelError};

/// The newest version of `ai.onnx` that onnxruntime 1.31 loads.
const NEWEST: i64 = 26;

/// (S5) The refusal of a version of `ai.onnx` that onnxruntime does not load: versions after 26.
pub fn unsupported_version(version: i64, backend: Backend) -> Option<KernelError> {
    let is_new = version > NEWEST && backend != Backend::Any;
    let message = || format!("onnxruntime 1.31 loads ai.onnx up to version {NEWEST}, not {version}");
    is_new.then(|| KernelError::invalid(signature::S5, message()))
}

/// (S6) The refusal of a result of which 64 bits do not count the bytes.
pub fn too_large(pool: &Pool, values: &[Option<Value>]) -> Option<KernelError> {
    let counts = |tensor: &Tensor| {
        let sizes = tensor.shape.as_ref()?.iter().map(|&size| pool.as_int(size));
        let sizes: Vec<_> = sizes.collect::<Option<_>>()?;
        let mut sizes = sizes.iter().map(|size| size.to_i64());
        Some(sizes.try_fold(tensor.dtype.bytes(), |bytes, size| bytes.checked_mul(size?)).is_some())
    };
    let tensors = values.iter().flatten().filter_map(Value::tensor);
    let is_large = tensors.filter_map(|tensor| Some((counts(tensor)?, tensor))).any(|(fits, tensor)| {
        // Nothing is large beside a size of 0.
        !fits && tensor.shape.as_ref().is_some_and(|sizes| !sizes.contains(&Expr::ZERO))
    });
    is_large.then(|| KernelError::invalid(signature::S6, "its result has more bytes than 64 bits count"))
}

/// The outputs of a call of which no more is known than their types.
pub fn unknown_outputs(call: &Call) -> Vec<Option<Value>> {
    let schema = schema::find(call.domain, call.op, call.version);
    let checked = schema.and_then(|schema| Checked::new(call, schema).ok());
    let value = |at: usize| checked.as_ref().map_or(Value::Unknown, |checked| checked.unknown_output(at));
    call.outputs.iter().enumerate().map(|(at, asked)| asked.then(|| value(at))).collect()
}

/// The refusal of what a node of control flow is given or makes. (S2) Its version takes inputs of these types; onnxruntime
/// does not ask that of outputs. (S4) onnxruntime has a kernel for them; of several that share a constraint, it looks at
/// the first.
pub fn untaken(
    (op, version): (&str, i64),
    inputs: &[Option<&Value>],
    results: &[Value],
    backend: Backend,
) -> Option<KernelError> {
    let schema = schema::find("", op, version)?;
    let is_known = |(_, value): &(_, &Value)| !matches!(value, Value::Unknown);
    let given = inputs.iter().enumerate();
    let mut known: Vec<_> = given
        .filter_map(|(at, value)| Some((schema.inputs.formal(at)?, (*value)?)))
        .filter(is_known)
        .collect();
    if let Some((formal, value)) = known.iter().find(|(formal, value)| !formal.types.allow(value)) {
        let message = format!("{op}-{version} takes no {} as `{}`", value.type_name(), formal.name);
        return Some(KernelError::invalid(signature::S2, message));
    }
    let made = results.iter().enumerate();
    known.extend(made.filter_map(|(at, value)| Some((schema.outputs.formal(at)?, value))).filter(is_known));
    let first = |constraint: usize| known.iter().find(|(formal, _)| formal.constraint == Some(constraint));
    let runs = schema.cpu.as_ref().is_none_or(|kernels| {
        kernels.iter().any(|kernel| {
            kernel.types.iter().all(|(at, types)| first(*at).is_none_or(|(_, value)| types.allow(value)))
        })
    });
    let message = || format!("onnxruntime's CPU provider has no kernel of {op} for these types");
    (!runs && backend == Backend::Cpu).then(|| KernelError::invalid(signature::S4, message()))
}

/// The values of the outputs of a call; `None` for an output that is not asked for.
///
/// # Errors
/// [`KernelError::Invalid`] where the operator refuses the call, [`KernelError::DataDependent`] where its shapes depend
/// on what is not known, [`KernelError::Unsupported`] where there is no shape function.
pub fn infer(cx: &mut Cx, call: &Call) -> Result<Vec<Option<Value>>, KernelError> {
    let name = || match call.domain {
        "" => call.op.to_owned(),
        domain => format!("{domain}::{}", call.op),
    };
    let Some(schema) = schema::find(call.domain, call.op, call.version) else {
        if is_known(call.domain, call.op) {
            let message = format!("version {} of its domain has no {}", call.version, name());
            return Err(KernelError::invalid(signature::S0, message));
        }
        return Err(KernelError::Unsupported(format!("the operator {} is not known", name())));
    };
    let op = operator(call.domain, call.op);
    if schema.deprecated && op.is_none_or(|op| !op.runs_deprecated) {
        return Err(KernelError::invalid(
            signature::S0,
            format!("{} is gone since version {}", name(), schema.since),
        ));
    }
    let checked = Checked::new(call, schema)?;
    if cx.on_cpu() && !checked.has_kernel() {
        let mut types: Vec<_> = call.inputs.iter().flatten().map(|value| value.type_name()).collect();
        types.dedup();
        let message =
            format!("onnxruntime's CPU provider has no kernel of {} for {}", name(), types.join(", "));
        return Err(KernelError::invalid(signature::S4, message));
    }
    let Some(op) = op else {
        return Err(KernelError::Unsupported(format!("there is no shape function for {}", name())));
    };
    let unknown = call.inputs.iter().flatten().any(|value| matches!(value, Value::Unknown));
    let outputs = if unknown {
        call.outputs.iter().enumerate().map(|(at, _)| checked.unknown_output(at)).collect()
    } else {
        (op.kernel)(cx, &checked)?
    };
    if cx.on_cpu() && !unknown && !checked.has_kernel_for(&outputs) {
        let types: Vec<_> = outputs.iter().map(Value::type_name).collect();
        let message =
            format!("onnxruntime's CPU provider has no kernel of {} that makes {}", name(), types.join(", "));
        return Err(KernelError::invalid(signature::S4, message));
    }
    // The list of the kernel's results is used for them again.
    let asked = outputs.into_iter().zip(call.outputs).map(|(value, asked)| asked.then_some(value));
    let mut outputs: Vec<Option<Value>> = asked.collect();
    outputs.resize(call.outputs.len(), None);
    Ok(outputs)
}
