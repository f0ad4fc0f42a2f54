//! The report as data. Field order is the order of the JSON.
use super::change::{DimensionReport, Fix, WrongRelation};
use super::costs::CostReport;
use super::needs::Needs;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value as Json;

/// The version of the report's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// The verdict on a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The program runs on every allowed input.
    Ok,
    /// Something is neither proved nor refuted.
    Unknown,
    /// An allowed input breaks a condition.
    Violated,
    /// The spec does not fit the program.
    Invalid,
}

/// The verdict on one condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GuardVerdict {
    /// It holds for every allowed input.
    Implied,
    /// Some allowed input breaks it.
    Violated,
    /// Neither was shown.
    Unknown,
}

/// The kind of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConditionKind {
    /// A guard that the program was traced under, or a branch that an operator takes.
    Guard,
    /// An operator accepts its operands only so.
    Precondition,
    /// The program asserts it.
    Assertion,
    /// The program records it of its inputs, or of a value's size.
    Contract,
    /// A size would not fit in 64 bits.
    Overflow,
    /// Unless it holds, no data satisfies the assertions on data-dependent sizes.
    Runtime,
}

/// What a check assumes of the inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Assumed {
    /// A spec.
    Spec,
    /// The program's own ranges and guards.
    Contract,
    /// The ranges and assertions of a program without guards, which are its contract.
    #[serde(rename = "contract")]
    Assertions,
    /// What an ONNX model declares: its static sizes, equal names for equal sizes, and sizes of at least 1.
    Declaration,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that wrote the report.
    pub tool: Tool,
    /// What was checked.
    pub program: ProgramInfo,
    /// The answer.
    pub verdict: Outcome,
    /// What was assumed of the inputs.
    pub assumed: Assumed,
    /// What was assumed beside that: `x has at most 2^63 - 1 elements`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed_too: Vec<String>,
    /// The user's inputs.
    pub inputs: Vec<TensorInfo>,
    /// What the user gets.
    pub outputs: Vec<TensorInfo>,
    /// The symbols, by name.
    pub symbols: IndexMap<String, SymbolReport>,
    /// The conditions, with the verdict on each.
    pub guards: Vec<GuardReport>,
    /// What the program needs of its inputs beyond their ranges, without conditions that were seen to follow
    /// from the others.
    pub minimal_guards: Vec<String>,
    /// Values whose recorded form is wrong.
    pub mismatches: Vec<MismatchReport>,
    /// Nodes whose operator has no kernel: their records are trusted.
    pub unsupported: Vec<UnsupportedReport>,
    /// The dimensions that the first fix changes: what is allowed, what is needed, and where that comes from.
    pub dimensions: Vec<DimensionReport>,
    /// Fixes. Each is proved to work, or proved but for the operators that have no shape function.
    pub fixes: Vec<Fix>,
    /// What else can be done, and why there is no fix where there is none.
    pub help: Vec<String>,
    /// Conditions that can only be checked at run time.
    pub runtime_asserts: Vec<AssertReport>,
    /// The assumptions that the program's shapes depend on, and what enforces each.
    pub ledger: Vec<LedgerEntry>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// What a run takes; in pages and with `--all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostReport>,
    /// Of an ONNX model, what it needs beyond its declaration.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// Seconds by phase; empty unless asked for, as they differ from run to run.
    pub timings: IndexMap<String, f64>,
}

/// Name and version of this program.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
}

/// The program that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramInfo {
    /// The file.
    pub path: String,
    /// The hash of its bytes, in hexadecimal.
    pub sha256: String,
    /// How many nodes it has, those of subgraphs included.
    pub nodes: usize,
    /// Its dialect.
    pub dialect: String,
    /// The version of torch that wrote it; empty for an ONNX model.
    pub torch_version: String,
    /// Of an ONNX model, the versions of its operator sets and what made it: `opset 17, made by pytorch 2.15.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onnx: Option<String>,
}

impl ProgramInfo {
    /// What kind of program it is, in words: `training IR, torch 2.15.0` or `ONNX, opset 17, made by pytorch`.
    pub fn kind(&self) -> String {
        match &self.onnx {
            Some(versions) => format!("ONNX, {versions}"),
            None if self.torch_version.is_empty() => format!("{} IR", self.dialect),
            None => format!("{} IR, torch {}", self.dialect, self.torch_version),
        }
    }
}

/// An input or output.
#[derive(Clone, Debug, Serialize)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Its sizes: integers or expressions; null for what is no tensor.
    pub shape: Option<Vec<Json>>,
    /// Its dtype, or what kind of value it is.
    pub dtype: String,
    /// The value of a constant input, the only one that it may have; of an output that is a number, the number or an
    /// expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// The greatest sizes; null where unbounded. Outputs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_bound: Option<Vec<Option<Json>>>,
}

/// A symbol.
#[derive(Clone, Debug, Serialize)]
pub struct SymbolReport {
    /// The least value.
    pub min: Option<Json>,
    /// The greatest value.
    pub max: Option<Json>,
    /// The value at the traced example.
    pub hint: Option<Json>,
    /// Where it comes from: `x.shape[0]`.
    pub source: Option<String>,
    /// The named dimension that it is.
    pub dim: Option<String>,
}

/// A condition with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct GuardReport {
    /// The condition, in the symbols of the report.
    pub expr: String,
    /// Where it comes from.
    pub kind: ConditionKind,
    /// The verdict.
    pub verdict: GuardVerdict,
    /// The node that needs it.
    pub node: Option<String>,
    /// That node's operator.
    pub op: Option<String>,
    /// The user's line.
    pub location: Option<String>,
    /// The rung of the ladder that decided.
    pub decided_by: Option<String>,
    /// The facts that the decision rests on.
    pub because: Vec<String>,
    /// An assignment of the symbols that breaks it.
    pub witness: Option<IndexMap<String, Json>>,
    /// The input shapes at the witness.
    pub inputs: Option<IndexMap<String, Json>>,
    /// What every element of an input is at the witness, if others need not break the condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<IndexMap<String, Json>>,
    /// The condition in the user's own names.
    pub shown: String,
    /// The condition as the exported module checks it, in the user's own names, where `shown` says it more simply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// The clause of the operator.
    pub clause: Option<String>,
    /// What the clause says, where it is one of a model's operator.
    #[serde(skip)]
    pub says: Option<&'static str>,
    /// The text of the user's line.
    pub code: Option<String>,
    /// What happens to the inputs of the witness.
    pub consequence: Option<String>,
    /// Why it is undecided.
    pub reason: Option<String>,
    /// What gave rise to it.
    pub cause: Cause,
    /// Which small sizes it excludes, if it is on one dimension: `0, 1`.
    pub excludes: Option<String>,
    /// Whether it follows from the assumptions and other violated conditions, as they are shown.
    pub follows: bool,
    /// What the node and the line have to do with it.
    pub traced: Traced,
    /// How many more nodes need it.
    pub more_nodes: usize,
    /// The file of the user's line, as the program records it.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The module around the node: `encoder.layers.0.attention`.
    pub module: Option<String>,
    /// The calls on the way to the line, innermost first; torch's own are left out.
    pub stack: Vec<Frame>,
    /// The sizes nearest to the counterexample at which the program runs.
    pub works: Option<IndexMap<String, Json>>,
    /// What every element of an input is there, if what breaks the condition needs `values`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub works_values: Option<IndexMap<String, Json>>,
    /// What would settle an undecided condition.
    pub settled_by: Option<String>,
    /// What needs a condition that is not implied, or why it was recorded, in words: `needed by view = ...`.
    pub origin: Option<String>,
    /// Whether it is a bound that an ONNX file cannot declare; never of a check with a spec.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undeclarable: bool,
    /// Whether no allowed size satisfies it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never: bool,
    /// Whether only sizes above 2^40 break it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub far: bool,
    /// The size that the spec leaves static, if that breaks the condition: `y.shape[1]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_static: Option<String>,
    /// The relation of the spec that is wrong, if that alone breaks the condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<WrongRelation>,
    /// Whether every operator takes the inputs of the witness: only what the exported module checks itself refuses them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unneeded: bool,
    /// What an operator needs that this condition implies, where only the export keeps the condition itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

/// What a condition's node and line have to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Traced {
    /// The node needs it.
    Needed,
    /// The condition was recorded at export; it follows from what the node needs.
    Forced,
    /// The condition was recorded at export; the node needs less, and fails at the counterexample too.
    Fails,
    /// torch asked for it at this line while it traced the program.
    Asked,
    /// torch compares the end of the slice that the node takes with the size of what it cuts, and the export keeps the answer.
    Compared,
    /// No node needs it; at this line the sizes that it speaks of first exist.
    First,
    /// The line is not known.
    Nowhere,
}

/// A call on the way to a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Frame {
    /// The file, as the program records it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The line's text.
    pub code: String,
    /// Whether the file is an installed package's.
    pub library: bool,
}

/// What gives rise to a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A branch taken when the program was traced: in the user's code or in an operator's.
    Branch,
    /// torch's check of strides asked for it.
    Layout,
    /// The trace excluded a size of 0 or 1, though nothing may need that.
    Specialisation,
    /// An operator needs it.
    Operator,
    /// The program asserts it.
    Assertion,
    /// The program records it of a size.
    Record,
    /// A guard of the program divides by it.
    Divisor,
    /// Sizes have 64 bits.
    Overflow,
    /// Otherwise no data passes the assertions.
    Data,
    /// An ONNX model declares the size as a number.
    Declared,
    /// The spec leaves another size static that the program takes equal to it.
    Forgotten,
}

/// A value whose recorded form is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct MismatchReport {
    /// The node.
    pub node: String,
    /// The value, where the node has several.
    pub value: String,
    /// What is recorded.
    pub recorded: String,
    /// What is derived.
    pub derived: String,
    /// Input shapes at which both differ.
    pub inputs: Option<IndexMap<String, Json>>,
    /// What every element of an input is then, if both need not differ with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<IndexMap<String, Json>>,
    /// The calls on the way to the node, innermost first; torch's own are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// A node whose operator has no kernel.
#[derive(Clone, Debug, Serialize)]
pub struct UnsupportedReport {
    /// The node.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// Why.
    pub reason: String,
    /// The calls on the way to the node, innermost first; torch's own are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

/// A condition on sizes known only at run time, or of an ONNX model on the values of its inputs.
#[derive(Clone, Debug, Serialize)]
pub struct AssertReport {
    /// The node after which it can be checked; of an ONNX model that which checks it.
    pub after_node: String,
    /// The operator of the node, of an ONNX model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The condition; of an ONNX model a sentence.
    pub expr: String,
    /// What it is for.
    pub message: String,
    /// The line that states it in the user's program; empty for an ONNX model.
    pub check: String,
    /// The inputs of an ONNX model whose values decide it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
}

impl AssertReport {
    /// Where it is checked, and by the values of which inputs.
    pub fn place(&self) -> String {
        let Some(op) = &self.op else { return format!("after {}", self.after_node) };
        let inputs = match self.inputs.as_slice() {
            [] => String::new(),
            [input] => format!("; {input} decides"),
            inputs => format!("; {} decide", inputs.join(", ")),
        };
        format!("at {} = {op}{inputs}", self.after_node)
    }
}

/// An assumption that the program's shapes depend on.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerEntry {
    /// The condition in the user's names.
    pub assumption: String,
    /// What enforces it.
    pub kept_by: Keeper,
    /// The node that enforces or needs it.
    pub by: Option<String>,
    /// Whether it follows from what is known without it.
    pub redundant: bool,
}

/// What enforces an assumption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keeper {
    /// A range that the exported module checks of its inputs.
    Range,
    /// A guard that the exported module checks of its inputs.
    Guard,
    /// Sizes 0 and 1 were specialized when the program was traced; the module takes them, and their conditions
    /// are proved without it.
    Policy,
    /// An assertion in the graph.
    Assertion,
    /// The operator itself, which refuses what breaks it.
    Operator,
    /// A proof from what is assumed.
    Proof,
    /// Nothing: the assertion was dropped.
    Nothing,
}

/// How serious a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The answer is affected.
    Error,
    /// The answer holds under a caveat.
    Warning,
    /// For information.
    Note,
}

/// A warning or a note.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    /// A stable code.
    pub code: String,
    /// How serious it is.
    pub level: Level,
    /// What it is.
    pub message: String,
    /// The node.
    pub node: Option<String>,
    /// The user's line.
    pub location: Option<String>,
    /// The calls on the way to the node, innermost first; torch's own are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<Frame>,
}

impl Diagnostic {
    /// One about the whole program.
    pub fn new(code: &str, level: Level, message: String) -> Diagnostic {
        Diagnostic { code: code.to_string(), level, message, node: None, location: None, stack: Vec::new() }
    }
}
