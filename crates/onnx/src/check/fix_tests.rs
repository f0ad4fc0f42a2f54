//! Statements about fixes and widest specs: they keep sizes dynamic where they can.
use super::said::{Said, lines};
use super::{Verdict, check, report, widen};
use serde_json::{Value as Json, json};
use sizewise_check::report::{GuardVerdict, Report};
use sizewise_check::spec::Spec;
use sizewise_onnx_model::read::Model;
use sizewise_solve::Budget;

const HEAD: &str = "<ir_version: 10, opset_import: [\"\" : 17, \"shop\" : 1]>\n";

/// The second batch is at least as large as the first.
const BATCHES: &str = "g (float[a, 3] x, float[b, 3] w) => (float[c, 3] y) {
    s = Shape(x)
    i0 = Constant<value_int = 0>()
    n = Gather(s, i0)
    one = Constant<value_int = 1>()
    r = Range(i0, n, one)
    y = Gather(w, r)
}";

/// A skip connection around a convolution with stride 2 and its inverse: even heights only.
const EVEN: &str = "g (float[n, 1, h, 4] x) => (float[n, 2, a, 4] y) {
    k = Constant<value = float[1, 1, 3, 1] {0.1, 0.1, 0.1}>()
    d = Conv<pads = [1, 0, 1, 0], strides = [2, 1]>(x, k)
    s = Constant<value = float[4] {1.0, 1.0, 2.0, 1.0}>()
    u = Resize<mode = \"nearest\">(d, , s)
    y = Concat<axis = 1>(x, u)
}";
/// Rows of a table that the number of rows of another input chooses.
const ROWS: &str = "g (float[n, m] table, float[t] x) => (float[a, m] y) {
    s = Shape(x)
    i0 = Constant<value_int = 0>()
    n = Gather(s, i0)
    one = Constant<value_int = 1>()
    three = Constant<value_ints = [3]>()
    f = Constant<value_int = 2>()
    p = Mul(n, f)
    r = Range(i0, p, f)
    y = Gather(table, r)
    z = Slice(x, three, three)
}";

fn read(body: &str) -> Model {
    Model::read(format!("{HEAD}{body}").into_bytes()).expect(body)
}

fn under(model: &Model, spec: &Json) -> Report {
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    report(model, "m", &[], Some(&spec), &Budget::default())
}

fn dims(spec: &Json) -> Vec<&Json> {
    spec.as_object()
        .into_iter()
        .flat_map(|inputs| inputs.values())
        .filter_map(Json::as_array)
        .flatten()
        .collect()
}

#[test]
fn widest_specs_keep_sizes_dynamic() {
    for body in [
        EVEN,
        ROWS,
        BATCHES,
        // A product of several sizes has to be even in two of them.
        "g (float[b, h, w] x) => (float[p, q] y) {
            t = Constant<value_ints = [-1, 4]>()
            y = Reshape(x, t)
        }",
        // Multiples of 3.
        "g (float[n] x) => (float y) {
            t = Constant<value_ints = [-1, 3]>()
            f = Reshape(x, t)
            y = ReduceSum<keepdims = 0>(f)
        }",
    ] {
        let model = read(body);
        assert_eq!(check(&model).verdict, Verdict::Violated, "{body}");
        let spec = widen(&model, &Budget::default()).expect(body).to_json();
        assert_eq!(under(&model, &spec).verdict, Verdict::Ok, "{spec}");
        assert!(dims(&spec).iter().all(|dim| !dim.is_number()), "{spec} of {body}");
    }
}

#[test]
fn heights_and_widths_that_are_one_number_together_are_the_same() {
    let found = check(&read(
        "g (float[b, h, w] x, float[50176, 2] v) => (float[b, k] y) {
            f = Flatten<axis = 1>(x)
            y = MatMul(f, v)
        }",
    ));
    let fix = found.fixes.first().expect("a fix");
    for declared in ["x.shape[1] as 224", "x.shape[2] as 224"] {
        assert!(fix.text.contains(declared), "{}", fix.text);
    }
}

#[test]
fn equal_sizes_come_before_ranges_that_end_at_the_example() {
    let found = check(&read(BATCHES));
    let first = found.fixes.first().expect("a fix");
    assert_eq!((lines(first), &first.spec), (vec!["declare w.shape[0] as a".to_owned()], &None));
    // Under a spec it is the spec that says so.
    let any = json!({"x": [{"dim": "a", "min": 1}, null], "w": [{"dim": "b", "min": 1}, null]});
    let found = under(&read(BATCHES), &any);
    let spec = found.fixes.first().and_then(|fix| fix.spec.as_ref()).expect("a spec");
    assert_eq!(spec["x"][0], spec["w"][0]);
    assert_eq!(spec["x"][0]["max"], Json::Null);
    // Where two sizes have to be small together, equal ones are no remedy.
    let table = "g (int64[t] ids, float[p] past) => (float[t, 4] y) {
        k = Constant<value = float[4] {1.0, 1.0, 1.0, 1.0}>()
        s = Shape(ids) q = Shape(past) e = Add(s, q)
        i0 = Constant<value_int = 0>() one = Constant<value_int = 1>()
        z = Constant<value_ints = [0]>()
        end = Gather(e, i0) from = Gather(q, i0)
        r = Range(from, end, one)
        c = Constant<value_floats = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]>()
        g = Gather(c, r)
        a = Constant<value_ints = [1]>()
        u = Unsqueeze(g, a)
        y = Mul(u, k)
    }";
    let model = read(table);
    let range =
        json!({"ids": [{"dim": "t", "min": 1, "max": 30}], "past": [{"dim": "p", "min": 1, "max": 30}]});
    let found = under(&model, &range);
    let spec = found.fixes.first().and_then(|fix| fix.spec.as_ref()).expect("a spec");
    assert_ne!(spec["ids"][0]["dim"], spec["past"][0]["dim"], "{spec}");
}

#[test]
fn fixes_leave_open_what_no_declaration_settles() {
    let body = "g (float[n, a] x, float[n, b] w) => (float[n, a] y, float[k] z) {
        t = Concat<axis = 0>(x, w)
        y = Relu(x)
        z = shop.Sell(x)
    }";
    let found = check(&read(body));
    assert_eq!(found.verdict, Verdict::Violated);
    let fix = found.fixes.first().expect("a fix");
    assert!(!fix.proved && fix.loses == Some(false));
    assert_eq!(lines(fix), ["declare w.shape[1] as a"]);
    // Without such a node it is proved.
    let found = check(&read(
        &body
            .replace("z = shop.Sell(x)", "u = Squeeze(x) z = Flatten(u)")
            .replace(", float[k] z", ", float[k, l] z"),
    ));
    assert!(found.fixes.iter().all(|fix| fix.proved), "{:?}", found.fixes);
}

#[test]
fn a_verdict_that_is_open_has_a_reason() {
    // That sizes computed in doubles are as declared takes more than the usual budget.
    let body = "g (float[n, 1, h, 4] x) => (float[n, 1, \"TruncToInt(1.1*ToFloat(h))\", 4] y) {
        s = Constant<value_floats = [1.0, 1.0, 1.1, 1.0]>()
        y = Resize<mode = \"nearest\">(x, , s)
    }";
    let model = read(body);
    let spec = json!({"x": [null, null, {"dim": "h", "min": 4, "max": 100000}, null]});
    let found = under(&model, &spec);
    assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    let open = found.with(GuardVerdict::Unknown);
    let open = open.first().expect("a reason");
    assert_eq!(open.shown, "y.shape[2] == TruncToInt(1.1*ToFloat(h))");
    assert!(open.reason.as_ref().is_some_and(|reason| reason.contains("--budget")), "{open:?}");
    for body in [
        "g (float[n] x) => (float[m] y) { s = Shape(x) f = Cast<to = 1>(s) k = Constant<value_floats = [3.0]>() \
         d = Sqrt(f) c = Ceil(d) i = Cast<to = 7>(c) y = ConstantOfShape(i) }",
        "g (bool[] c, float[n] x) => (float[n] y) { y = If<then_branch = t () => (float[n] p) { p = Abs(x) }, \
         else_branch = e () => (float[n] q) { q = Neg(x) }>(c) }",
    ] {
        let found = check(&read(body));
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
        assert!(!found.with(GuardVerdict::Unknown).is_empty() || !found.unsupported.is_empty(), "{found:?}");
    }
}

/// A table whose rows are looked up before a broadcast that needs less.
const LOOKED_UP: &str = "g (float[n] x, float[n] w) => (float[n] y) {
    table = Constant<value_floats = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]>()
    s = Shape(x)
    i0 = Constant<value_int = 0>() one = Constant<value_int = 1>()
    n = Gather(s, i0)
    r = Range(i0, n, one)
    y = Gather(table, r)
    a = Constant<value_ints = [0]>() b = Constant<value_ints = [20]>()
    t = Slice(x, a, b)
    z = Add(t, w)
}";

#[test]
fn a_counterexample_of_another_node_says_so() {
    let found = check(&read(LOOKED_UP));
    assert_eq!(found.verdict, Verdict::Violated);
    for violation in found.violated() {
        let is_own = violation.node.as_deref() == Some("y");
        let says = violation.consequence.as_deref().unwrap_or_default();
        assert!(is_own && !says.contains(": at ") || says.contains(": at y: "), "{violation:?}");
    }
}

#[test]
fn sizes_that_data_decide_are_called_by_their_places() {
    let body = "g (float[n] x, float[m] w) => (float[k] y) {
        i = NonZero(x)
        a = Constant<value_ints = [0]>()
        s = Squeeze(i, a)
        v = Gather(x, s)
        y = Add(v, w)
    }";
    let found = check(&read(body));
    let open: Vec<&str> = found.with(GuardVerdict::Unknown).iter().map(|open| open.shown.as_str()).collect();
    assert!(open.iter().any(|shown| shown.contains("i.shape[1]")), "{open:?}");
    assert!(open.iter().all(|shown| !shown.contains("u0")), "{open:?}");
}

#[test]
fn conditions_are_shown_as_bounds_of_sizes() {
    let body = "g (float[n, 3, h, 9] x) => (float[n, 3, a, b] z) {
        sizes = Constant<value_ints = [3, 3, 2, 1]>()
        k = ConstantOfShape<value = float[1] {0.1}>(sizes)
        y = Conv<strides = [2, 1]>(x, k)
        z = MaxPool<kernel_shape = [5, 3]>(y)
    }";
    let found = check(&read(body));
    assert_eq!(found.shown(), ["h >= 8"]);
}

#[test]
fn conditions_of_quotients_are_shown_as_multiples() {
    let shown = |body: &str| check(&read(body)).shown().into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shown(EVEN), ["h % 2 == 0"]);
    // Where it pools one row, it makes one.
    let unpooled = "g (float[1, 1, h, 2] x) => (float[1, 2, a, b] z) {
        y = MaxPool<kernel_shape = [2, 1], strides = [2, 1], ceil_mode = 1>(x)
        k = Constant<value_floats = [1.0, 1.0, 2.0, 1.0]>()
        u = Resize<mode = \"nearest\">(y, , k) z = Concat<axis = 1>(u, x)
    }";
    assert_eq!(shown(unpooled), ["h % 2 == 0"]);
}

#[test]
fn what_broadcasts_another_way_may_be_rejected() {
    let body = "g (float[b, 1, h, 4] x) => (float[b, 1, a, 4] y) {
        k = Constant<value = float[1, 1, 3, 1] {0.1, 0.1, 0.1}>()
        d = Conv<pads = [1, 0, 1, 0], strides = [2, 1]>(x, k)
        s = Constant<value = float[4] {1.0, 1.0, 2.0, 1.0}>()
        u = Resize<mode = \"nearest\">(d, , s)
        y = Add(x, u)
    }";
    let found = check(&read(body));
    assert_eq!(found.shown(), ["h % 2 == 0 or h == 1"]);
    let fix = found.fixes.first().expect("a fix");
    let cost = fix.cost.as_deref().unwrap_or_default();
    assert!(fix.loses == Some(true) && cost.contains(", 1, 4]"), "{fix:?}");
}

#[test]
fn sizes_that_show_a_violation_are_small() {
    let body = "g (float[batch, 4, t] x) => (float[batch, m] y) {
        c = MaxPool<kernel_shape = [5], strides = [2]>(x)
        s = Constant<value_ints = [3, -1, 7]>()
        y0 = Reshape(c, s) y = Flatten(y0)
    }";
    let found = check(&read(body));
    assert_eq!(found.verdict, Verdict::Violated);
    assert!(!found.mismatches.is_empty(), "{found:?}");
    let wrong = found.mismatches.iter().flat_map(|wrong| &wrong.inputs);
    let shown =
        found.violated().into_iter().flat_map(|violation| violation.inputs.iter().chain(&violation.works));
    for sizes in shown.chain(wrong) {
        let mut sizes = sizes["x"].as_array().expect("sizes").iter().filter_map(Json::as_i64);
        assert!(sizes.all(|size| size <= 32), "{found:?}");
    }
}

#[test]
fn as_few_sizes_as_suffice_become_multiples() {
    let constants = "k = Constant<value_ints = [4]>() m = Constant<value_ints = [-1]>()";
    for (body, expected) in [
        (
            format!(
                "g (float[n, h] x) => (y) {{ {constants} s = Shape<start = 1, end = 2>(x) q = Div(s, k) \
                 r = Concat<axis = 0>(m, q, k) y = Reshape(x, r) }}"
            ),
            &["declare x.shape[1] as 4*_h"][..],
        ),
        (
            format!(
                "g (float[n, 3, h, w] x) => (y) {{ {constants} s = Shape<start = 2, end = 3>(x) q = Div(s, k) \
                 t = Shape<start = 3, end = 4>(x) p = Div(t, k) c = Constant<value_ints = [3]>() \
                 r = Concat<axis = 0>(m, c, q, k, p, k) y = Reshape(x, r) }}"
            ),
            &["declare x.shape[2] as 4*_h", "declare x.shape[3] as 4*_w"],
        ),
        // Of two sizes of a product it is not the batch that becomes a multiple.
        (
            "g (float[b, n] x) => (y) { r = Constant<value_ints = [-1, 16]>() y = Reshape(x, r) }".to_owned(),
            &["declare x.shape[1] as 16*_n"],
        ),
    ] {
        let found = check(&read(&body));
        let fix = found.fixes.first().expect(&body);
        assert!(fix.proved && fix.spec.is_none(), "{body}");
        assert_eq!(lines(fix), expected, "{body}");
    }
}

#[test]
fn a_number_that_stands_for_a_size_becomes_its_name() {
    let recurrent = "g (float[seq, batch, 8] x, float[1, 64, 8] w, float[1, 64, 16] r, float[1, 4, 16] h, float[1, 4, 16] c) \
                     => (float[seq, 1, batch, 16] y) { y = LSTM<hidden_size = 16>(x, w, r, , , h, c) }";
    // Of the two dimensions of 4 only one has to be the batch.
    let two = "g (float[batch, 8] x, float[4, 4] w) => (y) { s = Shape<end = 1>(x) k = Constant<value_ints = [4]>() \
               t = Concat<axis = 0>(s, k) u = Reshape(w, t) y = Identity(u) }";
    for (body, expected) in [
        (recurrent, &["declare h.shape[1] as batch", "declare c.shape[1] as batch"][..]),
        (two, &["declare w.shape[0] as batch"]),
    ] {
        let found = check(&read(body));
        let fix = found.fixes.first().expect(body);
        assert!(fix.proved && fix.loses == Some(false), "{body} {:?}", lines(fix));
        assert_eq!(lines(fix), expected, "{body}");
    }
}

#[test]
fn a_size_is_declared_as_it_is_computed_of_others() {
    let part = "g (float[b, n] x, float[b, m] z) => (y) { o = Constant<value_ints = [1]>() t = Constant<value_ints = [2]>() \
                v = Slice(x, o, t, o) e = Shape<start = 1>(x) p = Div(e, t) w = Slice(x, o, p, o) y = Add(w, z) }";
    let pooled = "g (float[b, 3, h, 4] x, float[b, 3, h2, 4] s) => (y) { v = AveragePool<kernel_shape = [2, 1], strides = [2, 1]>(x) \
                  k = Constant<value = float[4] {1.0, 1.0, 2.0, 1.0}>() u = Resize<mode = \"nearest\">(v, , k) \
                  y = Concat<axis = 1>(u, s) }";
    for (body, expected) in [
        (part, "declare z.shape[1] as max(1, n // 2) - 1"),
        (pooled, "declare s.shape[2] as 2*max(1, h // 2)"),
    ] {
        let found = check(&read(body));
        let fix = found.fixes.first().expect(body);
        assert_eq!((lines(fix), fix.proved), (vec![expected.to_owned()], true), "{body}");
    }
}

#[test]
fn sizes_that_have_to_be_equal_are_no_batches() {
    let body = "g (float[b, s, d] x, float[d2] h) => (y) { k = Shape<start = 1, end = 2>(x) n = Squeeze(k) \
                f, y = Loop(n, , h)<body = t (int64 i, bool c, float[d2] a) => (bool c1, float[d2] a1, float[d2] a2) \
                { c1 = Identity(c) e = Gather<axis = 1>(x, i) o = Add(e, a) \
                a1 = ReduceMean<axes = [0], keepdims = 0>(o) a2 = Identity(a1) }> }";
    let found = check(&read(body));
    assert_eq!(lines(found.fixes.first().expect(body)), ["declare h.shape[0] as d"]);
}
