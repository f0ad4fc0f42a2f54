//! The forms of a report that tools and people read.
use crate::service::client::{example, form, send, service};
use assert_cmd::Command;
use serde_json::{Map, Value};

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

#[track_caller]
fn text<'j>(object: &'j Map<String, Value>, key: &str) -> &'j str {
    object.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("`{key}` is to be a text in {object:?}"))
}

/// What SARIF 2.1.0 requires of the objects that are written (sections 3.13 to 3.30 of the standard).
#[track_caller]
fn keeps_sarif_rules(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().contains("sarif-schema-2.1.0.json"));
    for run in log["runs"].as_array().expect("`runs` is required") {
        let driver = run["tool"]["driver"].as_object().expect("`tool.driver` is required");
        assert!(!text(driver, "name").is_empty());
        let rules = driver["rules"].as_array().unwrap();
        let mut ids = Vec::new();
        for rule in rules {
            let rule = rule.as_object().unwrap();
            ids.push(text(rule, "id"));
            assert!(!text(rule["shortDescription"].as_object().unwrap(), "text").is_empty());
            assert!(
                ["none", "note", "warning", "error"]
                    .contains(&rule["defaultConfiguration"]["level"].as_str().unwrap())
            );
        }
        for invocation in run["invocations"].as_array().unwrap() {
            assert!(invocation["executionSuccessful"].is_boolean(), "required of an invocation");
        }
        let artifacts = run["artifacts"].as_array().unwrap();
        for result in run["results"].as_array().expect("a run that finished has `results`") {
            let result = result.as_object().unwrap();
            assert!(!text(result["message"].as_object().unwrap(), "text").is_empty());
            assert!(["none", "note", "warning", "error"].contains(&text(result, "level")));
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(ids[index], text(result, "ruleId"), "index and id name one rule");
            for location in result["locations"].as_array().unwrap() {
                let physical = location["physicalLocation"].as_object().unwrap();
                let artifact = physical["artifactLocation"].as_object().unwrap();
                let uri = text(artifact, "uri");
                assert!(uri.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b)), "{uri}");
                if let Some(index) = artifact.get("index") {
                    assert!((index.as_u64().unwrap() as usize) < artifacts.len());
                }
                if let Some(region) = physical.get("region") {
                    assert!(region["startLine"].as_u64().unwrap() >= 1, "lines count from 1");
                }
                for logical in
                    location.get("logicalLocations").and_then(Value::as_array).into_iter().flatten()
                {
                    assert!(!text(logical.as_object().unwrap(), "name").is_empty());
                }
            }
        }
    }
}

#[tokio::test]
async fn sarif_keeps_the_rules_of_the_standard() {
    for name in EXAMPLES {
        let log: Value = serde_json::from_str(&report(name, "sarif").await).unwrap();
        keeps_sarif_rules(&log);
        let errors = |log: &Value| {
            log["runs"][0]["results"].as_array().unwrap().iter().filter(|r| r["level"] == "error").count()
        };
        let plain: Value = serde_json::from_str(&report(name, "json").await).unwrap();
        assert_eq!(errors(&log) > 0, plain["verdict"] == "violated", "{name}");
    }
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
        assert_eq!(view["report"], plain);
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
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), report("area", format).await, "{format}");
    }
}
