//! Programs of older schemas, as the current one has them.
//!
//! torch 2.1 to 2.5 and ExecuTorch write major versions below 8, always in the old layout. Before version 3 a union
//! lists all its members, null but for one; later ones differ in little.

use serde_json::{Map, Value, json};

use crate::error::{ReadError, ReadErrorKind, ReadResult};

/// The members of unions that do not begin with `as_`.
const SPECS: [&str; 15] = [
    "user_input",
    "parameter",
    "buffer",
    "tensor_constant",
    "custom_obj",
    "token",
    "constant_input",
    "user_output",
    "loss_output",
    "buffer_mutation",
    "parameter_mutation",
    "gradient_to_parameter",
    "gradient_to_user_input",
    "user_input_mutation",
    "constant_output",
];

/// The JSON text of a program of an older schema, as version 8 has it.
pub(super) fn upgraded(bytes: &[u8]) -> ReadResult<Vec<u8>> {
    let syntax = |message: String| ReadError::new(ReadErrorKind::Syntax, message);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| syntax(format!("not UTF-8 at byte {}; expected JSON text", error.valid_up_to())))?;
    let document = serde_json::from_str(text).or_else(|_| serde_json::from_str(&quoted_infinities(text)));
    let mut document: Value = document.map_err(|error| syntax(format!("not JSON: {error}")))?;
    member(&mut document);
    if let Value::Object(program) = &mut document {
        program.insert("schema_version".to_owned(), json!({"major": 8, "minor": 0}));
        if let Some(dialect) = program.remove("dialect").filter(Value::is_string) {
            program.entry("verifiers").or_insert_with(|| json!([dialect]));
        }
    }
    serde_json::to_vec(&document).map_err(|error| syntax(error.to_string()))
}

/// Brings a value and everything within it to the current form. Its nesting is bounded by the JSON reader.
fn member(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(member),
        Value::Object(fields) => {
            fields.values_mut().for_each(member);
            let is_union = !fields.is_empty()
                && fields.keys().all(|key| key.starts_with("as_") || SPECS.contains(&key.as_str()));
            if is_union {
                union(fields);
            }
            structure(fields);
        }
        _ => {}
    }
}

/// A union keeps the member that it is; a truth value was long written as an integer.
fn union(fields: &mut Map<String, Value>) {
    if fields.len() > 1 {
        fields.retain(|_, value| !value.is_null());
    }
    if let Some(Value::Bool(truth)) = fields.get("as_int") {
        let truth = Value::Bool(*truth);
        fields.clear();
        fields.insert("as_bool".to_owned(), truth);
    }
}

/// Fields that were written in another form, or not at all.
fn structure(fields: &mut Map<String, Value>) {
    if let Some(offset) = fields.get_mut("storage_offset").filter(|offset| offset.is_number()) {
        *offset = json!({"as_int": offset.clone()});
    }
    if let Some(hint) = fields.get_mut("hint") {
        match hint {
            Value::Number(_) => *hint = json!({"as_int": hint.clone()}),
            Value::Object(members) if members.is_empty() => *hint = Value::Null,
            _ => {}
        }
    }
    if fields.contains_key("arg") && fields.contains_key("buffer_name") {
        fields.entry("persistent").or_insert(Value::Bool(true));
    }
}

/// Puts what Python writes for doubles that JSON cannot write into quotes.
fn quoted_infinities(text: &str) -> String {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    let mut made = String::with_capacity(text.len());
    let (mut rest, mut quoted) = (text, false);
    while let Some(at) = rest.find(['"', '\\', 'I', 'N', '-']) {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        let word = WORDS.iter().find(|word| !quoted && from.starts_with(**word));
        let taken = match (word, from.as_bytes()) {
            (Some(word), _) => {
                made.push_str(&format!("\"{word}\""));
                rest = &from[word.len()..];
                continue;
            }
            (None, [b'\\', ..]) if quoted => 1 + from[1..].chars().next().map_or(0, char::len_utf8),
            (None, [b'"', ..]) => {
                quoted = !quoted;
                1
            }
            _ => 1,
        };
        made.push_str(&from[..taken]);
        rest = &from[taken..];
    }
    made.push_str(rest);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_forms_become_the_current_one() {
        for (old, new) in [
            (r#"{"as_none": null, "as_int": 3, "as_bool": null}"#, r#"{"as_int":3}"#),
            (
                r#"{"user_input": null, "parameter": {"arg": {"name": "p"}}}"#,
                r#"{"parameter":{"arg":{"name":"p"}}}"#,
            ),
            (r#"{"as_int": true}"#, r#"{"as_bool":true}"#),
            (r#"{"storage_offset": 2}"#, r#"{"storage_offset":{"as_int":2}}"#),
            (
                r#"{"expr_str": "s0", "hint": {"as_int": null, "as_float": null}}"#,
                r#"{"expr_str":"s0","hint":null}"#,
            ),
            (r#"{"expr_str": "s0", "hint": 4}"#, r#"{"expr_str":"s0","hint":{"as_int":4}}"#),
            (
                r#"{"arg": {"name": "b"}, "buffer_name": "b"}"#,
                r#"{"arg":{"name":"b"},"buffer_name":"b","persistent":true}"#,
            ),
            (r#"{"as_float": Infinity}"#, r#"{"as_float":"Infinity"}"#),
            (r#"["NaN \" NaN", -Infinity, NaN, -1]"#, r#"["NaN \" NaN","-Infinity","NaN",-1]"#),
        ] {
            let text = format!(r#"{{"x": {old}}}"#);
            let made = String::from_utf8(upgraded(text.as_bytes()).expect("JSON")).expect("text");
            assert_eq!(made, format!(r#"{{"schema_version":{{"major":8,"minor":0}},"x":{new}}}"#), "{old}");
        }
    }

    #[test]
    fn the_dialect_was_one_name() {
        let made = upgraded(br#"{"dialect": "EDGE"}"#).expect("JSON");
        assert!(String::from_utf8_lossy(&made).contains(r#""verifiers":["EDGE"]"#));
        let made = upgraded(br#"{"dialect": "", "verifiers": ["ATEN"]}"#).expect("JSON");
        assert!(String::from_utf8_lossy(&made).contains(r#""verifiers":["ATEN"]"#));
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [&b"{"[..], b"\xff", b"{\"a\": Inf}", b""] {
            assert_eq!(upgraded(text).expect_err("no JSON").kind, ReadErrorKind::Syntax);
        }
    }
}
