//! What a check of many programs comes to.
use super::worker::{Entry, NOT_CHECKED};
use crate::escape::visible;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many programs, operators and causes are named.
const MAX_NAMED: usize = 5;

/// Counts over all programs.
#[derive(Default)]
pub struct Summary {
    verdicts: BTreeMap<String, usize>,
    slowest: Vec<(f64, String)>,
    unsupported: BTreeMap<String, usize>,
    causes: BTreeMap<String, usize>,
    without_spec: usize,
    dropped: usize,
    gone: usize,
}

impl Summary {
    /// Counts a program.
    pub fn add(&mut self, entry: &Entry) {
        *self.verdicts.entry(entry.verdict.clone()).or_default() += 1;
        self.slowest.push((entry.seconds, entry.path.clone()));
        self.slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.slowest.truncate(MAX_NAMED);
        for op in &entry.unsupported {
            *self.unsupported.entry(op.clone()).or_default() += 1;
        }
        for cause in &entry.causes {
            *self.causes.entry(cause.clone()).or_default() += 1;
        }
        let is_checked = entry.verdict != NOT_CHECKED;
        self.without_spec += usize::from(is_checked && !entry.has_spec);
        self.dropped += entry.dropped;
        self.gone += entry.gone;
    }

    /// The programs and their verdicts, on a line.
    pub fn line(&self) -> String {
        let total: usize = self.verdicts.values().sum();
        let order = ["ok", "violated", "unknown", "invalid", NOT_CHECKED];
        let counts = order
            .iter()
            .filter_map(|verdict| self.verdicts.get(*verdict).map(|count| format!("{count} {verdict}")));
        let programs = if total == 1 { "program" } else { "programs" };
        format!("{total} {programs}: {}", counts.collect::<Vec<_>>().join(", "))
    }

    /// That a baseline has findings that are there no more.
    pub fn gone(&self) -> Option<String> {
        let findings = match self.gone {
            0 => return None,
            1 => "1 finding of the baseline is gone".to_owned(),
            gone => format!("{gone} findings of the baseline are gone"),
        };
        Some(format!("{findings}: write it anew with --write-baseline"))
    }

    /// All of it.
    pub fn text(&self) -> String {
        let mut out = format!("\n{}\n", self.line());
        if self.without_spec > 0 {
            let _ = writeln!(out, "  without a spec, so under their own contract: {}", self.without_spec);
        }
        if self.dropped > 0 {
            let _ = writeln!(out, "  known findings, which do not count: {}", self.dropped);
        }
        if let Some(gone) = self.gone() {
            let _ = writeln!(out, "  {gone}");
        }
        for (title, counts) in
            [("commonest causes", &self.causes), ("unsupported operators", &self.unsupported)]
        {
            let mut counts: Vec<(&String, &usize)> = counts.iter().collect();
            counts.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
            if !counts.is_empty() {
                let _ = writeln!(out, "  {title}:");
            }
            for (what, count) in counts.iter().take(MAX_NAMED) {
                let _ = writeln!(out, "    {count:>5}  {}", visible(what));
            }
            if counts.len() > MAX_NAMED {
                let _ = writeln!(out, "           and {} more", counts.len() - MAX_NAMED);
            }
        }
        let _ = writeln!(out, "  slowest:");
        for (seconds, path) in &self.slowest {
            let _ = writeln!(out, "    {seconds:>7.2} s  {}", visible(path));
        }
        out
    }
}
