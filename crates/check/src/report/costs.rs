//! What a report says of costs: what a run takes, and how large values get.
use serde::Serialize;
use serde_json::Value as Json;

/// What a run takes over all inputs that are allowed.
#[derive(Clone, Debug, Serialize)]
pub struct CostReport {
    /// Floating point operations.
    pub flops: Figure,
    /// The bytes of all that is made.
    pub activation_bytes: Figure,
    /// The most bytes that are live together, of what is made.
    pub peak_bytes: Figure,
    /// The values that get largest, the largest first.
    pub values: Vec<ValueCost>,
    /// What the figures leave out or guess; they are exact where this is empty.
    pub reasons: Vec<String>,
}

/// A figure at all sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// In the sizes of inputs: `2*x.shape[0]`; null where that is too long.
    pub expr: Option<String>,
    /// What it never exceeds; null where it has no bound, or none was found.
    pub max: Option<Json>,
}

/// How large a value gets.
#[derive(Clone, Debug, Serialize)]
pub struct ValueCost {
    /// Its name.
    pub value: String,
    /// The type of its elements.
    pub dtype: String,
    /// Its sizes, in those of inputs.
    pub shape: Vec<String>,
    /// Its bytes.
    pub bytes: Figure,
    /// Inputs at which it has the most bytes: `x=32,64`.
    pub at: Option<String>,
}
