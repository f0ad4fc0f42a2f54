//! Every option of every command that takes a program works for ONNX models, or is refused by name: none is ignored.
use crate::command::with_input;
use std::collections::BTreeSet;

/// `x` and `w` are added, which needs equal sizes.
const MODEL: &str = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[batch, n] x, float[batch, m] w) => (float[batch, n] y) { y = Add(x, w) }";

/// What an option comes to.
enum Comes {
    /// The output changes, and has this text.
    To(&'static str),
    /// Only how long the answer takes changes.
    ToTheSame,
    /// It is refused by name.
    ToNothing,
}
use Comes::{To, ToNothing, ToTheSame};

/// The options of a command, each with a value if it takes one.
type Options = &'static [(&'static str, Option<&'static str>, Comes)];

/// Commands, with what follows the program.
const COMMANDS: &[(&str, &[&str], Options)] = &[
    (
        "check",
        &[],
        &[
            ("--spec", Some("FOLDER/spec.json"), To("ok")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--budget", Some("2"), ToTheSame),
            ("--format", Some("json"), To("\"verdict\": \"violated\"")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--color", Some("always"), To("\u{1b}[")),
            ("--fix", Some("FOLDER/fixed.onnx"), To("ok")),
            ("--timings", None, To("check ")),
            ("--all", None, To("outputs: ")),
            ("--quiet", None, To("violated, ")),
            ("--model", Some("model"), ToNothing),
            ("--trace", Some("trace.jsonl"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
            ("--source-root", Some("/"), ToNothing),
            ("--emit-smt2", Some("queries"), ToNothing),
            ("--certificate", Some("proofs"), ToNothing),
            ("--jobs", Some("2"), ToNothing),
            // With these, one file is judged as many are.
            ("--baseline", Some("FOLDER/none.json"), To("none.json")),
            ("--write-baseline", Some("FOLDER/baseline.json"), To("1 known finding")),
            ("--fail-on", Some("violated"), To("1 program: 1 violated")),
            ("--select", Some("unsupported-operator"), To("1 program: 1 ok")),
            ("--ignore", Some("unsupported-operator"), To("1 program: 1 violated")),
            ("--specs", Some("FOLDER"), To("1 program: ")),
            ("--memory", Some("512"), To("1 program: 1 violated")),
        ],
    ),
    (
        "spec init",
        &[],
        &[
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--as", Some("python"), To("dynamic_shapes = ")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
            ("--budget", Some("2"), ToNothing),
            ("--example", Some("{}"), ToNothing),
        ],
    ),
    (
        "spec widen",
        &[],
        &[
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--budget", Some("2"), ToTheSame),
            ("--as", Some("python"), To("dynamic_shapes = ")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "spec show",
        &[],
        &[
            ("--as", Some("json"), To("\"dim\": \"batch\"")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
        ],
    ),
    (
        "explain",
        &[],
        &[
            ("--dim", Some("w.1"), To("w.shape[1] is dynamic: m")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--format", Some("json"), To("\"restrictions\"")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--color", Some("always"), To("\u{1b}[")),
            ("--model", Some("model"), ToNothing),
            ("--store", None, ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
            ("--budget", Some("2"), ToNothing),
        ],
    ),
    (
        "guards",
        &[],
        &[
            ("--emit", Some("c"), To("sizewise_check")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "show",
        &[],
        &[
            ("--as", Some("dot"), To("digraph")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
            ("--full", None, ToNothing),
            ("--spec", Some("FOLDER/spec.json"), To("is for --as model-explorer")),
            ("--node-data", Some("FOLDER"), To("is for --as model-explorer")),
            ("--inline-bytes", Some("5"), ToNothing),
            ("--input-names", Some("a"), ToNothing),
            ("--output-names", Some("a"), ToNothing),
        ],
    ),
    (
        "eval",
        &["x=2,3", "w=2,1"],
        &[
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--jobs", Some("2"), ToTheSame),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "annotate",
        &[],
        &[
            ("--source", Some("FOLDER"), ToTheSame),
            ("--spec", Some("FOLDER/spec.json"), To("w: f32[batch, n]")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--format", Some("json"), To("\"unplaced\"")),
            ("--output", Some("FOLDER/out.txt"), To("written: ")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "bounds-of",
        &[],
        &[
            ("--spec", Some("FOLDER/bounded.json"), To("[2..8, 2..8]")),
            ("--value", Some("z"), To("no node makes a tensor `z`")),
            ("--format", Some("json"), To("\"exact\"")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "cost",
        &[],
        &[
            ("--at", Some("x=2,3"), To("= 24")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--format", Some("json"), To("\"activation_bytes\": ")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "plan",
        &[],
        &[
            ("--spec", Some("FOLDER/bounded.json"), To("arena             256 bytes")),
            ("--align", Some("3"), To("a power of two")),
            // There is no plan without a bound, in any format.
            ("--format", Some("json"), ToTheSame),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "fit",
        &["--memory", "1KB", "--maximize", "x.0", "--given", "x.1=4", "--given", "w.1=4"],
        &[
            ("--spec", Some("FOLDER/bounded.json"), To("no larger size is allowed")),
            ("--memory", Some("2KB"), To("cannot be used multiple times")),
            ("--maximize", Some("x.1"), To("cannot be used multiple times")),
            ("--given", Some("x.0=4"), To("is to be maximized, and is given")),
            ("--frontier", Some("w.1"), To("most x.0")),
            ("--plot", Some("FOLDER/out.txt"), To("--frontier")),
            ("--format", Some("json"), To("\"breaks\"")),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
    (
        "profile",
        &[],
        &[
            ("--spec", Some("FOLDER/bounded.json"), To("--maxShapes=x:8x8,w:8x8")),
            ("--for", Some("tensorrt"), ToTheSame),
            ("--buckets", Some("0"), To("buckets are from 1")),
            ("--padding", Some("much"), To("expected a share")),
            // There is no profile without a bound, in any format.
            ("--format", Some("json"), ToTheSame),
            ("--backend", Some("cuda"), To("the backend cuda is not supported for an ONNX model")),
            ("--model", Some("model"), ToNothing),
            ("--ops", Some("ops.toml"), ToNothing),
        ],
    ),
];

/// Commands that take exported programs alone.
const PROGRAMS_ONLY: &[&[&str]] = &[&["verify"], &["pass", "--run", "dce"], &["lower", "--to", "edge"]];

/// The long options in the help of a command.
fn options(command: &[&str]) -> BTreeSet<String> {
    let (_, help, _) = with_input(&[command, &["--help"]].concat(), "");
    let named = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let long = named.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
    long.filter(|option| *option != "--help").map(str::to_owned).collect()
}

/// Whether a command takes a program, and its own commands.
fn takes_a_program(command: &[&str]) -> bool {
    let (_, help, _) = with_input(&[command, &["--help"]].concat(), "");
    help.lines().any(|line| line.starts_with("Usage: ") && line.contains("<PROGRAM"))
}

/// The commands in a help text.
fn commands(of: &[&str]) -> Vec<String> {
    let (_, help, _) = with_input(&[of, &["--help"]].concat(), "");
    let below = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = below.lines().take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn no_option_is_ignored_for_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (model, written) = (at("model.onnx"), at("out.txt"));
    std::fs::write(&model, MODEL).expect("a file");
    let spec = "{\"x\": [null, {\"dim\": \"n\"}], \"w\": [null, {\"dim\": \"n\"}]}";
    std::fs::write(at("spec.json"), spec).expect("a file");
    let sizes = "[{\"dim\": \"b\", \"min\": 2, \"max\": 8}, {\"dim\": \"n\", \"min\": 2, \"max\": 8}]";
    std::fs::write(at("bounded.json"), format!("{{\"x\": {sizes}, \"w\": {sizes}}}")).expect("a file");
    for (command, arguments, known) in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let named: BTreeSet<String> = known.iter().map(|(option, ..)| (*option).to_owned()).collect();
        assert_eq!(options(&words), named, "the options of `{command}`");
        let run = |options: &[&str]| {
            let (code, text, error) =
                with_input(&[&words[..], &[model.as_str()][..], arguments, options].concat(), "");
            let file = std::fs::read_to_string(&written).map(|text| format!("written: {text}"));
            let _ = std::fs::remove_file(&written);
            (code, [text, error, file.unwrap_or_default()].concat())
        };
        let plain = run(&[]);
        for (option, value, comes) in *known {
            let value = value.map(|value| value.replace("FOLDER", &folder.path().display().to_string()));
            let given: Vec<&str> = [*option].into_iter().chain(value.as_deref()).collect();
            let (code, text) = run(&given);
            match comes {
                To(said) => assert!(text != plain.1 && text.contains(said), "{command} {option}: {text}"),
                ToTheSame => assert_eq!((code, &text), (plain.0, &plain.1), "{command} {option}"),
                ToNothing => {
                    let said = format!("{option} is not supported for an ONNX model");
                    assert!(code == 2 && text.contains(&said), "{command} {option}: {code} {text}");
                }
            }
        }
    }
}

#[test]
fn every_command_that_takes_a_program_is_known_here() {
    let mut found = BTreeSet::new();
    for command in commands(&[]) {
        let below = if command == "spec" { commands(&[&command]) } else { Vec::new() };
        for words in below.iter().map(|of| vec![command.as_str(), of]).chain([vec![command.as_str()]]) {
            if takes_a_program(&words) {
                found.insert(words.join(" "));
            }
        }
    }
    // Of several programs, each may be a model.
    found.insert("check".to_owned());
    let listed = COMMANDS.iter().map(|(name, ..)| *name).chain(PROGRAMS_ONLY.iter().map(|words| words[0]));
    assert_eq!(found, listed.map(str::to_owned).collect());
}

#[test]
fn commands_on_exported_programs_say_that_they_take_no_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("model.onnx").display().to_string();
    std::fs::write(&model, MODEL).expect("a file");
    for words in PROGRAMS_ONLY {
        let (code, _, error) = with_input(&[&words[..1], &[model.as_str()], &words[1..]].concat(), "");
        assert!(
            code == 3 && error.contains("an ONNX model; this command takes exported programs"),
            "{error}"
        );
    }
}

/// An archive is read under the name of a model, and a model under that of an archive.
#[test]
fn the_name_of_a_file_does_not_say_what_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (archive, model) = (at("program.onnx"), at("model.pt2"));
    std::fs::copy("examples/thirds.pt2", &archive).expect("a copy");
    std::fs::write(&model, MODEL).expect("a file");
    for words in [&["check"][..], &["spec", "init"], &["spec", "show"], &["explain"], &["guards"], &["show"]]
    {
        let (mut named, mut own) = (words.to_vec(), words.to_vec());
        named.push(&archive);
        own.push("examples/thirds.pt2");
        let (named, own) = (with_input(&named, ""), with_input(&own, ""));
        assert_eq!(
            named.1.replace(&archive, "FILE"),
            own.1.replace("examples/thirds.pt2", "FILE"),
            "{words:?}"
        );
        let (_, text, error) = with_input(&[words, &[model.as_str()]].concat(), "");
        assert!(text.contains("batch"), "{words:?}: {text}{error}");
    }
    let (code, text, error) = with_input(&["eval", &archive], "{\"shapes\": {}}\n");
    assert!(code == 0 && text.contains("\"ok\":true"), "{text}{error}");
    let (_, text, error) = with_input(&["eval", &model, "x=2,3", "w=2,3"], "");
    assert!(text.contains("output 0   [2, 3]"), "{text}{error}");
}
