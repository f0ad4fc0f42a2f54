//! What `sizewise check` says of ONNX models, in every form of the report.
use assert_cmd::Command;
use serde_json::Value;
use sizewise::onnx::check::report;
use sizewise::onnx_model::read::Model;
use sizewise::report::{Assumed, GuardReport, GuardVerdict, Style, to_text};
use sizewise::solve::Budget;
use std::path::PathBuf;

/// `sizewise check` of the text of a model: the exit status, standard output and standard error.
pub fn check(body: &str, options: &[&str]) -> (i32, String, String) {
    run(body, "", options)
}

/// As [`check`], with a spec in `spec.json`.
pub fn run(body: &str, spec: &str, options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("model.onnx");
    let head = "<ir_version: 8, producer_name: \"pytorch\", opset_import: [\"\" : 17]>";
    std::fs::write(&path, format!("{head}\n{body}\n")).expect("a file");
    std::fs::write(folder.path().join("spec.json"), spec).expect("a file");
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .current_dir(folder.path())
        .args(if options.contains(&"model.onnx") { &[][..] } else { &["check", "model.onnx"] })
        .args(options)
        .output()
        .expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("a status"), text(output.stdout), text(output.stderr))
}

const SUM: &str = "g (float[batch, n] x, float[batch, m] w) => (float[batch, n] y) { y = Add(x, w) }";
const KERNELS: &str = "g (float[batch, 3, height, 9] x) => (float[batch, 8, a, b] z) {
    sizes = Constant<value_ints = [8, 3, 5, 5]>()
    k = ConstantOfShape<value = float[1] {0.1}>(sizes)
    y = Conv(x, k)
    z = MaxPool<kernel_shape = [3, 3]>(y)
}";

#[test]
fn texts_name_the_node_an_example_and_a_fix() {
    for (body, status, lines) in [
        (
            SUM,
            1,
            &[
                "model.onnx: violated, 1 error",
                "1 node, 3 dynamic dimensions, ONNX, opset 17, made by pytorch",
                "error[guard-not-implied]: the model declares shapes that break `m == 1 or m == n or n == 1`",
                "  needed by     y = Add (Broadcast.C1: sizes at each dimension, counted from the last, are equal or one of them is 1)",
                "fix 1         declare w.shape[1] as n",
                "              proved; also rejects shapes that work, such as x: [4, 4], w: [4, 1]",
            ][..],
        ),
        // A minimum size that several nodes need is one error.
        (
            KERNELS,
            1,
            &[
                "error[guard-not-implied]: the model declares shapes that break `height >= 6`, a bound, which an ONNX file cannot declare",
                "  for example   x: f32[7, 3, 5, 9]   batch = 7, height = 5",
                "violated: 1 error; 1 more condition holds once it is fixed; 1 fix, proved (--all shows everything)",
                "  works         x: f32[7, 3, 6, 9]",
                "              height = Dim('height', min=6)",
                "              dynamic_shapes = {'x': [batch, None, height, None]}",
                "              an ONNX file declares no ranges: refuse other sizes before the model runs, or check it under this spec (--fix spec.py, then --spec spec.py)",
            ][..],
        ),
        // Sizes that are to be equal and no broadcast.
        (
            "g (float[batch, n] x, float[m, 4] w) => (float[batch, 4] y) { y = MatMul(x, w) }",
            1,
            &[
                "error[guard-not-implied]: the model declares shapes that break `m == n`",
                "              proved; loses no shapes that this export serves",
            ][..],
        ),
        (
            "g (float[a] x, float[b] w, float[c, d] v) => (float[e] y) { s = Concat<axis = 0>(x, w) y = MatMul(s, v) }",
            1,
            &["fix 1         declare v.shape[0] as a + b"][..],
        ),
        (
            "g (float[batch] x) => (float[4] y) { y = Relu(x) }",
            1,
            &[
                "error[shape-mismatch]: `y.shape[0]` is declared as 4 but computed as batch",
                "fix 1         declare y.shape[0] as batch",
            ][..],
        ),
        // One of the sizes has no name.
        (
            "g (float[batch, ?] x, float[m, 4] w) => (float[batch, 4] y) { y = MatMul(x, w) }",
            1,
            &["fix 1         declare x.shape[1] as m", "              proved; loses no shapes that this export serves"][..],
        ),
        // A sum in a broadcast is no size that may be 1 by itself: these are `t - min(3, t)` and `min(2, s)`.
        (
            "g (float[batch, t] x, float[batch, s] w) => (float[batch, r] y) {
                three = Constant<value_ints = [3]>() two = Constant<value_ints = [2]>() zero = Constant<value_ints = [0]>()
                one = Constant<value_ints = [1]>() end = Constant<value_ints = [9223372036854775807]>()
                a = Slice(x, three, end, one) b = Slice(w, zero, two, one) y = Mul(a, b)
            }",
            1,
            &[
                "error[guard-not-implied]: the model declares shapes that break `s == 1 or t == 4 or t == min(2, s) + min(3, t)`",
            ][..],
        ),
        // No sizes mend what is wrong with types.
        (
            "g (float[n] x, int64[n] w) => (float[n] y) { y = Add(x, w) }",
            1,
            &["no fix        the model itself is wrong, whatever its sizes are; export it again"][..],
        ),
        // Sizes that agree are preferred to one of 1 that broadcasts, and equal ones to others.
        (
            "g (float[1, 3, h, w] x, float[8, 3, 16, 16] k, float[1, 196, 8] p) => (float[1, s, 8] y) {
                f = Conv<strides = [16, 16]>(x, k) to = Constant<value_ints = [0, 8, -1]>()
                r = Reshape(f, to) t = Transpose<perm = [0, 2, 1]>(r) y = Add(t, p)
            }",
            1,
            &["fix 1         h = Dim('h', min=224, max=239)"][..],
        ),
        // Of a condition that no sizes satisfy its sentence is shown.
        (
            "g (float[N, M] x) => (float[N, M] y) { y = Transpose<perm = [0, 0]>(x) }",
            1,
            &[
                "error[guard-not-implied]: the model runs at no size: it needs that perm is a permutation of the dimensions",
                "  needed by     y = Transpose (Transpose.C1: `perm` is a permutation of the dimensions)",
            ][..],
        ),
        // Of a sentence that is long it is said what is wrong of the operands.
        (
            "g (float[N, 1] x) => (float[N] y) { y = Squeeze<axes = [1]>(x) }",
            1,
            &["error[guard-not-implied]: the model runs at no size: Squeeze has no attribute `axes`"][..],
        ),
        // What the kernel asks of a size before is no alternative of the broadcast behind it.
        (
            "g (float[N, 1, h] x) => (y) { k = Constant<value = float[1, 1, 2] {0.5, 0.5}>() c = Conv<strides = [2]>(x, k)
             b = Constant<value = float[1, 1, 3] {0.5, 0.5, 0.5}>() z = Constant<value_ints = [2]>() s = Constant<value_ints = [0]>()
             o = Constant<value = float[1, 1, 1] {0.5}>() j = Concat<axis = 2>(c, o) y = Add(j, b) }",
            1,
            &["error[guard-not-implied]: the model declares shapes that break `h // 2 == 2`"][..],
        ),
        (
            "g (float[batch, n] x) => (float[batch, n] y) { y = Relu(x) }",
            0,
            &[
                "model.onnx: ok, every input that the model declares works; assumed: sizes of at least 1, equal names equal",
            ][..],
        ),
        (
            "g (float[batch] x) => (float[batch] y) { y = shop.Sell(x) }",
            4,
            &["warning[unsupported-operator]: 1 node is not fully followed"][..],
        ),
    ] {
        let (code, text, _) = check(body, &[]);
        assert_eq!(code, status, "{text}");
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "{line:?} is not in\n{text}");
        }
    }
}

/// Sizes at which a model works have the elements with which it does, where those of the counterexample matter.
#[test]
fn what_works_has_its_data() {
    const FLAG: &str = "g (float[N, C] x, float[K, C] y, bool flag) => (z) { z = If(flag)<then_branch = \
        t () => (p) { p = Relu(x) }, else_branch = e () => (q) { q = MatMul(x, y) }> }";
    let (code, text, _) = check(FLAG, &[]);
    assert_eq!(code, 1, "{text}");
    let of = |word: &str| text.lines().find(|line| line.starts_with(word)).expect("a line");
    assert!(of("  then ").contains("every element being: x 0, y 0, flag false: MatMul: inner"), "{text}");
    let works = of("  works ");
    assert!(works.ends_with(", every element being: x 0, y 0, flag false"), "{text}");
    let (_, json, _) = check(FLAG, &["--format", "json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let violated = &report["guards"][0];
    assert_eq!(violated["works_values"]["flag"], false);
    assert_eq!(violated["works"]["x"][1], violated["works"]["y"][0]);
}

/// Messages name an operator once, and the flag of many inputs.
#[test]
fn messages_are_not_doubled_or_cut() {
    let rank = "g (float[] x, float[n, m] w) => (y) { y = MatMul(x, w) }";
    let (_, text, _) = check(rank, &[]);
    assert!(
        text.contains("  y = MatMul: the result depends on what is not known: the rank of its input 0"),
        "{text}"
    );
    let items =
        "g (float[n] x) => (z) { q = SplitToSequence(x) p = Constant<value_int = 3>() z = SequenceAt(q, p) }";
    let (_, text, _) = check(items, &[]);
    assert!(text.contains("refuses it: SequenceAt: position 3 of a sequence of"), "{text}");
    let many: String = (0..9).map(|i| format!("float[n] x{i}, ")).collect();
    let flag = format!(
        "g ({many}float[m] w, bool flag) => (z) {{ z = If(flag)<then_branch = t () => (p) {{ p = Relu(x0) }}, \
         else_branch = e () => (q) {{ q = Add(x0, w) }}> }}"
    );
    let (_, text, _) = check(&flag, &[]);
    assert!(text.contains("every element being: flag false, x0 0"), "{text}");
}

#[test]
fn undecided_conditions_are_so_under_what_was_given() {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 17]>\n{SUM}");
    let model = Model::read(text.clone().into_bytes()).expect("a model");
    let mut report = report(&model, "model", text.as_bytes(), None, &Budget::default());
    let open = GuardReport { verdict: GuardVerdict::Unknown, ..report.guards[0].clone() };
    report.guards.push(open);
    for (assumed, said) in [
        (
            Assumed::Declaration,
            "1 more condition is undecided under what the model declares; with fix 1 it is proved",
        ),
        (Assumed::Spec, "1 more condition is undecided under this spec; with fix 1 it is proved"),
    ] {
        report.assumed = assumed;
        let text = to_text(&report, Style::default());
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_code_names_the_causes_in_a_model() {
    let mut command = Command::cargo_bin("sizewise").expect("the program is built");
    let output = command.args(["explain", "shape-mismatch"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("Of an ONNX model") && text.contains("dim_param"), "{text}");
}

#[test]
fn help_says_what_models_are_given() {
    let mut command = Command::cargo_bin("sizewise").expect("the program is built");
    let output = command.args(["eval", "--help"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "`plan`, `profile` and `show` also read ONNX models",
        "of an ONNX model all tensors are given",
        "an ONNX model runs on onnxruntime, which `cpu` stands for there",
    ] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn every_form_has_the_same_errors() {
    let (_, json, _) = check(SUM, &["--format", "json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["assumed"], "declaration");
    assert_eq!(report["program"]["onnx"], "opset 17, made by pytorch");
    let guard = &report["guards"][0];
    assert_eq!(guard["verdict"], "violated");
    assert_eq!(guard["node"], "y");
    let sizes = |input: &str| guard["inputs"][input][1].as_i64().expect("a size");
    assert_ne!(sizes("x"), sizes("w"));
    assert_eq!(report["conditions"][0]["because"], "Broadcast.C1");
    assert_eq!(report["fixes"][0]["proved"], true);

    let (_, sarif, _) = check(SUM, &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&sarif).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "guard-not-implied/precondition");
    let message = result["message"]["text"].as_str().expect("a message");
    assert!(
        message.starts_with("The model declares shapes that break `m == 1 or m == n or n == 1`"),
        "{message}"
    );

    let (_, github, _) = check(SUM, &["--format", "github"]);
    assert!(github.starts_with("::error file=model.onnx,"), "{github}");
    assert!(github.contains("declare w.shape[1] as n"), "{github}");

    let (_, html, _) = check(SUM, &["--format", "html"]);
    assert!(html.contains("<!doctype html>") && html.contains("Broadcast.C1"));
}

#[test]
fn options_about_exported_programs_are_refused() {
    for (options, said) in [
        (&["--format", "torch"][..], "the report form `torch` is not supported for an ONNX model"),
        (&["--emit-smt2", "queries"][..], "--emit-smt2 is not supported for an ONNX model"),
    ] {
        let (code, _, error) = check(SUM, options);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn every_form_lists_what_the_values_of_inputs_decide() {
    let body = "g (float[3] x, int64 n, float[4, 4] t, int64[k] i) => (float[m] y, float[k, 4] z) {
        one = Constant<value_ints = [-1]>()
        s = Reshape(n, one)
        c = Constant<value = float {0.5}>()
        y = Expand(c, s)
        z = Gather(t, i)
    }";
    let (status, text, _) = check(body, &[]);
    assert_eq!(status, 0, "{text}");
    for line in [
        "left to run time: 2 conditions on values",
        "  no number in `s` is negative   at y = Expand; n decides",
        "  every index in `i` lies within a dimension of size 4   at z = Gather; i decides",
        "ok: 2 left to run time",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} is not in\n{text}");
    }
    let works = "works, if its values meet the conditions that are left to run time";
    assert!(text.lines().next().is_some_and(|line| line.contains(works)), "{text}");
    let (_, json, _) = check(body, &["--format", "json"]);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(report["conditions_complete"], false);
    let left = &report["runtime_asserts"][0];
    assert_eq!((&left["after_node"], &left["op"]), (&Value::from("y"), &Value::from("Expand")));
    assert_eq!(left["inputs"], Value::from(vec!["n"]));
    let (_, sarif, _) = check(body, &["--format", "sarif"]);
    assert!(sarif.contains("no number in `s` is negative"), "{sarif}");
    let (_, html, _) = check(body, &["--format", "html"]);
    assert!(html.contains("no number in `s` is negative"));
}

#[test]
fn an_empty_file_is_called_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("none.onnx"), "").expect("a file");
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .current_dir(folder.path())
        .args(["check", "none.onnx"])
        .output()
        .expect("it runs");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(errors.contains("none.onnx: the file: nothing is in it; expected an ONNX model"), "{errors}");
}

#[test]
fn an_open_shape_is_shown_once_as_it_is_declared() {
    let (status, text, _) =
        check("g (seq(float[N, 3]) s) => (float[M, 3] y) { y = ConcatFromSequence<axis = 0>(s) }", &[]);
    assert_eq!(status, 4, "{text}");
    assert!(
        text.contains("warning[guard-undecided]: `y.shape == [M, 3]` is neither proved nor refuted"),
        "{text}"
    );
    assert!(text.contains("because       the shape that the model computes is not known"), "{text}");
    assert_eq!(text.matches("neither proved nor refuted").count(), 1, "{text}");
}

#[test]
fn the_longest_tuples_are_a_bound() {
    let (status, text, _) =
        check("g (float[e, 128, 256] d, int64[t, k] i) => (float[] y) { y = GatherND(d, i) }", &[]);
    assert_eq!(status, 1, "{text}");
    for line in ["the model declares shapes that break `k <= 3`", "k = Dim('k', min=1, max=3)\n"] {
        assert!(text.contains(line), "{text}");
    }
}
