//! The words of code, without those of strings and comments.
use std::path::Path;
use std::process::Command;

/// Words that only hostile texts bring along.
const FORBIDDEN: &[&str] =
    &["system", "__import__", "os", "alert", "pwned", "FORGED", "script", "http", "echo"];

/// How a language writes what is no code.
struct Lexis {
    comment: &'static str,
    quotes: &'static [&'static str],
    spliced: bool,
}

/// Code without strings and comments; an error where one has no end.
fn code(text: &str, lexis: &Lexis) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with(lexis.comment) {
            let end = rest.find('\n').unwrap_or(rest.len());
            if lexis.spliced && rest[..end].ends_with('\\') {
                return Err(format!("a comment that goes on: {}", &rest[..end]));
            }
            rest = &rest[end..];
        } else if let Some(quote) = lexis.quotes.iter().find(|quote| rest.starts_with(**quote)) {
            rest = string(&rest[quote.len()..], quote)?;
            out.push_str("''");
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    Ok(out)
}

/// What follows a string whose opening quote was taken.
fn string<'t>(text: &'t str, quote: &str) -> Result<&'t str, String> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && text[at..].starts_with(quote) {
            return Ok(&text[at + quote.len()..]);
        }
        if c == '\n' && quote.len() == 1 {
            break;
        }
        escaped = !escaped && c == '\\';
    }
    Err(format!("a string without an end: {}", text.lines().next().unwrap_or_default()))
}

fn words(text: &str, lexis: &Lexis) -> Result<(), String> {
    let code = code(text, lexis)?;
    if let Some(c) = code.chars().find(|c| !c.is_ascii()) {
        return Err(format!("{c:?} in code"));
    }
    let mut words = code.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    match words.find(|word| FORBIDDEN.contains(word)) {
        Some(word) => Err(format!("the word `{word}` in code: {text}")),
        None => Ok(()),
    }
}

/// Whether Python has only words of ours.
pub fn python(text: &str) -> Result<(), String> {
    words(text, &Lexis { comment: "#", quotes: &["\"\"\"", "'''", "\"", "'"], spliced: false })
}

/// Whether C or Rust has only words of ours.
pub fn c(text: &str) -> Result<(), String> {
    if text.contains("??") {
        return Err("a trigraph".to_string());
    }
    words(text, &Lexis { comment: "//", quotes: &["\""], spliced: true })
}

/// Has Python itself read all texts, where there is one.
pub fn parse(folder: &Path, texts: &[String]) {
    let read = "import ast, json, sys\nfor text in json.load(open('texts.json')):\n    ast.parse(text)\n";
    std::fs::write(folder.join("texts.json"), serde_json::to_string(texts).expect("JSON"))
        .expect("a writable folder");
    if let Ok(output) = Command::new("python3").current_dir(folder).args(["-c", read]).output() {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
