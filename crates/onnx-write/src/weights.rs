//! Parameters, buffers and constants as initialisers, in the model or in a file beside it.

use super::metadata;
use super::types::element_type;
use crate::OnnxError;
use sizewise_ir::pt2::Weights;
use sizewise_ir::{InputSpec, Program};
use sizewise_onnx_model::read::message::{EXTERNAL, StringStringEntryProto, TensorProto};

/// The most bytes of weights that are kept in the model itself: a message has at most 2 GB.
pub const INLINE_BYTES: usize = 1 << 30;

/// Values in the file begin at multiples of this, so that it can be mapped into memory.
const ALIGNMENT: usize = 4096;

/// The file beside a model.
pub(super) struct External {
    name: Option<String>,
    pub bytes: Vec<u8>,
}

impl External {
    pub fn new(name: Option<String>) -> External {
        External { name, bytes: Vec::new() }
    }

    /// Takes a value; says where it lies.
    fn place(&mut self, name: &str, value: &[u8]) -> Vec<StringStringEntryProto> {
        let offset = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(value);
        let entry = |key: &str, value: String| StringStringEntryProto { key: key.to_owned(), value };
        vec![
            entry("location", name.to_owned()),
            entry("offset", offset.to_string()),
            entry("length", value.len().to_string()),
        ]
    }
}

/// The inputs whose values are known, by the names of the graph's values.
pub(super) fn initialisers(
    program: &Program,
    weights: &Weights,
    external: &mut External,
) -> Result<Vec<TensorProto>, OnnxError> {
    let mut tensors = Vec::new();
    let mut inline = 0_usize;
    for spec in &program.signature.inputs {
        let (InputSpec::Parameter { value, fqn }
        | InputSpec::Buffer { value, fqn, .. }
        | InputSpec::TensorConstant { value, fqn }) = spec
        else {
            continue;
        };
        let (Some(weight), Some(recorded)) = (weights.get(fqn), program.graph.meta(*value).tensor()) else {
            continue;
        };
        let name = program.graph.name(*value).to_string();
        if weight.dtype != recorded.dtype || weight.sizes.len() != recorded.sizes.len() {
            let message =
                format!("the archive holds {} and the program records {}", weight.dtype, recorded.dtype);
            return Err(OnnxError::new(format!("`{fqn}`"), message));
        }
        let Some(data_type) = element_type(weight.dtype) else { continue };
        let tensor = TensorProto {
            dims: weight.sizes.clone(),
            data_type,
            name,
            metadata_props: metadata::of_state(spec),
            ..TensorProto::default()
        };
        tensors.push(match external.name.clone() {
            Some(file) => TensorProto {
                external_data: external.place(&file, &weight.bytes),
                data_location: EXTERNAL,
                ..tensor
            },
            None => {
                inline = inline.saturating_add(weight.bytes.len());
                TensorProto { raw_data: weight.bytes.clone().into(), ..tensor }
            }
        });
    }
    if inline > INLINE_BYTES {
        let message = format!("{inline} bytes of weights do not fit a model; name a file for them");
        return Err(OnnxError::new("weights", message));
    }
    Ok(tensors)
}
