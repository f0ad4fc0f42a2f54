//! The table of rules, as `docs/verifier.md` has it.
use super::rule::{Profile, Rule};
use std::fmt::Write;

/// The table in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Rules of the verifiers\n\n\
         `sizewise verify PROGRAM --dialect training|aten|core|edge|backend` reports every violation with its\n\
         code. A finding is an *error* (exit status 1), *undecided* (exit status 4) if what is known does not decide\n\
         it, or a *warning* (which does not change the exit status). Each section lists the dialects that have its\n\
         rules.\n\n\
         `--core-exception OP` and `--preserve OP` allow operators that are not in the core ATen set, as\n\
         `_core_aten_ops_exception_list` and `preserve_ops` of ExecuTorch's `EdgeCompileConfig` do;\n\
         `--edge-yaml FILE` reads the dtypes of Edge operators from a file in the format of ExecuTorch's edge.yaml;\n\
         `sizewise ops --edge OP` prints the dtypes of an operator.\n\n\
         This page is generated from the rules in `crates/verify/src/rule.rs`:\n\
         `SIZEWISE_WRITE_DOCS=1 cargo test --test tests verify`.\n",
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
        let level = rule.level().name();
        let _ = writeln!(text, "| `{}` | {level} | {} | {} |", rule.code(), rule.statement(), rule.source());
    }
    text
}
