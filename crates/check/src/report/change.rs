//! What to change, as data: fixes, and the dimensions that they change.
use serde::Serialize;
use serde_json::Value as Json;

/// A change that makes the spec imply every condition.
#[derive(Clone, Debug, Serialize)]
pub struct Fix {
    /// The change as Python.
    pub text: String,
    /// The changed spec.
    pub spec: Option<Json>,
    /// The changed spec as Python: a file for `torch.export.export`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whether a check of the changed spec came out ok. Else only operators without a shape function leave it open.
    pub proved: bool,
    /// What the change costs, if anything.
    pub cost: Option<String>,
    /// Whether it rejects shapes that work. Null if that is not known, or left to the exported module.
    pub loses: Option<bool>,
    /// What becomes of each dimension that it changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Changed>,
    /// What an export with the changed spec needs besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Conditions over the variables of a ShapesSpec, as Python: assumed beside what the spec says, they are the fix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// What inputs and outputs of an ONNX model are to be declared as: `{"input": "x", "dim": 0, "size": "batch"}`. The
    /// spec, if there is one, is then that of the model with these declarations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub declarations: Vec<Json>,
}

/// A dimension that a fix changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Changed {
    /// The name of the dimension, or where it stands.
    pub dim: String,
    /// Where it stands: `x.shape[0]`; null for a named dimension, which may stand in several places.
    pub source: Option<String>,
    /// What it may be, in words: `75..4000`, `a multiple of 2, 4..64`.
    pub needs: String,
}

/// A dimension that is too free: a row of the table that a report begins with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DimensionReport {
    /// The name of the dimension, or where it stands.
    pub dim: String,
    /// Where it stands, or first stands: `x.shape[0]`.
    pub source: Option<String>,
    /// What is allowed now: `1..4000`.
    pub allows: String,
    /// What the first fix makes of it.
    pub needs: String,
    /// The places that need it: lines of code, or nodes.
    pub from: Vec<String>,
}

/// A size that a spec computes from a dimension in another way than the program needs it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WrongRelation {
    /// The size: `y.shape[0]`.
    pub size: String,
    /// What the spec makes it: `d + 4`.
    pub says: String,
    /// What the program needs it to be: `2*d`.
    pub needs: String,
}
