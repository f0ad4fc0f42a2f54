//! The lines of the user's code with the shapes of the values that they make.
mod families;
mod html;
mod json;
mod text;

use super::findings::findings;
use super::graph::{GraphView, NodeView};
use super::model::Report;
use super::shown::Shown;
use families::families;
use indexmap::IndexMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// Lines that are at most so far apart are shown with those between them.
const MAX_GAP: u32 = 6;

/// A program's source with the shapes of its values.
#[derive(Clone, Debug)]
pub struct Annotations {
    /// The program's name.
    pub program: String,
    /// The user's inputs, with their shapes.
    pub inputs: Vec<(String, String)>,
    /// The files, in the order in which the program comes to them.
    pub files: Vec<AnnotatedFile>,
    /// What nodes without a line make.
    pub unplaced: Vec<Made>,
}

/// A file of the user's code.
#[derive(Clone, Debug)]
pub struct AnnotatedFile {
    /// The path that the program records.
    pub recorded: String,
    /// The path under which its text was found.
    pub found: Option<String>,
    /// Its lines, where it was found.
    pub text: Vec<String>,
    /// The line, if there is one, at which a file of this name is not what the program was exported from.
    pub changed_at: Option<u32>,
    /// The lines that make something.
    pub lines: BTreeMap<u32, AnnotatedLine>,
}

/// A line of the user's code.
#[derive(Clone, Debug, Default)]
pub struct AnnotatedLine {
    /// Its text as the program records it.
    pub code: String,
    /// The function around it.
    pub function: String,
    /// What it makes, in the program's order.
    pub made: Vec<Made>,
    /// What a check found there: how serious it is, and what it is.
    pub findings: Vec<(&'static str, String)>,
}

/// What a node makes.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The node.
    pub node: String,
    /// Its operator.
    pub op: String,
    /// The module around it: `encoder.layers.0`.
    pub module: Option<String>,
    /// The values: `f32[batch, 8]`. Empty for a node that only asserts.
    pub shapes: Vec<String>,
}

impl Made {
    fn of(node: &NodeView, shown: &mut Shown) -> Made {
        Made {
            node: node.name.clone(),
            op: node.op.clone(),
            module: node.module.clone(),
            shapes: node.values.iter().map(|value| shown.value(value)).collect(),
        }
    }
}

/// Source text, and where it was found.
pub struct FoundSource {
    /// The path to show.
    pub path: String,
    /// The text.
    pub text: String,
}

impl Annotations {
    /// The lines of a program. Their texts are those that the program records until [`Annotations::attach`] finds more.
    pub fn new(report: &Report, graph: &GraphView) -> Annotations {
        let mut shown = Shown::new(report, graph);
        let inputs = graph.inputs.iter().map(|input| (input.name.clone(), shown.value(input))).collect();
        let mut files: IndexMap<&str, BTreeMap<u32, AnnotatedLine>> = IndexMap::new();
        let mut unplaced = Vec::new();
        for node in &graph.nodes {
            let made = Made::of(node, &mut shown);
            let Some(place) = &node.place else {
                unplaced.push(made);
                continue;
            };
            let line = files.entry(&place.file).or_default().entry(place.line).or_default();
            if line.made.is_empty() {
                line.code = node.code.clone().unwrap_or_default();
                line.function.clone_from(&place.function);
            }
            line.made.push(made);
        }
        for finding in findings(report) {
            let Some(frame) = finding.line else { continue };
            let lines = files.get_mut(frame.file.as_str());
            if let (Some(line), Some(first)) =
                (lines.and_then(|lines| lines.get_mut(&frame.line)), finding.sentences.first())
            {
                line.findings.push((finding.rule.level, first.clone()));
            }
        }
        let files = files.into_iter().map(|(recorded, lines)| AnnotatedFile {
            recorded: recorded.to_owned(),
            found: None,
            text: Vec::new(),
            changed_at: None,
            lines,
        });
        Annotations { program: report.program.path.clone(), inputs, files: files.collect(), unplaced }
    }

    /// Looks for the text of each file. Text that is not what the program was exported from is not used; nor is text of
    /// which the program records no line, unless the user has named it, which `is_named` says.
    pub fn attach(&mut self, is_named: bool, find: &mut dyn FnMut(&str) -> Option<FoundSource>) {
        for file in &mut self.files {
            let Some(FoundSource { path, text }) = find(&file.recorded) else { continue };
            let text: Vec<String> = text.lines().map(str::to_owned).collect();
            let agrees = |(number, line): (&u32, &AnnotatedLine)| {
                let found = text.get(usize::try_from(*number).unwrap_or(0).wrapping_sub(1));
                found.is_some_and(|found| line.code.is_empty() || same(found, &line.code))
            };
            file.changed_at = file.lines.iter().find(|line| !agrees(*line)).map(|(number, _)| *number);
            let is_known = is_named || file.lines.values().any(|line| !line.code.is_empty());
            if file.changed_at.is_none() && is_known {
                file.found = Some(path);
                file.text = text;
            }
        }
    }
}

/// Whether a line is the recorded one. Programs record lines without their indentation.
fn same(found: &str, recorded: &str) -> bool {
    found.trim() == recorded.trim()
}

impl AnnotatedFile {
    /// The path to show.
    pub fn path(&self) -> &str {
        self.found.as_deref().unwrap_or(&self.recorded)
    }

    /// The text of a line.
    fn line(&self, number: u32) -> &str {
        let of_file = self.text.get(usize::try_from(number).unwrap_or(0).wrapping_sub(1));
        match (of_file, self.lines.get(&number)) {
            (Some(line), _) => line.trim_end(),
            (None, Some(line)) => &line.code,
            (None, None) => "",
        }
    }

    /// The text of a line as it is shown.
    fn shown(&self, number: u32) -> String {
        self.line(number).replace('\t', "    ")
    }

    /// The lines to show, in runs: those that make something, those between them where they are near, and the heads of
    /// their functions.
    fn runs(&self) -> Vec<Vec<u32>> {
        let mut numbers: Vec<u32> = self.lines.keys().copied().collect();
        if self.found.is_some() {
            let heads: Vec<u32> =
                self.lines.iter().filter_map(|(&at, line)| self.head(at, &line.function)).collect();
            numbers.extend(heads);
            numbers.sort_unstable();
            numbers.dedup();
        }
        // Of a file that is not there, all lines that are known stand together.
        if self.found.is_none() {
            return vec![numbers];
        }
        let mut runs: Vec<Vec<u32>> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|&last| number - last <= MAX_GAP) => {
                    run.extend(run.last().map_or(number, |last| last + 1)..=number);
                }
                _ => runs.push(vec![number]),
            }
        }
        runs
    }

    /// Where the function of a line begins.
    fn head(&self, line: u32, function: &str) -> Option<u32> {
        let name = function.rsplit('.').next().unwrap_or(function);
        (1..=line).rev().find(|&number| {
            let text = self.line(number).trim_start();
            let text = text.strip_prefix("async ").unwrap_or(text);
            text.strip_prefix("def ")
                .and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with('('))
        })
    }
}

impl AnnotatedLine {
    /// What the line makes in short: each shape once.
    pub fn summary(&self) -> String {
        let mut shapes: Vec<&str> = Vec::new();
        for shape in self.made.iter().flat_map(|made| &made.shapes) {
            if !shapes.contains(&shape.as_str()) {
                shapes.push(shape);
            }
        }
        shapes.join(", ")
    }

    /// Calls of an operator that make the same, with the modules that make it: a line each.
    fn groups(&self) -> Vec<String> {
        let mut groups: IndexMap<(&str, &[String]), IndexMap<&str, usize>> = IndexMap::new();
        for made in &self.made {
            let modules = groups.entry((&made.op, &made.shapes)).or_default();
            *modules.entry(made.module.as_deref().unwrap_or("")).or_default() += 1;
        }
        let groups = groups.into_iter().map(|((op, shapes), modules)| {
            let calls: usize = modules.values().sum();
            let shapes = if shapes.is_empty() { String::new() } else { format!("{}  ", shapes.join(", ")) };
            let modules: Vec<&str> = modules.keys().copied().filter(|module| !module.is_empty()).collect();
            let modules =
                families(&modules).into_iter().map(|family| format!("  {family}")).collect::<String>();
            let times = if calls > 1 { format!(" x{calls}") } else { String::new() };
            format!("{shapes}{}{times}{modules}", short(op))
        });
        groups.collect()
    }
}

/// An operator without its namespace and overload: `linear`.
fn short(op: &str) -> &str {
    let mut parts = op.split('.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(name), Some(_), None) => name,
        _ => op,
    }
}
