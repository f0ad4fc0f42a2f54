//! ShapesSpecs that are wrong, or that do not fit: what is said of them. And which specs can be said in torch's other language.
use crate::shapes::{check, program, python};
use sizewise::report::Outcome;
use sizewise::spec::{Language, Spec};

/// What is wrong with a spec, read alone or laid over a program.
fn complaint(name: &str, text: &str) -> String {
    let spec = match python(text) {
        Ok(spec) => spec,
        Err(error) => return error.split_once(": ").map_or(error.clone(), |(_, message)| message.to_owned()),
    };
    let report = check(&program(name), Some(&spec));
    assert_eq!(report.verdict, Outcome::Invalid, "{text}");
    report.diagnostics[0].message.clone()
}

const NO_TRUTH: &str = "_SpecShapeEnv: 'evaluate_sym_node' is not allowed at spec-definition time. Use IntVar / ShapeVar only \
                        inside TensorSpec / ShapesSpec";

#[test]
#[rustfmt::skip]
fn a_wrong_spec_is_refused_in_the_words_of_torch() {
    for (text, message) in [
        ("ShapeVar('b', min=-1)", "ShapeVar requires min >= 0 (a shape dim is non-negative); got min=-1. Use IntVar(...) for unrestricted scalars"),
        ("ShapeVar('b', min=5, max=3)", "Invalid ranges [5:3]"),
        ("ShapeVar('b', 3)", "ShapeVar.__init__() takes from 1 to 2 positional arguments but 3 were given"),
        ("ShapeVar('b', most=3)", "ShapeVar.__init__() got an unexpected keyword argument 'most'"),
        ("ShapeVar('b', min=None)", "'<' not supported between instances of 'NoneType' and 'int'"),
        ("ShapesSpec({'x': TensorSpec([b, 'n'])})", "TensorSpec dim 1: expected LeafIntSpec, got str: 'n'"),
        ("ShapesSpec({'x': TensorSpec([b > 2])})", "TensorSpec dim 0: expected LeafIntSpec, got SymBool"),
        ("ShapesSpec({'x': TensorSpec([b / 2])})", "TensorSpec dim 0: expected LeafIntSpec, got SymFloat"),
        ("ShapesSpec({'x': TensorSpec(b)})", "'ShapeVar' object is not iterable"),
        ("ShapesSpec({'x': TensorSpec()})", "TensorSpec.__init__() missing 1 required positional argument: 'dims'"),
        ("ShapesSpec({'*args': {}})", "ParamsSpec '*args' value must be a list of leaf specs, got dict"),
        ("ShapesSpec({'*args': (b,)})", "ParamsSpec '*args' value must be a list of leaf specs, got tuple"),
        ("ShapesSpec({'**kwargs': []})", "ParamsSpec '**kwargs' value must be a dict of leaf specs, got list"),
        ("ShapesSpec({'*more': []})", "Unknown sentinel key '*more' in ParamsSpec; only '*args' and '**kwargs' are reserved"),
        ("ParamsSpec([b])", "'list' object has no attribute 'items'"),
        ("ShapesSpec({'x': DictSpec({None: b})})", "DictSpec entries must have str or int keys, got NoneType: None"),
        ("ShapesSpec({'x': DictSpec({(1, 2): b})})", "DictSpec entries must have str or int keys, got tuple"),
        ("ShapesSpec({'x': DictSpec(3)})", "'int' object is not iterable"),
        ("ShapesSpec({'x': SeqSpec(b)})", "'ShapeVar' object is not iterable"),
        ("ShapesSpec(ShapesSpec({}))", "shapes_spec must be ParamsSpec, dict, or None, got ShapesSpec"),
        ("ShapesSpec([b])", "shapes_spec must be ParamsSpec, dict, or None, got list"),
        ("ShapesSpec({'x': None}, assumptions=[True])", "ShapesSpec.assumptions[0]: expected SymBool, got bool: True"),
        ("ShapesSpec({'x': None}, assumptions=[b == 'a'])", "ShapesSpec.assumptions[0]: expected SymBool, got bool: False"),
        ("ShapesSpec({'x': None}, assumptions=[None])", "ShapesSpec.assumptions[0]: expected SymBool, got NoneType: None"),
        ("ShapesSpec({'x': None}, assumptions=[b > 2, 'b < 9'])", "ShapesSpec.assumptions[1]: expected SymBool, got str: 'b < 9'"),
        ("ShapesSpec({'x': None}, assumptions=[b])", "ShapesSpec.assumptions[0]: expected SymBool, got ShapeVar"),
        ("ShapesSpec({'x': None}, assumptions=b > 2)", "'SymBool' object is not iterable"),
        ("ShapesSpec({'x': None}, globals={})", "ShapesSpec.globals is not supported yet"),
        ("ShapesSpec({'x': None}, [b > 2])", "ShapesSpec.__init__() takes from 1 to 2 positional arguments but 3 were given"),
        ("ShapesSpec({'x': [b, None]})", "shapes_spec['x']: unexpected leaf spec type list"),
        ("b % 0", "Modulo by zero"),
        ("~(b > 2)", "bad operand type for unary ~: 'SymBool'"),
        ("b < 'n'", "'<' not supported between instances of 'ShapeVar' and 'str'"),
        ("b @ b", "unsupported operand type(s) for @: 'ShapeVar' and 'ShapeVar'"),
        ("abs(b > 2)", "bad operand type for abs(): 'SymBool'"),
        ("b ** b", NO_TRUTH),
        ("int(b)", NO_TRUTH),
        ("range(b)", NO_TRUTH),
        ("export(M(), x, dynamic_shapes=ShapesSpec({'x': TensorSpec([b])}), prefer_deferred_runtime_asserts_over_guards=True)", "`prefer_deferred_runtime_asserts_over_guards=True` cannot be combined with `dynamic_shapes=ShapesSpec(...)`. ShapesSpec currently uses unbacked symbols only, which already emit runtime assertions; the flag has no effect"),
        ("b + 'n'", "unsupported operand type(s) for +: 'ShapeVar' and 'str'"),
    ] {
        let target = if text.starts_with("export(") { "program" } else { "dynamic_shapes" };
        let text = format!("b = ShapeVar('b')\n{target} = {text}\n");
        assert_eq!(complaint("pt_dict__plain", &text), message, "{text}");
    }
    for condition in ["b > 2 and b < 9", "not b > 2", "1 < b < 9", "max(b, 3) == b", "max([b, 3]) == b", "b > 2 or b == 0", "bool(b > 2)"] {
        let text = format!("b = ShapeVar('b')\ndynamic_shapes = ShapesSpec({{'x': None}}, assumptions=[{condition}])\n");
        let message = complaint("pt_dict__plain", &text);
        assert!(message.starts_with(NO_TRUTH), "{text}: {message}");
    }
}

#[test]
fn a_wrong_decorator_is_refused_in_the_words_of_torch() {
    let spec = "{'x': TensorSpec([b])}";
    for (arguments, message) in [
        ("", "dynamic_spec() missing 1 required positional argument: 'spec'"),
        ("None", "dynamic_spec(): `spec` must be a dict, ParamsSpec, or ShapesSpec, got NoneType"),
        ("3", "dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got int"),
        ("[b]", "dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got list"),
        ("TensorSpec([b])", "dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got TensorSpec"),
        (
            "{'*more': []}",
            "Unknown sentinel key '*more' in ParamsSpec; only '*args' and '**kwargs' are reserved",
        ),
        (
            &format!("{spec})\n@dynamic_spec({spec}"),
            "@dynamic_spec(...) is already attached to `forward`. Stacking multiple @dynamic_spec decorators on the same \
             function is not allowed; merge them into a single spec",
        ),
        (
            &format!("{spec})\ndef other(x): pass\n@dynamic_spec({spec}"),
            "a second @dynamic_spec(...); the text has one spec",
        ),
    ] {
        let text = format!("b = ShapeVar('b')\n@dynamic_spec({arguments})\ndef forward(x): pass\n");
        assert_eq!(complaint("pt_dict__plain", &text), message, "{text}");
    }
    let both = format!("b = ShapeVar('b')\ndynamic_shapes = {spec}\n@dynamic_spec({spec})\ndef f(x): pass\n");
    assert!(complaint("pt_dict__plain", &both).starts_with("Both `@dynamic_spec(...)` is attached"));
}

#[test]
fn a_spec_is_converted_where_no_program_is_needed() {
    let converted = |text: &str, language: Language| match Spec::parse(text.as_bytes()) {
        Ok(spec) => match spec.in_language(language) {
            Ok(spec) => spec.to_json().to_string(),
            Err(error) => error.to_string(),
        },
        Err(error) => panic!("{text}: {error}"),
    };
    for (dims, shapes) in [
        (
            r#"{"x": [{"dim": "b", "min": 2}, null, 3], "y": [{"derived": "2*b + 1", "root": {"dim": "b", "min": 2}}]}"#,
            r#"{"assumptions":[],"params":{"x":["b",null,3],"y":["2*b + 1"]},"vars":{"b":{"max":null,"min":2}}}"#,
        ),
        (
            r#"{"x": {"k": [[{"dim": "b", "max": 9}]]}, "m": null}"#,
            r#"{"assumptions":[],"params":{"m":null,"x":{"k":[["b"]]}},"vars":{"b":{"max":9,"min":0}}}"#,
        ),
        (
            r#"{"x": [null, "AUTO"]}"#,
            "x[1]: what Dim.AUTO or Dim.DYNAMIC leaves to the program depends on it: give the program",
        ),
        (
            r#"{"x": {"0": {"dim": "b"}}}"#,
            "x: it gives dimensions by their numbers, a ShapesSpec gives all of a tensor: give the program, or a list",
        ),
        (
            r#"[[{"dim": "b"}]]"#,
            "the spec: it gives inputs by position, a ShapesSpec by the names of parameters: give the program",
        ),
        (
            r#"{"x": [{"derived": "8*b", "root": {"dim": "b"}}]}"#,
            "x[0]: it is computed from `b`, which is the size of no dimension: a ShapesSpec has no such variable",
        ),
    ] {
        assert_eq!(converted(dims, Language::Shapes), shapes, "{dims}");
    }
    let own = |params: &str, assumptions: &str| {
        format!(
            r#"{{"vars": {{"b": {{"min": 2}}, "n": {{}}}}, "params": {params}, "assumptions": {assumptions}}}"#
        )
    };
    for (params, assumptions, dims) in [
        (
            r#"{"x": ["b", null, 3], "y": ["2*b + 1"]}"#,
            r#"["b <= 64"]"#,
            r#"{"x":[{"dim":"b","max":64,"min":2},null,3],"y":[{"derived":"2*b + 1","root":{"dim":"b","max":64,"min":2}}]}"#,
        ),
        (
            r#"{"x": ["b"]}"#,
            r#"["b <= 64", "b % 2 == 0"]"#,
            "assumptions[1]: Dims cannot say `b % 2 == 0`: --as shapes or --as shapes-json",
        ),
        (r#"{"x": ["b", "b*b"]}"#, "[]", "x[1]: Dims cannot say `b*b`: --as shapes or --as shapes-json"),
        (
            r#"{"x": ["b", "b + n", "n"]}"#,
            "[]",
            "x[1]: Dims cannot say `b + n`: --as shapes or --as shapes-json",
        ),
        (r#"{"k": "n"}"#, "[]", "k: Dims are sizes of tensors: none is the value of a number"),
        (
            r#"{"*args": [["b"]]}"#,
            "[]",
            "*args: Dims go by the names of parameters, and a ShapesSpec does not say this one's",
        ),
    ] {
        assert_eq!(converted(&own(params, assumptions), Language::Dims), dims, "{params}");
    }
}

#[test]
fn wrong_json_is_refused_as_a_shapes_spec() {
    for (text, message) in [
        (
            r#"{"vars": {"n": 3}, "params": {"x": ["n"]}}"#,
            "vars.n: expected a range: {\"min\": 0, \"max\": null}, or null",
        ),
        (
            r#"{"vars": {"n": {"min": "a"}}, "params": {"x": ["n"]}}"#,
            "vars.n.min: expected an integer or null",
        ),
        (
            r#"{"vars": {"n": {}}, "params": ["n"], "assumptions": []}"#,
            "params: expected an object by parameter name",
        ),
        (
            r#"{"vars": [], "params": {"x": ["n"]}, "assumptions": ["n > 2"]}"#,
            "vars: expected an object of variables by name",
        ),
        (
            r#"{"params": {"x": ["n"]}, "assumptions": []}"#,
            "x[0]: `n` uses `n`, which is no variable of the spec; it has none",
        ),
        (
            r#"{"vars": {"n": {"dim": "n"}}, "params": {"x": ["n"]}, "assumptions": []}"#,
            "vars.n: there is no field `dim` here; the nearest is `min` (known: `min`, `max`, `optimization_hint`, `name`)",
        ),
    ] {
        let said = Spec::parse(text.as_bytes()).map(|spec| spec.to_json().to_string());
        assert_eq!(said.map_err(|error| error.to_string()), Err(message.to_owned()), "{text}");
    }
    // Inputs may have these names.
    for dims in [
        r#"{"vars": [null, {"dim": "b"}], "params": {"x": [null]}}"#,
        r#"{"vars": {"k": {"dim": "b"}}, "params": {"x": [null]}}"#,
    ] {
        assert!(Spec::parse(dims.as_bytes()).expect("a spec").shapes().is_none(), "{dims}");
    }
}

#[test]
#[rustfmt::skip]
fn a_spec_that_does_not_fit_the_program_is_refused() {
    for (name, params, message) in [
        ("pt_dict__plain", "{'imp': DictSpec({})}", "imp: ParamsSpec has entries ['imp'] that do not match any argument passed to export(); the nearest is `inp`. Spec keys must be forward parameter names that were actually passed. Inputs received: inp"),
        ("pt_dict__plain", "{'inp': DictSpec({'a': TensorSpec([b])})}", "inp['a']: TensorSpec has 1 dims but tensor inp['a'] has 2 dims"),
        ("pt_dict__plain", "{'inp': DictSpec({'a': TensorSpec([2*b, None])})}", "inp['a'].shape[0]: `2*b` references the unbound variable b: every IntVar used in a derived expression or assumption must also appear as a bare-IntVar slot somewhere in the spec"),
        ("pt_dict__plain", "{'inp': DictSpec({'a': TensorSpec([b, c])})}, assumptions=[b < c, c < b]", "no input satisfies all assumptions: b < c, b > c"),
    ] {
        let text = format!("b = ShapeVar('b')\nc = ShapeVar('c')\ndynamic_shapes = ShapesSpec({params})\n");
        assert_eq!(complaint(name, &text), message, "{text}");
    }
}
