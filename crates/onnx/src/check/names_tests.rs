//! Statements about names: those that are made for sizes differ from those that the model gives.
use super::said::{Said, lines};
use super::{check, declared_spec, evaluate, guarded_shapes, shapes};
use rustc_hash::FxHashMap;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::Model;
use std::collections::HashSet;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\" : 17, \"own\" : 1]>\n";

/// A model whose inputs are declared by numbered names, or by nothing, and of which data decide two sizes.
const NUMBERED: &str =
    "g (float[?, s0] x, float[u0, s2] w, float[?] v) => (float[a, b] y, int64[c, u1] z, float[s4] k) {
    y = Concat<axis = 0>(x, w)
    z = NonZero(x)
    k = Identity(v)
}";

fn read(body: &str) -> Model {
    Model::read(format!("{HEAD}{body}").into_bytes()).expect(body)
}

#[test]
fn names_that_are_made_are_none_of_the_model() {
    let model = read(NUMBERED);
    let shown = shapes(&model);
    let named = |name: &str| shown.symbols.iter().find(|named| named.name == name);
    let names: HashSet<&str> = shown.symbols.iter().map(|named| named.name.as_str()).collect();
    assert_eq!(names.len(), shown.symbols.len());
    for (name, place) in [("s0", ("x", 1)), ("u0", ("w", 0)), ("s2", ("w", 1))] {
        let symbol = named(name).expect(name);
        assert_eq!(symbol.declared.as_deref(), Some(name));
        assert_eq!(symbol.source.as_ref().map(|(input, dim)| (input.as_str(), *dim)), Some(place));
    }
    let made = |input: &str| {
        let of =
            |named: &&super::SizeSymbol| named.source.as_ref().is_some_and(|(i, d)| i == input && *d == 0);
        shown.symbols.iter().find(of).map(|named| named.name.clone()).expect("a symbol")
    };
    let (x, v) = (made("x"), made("v"));
    for name in ["s0", "s2", "s4", "u0", "u1"] {
        assert!(x != name && v != name, "{x} {v}");
    }
    let sizes = |name: &str| shown.values[name].shape.as_ref().expect("a shape").clone();
    assert_eq!(sizes("y")[0].json(), format!("{x} + u0"));
    assert_eq!(sizes("k")[0].json(), v.as_str());
    // The condition is on the sizes of the model.
    let (_, conditions) = guarded_shapes(&model);
    assert_eq!(conditions, ["Eq(s0, s2)"]);
    let found = check(&model);
    let conditions: Vec<&str> = found.needed().iter().map(|condition| condition.expr.as_str()).collect();
    assert_eq!(conditions, ["Eq(s0, s2)"]);
    let fixes: Vec<_> = found.fixes.iter().flat_map(lines).collect();
    assert_eq!(fixes, ["declare w.shape[1] as s0"]);
}

#[test]
fn sizes_that_data_decide_have_names_that_the_model_does_not_use() {
    let within = "g (bool c, float[u0] x) => (float[u1] y) { y = If(c)<then_branch = a () => (float[u2] d) \
        { n = NonZero(x) s = Squeeze(n) t = Cast<to = 1>(s) d = Identity(t) }, \
        else_branch = b () => (float[u3] e) { e = Identity(x) }> }";
    let function = "g (float[n] x) => (int64[1, m] y) { y = own.Found(x) }\n\
        <domain: \"own\", opset_import: [\"\" : 17]> Found (x) => (y) <int64[1, u0] y> { y = NonZero(x) }";
    let data = FxHashMap::default();
    for (body, sizes, taken) in [
        (NUMBERED, vec![("x", vec![2, 3]), ("w", vec![1, 3]), ("v", vec![1])], &["u0", "u1"][..]),
        (within, vec![("c", vec![]), ("x", vec![2])], &["u0", "u1", "u2", "u3"]),
        (function, vec![("x", vec![2])], &["u0"]),
    ] {
        let model = read(body);
        assert_eq!(model.numbered_names().iter().filter(|name| name.starts_with('u')).count(), taken.len());
        let sizes = sizes.into_iter().map(|(name, sizes)| (name.to_owned(), sizes)).collect();
        let Ok(evaluated) = super::evaluate::evaluate_for_any_data(&model, &sizes) else { continue };
        for size in evaluated.outputs.iter().flatten().flatten().map(|size| size.known_json()) {
            assert!(!taken.iter().any(|name| size == **name), "{size} in {body}");
        }
        assert!(evaluate(&model, &sizes, &data).is_ok(), "{body}");
    }
}

#[test]
fn names_of_specs_and_of_expressions_are_not_made_either() {
    // What the model calls `x_0` keeps its name; a size without a name gets another.
    let spec =
        declared_spec(&read("g (float[?] x, float[x_0] w) => (float[n] y) { y = Concat<axis = 0>(x, w) }"))
            .to_json();
    assert_eq!(spec["w"][0]["dim"], "x_0");
    assert_ne!(spec["x"][0]["dim"], "x_0");
    let shown = shapes(&read("g (float[?, \"2*s0 + 1\"] x) => (float[n, m] y) { y = Relu(x) }"));
    let output: Vec<_> = shown.values["y"].shape.iter().flatten().map(|size| size.json()).collect();
    assert_eq!(output[1], "2*s0 + 1");
    assert_ne!(output[0], "s0");
}

#[test]
fn a_name_within_an_expression_is_at_least_what_makes_it_a_size() {
    for (size, least) in [("4*h", 1), ("h - 2", 3), ("h + 1", 0)] {
        let text = format!("{HEAD}g (float[n, \"{size}\"] x) => (float[n, m] y) {{ y = Neg(x) }}");
        let spec = declared_spec(&Model::read(text.into_bytes()).expect(size)).to_json();
        let found = &spec["x"].as_array().expect(size)[1];
        assert!(found.to_string().contains(&format!("\"min\":{least}")), "{size}: {spec}");
    }
}

#[test]
fn what_is_made_later_may_have_the_name_of_a_value_within() {
    let branches = "If(c)<then_branch = t () => (float[p] o) { q = Neg(x) o = Relu(q) }, \
                    else_branch = e () => (float[p] s) { s = Relu(x) }>";
    for (nodes, expected) in [
        (format!("z = {branches} q = Concat<axis = 0>(x, x) y = Add(q, z)"), Some(Verdict::Violated)),
        (format!("z = {branches} q = Abs(z) y = Add(q, z)"), Some(Verdict::Ok)),
        (format!("y = Add(z, q) z = {branches} q = Abs(x)"), Some(Verdict::Ok)),
        (format!("q = {branches} y = Abs(q)"), Some(Verdict::Ok)),
        (format!("q = Abs(x) z = {branches} y = Add(z, q)"), None),
        (format!("y = Add(z, q) q = Abs(x) z = {branches}"), None),
        // A branch that captures what comes later is run after it.
        (format!("z = {} q = Abs(x) y = Add(z, q)", branches.replace("s = Relu(x)", "s = Relu(q)")), None),
    ] {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[n] x, bool c) => (float[m] y) {{ {nodes} }}"
        );
        let found = Model::read(text.into_bytes()).ok().map(|model| check(&model).verdict);
        assert_eq!(found, expected, "{nodes}");
    }
}
