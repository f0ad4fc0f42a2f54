//! States that no source holds: torch writes those of which it has no data as empty entries, and reads them as zeros.

use serde_json::Value;

use super::graph::GraphWriter;
use super::source::{Payloads, State};
use crate::{ExprTable, Hint, InputSpec, Meta, Program, Sizes, Sym, TensorMeta, ValueId};

/// An entry of the archive.
pub(super) struct Entry {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Adds every state of the signature that the lists have not, and gives the entries that are to be written, empty,
/// for them.
pub(super) fn make(program: &Program, state: &mut State) -> Vec<Entry> {
    let mut made = Vec::new();
    let State { weights, constants, .. } = state;
    for spec in &program.signature.inputs {
        let (payloads, kind, prefix, value, fqn) = match spec {
            InputSpec::Parameter { value, fqn } | InputSpec::Buffer { value, fqn, persistent: true } => {
                (&mut *weights, "weights", "weight", *value, fqn)
            }
            InputSpec::Buffer { value, fqn, persistent: false }
            | InputSpec::TensorConstant { value, fqn } => {
                (&mut *constants, "constants", "tensor", *value, fqn)
            }
            _ => continue,
        };
        let Some(payloads) = payloads.as_mut().filter(|payloads| !payloads.contains_key(&**fqn)) else {
            continue;
        };
        let is_parameter = matches!(spec, InputSpec::Parameter { .. });
        let path = free(payloads, prefix);
        if let Some(payload) = payload(program, value, &path, is_parameter) {
            made.push(Entry { name: format!("data/{kind}/{path}"), bytes: Vec::new() });
            payloads.insert(fqn.to_string(), payload);
        }
    }
    made
}

/// A name that no entry has.
pub(super) fn free(payloads: &Payloads, prefix: &str) -> String {
    let path = |payload: &Value| payload.get("path_name").and_then(Value::as_str).map(str::to_owned);
    let taken: rustc_hash::FxHashSet<String> = payloads.values().filter_map(path).collect();
    let mut number = payloads.len();
    while taken.contains(&format!("{prefix}_{number}")) {
        number += 1;
    }
    format!("{prefix}_{number}")
}

fn payload(program: &Program, value: ValueId, path: &str, is_parameter: bool) -> Option<Value> {
    let Meta::Tensor(meta) = program.graph.meta(value) else { return None };
    let meta = plain(meta, &program.exprs)?;
    let writer = GraphWriter { graph: &program.graph, exprs: &program.exprs };
    let text = writer.tensor_meta(path, &meta).ok()?;
    let tensor: Value = serde_json::from_str(&text).ok()?;
    Some(serde_json::json!({
        "path_name": path, "is_param": is_parameter, "use_pickle": false, "tensor_meta": tensor,
    }))
}

/// The tensor with its sizes at the example, its elements in order.
fn plain(meta: &TensorMeta, exprs: &ExprTable) -> Option<TensorMeta> {
    let size = |size: &Sym<i64>| match size {
        Sym::Literal(value) => Some(*value),
        Sym::Expr(expr) => match exprs.get(*expr)?.hint {
            Some(Hint::Int(value)) => Some(value),
            _ => None,
        },
    };
    let sizes: Vec<i64> = meta.sizes.iter().map(size).collect::<Option<_>>()?;
    let mut strides = vec![1_i64; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim].checked_mul(sizes[dim].max(1))?;
    }
    let literal = |list: Vec<i64>| list.into_iter().map(Sym::Literal).collect::<Sizes>();
    Some(TensorMeta {
        sizes: literal(sizes),
        strides: literal(strides),
        storage_offset: Sym::Literal(0),
        ..meta.clone()
    })
}
