//! The annotated source as text: shapes stand beside the lines as comments.
use super::{AnnotatedFile, Annotations, Made};
use sizewise_expr::escape::{lines, visible};
use std::fmt::Write;

/// Shapes stand at this column at the least and the most, behind the code.
const COLUMNS: (usize, usize) = (24, 72);

impl Annotations {
    /// The annotated source.
    pub fn to_text(&self) -> String {
        let mut out = format!("{}\n", visible(&self.program));
        for (name, shape) in &self.inputs {
            _ = writeln!(out, "  {}", visible(&format!("{name}: {shape}")));
        }
        self.files.iter().for_each(|file| file.write(&mut out));
        if !self.unplaced.is_empty() {
            out.push_str("\nwithout a line\n");
            let line = |made: &Made| {
                let module = made.module.as_ref().map(|module| format!("  {module}")).unwrap_or_default();
                format!("  {}: {}  {}{module}", made.node, made.shapes.join(", "), made.op)
            };
            self.unplaced.iter().for_each(|made| _ = writeln!(out, "{}", visible(&line(made))));
        }
        out
    }
}

impl AnnotatedFile {
    fn write(&self, out: &mut String) {
        _ = writeln!(out, "\n{}", visible(self.path()));
        if let Some(line) = self.changed_at {
            _ = writeln!(
                out,
                "  line {line} of the file that is there now is another one: lines as they were recorded"
            );
        }
        let digits = self.lines.keys().last().map_or(1, |last| last.to_string().len()).max(4);
        for (at, run) in self.runs().iter().enumerate() {
            if at > 0 {
                _ = writeln!(out, "{:>digits$}", "...");
            }
            let widths = run.iter().filter(|number| self.lines.contains_key(number));
            let widest = widths.map(|&number| self.shown(number).chars().count()).max().unwrap_or(0);
            let column = widest.clamp(COLUMNS.0, COLUMNS.1);
            for &number in run {
                self.write_line(out, number, digits, column);
            }
        }
    }

    fn write_line(&self, out: &mut String, number: u32, digits: usize, column: usize) {
        let code = lines(&self.shown(number)).into_owned();
        let Some(line) = self.lines.get(&number) else {
            _ = writeln!(out, "{}", format!("{number:>digits$}  {code}").trim_end());
            return;
        };
        let groups = line.groups();
        let (first, rest) =
            groups.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        // What does not fit beside the line stands below it.
        if code.chars().count() > column {
            _ = writeln!(
                out,
                "{number:>digits$}  {code}\n{:digits$}  {:column$}  # {}",
                "",
                "",
                visible(first)
            );
        } else {
            _ = writeln!(out, "{number:>digits$}  {code:column$}  # {}", visible(first));
        }
        for more in rest {
            _ = writeln!(out, "{:digits$}  {:column$}  # {}", "", "", visible(more));
        }
        for (level, text) in &line.findings {
            _ = writeln!(out, "{:digits$}  {:column$}  # {level}: {}", "", "", visible(text));
        }
    }
}
