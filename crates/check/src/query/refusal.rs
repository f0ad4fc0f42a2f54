//! Why a request has no answer, and how an answer is put together.
use super::Fields;
use serde_json::{Value, json};
use sizewise_env::Clause;
use sizewise_ir::keys;

/// Why a request has no answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// `invalid`, `unsupported` or `data_dependent`.
    pub kind: &'static str,
    /// What is wrong.
    pub message: String,
    /// The clause of the operator that is violated, if any.
    pub clause: Option<Clause>,
    /// Whether the request is malformed; otherwise PyTorch would refuse it, too.
    pub malformed: bool,
    /// Where in the request: `given[2]`, `symbols.s0`.
    pub field: Option<String>,
    /// Lines to follow the message: the text that is no expression, with a caret below the place.
    pub excerpt: String,
}

impl Refusal {
    /// A request that cannot be understood.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal { malformed: true, ..Refusal::no_result("invalid", message) }
    }

    /// Whether this is an answer (PyTorch would raise an error, or the operator is unknown) rather than a malformed
    /// request or a failure.
    pub fn is_answer(&self) -> bool {
        !self.malformed && matches!(self.kind, "invalid" | "unsupported" | "data_dependent")
    }

    /// The same, at this place of the request; the innermost place wins.
    #[must_use]
    pub fn at(mut self, field: impl FnOnce() -> String) -> Refusal {
        self.field.get_or_insert_with(field);
        self
    }

    /// A request that is understood and has no result.
    pub fn no_result(kind: &'static str, message: impl Into<String>) -> Refusal {
        let message = message.into();
        Refusal { kind, message, clause: None, malformed: false, field: None, excerpt: String::new() }
    }
}

/// The whole answer: the request's `id`, then the fields of the result or `error`.
pub fn reply(id: Option<Value>, result: Result<Fields, Refusal>) -> Fields {
    let mut reply = Fields::new();
    reply.insert("id".into(), id.unwrap_or(Value::Null));
    match result {
        Ok(fields) => reply.extend(fields),
        Err(refusal) => {
            let mut error = json!({"kind": refusal.kind, "message": refusal.message});
            if let Some(clause) = refusal.clause {
                error["clause"] = clause.name().into();
            }
            reply.insert("error".into(), error);
        }
    }
    reply
}

/// Refuses unknown fields.
///
/// # Errors
/// For the first field that is not `known`; the message names the nearest that is.
pub fn only(fields: &Fields, known: &[&str]) -> Result<(), Refusal> {
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(field) => Err(Refusal::invalid(keys::unknown(field, known)).at(|| field.clone())),
    }
}

/// A request from the text of a line.
///
/// # Errors
/// When the text is not that of a JSON object, or a key is there twice.
pub fn parse_line(line: &[u8]) -> Result<Fields, Refusal> {
    keys::unrepeated(line).map_err(Refusal::invalid)?;
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(request)) => Ok(request),
        Ok(_) => Err(Refusal::invalid("expected a JSON object on one line")),
        Err(error) => Err(Refusal::invalid(format!("not JSON: {error}"))),
    }
}
