//! The values of 0-dimensional tensors that passes have lifted to buffers, as an archive keeps weights.

use super::emit::{Json, object, string};
use crate::ir::node::Constant;
use crate::ir::program::Program;

/// A weight: its qualified name, the name of its file, its record in the list of weights, and its bytes.
pub(super) struct Weight {
    pub fqn: String,
    pub file: String,
    pub record: Json,
    pub bytes: Vec<u8>,
}

/// The values that a program has lifted; `first` is the number of the first file.
pub(super) fn weights(program: &Program, first: usize) -> Vec<Weight> {
    let numbered = program.scalars.iter().enumerate();
    numbered
        .filter_map(|(index, (fqn, value))| {
            // The dtype's number in the format, and the bytes.
            let (dtype, bytes) = match value {
                Constant::Int(value) => (5, value.to_le_bytes().to_vec()),
                Constant::Float(value) => (7, (*value as f32).to_le_bytes().to_vec()),
                Constant::Bool(value) => (12, vec![u8::from(*value)]),
                Constant::None | Constant::Str(_) => return None,
            };
            let file = format!("weight_{}", first + index);
            let device = object([("type", string("cpu")), ("index", "null".to_owned())]);
            let meta = object([
                ("dtype", dtype.to_string()),
                ("sizes", "[]".to_owned()),
                ("requires_grad", "false".to_owned()),
                ("device", device),
                ("strides", "[]".to_owned()),
                ("storage_offset", object([("as_int", "0".to_owned())])),
                ("layout", "7".to_owned()),
            ]);
            let record = object([
                ("path_name", string(&file)),
                ("is_param", "false".to_owned()),
                ("use_pickle", "false".to_owned()),
                ("tensor_meta", meta),
            ]);
            Some(Weight { fqn: fqn.to_string(), file, record, bytes })
        })
        .collect()
}
