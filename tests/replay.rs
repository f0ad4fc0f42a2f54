//! `sizewise replay`: what follows from the facts of recorded ShapeEnv traces, and files that are no traces.
use crate::command;
use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};
use sizewise::replay::{Means, Settings, Summary, replay};
use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

const HEAD: &str = r#"{"e":"program","format":1,"program":"p","mode":"export","torch":"2.15.0"}"#;

fn run(bytes: &[u8], settings: &Settings) -> Result<(Vec<Json>, Summary), String> {
    let mut replies = Vec::new();
    let mut take = |reply: &Json| {
        replies.push(reply.clone());
        ControlFlow::Continue(())
    };
    let summary = replay(bytes, settings, &mut take).map_err(|error| error.to_string())?;
    Ok((replies, summary))
}

/// The answers to a trace of these events, which stand in one environment and are numbered.
fn answers(events: &[Json]) -> Vec<Json> {
    let mut text = HEAD.to_owned();
    for (i, event) in events.iter().enumerate() {
        let mut event = event.clone();
        (event["i"], event["env"]) = (i.into(), 0.into());
        text.push_str(&format!("\n{event}"));
    }
    let (replies, _) = run(text.as_bytes(), &Settings::default()).expect("a trace");
    let value = |reply: &Json| reply.get("answer").or_else(|| reply.get("guards")).cloned();
    replies.iter().filter_map(value).collect()
}

fn size(name: &str, hint: i64) -> Json {
    json!({"e": "symbol", "symbol": name, "hint": hint, "range": [2, null]})
}

fn eval(expr: &str) -> Json {
    json!({"e": "eval", "expr": expr, "how": "static"})
}

#[test]
fn what_follows_is_answered_and_what_does_not_is_null() {
    let guard = |expr: &str| json!({"e": "eval", "expr": expr, "how": "guard", "guard": expr});
    let replaced = json!({"e": "replace", "by": 2, "symbol": "s1", "to": "s0", "why": "solve"});
    let deferred = json!({"e": "assert", "expr": "u0 >= 4", "how": "deferred", "result": true});
    let unbacked = json!({"e": "unbacked", "symbol": "u0", "type": "int", "range": [0, null]});
    let narrowed = json!({"e": "range", "symbol": "s0", "range": [2, 64]});
    let denied = json!({"e": "eval", "expr": "Eq(s0, 7)", "how": "deferred", "result": false});
    let (s0, s1) = (size("s0", 8), size("s1", 8));
    for (events, expected) in [
        (vec![s0.clone(), eval("Eq(s0, 1)"), eval("s0 >= 2"), eval("s0 >= 9")], json!([false, true, null])),
        (vec![s0.clone(), s1.clone(), guard("Eq(s0, s1)"), eval("Eq(s0, s1)")], json!([null, true])),
        (vec![s0.clone(), s1, replaced, eval("Eq(s0 // 2, s1 // 2)")], json!([true])),
        (vec![unbacked, eval("u0 >= 2"), deferred, eval("u0 >= 2")], json!([null, null, true])),
        (vec![s0.clone(), eval("s0 <= 64"), narrowed, eval("s0 <= 64")], json!([null, true])),
        (vec![s0.clone(), denied, eval("Ne(s0, 7)")], json!([null, true])),
        (vec![s0.clone(), eval("s0 + 1"), eval("no expression (")], json!([null, null])),
        (
            vec![json!({"e": "symbol", "symbol": "6", "hint": 6, "range": [6, 6]}), eval("Eq(6, 6)")],
            json!([true]),
        ),
        (vec![json!({"e": "of a later version", "x": [1]}), eval("s0 > s0")], json!([false])),
    ] {
        assert_eq!(Json::from(answers(&events)), expected, "{events:?}");
    }
}

#[test]
fn final_guards_lose_redundant_members() {
    let guards = |recorded: &[&str]| {
        let ranges = json!({"s0": [2, null], "zf1": [null, null]});
        answers(&[json!({"e": "guards", "ranges": ranges, "recorded": recorded})])
    };
    for (recorded, expected) in [
        (&["s0 >= 4", "s0 >= 3"][..], json!([["4 <= s0"]])),
        (&["s0 >= 2"], json!([[]])),
        (&["Eq(Mod(s0, 4), 0)", "Eq(Mod(s0, 2), 0)"], json!([["Eq(Mod(s0, 4), 0)"]])),
        (&["zf1 > 0.5", "s0 >= 1"], json!([["zf1 > 0.5"]])),
    ] {
        assert_eq!(Json::from(guards(recorded)), expected, "{recorded:?}");
    }
}

#[test]
fn files_that_are_no_traces_are_refused_with_the_line() {
    let line = |text: &str| format!("{HEAD}\n{text}").into_bytes();
    let zipped = std::fs::read(data("win_attn.export")).expect("a trace");
    for (bytes, expected) in [
        (Vec::new(), "line 1: an empty file; expected a ShapeEnv trace"),
        (b"{}".to_vec(), "line 1: expected a ShapeEnv trace"),
        (b"PK\x03\x04".to_vec(), "line 1: not JSON"),
        (br#"{"e":"program","format":2}"#.to_vec(), "line 1: format 2 of traces is not known; expected 1"),
        (line("[1]"), "line 2: not a JSON object"),
        (line("{\"i\": 0}"), "line 2: an event without its kind, `e`"),
        (line("\n{\"e\": \"eval\", \"expr\""), "line 3: not JSON at column 20"),
        (zipped[..zipped.len() / 2].to_vec(), ""),
    ] {
        let message = run(&bytes, &Settings::default()).map(|_| ()).expect_err("no trace");
        assert!(message.starts_with(expected), "{message}");
    }
}

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/traces/{name}.jsonl.gz"))
}

/// No answer is against the example or another than torch's, whatever the facts are looked at with. The numbers:
/// questions that are answered, of how many; guards recorded and needless; errors and those that need not be.
#[test]
fn recorded_traces_are_answered_as_torch_answers_or_better() {
    for (name, answered, asked, guards, errors) in [
        ("win_attn.export", 229, 240, (104, 100), (0, 0)),
        ("add_same.defer", 7, 9, (0, 0), (0, 0)),
        ("unbacked_ineq_chain.export", 3, 5, (0, 0), (1, 1)),
        ("unb_range_mul.defer", 4, 6, (0, 0), (1, 1)),
        ("item_view_fails.compile", 7, 12, (4, 1), (0, 0)),
        ("taut_parity.bso", 0, 1, (0, 0), (0, 0)),
    ] {
        let bytes = std::fs::read(data(name)).expect("a trace");
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("a text");
        let events = text.lines().map(|line| serde_json::from_str::<Json>(line).expect("an event"));
        let events: HashMap<(u64, i64), Json> =
            events.filter_map(|e| Some(((e["env"].as_u64()?, e["i"].as_i64()?), e))).collect();
        for ranges_only in [false, true] {
            let settings = Settings { ranges_only, ..Settings::default() };
            let (replies, summary) = run(&bytes, &settings).expect("a trace");
            for reply in replies {
                let event = &events[&(reply["env"].as_u64().expect("env"), reply["i"].as_i64().expect("i"))];
                let Some(answer) = reply["answer"].as_bool() else { continue };
                for known in
                    [&event["value"], if event["how"] == "static" { &event["result"] } else { &Json::Null }]
                {
                    assert!(known.as_bool().is_none_or(|known| known == answer), "{name}: {event}");
                }
            }
            if !ranges_only {
                let open = summary.settled_by(Means::Open);
                assert_eq!((summary.questions() - open, summary.questions()), (answered, asked), "{name}");
                assert_eq!(summary.needless_guards(), guards, "{name}");
                assert_eq!(summary.avoidable_errors(), errors, "{name}");
            }
        }
    }
}

#[test]
fn the_summary_names_needless_guards_with_their_lines() {
    let bytes = std::fs::read(data("win_attn.export")).expect("a trace");
    let (_, summary) = run(&bytes, &Settings { explains: true, ..Settings::default() }).expect("a trace");
    let text = summary.to_string();
    for part in [
        "win_attn (export, torch 2.15.0)\n",
        "104 guards recorded, of which 100 follow from what was known before\n",
        "104 guards at the end; 4 say the same\n",
        "Guards that need not be recorded:\n  models.py:117\n    Eq(",
        "        always false, from s27 >= 2\n",
        "        always true, whatever the sizes are\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_replay() {
    let bytes = std::fs::read(data("win_attn.export")).expect("a trace");
    let mut taken = 0;
    let mut first = |_: &Json| {
        taken += 1;
        ControlFlow::Break(())
    };
    let summary = replay(bytes.as_slice(), &Settings::default(), &mut first).expect("a trace");
    assert_eq!((summary.questions(), taken), (1, 1));
}

/// A check of `examples/area.pt2` under a spec that does not imply its guard, with a trace.
fn traced(trace: &[u8]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    std::fs::write(path("spec.json"), r#"{"x": [{"dim": "p", "max": 31}], "y": [{"dim": "q", "max": 31}]}"#)
        .expect("a spec");
    if !trace.is_empty() {
        std::fs::write(path("trace.jsonl"), trace).expect("a trace");
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/area.pt2");
    let (spec, trace) = (path("spec.json"), path("trace.jsonl"));
    command::with_input(&["check", program, "--spec", &spec, "--trace", &trace], "")
}

#[test]
fn a_check_names_the_lines_that_a_trace_has() {
    let asked = |cause: &str| {
        let trace = "File \\\"model.py\\\", line 7, in forward\\n    if x.shape[0] <= y.shape[0]:";
        let condition = "L['x'].size()[0] <= L['y'].size()[0]";
        let event = r#"{"e": "asked", "env": 0, "i": 1"#;
        format!(
            "{HEAD}\n{event}, \"condition\": \"{condition}\", \"stack_trace\": \"{trace}\", \"cause\": \"{cause}\"}}\n"
        )
    };
    for (cause, words) in [
        ("branch", "this line branches on the size"),
        ("operator", "an operator at this line"),
        ("layout", "torch checks here how memory is laid out"),
        ("assertion", "this line asserts it"),
        ("unknown", "this line needs it, or reads the size as a number"),
    ] {
        let (code, report, error) = traced(asked(cause).as_bytes());
        assert!(code == 1 && error.is_empty(), "{code} {error}");
        assert!(report.contains("--> model.py:7") && report.contains(words), "{cause}: {report}");
    }
    // A cause that another release may write has no meaning here.
    let (_, report, error) = traced(asked("chance").as_bytes());
    assert!(!report.contains("model.py:7") && error.contains("names no lines"), "{report}{error}");
}

/// What a trace has of a program whose `x` has this size in the example: one condition.
fn trace_of(env: u64, hint: u64, condition: &str) -> String {
    let symbol = json!({"e": "symbol", "env": env, "i": 1, "symbol": "s0", "source": "L['x'].size()[0]", "hint": hint});
    let trace = "File \"model.py\", line 7, in forward\n    if x.shape[0] <= y.shape[0]:";
    let asked = json!({"e": "asked", "env": env, "i": 2, "condition": condition, "stack_trace": trace, "cause": "branch"});
    format!("{symbol}\n{asked}\n")
}

#[test]
fn a_trace_of_another_program_is_refused() {
    let guard = "L['x'].size()[0] <= L['y'].size()[0]";
    // The size of `x` that the program was traced with.
    let example = 6;
    for (hint, condition, said) in [
        (example + 1, guard, "`L['x'].size()[0]` is "),
        (example, "L['z'].size()[0] <= 4", "this program has not all sizes of `L['z'].size()[0] <= 4`"),
        (example, "L['x'].size()[3] <= 4", "this program has not all sizes of "),
    ] {
        let (code, _, error) = traced(format!("{HEAD}\n{}", trace_of(0, hint, condition)).as_bytes());
        assert!(
            code == 3 && error.contains("the trace is of another program") && error.contains(said),
            "{error}"
        );
    }
    // The program is one of two that were traced.
    let both = format!("{HEAD}\n{}{}", trace_of(0, example + 1, guard), trace_of(1, example, guard));
    let (code, report, error) = traced(both.as_bytes());
    assert!(code == 1 && error.is_empty() && report.contains("--> model.py:7"), "{report}{error}");
}

#[test]
fn traces_that_are_none_are_refused_by_a_check() {
    for (trace, said) in [
        (&b""[..], "trace.jsonl: "),
        (b"{}", "trace.jsonl: line 1: expected a ShapeEnv trace"),
        (b"[", "trace.jsonl: line 1: not JSON"),
    ] {
        let (code, _, error) = traced(trace);
        assert!(code == 3 && error.contains(said), "{code} {error}");
    }
}
