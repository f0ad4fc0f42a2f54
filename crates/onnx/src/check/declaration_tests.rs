//! Statements about fixes that declare inputs and outputs anew: the file that says so is right.
use super::said::lines;
use super::{Declaration, Verdict, check, report};
use crate::redeclare::redeclare;
use sizewise_check::report::{Fix, Outcome};
use sizewise_check::spec::Spec;
use sizewise_onnx_model::read::Model;
use sizewise_solve::Budget;

fn text(graph: &str) -> String {
    format!("<ir_version: 10, opset_import: [\"\" : 18]>\n{graph}")
}

/// As many rows of a mask as a cache and new items have.
const MASK: &str = "g (float[b, q] x, float[b, past] k, float[total] mask) => (float[b, total] y) {
    y0 = Concat<axis = 1>(k, x)
    s = Shape(y0) one = Constant<value_int = 1>() zero = Constant<value_int = 0>()
    n = Gather(s, one) r = Range(zero, n, one)
    m = Gather(mask, r) y = Add(y0, m)
}";
/// A skip connection around what doubles a size.
const DOUBLED: &str = "g (float[n, len] x, float[n, other] skip) => (float[n, other] y) {
    d = Concat<axis = 1>(x, x) y = Sub(d, skip)
}";
/// Halves of a size, and another input that has to be as large.
const HALVES: &str = "g (float[b, 1, h, 4] x, float[b, 4, h2, 2] k) => (float[b, 4, h2, 2] y) {
    d = SpaceToDepth<blocksize = 2>(x) y = Add(d, k)
}";
/// A batch that is a number in the model.
const BATCH: &str = "g (float[batch, t, 4] x) => (float[batch, m] y) {
    a = Constant<value_ints = [3]>() z = Constant<value_ints = [1]>() two = Constant<value_ints = [1]>()
    c = Slice(x, two, a, z) s = Constant<value_ints = [3, -1]>() y = Reshape(c, s)
}";
/// Sizes that only a branch compares.
const BRANCH: &str = "g (bool c, float[n, m] x, float[k, l] w) => (float[n, l] z) {
    z = If(c)<then_branch = t () => (p) { p = MatMul(x, w) }, else_branch = e () => (q) { q = MatMul(x, w) }>
}";
/// Windows of 4 by 4.
const WINDOWS: &str = "g (float[b, h, w] x) => (float[p, 16] y) {
    s = Shape(x) i0 = Constant<value_int = 0>() i1 = Constant<value_int = 1>() i2 = Constant<value_int = 2>()
    four = Constant<value_ints = [4]>() z = Constant<value_ints = [0]>()
    b0 = Gather(s, i0) h0 = Gather(s, i1) w0 = Gather(s, i2)
    b1 = Unsqueeze(b0, z) h1 = Unsqueeze(h0, z) w1 = Unsqueeze(w0, z)
    h2 = Div(h1, four) w2 = Div(w1, four)
    t = Concat<axis = 0>(b1, h2, four, w2, four) v = Reshape(x, t)
    u = Transpose<perm = [0, 1, 3, 2, 4]>(v) last = Constant<value_ints = [-1, 16]>() y = Reshape(u, last)
}";
/// An output of another rank, one of another type, and one of another size.
const OUTPUTS: &str = "g (float[a, 3] x) => (float[a] r, int64[a, 3] t, float[5, 3] s) {
    r = Neg(x) t = Abs(x) s = Concat<axis = 0>(x, x)
}";

#[test]
fn models_with_the_declarations_of_a_fix_are_right() {
    for (graph, declared, loses) in [
        (MASK, &["declare mask.shape[0] as past + q", "declare y.shape[1] as past + q"][..], true),
        (DOUBLED, &["declare skip.shape[1] as 2*len", "declare y.shape[1] as 2*len"], true),
        (HALVES, &["declare x.shape[2] as 2*h2"], true),
        (BATCH, &["declare x.shape[0] as 3", "declare y.shape[0] as 3"], true),
        (BRANCH, &["declare w.shape[0] as m"], false),
        (WINDOWS, &["declare x.shape[1] as 4*_h", "declare x.shape[2] as 4*_w"], false),
        (OUTPUTS, &["declare r.shape as [a, 3]", "declare t as float32", "declare s.shape[0] as 2*a"], false),
    ] {
        let bytes = text(graph).into_bytes();
        let found = check(&Model::read(bytes.clone()).expect(graph));
        assert_eq!(found.verdict, Verdict::Violated, "{graph}");
        let first = found.fixes.first().unwrap_or_else(|| panic!("no fix: {graph}: {found:?}"));
        assert_eq!(lines(first), declared, "{graph}");
        assert!(first.proved, "{graph}");
        assert_eq!(first.loses == Some(true), loses, "{graph}: {first:?}");
        found.fixes.iter().for_each(|fix| is_right(&bytes, fix));
    }
}

/// The file with the declarations of a fix is right, under its spec if it has one.
fn is_right(bytes: &[u8], fix: &Fix) {
    let declared = fix.declarations.iter().map(|json| Declaration::of_json(json).expect("a declaration"));
    let written = redeclare(bytes, &declared.collect::<Vec<_>>()).expect("a file");
    let model = Model::read(written).expect("a model");
    let spec = fix.spec.as_ref().map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    let found = report(&model, "m", &[], spec.as_ref(), &Budget::default());
    let verdict = if fix.proved { Verdict::Ok } else { Verdict::Unknown };
    assert_eq!(found.verdict, verdict, "{fix:?}: {found:?}");
}

#[test]
fn what_a_report_shows_of_a_spec_is_one_that_is_right() {
    for graph in [
        "g (float[n, c, len] x, float[n, len] m, float[len] k) => (z, y) { z = MaxPool<kernel_shape = [3]>(x) \
         y = Add(m, k) }",
        "g (float[n, c, ?] x, float[n, e] m) => (z) { z = MaxPool<kernel_shape = [3]>(x) }",
        "g (float[batch, 4, t] x) => (float[batch, m] y) { c = MaxPool<kernel_shape = [5]>(x) \
         s = Constant<value_ints = [3, -1]>() y = Reshape(c, s) }",
    ] {
        let bytes = text(graph).into_bytes();
        let model = Model::read(bytes.clone()).expect(graph);
        let found = report(&model, "m.onnx", &bytes, None, &Budget::default());
        let mut specs = 0;
        for fix in &found.fixes {
            let declared: Vec<_> = fix
                .declarations
                .iter()
                .map(|json| Declaration::of_json(json).expect("a declaration"))
                .collect();
            let lines: Vec<&str> = fix.text.lines().skip(declared.len()).collect();
            assert_eq!(lines.is_empty(), fix.spec.is_none(), "{fix:?}");
            if lines.is_empty() {
                continue;
            }
            specs += 1;
            let bytes = redeclare(&bytes, &declared).expect("a file");
            let model = Model::read(bytes.clone()).expect("a model");
            for text in [lines.join("\n"), fix.spec.as_ref().expect("a spec").to_string()] {
                let spec = Spec::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
                let found = report(&model, "m.onnx", &bytes, Some(&spec), &Budget::default());
                assert_eq!(found.verdict, Outcome::Ok, "{text}\n{fix:?}");
            }
        }
        assert!(specs > 0, "{graph}: {:?}", found.fixes);
    }
}

#[test]
fn the_rest_of_a_file_stays_as_it_is() {
    // A field that is not known here, in a dimension.
    let dim = [0x12, 1, b'n', 0x1a, 2, b'X', b'Y'];
    let field = |number: u8, value: &[u8]| {
        let mut out = vec![number << 3 | 2, value.len() as u8];
        out.extend_from_slice(value);
        out
    };
    let shape = field(1, &dim);
    let tensor = [vec![0x08, 1], field(2, &shape)].concat();
    let value = |name: &str| {
        let kind = field(1, &tensor);
        [field(1, name.as_bytes()), field(2, &kind), field(3, b"doc")].concat()
    };
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Neg")].concat();
    let graph = [field(1, &node), field(11, &value("x")), field(12, &value("y"))].concat();
    let model = [vec![0x08, 8], field(7, &graph), field(8, &[0x10, 17])].concat();
    let declare =
        |value: &str, is_output, declared| Declaration { value: value.to_owned(), is_output, declared };
    let size = |text: Option<&str>| super::Declared::Size(0, text.map(str::to_owned));
    let changed = [declare("x", false, size(Some("seven"))), declare("y", true, size(None))];
    let written = redeclare(&model, &changed).expect("a file");
    let contains = |part: &[u8]| written.windows(part.len()).filter(|window| *window == part).count();
    assert_eq!((contains(b"doc"), contains(&[0x1a, 2, b'X', b'Y']), contains(b"seven")), (2, 2, 1));
    assert_eq!(contains(&dim), 0);
    assert!(redeclare(&model, &[declare("z", false, size(None))]).is_err());
    assert!(redeclare(&model, &[declare("x", false, super::Declared::Size(3, None))]).is_err());
    assert!(redeclare(&model[..20], &changed).is_err());
}
