//! The reference of the manual says what the program says: its commands, codes, settings and the fields of a report.
//! `SIZEWISE_WRITE_DOCS=1` writes the pages anew.
use crate::command::with_input;
use serde_json::Value;
use sizewise::report::CODES;
use std::fmt::Write as _;
use std::path::Path;

const WRITTEN: &str =
    "This page is generated from the program: `SIZEWISE_WRITE_DOCS=1 cargo test --test tests reference`.";

const STATUSES: &str = "| exit status | meaning |
| ---: | --- |
| 0 | clean |
| 1 | something is violated |
| 2 | wrong usage or spec, or a file that an option names cannot be used |
| 3 | a program cannot be read or is not supported; of JSON lines: a line could not be read |
| 4 | something is undecided |
| 70 | an error inside sizewise |
";

/// What a command prints.
fn printed(arguments: &[&str]) -> String {
    let (status, text, error) = with_input(arguments, "");
    assert_eq!(status, 0, "{arguments:?}: {error}");
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The commands that a help lists, each with what it does.
fn listed(help: &str) -> Vec<(String, String)> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        match line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) {
            Some(entry) => {
                let (name, about) = entry.split_once(' ').expect("a command and what it does");
                found.push((name.to_owned(), about.trim().to_owned()));
            }
            None => {
                let about = &mut found.last_mut().expect("a command").1;
                *about = format!("{about} {}", line.trim());
            }
        }
    }
    found.retain(|(name, _)| name != "help");
    found
}

fn commands() -> String {
    let mut page = format!(
        "# Commands\n\n{WRITTEN}\n\n`sizewise help start` says where to start.\n\n| command | what it does |\n| --- | --- |\n"
    );
    let all = listed(&printed(&["--help"]));
    for (name, about) in &all {
        writeln!(page, "| [`{name}`](#sizewise-{name}) | {} |", about.replace('|', "\\|")).expect("text");
    }
    write!(page, "\n{STATUSES}").expect("text");
    for (name, _) in &all {
        let help = printed(&[name, "--help"]);
        write!(page, "\n## sizewise {name}\n\n```text\n{help}\n```\n").expect("text");
        for (part, _) in listed(&help) {
            let help = printed(&[name, &part, "--help"]);
            write!(page, "\n### sizewise {name} {part}\n\n```text\n{help}\n```\n").expect("text");
        }
    }
    page
}

fn codes() -> String {
    let mut page = format!(
        "# Codes\n\n{WRITTEN}\n\n`sizewise explain CODE` prints the same. Codes of operators' conditions (`pointwise.C1`) are \
         listed [with the operators](../coverage.md), those of a dialect's rules [with the verifiers](../verifier.md).\n"
    );
    let mut codes = CODES.to_vec();
    codes.sort_unstable();
    for (code, meaning) in codes {
        write!(page, "\n## {code}\n\n{}\n", in_text(meaning)).expect("text");
    }
    page
}

/// A sentence of the program as Markdown, where `<` and `*` have a meaning.
fn in_text(sentence: &str) -> String {
    sentence.replace('<', "\\<").replace('*', "\\*")
}

/// An option of a help: its lines, without the indentation.
fn option<'h>(help: &'h str, name: &str) -> Vec<&'h str> {
    let head = format!("--{name} ");
    let mut lines = help.lines().skip_while(|line| !line.trim_start().starts_with(&head)).skip(1);
    let mut found = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.trim_start().starts_with('-')) {
        if line.trim().is_empty() {
            break;
        }
        found.push(line.trim());
    }
    found
}

fn configuration() -> String {
    let help = printed(&["check", "--help"]);
    let mut page = format!(
        "# Configuration\n\n{WRITTEN}\n\nA project keeps options of `check` in `sizewise.toml`, or in `[tool.sizewise]` of \
         `pyproject.toml`, of the current folder or the nearest one around it. Paths are relative to the folder of the file. The \
         command line goes before it. A key that is not known is an error.\n\n| key | what it says |\n| --- | --- |\n"
    );
    for key in keys() {
        let says = option(&help, &key);
        assert!(!says.is_empty(), "`check` has no option --{key}");
        writeln!(page, "| `{key}` | {} |", says.join(" ").replace('|', "\\|")).expect("text");
    }
    page.push_str(
        "\nThe options of the service are those of [`sizewise serve`](commands.md#sizewise-serve).\n\n\
         Colour follows `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `FORCE_COLOR` and `TERM` (see `--color`).\n",
    );
    page
}

/// The keys of a project's file: the error about one that is not known lists them.
fn keys() -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("sizewise.toml"), "nonsense = 1\n").expect("a file");
    let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
    let output = command.current_dir(folder.path()).args(["check", "."]).output().expect("a run");
    let error = String::from_utf8(output.stderr).expect("text");
    let (_, known) = error.split_once("known: ").unwrap_or_else(|| panic!("no keys: {error}"));
    let keys: Vec<String> = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(keys.len() > 5, "{error}");
    keys
}

fn report_fields() -> String {
    let text = include_str!("../data/report.schema.json");
    let schema: Value = serde_json::from_str(text).expect("a schema");
    let mut page = format!(
        "# Fields of the report\n\n{WRITTEN} It says what `data/report.schema.json` says. [The report in JSON](../report_json.md) \
         starts with the fields that most readers want.\n"
    );
    fields(&mut page, "Report", &schema);
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        fields(&mut page, name, definition);
    }
    page
}

/// The section of a definition.
fn fields(page: &mut String, name: &str, definition: &Value) {
    write!(page, "\n## {name}\n\n{}\n", said(definition)).expect("text");
    if let Some(properties) = definition["properties"].as_object() {
        page.push_str("\n| field | type | meaning |\n| --- | --- | --- |\n");
        for (field, schema) in properties {
            writeln!(page, "| `{field}` | {} | {} |", kind(schema), said(schema)).expect("text");
        }
    }
    let choices = definition["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let choices: Vec<String> = choices.map(|choice| format!("`{choice}`")).collect();
    if !choices.is_empty() {
        write!(page, "\nOne of {}.\n", choices.join(", ")).expect("text");
    }
}

/// The description of a schema, as text of a table.
fn said(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    in_text(&text.replace("[`", "`").replace("`]", "`").replace('\n', " ").replace('|', "\\|"))
}

/// The type that a schema asks for.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(of) if of == "array" && schema.get("items").is_some() => {
            format!("array of {}", kind(&schema["items"]))
        }
        Value::String(of) if of == "object" && schema["additionalProperties"].is_object() => {
            format!("object of {}", kind(&schema["additionalProperties"]))
        }
        Value::String(of) => of.clone(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

#[test]
fn the_reference_of_the_manual_is_what_the_program_says() {
    let mut stale = Vec::new();
    for (name, text) in [
        ("commands", commands()),
        ("codes", codes()),
        ("configuration", configuration()),
        ("report_fields", report_fields()),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/reference/{name}.md"));
        if std::env::var_os("SIZEWISE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("a writable folder");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "{stale:?} are stale: SIZEWISE_WRITE_DOCS=1 cargo test --test tests reference");
}
