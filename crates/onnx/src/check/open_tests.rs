//! What is not followed, and sizes that data decide: rounds, branches, axes, parts and broadcasts.
use super::said::Said as _;
use super::{ShownSize, check, evaluate_fully, shapes};
use rustc_hash::FxHashMap;
use sizewise_check::report::{GuardVerdict, Outcome as Verdict, Report};
use sizewise_onnx_model::read::Model;

fn model(graph: &str) -> Model {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18, \"com.microsoft\" : 1]>\ng {graph}");
    Model::read(text.into_bytes()).expect(graph)
}

fn checked(graph: &str) -> Report {
    check(&model(graph))
}

/// What `eval` says of a model: the sizes of the first output, or why not.
#[derive(Debug, PartialEq)]
enum Said {
    Makes(Vec<String>),
    Refuses,
    IsNotKnown,
}

fn said(graph: &str, sizes: &[(&str, &[i64])]) -> Said {
    let sizes = sizes.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.to_vec())).collect();
    let shown = |size: ShownSize| match size {
        ShownSize::Number(size) => size.to_string(),
        _ => "?".to_owned(),
    };
    match evaluate_fully(&model(graph), &sizes, &FxHashMap::default()) {
        Ok(made) => {
            let first = made.outputs.into_iter().next().flatten().unwrap_or_default();
            Said::Makes(first.into_iter().map(shown).collect())
        }
        Err(refused) if refused.is_unsupported => Said::IsNotKnown,
        Err(_) => Said::Refuses,
    }
}

fn makes(sizes: &[i64]) -> Said {
    Said::Makes(sizes.iter().map(i64::to_string).collect())
}

/// An integer that is not followed: `number` behind a slope.
fn hidden(number: i64) -> String {
    format!(
        "hn = Constant<value_int = {number}>() hf = Cast<to = 1>(hn) hl = Constant<value_float = 0.5>() \
         hp = PRelu(hf, hl) h = Cast<to = 7>(hp) ha = Constant<value_ints = [0]>() hs = Unsqueeze(h, ha)"
    )
}

#[test]
fn an_axis_that_is_not_followed_is_not_known() {
    for call in [
        "o = CumSum(x, h)",
        "o = Squeeze(x, hs)",
        "o = Unsqueeze(x, hs)",
        "o = Slice(x, ha, ha, hs)",
        "o = ReduceSum(x, hs)",
        "o = ReduceSum<keepdims = 0>(x, hs)",
    ] {
        let graph = format!("(float[n,m] x) => (o) {{ {} {call} }}", hidden(7));
        assert_eq!(said(&graph, &[("x", &[2, 3])]), Said::IsNotKnown, "{call}");
    }
}

#[test]
fn there_are_two_pads_for_each_dimension() {
    for (domain, inputs, pads) in [
        ("com.microsoft.", "float[n,m] x, int64[2] d", "d"),
        ("", "float[n,m] x, int64[2] d", "d"),
        ("", "float[n,m] x, int64[3] d", "d"),
    ] {
        let graph = format!("({inputs}) => (o) {{ o = {domain}Pad(x, {pads}) }}");
        assert_eq!(checked(&graph).verdict, Verdict::Violated, "{graph}");
    }
    let fine = "(float[n,m] x, int64[4] d) => (o) { o = com.microsoft.Pad(x, d) }";
    assert_eq!(checked(fine).verdict, Verdict::Ok);
    // Pads that are parts of a sequence are followed.
    let parts = "(float[n,m] x) => (o) { s = Shape<end = 1>(x) q = SplitToSequence<axis = 0, keepdims = 1>(s) \
                 z = Constant<value_int = 0>() p = SequenceAt(q, z) t = Concat<axis = 0>(p, p) \
                 o = com.microsoft.Pad(x, t) }";
    assert_eq!(said(parts, &[("x", &[2, 3])]), Said::Refuses);
}

#[test]
fn parts_in_a_sequence_are_followed() {
    let parts = "s = Shape(x) q = SplitToSequence<axis = 0, keepdims = 1>(s) z = Constant<value_int = 0>() \
                 i = Constant<value_int = 1>() a = SequenceAt(q, z) b = SequenceAt(q, i)";
    let turned = format!(
        "(float[n,m] x) => (float[m,n] o) {{ {parts} t = Concat<axis = 0>(b, a) o = Reshape(x, t) }}"
    );
    assert_eq!(checked(&turned).verdict, Verdict::Ok);
    assert_eq!(said(&turned, &[("x", &[3, 2])]), makes(&[2, 3]));
    // A size of 0 keeps another.
    assert_eq!(said(&turned, &[("x", &[0, 2])]), Said::Refuses);
    let joined = format!(
        "(float[n,m] x) => (float[m,n] o) {{ {parts} r = SequenceConstruct(b, a) t = ConcatFromSequence<axis = 0>(r) \
         o = Reshape(x, t) }}"
    );
    assert_eq!(checked(&joined).verdict, Verdict::Ok);
    // So are the rows that rounds of a known number make.
    let rows = "(float[n,m] x) => (float[n,m] o) { s = Shape(x) k = Constant<value_int = 2>() go = Cast<to = 9>(k) \
                p = Loop(k, go) <b = b (int64 i, bool c) => (bool d, int64 r) { d = Identity(c) r = Gather(s, i) }> \
                o = Reshape(x, p) }"
        .replace("<b = b", "<body = b");
    assert_eq!(checked(&rows).verdict, Verdict::Ok);
    assert_eq!(said(&rows, &[("x", &[0, 2])]), makes(&[0, 2]));
}

const BODY: &str = "<body = lb (int64 i, bool c, float[a,b] s) => (bool d, float[e,f] t) { d = Identity(c) t = Concat<axis = 0>(s, x) }>";

#[test]
fn a_loop_of_rounds_that_are_not_followed_may_have_none() {
    for number in [0, 1] {
        let graph = format!(
            "(float[n,m] x, float[2,3] y) => (o) {{ {} k = Constant<value_int = 1>() go = Cast<to = 9>(k) o = Loop(h, go, y) {BODY} }}",
            hidden(number)
        );
        let report = checked(&graph);
        assert_eq!((report.verdict, report.violated().len()), (Verdict::Unknown, 0), "{report:?}");
        assert_eq!(said(&graph, &[("x", &[5, 5]), ("y", &[2, 3])]), Said::IsNotKnown);
    }
    // Data may ask for a round.
    let graph = format!(
        "(int64 h, float[n,m] x, float[2,3] y) => (o) {{ k = Constant<value_int = 1>() go = Cast<to = 9>(k) o = Loop(h, go, y) {BODY} }}"
    );
    assert_eq!(checked(&graph).verdict, Verdict::Violated);
    assert_eq!(said(&graph, &[("h", &[]), ("x", &[5, 5]), ("y", &[2, 3])]), Said::Refuses);
    // A number that is drawn may ask for none, and no input shows a refusal.
    let graph = format!(
        "(float[n,m] x, float[2,3] y) => (o) {{ k = Constant<value_int = 1>() go = Cast<to = 9>(k) r = RandomUniform<shape = [1]>() \
         h = Cast<to = 7>(r) o = Loop(h, go, y) {BODY} }}"
    );
    assert_eq!(checked(&graph).verdict, Verdict::Unknown);
}

#[test]
fn which_branch_runs_matters_where_one_refuses() {
    for number in [0, 1] {
        let graph = format!(
            "(float[n,m] x, float[2,3] y) => (o) {{ {} b = Cast<to = 9>(h) o = If(b) <then_branch = a () => (float[a,b] oa) \
             {{ oa = Concat<axis = 0>(x, y) }}, else_branch = e () => (float[e,f] oe) {{ oe = Identity(x) }}> }}",
            hidden(number)
        );
        assert_eq!(said(&graph, &[("x", &[5, 5]), ("y", &[2, 3])]), Said::IsNotKnown);
        assert_eq!(checked(&graph).verdict, Verdict::Unknown);
    }
}

#[test]
fn a_size_that_data_decide_may_be_1() {
    let unique = "u = Unique(y)";
    for (graph, verdict) in [
        (format!("(float[n,m] x, float[4] y) => (o) {{ {unique} o = Add(x, u) }}"), Verdict::Unknown),
        (
            format!(
                "(float[n,m] x, float[4] y) => (o) {{ {unique} b = Cast<to = 9>(u) o = Where(b, x, x) }}"
            ),
            Verdict::Unknown,
        ),
        // No number of elements from 1 to 4 is 8.
        (format!("(float[n,8] x, float[4] y) => (o) {{ {unique} o = MatMul(x, u) }}"), Verdict::Violated),
    ] {
        assert_eq!(checked(&graph).verdict, verdict, "{graph}");
    }
    // Where the other size may be 1, data decide the result; else it is the other size.
    for (other, expected) in [("m", ShownSize::Open(None)), ("8", ShownSize::Number(8))] {
        let graph = format!("(float[n,{other}] x, float[k] y) => (o) {{ {unique} o = Mul(u, x) }}");
        let shapes = shapes(&model(&graph));
        let made = shapes.values["o"].shape.clone().expect("a rank");
        match (&made[1], expected) {
            (ShownSize::Number(made), ShownSize::Number(size)) => assert_eq!(*made, size),
            (ShownSize::Open(_), ShownSize::Open(_)) => {}
            (made, _) => panic!("{made:?}"),
        }
    }
}

#[test]
fn nothing_is_reshaped_to_sizes_that_are_not_followed() {
    let graph =
        format!("(float[n,m] x, float[1] y) => (o) {{ {} r = Reshape(x, hs) o = Add(r, y) }}", hidden(0));
    assert_eq!(said(&graph, &[("x", &[0, 4]), ("y", &[1])]), Said::IsNotKnown);
    let report = checked(&graph);
    assert_eq!((report.verdict, report.violated().len()), (Verdict::Unknown, 0), "{report:?}");
}

#[test]
fn no_sizes_are_equal_parts() {
    let none = "s = Shape<start = 2>(x)";
    let split = format!("(float[n,m] x) => (o, p) {{ {none} o, p = Split<axis = 0>(x, s) }}");
    for (rows, expected) in [(0, makes(&[0, 3])), (4, makes(&[2, 3])), (5, Said::Refuses)] {
        assert_eq!(said(&split, &[("x", &[rows, 3])]), expected, "{rows}");
    }
    let sequence = |keep: u8| {
        format!(
            "(float[n,m] x) => (o) {{ {none} q = SplitToSequence<axis = 0, keepdims = {keep}>(x, s) z = Constant<value_int = 0>() \
             o = SequenceAt(q, z) }}"
        )
    };
    for (keep, rows, expected) in
        [(1, 2, makes(&[1, 3])), (0, 2, makes(&[3])), (1, 0, Said::Refuses), (0, 0, Said::Refuses)]
    {
        assert_eq!(said(&sequence(keep), &[("x", &[rows, 3])]), expected, "{keep} {rows}");
    }
}

#[test]
fn as_many_sizes_as_data_give_are_as_many_parts() {
    let at = |position: i64| {
        format!(
            "(float[n,m] x, int64[2] d) => (o) {{ q = SplitToSequence<axis = 0>(x, d) z = Constant<value_int = {position}>() \
             o = SequenceAt(q, z) }}"
        )
    };
    let report = checked(&at(1));
    assert_eq!(
        (report.verdict, report.runtime_asserts.len(), report.with(GuardVerdict::Unknown).len()),
        (Verdict::Unknown, 0, 1),
        "{report:?}"
    );
    assert_eq!(checked(&at(2)).verdict, Verdict::Violated);
    // Of sizes that are not followed, neither as many as there are, it is not known whether they add up.
    let graph = format!(
        "(float[n,m] x) => (o) {{ {} u = Unique(hs) a, b, c, e = Unique<axis = 0>(u) q = SplitToSequence<axis = 0>(x, b) \
         z = Constant<value_int = 0>() o = SequenceAt(q, z) }}",
        hidden(3)
    );
    let report = checked(&graph);
    assert_eq!((report.verdict, report.violated().len()), (Verdict::Unknown, 0), "{report:?}");
}

#[test]
fn the_extreme_of_no_integers_is_an_end_of_the_type() {
    for op in ["ReduceMax", "ReduceMin"] {
        let graph = format!(
            "(float[n,m] x, float[5,3] y) => (o) {{ s = Shape<end = 1>(x) i = Squeeze(s) z = Constant<value_int = 0>() \
             e = Constant<value_int = 1>() k = Range(z, i, e) p = {op}(k) o = Gather(y, p) }}"
        );
        assert_eq!(said(&graph, &[("x", &[0, 1]), ("y", &[5, 3])]), Said::Refuses, "{op}");
        assert_eq!(said(&graph, &[("x", &[5, 1]), ("y", &[5, 3])]), makes(&[1, 3]), "{op}");
    }
}

#[test]
fn a_size_that_data_decide_may_keep_another() {
    // There is no 0 that is not 0, and a size of 0 keeps another.
    let graph =
        format!("(float[n,m] x) => (o) {{ {} z = NonZero(hs) s = Shape(z) o = Reshape(x, s) }}", hidden(0));
    assert_ne!(said(&graph, &[("x", &[0, 0])]), Said::Refuses);
}

#[test]
fn either_of_two_lists_is_followed() {
    let branches = "If(b) <then_branch = t () => (int64[2] p) { p = Shape(x) }, \
                    else_branch = e () => (int64[2] q) { q = Shape(y) }>";
    let graph = format!(
        "(float[n,m] x, float[k,l] y) => (o) {{ i = Size(x) j = Size(y) b = Less(i, j) s = {branches} o = ConstantOfShape(s) }}"
    );
    let shapes = shapes(&model(&graph));
    let made = shapes.values["o"].shape.clone().expect("a rank");
    assert!(made.iter().all(|size| matches!(size, ShownSize::Text(_))), "{made:?}");
    // What is not followed in one of them is no data.
    let axis = format!(
        "(float[n,m] x) => (o) {{ {} i = Size(x) z = Constant<value_int = 9>() b = Less(i, z) \
         s = If(b) <then_branch = t () => (int64[1] p) {{ p = Identity(hs) }}, else_branch = e () => (int64[1] q) {{ q = Neg(hs) }}> \
         o = ReduceSum<keepdims = 1>(x, s) }}",
        hidden(7)
    );
    let report = checked(&axis);
    assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{report:?}");
    assert_eq!(said(&axis, &[("x", &[2, 3])]), Said::IsNotKnown);
}

#[test]
fn numbers_that_are_drawn_are_no_values_of_inputs() {
    let graph = "(float[n,m] x, float[5,3] y) => (o) { r = RandomUniform<shape = [1]>() i = Cast<to = 7>(r) \
                 s = Shape<end = 1>(x) p = Add(s, i) o = Gather(y, p) }";
    let report = checked(graph);
    assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{report:?}");
    assert!(
        report
            .with(GuardVerdict::Unknown)
            .iter()
            .any(|open| open.reason.as_ref().is_some_and(|reason| reason.contains("at random"))),
        "{report:?}"
    );
    assert_eq!(said(graph, &[("x", &[2, 3]), ("y", &[5, 3])]), Said::IsNotKnown);
    // Without a mode for training, nothing is dropped.
    let graph = "(float[n,m] x) => (o) { s = Shape(x) f = Cast<to = 1>(s) d = Dropout(f) w = Sinh(d) i = Cast<to = 7>(w) \
                 o = Gather(x, i) }";
    let report = checked(graph);
    assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{report:?}");
}

#[test]
fn data_that_decide_how_many_parts_there_are_decide_positions() {
    let graph = "(float[n,m] x, int64 d) => (o) { q = SplitToSequence<axis = 0>(x, d) z = Constant<value_int = 1>() \
                 o = SequenceAt(q, z) }";
    let report = checked(graph);
    let positions: Vec<_> =
        report.runtime_asserts.iter().filter(|left| left.message.ends_with("(Sequence.C2)")).collect();
    assert!(matches!(positions[..], [left] if left.inputs == ["d"]), "{report:?}");
}

#[test]
fn sizes_within_branches_are_no_data() {
    // Shapes that branches read are sizes; of which branch runs nothing is followed.
    let branches = "If(b) <then_branch = t () => (int64[p1] p) { p = Add(hs, hs) }, \
                    else_branch = e () => (int64[q1] q) { q = Shape(y) }>";
    let graph = |rest: &str| {
        format!(
            "(float[n,m] x, float[k,3] y) => (o) {{ {} b = Cast<to = 9>(h) s = {branches} z = Constant<value_ints = [0]>() \
             i = Constant<value_ints = [1]>() t = Slice(s, z, i) {rest} }}",
            hidden(0)
        )
    };
    for rest in [
        "o = Gather(y, t)",
        "q2 = SplitToSequence<axis = 0>(x, t) c = Constant<value_int = 0>() o = SequenceAt(q2, c)",
    ] {
        let graph = graph(rest);
        assert_eq!(said(&graph, &[("x", &[2, 3]), ("y", &[0, 3])]), Said::IsNotKnown, "{graph}");
        let report = checked(&graph);
        assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{report:?}");
    }
}

#[test]
fn an_index_from_a_branch_that_is_not_followed_is_not_within_its_dimension() {
    let graph = format!(
        "(float[n,m] x, float[5,3] y) => (o) {{ {} b = Cast<to = 9>(h) s = If(b) <then_branch = t () => (int64[p1] p) \
         {{ p = Constant<value_ints = [7]>() }}, else_branch = e () => (int64[q1] q) {{ q = Constant<value_ints = [0, 1]>() }}> \
         o = Gather(y, s) }}",
        hidden(1)
    );
    let report = checked(&graph);
    assert_eq!((report.verdict, report.runtime_asserts.len()), (Verdict::Unknown, 0), "{report:?}");
}

#[test]
fn conditions_on_parts_and_subscripts_are_as_wide_as_the_operators() {
    let cut = "h = Shape<start = 1, end = 2>(x) k = Squeeze(h) s = SplitToSequence<axis = 0>(x, k) \
               i = Constant<value_int = AT>() y = SequenceAt(s, i)";
    let scores = "s = Einsum<equation = \"bsd,btd->bst\">(q, k) p = Constant<value_ints = [2, 4]>() y, z = Split<axis = 2>(v, p)";
    for (graph, expected) in [
        (format!("(float[n,m] x) => (y) {{ {} }}", cut.replace("AT", "1")), "m < n"),
        (format!("(float[n,m] x) => (y) {{ {} }}", cut.replace("AT", "-3")), "n > 2*m"),
        (
            "(float[n,m] x) => (y) { y = Einsum<equation = \"ij,jk->ik\">(x, x) }".to_owned(),
            "m == 1 or m == n or n == 1",
        ),
        (
            format!("(float[b,s,d] q, float[b,t,c] k, float[b,t,e] v) => (y, s) {{ {scores} }}"),
            "c == 1 or c == d or d == 1",
        ),
    ] {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 17]>\ng {graph}");
        let report = check(&Model::read(text.into_bytes()).expect(&graph));
        let found = report.violated().into_iter().find(|found| found.shown == expected);
        let found = found.unwrap_or_else(|| panic!("{graph}\n{:?}", report.violated()));
        // The example breaks this condition.
        assert!(!found.consequence.as_ref().is_some_and(|text| text.contains(": at ")), "{graph}: {found:?}");
    }
}
