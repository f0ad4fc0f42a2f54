//! Statements about the text form of models.
use super::{is_text, parse, print};
use crate::read::Model;
use crate::read::message::{Dimension, ModelProto, TypeValue};

const HEAD: &str = "<ir_version: 10, opset_import: [\"\" : 17, \"local\" : 1]>\n";

fn read(body: &str) -> ModelProto {
    parse(&format!("{HEAD}{body}")).unwrap_or_else(|error| panic!("{body}\n{error}"))
}

/// Bodies of models: of every kind of type, attribute, literal and place of a name.
const BODIES: &[&str] = &[
    "g (float[N,4] x) => (float[N,4] y) { y = Add(x, x) }",
    "g () => () { }",
    "\"a graph\" (float[N,?,2,\"2*seq + 1\"] x, float y, float[] z) => (float[N] \"o/1\") { \"o/1\" = Relu(z) }",
    "g (seq(float[2]) s, optional(seq(int64[?])) o, map(string, float[]) m, sparse_tensor(double[3]) t) => () { }",
    "g (float[2] x = {1.5, -2e-3}) => (float[2] y) \
     <float[2] w = {nan, -inf}, float[2] v> { v = Add(x, w) y = Abs(v) }",
    "g () => (string[2] y) \
     <string[2] y = {\"a\\\"b\", \"c\\\\\"}, bool[2] b = {1, 0}, uint64[1] u = {18446744073709551615}> { }",
    "g (float[N] x) => (float[N] y) \
     <float[1000] w = [\"location\": \"weights.bin\", \"offset\": \"16\"]> { y = Mul(x, w) }",
    "g (float[N] x) => (float[N] y) \
     { [the_node] y, \"\", z = local.deep.Foo:two <a = 1, b = 2.5, c = \"t\"> (x, , x) }",
    "g (float[N] x) => (float[N] y) { y = local.deep.Elu(x) z = local.e2(y) }",
    "g (float[N] x) => (float[N] y) \
     { y = Foo(x) <a = [1, 2], b = [1.0, 2], c = [\"p\", \"q\"], d: ints = [], e: float = 3> }",
    "g (float[N] x) => (float[N] y) \
     { y = Foo <t = float[2] {1, 2}, u = int64 w {3}, v = seq(float[1]), i = inf, n = -inf> (x) }",
    "g (bool c) => (float y) \
     { y = If(c) <then_branch = t () => (float a) { a = Foo() }, else_branch = e () => (float b) { b = Bar() }> }",
    "g (float[N] x) => (float[N] y) { y = local.f <k: float = 2> (x) }\n\
     <domain: \"local\", overload: \"o\", opset_import: [\"\" : 17]>\n\
     f <j, k: float = 1.5> (a, float[N] b) => (c) { c = LeakyRelu <alpha: float = @k> (a) }",
    "# a comment\ng (float[N] x) => (float[N] y) { # another\n y = Relu(x) }",
];

#[test]
fn what_is_written_reads_back_as_the_same_model() {
    for body in BODIES {
        let model = read(body);
        let text = print(&model);
        let again = parse(&text).unwrap_or_else(|error| panic!("{body}\n{text}\n{error}"));
        // Numbers that are none are not equal to themselves.
        assert_eq!(format!("{model:?}"), format!("{again:?}"), "{text}");
        assert_eq!(print(&again), text);
    }
}

#[test]
fn operators_are_written_without_quotes_whatever_else_they_name() {
    for node in
        ["y = Optional (x)", "y = local.map.Seq (x)", "y = float (\"float\")", "y = Foo:two (\"optional\")"]
    {
        let text = print(&read(&format!("g (float[N] x) => (float[N] y) {{ {node} }}")));
        assert!(text.contains(&format!("   {node}\n")), "{node}\n{text}");
    }
}

#[test]
fn the_text_is_that_of_the_printer_of_onnx() {
    let model = read("g (float[N,4] x) => (float[N,4] y) { [n] y = Foo<a=1, b=[1.5]>(x, , x) }");
    let expected = "<\n   ir_version: 10,\n   opset_import: [\"\" : 17, \"local\" : 1]\n>\n\
                    g (float[N, 4] x) => (float[N, 4] y) {\n   \
                    [n] y = Foo <a: int = 1, b: floats = [1.5]> (x, \"\", x)\n}\n";
    assert_eq!(print(&model), expected);
}

#[test]
fn sizes_are_numbers_names_or_not_said() {
    let model = read("g (float[N,4,?,\"a b\"] x, float y, float[] z) => () { }");
    let graph = model.graph.expect("a graph");
    let sizes: Vec<Option<Vec<Option<Dimension>>>> = graph
        .input
        .iter()
        .map(|input| match input.r#type.clone().and_then(|message| message.value) {
            Some(TypeValue::Tensor(tensor)) => {
                tensor.shape.map(|shape| shape.dim.into_iter().map(|dim| dim.value).collect())
            }
            _ => None,
        })
        .collect();
    let name = |text: &str| Some(Dimension::Name(text.to_owned()));
    let x = vec![name("N"), Some(Dimension::Size(4)), None, name("a b")];
    assert_eq!(sizes, [Some(x), Some(Vec::new()), None]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (body, expected) in [
        ("", "line 2, column 1: expected the name of a graph, got the end"),
        ("g (float[N] x => (float y) {}", "line 2, column 15: expected `,`, got `=>`"),
        ("g (float[-N] x) => () {}", "line 2, column 10: expected a number"),
        ("g () => () { y = Foo(x }", "line 2, column 24: expected `,`, got `}`"),
        (
            "g () => () { y = Foo<a = []>() }",
            "line 2, column 28: the kind of this list has to be said: `name: ints = []`",
        ),
        ("g () => () { y = Foo<a: int = 1.5>() }", "line 2, column 34: the value of `a` is of another kind"),
        ("g () => () { y = Foo<a: thing = 1>() }", "line 2, column 31: `thing` is no kind of attribute"),
        (
            "g () => () { y = Foo<a = 99999999999999999999>() }",
            "line 2, column 26: this integer is too large",
        ),
        (
            "g () => () <float[N] w = {1}> {}",
            "line 2, column 26: the sizes of a tensor with elements are numbers",
        ),
        (
            "g () => () <int8[1] w = {x}> {}",
            "line 2, column 26: expected an element of the tensor's type, got `x`",
        ),
        ("g () => () { y = Foo(\"x) }", "line 2, column 22: this text in quotes does not end"),
        ("g () => () { }\n}", "line 3, column 1: expected the name of a function, got `}`"),
    ] {
        let message = parse(&format!("{HEAD}{body}")).expect_err(body).to_string();
        assert_eq!(message, expected, "{body}");
    }
}

#[test]
fn nesting_is_bounded() {
    let types = format!("g ({}float{} x) => () {{}}", "seq(".repeat(100_000), ")".repeat(100_000));
    let graph = "y = If(c)<then_branch = t () => (float y) { ".repeat(100_000);
    let graphs = format!("g (bool c) => () {{ {graph}");
    for body in [types, graphs] {
        let message = parse(&format!("{HEAD}{body}")).expect_err("deep nesting").to_string();
        assert!(message.ends_with("this is nested more than 32 levels deep"), "{message}");
    }
}

#[test]
fn a_model_is_read_from_its_text() {
    let text = format!("# of a test\n{HEAD}{}", BODIES[0]);
    assert!(is_text(text.as_bytes()) && !is_text(b"\x08\x0a") && !is_text(b""));
    let model = Model::read(text.into_bytes()).expect("a model");
    assert_eq!((model.ir_version, model.graph.node.len()), (10, 1));
}

#[test]
fn any_part_of_a_text_is_read_or_refused() {
    for body in BODIES {
        let text = format!("{HEAD}{body}");
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            let _ = parse(&text[..end]);
            let _ = parse(&text[end..]);
        }
    }
}
