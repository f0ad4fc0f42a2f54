//! Short descriptions of programs for the tests of verifiers, spelt out as archives.
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::io::Write;

/// What `tests/verify/rules.json` holds.
pub struct Fixtures {
    programs: Map<String, Json>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A program and how it is broken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The rule that is broken.
    pub rule: String,
    /// The program, which keeps every rule of its dialect.
    pub base: String,
    /// The dialect that the program is verified as when it is whole; its own by default.
    pub base_dialect: Option<String>,
    /// The dialect that the broken program is verified as; its own by default.
    pub dialect: Option<String>,
    /// Whether memory formats are asked for.
    #[serde(default)]
    pub memory_formats: bool,
    /// Whether memory formats are asked for while the program is whole.
    #[serde(default)]
    pub base_memory_formats: bool,
    /// An operator whose kernel is missing.
    pub without_kernel: Option<String>,
    /// Values by JSON pointer; `#g`, `#n`, `#s` and `#m` stand for the graph, its nodes, the signature and the module.
    #[serde(default)]
    set: Map<String, Json>,
    /// Pointers to what is taken out.
    #[serde(default)]
    remove: Vec<String>,
    /// Lists whose first two elements change places.
    #[serde(default)]
    swap: Vec<String>,
    /// What is kept as weights: by name, whether it is a parameter.
    weights: Option<Map<String, Json>>,
    /// The node at fault.
    pub at: Option<String>,
    /// What the message says.
    pub says: String,
    /// Other rules that are broken along with it.
    #[serde(default)]
    pub also: Vec<String>,
}

fn pointer(short: &str) -> String {
    short
        .replace("#g", "/graph_module/graph")
        .replace("#n", "/graph_module/graph/nodes")
        .replace("#s", "/graph_module/signature")
        .replace("#m", "/graph_module")
}

/// `f32[4, 3]` as the metadata of a contiguous tensor.
fn tensor_meta(ty: &str) -> Json {
    let (dtype, sizes) = ty.trim_end_matches(']').split_once('[').expect("a type");
    let dtype = match dtype {
        "f32" => 7,
        "b8" => 12,
        other => panic!("{other}"),
    };
    let sizes: Vec<i64> = sizes.split(", ").filter_map(|size| size.parse().ok()).collect();
    let stride = |at: usize| sizes[at + 1..].iter().product::<i64>();
    let strides: Vec<i64> = (0..sizes.len()).map(stride).collect();
    let ints = |list: &[i64]| list.iter().map(|value| json!({"as_int": value})).collect::<Vec<_>>();
    json!({"dtype": dtype, "sizes": ints(&sizes), "strides": ints(&strides), "requires_grad": false,
        "device": {"type": "cpu", "index": null}, "storage_offset": {"as_int": 0}, "layout": 7})
}

fn reference(name: &str, ty: &str) -> Json {
    match ty {
        "int" => json!({"as_sym_int": {"as_name": name}}),
        _ => json!({"as_tensor": {"name": name}}),
    }
}

fn type_of<'a>(values: &'a Map<String, Json>, name: &str) -> &'a str {
    values.get(name).and_then(Json::as_str).unwrap_or_else(|| panic!("no value `{name}`"))
}

fn argument(argument: &Json, values: &Map<String, Json>) -> Json {
    match argument {
        Json::String(text) => match (text.strip_prefix('%'), text.strip_prefix("s:")) {
            (Some(name), _) => reference(name, type_of(values, name)),
            (_, Some(text)) => json!({"as_string": text}),
            _ => panic!("{text}"),
        },
        Json::Number(number) => json!({"as_int": number}),
        Json::Bool(value) => json!({"as_bool": value}),
        Json::Array(list) if list.iter().all(Json::is_number) => json!({"as_ints": list}),
        Json::Array(list) => {
            let names = list.iter().filter_map(|name| name.as_str()?.strip_prefix('%'));
            json!({"as_tensors": names.map(|name| json!({"name": name})).collect::<Vec<_>>()})
        }
        Json::Object(graph) => {
            let text = |key: &str| graph[key].as_str().expect("text");
            let (input, output) = (text("in"), text("out"));
            let meta = tensor_meta(text("type"));
            let node = json!({"target": text("op"), "name": output, "metadata": {},
                "inputs": [{"name": "self", "arg": reference(input, ""), "kind": 1}],
                "outputs": [reference(output, "")]});
            json!({"as_graph": {"name": text("graph"), "graph": {"inputs": [reference(input, "")],
                "outputs": [reference(output, "")], "nodes": [node], "tensor_values": {input: meta, output: meta},
                "sym_int_values": {}, "sym_bool_values": {}}}})
        }
        Json::Null => json!({"as_none": true}),
    }
}

fn node(node: &Json, values: &Map<String, Json>) -> Json {
    let name = node[0].as_str().expect("a name");
    let pair = |name: &str, arg: &Json| json!({"name": name, "arg": argument(arg, values), "kind": 1});
    let inputs: Vec<Json> = match &node[2] {
        Json::Object(named) => named.iter().map(|(name, arg)| pair(name, arg)).collect(),
        Json::Array(list) => list.iter().map(|arg| pair(arg[0].as_str().expect("a name"), &arg[1])).collect(),
        other => panic!("{other}"),
    };
    let metadata =
        json!({"stack_trace": "File \"model.py\", line 1, in forward", "nn_module_stack": "L__self__,,M"});
    json!({"target": node[1], "name": name, "metadata": metadata, "inputs": inputs,
        "outputs": [reference(name, type_of(values, name))]})
}

/// What the graph and the signature say of an input or output; `user` is the tag of what a user passes or gets.
fn spec(text: &str, values: &Map<String, Json>, user: &str) -> (Json, Json) {
    let mut words = text.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (name, kind, target) = (word(), word(), word());
    let arg = reference(&name, type_of(values, &name));
    let plain = json!({"name": name});
    let tag = if kind == "user" { user } else { &kind };
    let spec = match kind.as_str() {
        "user" => json!({"arg": arg}),
        "parameter" => json!({"arg": plain, "parameter_name": target}),
        "buffer" => json!({"arg": plain, "buffer_name": target, "persistent": true}),
        "buffer_mutation" => json!({"arg": plain, "buffer_name": target}),
        "tensor_constant" => json!({"arg": plain, "tensor_constant_name": target}),
        other => panic!("{other}"),
    };
    (arg, json!({tag: spec}))
}

/// A structure of `count` leaves in a tuple.
fn tuple(count: u64) -> Json {
    let leaf = json!({"type": null, "context": null, "children_spec": []});
    json!({"type": "builtins.tuple", "context": "null", "children_spec": vec![leaf; count as usize]})
}

fn module_calls(call: &Json, values: &Map<String, Json>) -> Json {
    let list = |field: &str| -> Vec<Json> {
        let names = call[field].as_array().expect("a list").iter().filter_map(Json::as_str);
        names.map(|name| reference(name, type_of(values, name))).collect()
    };
    let keywords = json!({"type": "builtins.dict", "context": "[]", "children_spec": []});
    let arguments = json!({"type": "builtins.tuple", "context": "null",
        "children_spec": [tuple(call["in"].as_u64().expect("a count")), keywords]});
    let results = tuple(call["out"].as_u64().expect("a count"));
    json!([{"fqn": "", "signature": {"inputs": list("inputs"), "outputs": list("outputs"),
        "in_spec": json!([1, arguments]).to_string(), "out_spec": json!([1, results]).to_string()}}])
}

/// The program's JSON.
fn model(program: &Json) -> Json {
    let values = program["values"].as_object().expect("values");
    let texts = |field: &str, user: &str| -> Vec<(Json, Json)> {
        let list = program[field].as_array().expect("a list");
        list.iter().map(|text| spec(text.as_str().expect("text"), values, user)).collect()
    };
    let (inputs, input_specs): (Vec<Json>, Vec<Json>) = texts("inputs", "user_input").into_iter().unzip();
    let (outputs, output_specs): (Vec<Json>, Vec<Json>) = texts("outputs", "user_output").into_iter().unzip();
    let nodes: Vec<Json> =
        program["nodes"].as_array().expect("nodes").iter().map(|n| node(n, values)).collect();
    let (mut tensors, mut ints) = (Map::new(), Map::new());
    for (name, ty) in values {
        match ty.as_str().expect("a type") {
            "int" => ints.insert(name.clone(), json!({"as_expr": {"expr_str": "s0", "hint": {"as_int": 4}}})),
            ty => tensors.insert(name.clone(), tensor_meta(ty)),
        };
    }
    let calls = program.get("call").map_or(json!([]), |call| module_calls(call, values));
    let mut ranges = Map::new();
    for (name, range) in program.get("ranges").and_then(Json::as_object).into_iter().flatten() {
        ranges.insert(name.clone(), json!({"min_val": range[0], "max_val": range[1]}));
    }
    json!({
        "graph_module": {
            "graph": {"inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": tensors,
                "sym_int_values": ints, "sym_bool_values": {}},
            "signature": {"input_specs": input_specs, "output_specs": output_specs},
            "module_call_graph": calls,
        },
        "opset_version": {}, "range_constraints": ranges, "verifiers": [program["verifier"]],
        "schema_version": {"major": 8, "minor": 20},
    })
}

fn change(model: &mut Json, case: &Case) {
    for path in &case.swap {
        let list = model.pointer_mut(&pointer(path)).and_then(Json::as_array_mut).expect("a list");
        list.swap(0, 1);
    }
    for path in &case.remove {
        let path = pointer(path);
        let (parent, key) = path.rsplit_once('/').expect("a path");
        match model.pointer_mut(parent).expect("a place") {
            Json::Object(map) => drop(map.remove(key).expect("a field")),
            Json::Array(list) => drop(list.remove(key.parse().expect("an index"))),
            other => panic!("{other}"),
        }
    }
    for (path, value) in &case.set {
        let path = pointer(path);
        let (parent, key) = path.rsplit_once('/').expect("a path");
        match model.pointer_mut(parent).unwrap_or_else(|| panic!("no place {path}")) {
            Json::Object(map) => drop(map.insert(key.to_owned(), value.clone())),
            Json::Array(list) => list[key.parse::<usize>().expect("an index")] = value.clone(),
            other => panic!("{other}"),
        }
    }
}

impl Fixtures {
    /// Reads the fixtures.
    pub fn load() -> Fixtures {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify/rules.json");
        let text = std::fs::read_to_string(path).expect("the fixtures");
        let mut json: Json = serde_json::from_str(&text).expect("JSON");
        let programs = json["programs"].take();
        let programs = programs.as_object().expect("programs").clone();
        let cases = serde_json::from_value(json["cases"].take()).expect("cases");
        Fixtures { programs, cases }
    }

    /// A program as an archive, broken as a case says.
    pub fn archive(&self, name: &str, case: Option<&Case>) -> Vec<u8> {
        let program = self.programs.get(name).unwrap_or_else(|| panic!("no program `{name}`"));
        let mut model = model(program);
        if let Some(case) = case {
            change(&mut model, case);
        }
        let default: Map<String, Json> = [("w", true), ("k", false), ("v", true)]
            .map(|(name, parameter)| (name.to_owned(), parameter.into()))
            .into_iter()
            .collect();
        let weights = case.and_then(|case| case.weights.clone()).unwrap_or(default);
        let config = |entries: Map<String, Json>| {
            let entries = entries.into_iter().map(|(name, parameter)| (name, json!({"is_param": parameter})));
            json!({"config": entries.collect::<Map<String, Json>>()}).to_string()
        };
        let constants: Map<String, Json> = [("t".to_owned(), false.into())].into_iter().collect();
        let entries = [
            ("p/archive_format", "pt2".to_owned()),
            ("p/archive_version", "0".to_owned()),
            ("p/models/model.json", model.to_string()),
            ("p/data/weights/model_weights_config.json", config(weights)),
            ("p/data/constants/model_constants_config.json", config(constants)),
        ];
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in entries {
            writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("a new entry");
            writer.write_all(content.as_bytes()).expect("memory to write to");
        }
        writer.finish().expect("memory to write to").into_inner()
    }
}
