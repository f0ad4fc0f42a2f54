//! Readings and refusals of the schema's JSON.

use super::*;
use crate::dtype::Dtype;

fn refused<'a, T: serde::Deserialize<'a> + std::fmt::Debug>(text: &'a str) -> ReadError {
    parse::<T>(text.as_bytes()).expect_err(text)
}

#[test]
fn every_tag_of_an_argument_is_read() {
    for text in [
        r#"{"as_none": true}"#,
        r#"{"as_none": []}"#,
        r#"{"as_tensor": {"name": "x"}}"#,
        r#"{"as_tensors": [{"name": "x"}, {"name": "y"}]}"#,
        r#"{"as_int": -3}"#,
        r#"{"as_ints": [1, 2]}"#,
        r#"{"as_float": 0.5}"#,
        r#"{"as_floats": [1, "Infinity"]}"#,
        r#"{"as_string": "nearest"}"#,
        r#"{"as_strings": ["a", "b"]}"#,
        r#"{"as_sym_int": {"as_name": "n"}}"#,
        r#"{"as_sym_ints": [{"as_name": "n"}, {"as_int": 2}]}"#,
        r#"{"as_scalar_type": 7}"#,
        r#"{"as_memory_format": 1}"#,
        r#"{"as_layout": 7}"#,
        r#"{"as_device": {"type": "cuda", "index": 1}}"#,
        r#"{"as_bool": false}"#,
        r#"{"as_bools": [true]}"#,
        r#"{"as_sym_bool": {"as_bool": true}}"#,
        r#"{"as_sym_bools": [{"as_name": "b"}]}"#,
        r#"{"as_graph": {"name": "g", "graph": {"inputs": [], "outputs": [], "nodes": [],
            "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}}}}"#,
        r#"{"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]}"#,
        r#"{"as_custom_obj": {"name": "o", "class_fqn": "m.C"}}"#,
        r#"{"as_operator": "torch.ops.aten.add.Tensor"}"#,
        r#"{"as_sym_float": {"as_float": 1.5}}"#,
        r#"{"as_sym_floats": [{"as_name": "f"}]}"#,
        r#"{"as_optional_tensor": {"as_none": true}}"#,
        r#"{"as_complex": {"real": 1, "imag": "-inf"}}"#,
        r#"{"as_nested_tensors": [[{"name": "x"}], []]}"#,
        r#"{"as_int_lists": [[1], [2, 3]]}"#,
        r#"{"as_string_to_argument": {"k": {"as_int": 1}}}"#,
        r#"{"as_float_lists": [[0.5]]}"#,
    ] {
        parse::<Argument<'_>>(text.as_bytes()).expect(text);
    }
}

#[test]
fn floats_are_numbers_or_what_python_reads_as_one() {
    for (text, value) in [
        ("2", 2.0),
        ("-0.1", -0.1),
        ("1e400", f64::INFINITY),
        ("1e-7", 1e-7),
        (r#""Infinity""#, f64::INFINITY),
        (r#""-Infinity""#, f64::NEG_INFINITY),
        (r#"" +inf ""#, f64::INFINITY),
        (r#""1_000.5""#, 1000.5),
    ] {
        assert_eq!(parse::<Double>(text.as_bytes()).expect(text).0, value, "{text}");
    }
    assert!(parse::<Double>(br#""NaN""#).expect("a number").0.is_nan());
    for text in [r#""""#, r#""x""#, r#""_1""#, r#""1__0""#, "true", "null", "[1]", r#"{"a": 1}"#] {
        let error = refused::<Double>(text);
        assert!(error.message.starts_with("expected a floating point number"), "{error}");
    }
}

#[test]
fn integers_have_64_bits() {
    for (text, value) in [("9223372036854775807", i64::MAX), ("-9223372036854775808", i64::MIN), ("0", 0)] {
        assert_eq!(parse::<Int>(text.as_bytes()).expect(text), Int(value));
    }
    for (text, part) in [
        ("9223372036854775808", "the integer 9223372036854775808 does not fit"),
        ("-9223372036854775809", "does not fit"),
        ("100000000000000000000000000000", "does not fit"),
        ("1.5", "expected an integer"),
        ("true", "expected an integer"),
        (r#""1""#, "expected an integer"),
    ] {
        let error = refused::<Int>(text);
        assert!(error.message.contains(part), "{error}");
        assert_eq!(error.kind, ReadErrorKind::Schema);
    }
}

#[test]
fn numbers_of_enumerations_are_checked() {
    assert_eq!(parse::<ScalarType>(b"13").expect("a dtype").0, Dtype::Bfloat16);
    for text in ["0", "14", "-1", "99"] {
        let message = refused::<ScalarType>(text).message;
        assert_eq!(message, format!("no ScalarType has the number {text}"));
    }
    assert_eq!(refused::<LayoutNumber>("8").message, "no Layout has the number 8");
    assert_eq!(refused::<MemoryFormatNumber>("0").message, "no MemoryFormat has the number 0");
    assert_eq!(refused::<ArgumentKind>("3").message, "no ArgumentKind has the number 3");
}

#[test]
fn unions_have_exactly_one_known_key() {
    for (text, kind, part) in [
        (
            r#"{"as_new": 1}"#,
            ReadErrorKind::UnknownTag,
            "unknown tag `as_new` of SymInt, likely written by a newer minor",
        ),
        ("{}", ReadErrorKind::Schema, "an object with one key, a tag of SymInt"),
        (r#"{"as_int": 1, "as_expr": 2}"#, ReadErrorKind::Schema, "a second key"),
        (r#""as_int""#, ReadErrorKind::Schema, "an object with one key, a tag of SymInt"),
        ("[1]", ReadErrorKind::Schema, "an object with one key, a tag of SymInt"),
        (r#"{"as_expr": {}}"#, ReadErrorKind::Schema, "missing field `expr_str`"),
    ] {
        let error = refused::<SymInt<'_>>(text);
        assert_eq!(error.kind, kind, "{text}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn structs_ignore_unknown_keys_and_need_the_required_ones() {
    let argument: NamedArgument<'_> =
        parse(br#"{"name": "x", "arg": {"as_int": 1}, "since": [{"later": 1}]}"#).expect("an argument");
    assert!(argument.kind.is_none());
    parse::<RangeConstraint>(br#"{"min_val": null, "max_val": 3}"#).expect("a range");
    assert_eq!(refused::<RangeConstraint>(r#"{"min_val": 1}"#).message, "missing field `max_val`");
    assert_eq!(refused::<TensorArgument<'_>>("{}").message, "missing field `name`");
}

#[test]
fn texts_borrow_unless_they_have_escapes() {
    let document = br#"["plain", "a \"quoted\" one\n"]"#;
    let texts: Vec<Text<'_>> = parse(document).expect("texts");
    assert!(matches!(&texts[0].0, std::borrow::Cow::Borrowed("plain")));
    assert_eq!(&*texts[1], "a \"quoted\" one\n");
}

#[test]
fn errors_say_where() {
    let error = refused::<Vec<NamedArgument<'_>>>("[{\"name\": \"x\",\n \"arg\": {\"as_ints\": [1, true]}}]");
    assert_eq!(error.place.line_column, Some((2, 28)));
    assert_eq!(error.place.json_path.as_deref(), Some("[0].arg.as_ints[1]"));
    assert_eq!(error.message, "invalid type: boolean `true`, expected an integer");
}

#[test]
fn text_that_is_no_json_is_a_syntax_error() {
    for text in ["", "[", "nonsense", "[1,]", "[1] 2"] {
        let error = refused::<Vec<Int>>(text);
        assert_eq!(error.kind, ReadErrorKind::Syntax, "{error}");
        assert!(error.message.starts_with("not JSON: "), "{error}");
    }
    let error = parse::<Int>(b"\"\xff\"").expect_err("not UTF-8");
    assert_eq!(error.message, "not UTF-8 at byte 1; expected JSON text");
}
