//! Shape functions of the ONNX operators: `ai.onnx` from version 7 on, `ai.onnx.ml` and `com.microsoft`.
//!
//! A kernel says the shapes of the outputs, and what the inputs have to satisfy, as the operator's specification does
//! (<https://onnx.ai/onnx/operators/>, and onnxruntime's `docs/ContribOperators.md`). Conditions are numbered where
//! they are required. Beside shapes, kernels follow the elements of small tensors, since models compute shapes with
//! tensors.
mod call;
mod dtype;
mod schema;
mod value;

mod attention;
mod attention_lstm;
mod branches;
mod contrib;
mod convolution;
mod creation;
mod decoder_attention;
#[cfg(test)]
mod decoder_tests;
mod decoding;
mod einsum;
mod elements;
mod elementwise;
mod engram;
mod gather;
mod generation;
mod image;
#[cfg(test)]
mod layer_tests;
mod layout;
mod learning;
mod linear;
mod linear_attention;
mod loss;
mod meeting;
mod normalization;
mod numbers;
mod packed;
mod policy;
mod pooling;
mod quantization;
mod quantized_experts;
mod recurrent;
mod reduction;
mod rotary;
mod run_time;
mod scatter;
mod sequence;
mod signal;
mod slicing;
mod sorting;
mod spans;
mod strings;
#[cfg(test)]
mod tests;

pub use call::{Attribute, Call, Checked};
pub use dtype::Dtype;
pub use elements::stacked;
pub use generation::graphs_left_out;
#[cfg(test)]
pub(crate) use run_time::conditions_on_elements;
pub use run_time::{RunTime, is_drawn_at_random, left_to_run_time};
pub use schema::{is_known, operators};
pub use spans::{are_settled, mark_spans};
pub use value::{Element, Elements, MAX_ELEMENTS, Sequence, Tensor, Value};

use call::Outcome;
use sizewise_kernels::{Cx, KernelError};

/// A shape function.
type Kernel = fn(&mut Cx, &Checked) -> Outcome;
/// Operators of one domain with their shape functions.
type Family = &'static [(&'static str, Kernel)];

const MICROSOFT: &str = "com.microsoft";
const LEARNING: &str = "ai.onnx.ml";

/// The families of each domain.
const FAMILIES: &[(&str, &[Family])] = &[
    (
        "",
        &[
            attention::KERNELS,
            convolution::KERNELS,
            creation::KERNELS,
            einsum::KERNELS,
            elementwise::KERNELS,
            gather::KERNELS,
            image::KERNELS,
            layout::KERNELS,
            linear::KERNELS,
            loss::KERNELS,
            normalization::KERNELS,
            pooling::KERNELS,
            quantization::KERNELS,
            recurrent::KERNELS,
            reduction::KERNELS,
            rotary::KERNELS,
            scatter::KERNELS,
            sequence::KERNELS,
            signal::KERNELS,
            slicing::KERNELS,
            sorting::KERNELS,
            strings::KERNELS,
        ],
    ),
    (LEARNING, &[learning::KERNELS]),
    (
        MICROSOFT,
        &[
            contrib::KERNELS,
            attention::CONTRIB,
            attention_lstm::CONTRIB,
            branches::CONTRIB,
            decoder_attention::CONTRIB,
            decoding::CONTRIB,
            engram::CONTRIB,
            generation::CONTRIB,
            linear_attention::CONTRIB,
            packed::CONTRIB,
            pooling::CONTRIB,
            quantization::CONTRIB,
            quantized_experts::CONTRIB,
            recurrent::CONTRIB,
            rotary::CONTRIB,
            strings::CONTRIB,
        ],
    ),
];

/// The shape function of an operator. It is looked for once: a schema keeps it.
fn kernel(domain: &str, op: &str) -> Option<Kernel> {
    let (_, families) = FAMILIES.iter().find(|(of, _)| *of == domain)?;
    let (_, kernel) = families.iter().flat_map(|family| family.iter()).find(|(name, _)| *name == op)?;
    Some(*kernel)
}

/// The outputs of a call of which no more is known than their types.
pub fn unknown_outputs(call: &Call) -> Vec<Option<Value>> {
    let schema = schema::find(call.domain, call.op, call.version);
    let checked = schema.and_then(|schema| Checked::new(call, schema).ok());
    let value = |at: usize| checked.as_ref().map_or(Value::Unknown, |checked| checked.unknown_output(at));
    call.outputs.iter().enumerate().map(|(at, asked)| asked.then(|| value(at))).collect()
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
            return Err(KernelError::invalid("schema.S0", message));
        }
        return Err(KernelError::Unsupported(format!("the operator {} is not known", name())));
    };
    // The body of a deprecated function runs all the same.
    if schema.deprecated && call.op != "GroupNormalization" {
        return Err(KernelError::invalid(
            "schema.S0",
            format!("{} is gone since version {}", name(), schema.since),
        ));
    }
    let checked = Checked::new(call, schema)?;
    let Some(kernel) = schema.kernel else {
        return Err(KernelError::Unsupported(format!("there is no shape function for {}", name())));
    };
    let unknown = call.inputs.iter().flatten().any(|value| matches!(value, Value::Unknown));
    let outputs = if unknown {
        call.outputs.iter().enumerate().map(|(at, _)| checked.unknown_output(at)).collect()
    } else {
        kernel(cx, &checked)?
    };
    // The list of the kernel's results is used for them again.
    let asked = outputs.into_iter().zip(call.outputs).map(|(value, asked)| asked.then_some(value));
    let mut outputs: Vec<Option<Value>> = asked.collect();
    outputs.resize(call.outputs.len(), None);
    Ok(outputs)
}
