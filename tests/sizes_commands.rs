//! The commands about sizes: what they print, their exit statuses and what they refuse.
#![cfg(feature = "cli")]
use crate::command::with_input;
use serde_json::{Value as Json, json};

fn command(words: &[&str]) -> (i32, String, String) {
    with_input(words, "")
}

#[test]
fn the_commands_answer_for_programs_and_models() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let model = at("model.onnx");
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[batch, seq] x) => (float[batch, seq] y) { h = Relu(x) y = Exp(h) }";
    std::fs::write(&model, text).expect("a file");
    let spec = "{\"x\": [{\"dim\": \"batch\", \"min\": 2, \"max\": 8}, {\"dim\": \"seq\", \"min\": 4, \"max\": 64}]}";
    std::fs::write(at("spec.json"), spec).expect("a file");
    let spec = at("spec.json");
    let plot = at("plot.svg");
    for (words, says) in [
        (vec!["bounds-of", "examples/area.pt2", "--value", "add"], "add  float32["),
        (
            vec!["bounds-of", &model, "--spec", &spec],
            "y  float32[2..8, 4..64]\n  32..2048 bytes, most at x=8,64\n",
        ),
        (vec!["bounds-of", &model], "no bound: give x.0 and x.1 a max"),
        (vec!["plan", &model, "--spec", &spec], "arena             4096 bytes"),
        (
            vec![
                "fit",
                &model,
                "--spec",
                &spec,
                "--memory",
                "3KB",
                "--maximize",
                "batch",
                "--given",
                "seq=64",
            ],
            "fits       batch = 3 takes 2304 bytes: x=3,64\n  too large  batch = 4 takes 3072 bytes: x=4,64",
        ),
        (
            vec![
                "fit",
                &model,
                "--spec",
                &spec,
                "--memory",
                "3KB",
                "--maximize",
                "batch",
                "--frontier",
                "seq",
                "--plot",
                &plot,
            ],
            "64                    3             2304",
        ),
        (vec!["profile", &model, "--spec", &spec, "--for", "tensorrt"], "--maxShapes=x:8x64\n"),
        (vec!["profile", &model, "--spec", &spec, "--padding", "700%"], "4 buckets, at most"),
    ] {
        let (code, out, error) = command(&words);
        assert!(code == 0 && out.contains(says), "{words:?}: {code} {out}{error}");
    }
    assert!(std::fs::read_to_string(&plot).is_ok_and(|svg| svg.starts_with("<svg")));
    for (words, status, says) in [
        (vec!["bounds-of", &model, "--value", "z"], 2, "no node makes a tensor `z`"),
        (vec!["plan", &model], 2, "the memory has no bound: give x.0 and x.1 a max"),
        (vec!["plan", &model, "--spec", &spec, "--align", "3"], 2, "a power of two"),
        (vec!["fit", &model, "--memory", "x", "--maximize", "batch"], 2, "--memory: expected an amount"),
        (vec!["fit", &model, "--memory", "-5"], 2, "or 1000000, not \"-5\""),
        (
            vec!["fit", &model, "--spec", &spec, "--memory", "1GB", "--given", "x.1=500"],
            2,
            "x.1=500 is not allowed: x.1 is at most 64",
        ),
        (
            vec!["fit", &model, "--spec", &spec, "--memory", "1GB", "--given", "seq=0"],
            2,
            "seq=0 is not allowed: seq is at least ",
        ),
        (
            vec!["fit", &model, "--memory", "1GB", "--maximize", "batch", "--given", "seq"],
            2,
            "--given: expected DIM=SIZE",
        ),
        (
            vec!["fit", &model, "--memory", "1GB", "--maximize", "channels"],
            2,
            "no input has the dimension `channels`",
        ),
        (vec!["fit", &model, "--memory", "1GB", "--maximize", "x.0", "--plot", &plot], 2, "--frontier"),
        (vec!["profile", &model, "--padding", "much"], 2, "--padding: expected a share"),
        (vec!["profile", &model, "--spec", "examples/area.json"], 2, "--spec: "),
        (vec!["profile", &model, "--spec", &spec, "--buckets", "0"], 2, "buckets are from 1"),
        (vec!["bounds-of", &spec], 3, ""),
        (vec!["fit", "examples/masked.pt2", "--memory", "1GB"], 4, "data decide how much memory is taken"),
        (vec!["plan", "examples/masked.pt2"], 2, "the memory has no bound: give x.0 a max"),
    ] {
        let (code, out, error) = command(&words);
        assert!(code == status && error.contains(says), "{words:?}: {code} {out}{error}");
    }
}

#[test]
fn what_fits_of_a_model_is_counted_as_its_costs_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    // A result of other sizes is the tensor itself, and a graph within uses what is made before.
    let (model, branches) = (at("model.onnx"), at("branches.onnx"));
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[n, 8] x) => (y) { h = Relu(x) r = Flatten(h) y = Exp(r) }";
    std::fs::write(&model, text).expect("a file");
    let text = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[n, 8] x, bool c) => (y) {
  h = Relu(x) a = Neg(x) b = Neg(a)
  y = If (c) <then_branch = t () => (float[n, 8] u) { u = Exp(h) }, else_branch = e () => (float[n, 8] v) { v = Exp(b) }>
}";
    std::fs::write(&branches, text).expect("a file");
    std::fs::write(at("spec.json"), "{\"x\": [{\"dim\": \"n\", \"min\": 2, \"max\": 64}, null]}")
        .expect("a file");
    let spec = at("spec.json");
    let fit = |memory: &str| command(&["fit", &model, "--spec", &spec, "--memory", memory]);
    for (memory, status, says) in [
        // 32*n of the input, and twice as much that is made: 96*n.
        (
            "960",
            0,
            "fits       x.0 = 10 takes 960 bytes: x=10,8\n  too large  x.0 = 11 takes 1056 bytes: x=11,8",
        ),
        ("959", 0, "fits       x.0 = 9 takes 864 bytes"),
        ("1MB", 0, "fits       x.0 = 64 takes 6144 bytes: x=64,8\n  no larger size is allowed"),
        ("191", 1, "no allowed size fits\n  too large  x.0 = 2 takes 192 bytes: x=2,8"),
    ] {
        let (code, out, error) = fit(memory);
        assert!(code == status && out.contains(says), "{memory}: {code} {out}{error}");
    }
    let (code, out, error) = command(&["cost", &model, "--at", "x=10,8"]);
    assert!(code == 0 && out.contains("peak bytes        64*x.shape[0]"), "{code} {out}{error}");
    let (code, out, error) = command(&["plan", &branches, "--format", "json"]);
    assert!(code == 2 && error.contains("give x.0 a max"), "{code} {out}{error}");
    let spec = spec.as_str();
    let (_, out, error) = command(&["plan", &branches, "--spec", spec, "--format", "json"]);
    let plan: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{error}"));
    let lives: Vec<(&Json, &Json)> =
        plan["buffers"].as_array().expect("buffers").iter().map(|b| (&b["value"], &b["to"])).collect();
    let expected = json!([["h", 3], ["a", 2], ["b", 3], ["y", 3]]);
    assert_eq!(json!(lives), expected);
    assert_eq!(plan["exact"], false, "{plan}");
    assert!(plan["reasons"][0].as_str().is_some_and(|reason| reason.contains("`If` runs graphs")), "{plan}");
}

#[test]
fn reports_say_what_a_run_takes() {
    let (code, out, error) = command(&["check", "examples/bert.pt2", "--all"]);
    assert!(code == 0, "{code} {error}");
    for says in ["\ncosts: flops ", "; peak bytes ", "\nlargest: ", " bytes (input_ids="] {
        assert!(out.contains(says), "{says}: {out}");
    }
    let (_, short, _) = command(&["check", "examples/bert.pt2"]);
    assert!(!short.contains("costs:"), "{short}");
    let (_, json, _) = command(&["check", "examples/bert.pt2", "--all", "--format", "json"]);
    let costs = serde_json::from_str::<Json>(&json).expect("JSON")["costs"].clone();
    let (_, bounds, _) = command(&["bounds-of", "examples/bert.pt2", "--format", "json"]);
    let bytes = |line: &str| serde_json::from_str::<Json>(line).expect("JSON")["bytes"]["max"].as_i64();
    let largest = bounds.lines().filter_map(bytes).max();
    assert_eq!(costs["values"][0]["bytes"]["max"].as_i64(), largest, "{costs}");
    let (_, page, _) = command(&["check", "examples/area.pt2", "--format", "html"]);
    assert!(page.contains("\"costs\":{\"flops\":") || page.contains("octet-stream"), "{page}");
}
