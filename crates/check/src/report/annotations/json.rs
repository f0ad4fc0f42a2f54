//! The annotated source for editors: a hint a line.
use super::{AnnotatedFile, AnnotatedLine, Annotations};
use serde_json::{Value as Json, json};

impl Annotations {
    /// The hints, as JSON.
    pub fn to_json(&self) -> Json {
        let inputs = self.inputs.iter().map(|(name, shape)| json!({"name": name, "shape": shape}));
        let hints = self
            .files
            .iter()
            .flat_map(|file| file.lines.iter().map(move |(number, line)| file.hint(*number, line)));
        let changed = self
            .files
            .iter()
            .filter_map(|file| file.changed_at.map(|line| json!({"file": file.recorded, "line": line})));
        json!({
            "program": self.program,
            "inputs": inputs.collect::<Vec<Json>>(),
            "hints": hints.collect::<Vec<Json>>(),
            "unplaced": self.unplaced,
            "changed": changed.collect::<Vec<Json>>(),
        })
    }
}

impl AnnotatedFile {
    fn hint(&self, number: u32, line: &AnnotatedLine) -> Json {
        // Columns count from 1; the hint stands behind the line's text.
        let column = self.found.is_some().then(|| self.line(number).chars().count() + 1);
        let findings = line.findings.iter().map(|(level, text)| json!({"level": level, "message": text}));
        json!({
            "file": self.path(),
            "line": number,
            "column": column,
            "text": line.summary(),
            "code": self.line(number).trim_start(),
            "function": line.function,
            "values": line.made,
            "findings": findings.collect::<Vec<Json>>(),
        })
    }
}
