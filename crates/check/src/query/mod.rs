//! Questions as JSON objects and their answers, the same for the command line and the service.
//!
//! A request is one object; its answer has the request's `id` and the fields of the answer, or `error`.
pub mod argument;
pub mod bounds;
pub mod entail;
mod environment;
pub mod eval;
pub mod infer;
mod infix;
pub mod minimize;
mod premises;
pub mod proof;
mod refusal;
pub mod simplify;

pub use environment::{Ask, Capacity, Environment};
pub use refusal::{Refusal, only, parse_line, reply};

/// What was tried, as JSON: each rung of the ladder and its outcome.
pub fn attempts(attempts: &[sizewise_solve::Attempt]) -> serde_json::Value {
    attempts.iter().map(|a| serde_json::json!({"rung": a.rung.name(), "outcome": a.outcome})).collect()
}

/// The fields of a request or an answer.
pub type Fields = serde_json::Map<String, serde_json::Value>;

/// Adds what was tried to an answer, if that was recorded.
fn explain(reply: &mut Fields, trace: &sizewise_solve::Trace) {
    if let Some(tried) = trace.attempts() {
        reply.insert("explain".into(), attempts(tried));
    }
}
