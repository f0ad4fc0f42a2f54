//! `sizewise ops --edge OP`: the dtypes of the tensors that an operator of the Edge dialect takes and gives.
use crate::ir::Dtype;
use crate::ir::schema::{OperatorName, Schema, SchemaTable};
use crate::kernels::Operators;
use crate::verify::{Combinations, EdgeDtypes};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// What the command prints of an operator.
///
/// # Errors
/// When there is no such operator.
pub fn describe(op: &str, known: &Operators, table: &EdgeDtypes, as_json: bool) -> Result<String, String> {
    let name = OperatorName::split(op).ok_or("expected an operator such as aten.add.Tensor")?.to_string();
    let schema = known.find(&name).map(|(schema, _)| schema).or_else(|| SchemaTable::global().get(&name));
    let Some(schema) = schema else { return Err(unknown(&name)) };
    Ok(if as_json { to_json(&name, schema, table) } else { to_text(&name, schema, table) })
}

/// Says that there is no such operator, and which overloads it has if the name is right but for that.
fn unknown(name: &str) -> String {
    let overloads = OperatorName::split(name)
        .map_or(&[] as &[_], |name| SchemaTable::global().overloads_of(name.namespace, name.name));
    let names: Vec<String> = overloads.iter().map(|overload| overload.name().to_string()).collect();
    if names.is_empty() {
        format!("there is no operator `{name}`")
    } else {
        format!("there is no operator `{name}`; there are {}", names.join(", "))
    }
}

fn names(dtypes: &[Dtype]) -> Vec<&'static str> {
    dtypes.iter().map(|dtype| dtype.name()).collect()
}

/// The sets of a table that its combinations use, by the names `T0`, `T1`, ….
fn set_name(set: usize) -> String {
    format!("T{set}")
}

fn to_text(name: &str, schema: &Schema, table: &EdgeDtypes) -> String {
    let entry: &Combinations = &table.of(schema);
    let mut text = match table.lists(schema) {
        true => format!("{name}: {} combinations of dtypes in edge.yaml\n", entry.rows.len()),
        false => format!("{name}: not in edge.yaml; every dtype of ExecuTorch in any combination\n"),
    };
    // Writing to a string cannot fail.
    for (index, tensor) in entry.tensors.iter().enumerate() {
        let _ = writeln!(text, "  {tensor}: {}", names(&entry.allowed(index)).join(", "));
    }
    if table.lists(schema) {
        text.push_str("\ncombinations; tensors with one set have one dtype of it\n");
        for row in &entry.rows {
            let cells = entry.tensors.iter().zip(row);
            let cells: Vec<String> =
                cells.map(|(tensor, set)| format!("{tensor}: {}", set_name(*set))).collect();
            let _ = writeln!(text, "  {}", cells.join(", "));
        }
        text.push_str("\nsets\n");
        for (index, set) in entry.sets.iter().enumerate() {
            let _ = writeln!(text, "  {}: {}", set_name(index), names(set).join(", "));
        }
    }
    text
}

fn to_json(name: &str, schema: &Schema, table: &EdgeDtypes) -> String {
    let entry: &Combinations = &table.of(schema);
    let tensors: Map<String, Json> = entry
        .tensors
        .iter()
        .enumerate()
        .map(|(index, tensor)| (tensor.clone(), json!(names(&entry.allowed(index)))))
        .collect();
    let sets: Map<String, Json> =
        entry.sets.iter().enumerate().map(|(index, set)| (set_name(index), json!(names(set)))).collect();
    let row = |row: &Vec<usize>| -> Json {
        let cells =
            entry.tensors.iter().zip(row).map(|(tensor, set)| (tensor.clone(), json!(set_name(*set))));
        Json::Object(cells.collect())
    };
    let rows: Vec<Json> = entry.rows.iter().map(row).collect();
    let report = json!({
        "op": name, "listed": table.lists(schema), "tensors": tensors, "type_alias": sets, "type_constraint": rows,
    });
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}
