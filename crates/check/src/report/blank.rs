//! Reports and conditions of which nothing is known yet.
use super::model::{
    Assumed, Cause, ConditionKind, GuardReport, GuardVerdict, Outcome, ProgramInfo, Report, SCHEMA_VERSION,
    Tool, Traced,
};
use indexmap::IndexMap;

impl Report {
    /// Whether it has a diagnostic with this code.
    pub(crate) fn has(&self, code: &str) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.code == code)
    }

    /// A report without findings, of which the verdict is `ok`.
    pub fn new(tool: Tool, program: ProgramInfo, assumed: Assumed) -> Report {
        Report {
            schema_version: SCHEMA_VERSION,
            tool,
            program,
            verdict: Outcome::Ok,
            assumed,
            assumed_too: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            symbols: IndexMap::new(),
            guards: Vec::new(),
            minimal_guards: Vec::new(),
            mismatches: Vec::new(),
            unsupported: Vec::new(),
            dimensions: Vec::new(),
            fixes: Vec::new(),
            help: Vec::new(),
            runtime_asserts: Vec::new(),
            ledger: Vec::new(),
            diagnostics: Vec::new(),
            costs: None,
            needs: None,
            timings: IndexMap::new(),
        }
    }
}

impl GuardReport {
    /// A condition with a verdict, of which nothing else is known yet.
    pub fn new(expr: String, kind: ConditionKind, verdict: GuardVerdict) -> GuardReport {
        GuardReport {
            shown: expr.clone(),
            expr,
            kind,
            verdict,
            node: None,
            op: None,
            location: None,
            decided_by: None,
            because: Vec::new(),
            witness: None,
            inputs: None,
            values: None,
            clause: None,
            says: None,
            code: None,
            consequence: None,
            reason: None,
            cause: Cause::Operator,
            excludes: None,
            follows: false,
            traced: Traced::Needed,
            more_nodes: 0,
            file: None,
            line: None,
            module: None,
            stack: Vec::new(),
            works: None,
            works_values: None,
            settled_by: None,
            origin: None,
            undeclarable: false,
            never: false,
            far: false,
            left_static: None,
            relation: None,
            unneeded: false,
            beside: None,
            recorded: None,
        }
    }
}
