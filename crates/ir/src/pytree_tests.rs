//! Structures of containers: paths, texts, and what is refused.
use super::*;

const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

fn spec(class: &str, context: &str, children: &[&str]) -> String {
    let context = serde_json::to_string(context).unwrap();
    format!(r#"{{"type": "{class}", "context": {context}, "children_spec": [{}]}}"#, children.join(", "))
}

fn paths(root: &str) -> Vec<String> {
    let fields = NamedTupleFields::from([("my.NT".into(), vec!["p".into(), "q".into()])]);
    let tree = TreeSpec::parse(&format!("[1, {root}]"), &fields).unwrap();
    let paths = tree.leaves();
    assert_eq!(paths.len(), tree.leaf_count());
    let text = |path: &Vec<PathStep>| path.iter().map(PathStep::to_string).collect::<String>();
    paths.iter().map(|(path, _)| format!("x{}", text(path))).collect()
}

#[test]
fn the_names_of_parts_are_found_in_what_a_registration_adds() {
    let two = [LEAF, LEAF];
    for (root, expected) in [
        // Lists of names, wherever they stand.
        (spec("my.Cache", r#"["keys", "values"]"#, &two), vec!["0 keys", "1 values"]),
        (spec("my.Cache", r#"{"fields": ["keys", "values"], "n": 3}"#, &two), vec!["0 keys", "1 values"]),
        (spec("my.Cache", r#"[["keys", "values"], [], "fp32"]"#, &two), vec!["0 keys", "1 values"]),
        // Two lists, equal names, other counts, and no names.
        (spec("my.Cache", r#"[["keys", "values"], ["k", "v"], 3]"#, &two), vec!["0 ?", "1 ?"]),
        (spec("my.Cache", r#"["keys", "keys"]"#, &two), vec!["0 ?", "1 ?"]),
        (spec("my.Cache", r#"["keys"]"#, &two), vec!["0 ?", "1 ?"]),
        (spec("my.Cache", "[0, 1]", &two), vec!["0 ?", "1 ?"]),
        (spec("my.Cache", "null", &two), vec!["0 ?", "1 ?"]),
        (spec("my.Cache", "no JSON", &two), vec!["0 ?", "1 ?"]),
        // Fields, and containers whose parts have one name only.
        (spec("collections.namedtuple", "my.NT", &two), vec!["0 p", "1 q"]),
        (spec("my.Data", r#"[["a", "b"], ["absent"]]"#, &two), vec!["0 a", "1 b"]),
        (spec("builtins.dict", r#"["a", "b"]"#, &two), vec!["", ""]),
        // Steps are counted from the value.
        (
            spec(
                "my.Cache",
                r#"["keys"]"#,
                &[&spec("builtins.list", "null", &[&spec("my.C", "[\"k\"]", &[LEAF])])],
            ),
            vec!["2: 0 keys, 0 k"],
        ),
    ] {
        let fields = NamedTupleFields::from([("my.NT".into(), vec!["p".into(), "q".into()])]);
        let tree = TreeSpec::parse(&format!("[1, {root}]"), &fields).unwrap();
        let part = |part: &Part| {
            let after = if part.steps_after > 0 { format!("{}: ", part.steps_after) } else { String::new() };
            format!("{after}{} {}", part.index, part.name.as_deref().unwrap_or("?"))
        };
        let parts = |parts: &Vec<Part>| parts.iter().map(part).collect::<Vec<_>>().join(", ");
        assert_eq!(
            tree.leaves().iter().map(|(_, found)| parts(found)).collect::<Vec<_>>(),
            expected,
            "{root}"
        );
    }
}

#[test]
fn containers_give_the_paths_that_python_writes() {
    for (root, expected) in [
        (LEAF.to_owned(), vec!["x"]),
        (spec("builtins.list", "null", &[LEAF, LEAF]), vec!["x[0]", "x[1]"]),
        (spec("builtins.dict", r#"["a", 7]"#, &[LEAF, LEAF]), vec!["x['a']", "x[7]"]),
        (spec("builtins.dict", "[]", &[]), vec![]),
        (spec("collections.namedtuple", "my.NT", &[LEAF, LEAF]), vec!["x.p", "x.q"]),
        (spec("collections.namedtuple", "other.NT", &[LEAF]), vec!["x[0]"]),
        (
            spec(
                "collections.defaultdict",
                r#"{"default_factory_module": "builtins", "dict_context": ["k"]}"#,
                &[LEAF],
            ),
            vec!["x['k']"],
        ),
        (spec("torch.return_types.topk", "null", &[LEAF, LEAF]), vec!["x[0]", "x[1]"]),
        (spec("collections.deque", "null", &[LEAF, LEAF]), vec!["x[0]", "x[1]"]),
        (spec("collections.OrderedDict", r#"["a"]"#, &[LEAF]), vec!["x['a']"]),
        (spec("my.Data", r#"[["a", "b"], []]"#, &[LEAF, LEAF]), vec!["x.a", "x.b"]),
        (spec("my.Data", r#"[["a"], ["absent"]]"#, &[LEAF]), vec!["x.a"]),
        (spec("my.Registered", r#"[["a"], []]"#, &[LEAF, LEAF]), vec!["x[0]", "x[1]"]),
        (spec("my.Registered", r#"{"n": 3}"#, &[LEAF]), vec!["x[0]"]),
        (
            spec("builtins.dict", r#"[true, 1.5, null, Infinity]"#, &[LEAF, LEAF, LEAF, LEAF]),
            vec!["x[True]", "x[1.5]", "x[None]", "x[inf]"],
        ),
        (
            spec("builtins.dict", r#"[[1, "a]"], [1180591620717411303424], -3, 1180591620717411303424]"#, &[LEAF; 4]),
            vec!["x[(1, 'a]')]", "x[(1180591620717411303424,)]", "x[-3]", "x[1180591620717411303424]"],
        ),
        (
            spec(
                "collections.OrderedDict",
                r#"[{"__enum__": true, "fqn": "my.module:Color", "name": "RED"}]"#,
                &[LEAF],
            ),
            vec!["x[Color.RED]"],
        ),
        (
            r#"{"type": "collections.defaultdict", "context": {"default_factory_module":"builtins","default_factory_name":"list","dict_context":["a",true]}, "children_spec": [LEAF, LEAF]}"#
                .replace("LEAF", LEAF),
            vec!["x['a']", "x[True]"],
        ),
        (
            r#"{"type": "my.Cache", "context": [3,{"k":null}], "children_spec": [LEAF]}"#.replace("LEAF", LEAF),
            vec!["x[0]"],
        ),
        (
            spec("builtins.tuple", "null", &[LEAF, &spec("builtins.tuple", "null", &[LEAF])]),
            vec!["x[0]", "x[1][0]"],
        ),
    ] {
        assert_eq!(paths(&root), expected, "{root}");
        let text = format!("[1, {root}]");
        let read = TreeSpec::parse(&text, &NamedTupleFields::new()).expect("a structure");
        assert_eq!(read.to_json(), text);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let deep = "[".repeat(1_000_000);
    for (text, part) in [
        ("", "cannot be read"),
        ("[1]", "cannot be read"),
        (deep.as_str(), "cannot be read"),
        (&format!("[2, {LEAF}]"), "version 2"),
        (&format!(r#"[1, {{"type": null, "context": null, "children_spec": [{LEAF}]}}]"#), "a leaf"),
        (&format!("[1, {}]", spec("builtins.dict", r#"["a"]"#, &[])), "keys"),
        (&format!("[1, {}]", spec("builtins.dict", "null", &[])), "keys"),
        (&format!("[1, {}]", spec("builtins.dict", "[[1]", &[LEAF])), "keys"),
        (&format!("[1, {}]", spec("builtins.dict", "[1,]", &[LEAF, LEAF])), "keys"),
        (&format!("[1, {}]", spec("builtins.dict", r#"["a"#, &[LEAF])), "keys"),
        (
            &format!("[1, {}]", spec("collections.namedtuple", "my.NT", &[LEAF])),
            "has 1 elements but 2 fields",
        ),
    ] {
        let fields = NamedTupleFields::from([("my.NT".into(), vec!["p".into(), "q".into()])]);
        let error = TreeSpec::parse(text, &fields).unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::Pytree);
        assert!(error.message.contains(part), "{error}");
    }
}
