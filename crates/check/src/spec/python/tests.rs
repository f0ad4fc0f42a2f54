//! Specs in the form of Python, and what is wrong with others.
use crate::spec::Spec;
use serde_json::{Value as Json, json};

fn read(text: &str) -> Json {
    let spec = Spec::parse(text.as_bytes());
    spec.unwrap_or_else(|error| panic!("{text}\n{error}")).to_json()
}

fn named(name: &str, min: Option<i64>, max: Option<i64>) -> Json {
    json!({"dim": name, "min": min, "max": max})
}

#[test]
fn what_torch_takes_is_read() {
    let b = named("b", Some(2), Some(64));
    for (text, expected) in [
        ("{'x': None}", json!({"x": null})),
        ("({0: Dim.AUTO}, None, 3)", json!([{"0": "AUTO"}, null, 3])),
        ("(Dim('b', min=2, max=64),)", json!([b])),
        (
            "# a comment\nimport torch\nb = torch.export.Dim(\"b\", max=64, min=2)\n{'x': [b, b]}",
            json!({"x": [b, b]}),
        ),
        (
            "from torch.export import Dim\nb = Dim('b',\n        min=2,\n        max=2**6)\ndynamic_shapes = dict(x=(b,))\n",
            json!({"x": [b]}),
        ),
        (
            "b = Dim('b', min=2, max=64)\nd = 2*b\n{'x': (d + 1,)}",
            json!({"x": [{"derived": "2*b + 1", "root": b}]}),
        ),
        (
            "b = Dim('b', min=2, max=64)\n{'x': [3*(b*2 - 1)]}",
            json!({"x": [{"derived": "6*b - 3", "root": b}]}),
        ),
        ("b, c = dims('b', 'c', min=2, max=64)\n[[b], [c]]", json!([[b], [named("c", Some(2), Some(64))]])),
        (
            "{'x': [Dim.DYNAMIC(min=4), Dim.STATIC, 'AUTO']}",
            json!({"x": [{"hint": "DYNAMIC", "min": 4, "max": null}, "STATIC", "AUTO"]}),
        ),
        (
            "b, c = dims('b', 'c', min=2, max=64)\n{'x': [b + c, 2*(1 + c + b + c) - 1, b + 2*b, b + c + 3*c]}",
            json!({"x": [
                {"derived": "b + c", "roots": [b, named("c", Some(2), Some(64))]},
                {"derived": "4*c + 2*b + 1", "roots": [named("c", Some(2), Some(64)), b]},
                {"derived": "3*b", "root": b},
                {"derived": "b + 4*c", "roots": [b, named("c", Some(2), Some(64))]},
            ]}),
        ),
        ("{'x': [Dim('b')]}; ", json!({"x": [named("b", None, None)]})),
        ("[1, 2, 1_000,]", json!([1, 2, 1000])),
        ("{}", json!({})),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn scripts_are_read_for_their_spec() {
    let (b, x) = (named("b", Some(2), Some(64)), |entry: Json| json!({"x": [entry]}));
    let model = "class Net(torch.nn.Module):\n    def forward(self, x: 'int', b=f'{3}') -> Dim:\n        return x @ 1.5\n";
    for (text, expected) in [
        ("D = torch.export.Dim\nb = D('b', min=2, max=64)\n{'x': [b]}", x(b.clone())),
        ("import torch.export as te, os\n{'x': [te.Dim('b', min=2, max=64)]}", x(b.clone())),
        ("b: Dim = Dim('b', min=2, max=64)\ndynamic_shapes: dict[str, list] = {'x': [b]}", x(b.clone())),
        ("from torch.export import (Dim as D, export)\n{'x': [D.AUTO]}", x(json!("AUTO"))),
        ("import torch as t\ne = t.export\nD = e.Dim\n{'x': [D('b', min=2, max=64)]}", x(b.clone())),
        (
            &format!(
                "import torch\nfrom torch.export import Dim, export\n{model}\nm = Net().eval()\nargs = (torch.randn(3, 4.5),)\n\
                 b = Dim('b', min=2, max=64)\ndynamic_shapes = {{'x': [b]}}\n\
                 with torch.no_grad():\n    ep = export(m, args, dynamic_shapes=dynamic_shapes)\n\
                 print(f\"{{ep}} it's\", \"a\\\"b\")\ntorch.export.save(ep, 'm.pt2')\nassert ep != None\n"
            ),
            x(b.clone()),
        ),
        (
            "for i in range(3):\n  b = i\nb = Dim('b', min=2, max=64)\ndynamic_shapes = {'x': [b]}\nb += 1",
            x(b),
        ),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
    // What the spec needs has to be understood.
    let b = "b = Dim('b')\ndynamic_shapes = {'x': [b]}\n";
    for (text, message) in [
        (
            "b = pick(3)\ndynamic_shapes = {'x': [b]}".to_owned(),
            "line 1, column 5: `pick(...)` is not called: the text is",
        ),
        (
            "if fast:\n    b = 3\ndynamic_shapes = {'x': [b]}".to_owned(),
            "line 2, column 5: `b` has no known value: line 1 may",
        ),
        (
            format!("{b}dynamic_shapes['y'] = None"),
            "line 3, column 15: expected the end of the line, found `[`",
        ),
        (
            format!("{b}dynamic_shapes.update(y=None)"),
            "line 3, column 15: expected the end of the line, found `.`",
        ),
        (
            format!("{b}if fast:\n    dynamic_shapes = None"),
            "line 4, column 5: `dynamic_shapes` has no known value",
        ),
        (
            format!("{b}dynamic_shapes |= {{'y': None}}"),
            "line 3, column 16: expected the end of the line, found `|`",
        ),
        (
            "def b(): pass\ndynamic_shapes = [b]".to_owned(),
            "line 1, column 5: `b` has no known value: line 1 may",
        ),
    ] {
        let error = Spec::parse(text.as_bytes()).expect_err(&text).to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, message) in [
        (
            "x = 3",
            "line 1, column 6: expected `dynamic_shapes = ...`, or a dictionary, list or tuple that mirrors the inputs",
        ),
        (
            "dynamic_shapes = 3",
            "line 1, column 19: expected a dictionary, list or tuple that mirrors the inputs, found an integer",
        ),
        ("{'x': [2*b]}", "line 1, column 10: `b` is not assigned above; known are Dim, dims, dict and None"),
        (
            "b = Dim('b')\n{'x': [-2*b]}",
            "line 2, column 10: a dimension times -2: torch derives sizes by positive factors",
        ),
        (
            "b = Dim('b')\n{'x': [b*b]}",
            "line 2, column 9: a dimension times a dimension is no derived dimension: torch derives `a*dim + b` of one dimension",
        ),
        (
            "b = Dim('b')\n{'x': [1 - b]}",
            "line 2, column 10: an integer and a dimension do not add up to a derived dimension: that is `a*dim + b`, or a sum of such for an ONNX model",
        ),
        (
            "def f():\n    dynamic_shapes = {'x': [3]}",
            "line 2, column 5: the `dynamic_shapes` within the `def` of line 1 is not read: move it out of the block, to the beginning of a line",
        ),
        (
            "if a:\n    b = 3\n    dynamic_shapes = {'x': [b]}\nelse:\n    dynamic_shapes = None",
            "line 3, column 5: the `dynamic_shapes` within the `if` of line 1 is not read: move it out of the block, to the beginning of a line",
        ),
        (
            "with no_grad():\n    e = export(m, a, dynamic_shapes={'x': [3]})",
            "line 2, column 22: the `dynamic_shapes` within the `with` of line 1 is not read: move it out of the block, to the beginning of a line",
        ),
        (
            "with no_grad(): e = export(m, dynamic_shapes=[3])",
            "line 1, column 31: the `dynamic_shapes` within the `with` of line 1 is not read: move it out of the block, to the beginning of a line",
        ),
        ("{'x': [Dim('b', min=2, least=3)]}", "line 1, column 24: expected `min=` or `max=`, found `least`"),
        ("{'x': [Dim('b', min=2, min=3)]}", "line 1, column 24: the same end is given twice"),
        ("{'x': [Dim('b', min='2')]}", "line 1, column 21: expected an integer or None, found a string"),
        ("{'x': [Dim(b)]}", "line 1, column 12: expected a dimension's name, such as \"batch\", found `b`"),
        ("{'x': [Dim.AUT]}", "line 1, column 12: `Dim` has no `AUT`; did you mean `Dim.AUTO`?"),
        ("{'x': 1, 'x': 2}", "line 1, column 10: the key `x` is given twice; first in line 1, column 2"),
        ("dict(x=1, y=2, x=3)", "line 1, column 16: the key `x` is given twice; first in line 1, column 6"),
        ("{0: 1, '0': 2}", "line 1, column 8: the key `0` is given twice; first in line 1, column 2"),
        (
            "open('spec.json')",
            "line 1, column 1: `open(...)` is not called: the text is parsed and not run; known calls are Dim(...), dims(...), dict(...), ShapesSpec(...) and its parts",
        ),
        (
            "{'x': [torch.randint(3)]}",
            "line 1, column 8: `torch.randint(...)` is not called: the text is parsed and not run; known calls are Dim(...), dims(...), dict(...), ShapesSpec(...) and its parts",
        ),
        (
            "batch = Dim('batch')\n{'x': [bacth]}",
            "line 2, column 8: `bacth` is not assigned above; did you mean `batch`?",
        ),
        ("{'x': [Dim.Q]}", "line 1, column 12: `Dim` has no `Q`; it has AUTO, DYNAMIC and STATIC"),
        (
            "dynamic_shape = {'x': [3]}",
            "line 1, column 27: expected `dynamic_shapes = ...`, or a dictionary, list or tuple that mirrors the inputs; `dynamic_shape` is assigned",
        ),
        ("{None: 1}", "line 1, column 2: expected a parameter's name or a dimension's number, found None"),
        ("[1 for i in x]#", "line 1, column 4: the text is parsed and not run: write the list out"),
        ("{'x': [1.5]}", "line 1, column 8: expected an integer, found `1.5`"),
        ("{'x': [2**400]}", "line 1, column 9: the number is too large for a size"),
        ("{'x: 3}", "line 1, column 2: the string does not end on its line"),
        (
            "{'x\\n': 3}",
            "line 1, column 2: a string with `\\` is not read here: write the characters themselves",
        ),
        ("{f'x': 3}", "line 1, column 2: strings with the prefix `f` are not read here"),
        ("('x' ? 3)", "line 1, column 6: unexpected character '?'"),
        ("(1, 2\n3)", "line 2, column 1: expected `)`, found `3`"),
        ("a, b = [1]\n(a,)", "line 1, column 1: 2 names for a list or tuple"),
        ("(1,)\n(2,)", "line 2, column 1: a second expression; the text has one spec"),
        ("n = Dim('n'\ndynamic_shapes = {'x': {0: n}}", "line 1, column 8: this bracket is never closed"),
        ("assert x", "line 1, column 1: `assert` is not assigned above; known are Dim, dims, dict and None"),
        ("dims()", "line 1, column 6: expected a dimension's name, such as \"batch\", found `)`"),
    ] {
        let error = Spec::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn a_caret_stands_below_the_place() {
    for (text, excerpt) in [
        ("{'x': [Dim.AUT]}", "\n  {'x': [Dim.AUT]}\n             ^"),
        ("from torch.export import Dim\nspec = {\n    'x': open('f'),\n}", "\n  'x': open('f'),\n       ^"),
        (r#"{"x": [1,, 2]}"#, "\n  {\"x\": [1,, 2]}\n           ^"),
        (r#"{"x": [{"dim": 3}]}"#, ""),
    ] {
        let spec = Spec::parse(text.as_bytes());
        assert_eq!(spec.map_or_else(|error| error.excerpt, |_| String::new()), excerpt, "{text}");
    }
}

#[test]
fn files_that_are_no_specs_are_told_apart() {
    let program = "this is an exported program, not a spec; `sizewise spec show PROGRAM` prints the spec that it was exported with";
    let expected = "expected JSON, or Python with `dynamic_shapes = ...`";
    for (bytes, message) in [
        (&b"PK\x03\x04..."[..], program.to_owned()),
        (b"ExportedProgram:\n    class GraphModule", program.to_owned()),
        (br#"{"graph_module": {"graph": {"nodes": []}}}"#, program.to_owned()),
        (b"", format!("the file is empty: {expected}")),
        (b" \n\t", format!("the file is empty: {expected}")),
        (b"\xff\xfe\x00", format!("this is a binary file: {expected}")),
        (b"\x7fELF\0\0", format!("this is a binary file: {expected}")),
    ] {
        let error = Spec::parse(bytes).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(error, Err(format!("the spec: {message}")), "{bytes:?}");
    }
    // An input may have any name.
    assert!(Spec::parse(br#"{"graph_module": [null, "AUTO"]}"#).is_ok());
}

#[test]
fn deep_and_large_texts_are_refused_at_once() {
    let deep = "(".repeat(100_000);
    let doubled: String = (1..64).map(|i| format!("a{i} = (a{0}, a{0})\n", i - 1)).collect();
    let doubled = format!("a0 = (None,)\n{doubled}dynamic_shapes = a63");
    let named: String = (1..900).map(|i| format!("a{i} = [a{}]\n", i - 1)).collect();
    let named = format!("a0 = (None,)\n{named}");
    let many = "a = 1\n".repeat(2_000);
    let keys: String = (0..20_000).map(|i| format!("'k{i}': 1, ")).collect();
    let keys = format!("{{{keys}}}");
    let long = format!("({}None)", "-".repeat(100_000));
    for (text, message) in [
        (deep.as_str(), "line 1, column 65: nested more than 64 deep"),
        (&doubled, "line 18, column 1: the spec has more than 200000 entries"),
        (&named, "line 65, column 1: nested more than 64 deep"),
        (&many, "line 1001, column 1: more than 1000 statements"),
        (&keys, "line 1, column 118892: more than 10000 keys"),
        (&long, "line 1, column 3: expected a value, found `-`"),
    ] {
        assert_eq!(
            Spec::parse(text.as_bytes()).map(|_| ()).map_err(|e| e.to_string()),
            Err(message.to_owned())
        );
    }
}

#[test]
fn what_is_written_is_read_back() {
    for text in [
        r#"{"x": [{"dim": "b", "min": 2, "max": 64}, "AUTO", null, 16]}"#,
        r#"[{"derived": "2*b + 1", "root": {"dim": "b", "min": 0, "max": null}}, {"hint": "AUTO", "min": 2, "max": null}]"#,
        r#"{"kw": {"0": [null], "a b": {"1": {"dim": "class", "min": 0, "max": 9}}}}"#,
        r#"{"x": [{"derived": "3*from - 1", "root": {"dim": "from", "min": 1, "max": 5}}]}"#,
        r#"{"dynamic_shapes": {"x": ["b", "2*b"]}, "dims": {"b": {"min": 1, "max": 8, "derived": ["2*b"]}}}"#,
        r#"[[{"derived": "b + 2*class - 3", "roots": [{"dim": "b", "min": 0}, {"dim": "class", "max": 4}]}]]"#,
        "[]",
        "{}",
    ] {
        let python = Spec::parse(text.as_bytes()).expect("a spec").to_python();
        let again = Spec::parse(python.as_bytes()).unwrap_or_else(|error| panic!("{python}{error}"));
        assert_eq!(again.to_python(), python, "{text}");
        // A least size of 0 that is written is not the same as none.
        assert_eq!(python.contains("min=0"), text.contains(r#""min": 0"#), "{python}");
    }
    let wide =
        (0..12).map(|i| format!(r#""an_input_{i}": [{{"dim": "dimension_{}", "min": 1, "max": 8}}]"#, i % 2));
    let wide = format!("{{{}}}", wide.collect::<Vec<_>>().join(","));
    let python = Spec::parse(wide.as_bytes()).expect("a spec").to_python();
    assert!(
        python
            .starts_with("from torch.export import Dim\n\ndimension_0 = Dim('dimension_0', min=1, max=8)\n")
    );
    assert_eq!(python.lines().filter(|line| line.starts_with("    'an_input_")).count(), 12, "{python}");
}

#[test]
fn a_spec_among_the_arguments_of_a_call_is_read() {
    let call = "import torch\nfrom torch.export import Dim\nb = Dim(\"b\", max=8)\n\
        ep = torch.export.export(model, (x,), dynamic_shapes={\"x\": (b, Dim(\"t\", min=2))}, strict=False)\n\
        torch.export.save(ep, \"m.pt2\")\n";
    let read = Spec::parse(call.as_bytes()).expect("a spec").to_python();
    let plain = "b = Dim(\"b\", max=8)\ndynamic_shapes = {\"x\": (b, Dim(\"t\", min=2))}\n";
    assert_eq!(read, Spec::parse(plain.as_bytes()).expect("a spec").to_python());
    // One that was assigned before may be passed on; another one would be a second spec.
    let passed = format!("{plain}export(model, (x,), dynamic_shapes=dynamic_shapes)\n");
    assert_eq!(read, Spec::parse(passed.as_bytes()).expect("a spec").to_python());
    let second = format!("{plain}export(model, (x,), dynamic_shapes={{\"x\": (None, None)}})\n");
    let error = Spec::parse(second.as_bytes()).expect_err("two specs").to_string();
    assert_eq!(error, "line 3, column 21: a second `dynamic_shapes`; the text has one spec");
    // What is not understood within the argument is the error.
    let odd = "export(model, (x,), dynamic_shapes={\"x\": make()})\n";
    let error = Spec::parse(odd.as_bytes()).expect_err("a call").to_string();
    assert!(error.starts_with("line 1, column 42: `make(...)` is not called"), "{error}");
}

#[test]
fn a_spec_among_arguments_is_the_whole_argument() {
    let end = "expected `,` or `)`";
    let second = "a second `dynamic_shapes`";
    for (call, message) in [
        ("export(m, dynamic_shapes={'x': (a,)} if big else {'x': (b,)})", end),
        ("export(m, dynamic_shapes=s or t)", end),
        ("export(m, dynamic_shapes=s | t)", end),
        ("export(m, dynamic_shapes=[[a], [b]][::-1])", end),
        ("export(m, dynamic_shapes={1: s}[1])", "line 2"),
        ("export(m, dynamic_shapes=s)\ndynamic_shapes = t", second),
        ("e = export(m, dynamic_shapes=s) if big else export(m, dynamic_shapes=t)", second),
        ("f = lambda: export(m, dynamic_shapes=s)", "within a lambda"),
    ] {
        let text = format!("a, b = dims('a', 'b'); s = {{'x': (a,)}}; t = {{'x': (b,)}}\n{call}\n");
        let error = Spec::parse(text.as_bytes()).expect_err(call).to_string();
        assert!(error.contains(message), "{call}: {error}");
    }
}
