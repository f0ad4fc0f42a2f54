//! The record of a lowered module: what ExecuTorch serializes of the part of a program that a backend takes over.
//!
//! Source: ExecuTorch, `exir/lowered_backend_module.py` and `exir/serde/serialize.py` (`serialize_lowered_module`).
use serde_json::Value as Json;
use sizewise_ir::{Dtype, Sym, TensorMeta};

/// A tensor that a lowered module takes or gives, as far as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operand {
    /// The name in the module.
    pub name: String,
    /// The dtype, if the value is a tensor.
    pub dtype: Option<Dtype>,
    /// The sizes, if the value is a tensor; `None` for those that are expressions.
    pub sizes: Option<Vec<Option<i64>>>,
}

/// A lowered module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoweredModule {
    /// What the user passes.
    pub takes: Vec<Operand>,
    /// What the user gets.
    pub gives: Vec<Operand>,
    /// How many values the module's graph returns, new values of state among them.
    pub returns: usize,
}

impl Operand {
    /// How a tensor differs from this one: in dtype, rank, or a size that is a number in both.
    pub fn differs(&self, meta: &TensorMeta) -> Option<String> {
        if let Some(dtype) = self.dtype
            && dtype != meta.dtype
        {
            return Some(format!("is {dtype} there and {} here", meta.dtype));
        }
        let sizes = self.sizes.as_ref()?;
        if sizes.len() != meta.sizes.len() {
            return Some(format!("has {} dimensions there and {} here", sizes.len(), meta.sizes.len()));
        }
        sizes.iter().zip(&meta.sizes).enumerate().find_map(|(dim, sizes)| match sizes {
            (Some(there), Sym::Literal(here)) if there != here => {
                Some(format!("has size {there} in dimension {dim} there and {here} here"))
            }
            _ => None,
        })
    }
}

/// Reads the record of a lowered module.
pub(super) fn read(text: &str) -> Result<LoweredModule, String> {
    let record: Json = serde_json::from_str(text)
        .map_err(|error| format!("the record of the lowered module is not JSON: {error}"))?;
    let field = |name: &str| record.get(name).unwrap_or(&Json::Null);
    let backend = field("backend_id").as_str().is_some_and(|name| !name.is_empty());
    let wrong =
        |name: &str, expected: &str| Err(format!("the `{name}` of the lowered module is not {expected}"));
    if !backend {
        return wrong("backend_id", "a name");
    }
    match field("processed_bytes").as_str() {
        None => return wrong("processed_bytes", "text"),
        Some(text) if !is_base64(text) => return wrong("processed_bytes", "base64"),
        Some(_) => {}
    }
    let Some(specs) = field("compile_specs").as_array() else {
        return wrong("compile_specs", "a list");
    };
    let is_spec = |spec: &Json| {
        spec.get("key").is_some_and(Json::is_string)
            && spec.get("value").and_then(Json::as_str).is_some_and(is_base64)
    };
    if !specs.iter().all(is_spec) {
        return wrong("compile_specs", "a list of keys with values in base64");
    }
    module(field("original_module"))
        .ok_or_else(|| "the `original_module` of the lowered module is not a program".to_owned())
        .and_then(|module| {
            let empty = module.gives.is_empty() && module.returns == 0;
            if empty {
                Err("the `original_module` of the lowered module gives nothing".to_owned())
            } else {
                Ok(module)
            }
        })
}

/// Whether a text is base64 with its padding.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// The program of a lowered module, of which only what it takes and gives is looked at.
fn module(document: &Json) -> Option<LoweredModule> {
    let module = document.get("graph_module")?;
    let graph = module.get("graph")?;
    let nodes = graph.get("nodes")?.as_array()?;
    if nodes.is_empty() {
        return None;
    }
    let returns = graph.get("outputs")?.as_array()?.len();
    let inputs = graph.get("inputs")?.as_array()?.len();
    let signature = module.get("signature")?;
    let (input_specs, output_specs) =
        (signature.get("input_specs")?.as_array()?, signature.get("output_specs")?.as_array()?);
    if input_specs.len() != inputs || output_specs.len() != returns {
        return None;
    }
    let takes = input_specs.iter().filter_map(|spec| spec.get("user_input")).map(|spec| operand(graph, spec));
    let gives =
        output_specs.iter().filter_map(|spec| spec.get("user_output")).map(|spec| operand(graph, spec));
    Some(LoweredModule { takes: takes.collect(), gives: gives.collect(), returns })
}

fn operand(graph: &Json, spec: &Json) -> Operand {
    let name = spec.pointer("/arg/as_tensor/name").and_then(Json::as_str).unwrap_or_default();
    let meta = graph.get("tensor_values").and_then(|values| values.get(name));
    let dtype = meta.and_then(|meta| Dtype::from_export_number(meta.get("dtype")?.as_i64()?));
    let size = |size: &Json| size.get("as_int").and_then(Json::as_i64);
    let sizes = meta.and_then(|meta| Some(meta.get("sizes")?.as_array()?.iter().map(size).collect()));
    Operand { name: name.to_owned(), dtype, sizes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_told_from_other_text() {
        for (text, right) in [
            ("", true),
            ("BA==", true),
            ("MnZlcnNpb246", true),
            ("ab+/", true),
            ("a", false),
            ("a===", false),
            ("ab=c", false),
            ("a b=", false),
            ("äöü=", false),
        ] {
            assert_eq!(is_base64(text), right, "{text}");
        }
    }
}
