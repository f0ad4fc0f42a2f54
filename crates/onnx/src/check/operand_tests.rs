//! Operands of another shape than an operator's specification says, as onnxruntime 1.31 takes them: where the file has
//! them, where the model declares their sizes, and where it declares nothing.
use super::size::ShownSize;
use super::{check, evaluate};
use rustc_hash::FxHashMap;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::Model;

fn model(graph: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\" : 18]>\ng {graph}");
    Model::read(text.into_bytes()).expect(graph)
}

/// Where the operand `n` comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The file has it, with this element throughout.
    File(&'static str),
    /// It is an input whose sizes are declared.
    Input,
    /// It is an input of which nothing is declared.
    Open,
}
use Origin::{File, Input, Open};

/// What a model makes with the operand; `None` if it refuses it.
fn made(from: Origin, dtype: &str, shape: &[i64], others: &str, body: &str) -> Option<Vec<i64>> {
    let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
    let sizes = if shape.is_empty() { String::new() } else { format!("[{}]", sizes.join(",")) };
    let count = usize::try_from(shape.iter().product::<i64>()).expect("a size");
    let (input, weights) = match from {
        File(element) => {
            let elements = vec![element; count].join(", ");
            (String::new(), format!(" <{dtype}{sizes} n = {{{elements}}}>"))
        }
        Input => (format!("{dtype}{sizes} n"), String::new()),
        Open => (format!("{dtype}[] n"), String::new()),
    };
    let inputs: Vec<&str> = [input.as_str(), others].into_iter().filter(|text| !text.is_empty()).collect();
    let graph = format!("({}) => (y){weights} {{ {body} }}", inputs.join(", "));
    let model = model(&graph);
    let mut given: FxHashMap<String, Vec<i64>> = FxHashMap::default();
    for input in sizewise_onnx_model::walk::inputs(&model) {
        let declared = input.shape.iter().flatten().map(|size| match size {
            sizewise_onnx_model::walk::Given::Size(size) => *size,
            other => panic!("{other:?} in {graph}"),
        });
        let sizes = if input.name == "n" { shape.to_vec() } else { declared.collect() };
        given.insert(input.name, sizes);
    }
    let verdict = check(&model).verdict;
    match evaluate(&model, &given, &FxHashMap::default()) {
        Ok(found) => {
            assert!(verdict != Verdict::Violated || matches!(from, Open), "{graph}");
            Some(found.outputs[0].iter().flatten().filter_map(ShownSize::number).collect())
        }
        Err(refused) => {
            assert!(!refused.is_unsupported && verdict != Verdict::Ok, "{graph}\n{refused:?}");
            None
        }
    }
}

#[test]
fn operands_of_other_shapes_are_as_onnxruntime_takes_them() {
    let (one, none) = (&[1][..], &[0][..]);
    let square = &[1, 1][..];
    let range = "z = Constant<value_int = 0>() o = Constant<value_int = 1>() y = Range(z, n, o)";
    let dft = "y = DFT(x, n)";
    let stft = "l = Constant<value_int = 2>() y = STFT(x, l, , n)";
    let mel = "a = Constant<value_int = 8>() b = Constant<value_int = 100>() l = Constant<value_float = 1.0>() \
               h = Constant<value_float = 20.0>() y = MelWeightMatrix(n, a, b, l, h)";
    let signal = "float[1,8,1] x";
    let cut = "s = SplitToSequence(x, n) y = ConcatFromSequence<axis = 0>(s)";
    let pad = "p = Constant<value_ints = [1, 1]>() y = Pad(x, p, , n)";
    let crop = "k = Constant<value_ints = [3]>() \
                y = Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, n, , k)";
    let rounds = "k = Constant<value_int = 2>() y = Loop(k, n, x)<body = b (int64 i, bool c, float[P] v) => \
                  (bool d, float[P] o) { d = Identity(c) o = Neg(v) }>";
    for (from, dtype, shape, others, body, expected) in [
        (Input, "int64", one, "", range, Some(&[1][..])),
        (File("1"), "int64", one, "", range, None),
        (File("1"), "int64", &[], "", range, Some(&[1])),
        (Open, "int64", &[], "float[1] x", "y = Expand(x, n)", Some(&[1])),
        (Open, "int64", square, "float[1] x", "y = Expand(x, n)", Some(&[1])),
        (Open, "int64", &[2, 1], "float[3] x", "y = Expand(x, n)", Some(&[1, 3])),
        (Input, "int64", square, "float[1] x", "y = Expand(x, n)", None),
        (Open, "int64", &[2, 1], "", "y = ConstantOfShape(n)", Some(&[1, 1])),
        (Open, "int64", &[], "", "y = ConstantOfShape(n)", None),
        (Input, "int64", &[], "float[3] x", "y = CenterCropPad<axes = [0]>(x, n)", Some(&[1])),
        (Input, "int64", square, "float[3] x", "y = CenterCropPad<axes = [0]>(x, n)", None),
        (Input, "float", square, "float[2] x", "y = Resize(x, , n)", Some(&[1])),
        (File("3.0"), "float", &[], "float[2] x", "y = Resize(x, , n)", Some(&[6])),
        (File("3"), "int64", square, "float[2] x", "y = Resize(x, , , n)", Some(&[3])),
        (Input, "float", &[2], "float[2] x", crop, Some(&[3])),
        (Input, "float", one, "float[2] x", crop, None),
        (Input, "int64", one, "float[2,3] x", pad, Some(&[2, 5])),
        (Input, "int64", &[], "float[2,3] x", pad, None),
        (Input, "int64", square, "float[2,3] x", pad, None),
        (Open, "int64", one, "float[2,3] x", pad, None),
        (Input, "int64", none, "float[1] x", "y = Split(x, n)", Some(&[1])),
        (File("1"), "int64", none, "float[1] x", "y = Split(x, n)", None),
        (Input, "int64", &[2, 1], "float[2,3] x", cut, Some(&[2, 3])),
        (Input, "int64", none, "float[2,3] x", cut, Some(&[2, 3])),
        (File("1"), "int64", none, "float[2,3] x", cut, None),
        (Open, "int64", &[], "float[2,3] x", "y = ReduceSum(x, n)", None),
        (Open, "float", one, "float[2,3] x", "y = Dropout(x, n)", Some(&[2, 3])),
        (Open, "float", none, "float[2,3] x", "y = Dropout(x, n)", None),
        (Open, "bool", square, "float[2,3] x", "y = Dropout(x, , n)", Some(&[2, 3])),
        (Input, "bool", one, "float[2,3] x", "y = Dropout(x, , n)", None),
        (Input, "int64", one, "", "y = HannWindow(n)", Some(&[1])),
        (Open, "int64", square, "", "y = HammingWindow(n)", Some(&[1])),
        (File("3"), "int64", one, "", "y = HannWindow(n)", None),
        (Input, "int64", one, signal, dft, Some(&[1, 1, 2])),
        (Input, "int64", square, signal, dft, None),
        (File("3"), "int64", one, signal, dft, None),
        (File("3"), "int64", &[], signal, dft, Some(&[1, 3, 2])),
        (Input, "int64", one, signal, stft, Some(&[1, 4, 1, 2])),
        (File("4"), "int64", one, signal, stft, None),
        (Input, "int64", one, "", mel, Some(&[5, 1])),
        (File("4"), "int64", one, "", mel, None),
        (Open, "float", one, signal, "l = Constant<value_int = 2>() y = STFT(x, l, n)", None),
        (Input, "bool", one, "float[2] x", rounds, None),
        (Input, "bool", &[], "float[2] x", rounds, Some(&[2])),
        (Open, "bool", one, "float[2] x", rounds, Some(&[2])),
        (Open, "float", &[1, 0], "float[2] x", "y = Concat<axis = 0>(x, n)", Some(&[3])),
    ] {
        assert_eq!(made(from, dtype, shape, others, body).as_deref(), expected, "{from:?} {shape:?} {body}");
    }
}

#[test]
fn whether_a_rank_is_known_at_load_may_be_open() {
    // The rank of what a loop makes is inferred.
    let rows = "k = Constant<value_int = 0>() w, v = Loop(k, , x)<body = b (int64 i, bool c, float[] p) => \
                (bool d, float[] o, float[] r) { d = Identity(c) o = Neg(p) r = Relu(u) }>";
    let model = model(&format!(
        "(float[2] x) => (y) {{ a = Constant<value_ints = [0]>() u = Unsqueeze(x, a) {rows} y = Concat<axis = 0>(v, x) }}"
    ));
    let given = FxHashMap::from_iter([("x".to_owned(), vec![2])]);
    let found = evaluate(&model, &given, &FxHashMap::default());
    assert!(found.is_err_and(|refused| refused.is_unsupported));
    assert_eq!(check(&model).verdict, Verdict::Unknown);
}

#[test]
fn an_axis_of_several_numbers_is_the_first() {
    let text = "<ir_version: 10, opset_import: [\"\" : 20]>\ng (float[1,4,1] x, int64[2] n) => (y) { y = DFT(x, , n) }";
    let model = Model::read(text.as_bytes().to_vec()).expect("a model");
    let given = FxHashMap::from_iter([("x".to_owned(), vec![1, 4, 1]), ("n".to_owned(), vec![2])]);
    assert!(evaluate(&model, &given, &FxHashMap::default()).is_ok());
}

#[test]
fn what_lies_behind_an_empty_operand_is_not_known() {
    for graph in [
        "(float[0] n, float[1,3,4] b, float[1,1,3] s) => (y) \
         { m = Constant<value_int = 2>() y = NonMaxSuppression(b, s, m, n) }",
        "(int64[] n, float[2] x) => (y) { s = SequenceConstruct(x, x) y = SequenceAt(s, n) }",
        "(int64[] n, float[2] x) => (y) { s = SequenceConstruct(x, x) t = SequenceErase(s, n) y = SequenceLength(t) }",
    ] {
        assert_eq!(check(&model(graph)).verdict, Verdict::Unknown, "{graph}");
    }
}

#[test]
fn what_is_empty_is_concatenated_whatever_its_sizes() {
    let cut = "k = Constant<value_int = 3>() s = SplitToSequence<axis = 0>(x, k)";
    for (sizes, body, expected) in [
        ([5, 0], "y = ConcatFromSequence<axis = 1>(s)", Some(&[3, 0][..])),
        ([5, 0], "y = ConcatFromSequence<axis = 0>(s)", Some(&[5, 0])),
        ([5, 0], "y = ConcatFromSequence<axis = 0, new_axis = 1>(s)", Some(&[2, 3, 0])),
        ([5, 2], "y = ConcatFromSequence<axis = 1>(s)", None),
        ([6, 2], "y = ConcatFromSequence<axis = 1>(s)", Some(&[3, 4])),
    ] {
        let model = model(&format!("(float[a,b] x) => (y) {{ {cut} {body} }}"));
        let given = FxHashMap::from_iter([("x".to_owned(), sizes.to_vec())]);
        let found = evaluate(&model, &given, &FxHashMap::default()).ok();
        let found: Option<Vec<i64>> =
            found.map(|found| found.outputs[0].iter().flatten().filter_map(ShownSize::number).collect());
        assert_eq!(found.as_deref(), expected, "{sizes:?} {body}");
    }
}
