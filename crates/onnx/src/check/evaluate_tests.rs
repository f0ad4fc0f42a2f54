//! What onnxruntime runs although its operators' specification, or a first look, says otherwise.
use super::{Filled, check, evaluate, evaluate_fully};
use rustc_hash::FxHashMap;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::Model;

/// The sizes of the first output, or the condition that is broken.
fn evaluated(graph: &str, sizes: &[(&str, &[i64])]) -> Result<Vec<i64>, String> {
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\ng {graph}");
    let model = Model::read(text.into_bytes()).expect(graph);
    let sizes = sizes.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.to_vec())).collect();
    match evaluate_fully(&model, &sizes, &FxHashMap::default()) {
        Ok(made) => {
            let first = made.outputs.first().cloned().flatten().expect("a tensor");
            Ok(first.iter().filter_map(super::ShownSize::number).collect())
        }
        Err(refused) => Err(refused.expr.unwrap_or(refused.message)),
    }
}

#[test]
fn a_loss_takes_fewer_labels_than_scores_unless_the_model_says_how_many_there_are() {
    let loss = "{ y = NegativeLogLikelihoodLoss<reduction = \"none\">(x, l) }";
    let open = format!("(float[a,b] x, int64[c] l) => (y) {loss}");
    let known = format!("(float[5,b] x, int64[4] l) => (y) {loss}");
    let halfway = format!("(float[5,b] x, int64[c] l) => (y) {loss}");
    for (graph, scores, labels, expected) in [
        (&open, [5, 10], 4, Ok(vec![4])),
        (&open, [5, 10], 0, Ok(vec![0])),
        (&open, [5, 10], 5, Ok(vec![5])),
        (&open, [4, 10], 5, Err("Loss.C2")),
        (&known, [5, 10], 4, Err("Loss.C2")),
        (&halfway, [5, 10], 4, Ok(vec![4])),
    ] {
        let found = evaluated(graph, &[("x", &scores), ("l", &[labels])]);
        assert_eq!(found, expected.map_err(str::to_owned), "{graph} {scores:?} {labels}");
    }
}

#[test]
fn an_empty_kernel_runs_where_nothing_is_multiplied() {
    let graph = |attributes: &str| {
        format!("(float[n,1,h] x, float[m,1,k] w) => (y) {{ y = Conv{attributes}(x, w) }}")
    };
    for (attributes, image, kernel, expected) in [
        ("", [8, 1, 0], [2, 1, 0], Ok(vec![8, 2, 1])),
        ("", [0, 1, 7], [2, 1, 0], Ok(vec![0, 2, 8])),
        ("", [1, 1, 5], [0, 1, 0], Ok(vec![1, 0, 6])),
        ("<auto_pad = \"SAME_UPPER\">", [3, 1, 0], [2, 1, 0], Ok(vec![3, 2, 1])),
        ("<auto_pad = \"SAME_UPPER\">", [0, 1, 5], [2, 1, 0], Ok(vec![0, 2, 6])),
        ("<auto_pad = \"SAME_UPPER\">", [1, 1, 5], [2, 1, 3], Ok(vec![1, 2, 5])),
        // onnxruntime never ends, or dies.
        ("", [8, 1, 5], [2, 1, 0], Err("Conv.C8")),
        ("<strides = [2]>", [3, 1, 0], [2, 1, 0], Err("Conv.C8")),
        // Nothing is no image that could keep its size.
        ("<auto_pad = \"SAME_LOWER\">", [1, 1, 0], [2, 1, 3], Err("Conv.C4")),
    ] {
        let found = evaluated(&graph(attributes), &[("x", &image), ("w", &kernel)]);
        assert_eq!(found, expected.map_err(str::to_owned), "{attributes} {image:?} {kernel:?}");
    }
}

#[test]
fn columns_make_an_image_that_has_elements() {
    let graph = "(float[n,c,l] x, int64[2] s, int64[2] b) => (y) { y = Col2Im(x, s, b) }";
    for (columns, image, expected) in [
        ([0, 5, 5], "5, 5", Ok(vec![0, 1, 5, 5])),
        ([1, 0, 5], "5, 5", Err("Col2Im.C4")),
        ([1, 5, 0], "0, 5", Err("Col2Im.C4")),
        ([1, 5, 0], "1, 3", Err("Col2Im.C4")),
    ] {
        let graph = graph.replace(", int64[2] s, int64[2] b", "").replace(
            "{ y",
            &format!("{{ s = Constant<value_ints = [{image}]>() b = Constant<value_ints = [1, 5]>() y"),
        );
        let found = evaluated(&graph, &[("x", &columns)]);
        assert_eq!(found, expected.map_err(str::to_owned), "{columns:?} {image}");
    }
}

#[test]
fn only_nothing_is_resized_to_nothing() {
    for (image, sizes, expected) in [
        ([0, 5], "0, 2", Ok(vec![0, 2])),
        ([0, 0], "0, 0", Ok(vec![0, 0])),
        ([0, 5], "0, 0", Err("Resize.C2")),
        ([1, 0], "0, 0", Err("Resize.C2")),
        ([0, 5], "3, 5", Err("Resize.C2")),
        ([2, 3], "0, 3", Err("Resize.C2")),
    ] {
        let graph = format!(
            "(float[a,b] x) => (y) {{ s = Constant<value_ints = [{sizes}]>() y = Resize<mode = \"nearest\">(x, , , s) }}"
        );
        let found = evaluated(&graph, &[("x", &image)]);
        assert_eq!(found, expected.map_err(str::to_owned), "{image:?} {sizes}");
    }
}

#[test]
fn the_extreme_of_equal_elements_is_the_first() {
    let graph = "(float[a,b] x, float[c,d] w) => (y) { l = ArgMax<axis = 1, keepdims = 0>(w) \
                 y = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, l) }";
    assert_eq!(evaluated(graph, &[("x", &[5, 3]), ("w", &[4, 2])]), Ok(vec![4]));
    assert_eq!(evaluated(graph, &[("x", &[3, 3]), ("w", &[4, 2])]), Err("Loss.C2".to_owned()));
}

#[test]
fn a_transposed_convolution_adds_nothing_to_nothing() {
    for (attributes, image, expected) in [
        ("<strides = [2]>", [1, 1, 0], Ok(vec![1, 2, 1])),
        ("<strides = [2], output_padding = [1]>", [1, 1, 1], Ok(vec![1, 2, 4])),
        ("<strides = [2], output_padding = [1]>", [1, 1, 0], Err("ConvTranspose.C7")),
    ] {
        let graph =
            format!("(float[n,1,h] x, float[1,2,k] w) => (y) {{ y = ConvTranspose{attributes}(x, w) }}");
        let found = evaluated(&graph, &[("x", &image), ("w", &[1, 2, 3])]);
        assert_eq!(found, expected.map_err(str::to_owned), "{attributes} {image:?}");
    }
}

#[test]
fn what_sizes_decide_through_numbers_that_are_not_followed_is_not_known() {
    let evaluated = |graph: &str, sizes: &[(&str, &[i64])]| {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\ng {graph}");
        let model = Model::read(text.into_bytes()).expect(graph);
        let sizes = sizes.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.to_vec())).collect();
        let found = super::evaluate_fully(&model, &sizes, &FxHashMap::default());
        found.err().map(|refused| (refused.is_unsupported, refused.node))
    };
    // Sizes in a scan decide an index.
    let graph = "(float[n,m] x, float[10,3] y) => (o) { s = Shape(x) z = Constant<value_int = 0>() \
                 l, p = Scan<num_scan_inputs = 1, body = b (int64 a, int64 e) => (int64 t, int64 r) \
                 { t = Add(a, e) r = Identity(t) }>(z, s) o = Gather(y, p) }";
    assert_eq!(evaluated(graph, &[("x", &[12, 2]), ("y", &[10, 3])]), Some((true, Some("o".to_owned()))));
    // A model that declares another type than it makes does not load.
    let graph = "(float[n] x) => (float[n] o) { o = Cast<to = 7>(x) }";
    assert_eq!(evaluated(graph, &[("x", &[2])]), Some((false, None)));
    // An index among the inputs is data.
    let graph = "(float[n,m] x, int64[k] i) => (o) { o = Gather(x, i) }";
    assert_eq!(evaluated(graph, &[("x", &[12, 2]), ("i", &[3])]), None);
}

#[test]
fn rows_of_a_loop_have_as_many_elements_and_the_shape_of_the_first() {
    let rounds = |declared: &str, step: &str| {
        format!(
            "(float[{declared}] x) => (w, v) {{ n = Constant<value_int = 2>() a = Constant<value_ints = [0]>() \
             v, w = Loop(n, , x)<body = b (int64 i, bool c, float[] p) => (bool d, float[] o, float[] r) \
             {{ d = Identity(c) o = {step} r = Relu(p) }}> }}"
        )
    };
    for (graph, sizes, expected) in [
        (rounds("a,b", "Transpose(p)"), &[2, 3][..], Ok(vec![2, 2, 3])),
        (rounds("a,b", "Unsqueeze(p, a)"), &[2, 3], Ok(vec![2, 2, 3])),
        (rounds("a", "Concat<axis = 0>(p, p)"), &[2], Err("Loop.C1")),
        (rounds("a", "Concat<axis = 0>(p, p)"), &[0], Ok(vec![2, 0])),
    ] {
        let found = evaluated(&graph, &[("x", sizes)]);
        assert_eq!(found, expected.map_err(str::to_owned), "{graph}");
    }
}

#[test]
fn no_round_of_a_loop_makes_more_bytes_than_64_bits_count() {
    let doubled = |rounds: i64, kind: &str| {
        format!(
            "({kind}[a] x) => (v) {{ n = Constant<value_int = {rounds}>() v = Loop(n, , x)<body = b (int64 i, bool c, \
             {kind}[k] p) => (bool d, {kind}[l] o) {{ d = Identity(c) o = Concat<axis = 0>(p, p) }}> }}"
        )
    };
    let open = "rounds make other sizes, and there are more than are followed";
    for (rounds, kind, sizes, expected) in [
        (3, "float", 2, Ok(vec![16])),
        (60, "float", 1, Ok(vec![1 << 60])),
        (61, "float", 1, Err("schema.S6")),
        (62, "uint8", 1, Ok(vec![1 << 62])),
        (63, "uint8", 1, Err("schema.S6")),
        (100, "float", 2, Err("schema.S6")),
        // Nothing stays nothing.
        (100, "float", 0, Ok(vec![0])),
        (1_000_000_000, "float", 2, Err(open)),
        (1_000_000_000, "float", 0, Ok(vec![0])),
    ] {
        let found = evaluated(&doubled(rounds, kind), &[("x", &[sizes])]);
        assert_eq!(found, expected.map_err(str::to_owned), "{rounds} {kind} {sizes}");
    }
}

#[test]
fn control_flow_takes_the_types_of_its_version() {
    let branch = |version: i64, kind: &str, to: i64| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : {version}]>\ng (float[2] x, bool c) => (y) {{ h = Cast<to = {to}>(x) \
             z = If(c)<then_branch = t () => ({kind} a) {{ a = Identity(h) }}, else_branch = e () => ({kind} b) \
             {{ b = Identity(h) }}> y = Cast<to = 1>(z) }}"
        );
        let model = Model::read(text.into_bytes()).expect(kind);
        let sizes = FxHashMap::from_iter([("x".to_owned(), vec![2]), ("c".to_owned(), vec![])]);
        evaluate(&model, &sizes, &FxHashMap::default()).map(drop)
    };
    for (version, kind, to, is_taken) in [
        (13, "float[2]", 1, true),
        (11, "bfloat16[2]", 16, false),
        (13, "bfloat16[2]", 16, true),
        (13, "float8e5m2[2]", 19, false),
        (19, "float8e5m2[2]", 19, true),
        (21, "uint4[2]", 21, false),
    ] {
        let found = branch(version, kind, to);
        assert_eq!(found.is_ok(), is_taken, "{version} {kind} {found:?}");
    }
    // It takes no other inputs than its schema says, but rows may have any type.
    let looped = |version: i64, carried: &str, row: &str| {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : {version}]>\ng (float[2] x, bool c) => (y) {{ h = Cast<to = 16>(x) \
             y, z = Loop(, c, {carried})<body = l (int64 i, bool d, p) => (bool e, q, r) {{ e = Identity(d) q = Identity(p) \
             r = Identity({row}) }}> }}"
        );
        let model = Model::read(text.into_bytes()).expect(carried);
        let sizes = FxHashMap::from_iter([("x".to_owned(), vec![2]), ("c".to_owned(), vec![])]);
        evaluate(&model, &sizes, &FxHashMap::default()).map(drop).map_err(|refused| refused.expr)
    };
    let untaken = || Err(Some("schema.S2".to_owned()));
    for (version, carried, row, expected) in
        [(13, "x", "h", Ok(())), (13, "h", "x", untaken()), (16, "h", "x", Ok(()))]
    {
        assert_eq!(looped(version, carried, row), expected, "{version} {carried} {row}");
    }
    // Sequences from version 13 on.
    for (version, is_taken) in [(11, false), (13, true)] {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : {version}]>\ng (float[2] x, bool c) => (z) {{ z = If(c)<then_branch = t () \
             => (seq(float[2]) a) {{ a = SequenceConstruct(x) }}, else_branch = e () => (seq(float[2]) b) \
             {{ b = SequenceConstruct(x) }}> }}"
        );
        let model = Model::read(text.into_bytes()).expect("a model");
        let sizes = FxHashMap::from_iter([("x".to_owned(), vec![2]), ("c".to_owned(), vec![])]);
        let found = evaluate(&model, &sizes, &FxHashMap::default());
        assert_eq!(found.is_ok(), is_taken, "{version} {found:?}");
    }
}

#[test]
fn an_empty_operand_of_concat_has_the_sizes_that_are_declared_of_the_others() {
    let graph =
        |x: &str, w: &str| format!("(float[{x}] x, float[{w}] w) => (y) {{ y = Concat<axis = 0>(x, w) }}");
    for (x, w, expected) in [
        ("a,b", "c,d", Ok(vec![4, 2])),
        ("a,0", "c,d", Ok(vec![4, 2])),
        ("a,b", "2,2", Ok(vec![4, 2])),
        ("a,0", "2,2", Err("Concat.C2")),
        ("2,0", "c,2", Err("Concat.C2")),
    ] {
        let found = evaluated(&graph(x, w), &[("x", &[2, 0]), ("w", &[2, 2])]);
        assert_eq!(found, expected.map_err(str::to_owned), "[{x}] and [{w}]");
    }
}

#[test]
fn a_sequence_is_of_the_type_that_is_declared_of_the_output() {
    for (kind, is_made) in [("float", true), ("bool", false)] {
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 18]>\ng ({kind}[3] x) => (seq(float[]) y) {{ y = SplitToSequence(x) }}"
        );
        let model = Model::read(text.into_bytes()).expect(kind);
        let sizes = FxHashMap::from_iter([("x".to_owned(), vec![3])]);
        assert_eq!(evaluate_fully(&model, &sizes, &FxHashMap::default()).is_ok(), is_made, "{kind}");
        let expected = if is_made { Verdict::Ok } else { Verdict::Unknown };
        assert_eq!(check(&model).verdict, expected, "{kind}");
    }
}

#[test]
fn no_elements_are_known_elements() {
    let text = "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[a,b] x, int64[0] axes) => (y) { y = ReduceSum(x, axes) }";
    let model = Model::read(text.as_bytes().to_vec()).expect(text);
    let sizes = FxHashMap::from_iter([("x".to_owned(), vec![2, 3]), ("axes".to_owned(), vec![0])]);
    let given = FxHashMap::from_iter([("axes".to_owned(), Filled::List(Vec::new()))]);
    for filled in [FxHashMap::default(), given] {
        let made = evaluate(&model, &sizes, &filled).expect("sizes").outputs.remove(0).expect("a tensor");
        let numbers: Vec<_> = made.iter().map(super::ShownSize::number).collect();
        assert_eq!(numbers, [Some(1), Some(1)]);
    }
}

#[test]
fn grams_that_are_counted_differ_and_have_a_weight_each() {
    for (attributes, expected) in [
        ("pool_int64s = [1, 2, 1, 2, 3, 4], ngram_counts = [0, 2]", Ok(vec![4])),
        ("pool_int64s = [1, 1, 1, 2, 3, 4], ngram_counts = [0, 2]", Err("TfIdfVectorizer.C3")),
        ("pool_int64s = [1, 2, 3, 4, 3, 4], ngram_counts = [0, 2]", Err("TfIdfVectorizer.C3")),
        ("pool_strings = [\"a\", \"a\", \"b\", \"c\"], ngram_counts = [0, 2]", Err("TfIdfVectorizer.C3")),
        (
            "pool_int64s = [1, 2, 1, 2, 3, 4], ngram_counts = [0, 2], weights = [1.0, 2.0, 3.0, 4.0]",
            Ok(vec![4]),
        ),
        (
            "pool_int64s = [1, 2, 1, 2, 3, 4], ngram_counts = [0, 2], weights = [1.0, 2.0]",
            Err("TfIdfVectorizer.C2"),
        ),
    ] {
        let kind = if attributes.contains("strings") { "string" } else { "int64" };
        let graph = format!(
            "({kind}[n] x) => (y) {{ y = TfIdfVectorizer<mode = \"TF\", min_gram_length = 1, max_gram_length = 2, \
             max_skip_count = 0, ngram_indexes = [0, 1, 2, 3], {attributes}>(x) }}"
        );
        let found = evaluated(&graph, &[("x", &[5])]);
        assert_eq!(found, expected.map_err(str::to_owned), "{attributes}");
    }
}

#[test]
fn loops_of_very_many_rounds_end() {
    let graph = "(float[a] x) => (v) { n = Constant<value_int = 1000000000>() v = Loop(n, , x)<body = b (int64 i, bool c, \
                 float[k] p) => (bool d, float[l] o) { d = Identity(c) o = Loop(n, , p)<body = e (int64 j, bool f, \
                 float[m] q) => (bool g, float[r] s) { g = Identity(f) s = STEP }> }> }";
    for (step, expected) in [("Abs(q)", Ok(vec![2])), ("Concat<axis = 0>(q, x)", Err("Concat"))] {
        let found = evaluated(&graph.replace("STEP", step), &[("x", &[2])]);
        let found =
            found.map_err(|message| if message.contains("followed") { "Concat" } else { "another refusal" });
        assert_eq!(found, expected, "{step}");
    }
}

#[test]
fn a_scan_has_an_axis_and_a_direction_for_each_input_and_output() {
    for (attributes, expected) in [
        ("", Ok(vec![3])),
        (", scan_input_axes = [0], scan_output_directions = [1]", Ok(vec![3])),
        (", scan_input_axes = [0, 0]", Err("Scan.C7")),
        (", scan_input_directions = [0, 1]", Err("Scan.C7")),
        (", scan_input_directions = [2]", Err("Scan.C7")),
        (", scan_output_axes = [0, 1]", Err("Scan.C7")),
        (", scan_output_directions = [-1]", Err("Scan.C7")),
    ] {
        let graph = format!(
            "(float[3] s, float[n,3] x) => (y, z) {{ y, z = Scan<num_scan_inputs = 1{attributes}, body = b \
             (float[3] p, float[3] e) => (float[3] q, float[3] r) {{ q = Add(p, e) r = Identity(q) }}>(s, x) }}"
        );
        let found = evaluated(&graph, &[("s", &[3]), ("x", &[2, 3])]);
        assert_eq!(found, expected.map_err(str::to_owned), "{attributes}");
    }
}

#[test]
fn sizes_that_chance_decides_are_not_known_to_suit() {
    let squeezed = "q = Unique(r) a = Constant<value_ints = [0]>() y = Squeeze(q, a)";
    for (graph, is_known) in [
        (format!("(float[n] x) => (y) {{ r = RandomNormalLike(x) {squeezed} }}"), false),
        (format!("(float[n] x) => (y) {{ r = Relu(x) {squeezed} }}"), true),
        ("(float[n] x) => (y) { r = RandomNormalLike(x) y = Unique(r) }".to_owned(), true),
    ] {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\ng {graph}");
        let model = Model::read(text.into_bytes()).expect(&graph);
        let sizes = FxHashMap::from_iter([("x".to_owned(), vec![2])]);
        let found = evaluate_fully(&model, &sizes, &FxHashMap::default());
        assert_eq!(found.is_ok(), is_known, "{graph}");
        assert!(found.err().is_none_or(|refused| refused.is_unsupported), "{graph}");
    }
}

#[test]
fn nothing_is_said_of_a_row_of_which_the_rank_is_not_known() {
    let graph = "(float[2,2] w, float[2,2,n] x) => (y) { k = Constant<value_int = 0>() v, r = Loop(k, , w)<body = b \
                 (int64 i, bool c, float[] p) => (bool d, float[] o, float[] q) { d = Identity(c) o = Neg(p) q = Abs(p) }> \
                 s = Shape(r) y = Expand(x, s) }";
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\ng {graph}");
    let model = Model::read(text.into_bytes()).expect(graph);
    let sizes = [("w".to_owned(), vec![2, 2]), ("x".to_owned(), vec![2, 2, 1])];
    let found = evaluate(&model, &FxHashMap::from_iter(sizes), &FxHashMap::default());
    assert!(found.is_err_and(|refused| refused.is_unsupported));
}
