//! The shapes of requests and answers, for the description of the API. Requests are read by the same code as the command line's.
#![allow(dead_code, reason = "these types describe; nothing is read into them")]
use serde_json::{Map, Value};
use utoipa::ToSchema;

type Object = Map<String, Value>;

/// A symbol's range.
#[derive(ToSchema)]
pub struct Range {
    /// The least value; none if missing.
    min: Option<i64>,
    /// The greatest value; none if missing.
    max: Option<i64>,
    /// A value that is known to occur.
    hint: Option<i64>,
}

/// Do ranges and assumptions imply a goal?
#[derive(ToSchema)]
pub struct EntailRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Symbols with their ranges.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Assumptions: expressions.
    #[schema(example = json!(["Eq(Mod(s0, 8), 0)"]))]
    given: Option<Vec<String>>,
    /// The goal: an expression.
    #[schema(example = "Eq(8*(s0//8), s0)")]
    goal: String,
}

/// The rungs of the ladder, and the verdict.
#[derive(ToSchema)]
pub struct EntailAnswer {
    /// The request's.
    id: Value,
    /// What was found.
    #[schema(pattern = "^(implied|refuted|inconsistent|unknown)$")]
    verdict: String,
    /// An assignment that breaks the goal, where it is refuted.
    witness: Option<Object>,
    /// The rung that decided.
    decided_by: String,
    /// What the proof used.
    because: Vec<String>,
    /// Nanoseconds of deciding.
    time_ns: u64,
    /// Nanoseconds of making the facts ready.
    setup_ns: u64,
    /// Why it is unknown.
    #[schema(nullable = false)]
    reason: Option<String>,
}

/// The smallest equal expression.
#[derive(ToSchema)]
pub struct SimplifyRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Symbols with their ranges.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Assumptions.
    given: Option<Vec<String>>,
    /// The expression.
    #[schema(example = "s0 + s0")]
    expr: String,
}

/// An expression.
#[derive(ToSchema)]
pub struct SimplifyAnswer {
    /// The request's.
    id: Value,
    /// The expression.
    expr: String,
}

/// The smallest equivalent set of guards.
#[derive(ToSchema)]
pub struct MinimizeRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Symbols with their ranges.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// The guards.
    #[schema(example = json!(["s0 >= 2", "s0 >= 1"]))]
    guards: Option<Vec<String>>,
}

/// A guard that was left out.
#[derive(ToSchema)]
pub struct Dropped {
    /// The guard.
    guard: String,
    /// What implies it.
    because: Vec<String>,
}

/// Guards.
#[derive(ToSchema)]
pub struct MinimizeAnswer {
    /// The request's.
    id: Value,
    /// Those that are left.
    guards: Vec<String>,
    /// Those that are not.
    dropped: Vec<Dropped>,
}

/// The bounds of an expression.
#[derive(ToSchema)]
pub struct BoundsRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Symbols with their ranges.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Assumptions.
    given: Option<Vec<String>>,
    /// The expression.
    #[schema(example = "s0*s1")]
    expr: String,
}

/// Bounds.
#[derive(ToSchema)]
pub struct BoundsAnswer {
    /// The request's.
    id: Value,
    /// The least value; an integer of any size, null if there is none.
    min: Value,
    /// The greatest value; an integer of any size, null if there is none.
    max: Value,
    /// Where it is taken.
    min_at: Option<Object>,
    /// Where it is taken.
    max_at: Option<Object>,
    /// Whether both are taken.
    exact: bool,
}

/// An operator call.
#[derive(ToSchema)]
pub struct InferRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// The operator's overload.
    #[schema(example = "aten.cat.default")]
    op: String,
    /// Positional arguments: objects of one key such as `tensor` or `int`.
    args: Option<Vec<Object>>,
    /// Keyword arguments.
    kwargs: Option<std::collections::BTreeMap<String, Object>>,
    /// Symbols with their ranges and hints.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
}

/// Why PyTorch refuses a call, or why it is not known.
#[derive(ToSchema)]
pub struct CallError {
    /// `invalid`, `unsupported` or `data_dependent`.
    kind: String,
    /// What is wrong.
    message: String,
    /// The operator's clause.
    #[schema(nullable = false)]
    clause: Option<String>,
}

/// What a call returns, or `error`.
#[derive(ToSchema)]
pub struct InferAnswer {
    /// The request's.
    id: Value,
    /// The results.
    #[schema(nullable = false)]
    returns: Option<Vec<Object>>,
    /// Conditions that the result depends on.
    #[schema(nullable = false)]
    guards: Option<Vec<String>>,
    /// Conditions that only running can check.
    #[schema(nullable = false)]
    asserts: Option<Vec<String>>,
    /// Unbacked symbols.
    #[schema(nullable = false)]
    symbols: Option<Object>,
    /// Why there is no result.
    #[schema(nullable = false)]
    error: Option<CallError>,
}

/// A program with a spec.
#[derive(ToSchema)]
pub struct CheckForm {
    /// The program: a .pt2 file.
    #[schema(value_type = String, format = Binary)]
    program: Vec<u8>,
    /// The spec: JSON. Without, the program's own contract is assumed.
    spec: Option<String>,
}

/// A report; see the documentation of `sizewise check --format json`.
#[derive(ToSchema)]
pub struct ReportAnswer {
    /// The version of the form. SARIF has `version` instead, the view has the report inside.
    #[schema(nullable = false)]
    schema_version: Option<u32>,
    /// `ok`, `violated`, `unknown` or `invalid`.
    #[schema(nullable = false)]
    verdict: Option<String>,
}

/// A program with input shapes.
#[derive(ToSchema)]
pub struct EvalForm {
    /// The program: a .pt2 file.
    #[schema(value_type = String, format = Binary)]
    program: Vec<u8>,
    /// `{"shapes":{"x":[6,8]}}`: one request.
    request: Option<String>,
    /// Several requests, one a line.
    requests: Option<String>,
}

/// What happens to inputs.
#[derive(ToSchema)]
pub struct EvalAnswer {
    /// The request's.
    id: Value,
    /// Whether they are taken.
    ok: bool,
    /// The shapes of the outputs.
    #[schema(nullable = false)]
    outputs: Option<Vec<Value>>,
    /// The inputs that were not given and are as they were traced.
    #[schema(nullable = false)]
    as_traced: Option<Vec<String>>,
    /// Why they are refused.
    #[schema(nullable = false)]
    error: Option<String>,
    /// The node that refuses them.
    node: Option<String>,
    /// The condition that they break.
    expr: Option<String>,
}

/// Symbols and facts.
#[derive(ToSchema)]
pub struct Facts {
    /// Symbols with their ranges. Declared again, a symbol has the values common to both ranges.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Facts: expressions.
    #[schema(example = json!(["Eq(Mod(s0, 8), 0)"]))]
    given: Option<Vec<String>>,
}

/// A new environment.
#[derive(ToSchema)]
pub struct EnvMade {
    /// Its name.
    env: String,
    /// Seconds that it lives without being used.
    idle_seconds: u64,
}

/// What an environment holds.
#[derive(ToSchema)]
pub struct EnvShown {
    /// Its name.
    env: String,
    /// Its symbols.
    symbols: Object,
    /// Its facts.
    given: Vec<String>,
}

/// How much an environment holds.
#[derive(ToSchema)]
pub struct Added {
    /// Symbols.
    symbols: usize,
    /// Facts.
    facts: usize,
}

/// A question to an environment. `symbols` and `given` hold for this question only.
#[derive(ToSchema)]
pub struct EnvEntailRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Further symbols.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Further assumptions.
    given: Option<Vec<String>>,
    /// The goal.
    goal: String,
}

/// A question to an environment. `symbols` and `given` hold for this question only.
#[derive(ToSchema)]
pub struct EnvBoundsRequest {
    /// Comes back with the answer.
    id: Option<Value>,
    /// Further symbols.
    symbols: Option<std::collections::BTreeMap<String, Range>>,
    /// Further assumptions.
    given: Option<Vec<String>>,
    /// The expression.
    expr: String,
}

/// Whether the service is ready.
#[derive(ToSchema)]
pub struct Ready {
    /// `ready`, `draining` or `out of memory`.
    status: String,
    /// Requests accepted and not answered.
    in_flight: usize,
}

/// A problem (RFC 9457).
#[derive(ToSchema)]
pub struct ProblemDetails {
    /// Where the code is explained.
    r#type: String,
    /// What the code means.
    title: String,
    /// The HTTP status.
    status: u16,
    /// A stable code.
    code: String,
    /// What it is this time.
    detail: String,
    /// Where it is: field, parameter, part, entry, path, line, column, node.
    #[schema(nullable = false)]
    place: Option<Object>,
    /// What was expected.
    #[schema(nullable = false)]
    expected: Option<String>,
    /// The request's id, as in the log.
    request_id: String,
}
