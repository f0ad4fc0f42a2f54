//! The values of 0-dimensional tensors that passes have lifted to buffers, as an archive keeps weights.
use super::WriteError;
use super::source::State;
use super::zeros::{Entry, free};
use crate::constant::Constant;
use crate::dtype::Dtype;
use crate::program::Program;
use crate::signature::InputSpec;
use serde_json::json;

/// Adds the values that a program has lifted to the weights, and gives their entries.
///
/// # Errors
/// When the source keeps all weights in one pickle, to which nothing can be added.
pub(super) fn make(program: &Program, state: &mut State) -> Result<Vec<Entry>, WriteError> {
    let mut made = Vec::new();
    for (fqn, value) in &program.scalars {
        // The dtype's number in the format, and the bytes.
        let (dtype, bytes) = match value {
            Constant::Int(value) => (5, value.to_le_bytes().to_vec()),
            Constant::Float(value) if dtype(program, fqn) == Some(Dtype::Float64) => {
                (8, value.to_le_bytes().to_vec())
            }
            Constant::Float(value) => (7, (*value as f32).to_le_bytes().to_vec()),
            Constant::Bool(value) => (12, vec![u8::from(*value)]),
            Constant::None | Constant::Str(_) => continue,
        };
        let Some(weights) = &mut state.weights else {
            let message = "the source keeps its weights in one pickle: no number can be added to them";
            return Err(WriteError::new(format!("`{}`", fqn.escape_debug()), message.to_owned()));
        };
        let path = free(weights, "weight");
        let tensor = json!({
            "dtype": dtype, "sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": null},
            "strides": [], "storage_offset": {"as_int": 0}, "layout": 7,
        });
        let payload =
            json!({"path_name": path, "is_param": false, "use_pickle": false, "tensor_meta": tensor});
        weights.insert(fqn.to_string(), payload);
        made.push(Entry { name: format!("data/weights/{path}"), bytes });
    }
    Ok(made)
}

/// The dtype of the buffer of a name.
fn dtype(program: &Program, wanted: &str) -> Option<Dtype> {
    program.signature.inputs.iter().find_map(|input| match input {
        InputSpec::Buffer { value, fqn, .. } if **fqn == *wanted => {
            program.graph.meta(*value).tensor().map(|meta| meta.dtype)
        }
        _ => None,
    })
}
