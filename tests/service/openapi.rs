//! The OpenAPI document says what the service accepts and answers: it is compared with the routes, with the fields and
//! parameters that they know, and with answers of each of them.
use crate::service::client::{Answer, JSON, example, form, get, post, request, send, service};
use axum::body::Body;
use serde_json::{Map, Value, json};
use sizewise::service::App;
use sizewise::service::problem::Code;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Routes that serve the pages and the document itself.
const PAGES: &[&str] = &["/", "/docs", "/openapi.json"];
const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE"];

fn document() -> Value {
    serde_json::from_str(include_str!("../../crates/service/src/api/openapi.json")).unwrap()
}

/// What stands behind a `$ref`, or the item itself.
fn resolve<'a>(api: &'a Value, item: &'a Value) -> &'a Value {
    item["$ref"].as_str().map_or(item, |path| api.pointer(&path[1..]).unwrap_or_else(|| panic!("{path}")))
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

/// The names between backquotes.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Every operation: path, method in capitals, description.
fn operations(api: &Value) -> Vec<(&str, String, &Value)> {
    let paths = api["paths"].as_object().unwrap().iter();
    let methods =
        paths.flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |m| (path, m)));
    methods.map(|(path, (method, operation))| (path.as_str(), method.to_uppercase(), operation)).collect()
}

async fn new_env(app: &Arc<App>) -> String {
    let made = post(app, "/v1/envs", r#"{"symbols":{"s0":{"min":2}}}"#).await.json();
    made["env"].as_str().unwrap().to_string()
}

/// Where a value does not fit a schema; in answers, fields that are not described do not fit either.
fn misfit(api: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = resolve(api, schema);
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = match &schema["type"] {
        Value::Null => return None,
        Value::Array(types) => types.clone(),
        only => vec![only.clone()],
    };
    if !types.contains(&json!(kind)) {
        return Some(format!("{at}: {kind}, expected {types:?}"));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return Some(format!("{at}: {value} is not one of {}", schema["enum"]));
    }
    match value {
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(i, item)| misfit(api, &schema["items"], item, &format!("{at}[{i}]")))
        }
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing =
                required.filter(|name| !fields.contains_key(*name)).map(|name| format!("{at}: no {name}"));
            let described = schema["properties"].as_object();
            let wrong =
                fields.iter().filter_map(|(name, value)| match described.map(|known| known.get(name)) {
                    None => None,
                    Some(None) => Some(format!("{at}: {name} is not described")),
                    Some(Some(schema)) => misfit(api, schema, value, &format!("{at}.{name}")),
                });
            missing.chain(wrong).next()
        }
        _ => None,
    }
}

#[test]
fn the_version_is_that_of_the_service_and_operations_have_names_of_their_own() {
    let api = document();
    assert_eq!(
        (&api["openapi"], &api["info"]["version"]),
        (&json!("3.1.0"), &json!(env!("CARGO_PKG_VERSION")))
    );
    let ids: BTreeSet<&str> =
        operations(&api).iter().filter_map(|(.., op)| op["operationId"].as_str()).collect();
    assert_eq!(ids.len(), operations(&api).len());
}

#[tokio::test]
async fn every_route_is_described_with_its_methods() {
    let (app, api) = (service(), document());
    assert_eq!(get(&app, "/openapi.json").await.json(), api);
    let router = include_str!("../../crates/service/src/router.rs");
    let routes = router.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_string());
    let mut described = names(&api["paths"]);
    described.extend(PAGES.iter().map(ToString::to_string));
    // A unit test of the router has a route of its own.
    assert_eq!(routes.filter(|route| route != "/broken").collect::<BTreeSet<_>>(), described);
    for (path, methods) in api["paths"].as_object().unwrap() {
        for method in METHODS {
            let answer = send(&app, request(method, path, &[], Body::empty())).await;
            assert_eq!(answer.status != 405, methods.get(method.to_lowercase()).is_some(), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn bodies_have_the_fields_and_addresses_the_parameters_that_are_described() {
    let (app, api) = (service(), document());
    let env = new_env(&app).await;
    for (path, method, operation) in operations(&api) {
        let url = path.replace("{env}", &env);
        let bodies = operation["requestBody"]["content"].as_object().cloned().unwrap_or_default();
        for (media, content) in &bodies {
            let known = names(&resolve(&api, &content["schema"])["properties"]);
            let text = match media.as_str() {
                "application/json" => {
                    let answer = post(&app, &url, r#"{"none":0}"#).await.json();
                    answer["detail"].as_str().unwrap().split("known: ").last().unwrap().to_string()
                }
                "multipart/form-data" => {
                    let answer = send(&app, form(&url, &[("none", None, b"")])).await.json();
                    answer["expected"].as_str().unwrap().to_string()
                }
                _ => continue,
            };
            assert_eq!(quoted(&text), known, "{path} {media}");
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|p| resolve(&api, p));
        let in_query =
            parameters.filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap().to_string());
        let in_query: BTreeSet<String> = in_query.collect();
        if !in_query.is_empty() {
            let answer = send(&app, request(&method, &format!("{url}?none=0"), &[JSON], "{}")).await.json();
            let expected = answer["detail"].as_str().unwrap().split("expected").last().unwrap();
            assert_eq!(quoted(expected), in_query, "{path}");
        }
    }
    let answer = post(&app, "/v1/entail", r#"{"symbols":{"s0":{"none":1}},"goal":"s0 > 0"}"#).await.json();
    let known = answer["detail"].as_str().unwrap().split("known: ").last().unwrap();
    assert_eq!(quoted(known), names(&api["components"]["schemas"]["Range"]["properties"]));
}

/// Panics unless an answer fits what is described for its status and media type.
#[track_caller]
fn assert_described(api: &Value, operation: &Value, answer: &Answer, name: &str) {
    let response = resolve(api, &operation["responses"][answer.status.as_str()]);
    assert!(response.is_object(), "{name}: {} is not described: {}", answer.status, answer.text);
    if answer.text.is_empty() {
        return;
    }
    let media = answer.header("content-type").split(';').next().unwrap();
    let schema = &response["content"][media]["schema"];
    assert!(schema.is_object(), "{name}: {media} is not described");
    if media.ends_with("json") && media != "application/x-ndjson" {
        // Of a report only the beginning is described.
        let report = resolve(api, schema) == &api["components"]["schemas"]["ReportAnswer"];
        let wrong = misfit(api, schema, &answer.json(), "")
            .filter(|wrong| !report || !wrong.contains("not described"));
        assert_eq!(wrong, None, "{name}: {}", answer.text);
    }
}

#[tokio::test]
async fn answers_of_every_route_are_as_described() {
    let (app, api) = (service(), document());
    let env = new_env(&app).await;
    let program = example("area.pt2");
    let cat = r#"{"id":1,"op":"aten.cat.default","args":[{"tensors":[{"shape":["s0",2],"dtype":"float32"}]}],
        "symbols":{"s0":{"min":2,"hint":3}}}"#;
    let cases: &[(&str, &str, &str)] = &[
        ("GET", "/healthz", ""),
        ("GET", "/readyz", ""),
        ("GET", "/metrics", ""),
        ("POST", "/v1/entail?proof=true&explain=true", r#"{"symbols":{"s0":{"min":2}},"goal":"s0 >= 2"}"#),
        (
            "POST",
            "/v1/entail",
            r#"{"id":[1],"symbols":{"s0":{"min":1,"max":null}},"given":[],"goal":"s0 >= 2"}"#,
        ),
        ("POST", "/v1/entail?certificate=true", r#"{"goal":"Eq(a + a, 2*a)"}"#),
        ("POST", "/v1/entail", r#"{"goal":"a >= 2","certificate":true}"#),
        ("POST", "/v1/envs/{env}/entail", r#"{"goal":"Eq(s0 + s0, 2*s0)","certificate":true}"#),
        ("POST", "/v1/entail?explain=true", r#"{"symbols":{"s0":{"min":3,"max":2}},"goal":"s0 >= 2"}"#),
        ("POST", "/v1/entail?budget=1", r#"{"goal":"Ne(a*a*a + b*b*b, c*c*c + 114)"}"#),
        ("POST", "/v1/entail", "[]"),
        ("POST", "/v1/entail", "{"),
        ("POST", "/v1/simplify", r#"{"expr":"s0 + s0"}"#),
        ("POST", "/v1/minimize", r#"{"guards":["s0 >= 2","s0 >= 1"]}"#),
        ("POST", "/v1/bounds", r#"{"symbols":{"s0":{"min":2,"max":9}},"expr":"s0*s0"}"#),
        ("POST", "/v1/bounds", r#"{"expr":"s0"}"#),
        ("POST", "/v1/infer", cat),
        ("POST", "/v1/infer", r#"{"op":"aten.no_such.default","args":[]}"#),
        ("POST", "/v1/infer", r#"{"op":"aten.relu.default","args":[{"int":1}]}"#),
        ("POST", "/v1/envs", "{}"),
        ("GET", "/v1/envs/{env}", ""),
        ("POST", "/v1/envs/{env}/facts", r#"{"symbols":{"s1":{}},"given":["s1 > s0"]}"#),
        ("POST", "/v1/envs/{env}/entail", r#"{"goal":"s1 > 2"}"#),
        ("POST", "/v1/envs/{env}/simplify", r#"{"expr":"s1 - s1"}"#),
        ("POST", "/v1/envs/{env}/bounds", r#"{"expr":"s1"}"#),
        ("POST", "/v1/envs/none/bounds", r#"{"expr":"s1"}"#),
        ("DELETE", "/v1/envs/{env}", ""),
        ("DELETE", "/v1/envs/{env}", ""),
    ];
    let operations = operations(&api);
    let find = |method: &str, path: &str| {
        let path = path.split('?').next().unwrap().replace("/none", "/{env}");
        let found = operations.iter().find(|(known, verb, _)| *known == path && verb == method);
        found.unwrap_or_else(|| panic!("{method} {path} is not described")).2
    };
    let mut asked = BTreeSet::new();
    for &(method, path, body) in cases {
        let answer =
            send(&app, request(method, &path.replace("{env}", &env), &[JSON], body.to_string())).await;
        let operation = find(method, path);
        assert_described(&api, operation, &answer, &format!("{method} {path}"));
        asked.insert(operation["operationId"].to_string());
    }
    for (_, format, _) in sizewise::report::ReportForm::ALL {
        let answer =
            send(&app, form(&format!("/v1/check?format={format}"), &[("program", None, &program)])).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_described(&api, find("POST", "/v1/check"), &answer, format);
    }
    for shapes in [r#"{"shapes":{"x":[4],"y":[5]}}"#, r#"{"shapes":{"x":[99]}}"#, r#"{"shapes":{"no":[1]}}"#]
    {
        let parts: &[(&str, Option<&str>, &[u8])] =
            &[("program", None, &program), ("request", None, shapes.as_bytes())];
        assert_described(&api, find("POST", "/v1/eval"), &send(&app, form("/v1/eval", parts)).await, shapes);
    }
    for at in [r#"{"x":[8],"y":[16]}"#, r#"{"x":[8,1]}"#, r#"{"z":[8]}"#, "[]", ""] {
        let parts: &[(&str, Option<&str>, &[u8])] =
            &[("program", None, &program), ("at", None, at.as_bytes())];
        assert_described(&api, find("POST", "/v1/cost"), &send(&app, form("/v1/cost", parts)).await, at);
    }
    for question in
        [r#"{"ask":"bounds"}"#, r#"{"ask":"plan"}"#, r#"{"ask":"plan","align":3}"#, r#"{"ask":"all"}"#]
    {
        let parts: &[(&str, Option<&str>, &[u8])] =
            &[("program", None, &program), ("request", None, question.as_bytes())];
        let answer = send(&app, form("/v1/sizes", parts)).await;
        assert_described(&api, find("POST", "/v1/sizes"), &answer, question);
    }
    asked.extend(["check", "eval", "cost", "sizes"].map(|path| format!("\"post_v1_{path}\"")));
    assert_eq!(asked.len(), operations.len(), "{asked:?}");
}

#[test]
fn every_problem_is_described_at_its_status() {
    let api = document();
    let mut described = BTreeSet::new();
    for (path, method, operation) in operations(&api) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolve(&api, response);
            if response["content"]["application/problem+json"].is_null() {
                continue;
            }
            for name in response["description"].as_str().unwrap().split(", ") {
                let code = Code::ALL.into_iter().find(|code| code.name() == name);
                assert_eq!(
                    code.map(|code| code.status().to_string()[..3].to_string()).as_ref(),
                    Some(status),
                    "{method} {path}"
                );
                described.insert(name);
            }
        }
    }
    let all: BTreeSet<&str> =
        Code::ALL.into_iter().map(Code::name).filter(|name| *name != "not-found").collect();
    assert_eq!(described, all);
}
