//! The table of rules, as `docs/verifier.md` has it.

use std::fmt::Write;

use super::rule::{Profile, Rule};

/// The table in Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Rules of the verifiers\n\n\
         `sizewise verify PROGRAM --dialect training|aten|core|edge|backend` reports every violation with its code. A finding is an\n\
         *error* (exit status 1), *undecided* (exit status 4) where what is known here does not tell, or a *warning* (no change of the\n\
         exit status). Each dialect has the rules of the sections that it is listed with.\n\n\
         `--core-exception OP` and `--preserve OP` admit operators that are not of the core ATen set, as `_core_aten_ops_exception_list`\n\
         and `preserve_ops` of ExecuTorch's `EdgeCompileConfig` do; `--edge-yaml FILE` takes the dtypes of Edge operators from a file of\n\
         the form of ExecuTorch's edge.yaml; `sizewise ops --edge OP` prints the dtypes that an operator takes.\n\n\
         This page is generated from the rules in `crates/tools/src/verify/rule.rs`: `SIZEWISE_WRITE_DOCS=1 cargo test --test tests verify`.\n",
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
