//! What a check of a model finds.
use super::Sizes;
use super::declaration::{Declaration, Declared};
use super::shapes::Shapes;
use super::ways::OTHER_WAY;
use crate::shape::Dtype;
use serde_json::Value as Json;

/// The reason why a condition is left to run time.
pub const DATA_DECIDE: &str = "data decide it";
/// The same where those break it with which sizes are tried.
pub const EVAL_DATA_BREAK: &str =
    "it is left to run time, and the values that `eval` takes break it at some sizes";

/// The outcome of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every declared input is accepted, and outputs are as declared.
    #[default]
    Ok,
    /// Something stays open.
    Unknown,
    /// A declared input is refused, or an output is not as declared.
    Violated,
}

/// A condition under which the model runs.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// The condition on the sizes of inputs.
    pub expr: String,
    /// The same in the names that the model has, as Python.
    pub shown: String,
    /// The node that needs it.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// The condition of the operator's specification.
    pub because: String,
    /// Whether it is a condition on the sizes of inputs, and not only the name of one.
    pub on_sizes: bool,
    /// Whether it bounds sizes, which an ONNX file cannot declare.
    pub is_bound: bool,
}

/// Elements of all inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Those of `eval`: 1, 0.5, true and "a".
    Usual,
    /// 0 and false.
    Zeros,
}

impl Data {
    /// The elements of a type, unless these are the same as usual.
    pub fn element(self, dtype: Dtype) -> Option<Json> {
        match self {
            _ if dtype == Dtype::Bool => Some(Json::from(self == Data::Usual)),
            Data::Usual if dtype.is_float() => Some(Json::from(0.5)),
            _ if dtype.is_float() || dtype.is_integer() => Some(Json::from(i64::from(self == Data::Usual))),
            _ => None,
        }
    }
}

/// A condition that the declaration does not imply.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The condition.
    pub condition: Condition,
    /// Sizes that the model declares and refuses, by input.
    pub inputs: Sizes,
    /// The elements with which it refuses them, where it accepts them with others.
    pub data: Option<Data>,
    /// What the node says of them.
    pub message: String,
    /// Whether it follows from the declaration and the other violated conditions that are no consequences.
    pub follows: bool,
    /// Of a violation that needs its elements, sizes that the model accepts, with the elements at which it does: the
    /// same ones where such sizes were found.
    pub works: Option<(Sizes, Data)>,
}

/// An output that is not as declared.
#[derive(Debug, Clone)]
pub struct WrongOutput {
    /// The output.
    pub output: String,
    /// What its declaration should say.
    pub right: Declared,
    /// What is declared.
    pub declared: String,
    /// What the model makes.
    pub derived: String,
    /// Sizes of inputs at which both differ.
    pub inputs: Sizes,
    /// The elements with which they differ, where they need not with others.
    pub data: Option<Data>,
}

/// What a check finds.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The outcome.
    pub verdict: Verdict,
    /// The shapes of the model's values.
    pub shapes: Shapes,
    /// The conditions that the declaration implies.
    pub proved: Vec<Condition>,
    /// The conditions under which the model runs, in the order of its nodes.
    pub conditions: Vec<Condition>,
    /// The node that refuses sizes at which all of these conditions hold, if one was found.
    pub refuses: Option<String>,
    /// The node that refuses its operands whatever the sizes are, with what it says of them: the model runs at no size.
    pub runs_nowhere: Option<(String, String)>,
    /// The sizes of the example, where the model accepts them.
    pub works: Option<Sizes>,
    /// Declarations and specs under which the model is right, where such were found, the best first.
    pub fixes: Vec<Fix>,
    /// Conditions that do not follow from what the model declares.
    pub violations: Vec<Violation>,
    /// Outputs that are not as declared.
    pub wrong_outputs: Vec<WrongOutput>,
    /// Conditions that stay open, with the reason.
    pub undecided: Vec<(Condition, String)>,
    /// Nodes whose results are not known, with the reason.
    pub unknown: Vec<(String, String, String)>,
    /// Nodes of which the operands broadcast in more ways than the conditions say: the example decides which.
    pub by_example: Vec<String>,
    /// Conditions that the values of inputs decide when the model runs.
    pub run_time: Vec<LeftToRunTime>,
    /// Conditions that are assumed: up to sizes that no one has, floats count exactly.
    pub precise: Vec<Condition>,
    /// The conditions that the file states, which are not assumed, and whether the model needs them.
    pub stated: Vec<(String, Stated)>,
    /// Whether the conditions of the model follow from those that the file states; `None` if it states none.
    pub suffices: Option<bool>,
}

/// A condition that the values of inputs decide when the model runs.
#[derive(Debug, Clone)]
pub struct LeftToRunTime {
    /// The condition, as a sentence.
    pub condition: Condition,
    /// The inputs whose values decide it; none where the file has the values.
    pub inputs: Vec<String>,
}

impl Findings {
    /// Whether the model is known to run wherever all conditions hold.
    pub fn is_complete(&self) -> bool {
        self.are_sizes_complete() && self.run_time.is_empty()
    }

    /// Whether the model is known to run wherever all conditions hold, with values that suit its operators.
    pub fn are_sizes_complete(&self) -> bool {
        let is_closed = |(_, reason): &(Condition, String)| {
            ![DATA_DECIDE, EVAL_DATA_BREAK, OTHER_WAY].contains(&reason.as_str())
        };
        self.refuses.is_none() && self.unknown.is_empty() && self.undecided.iter().all(is_closed)
    }
}

/// What is known of a condition that a file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// It follows from the conditions under which the model runs.
    Needed,
    /// The model runs also where it does not hold.
    NotNeeded,
    /// It is not known whether it follows, or it does not read as a condition on the model's sizes.
    Unknown,
}

/// Whether a fix rejects sizes at which the model runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejects {
    /// It is not known to reject any.
    Nothing,
    /// It may, and no such sizes were found.
    Perhaps,
    /// It rejects these, at which the model runs.
    Sizes(Sizes),
}

/// Other declarations of inputs and outputs, or another spec, under which a check of the model comes out ok.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// What inputs and outputs are to be declared as.
    pub changes: Vec<Declaration>,
    /// The spec, if that is what changes, of the model with these changes.
    pub spec: Option<Json>,
    /// What that model allows, as a spec.
    pub before: Option<Json>,
    /// Whether it rejects sizes at which the model runs.
    pub rejects: Rejects,
    /// Whether a check with it comes out ok; else only what no declaration settles stays open.
    pub is_proved: bool,
}
