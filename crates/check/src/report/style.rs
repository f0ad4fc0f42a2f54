//! How texts are decorated and how much they say.

/// How much a text says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// The verdict, on one line.
    Verdict,
    /// What is wrong and what to change, most important first.
    #[default]
    Usual,
    /// Every error in full, with what follows from others and all that is proved.
    All,
}

/// How text is decorated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether escape sequences for colour are written.
    pub colour: bool,
    /// The width at which lines are broken, in characters; none where it is not known.
    pub width: Option<usize>,
    /// How much is said.
    pub detail: Detail,
}

/// What stands before a line that is not to be broken, such as code: no text of a program has it.
pub(super) const WHOLE: char = '\u{1}';
/// How wide the labels of a report are.
const INDENT: usize = 14;
/// In less width nothing is broken.
const LEAST_WIDTH: usize = 30;

impl Style {
    /// Whether everything is said.
    pub(super) fn is_all(self) -> bool {
        self.detail == Detail::All
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// An error's headline.
    pub fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// A warning's headline.
    pub fn warning(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// Success.
    pub fn good(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    /// Emphasis.
    pub fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Less important text.
    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Breaks lines that are longer than the width between words. What continues a line stands under its text.
    pub(super) fn broken(self, text: &str) -> String {
        let width = self.width.filter(|&width| width >= LEAST_WIDTH);
        let mut out = String::with_capacity(text.len());
        for line in text.lines() {
            match (line.strip_prefix(WHOLE), width) {
                (Some(line), _) => out.push_str(line),
                (None, Some(width)) if shown_width(line) > width => broken_line(&mut out, line, width),
                (None, _) => out.push_str(line),
            }
            out.push('\n');
        }
        out
    }
}

/// How many characters a terminal shows of a text with escape sequences for colour.
fn shown_width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().chars().count();
    // After an escape, all up to the `m` is not shown.
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count())).sum::<usize>()
}

fn broken_line(out: &mut String, line: &str, width: usize) {
    let leading = line.len() - line.trim_start().len();
    // The text of `  works         x: f32[3]` stands behind its label.
    let label = leading + INDENT;
    let has_label =
        leading <= 2 && line.chars().nth(label - 1) == Some(' ') && line.chars().nth(label) != Some(' ');
    let indent = match (has_label, leading) {
        (true, _) => label,
        (false, INDENT..) => leading,
        (false, _) => leading + 2,
    };
    let indent = indent.min(width / 3);
    let mut column = 0;
    // Spaces before a word are kept where the line is not broken.
    for word in line.split_inclusive(' ') {
        let length = shown_width(word.trim_end_matches(' '));
        if column > indent && column + length > width {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        }
        out.push_str(word);
        column += shown_width(word);
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, shown_width};

    #[test]
    fn lines_are_broken_between_words_and_code_is_not() {
        let style = Style { width: Some(34), ..Style::default() };
        let text =
            "  for example   x: f32[2, 3, 49], y: f32[3]\n\u{1}  t = Dim('t', min=75, max=4000, and more)\n";
        let broken = "  for example   x: f32[2, 3, 49],\n           y: f32[3]\n  t = Dim('t', min=75, max=4000, and more)\n";
        assert_eq!(style.broken(text), broken);
        assert_eq!(Style::default().broken(text), text.replace('\u{1}', ""));
        assert_eq!(shown_width("\u{1b}[1;31merror\u{1b}[0m: x"), 8);
    }
}
