//! The service answers as the command line does.
use crate::service::client::{BYTES, example, form, get, post, post_lines, request, send, service};
use assert_cmd::Command;
use serde_json::{Value, json};

/// A request for each command.
const REQUESTS: &[(&str, &[&str])] = &[
    (
        "entail",
        &[
            concat!(
                r#"{"id":1,"symbols":{"s0":{"min":2,"max":null}},"#,
                r#""given":["Eq(Mod(s0, 8), 0)"],"goal":"Eq(8*(s0//8), s0)"}"#
            ),
            r#"{"id":"b","symbols":{"s0":{"min":2}},"goal":"s0 > 2"}"#,
            r#"{"id":null,"symbols":{"s0":{"min":3,"max":2}},"goal":"s0 > 2"}"#,
            r#"{"id":[1],"goal":"Eq(x*x + y*y, 3)"}"#,
        ],
    ),
    ("simplify", &[r#"{"id":1,"symbols":{"s0":{"min":2}},"expr":"Max(s0, 1) + s0"}"#]),
    ("minimize", &[r#"{"id":1,"symbols":{"s0":{"min":0}},"guards":["s0 >= 2","s0 >= 1"]}"#]),
    ("bounds", &[r#"{"id":1,"symbols":{"s0":{"min":2,"max":9}},"given":["s0 != 9"],"expr":"s0*s0"}"#]),
    (
        "infer",
        &[
            concat!(
                r#"{"id":1,"op":"aten.relu.default","args":[{"tensor":{"shape":[2,"s0"],"dtype":"float32"}}],"#,
                r#""symbols":{"s0":{"min":2,"hint":3}}}"#
            ),
            concat!(
                r#"{"id":2,"op":"aten.mm.default","args":[{"tensor":{"shape":[2],"dtype":"float32"}},"#,
                r#"{"tensor":{"shape":[2],"dtype":"float32"}}]}"#
            ),
            r#"{"id":3,"op":"aten.no_such_operator.default","args":[]}"#,
        ],
    ),
];

/// The same without what differs from run to run.
fn timeless(mut answer: Value) -> Value {
    for key in ["time_ns", "setup_ns"] {
        if answer.get(key).is_some() {
            answer[key] = json!(0);
        }
    }
    answer
}

fn command_line(command: &str, input: &str) -> Vec<String> {
    let output = Command::cargo_bin("sizewise").unwrap().arg(command).write_stdin(input).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[tokio::test]
async fn one_by_one_and_in_batches_as_the_command_line() {
    let app = service();
    for (command, requests) in REQUESTS {
        let input = requests.join("\n");
        let expected: Vec<Value> = command_line(command, &input)
            .iter()
            .map(|line| timeless(serde_json::from_str(line).unwrap()))
            .collect();
        assert_eq!(expected.len(), requests.len());
        let path = format!("/v1/{command}");
        let batch = post_lines(&app, &path, input).await;
        assert_eq!(batch.header("content-type"), "application/x-ndjson");
        let batch: Vec<Value> = batch.lines().into_iter().map(timeless).collect();
        assert_eq!(batch, expected, "{command}");
        for (request, expected) in requests.iter().zip(&expected) {
            let answer = post(&app, &path, *request).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            assert_eq!(timeless(answer.json()), *expected, "{command}");
        }
    }
}

#[tokio::test]
async fn the_bytes_are_those_of_the_command_line() {
    let app = service();
    for (command, request) in
        [("simplify", r#"{"id":{"b":1,"a":2},"expr":"2*s0 - s0"}"#), ("bounds", r#"{"expr":"7 + 1"}"#)]
    {
        let answer = post(&app, &format!("/v1/{command}"), request).await;
        assert_eq!(answer.text.trim_end(), command_line(command, request)[0]);
    }
}

#[tokio::test]
async fn an_answer_given_twice_comes_from_memory_with_its_own_id() {
    let app = service();
    let ask = |id: u32| format!(r#"{{"id":{id},"symbols":{{"s0":{{"min":2}}}},"goal":"s0 >= 2"}}"#);
    let first = post(&app, "/v1/entail", ask(1)).await;
    let second = post(&app, "/v1/entail", ask(2)).await;
    assert_eq!((first.header("sizewise-cache"), second.header("sizewise-cache")), ("miss", "hit"));
    let (mut first, second) = (first.json(), second.json());
    first["id"] = json!(2);
    assert_eq!(first, second);
}

#[tokio::test]
async fn less_budget_is_another_question() {
    let app = service();
    let ask = r#"{"goal":"Ne(x*x*x + y*y*y, 3*z*z*z + 12345)","symbols":{"x":{"min":2},"y":{"min":2},"z":{"min":2}}}"#;
    let full = post(&app, "/v1/entail", ask).await;
    let little = post(&app, "/v1/entail?budget=1", ask).await;
    assert_eq!(full.status, 200);
    assert_eq!(little.header("sizewise-cache"), "miss");
}

#[tokio::test]
async fn proofs_and_explanations_on_request() {
    let app = service();
    let ask = r#"{"symbols":{"s0":{"min":2}},"goal":"s0 >= 2"}"#;
    let answer = post(&app, "/v1/entail?proof=true&explain=true", ask).await.json();
    assert!(answer["proof"].is_array() && answer["explain"].is_array(), "{answer}");
    assert!(post(&app, "/v1/entail", ask).await.json().get("proof").is_none());
}

#[tokio::test]
async fn certificates_on_request() {
    let app = service();
    let proved = r#"{"symbols":{"s0":{"min":2}},"given":["Eq(Mod(s0, 8), 0)"],"goal":"s0 >= 8"}"#;
    let asking =
        |question: &str, value: &str| question.replacen('{', &format!(r#"{{"certificate":{value},"#), 1);
    let is_right = |answer: &Value| {
        let text = answer["certificate"].as_str().unwrap_or_else(|| panic!("{answer}"));
        sizewise::certificate::check_text(text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        text.to_owned()
    };
    // For one question, for all of a request, and as the command line does.
    let one = is_right(&post(&app, "/v1/entail", asking(proved, "true")).await.json());
    assert_eq!(is_right(&post(&app, "/v1/entail?certificate=true", proved).await.json()), one);
    let line = &command_line("entail", &asking(proved, "true"))[0];
    assert_eq!(is_right(&serde_json::from_str(line).expect("JSON")), one);
    let both = post(&app, "/v1/entail?certificate=true&proof=true", proved).await.json();
    assert!(both["proof"].is_array() && is_right(&both) == one, "{both}");
    // Under the facts of an environment.
    let env =
        post(&app, "/v1/envs", r#"{"symbols":{"s0":{"min":2}},"given":["Eq(Mod(s0, 8), 0)"]}"#).await.json();
    let path = format!("/v1/envs/{}/entail", env["env"].as_str().expect("a name"));
    is_right(&post(&app, &path, r#"{"goal":"s0 >= 8","certificate":true}"#).await.json());
    is_right(&post(&app, &path, r#"{"goal":"s0 >= 16","given":["s0 > 8"],"certificate":true}"#).await.json());
    // None where nothing is proved, and nothing of it where none is asked for.
    for (path, question, expected) in [
        ("/v1/entail?certificate=true", r#"{"goal":"a >= 8"}"#, Some(Value::Null)),
        (&path, r#"{"goal":"s0 >= 9","certificate":true}"#, Some(Value::Null)),
        ("/v1/entail", proved, None),
        ("/v1/entail", &asking(proved, "false"), None),
        ("/v1/entail", &asking(proved, "null"), None),
        (&path, r#"{"goal":"s0 >= 8"}"#, None),
    ] {
        let answer = post(&app, path, question.to_owned()).await;
        assert_eq!(answer.status, 200, "{question}");
        assert_eq!(answer.json().get("certificate").cloned(), expected, "{question}");
    }
    // What is no truth value, and questions that have none.
    for (path, question) in [
        ("/v1/entail", asking(proved, "1").as_str()),
        ("/v1/entail", asking(proved, "\"yes\"").as_str()),
        (&path, r#"{"goal":"s0 >= 8","certificate":"true"}"#),
        ("/v1/simplify", r#"{"expr":"a + a","certificate":true}"#),
        (&path.replace("entail", "bounds"), r#"{"expr":"s0","certificate":true}"#),
    ] {
        let answer = post(&app, path, question.to_owned()).await;
        assert_eq!(answer.status, 422, "{question}");
        assert!(
            answer.json()["detail"].as_str().is_some_and(|said| said.contains("certificate")),
            "{question}"
        );
    }
    assert_eq!(post(&app, "/v1/entail?certificate=1", proved).await.status, 422);
}

#[tokio::test]
async fn a_line_that_cannot_be_read_does_not_end_a_batch() {
    let app = service();
    let batch =
        "{\"id\":1,\"goal\":\"2 > 1\"}\n\nnonsense\n[]\n{\"id\":4,\"goal\":7}\n{\"id\":5,\"goal\":\"2 > 1\"}";
    let lines = post_lines(&app, "/v1/entail", batch).await.lines();
    let got: Vec<(Value, Value)> =
        lines.iter().map(|l| (l["id"].clone(), l["error"]["kind"].clone())).collect();
    let invalid = json!("invalid");
    let none = Value::Null;
    assert_eq!(
        got,
        [
            (json!(1), none.clone()),
            (none.clone(), invalid.clone()),
            (none.clone(), invalid.clone()),
            (json!(4), invalid),
            (json!(5), none)
        ]
    );
}

#[tokio::test]
async fn check_reports_as_the_command_line() {
    let app = service();
    let root = env!("CARGO_MANIFEST_DIR");
    for (name, format, status) in [("area", "json", 1), ("thirds", "json", 0), ("area", "text", 1)] {
        let output = Command::cargo_bin("sizewise")
            .unwrap()
            .current_dir(std::path::Path::new(root).join("examples"))
            .args(["check", &format!("{name}.pt2"), "--spec", &format!("{name}.json"), "--format", format])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(status));
        let (program, spec) = (example(&format!("{name}.pt2")), example(&format!("{name}.json")));
        let file = format!("{name}.pt2");
        let request = form(
            &format!("/v1/check?format={format}"),
            &[("program", Some(&file), &program), ("spec", None, &spec)],
        );
        let answer = send(&app, request).await;
        assert_eq!(answer.text, String::from_utf8(output.stdout).unwrap(), "{name}");
    }
}

#[tokio::test]
async fn a_program_may_come_as_the_body() {
    let app = service();
    let answer = send(&app, request("POST", "/v1/check?name=a/b.pt2", &[BYTES], example("thirds.pt2"))).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["verdict"]), (200, &json!("ok")));
    assert_eq!(answer.json()["program"]["path"], "b.pt2");
}

#[tokio::test]
async fn shapes_are_evaluated() {
    let app = service();
    let program = example("area.pt2");
    let one = |request: &str| {
        form("/v1/eval", &[("program", None, &program), ("request", None, request.as_bytes())])
    };
    let answer = send(&app, one(r#"{"id":7,"shapes":{"x":[4],"y":[5]}}"#)).await.json();
    assert_eq!((&answer["id"], &answer["ok"], &answer["outputs"]), (&json!(7), &json!(true), &json!([[4]])));
    let answer = send(&app, one(r#"{"shapes":{"x":[99],"y":[99]}}"#)).await.json();
    assert_eq!(answer["ok"], false);
    let lines = "{\"id\":1,\"shapes\":{\"x\":[4],\"y\":[5]}}\n{\"id\":2,\"shapes\":{\"no\":[4]}}\n";
    let request = form("/v1/eval", &[("program", None, &program), ("requests", None, lines.as_bytes())]);
    let answers = send(&app, request).await.lines();
    assert_eq!((&answers[0]["ok"], &answers[1]["error"]["kind"]), (&json!(true), &json!("invalid")));
}

#[tokio::test]
async fn questions_about_sizes_are_answered_under_a_spec() {
    let app = service();
    let (program, request) =
        (example("bert.pt2"), br#"{"ask":"fit","memory":"2MB","maximize":"batch","given":{"seq":16}}"#);
    let spec = |most: i64| {
        let sizes = format!(r#"[{{"dim":"batch","min":2,"max":{most}}},{{"dim":"seq","min":2,"max":16}}]"#);
        format!(r#"{{"input_ids":{sizes},"attention_mask":{sizes},"token_type_ids":{sizes}}}"#)
    };
    for most in [4, 9] {
        let spec = spec(most);
        let parts: [(&str, Option<&str>, &[u8]); 3] =
            [("program", None, &program), ("request", None, request), ("spec", None, spec.as_bytes())];
        let answer = send(&app, form("/v1/sizes", &parts)).await.json();
        assert_eq!(answer["fits"]["size"], most, "{answer}");
    }
}

#[tokio::test]
async fn a_backend_says_whose_conditions_are_required() {
    let app = service();
    let call =
        r#"{"op":"aten.topk.default","args":[{"tensor":{"shape":[4],"dtype":"complex64"}},{"int":2}]}"#;
    // Twice: an answer that is kept for one backend is none for another.
    for (backend, accepted) in
        ["cpu", "cuda", "any", "cpu", "cuda", "any"].into_iter().zip([false, true, true].repeat(2))
    {
        let answer = post(&app, &format!("/v1/infer?backend={backend}"), call).await.json();
        assert_eq!(answer.get("returns").is_some(), accepted, "{backend}: {answer}");
    }
}

#[tokio::test]
async fn pages_ask_for_nothing_elsewhere() {
    let app = service();
    for path in ["/", "/docs"] {
        let page = get(&app, path).await;
        assert_eq!(page.status, 200);
        assert!(page.header("content-type").starts_with("text/html"));
        assert!(page.header("content-security-policy").contains("default-src 'none'"));
        assert!(!page.text.contains("{{"), "a place of the template is not filled");
        for foreign in ["src=\"http", "href=\"http", "url(http", "@import", "fetch(\"http"] {
            assert!(!page.text.contains(foreign), "{path}: {foreign}");
        }
    }
}

#[tokio::test]
async fn figures_tell_what_happened() {
    let app = service();
    post(&app, "/v1/entail", r#"{"symbols":{"s0":{"min":2}},"goal":"s0 >= 2"}"#).await;
    post(&app, "/v1/entail", "nonsense").await;
    let text = get(&app, "/metrics").await.text;
    for line in [
        "sizewise_requests_total{endpoint=\"/v1/entail\",status=\"200\"} 1",
        "sizewise_problems_total{code=\"not-json\"} 1",
        "sizewise_decided_total{rung=\"range\",verdict=\"implied\"} 1",
        "sizewise_cache_misses_total 1",
        "sizewise_panics_total 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert_eq!(get(&app, "/healthz").await.status, 200);
    assert_eq!(get(&app, "/readyz").await.json()["status"], "ready");
}
