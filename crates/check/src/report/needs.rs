//! What a report says of an ONNX model beyond what it says of a program.
use serde::Serialize;

/// What an ONNX model needs of its inputs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Needs {
    /// The conditions under which the model runs, but for those that its declaration implies.
    pub conditions: Vec<Needed>,
    /// Whether the model is known to run wherever all of these conditions hold.
    pub conditions_complete: bool,
    /// The conditions that the file states for itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stated: Vec<StatedReport>,
    /// Whether the conditions of the model follow from those that the file states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_suffices: Option<bool>,
}

/// A condition under which an ONNX model runs.
#[derive(Clone, Debug, Serialize)]
pub struct Needed {
    /// The condition.
    pub expr: String,
    /// The node that needs it.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// The condition of the operator's specification.
    pub because: String,
}

/// A condition that an ONNX file states for itself.
#[derive(Clone, Debug, Serialize)]
pub struct StatedReport {
    /// The condition.
    pub expr: String,
    /// Whether the model needs it: `needed`, `not needed` or `unknown`.
    pub verdict: &'static str,
}
