//! Fields that nothing reads are mistakes: each is refused with the nearest name that is known, and the exit status
//! says so.
#![cfg(feature = "cli")]
use crate::command;

use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;

/// A program with an input `x` and no guard that names `**kwargs`, by which `k1` and `k2` are passed.
const KEYWORDS: &str = "tests/data/programs/pt_varkw.pt2";
/// A program with two inputs, `x` and `y`.
const TWO_INPUTS: &str = "tests/data/programs/kron_tensordot.pt2";

fn message(command: &str, request: &Json) -> String {
    let answer = answer_line(command, request.to_string().as_bytes()).expect("an answer");
    let answer: Json = serde_json::from_str(&answer).expect("an answer in JSON");
    answer["error"]["message"].as_str().unwrap_or_default().to_string()
}

#[test]
fn a_field_of_a_request_that_nothing_reads_is_refused() {
    let range = json!({"min": 2, "max": 9, "hint": 4});
    for (command, mut request, at, field, nearest) in [
        ("entail", json!({"goal": "s0 > 1"}), "", "gvien", "given"),
        ("entail", json!({"goal": "s0 > 1"}), "", "Symbols", "symbols"),
        ("entail", json!({"goal": "s0 > 1", "symbols": {"s0": range}}), "/symbols/s0", "mn", "min"),
        ("simplify", json!({"expr": "s0"}), "", "exprs", "expr"),
        ("bounds", json!({"expr": "s0"}), "", "goal", "given"),
        ("minimize", json!({"guards": ["s0 > 1"]}), "", "gaurds", "guards"),
        ("infer", json!({"op": "aten.relu.default"}), "", "arg", "args"),
        (
            "infer",
            json!({"op": "aten.relu.default", "symbols": {"s0": range}}),
            "/symbols/s0",
            "maximum",
            "max",
        ),
        (
            "infer",
            json!({"op": "aten.relu.default", "args": [{"tensor": {"shape": [2], "dtype": "float32"}}]}),
            "/args/0/tensor",
            "strides",
            "stride",
        ),
    ] {
        let place = request.pointer_mut(at).and_then(Json::as_object_mut).expect("an object");
        place.insert(field.to_string(), Json::Null);
        let said = message(command, &request);
        assert!(said.contains(&format!("there is no field `{field}` here")), "{command}: {said}");
        assert!(said.contains(&format!("the nearest is `{nearest}`")), "{command}: {said}");
    }
}

#[test]
fn a_line_that_is_an_error_shows_in_the_exit_status() {
    let relu = |dtype: &str| {
        json!({"op": "aten.relu.default", "args": [{"tensor": {"shape": [2], "dtype": dtype}}]}).to_string()
    };
    for (arguments, input, status) in [
        (&["entail"][..], "{\"goal\": \"1 < 2\"}\n".to_string(), 0),
        (&["entail"], "{\"goal\": \"1 < 2\"}\nnonsense\n{\"goal\": \"1 < 2\"}\n".to_string(), 3),
        (&["entail", "--jobs", "3"], "{\"goal\": \"1 < 2\"}\n{\"gaol\": \"1 < 2\"}\n".to_string(), 3),
        (&["simplify"], "{\"expr\": \"s0 +\"}\n".to_string(), 3),
        (&["minimize"], "{\"gaurds\": []}\n".to_string(), 3),
        (&["bounds"], "\n".to_string(), 0),
        (&["infer"], relu("float32"), 0),
        // What PyTorch refuses and what has no kernel are answers.
        (&["infer"], relu("bool"), 0),
        (&["infer"], "{\"op\": \"my.own.default\"}\n".to_string(), 0),
        (&["infer"], relu("float33"), 3),
        (&["eval", TWO_INPUTS], "{\"shapes\": {}}\n".to_string(), 0),
        (&["eval", TWO_INPUTS], "{\"shape\": {}}\n".to_string(), 3),
    ] {
        let (found, out, error) = command::with_input(arguments, &input);
        assert_eq!(found, status, "{arguments:?} {input}: {out}{error}");
        assert_eq!(
            out.contains("\"error\":{"),
            status == 3 || out.contains("unsupported") || out.contains("invalid")
        );
    }
}

#[test]
fn inputs_to_eval_go_by_their_names_and_those_left_out_are_told() {
    for (request, parts) in [
        (json!({"x": [2, 3]}), &["`x` belongs in `shapes`"][..]),
        (json!({"shapes": {}, "scalar": {}}), &["no field `scalar`", "nearest is `scalars`"]),
        (json!({"shapes": {"xx": [2, 3]}}), &["no input `xx`", "nearest is `x`"]),
        (json!({"shapes": [2, 3]}), &["an object of `shapes`"]),
    ] {
        let (status, out, _) = command::with_input(&["eval", TWO_INPUTS], &format!("{request}\n"));
        assert_eq!(status, 3, "{out}");
        for part in parts {
            assert!(out.contains(part), "says {part}: {out}");
        }
    }
    let (status, out, _) = command::with_input(&["eval", TWO_INPUTS], "{\"shapes\": {}}\n");
    assert_eq!(status, 0, "{out}");
    let answer: Json = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["as_traced"], json!(["x", "y"]));
    let (_, code, _) = command::with_input(&["guards", TWO_INPUTS], "");
    assert!(code.contains("if \"x\" not in inputs:\n        return \"x is missing\""), "{code}");
    let (_, code, _) = command::with_input(&["guards", "examples/area.pt2"], "");
    let message = "return \"x.shape[0]*y.shape[0] <= 999 does not hold: x.shape[0] = \" + str(i0[0]) + \", y.shape[0] = \" + str(i1[0])\n";
    assert!(code.contains(message), "{code}");
}

/// The numbers that a program returns stand beside the shapes.
#[test]
fn numbers_are_returned_as_values() {
    let ask = "{\"shapes\": {\"n_p\": [5, 3]}}\n";
    let (_, out, _) = command::with_input(&["eval", "tests/data/programs/pt_namedtuple.pt2"], ask);
    let answer: Json = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["outputs"][2], Json::Null, "{answer}");
    assert_eq!(answer["values"], json!([null, null, 5]));
}

/// Inputs in containers go by their placeholder's name, by the name that reports have, or by their place in the call.
#[test]
fn inputs_in_containers_have_three_names() {
    const NESTED: &str = "tests/data/programs/pt_list_tuple.pt2";
    let accepted = |shapes: Json| {
        let (status, out, _) =
            command::with_input(&["eval", NESTED], &format!("{}\n", json!({"shapes": shapes})));
        (status, serde_json::from_str::<Json>(&out).expect("JSON"))
    };
    let (_, expected) = accepted(json!({"t_0": [6], "t_1_0": [6], "xs_0": [6, 3], "xs_1": [6, 3]}));
    for shapes in [
        json!({"t[0]": [6], "t[1][0]": [6], "xs[0]": [6, 3], "xs_1": [6, 3]}),
        json!({"t": [[6], [[6]]], "xs": [[6, 3], [6, 3]]}),
        json!({"t": {"0": [6], "1": [[6]]}, "xs": {"1": [6, 3], "0": [6, 3]}}),
    ] {
        assert_eq!(accepted(shapes.clone()), (0, expected.clone()), "{shapes}");
    }
    for (shapes, part) in [
        (json!({"t": [[6], [[6], [7]]]}), "`t[1]` has no input under \"1\"; there are t[1][0]"),
        (json!({"t": 3}), "expected an object or a list for `t`, got 3"),
        (json!({"t": [[6]], "t_0": [6]}), "the input `t_0` is given twice"),
        (json!({"z": [6]}), "t_0, which is t[0]; t_1_0, which is t[1][0]"),
    ] {
        let (status, answer) = accepted(shapes);
        assert_eq!(status, 3, "{answer}");
        assert!(
            answer["error"]["message"].as_str().is_some_and(|said| said.contains(part)),
            "{part}: {answer}"
        );
    }
    let (status, out, _) = command::with_input(&["eval", NESTED, "t[0]=6", "xs[1]=6,3"], "");
    assert!(out.starts_with("accepted") || status == 1, "{out}");
}

/// A spec for the program with `**kwargs`, and what the check says.
fn checked(spec: &Json) -> (i32, String) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), spec.to_string()).expect("a writable file");
    let path = file.path().to_string_lossy().into_owned();
    let (status, out, error) = command::with_input(&["check", KEYWORDS, "--spec", &path], "");
    (status, out + &error)
}

#[test]
fn keys_of_a_spec_are_known_ones() {
    let b = json!({"dim": "b", "min": 2, "max": 50});
    let whole = |kw: &str| json!({"x": [b], "args": [[b]], kw: {"k1": [b], "k2": [b]}});
    // No program records what `**kwargs` is called.
    for spec in
        [whole("kw"), whole("options"), json!({"x": [b], "args": [[b]], "k1": [b], "kw": {"k2": [b]}})]
    {
        let (status, said) = checked(&spec);
        assert_eq!(status, 0, "{spec}: {said}");
    }
    let torch = |dims: Json| json!({"dynamic_shapes": {"x": ["b"], "args": [["b"]], "k1": ["b"], "k2": ["b"]}, "dims": dims});
    assert_eq!(checked(&torch(json!({"b": {"min": 2, "max": 50, "derived": []}}))).0, 0);
    for (spec, parts) in [
        (json!({"x": [{"dim": "b", "mn": 2}]}), &["no field `mn`", "nearest is `min`"][..]),
        (json!({"x": [{"dmi": "b"}]}), &["no field `dmi`", "nearest is `dim`"]),
        (json!({"x": [{"hint": "AUTO", "maximum": 2}]}), &["no field `maximum`", "nearest is `max`"]),
        (json!({"x": [{"derived": "2*b", "rot": {"dim": "b"}}]}), &["no field `rot`", "nearest is `root`"]),
        (
            json!({"x": [{"derived": "2*b", "roots": {"dim": "b"}}]}),
            &["x.shape[0].roots", "several", "no `root`"],
        ),
        (torch(json!({"b": {"mni": 2}})), &["no field `mni`", "nearest is `min`"]),
        (json!({"dynamic_shapes": {"x": ["AUTO"]}, "dim": {}}), &["no field `dim`", "nearest is `dims`"]),
        (json!({"k11": [b]}), &["no such input", "nearest is `k1`"]),
        (json!({"x": [b], "kw": {"k2": [b], "k3": [b]}}), &["k3"]),
        (json!({"x": [b], "options": {"k2": [b], "k3": [b]}}), &["options", "no such input"]),
        (json!({"x": [b], "a": {"k1": [b]}, "c": {"k2": [b]}}), &["c: ", "no such input"]),
        (json!({"kw": {"k2": [b, null]}}), &["1 dimension"]),
    ] {
        let (status, said) = checked(&spec);
        assert_eq!(status, 2, "{spec}: {said}");
        for part in parts {
            assert!(said.contains(part), "{spec} says {part}: {said}");
        }
    }
}

#[test]
fn a_name_of_no_input_is_refused_even_where_it_says_nothing() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "{\"xx\": null}").expect("a writable file");
    let path = file.path().to_string_lossy().into_owned();
    let (status, out, _) = command::with_input(&["check", TWO_INPUTS, "--spec", &path], "");
    assert!(status == 2 && out.contains("the nearest is `x`"), "{out}");
}

#[test]
fn keys_of_declared_operators_are_known_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ops.toml");
    for (text, part) in [
        ("[[operators]]\nschema = \"a::b(Tensor x) -> Tensor\"\n", "unknown key `operators`"),
        ("[[operator]]\nschemas = \"a::b(Tensor x) -> Tensor\"\n", "the nearest is `schema`"),
        (
            "[[operator]]\nschema = \"a::b(Tensor x) -> Tensor\"\nreturns = [{ lik = \"x\" }]\n",
            "the nearest is `like`",
        ),
    ] {
        std::fs::write(&path, text).expect("a writable folder");
        let (status, _, error) = command::with_input(&["infer", "--ops", &path.to_string_lossy()], "");
        assert!(status == 2 && error.contains(part), "{error}");
    }
}

#[test]
fn a_key_that_is_there_twice_says_two_things() {
    for (command, line, key) in [
        ("entail", r#"{"symbols": {"s0": {"min": 5}}, "goal": "s0 > 4", "goal": "s0 > 5"}"#, "goal"),
        ("entail", r#"{"symbols": {"s0": {"min": 5, "min": 6}}, "goal": "s0 > 4"}"#, "min"),
        ("bounds", r#"{"symbols": {"s0": {}, "s0": {}}, "expr": "s0"}"#, "s0"),
    ] {
        let answer = answer_line(command, line.as_bytes()).expect("an answer");
        let answer: Json = serde_json::from_str(&answer).expect("an answer in JSON");
        let said = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(said.contains(&format!("the key `{key}` is there twice")), "{line}: {answer}");
    }
    let spec = sizewise::spec::Spec::parse(br#"{"x": [4, 2], "x": ["AUTO", null]}"#);
    assert!(spec.is_err_and(|error| error.message.contains("the key `x` is there twice")));
}

#[test]
fn guards_that_contradict_each_other_are_one_that_never_holds() {
    let answer = answer_line("minimize", br#"{"symbols": {"x": {}}, "guards": ["x >= 3", "x <= 2"]}"#);
    let answer: Json = serde_json::from_str(&answer.expect("an answer")).expect("JSON");
    assert_eq!(answer["guards"], json!(["False"]));
}

#[test]
fn a_dimension_has_one_name() {
    for key in ["00", "+0", " 0", "2"] {
        let spec = format!(r#"{{"x": {{"{key}": "AUTO"}}}}"#);
        let (status, out, err) = command::with_input(&["check", KEYWORDS, "--spec", "/dev/stdin"], &spec);
        assert_ne!(status, 0, "{key}: {out}{err}");
        assert!(format!("{out}{err}").contains("there is no dimension"), "{key}: {out}{err}");
    }
}
