//! Hostile texts, and what must not come of them.
use proptest::prelude::*;

/// What a text tries to begin a line with.
pub const MARK: &str = "FORGED!";

/// What texts are made of.
const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "\t",
    "\0",
    "\u{7}",
    "\u{1b}[31m",
    "\u{1b}]0;t\u{7}",
    "\u{9b}31m",
    "\u{85}",
    "\u{7f}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{2028}",
    "\u{ad}",
    "\u{e0041}",
    "::error file=x::pwned",
    "::set-output name=a::b",
    "##[error]pwned",
    "\n::error file=x::pwned",
    "\nFORGED!",
    "\n  FORGED!\n  ^",
    "\rFORGED!",
    "'",
    "\"",
    "`",
    "\\",
    "\"\"\"",
    "'''",
    "*/",
    "/*",
    "//",
    "??/",
    "-->",
    "<!--",
    "]]>",
    "</script>",
    "<script>alert(1)</script>",
    "&lt;",
    "x",
    "_",
    "1",
    "é",
    "ﬁ",
    "ｘ",
    "ª",
    "形",
    "x): import os; os.system('echo')#",
    "x[__import__('os').system('echo')]",
    "; system(1); //",
    "lambda",
    "class",
    "None",
    "self",
    "torch.os.system",
    "torch.ops.aten.",
    ".",
    ":",
    ",",
    ";",
    "|",
    "%0A",
    "%s",
    "{0}",
    "](http://x)",
    "%",
    "#",
    "$(x)",
    "=",
    "(",
    ")",
    "[",
    "]",
    " ",
    "    ",
    "-",
    "a\\\n",
    "\\u202e",
];

/// A text that somebody might hope something of.
pub fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 1..6).prop_map(|pieces| pieces.concat())
}

/// Whether a character cannot be seen, or makes others be seen elsewhere: told apart here by the standard's blocks.
fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(u32::from(c), 0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
            | 0xe0000..=0xe0fff)
}

/// Whether a text is safe to be printed; `commands` says whether its lines are the workflow commands of a report.
pub fn is_clean(text: &str, commands: bool) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| is_hidden(*c)) {
        return Err(format!("a hidden {c:?} in {text:?}"));
    }
    if text.contains("##[") {
        return Err(format!("a workflow command in {text:?}"));
    }
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with(MARK) {
            return Err(format!("a line of its own in {text:?}"));
        }
        if !start.starts_with("::") {
            continue;
        }
        let kinds = ["::error file=", "::warning file=", "::notice file="];
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind));
        let properties = rest.and_then(|rest| rest.split_once("::")).map(|(properties, _)| properties);
        let plain = properties.is_some_and(|properties| {
            let names: Vec<&str> =
                properties.split(',').skip(1).filter_map(|part| part.split('=').next()).collect();
            names == ["title"] || names == ["line", "endLine", "title"]
        });
        if !commands || !plain {
            return Err(format!("a workflow command {line:?}"));
        }
    }
    Ok(())
}

/// A text without the sequences for colour.
pub fn without_colour(text: &str) -> String {
    let mut text = text.to_string();
    for code in ["1;31", "1;33", "1;32", "31", "32", "33", "1", "2", "0"] {
        text = text.replace(&format!("\u{1b}[{code}m"), "");
    }
    text
}

/// Whether a page has the elements that every report has, and no others.
pub fn is_page(text: &str) -> Result<(), String> {
    let counts = ["<script", "</script", "<style", "<!--", "<title"].map(|tag| text.matches(tag).count());
    let data =
        text.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(data)
        .map_err(|error| format!("no JSON in the page: {error}"))?;
    if counts == [3, 3, 1, 0, 1] { Ok(()) } else { Err(format!("a page with other elements: {counts:?}")) }
}
