//! Laws of hostile text: whatever the names, texts and files of a request hold, no output of any command obeys them.
//!
//! A program's JSON gets texts in place of its own, at random; every command writes it in every form. The laws:
//! nothing hidden reaches the output, no line is a workflow command but those meant to be, no text begins a line of
//! its own, JSON is JSON, code holds no words but its own, and nothing panics.
use crate::campaign;
mod text;
mod words;

use campaign::{config, count, hold};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use text::{MARK, hostile};

/// What the text of an output is read by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Commands,
    Json,
    Html,
    Python,
    C,
}

/// The commands that take a program, with the form of what they write.
const FORMS: &[(&[&str], Form)] = &[
    (&["check"], Form::Text),
    (&["check", "--color", "always"], Form::Text),
    (&["check", "--format", "torch"], Form::Text),
    (&["check", "--format", "github"], Form::Commands),
    (&["check", "--format", "json"], Form::Json),
    (&["check", "--format", "sarif"], Form::Json),
    (&["check", "--format", "html"], Form::Html),
    (&["explain"], Form::Text),
    (&["explain", "--format", "json"], Form::Json),
    (&["show", "--as", "readable", "--full"], Form::Text),
    (&["show", "--as", "fx", "--full"], Form::Text),
    (&["show", "--as", "functions"], Form::Text),
    (&["show", "--as", "dot"], Form::Text),
    (&["show", "--as", "json"], Form::Json),
    (&["show", "--as", "python"], Form::Python),
    (&["guards", "--emit", "python"], Form::Python),
    (&["guards", "--emit", "c"], Form::C),
    (&["guards", "--emit", "rust"], Form::C),
    (&["guards", "--emit", "json"], Form::Json),
    (&["verify"], Form::Text),
    (&["verify", "--dialect", "core", "--format", "json"], Form::Json),
    (&["spec", "init"], Form::Json),
    (&["spec", "widen"], Form::Json),
    (&["pass", "--run", "dce,cse"], Form::Text),
    (&["lower"], Form::Text),
];

fn sizewise(folder: &Path, arguments: &[&str], input: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sizewise"));
    command.current_dir(folder).args(arguments).stdin(std::process::Stdio::null());
    if let Some(input) = input {
        std::fs::write(folder.join("input.jsonl"), input).expect("a writable folder");
        command.stdin(std::fs::File::open(folder.join("input.jsonl")).expect("the input"));
    }
    command.output().expect("a run")
}

/// What the output of a command breaks, if anything.
fn broken(output: &Output, form: Form) -> Result<(), String> {
    let read =
        |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "output that is no UTF-8".to_string());
    let (out, error) = (read(&output.stdout)?, read(&output.stderr)?);
    if matches!(output.status.code(), None | Some(70 | 101)) || error.contains("panicked") {
        return Err(format!("ends with {:?}: {error}", output.status.code()));
    }
    text::is_clean(&error, false)?;
    // Colour is the only thing that is allowed to be hidden.
    text::is_clean(&text::without_colour(&out), form == Form::Commands)?;
    match form {
        Form::Json if !out.is_empty() => {
            serde_json::from_str::<Json>(&out).map_err(|error| format!("no JSON: {error}"))?;
        }
        Form::Html if !out.is_empty() => text::is_page(&out)?,
        Form::Python => words::python(&out)?,
        Form::C => words::c(&out)?,
        _ => {}
    }
    Ok(())
}

/// The models of programs that take little time.
fn models() -> Vec<Json> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs =
        ["branch", "flatten", "masked", "area"].map(|name| root.join(format!("examples/{name}.pt2")));
    let more = [
        "cond_diff_shapes",
        "dd_split_tolist",
        "m_named_int_input",
        "const_inputs",
        "cop_list",
        "nested_conds",
    ]
    .map(|name| root.join(format!("tests/data/programs/{name}.pt2")));
    programs.iter().chain(&more).map(model).collect()
}

fn model(path: &PathBuf) -> Json {
    let mut archive =
        zip::ZipArchive::new(std::fs::File::open(path).expect("a program")).expect("an archive");
    let names: Vec<String> = archive.file_names().map(|name| name.expect("a name").into_owned()).collect();
    let name = names.iter().find(|name| name.ends_with("models/model.json")).expect("a model");
    serde_json::from_reader(archive.by_name(name).expect("an entry")).expect("JSON")
}

/// The texts of a document that are no part of its form: those that are values, each once.
fn texts(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::String(text) if !found.contains(text) => found.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Json::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// The document with a text, wherever it stands, replaced.
fn replaced(json: &Json, old: &str, new: &str) -> Json {
    match json {
        Json::String(text) if text == old => new.into(),
        Json::Array(items) => items.iter().map(|item| replaced(item, old, new)).collect(),
        Json::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                (if key == old { new.to_string() } else { key.clone() }, replaced(value, old, new))
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// A program with a few texts replaced, a stack trace among them, and the form it is written in.
fn attacked() -> impl Strategy<Value = (Json, usize)> {
    let models = models();
    let pick = (any::<prop::sample::Index>(), hostile());
    let picks = prop::collection::vec(pick, 1..4);
    let choice = (any::<prop::sample::Index>(), picks, prop::option::of(hostile()), 0..FORMS.len());
    choice.prop_map(move |(model, picks, trace, form)| {
        let mut model = models[model.index(models.len())].clone();
        let mut found = Vec::new();
        texts(&model, &mut found);
        for (index, new) in picks {
            model = replaced(&model, &found[index.index(found.len())], &new);
        }
        if let Some(trace) = trace {
            let frame = format!("  File \"{trace}.py\", line 3, in forward{trace}\n    {trace}\n");
            for node in model["graph_module"]["graph"]["nodes"].as_array_mut().into_iter().flatten() {
                node["metadata"]["stack_trace"] = frame.clone().into();
            }
        }
        (model, form)
    })
}

#[test]
fn no_text_of_a_program_is_obeyed() {
    let folder = tempfile::tempdir().expect("a folder");
    let python = Mutex::new(Vec::new());
    let mut runner = TestRunner::new(config(600));
    let law = |(model, form): (Json, usize)| {
        let (command, form) = FORMS[form];
        std::fs::write(folder.path().join("program.json"), model.to_string()).expect("a writable folder");
        let (name, options) = command.split_first().expect("a command");
        // Those with a subcommand take the program behind it.
        let mut arguments = vec![*name];
        match *name {
            "spec" => arguments.extend([options[0], "program.json"]),
            _ => {
                arguments.push("program.json");
                arguments.extend(options);
            }
        }
        let output = sizewise(folder.path(), &arguments, None);
        count(1);
        broken(&output, form).map_err(|why| TestCaseError::fail(format!("{arguments:?}: {why}")))?;
        if form == Form::Python {
            python.lock().expect("a lock").push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(())
    };
    runner.run(&attacked(), law).unwrap_or_else(|error| panic!("{error}"));
    words::parse(folder.path(), &python.into_inner().expect("a lock"));
}

#[test]
fn no_text_beside_a_program_is_obeyed() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/branch.pt2");
    std::fs::copy(program, folder.path().join("branch.pt2")).expect("a writable folder");
    let mut runner = TestRunner::new(config(300));
    runner
        .run(&(hostile(), 0..10usize), |(text, which)| {
            let path = |name: &str| folder.path().join(name);
            let write =
                |name: &str, content: String| std::fs::write(path(name), content).expect("a writable folder");
            // No file is called so.
            let name = text.replace(['/', '\0'], "_");
            write("spec.json", json!({"x": [{"dim": text, "min": 2}, {text.as_str(): text}]}).to_string());
            write("other.json", json!({text.as_str(): [text]}).to_string());
            write("ops.toml", format!("[[operator]]\nschema = {:?}\n{:?} = 3\n", text, text));
            let (arguments, form): (Vec<&str>, Form) = match which {
                0 => (vec!["check", "branch.pt2", "--spec", "spec.json"], Form::Text),
                1 => (vec!["check", "branch.pt2", "--spec", "spec.json", "--format", "json"], Form::Json),
                2 => (
                    vec!["check", "branch.pt2", "--spec", "other.json", "--format", "github"],
                    Form::Commands,
                ),
                3 => (vec!["check", "branch.pt2", "--spec", "other.json", "--format", "torch"], Form::Text),
                4 => (vec!["check", "branch.pt2", "--ops", "ops.toml"], Form::Text),
                5 => (vec!["check", &name], Form::Text),
                6 => (vec!["explain", "branch.pt2", "--dim", &name], Form::Text),
                7 => (vec!["spec", "init", "branch.pt2", "--example", &name], Form::Text),
                8 => (vec!["pass", "branch.pt2", "--run", &name], Form::Text),
                _ => (vec!["ops", "--format", &name], Form::Text),
            };
            // What begins with a dash is an option, and asking for help is none of an attack's business.
            prop_assume!(!name.is_empty() && !name.starts_with('-'));
            count(1);
            let output = sizewise(folder.path(), &arguments, None);
            broken(&output, form).map_err(|why| TestCaseError::fail(format!("{arguments:?}: {why}")))
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn no_text_of_a_query_is_obeyed() {
    let mut runner = TestRunner::new(config(1500));
    let queries = queries();
    let choice = (0..queries.len(), any::<prop::sample::Index>(), hostile());
    runner
        .run(&choice, |(which, index, text)| {
            let (command, query) = &queries[which];
            let mut found = Vec::new();
            texts(query, &mut found);
            found.extend(["s0", "op", "goal", "tensor", "shape"].map(str::to_string));
            let query = replaced(query, &found[index.index(found.len())], &text);
            count(1);
            let answer =
                sizewise::cli::answer_line(command, query.to_string().as_bytes()).expect("an answer");
            prop_assert!(!answer.contains('\n'), "{answer:?}");
            prop_assert!(serde_json::from_str::<Json>(&answer).is_ok(), "{answer}");
            text::is_clean(&answer, false).map_err(TestCaseError::fail)
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Requests that are answered, by command.
fn queries() -> [(&'static str, Json); 5] {
    let tensor = json!({"tensor": {"shape": ["s0", 3], "dtype": "float32", "device": "cpu"}});
    [
        ("entail", json!({"id": "i", "symbols": {"s0": {"min": 2}}, "given": ["s0 > 3"], "goal": "s0 > 2"})),
        (
            "simplify",
            json!({"id": "i", "symbols": {"s0": {"min": 2}}, "given": ["s0 > 3"], "expr": "s0 + 1"}),
        ),
        ("bounds", json!({"id": "i", "symbols": {"s0": {"min": 2}}, "given": ["s0 > 3"], "expr": "s0 + 1"})),
        ("minimize", json!({"id": "i", "symbols": {"s0": {"min": 2}}, "guards": ["s0 > 3", "s0 > 2"]})),
        (
            "infer",
            json!({"id": "i", "op": "aten.sum.default", "args": [tensor], "kwargs": {"dtype": {"dtype": "float32"}},
            "symbols": {"s0": {"min": 2, "hint": 4}}}),
        ),
    ]
}

/// A name that is one of these with a letter changed, left out, doubled or swapped; or any other.
fn misspelt() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "symbols", "given", "goal", "expr", "guards", "op", "args", "kwargs", "min", "max", "hint", "shape",
        "dtype", "stride",
    ];
    let slip =
        (prop::sample::select(KNOWN), any::<prop::sample::Index>(), 0..4u8).prop_map(|(name, at, slip)| {
            let mut letters: Vec<char> = name.chars().collect();
            let at = at.index(letters.len());
            match slip {
                0 => letters[at] = 'q',
                1 => drop(letters.remove(at)),
                2 => letters.insert(at, letters[at]),
                _ => letters.swap(at, 0),
            }
            letters.into_iter().collect::<String>()
        });
    prop_oneof![4 => slip, 1 => hostile(), 1 => prop::sample::select(KNOWN).prop_map(str::to_string)]
}

#[test]
fn a_field_that_nothing_reads_is_an_error_wherever_it_stands() {
    let places = [
        ("", "id symbols given goal expr guards op args kwargs"),
        ("/symbols/s0", "min max hint"),
        ("/args/0/tensor", "shape dtype stride storage_offset device layout"),
    ];
    hold(1500, &(0..5usize, 0..places.len(), misspelt()), |(which, place, field)| {
        let (command, mut query) = queries()[which].clone();
        let (place, known) = places[place];
        let own = |command: &str| match command {
            "entail" => "id symbols given goal certificate",
            "minimize" => "id symbols guards",
            "infer" => "id op args kwargs symbols",
            _ => "id symbols given expr",
        };
        let known = if place.is_empty() { own(command) } else { known };
        let object = query.pointer_mut(place).and_then(Json::as_object_mut);
        prop_assume!(object.is_some() && !known.split(' ').any(|name| name == field));
        object.expect("an object").insert(field.clone(), json!(1));
        count(1);
        let answer = sizewise::cli::answer_line(command, query.to_string().as_bytes()).expect("an answer");
        let answer: Json = serde_json::from_str(&answer).expect("JSON");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        let near = message.split("the nearest is `").nth(1).and_then(|rest| rest.split('`').next());
        prop_assert!(near.is_some_and(|near| known.split(' ').any(|name| name == near)), "{answer}");
        Ok(())
    });
}

#[test]
fn what_is_looked_for_is_found() {
    for (text, found) in [
        ("\u{1b}[31m", "hidden"),
        ("a\u{202e}b", "hidden"),
        (" ::error file=x::", "workflow command"),
        ("x ##[error]", "workflow command"),
        (&format!("a\n  {MARK}"), "line of its own"),
    ] {
        let error = text::is_clean(text, false).expect_err(text);
        assert!(error.contains(found), "{error}");
    }
    assert!(text::is_clean("::error file=a.py,line=3,endLine=3,title=sizewise x::m", true).is_ok());
    assert!(text::is_clean("::set-env name=a::m", true).is_err());
    assert!(words::python("x = system").is_err() && words::python("x = 'system' # system").is_ok());
    assert!(words::c("// system \\\nint x;").is_err() && words::c("return \"system\";").is_ok());
    assert!(words::c("int system;").is_err());
}
