//! `data/report.schema.json` describes every report in JSON, and nothing else: each field that a report has is in it, and
//! each field of it is in some report.
use serde_json::Value as Json;
use sizewise::check::Checker;
use sizewise::ir::pt2::ReadOptions;
use sizewise::kernels::Operators;
use sizewise::onnx::subject::Subject;
use sizewise::report::to_json;
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Checks a value against a part of the schema: as much of JSON Schema as the schema uses.
struct Validator<'s> {
    root: &'s Json,
    /// The properties that were met, as `Name.property`.
    met: BTreeSet<String>,
}

impl<'s> Validator<'s> {
    /// What is wrong, with the place; nothing if all is right.
    fn wrong(&mut self, schema: &'s Json, value: &Json, name: &str, at: &str) -> Option<String> {
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            let name = reference.strip_prefix("#/$defs/").expect("a definition");
            let found = self.root["$defs"].get(name).unwrap_or_else(|| panic!("{name} is not defined"));
            return self.wrong(found, value, name, at);
        }
        if let Some(choices) = schema.get("anyOf").and_then(Json::as_array) {
            let mut wrong = None;
            for choice in choices {
                match self.wrong(choice, value, name, at) {
                    None => return None,
                    some => wrong = some,
                }
            }
            return wrong;
        }
        if let Some(expected) = schema.get("const") {
            return (value != expected).then(|| format!("{at}: {value} is not {expected}"));
        }
        if let Some(values) = schema.get("enum").and_then(Json::as_array) {
            return (!values.contains(value)).then(|| format!("{at}: {value} is none of {values:?}"));
        }
        let is_right = match schema.get("type").and_then(Json::as_str) {
            Some("null") => value.is_null(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_u64(),
            Some("number") => value.is_number(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            Some(other) => panic!("no type is called {other}"),
            None => true,
        };
        if !is_right {
            return Some(format!("{at}: {value} is no {}", schema["type"]));
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            return values
                .iter()
                .enumerate()
                .find_map(|(i, item)| self.wrong(items, item, name, &format!("{at}[{i}]")));
        }
        let fields = value.as_object()?;
        if let Some(each) = schema.get("additionalProperties") {
            return fields
                .iter()
                .find_map(|(key, field)| self.wrong(each, field, name, &format!("{at}.{key}")));
        }
        let properties = schema.get("properties")?.as_object()?;
        let required = schema["required"].as_array().expect("a list");
        if let Some(missing) =
            required.iter().find(|key| key.as_str().is_some_and(|key| !fields.contains_key(key)))
        {
            return Some(format!("{at}: {missing} is missing"));
        }
        fields.iter().find_map(|(key, field)| match properties.get(key) {
            None => Some(format!("{at}.{key} is not in the schema")),
            Some(property) => {
                self.met.insert(format!("{name}.{key}"));
                self.wrong(property, field, name, &format!("{at}.{key}"))
            }
        })
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Files with an ending in a folder, in order.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(root().join(folder)).expect("a folder").flatten();
    let mut files: Vec<PathBuf> =
        files.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    files
}

/// The report of a program, under the spec beside it if there is one.
fn report(path: &Path) -> Json {
    let name = path.file_name().expect("a name").to_string_lossy();
    let bytes = std::fs::read(path).expect("a file");
    let subject = Subject::read(&name, bytes, &ReadOptions::default()).expect("a program");
    let spec = std::fs::read(path.with_extension("json")).ok();
    let spec = spec.map(|spec| Spec::parse(&spec).expect("a spec"));
    let operators = Operators::new();
    let mut report = subject.check(spec.as_ref(), &operators, &Budget::default()).expect("a report");
    subject.add_costs(&mut report, spec.as_ref(), &operators);
    serde_json::from_str(&to_json(&report)).expect("JSON")
}

/// A report of a spec of which nothing fits, and one of a spec that is violated for many reasons.
fn reports_of_specs() -> Vec<Json> {
    let specs = [
        ("examples/area.pt2", r#"{"z": ["AUTO"]}"#),
        ("examples/branch.pt2", r#"{"x": ["DYNAMIC", "DYNAMIC"]}"#),
        ("tests/data/reports/deep.pt2", r#"{"x": [{"dim": "batch"}, {"dim": "seq"}, null]}"#),
        ("tests/data/reports/first_row.pt2", r#"{"x": [{"dim": "b"}, null]}"#),
        ("examples/bert.pt2", r#"{"input_ids": [{"dim": "b"}, {"dim": "s"}]}"#),
        (
            "tests/data/reports/swin.pt2",
            r#"{"pixel_values": [{"dim": "b"}, null, {"dim": "h"}, {"dim": "w"}]}"#,
        ),
        (
            "tests/data/reports/deep.pt2",
            r#"{"x": [{"dim": "b", "max": 4294967296}, {"dim": "s", "max": 4294967296}, null]}"#,
        ),
        (
            "tests/data/shapes/v_derived_order__plain.pt2",
            r#"{"vars": {"d": {}}, "params": {"x": ["d"], "y": ["d + 1"]}}"#,
        ),
        ("tests/data/reports/unbacked.pt2", r#"{"tokens": [{"dim": "t", "min": 2}], "position": []}"#),
    ];
    let of = |(program, spec): (&str, &str)| {
        let bytes = std::fs::read(root().join(program)).expect("a program");
        let checker = Checker::read(program, &bytes).expect("a program");
        let spec = Spec::parse(spec.as_bytes()).expect("a spec");
        let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
        serde_json::from_str(&to_json(&report)).expect("JSON")
    };
    specs.into_iter().map(of).collect()
}

/// An ONNX model as text, with what it leaves to run time, refuses and cannot declare.
const MODELS: [&str; 3] = [
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n, h] x, int64[k] i) => (y) { a = Gather<axis = 1>(x, i) b = Concat<axis = 1>(a, x) y = Add(b, x) }",
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n, 3, h, w] x) => (float[n, 3, h, w] y) { y = MaxPool<kernel_shape = [9, 9]>(x) }",
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n, 5] x, float[6, 3] w) => (float[n, 3] y) { y = MatMul(x, w) }",
];

#[test]
fn reports_keep_to_the_schema() {
    let text = std::fs::read_to_string(root().join("data/report.schema.json")).expect("the schema");
    let schema: Json = serde_json::from_str(&text).expect("JSON");
    let mut validator = Validator { root: &schema, met: BTreeSet::new() };
    let mut paths = files("examples", ".pt2");
    paths.extend(files("examples", ".onnx"));
    paths.extend(files("tests/data/programs", ".pt2").into_iter().step_by(7));
    let mut reports: Vec<Json> = paths.iter().map(|path| report(path)).collect();
    reports.extend(reports_of_specs());
    for model in MODELS {
        let subject =
            Subject::read("model.txt", model.as_bytes().to_vec(), &ReadOptions::default()).expect("a model");
        let report = subject.check(None, &Operators::new(), &Budget::default()).expect("a report");
        reports.push(serde_json::from_str(&to_json(&report)).expect("JSON"));
    }
    for report in &reports {
        let wrong = validator.wrong(&schema, report, "Report", "");
        assert_eq!(wrong, None, "{}", report["program"]["path"]);
    }
    let described = |name: &str, part: &Json| -> Vec<String> {
        let fields = part["properties"].as_object().expect("properties");
        fields.keys().map(|key| format!("{name}.{key}")).collect()
    };
    let mut all = described("Report", &schema);
    for (name, part) in schema["$defs"].as_object().expect("definitions") {
        if part.get("properties").is_some() {
            all.extend(described(name, part));
        }
    }
    let unmet: Vec<&String> = all.iter().filter(|field| !validator.met.contains(*field)).collect();
    // What none of these has: conditions that a model states of itself in its metadata.
    let known = [
        "Report.stated",
        "Report.stated_suffices",
        "StatedReport.expr",
        "StatedReport.verdict",
        // What other tests of reports have: tests/blamed.rs.
        "GuardReport.relation",
        "WrongRelation.size",
        "WrongRelation.says",
        "WrongRelation.needs",
        "GuardReport.beside",
        // What data of their own break, and the lines of wrong records and of skipped nodes.
        "GuardReport.values",
        // A bound of 2^40 or more.
        "GuardReport.far",
        "GuardReport.works_values",
        "MismatchReport.values",
        "MismatchReport.stack",
        "UnsupportedReport.stack",
    ];
    let unmet: Vec<&&String> = unmet.iter().filter(|field| !known.contains(&field.as_str())).collect();
    assert!(unmet.is_empty(), "no report has {unmet:?}");
}

#[test]
fn what_is_no_report_is_refused() {
    let text = std::fs::read_to_string(root().join("data/report.schema.json")).expect("the schema");
    let schema: Json = serde_json::from_str(&text).expect("JSON");
    let good = report(&root().join("examples/area.pt2"));
    let changes: [(&str, Json); 5] = [
        ("verdict", "fine".into()),
        ("schema_version", 2.into()),
        ("guards", Json::Null),
        ("inputs", serde_json::json!([{"name": "x"}])),
        ("unheard_of", 1.into()),
    ];
    for (key, value) in changes {
        let mut changed = good.clone();
        changed[key] = value;
        let wrong = Validator { root: &schema, met: BTreeSet::new() }.wrong(&schema, &changed, "Report", "");
        assert!(wrong.is_some_and(|wrong| wrong.contains(key)), "{key}");
    }
}
