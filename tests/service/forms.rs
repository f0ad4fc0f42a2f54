//! The forms of a report that tools and people read.
use crate::sarif::keeps_rules;
use crate::service::client::{example, form, send, service};
use assert_cmd::Command;
use serde_json::Value;

async fn report(name: &str, format: &str) -> String {
    let app = service();
    let (program, spec) = (example(&format!("{name}.pt2")), example(&format!("{name}.json")));
    let file = format!("{name}.pt2");
    let parts: [(&str, Option<&str>, &[u8]); 2] = [("program", Some(&file), &program), ("spec", None, &spec)];
    let answer = send(&app, form(&format!("/v1/check?format={format}"), &parts)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text
}

const EXAMPLES: [&str; 6] = ["area", "bert", "branch", "flatten", "masked", "thirds"];

#[tokio::test]
async fn sarif_keeps_the_rules_of_the_standard() {
    for name in EXAMPLES {
        let log: Value = serde_json::from_str(&report(name, "sarif").await).unwrap();
        keeps_rules(&log);
        let errors = |log: &Value| {
            log["runs"][0]["results"].as_array().unwrap().iter().filter(|r| r["level"] == "error").count()
        };
        let plain: Value = serde_json::from_str(&report(name, "json").await).unwrap();
        assert_eq!(errors(&log) > 0, plain["verdict"] == "violated", "{name}");
    }
}

#[tokio::test]
async fn a_spec_may_be_a_shapes_spec_in_each_of_its_forms() {
    let program = example("rows.pt2");
    let torch = serde_json::json!({"type": "ShapesSpec", "assumptions": [], "params": {"type": "ParamsSpec", "params": {
        "x": {"type": "TensorSpec", "dims": [{"type": "ShapeVar", "name": "b", "min": 2, "max": 128, "optimization_hint": null}, null]},
        "y": {"type": "TensorSpec", "dims": [{"type": "ShapeVar", "name": "n", "min": 0, "max": null, "optimization_hint": null}, null]},
    }}});
    let own = serde_json::json!({
        "vars": {"b": {"min": 2, "max": 128}, "n": {}}, "params": {"x": ["b", null], "y": ["n", null]}, "assumptions": [],
    });
    let texts = [example("rows.py"), torch.to_string().into_bytes(), own.to_string().into_bytes()];
    for spec in texts {
        let parts: [(&str, Option<&str>, &[u8]); 2] =
            [("program", Some("rows.pt2"), &program), ("spec", None, &spec)];
        let answer = send(&service(), form("/v1/check", &parts)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let report = answer.json();
        assert_eq!(report["verdict"], "violated");
        let fix = &report["fixes"][0]["assumptions"];
        assert_eq!(
            fix,
            &serde_json::json!(["b % 4 == 0", "n == b // 4"]),
            "{}",
            String::from_utf8_lossy(&spec)
        );
    }
    let wrong = b"from torch.fx.experimental.dynamic_spec import *\ndynamic_shapes = ShapesSpec([])\n";
    let parts: [(&str, Option<&str>, &[u8]); 2] =
        [("program", Some("rows.pt2"), &program), ("spec", None, wrong)];
    let answer = send(&service(), form("/v1/check", &parts)).await;
    assert_eq!(answer.problem(), (422, "invalid-spec".to_string()));
    assert_eq!(answer.json()["detail"], "shapes_spec must be ParamsSpec, dict, or None, got list");
}

#[tokio::test]
async fn github_commands_are_one_a_line() {
    let text = report("branch", "github").await;
    assert!(text.lines().count() > 0);
    for line in text.lines() {
        let (properties, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        let (command, properties) = properties.split_once(' ').unwrap();
        assert!(["error", "warning", "notice"].contains(&command), "{line}");
        assert!(properties.split(',').all(|p| p.split_once('=').is_some()), "{line}");
        assert!(!message.is_empty());
    }
    assert!(text.starts_with("::error file="), "{text}");
    assert_eq!(report("thirds", "github").await.lines().filter(|l| l.starts_with("::error")).count(), 0);
}

#[tokio::test]
async fn a_page_is_one_file_with_the_whole_view() {
    for name in EXAMPLES {
        let page = report(name, "html").await;
        assert!(page.starts_with("<!doctype html>"));
        for foreign in ["src=\"http", "href=\"http", "url(http", "@import", "fetch("] {
            assert!(!page.contains(foreign), "{name}: {foreign}");
        }
        let from = page.find("id=\"data\"").unwrap();
        let data = &page[from..];
        let data = &data[data.find('>').unwrap() + 1..data.find("</script>").unwrap()];
        let view: Value = serde_json::from_str(data).unwrap();
        let plain: Value = serde_json::from_str(&report(name, "json").await).unwrap();
        // A page says what a run takes, too.
        let mut said = view["report"].clone();
        let costs = said.as_object_mut().unwrap().remove("costs").unwrap();
        assert!(costs["flops"]["expr"].is_string(), "{name}: {costs}");
        assert_eq!(said, plain);
        assert_eq!(
            view["graph"]["nodes"].as_array().unwrap().len(),
            plain["program"]["nodes"].as_u64().unwrap() as usize
        );
        assert_eq!(view, serde_json::from_str::<Value>(&report(name, "view").await).unwrap());
    }
}

#[tokio::test]
async fn the_command_line_writes_the_same_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for format in ["sarif", "github", "html"] {
        let mut command = Command::cargo_bin("sizewise").unwrap();
        command.current_dir(&folder).args(["check", "area.pt2", "--spec", "area.json", "--format", format]);
        // The service knows of no checkout.
        command.args(["--source-root", "."]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), report("area", format).await, "{format}");
    }
}

const MODEL: &str = "<ir_version: 8, opset_import: [\"\" : 17]>
g (float[batch, n] x, float[batch, m] w) => (float[batch, n] y) { y = Add(x, w) }";

/// ONNX models are checked and evaluated as programs are.
#[tokio::test]
async fn models_are_answered_like_programs() {
    let app = service();
    let equal = "{\"x\": [null, {\"dim\": \"n\"}], \"w\": [null, {\"dim\": \"n\"}]}";
    for (path, parts, status, said) in [
        ("/v1/check", &[("program", MODEL)][..], 200, "\"verdict\": \"violated\""),
        ("/v1/check", &[("program", MODEL), ("spec", equal)], 200, "\"verdict\": \"ok\""),
        ("/v1/check", &[("program", MODEL), ("spec", "{\"v\": null}")], 200, "\"verdict\": \"invalid\""),
        ("/v1/check?format=html", &[("program", MODEL)], 200, "<!doctype html>"),
        ("/v1/check?format=text", &[("program", MODEL)], 200, "fix 1         declare w.shape[1] as n"),
        (
            "/v1/check?format=torch",
            &[("program", MODEL)],
            422,
            "the report form `torch` is not supported for an ONNX model",
        ),
        ("/v1/check?name=m.onnx", &[("program", "nothing")], 422, "unreadable-program"),
        (
            "/v1/eval",
            &[("program", MODEL), ("request", "{\"shapes\": {\"x\": [2, 3], \"w\": [2, 1]}}")],
            200,
            "[[2,3]]",
        ),
        (
            "/v1/eval",
            &[("program", MODEL), ("request", "{\"shapes\": {\"x\": [2, 3], \"w\": [2, 4]}}")],
            200,
            "\"ok\":false",
        ),
        ("/v1/eval", &[("program", MODEL), ("request", "{\"shapes\": 3}")], 422, "expected `shapes`"),
    ] {
        let parts: Vec<(&str, Option<&str>, &[u8])> =
            parts.iter().map(|(name, text)| (*name, None, text.as_bytes())).collect();
        let answer = send(&app, form(path, &parts)).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(answer.text.contains(said), "{path}: {said:?} is not in {}", answer.text);
    }
}

#[tokio::test]
async fn source_and_graphs_have_forms_of_their_own() {
    let page = report("bert", "annotated").await;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("modeling_bert.py") && !page.contains("<script")
    );
    let hints: Value = serde_json::from_str(&report("bert", "hints").await).unwrap();
    assert!(hints["hints"].as_array().unwrap().iter().all(|hint| hint["column"].is_null()));
    let graph: Value = serde_json::from_str(&report("bert", "model-explorer").await).unwrap();
    assert_eq!(graph["graphs"][0]["id"], "main");
    assert!(graph["nodeData"]["bytes"]["main"]["results"].is_object());
}

#[tokio::test]
async fn costs_are_numbers_at_sizes_that_the_program_takes() {
    let program = example("bert.pt2");
    for (at, status, said) in [
        ("", 200, "\"exact\":true"),
        ("{\"input_ids\":[8,4]}", 200, "\"at\":{"),
        ("{\"input_ids\":[8,65]}", 422, "the program needs input_ids.shape[1] <= 64"),
        ("{\"none\":[8,65]}", 422, "no size of `none` varies"),
        ("{\"input_ids\":8}", 422, "the sizes of inputs"),
    ] {
        let parts: [(&str, Option<&str>, &[u8]); 2] =
            [("program", None, &program), ("at", None, at.as_bytes())];
        let answer = send(&service(), form("/v1/cost", &parts)).await;
        assert!(
            answer.status == status && answer.text.contains(said),
            "{at}: {} {}",
            answer.status,
            answer.text
        );
    }
}
