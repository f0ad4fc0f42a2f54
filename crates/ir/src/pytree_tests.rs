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
    let paths = tree.leaf_paths(&[PathStep::Parameter("x".into())]);
    assert_eq!(paths.len(), tree.leaf_count());
    paths.iter().map(|path| path.iter().map(PathStep::to_string).collect()).collect()
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
