//! The reports of many programs as one document.
use super::summary::Summary;
use super::worker::{Entry, NOT_CHECKED};
use crate::check::tool;
use crate::escape::{json_text, visible};
use crate::report::{
    Detail, ReportForm, Style, sarif_frame, to_html_frame, to_html_part, to_html_row, to_junit_of,
};
use std::io::{self, Write};

/// A document that is written as programs are checked. What a form needs at the end is held until then.
pub struct Document<'w> {
    form: ReportForm,
    style: Style,
    out: &'w mut dyn Write,
    count: usize,
    is_successful: bool,
    parts: Vec<String>,
    artifacts: Vec<String>,
    rows: String,
}

impl<'w> Document<'w> {
    /// Begins a document.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(form: ReportForm, style: Style, out: &'w mut dyn Write) -> io::Result<Document<'w>> {
        match form {
            ReportForm::Json => out.write_all(b"[\n")?,
            ReportForm::Html => out.write_all(to_html_frame("", "")[0].as_bytes())?,
            _ => {}
        }
        let (parts, artifacts, rows) = (Vec::new(), Vec::new(), String::new());
        Ok(Document { form, style, out, count: 0, is_successful: true, parts, artifacts, rows })
    }

    /// Whether only what is not ok is said.
    fn is_quiet(&self) -> bool {
        self.style.detail == Detail::Verdict
    }

    /// Adds a program.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, entry: Entry) -> io::Result<()> {
        let at = self.count;
        self.count += 1;
        self.is_successful &= !matches!(entry.verdict.as_str(), "invalid" | NOT_CHECKED);
        match self.form {
            ReportForm::Text if self.is_quiet() && entry.verdict == "ok" => Ok(()),
            ReportForm::Text => {
                self.out.write_all(line(&entry, self.style, self.is_quiet()).as_bytes())?;
                self.out.flush()
            }
            ReportForm::Json => {
                let comma = if at > 0 { ",\n" } else { "" };
                write!(self.out, "{comma}{}", entry.text.trim_end())
            }
            ReportForm::Html => {
                let says = entry.says.as_deref().unwrap_or_default();
                self.rows.push_str(&to_html_row(at, &entry.path, &entry.verdict, says));
                self.out.write_all(to_html_part(at, &entry.text).as_bytes())
            }
            ReportForm::Sarif => {
                self.artifacts.push(entry.artifact);
                self.parts.extend(Some(entry.text).filter(|text| !text.is_empty()));
                Ok(())
            }
            ReportForm::Junit => {
                self.parts.push(entry.text);
                Ok(())
            }
            _ => {
                self.out.write_all(entry.text.as_bytes())?;
                self.out.flush()
            }
        }
    }

    /// Ends the document.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(self, summary: &Summary) -> io::Result<()> {
        match self.form {
            ReportForm::Text if self.is_quiet() => writeln!(self.out, "{}", summary.line())?,
            ReportForm::Text => self.out.write_all(summary.text().as_bytes())?,
            ReportForm::Json => self.out.write_all(b"\n]\n")?,
            ReportForm::Html => {
                self.out.write_all(to_html_frame(&self.rows, &summary.line())[1].as_bytes())?;
            }
            ReportForm::Junit => self.out.write_all(to_junit_of(&self.parts).as_bytes())?,
            ReportForm::Sarif => {
                let [start, between, end] = sarif_frame(&tool(), self.is_successful);
                let (artifacts, results) = (self.artifacts.join(",\n"), self.parts.join(",\n"));
                let parts = [start, json_text(artifacts), between, json_text(results), end];
                parts.iter().try_for_each(|part| self.out.write_all(part.as_bytes()))?;
            }
            _ => {}
        }
        self.out.flush()
    }
}

/// A program on a line, with the first finding below it; where little is said, on the line.
fn line(entry: &Entry, style: Style, is_quiet: bool) -> String {
    let padded = format!("{:<11}", entry.verdict);
    let verdict = match entry.verdict.as_str() {
        "ok" => padded,
        "unknown" => style.warning(&padded),
        _ => style.error(&padded),
    };
    let known = match entry.dropped {
        0 => String::new(),
        1 => ", 1 known finding".to_owned(),
        dropped => format!(", {dropped} known findings"),
    };
    if is_quiet {
        let says = entry.says.as_ref().map(|says| format!(": {}", visible(says))).unwrap_or_default();
        return format!("{verdict} {}{says}\n", visible(&entry.path));
    }
    let mut line = format!("{verdict} {} ({:.2} s{known})\n", visible(&entry.path), entry.seconds);
    if let Some(says) = &entry.says {
        line.push_str(&format!("            {}\n", visible(says)));
    }
    line
}
