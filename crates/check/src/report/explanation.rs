//! The explanation of a dimension.
use super::model::Cause;
use super::origin::recorded_because;
use super::style::Style;
use serde::Serialize;
use sizewise_expr::escape::{coloured_lines, lines, visible};
use std::fmt::Write;

/// Why a dimension is static, or which conditions are on it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The dimension: `x.shape[0]`.
    pub dim: String,
    /// What the program records of it: an integer if it is static, else an expression of its symbols.
    pub recorded: String,
    /// Whether it is static.
    pub is_static: bool,
    /// Why an input that is not a tensor is constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialized: Option<String>,
    /// Sets of conditions, each of which alone forces the recorded size: the dimension can vary only if no set
    /// holds.
    pub reasons: Vec<Vec<Condition>>,
    /// Other conditions on the dimension.
    pub restrictions: Vec<Condition>,
    /// Another size that every operator accepts, if the graph does not force the recorded one.
    pub also_taken: Option<String>,
    /// The node at which propagation stopped early, if it did.
    pub stopped_at: Option<String>,
    /// Guards and ranges of the program that could not be read: they may say more of the dimension.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// A condition with what needs it.
#[derive(Clone, Debug, Serialize)]
pub struct Condition {
    /// The condition in the user's names.
    pub shown: String,
    /// The first node that needs it; none for guards and ranges that the program records.
    pub node: Option<String>,
    /// That node's operator.
    pub op: Option<String>,
    /// How many more nodes need it.
    pub more_nodes: usize,
    /// The clause of the operator.
    pub clause: Option<String>,
    /// The user's line.
    pub location: Option<String>,
    /// The text of that line.
    pub code: Option<String>,
    /// Its cause.
    pub cause: Cause,
    /// Which small sizes it excludes.
    pub excludes: Option<String>,
}

impl Explanation {
    /// The explanation as text for people.
    pub fn to_text(&self, style: Style) -> String {
        let mut out = String::new();
        let kind = if self.is_static { "static" } else { "dynamic" };
        let dim = style.strong(&visible(&self.dim));
        let _ = match self.recorded == self.dim {
            true => writeln!(out, "{dim} is {kind}"),
            false => writeln!(out, "{dim} is {kind}: {}", visible(&self.recorded)),
        };
        match self.reasons.as_slice() {
            _ if self.specialized.is_some() => {
                let why = self.specialized.as_deref().unwrap_or_default();
                let _ = writeln!(out, "  {}", visible(why));
            }
            [] => self.nothing_forces_it(&mut out),
            [only] => {
                let _ = writeln!(out, "  because");
                conditions(&mut out, only, style, "    ");
            }
            several => {
                let _ = writeln!(out, "  for {} reasons, each enough by itself:", several.len());
                for (i, reason) in several.iter().enumerate() {
                    let _ = writeln!(out, "  {}.", i + 1);
                    conditions(&mut out, reason, style, "    ");
                }
            }
        }
        if !self.restrictions.is_empty() {
            let _ = writeln!(out, "  it has to satisfy");
            conditions(&mut out, &self.restrictions, style, "    ");
        }
        if let Some(node) = &self.stopped_at {
            let _ = writeln!(out, "  nothing is known of what comes after {}", visible(node));
        }
        for reason in &self.unreadable {
            let _ = writeln!(out, "  what the program takes is not known: {}", visible(reason));
        }
        if style.colour { coloured_lines(&out) } else { lines(&out).into_owned() }
    }

    fn nothing_forces_it(&self, out: &mut String) {
        if !self.is_static && self.also_taken.is_none() {
            return;
        }
        let _ = writeln!(out, "  nothing in the graph forces that");
        if let Some(size) = &self.also_taken {
            let _ = writeln!(out, "  every operator takes {} as well", visible(size));
        }
        if self.is_static && ["0", "1"].contains(&self.recorded.as_str()) {
            let _ = writeln!(
                out,
                "  the example had {} there: torch.export specializes sizes 0 and 1, also where dynamic_shapes names \
                 the dimension, so export again with an example of 2 or more; or dynamic_shapes left it static",
                self.recorded
            );
        } else if self.is_static {
            let _ = writeln!(
                out,
                "  so the spec left it static, or Python read it as a number while the program was traced \
                 (int(), range(), a comparison, a list of that length)"
            );
        }
    }
}

fn conditions(out: &mut String, list: &[Condition], style: Style, indent: &str) {
    for condition in list {
        let _ = writeln!(out, "{indent}{}", style.strong(&visible(&condition.shown)));
        match (condition.location.as_deref().map(visible), condition.code.as_deref().map(visible)) {
            (Some(location), Some(code)) => drop(writeln!(out, "{indent}  {location}   {code}")),
            (Some(location), None) => drop(writeln!(out, "{indent}  {location}")),
            _ => {}
        }
        match (&condition.node, &condition.op) {
            (Some(node), Some(op)) => {
                let clause =
                    condition.clause.as_ref().map(|c| format!(" ({})", visible(c))).unwrap_or_default();
                let more = match condition.more_nodes {
                    0 => String::new(),
                    1 => ", and one more node".to_string(),
                    n => format!(", and {n} more nodes"),
                };
                let _ =
                    writeln!(out, "{indent}  needed by {} = {}{clause}{more}", visible(node), visible(op));
            }
            _ => {
                let because = recorded_because(condition.cause, false, &condition.shown);
                let _ = writeln!(out, "{indent}  because {because}");
            }
        }
        if let Some(excludes) = &condition.excludes {
            let _ = writeln!(out, "{indent}  {}", style.faint(&format!("excludes {}", visible(excludes))));
        }
    }
}
