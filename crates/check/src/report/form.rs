//! The forms of a report by name: the one place where renderers are chosen.
use super::{
    Annotations, GraphView, Report, Style, model_explorer, to_github, to_html, to_json, to_jsonl, to_junit,
    to_sarif, to_text, to_torch, to_view_json,
};
use serde_json::Value as Json;
use sizewise_expr::escape::json_text;
use std::str::FromStr;

/// A form of the report of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReportForm {
    /// For people.
    Text,
    /// For programs.
    #[default]
    Json,
    /// For programs, on one line.
    Jsonl,
    /// As torch words constraint violations.
    Torch,
    /// SARIF 2.1.0.
    Sarif,
    /// GitHub workflow commands.
    Github,
    /// JUnit XML.
    Junit,
    /// A page.
    Html,
    /// The report with the graph, for pages.
    View,
    /// The source with the shapes of values, as a page.
    Annotated,
    /// The source with the shapes of values, for editors.
    Hints,
    /// The graph for Model Explorer.
    ModelExplorer,
}

impl ReportForm {
    /// Every form, with its name and what it is.
    pub const ALL: [(ReportForm, &'static str, &'static str); 12] = [
        (ReportForm::Text, "text", "For people"),
        (ReportForm::Json, "json", "For programs"),
        (ReportForm::Jsonl, "jsonl", "For programs, a report a line with its path"),
        (
            ReportForm::Torch,
            "torch",
            "Constraint violations in torch's wording, with fixes to paste; empty if nothing is violated",
        ),
        (ReportForm::Sarif, "sarif", "SARIF 2.1.0, for code scanning"),
        (ReportForm::Github, "github", "GitHub workflow commands, shown beside the source lines"),
        (ReportForm::Junit, "junit", "JUnit XML, a test case a program"),
        (ReportForm::Html, "html", "A self-contained HTML page"),
        (ReportForm::View, "view", "The report with the graph as JSON, for pages"),
        (ReportForm::Annotated, "annotated", "The user's source with the shapes of values, as an HTML page"),
        (ReportForm::Hints, "hints", "The user's source with the shapes of values as JSON, for editors"),
        (
            ReportForm::ModelExplorer,
            "model-explorer",
            "The graph and data of its nodes as JSON, for Model Explorer",
        ),
    ];

    /// Whether it is a form of what `check` writes; others are for pages and for other commands.
    pub fn is_of_check(self) -> bool {
        use ReportForm::{Annotated, Hints, ModelExplorer, View};
        !matches!(self, View | Annotated | Hints | ModelExplorer)
    }

    /// The report in this form; the graph is asked for only by forms that show it.
    pub fn render(self, report: &Report, style: Style, graph: &dyn Fn() -> GraphView) -> String {
        match self {
            ReportForm::Text => to_text(report, style),
            ReportForm::Json => to_json(report),
            ReportForm::Jsonl => to_jsonl(report),
            ReportForm::Torch => to_torch(report),
            ReportForm::Sarif => to_sarif(report),
            ReportForm::Github => to_github(report),
            ReportForm::Junit => to_junit(report),
            ReportForm::Html => to_html(report, &graph()),
            ReportForm::View => to_view_json(report, &graph()),
            ReportForm::Annotated => Annotations::new(report, &graph()).to_html(),
            ReportForm::Hints => line(&Annotations::new(report, &graph()).to_json()),
            ReportForm::ModelExplorer => line(&model_explorer(report, &graph())),
        }
    }
}

/// JSON on one line.
fn line(json: &Json) -> String {
    json_text(json.to_string()) + "\n"
}

impl FromStr for ReportForm {
    type Err = String;

    fn from_str(text: &str) -> Result<ReportForm, String> {
        let found = ReportForm::ALL.iter().find(|(_, name, _)| *name == text);
        found.map(|(form, ..)| *form).ok_or_else(|| {
            let names = ReportForm::ALL.map(|(_, name, _)| name).join(", ");
            format!("expected one of {names}, not `{text}`")
        })
    }
}
