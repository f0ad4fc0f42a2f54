//! The report of a check.
use super::fixes::Fix;
use super::{Check, DATA_DECIDE, EVAL_DATA_BREAK, GuardReport, Outcome, Violation, checked, decide};
use crate::check::changed::{Entry, changed, changed_entries};
use crate::check::declaration::Declaration;
use crate::check::limits::Limits;
use crate::check::shapes::{info, shapes_of};
use crate::check::ways::OTHER_WAY;
use crate::check::{SizeSymbol, Sizes};
use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use sizewise_check::check::{declared_ranges, hash, minimal, of_conditions, to_be_pasted, tool};
use sizewise_check::report::{
    self, Assumed, Diagnostic, Level, Needs, ProgramInfo, Report, StatedReport, SymbolReport, dimensions,
    every_element, origin,
};
use sizewise_check::spec::Spec;
use sizewise_env::GuardKind;
use sizewise_expr::Symbol;
use sizewise_expr::text::print;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::{WalkStep, inputs};
use sizewise_solve::Budget;

/// The most conditions that a sentence names.
const MAX_NAMED: usize = 3;

/// Checks a model that was read from these bytes, under a spec, or under what it declares where there is none. `name`
/// is that of the file; each condition has the budget.
pub fn report(model: &Model, name: &str, bytes: &[u8], spec: Option<&Spec>, budget: &Budget) -> Report {
    let program = ProgramInfo {
        path: name.to_owned(),
        sha256: hash(bytes),
        nodes: model.graph.node.len(),
        dialect: "onnx".to_owned(),
        torch_version: String::new(),
        onnx: Some(versions(model)),
    };
    let assumed = if spec.is_some() { Assumed::Spec } else { Assumed::Declaration };
    let report = Report::new(tool(), program, assumed);
    match spec.map(|spec| Limits::new(model, spec)).transpose() {
        Ok(limits) => checked(model, limits.as_ref(), budget).written_into(report),
        Err(error) => {
            let wrong = Diagnostic::new("spec-does-not-fit", Level::Error, error.to_string());
            Report { verdict: Outcome::Invalid, diagnostics: vec![wrong], ..report }
        }
    }
}

/// `opset 17, com.microsoft 1, made by pytorch 2.15.0`.
fn versions(model: &Model) -> String {
    let mut imports: Vec<(&String, &i64)> = model.imports.iter().collect();
    imports.sort_unstable();
    let of = |(domain, version): (&String, &i64)| match domain.as_str() {
        "" => format!("opset {version}"),
        domain => format!("{domain} {version}"),
    };
    let mut text = imports.into_iter().map(of).collect::<Vec<_>>().join(", ");
    if !model.producer.is_empty() {
        text += &format!(", made by {}", model.producer);
    }
    text
}

impl Check<'_> {
    fn written_into(mut self, report: Report) -> Report {
        self.find_working();
        let nowhere = self.runs_nowhere();
        let fixes = if self.verdict == Outcome::Violated { self.fixes() } else { Vec::new() };
        self.value_info();
        let (stated, stated_suffices) = self.contract();
        let help = self.help(nowhere.is_some(), fixes.is_empty());
        let conditions_complete =
            self.are_sizes_complete() && self.run_time.is_empty() && self.verdict != Outcome::Invalid;
        let diagnostics = std::mem::take(&mut self.diagnostics)
            .into_iter()
            .chain(stated_notes(&stated, stated_suffices))
            .chain(self.precision_note())
            .chain(self.incomplete())
            .chain(self.broadcast_note())
            .chain(nowhere)
            .collect();
        let shapes = shapes_of(self.model, &self.symbolic, &mut self.walk);
        let value = |name: &str| info(name, shapes.values.get(name));
        let violated = self.violations.into_iter().map(|violation| violation.guard);
        let guards: Vec<GuardReport> =
            violated.chain(self.undecided).map(with_origin).chain(self.proved).collect();
        let (pool, facts) = self.symbolic.env.facts();
        let minimal = minimal(pool, &declared_ranges(facts), &self.required);
        let minimal_guards = minimal.into_iter().map(|e| print::expression(pool, e)).collect();
        let ledger = of_conditions(&guards).collect();
        let report = Report {
            verdict: self.verdict,
            inputs: inputs(self.model).iter().map(|input| value(&input.name)).collect(),
            outputs: self.model.graph.output.iter().map(|output| value(&output.name)).collect(),
            symbols: shapes.symbols.iter().map(symbol).collect(),
            guards,
            minimal_guards,
            ledger,
            mismatches: self.wrong_outputs.into_iter().map(|wrong| wrong.report).collect(),
            unsupported: self.unsupported,
            fixes: fixes.iter().map(|each| fix(each, self.model, self.symbolic.has_spec)).collect(),
            help,
            diagnostics,
            needs: Some(Needs { conditions: self.needed, conditions_complete, stated, stated_suffices }),
            runtime_asserts: self.run_time,
            ..report
        };
        Report { dimensions: dimensions(&report), ..report }
    }

    /// The values of symbols that sizes of inputs give.
    pub(super) fn named_sizes(&self, inputs: &Sizes) -> IndexMap<String, Json> {
        let value = |(_, named): &(Symbol, SizeSymbol)| {
            let (input, dim) = named.source.as_ref()?;
            Some((named.name.clone(), Json::from(*inputs.get(input)?.get(*dim)?)))
        };
        self.symbolic.symbols.iter().filter_map(value).collect()
    }

    /// Whether the model is known to run wherever all conditions hold, with values that suit its operators.
    pub(super) fn are_sizes_complete(&self) -> bool {
        let is_closed = |guard: &GuardReport| {
            let reason = guard.reason.as_deref().unwrap_or_default();
            ![DATA_DECIDE, EVAL_DATA_BREAK, OTHER_WAY].contains(&reason)
        };
        self.refuses.is_none() && self.unsupported.is_empty() && self.undecided.iter().all(is_closed)
    }

    /// That a node refuses its operands whatever the sizes of the inputs are: what it refuses is no condition on sizes, and
    /// neither sizes nor data choose whether it runs.
    fn runs_nowhere(&self) -> Option<Diagnostic> {
        let chooses = self.walk.steps.iter().any(WalkStep::has_graphs)
            || self.walk.env.guards().iter().any(|guard| guard.kind == GuardKind::Branch)
            || !(self.by_example.is_empty() && self.wide.is_empty());
        let is_blind = |violation: &&Violation| violation.data.is_none() && violation.guard.expr == "False";
        let refuses = self.violations.iter().find(is_blind).filter(|_| !chooses && self.works.is_none())?;
        let any = if self.symbolic.has_spec { " that the spec allows" } else { "" };
        let (node, says) =
            (refuses.guard.node.clone().unwrap_or_default(), refuses.guard.consequence.as_deref());
        let says = says.and_then(|says| says.split_once(": ")).map_or("", |(_, says)| says);
        let message = format!(
            "the model runs at no size{any}: {node} refuses its operands whatever the sizes are ({says})"
        );
        Some(Diagnostic { node: Some(node), ..Diagnostic::new("nothing-works", Level::Note, message) })
    }

    /// What else can be done, where no declaration was found under which the model is right.
    fn help(&self, is_nowhere: bool, has_no_fix: bool) -> Vec<String> {
        let own: Vec<&Violation> =
            self.violations.iter().filter(|violation| !violation.guard.follows).collect();
        let has_spec = self.symbolic.has_spec;
        let mut help = Vec::new();
        if !own.is_empty() && has_no_fix {
            let more = if own.len() > MAX_NAMED { " and more" } else { "" };
            let named = own.iter().take(MAX_NAMED).map(|violation| match violation.guard.shown.as_str() {
                either if own.len() > 1 && either.contains(" or ") => format!("({either})"),
                shown => shown.to_owned(),
            });
            let named = named.collect::<Vec<_>>().join(" and ");
            help.push(match has_spec {
                true if is_nowhere => {
                    "no fix: the model refuses all that the spec allows; other sizes of the spec have to change"
                        .to_owned()
                }
                false if is_nowhere && own.iter().any(|violation| is_of_schema(&violation.guard)) => {
                    "no fix: the model itself is wrong, whatever its sizes are; export it again".to_owned()
                }
                false if is_nowhere => {
                    "no fix: the model itself is wrong; declare inputs of other sizes, or export it again"
                        .to_owned()
                }
                _ if own.iter().any(|violation| violation.condition.is_none()) => {
                    "no fix: a node refuses some sizes, and no condition is known that says which; `--spec` with the sizes that you use \
                     says whether these run"
                        .to_owned()
                }
                _ if self.contradict(&own) => format!("no fix: no size works: the model needs {named}{more}"),
                true => format!("no fix: no narrower spec was found; the model runs only where {named}{more}"),
                false => {
                    let what = "no declarations and no spec were found under which every input works";
                    format!("no fix: {what}; serve the model only where {named}{more}")
                }
            });
        }
        if !self.wrong_outputs.is_empty() && has_no_fix {
            help.push("declare the outputs as they are computed, or leave their sizes open".to_owned());
        }
        help
    }

    /// Whether no sizes meet all conditions.
    fn contradict(&self, violations: &[&Violation]) -> bool {
        let mut env = self.symbolic.env.clone();
        violations
            .iter()
            .filter_map(|violation| violation.condition)
            .for_each(|condition| env.assume(condition));
        let never = env.pool.bool(false);
        let (pool, facts) = env.facts();
        let verdict = decide(pool, facts, never, &self.budget).verdict;
        verdict.is_implied() || matches!(verdict, super::Decided::Inconsistent { .. })
    }

    /// That sizes are assumed to be such that floats count them exactly.
    fn precision_note(&self) -> Option<Diagnostic> {
        let shown: Vec<String> = self.precise.iter().map(|shown| format!("`{shown}`")).collect();
        let message = format!(
            "assumed: {}; the model counts sizes in floating point, which is exact up to there",
            shown.join(", ")
        );
        (!shown.is_empty()).then(|| Diagnostic::new("sizes-in-floats", Level::Note, message))
    }

    /// That conditions do not say all, where a model refuses sizes at which they hold.
    fn incomplete(&self) -> Option<Diagnostic> {
        let node = self.refuses.as_ref().filter(|_| !self.required.is_empty())?;
        let message =
            format!("the conditions are not complete: {node} refuses sizes at which all of them hold");
        Some(Diagnostic::new("conditions-incomplete", Level::Note, message))
    }

    /// That the example decides what other sizes may do, too.
    fn broadcast_note(&self) -> Option<Diagnostic> {
        let (node, rest) = self.by_example.split_first()?;
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let message = format!(
            "the conditions are those of the sizes that broadcast as in the example: a size of 1 may broadcast at \
             {node}{more} the other way, and the model may run where they do not hold"
        );
        Some(Diagnostic::new("broadcast-by-example", Level::Note, message))
    }
}

/// Whether a condition is on types, attributes or the number of operands.
fn is_of_schema(guard: &GuardReport) -> bool {
    guard.clause.as_deref().is_some_and(|clause| clause.starts_with("schema."))
}

fn with_origin(guard: GuardReport) -> GuardReport {
    GuardReport { origin: Some(origin(&guard)), ..guard }
}

/// `, every element being: c true, x 0.5`.
pub(super) fn with_elements(values: Option<&IndexMap<String, Json>>) -> String {
    values.map_or_else(String::new, every_element)
}

/// What the file states of itself, where that is not what the model needs.
fn stated_notes(stated: &[StatedReport], suffices: Option<bool>) -> impl Iterator<Item = Diagnostic> {
    let note = |message: String| Diagnostic::new("stated-condition", Level::Note, message);
    let of = move |StatedReport { expr, verdict }: &StatedReport| {
        let what = match *verdict {
            "needed" => return None,
            "not needed" => "the model does not need it",
            _ => "whether the model needs it is not known",
        };
        Some(note(format!("the file states `{expr}`: {what}")))
    };
    let suffices = (suffices == Some(false))
        .then(|| note("what the file states does not suffice for the model to run".to_owned()));
    stated.iter().filter_map(of).collect::<Vec<_>>().into_iter().chain(suffices)
}

/// Declarations, a spec, or both as a fix.
fn fix(fix: &Fix, model: &Model, has_spec: bool) -> report::Fix {
    let mut lines: Vec<String> = fix.changes.iter().map(Declaration::line).collect();
    let (spec, before) = (fix.spec.as_ref().map(Spec::to_json), fix.before.as_ref().map(Spec::to_json));
    let entries = spec.as_ref().map_or_else(Vec::new, |spec| changed_entries(spec, before.as_ref(), model));
    lines.extend(spec.as_ref().map(|spec| changed_spec(spec, &entries)));
    // An ONNX file has names and numbers for sizes, and no ranges.
    let note = match (&fix.spec, fix.changes.is_empty()) {
        (None, _) => None,
        (Some(_), true) => Some(
            "an ONNX file declares no ranges: refuse other sizes before the model runs, or check it under this spec (--fix \
             spec.py, then --spec spec.py)",
        ),
        (Some(_), false) => Some(
            "an ONNX file declares no ranges: they are a spec (--fix spec.py, then --spec spec.py) of the model that declares \
             its sizes so (--fix model.onnx)",
        ),
    };
    report::Fix {
        assumptions: Vec::new(),
        text: lines.join("\n"),
        code: fix.spec.as_ref().map(Spec::to_python),
        proved: fix.is_proved,
        cost: fix.cost.text(),
        loses: fix.cost.loses(),
        note: note.filter(|_| !has_spec).map(str::to_owned),
        changes: changed(&fix.changes, &entries),
        spec,
        declarations: fix.changes.iter().map(Declaration::json).collect(),
    }
}

/// The inputs in which these entries of a spec stand, as Python: a spec that says the same of the model.
fn changed_spec(spec: &Json, entries: &[Entry]) -> String {
    let mut changed = serde_json::Map::new();
    for Entry { input, .. } in entries {
        // The other sizes of the input stand there too: `None` would read as a size that does not vary.
        changed.entry(input).or_insert_with(|| spec[input].clone());
    }
    to_be_pasted(&Spec::of_tree(changed.into()).to_python()).join("\n")
}

fn symbol(named: &SizeSymbol) -> (String, SymbolReport) {
    let report = SymbolReport {
        min: Some(json!(named.min)),
        max: named.max.map(Json::from),
        hint: named.hint.map(Json::from),
        source: named.source.as_ref().map(|(input, dim)| format!("{input}.shape[{dim}]")),
        dim: named.declared.clone(),
    };
    (named.name.clone(), report)
}

pub(super) fn shapes_json(inputs: &Sizes) -> IndexMap<String, Json> {
    inputs.iter().map(|(name, sizes)| (name.clone(), json!(sizes))).collect()
}
