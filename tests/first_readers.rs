//! What the first readers of reports found wrong, a statement each about what reports say now.
use crate::command::with_input;
use serde_json::Value as Json;
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The path of a program of `tests/data/users`.
fn program(name: &str) -> String {
    root().join(format!("tests/data/users/{name}.pt2")).to_str().expect("a path").to_owned()
}

/// Standard output of a command that ends with this status and says nothing on standard error.
#[track_caller]
fn run(arguments: &[&str], input: &str, status: i32) -> String {
    let (code, out, error) = with_input(arguments, input);
    assert!(code == status && error.is_empty(), "{arguments:?}: {code}\n{out}{error}");
    out
}

/// The report of a program under a spec in Python, as text.
fn check(name: &str, spec: &str) -> String {
    run(&["check", &program(name), "--spec", "-"], spec, 1)
}

#[test]
fn reports_say_what_is_true_and_nothing_else() {
    let forgotten = "dynamic_shapes = {'x': (Dim('b'), Dim.DYNAMIC), 'y': {0: Dim('b')}}";
    let named = "dynamic_shapes = {'x': (Dim('b'), Dim('t')), 'y': {0: Dim('b')}}";
    for (name, spec, says, never_says) in [
        // `height * width == x.shape[1]`, both at least 2: 9 and 15 work, so no parity is needed, and its fix loses something.
        (
            "image_tokens",
            "dynamic_shapes = {'x': (Dim.AUTO, Dim.AUTO), 'h': None, 'w': None}",
            &["where no data pass the program's own checks"][..],
            &["break `x.shape[1] % 2", "loses no shapes", "_check(x.shape[1]"][..],
        ),
        // The code is one `+`: the spec left the size static, and the fix gives it its dimension.
        (
            "sum_of_two",
            forgotten,
            &[
                "your spec leaves y.shape[1] static at 10, and it has to be equal to x.shape[1]",
                "# y.shape[1] is Dim.DYNAMIC, as x.shape[1]",
            ],
            &["as a number", "int()"],
        ),
        (
            "sum_of_two",
            named,
            &["your spec leaves y.shape[1] static at 10", "'y': {0: b, 1: t}"],
            &["as a number", "int()"],
        ),
        // torch takes the named dimension, and no Python computes `4*Dim.AUTO`.
        (
            "quarters",
            "k = Dim('k', min=1, max=20)\ndynamic_shapes = {'x': (4*k, None)}",
            &[
                "fix 1         k = Dim('k', min=2, max=20)\n              proved; loses no shapes that this export serves\n",
            ],
            &["AUTO", "refuses them"],
        ),
        // The nearest size that breaks a condition, and the nearest that works.
        (
            "pooled_thrice",
            "dynamic_shapes = {'x': (Dim('b', min=2), None, Dim('t', min=2, max=4000))}",
            &["t = 74\n", "  works         x: f32[2, 3, 75]\n", "t = Dim('t', min=75, max=4000)"],
            &["t = 32"],
        ),
        // A later error says as well that its line is none of a branch.
        (
            "patches_of_2",
            "dynamic_shapes = {'x': (Dim('b', min=1), Dim('h', min=1), Dim('w', min=1), None)}",
            &["`w >= 4`, and `h >= 4`\n", "(the line is where the size first appears)\n"],
            &[],
        ),
    ] {
        let text = check(name, spec);
        for part in says {
            assert!(text.contains(part), "{name}: {part}\n{text}");
        }
        for part in never_says {
            assert!(!text.contains(part), "{name}: {part}\n{text}");
        }
    }
}

#[test]
fn sizes_that_a_fix_rejects_are_evaluated() {
    for (n, word) in [(9, "accepted"), (15, "accepted"), (12, "accepted"), (13, "refused"), (3, "refused")] {
        let status = i32::from(word == "refused");
        let text = run(&["eval", &program("image_tokens"), &format!("x=2,{n}")], "", status);
        assert!(text.starts_with(word), "{n}: {text}");
    }
}

#[test]
fn a_model_that_runs_at_no_size_is_called_so() {
    let model = "<ir_version: 8, opset_import: [\"\" : 17]>
                 g (float[n, 5] x, float[6, 3] w) => (float[n, 3] out) { out = MatMul(x, w) }";
    let text = run(&["check", "-"], model, 1);
    let says = "error[guard-not-implied]: the model runs at no size: it needs that the inner sizes of A and B are equal\n";
    assert!(text.contains(says) && text.contains("inner sizes: 5 != 6"), "{text}");
    assert!(text.contains("no fix        the model itself is wrong"), "{text}");
}

/// The fix that is written and the fix that is shown are the same, and what is written is a spec under which nothing is violated.
#[test]
fn the_written_fix_is_the_one_that_is_shown() {
    for (name, spec, shown) in [
        (
            "quarters",
            "k = Dim('k', min=1, max=20)\ndynamic_shapes = {'x': (4*k, None)}",
            "k = Dim('k', min=2, max=20)",
        ),
        (
            "pooled_thrice",
            "dynamic_shapes = {'x': (Dim('b', min=2), None, Dim('t', min=2, max=4000))}",
            "t = Dim('t', min=75, max=4000)",
        ),
        (
            "image_tokens",
            "dynamic_shapes = {'x': (Dim.AUTO, Dim.AUTO), 'h': None, 'w': None}",
            "_x_1 = Dim('_x_1', min=2)",
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("fixed.py").to_str().expect("a path").to_owned();
        let text = check(name, spec);
        with_input(&["check", &program(name), "--spec", "-", "--fix", &out], spec);
        let written = fs::read_to_string(&out).expect("a spec");
        assert!(written.lines().any(|line| line == shown) && text.contains(shown), "{written}{text}");
        let (used, assigned) = (written.find("dynamic_shapes"), written.find(shown));
        assert!(assigned < used, "{written}");
        run(&["check", &program(name), "--spec", &out], "", 0);
    }
}

#[test]
fn several_programs_are_checked_in_one_call() {
    let (first, second) = (program("sum_of_two"), program("twice"));
    for format in ["json", "github"] {
        let (code, text, summary) = with_input(&["check", &first, &second, "--format", format], "");
        assert!(code == 0 && summary == "sizewise: 2 programs: 2 ok\n", "{format}: {code} {summary}");
        let reports = serde_json::from_str(&text).ok().and_then(|json: Json| Some(json.as_array()?.len()));
        assert_eq!(reports, (format == "json").then_some(2), "{text}");
    }
}

/// `h=[]` stands for a tensor without dimensions wherever shapes are shown and read. Its value is data.
#[test]
fn a_tensor_without_dimensions_has_no_sizes_to_give() {
    let image = program("image_tokens");
    for (inputs, status, says) in [
        (&["x=2,12", "h=[]", "w=[]"][..], 0, "accepted"),
        (&["x=2,12", "h=", "w="], 0, "accepted"),
        (&["h=3"], 1, "refused: h has no dimensions, not 1: its sizes are [], and its value is data\n"),
        (&["x=2,12,1"], 1, "refused: x has 2 dimensions, not 3\n"),
    ] {
        let arguments: Vec<&str> = ["eval", &image].iter().chain(inputs).copied().collect();
        let text = run(&arguments, "", status);
        assert!(text.starts_with(says), "{inputs:?}: {text}");
    }
    let (code, _, error) = with_input(&["eval", &image, "h"], "");
    assert!(code == 2 && error.contains("`x=[]` for a tensor without dimensions"), "{error}");
    // Of a model it has a value, and its sizes say what it is all the same.
    let model = "<ir_version: 8, opset_import: [\"\" : 17]> g (float k) => (float y) { y = Relu(k) }";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("k.txt").to_str().expect("a path").to_owned();
    fs::write(&path, model).expect("a model");
    for given in ["k=[]", "k=3"] {
        assert!(run(&["eval", &path, given], "", 0).starts_with("accepted"), "{given}");
    }
}

#[test]
fn inputs_of_a_difference_are_shown_as_they_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let image = fs::read(program("image_tokens")).expect("an archive");
    let json = write_json(&read(&image, &ReadOptions::default()).expect("a program")).expect("JSON");
    for (name, least) in [("old.json", 4), ("new.json", 6)] {
        let changed = json.replace("\"min_val\": 4", &format!("\"min_val\": {least}"));
        assert!(least == 4 || changed != json, "{json}");
        fs::write(path(name), changed).expect("a program");
    }
    let text = run(&["diff", &path("old.json"), &path("new.json")], "", 1);
    let shown =
        text.lines().find_map(|line| line.split_once(": OLD accepts, NEW refuses")).expect("an example");
    assert!(shown.0.split_whitespace().any(|input| input == "h=[]"), "{text}");
    let inputs: Vec<&str> = shown.0.split_whitespace().collect();
    for (name, status) in [("old.json", 0), ("new.json", 1)] {
        let of = path(name);
        run(&[&["eval", of.as_str()], inputs.as_slice()].concat(), "", status);
    }
}

#[test]
fn a_spec_within_a_block_is_refused_with_the_block() {
    let exported = "ep = export(m, a, dynamic_shapes={'x': (Dim.AUTO,)})";
    for (block, name) in [("if __name__ == '__main__':", "`if`"), ("def main():", "`def`")] {
        let script = format!("{block}\n    {exported}\n");
        let (code, _, error) = with_input(&["check", &program("twice"), "--spec", "-"], &script);
        assert!(code == 2 && error.contains(name) && error.contains("line 1"), "{block}: {error}");
        assert!(error.contains("move it out of the block, to the beginning of a line"), "{block}: {error}");
    }
    let (code, _, error) = with_input(&["check", &program("twice"), "--spec", "-"], &format!("{exported}\n"));
    assert!(code <= 1 && error.is_empty(), "{error}");
}

/// What a sentence counts of recorded traces: `10,144 questions`.
fn counts(text: &str) -> BTreeSet<(&'static str, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let Some(noun) = ["questions", "traces"].into_iter().find(|noun| word.starts_with(noun)) else {
            continue;
        };
        let before = words[at.saturating_sub(3)..at].iter().rev();
        let is_count = |word: &&&str| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word.chars().all(|c| c.is_ascii_digit() || c == ',')
        };
        found.extend(
            before.take_while(|word| !word.ends_with('.')).find(is_count).map(|n| (noun, (*n).to_owned())),
        );
    }
    found
}

/// A page without the lines that show what a command prints, which other tests compare.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut kept = Vec::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        if !is_code && !line.starts_with("    ") {
            kept.push(line);
        }
    }
    kept.join("\n")
}

#[test]
fn the_manual_counts_recorded_questions_once() {
    let pages = [root(), root().join("docs")].into_iter().flat_map(|folder| {
        let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
        files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect::<Vec<_>>()
    });
    // A log of changes tells what was so at the time.
    let pages: Vec<PathBuf> = pages.filter(|path| !path.ends_with("CHANGELOG.md")).collect();
    assert!(pages.iter().any(|path| path.ends_with("store.md")), "{pages:?}");
    let recorded = |path: &Path| {
        let page = prose(&fs::read_to_string(path).expect("a page"));
        page.split("\n\n").filter(|part| part.contains("recorded")).flat_map(counts).collect::<BTreeSet<_>>()
    };
    let all: BTreeSet<_> = pages.iter().flat_map(|path| recorded(path)).collect();
    for noun in ["questions", "traces"] {
        let different: Vec<_> = all.iter().filter(|(of, _)| *of == noun).collect();
        assert!(different.len() <= 1, "{different:?}");
    }
}

#[test]
fn counts_of_questions_are_found_in_sentences() {
    for (text, expected) in [
        ("Of 10,144 questions in 255 recorded traces", &[("questions", "10,144"), ("traces", "255")][..]),
        ("the 8,892 questions of 255 traces.", &[("questions", "8,892"), ("traces", "255")]),
        ("100,000 new questions take", &[("questions", "100,000")]),
        ("thousands of questions about 3 sizes", &[]),
        ("in 2026. Questions", &[]),
    ] {
        let expected = expected.iter().map(|(noun, n)| (*noun, (*n).to_owned())).collect();
        assert_eq!(counts(text), expected, "{text}");
    }
}

#[test]
fn an_explanation_says_what_is_asked_and_of_what() {
    for (code, says) in [
        ("_assert_scalar.C1", "The asserted condition is true: one of `torch._check` in the code"),
        ("Conv.C4", "The kernel fits into the padded input"),
    ] {
        let text = run(&["explain", code], "", 0);
        assert!(text.starts_with(code) && text.contains(says), "{text}");
    }
    let (code, _, error) = with_input(&["explain", "E0308"], "");
    assert!(code == 3 && error.contains("`E0308` is not a diagnostic code"), "{error}");
}
