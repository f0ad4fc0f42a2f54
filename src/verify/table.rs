//! The table of rules, as `docs/verifier.md` has it.

use std::fmt::Write;

use super::rule::{Level, Profile, Rule};

/// The table in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Rules of the verifiers\n\n\
         `sizewise verify PROGRAM --dialect training|aten|core|edge|backend` reports every violation with its code. A finding is an\n\
         *error* (exit status 1), or *undecided* (exit status 4) where what is known here does not tell. Each dialect has the\n\
         rules of the sections that it is listed with.\n\n\
         This page is generated from the rules in `src/verify/rule.rs`: `SIZEWISE_WRITE_DOCS=1 cargo test --test verify`.\n",
    );
    let mut section = None;
    for rule in Rule::ALL {
        if section != Some(rule.section()) {
            section = Some(rule.section());
            let dialects: Vec<&str> = Profile::ALL
                .iter()
                .filter(|profile| profile.has(rule.section()))
                .map(|profile| profile.name())
                .collect();
            let title = rule.section().title();
            // Writing to a string cannot fail.
            let _ = write!(text, "\n## {title}\n\nDialects: {}\n\n", dialects.join(", "));
            text.push_str("| code | finding | rule | source |\n| --- | --- | --- | --- |\n");
        }
        let level = match rule.level() {
            Level::Error => "error",
            Level::Undecided => "undecided",
        };
        let _ = writeln!(text, "| `{}` | {level} | {} | {} |", rule.code(), rule.statement(), rule.source());
    }
    text
}
