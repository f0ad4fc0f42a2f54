//! The store of facts, for people and programs to look at.
use super::style::Style;
use serde::Serialize;
use sizewise_expr::escape::{coloured_lines, lines, visible};
use std::fmt::Write;

/// What the store of facts holds after a program was propagated.
#[derive(Clone, Debug, Serialize)]
pub struct StoreReport {
    /// Classes of equal sizes.
    pub classes: Vec<StoreClass>,
    /// Conditions that hold.
    pub holds: Vec<StoreEntry>,
    /// Expressions that the equations replace, each with what takes its place.
    pub equations: Vec<[String; 2]>,
    /// Whether the facts contradict each other.
    pub contradictory: bool,
}

/// Equal sizes, and the values that they can have.
#[derive(Clone, Debug, Serialize)]
pub struct StoreClass {
    /// The expressions.
    pub members: Vec<String>,
    /// Range and congruence, in words.
    pub values: String,
    /// What has joined the members; those that no entry names are built alike of equal parts.
    pub joined: Vec<StoreEntry>,
}

/// Something that is known, and why.
#[derive(Clone, Debug, Serialize)]
pub struct StoreEntry {
    /// What is known.
    pub shown: String,
    /// What it follows from.
    pub because: String,
    /// The node that needed it first, if a guard says so.
    pub node: Option<String>,
    /// The line of that node.
    pub location: Option<String>,
}

impl StoreReport {
    /// The store as text for people.
    pub fn to_text(&self, style: Style) -> String {
        let mut out = String::new();
        if self.contradictory {
            let _ = writeln!(out, "{}\n", style.strong("The facts contradict each other."));
        }
        let _ = writeln!(out, "{}", style.strong("Classes of equal sizes"));
        for class in &self.classes {
            let members: Vec<_> = class.members.iter().map(|member| visible(member)).collect();
            let _ = writeln!(out, "  {}: {}", members.join(" = "), class.values);
            class.joined.iter().for_each(|entry| entry.write(&mut out, "    "));
        }
        if !self.equations.is_empty() {
            let _ = writeln!(out, "\n{}", style.strong("Equations"));
        }
        for [replaced, by] in &self.equations {
            let _ = writeln!(out, "  {} is replaced by {}", visible(replaced), visible(by));
        }
        let _ = writeln!(out, "\n{}", style.strong("Conditions that hold"));
        self.holds.iter().for_each(|entry| entry.write(&mut out, "  "));
        if style.colour { coloured_lines(&out) } else { lines(&out).into_owned() }
    }
}

impl StoreEntry {
    fn write(&self, out: &mut String, indent: &str) {
        let because = if self.because == self.shown { "a fact" } else { self.because.as_str() };
        let _ = write!(out, "{indent}{}: {}", visible(&self.shown), visible(because));
        if let Some(node) = &self.node {
            let _ = write!(out, ", needed by {}", visible(node));
        }
        if let Some(location) = &self.location {
            let _ = write!(out, " at {}", visible(location));
        }
        out.push('\n');
    }
}
