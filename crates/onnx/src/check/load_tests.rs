//! What onnxruntime refuses or takes by what it knows when it loads a model.
use super::said::{Said, is_on_sizes, lines, sizes};
use super::{check, evaluate};
use rustc_hash::FxHashMap;
use sizewise_check::report::{GuardReport, Outcome as Verdict};
use sizewise_onnx_model::read::Model;

fn verdict(graph: &str) -> Verdict {
    verdict_of(18, graph)
}

fn verdict_of(version: i64, graph: &str) -> Verdict {
    let text = format!("<ir_version: 8, opset_import: [\"\" : {version}]>\n{graph}");
    check(&Model::read(text.into_bytes()).expect(graph)).verdict
}

#[test]
fn images_are_interpolated_along_the_axes_that_are_scaled() {
    for (rank, mode, scales, expected) in [
        ("a,b,c", "cubic", "1.0, 2.0, 2.0", Verdict::Violated),
        ("a,b", "cubic", "2.0, 2.0", Verdict::Ok),
        ("a,b,c,d", "cubic", "1.0, 1.0, 2.0, 2.0", Verdict::Ok),
        ("a,b,c,d", "cubic", "1.0, 2.0, 2.0, 1.0", Verdict::Ok),
        ("a,b,c,d", "cubic", "2.0, 1.0, 2.0, 2.0", Verdict::Violated),
        ("a,b,c,d,e", "cubic", "1.0, 1.0, 1.0, 2.0, 2.0", Verdict::Violated),
        ("a", "linear", "2.0", Verdict::Violated),
        ("a,b,c", "linear", "1.0, 2.0, 2.0", Verdict::Ok),
        ("a,b,c,d", "linear", "1.0, 2.0, 2.0, 2.0", Verdict::Violated),
        ("a,b,c,d,e", "linear", "1.0, 1.0, 2.0, 2.0, 2.0", Verdict::Ok),
        ("a,b,c,d,e", "nearest", "2.0, 1.0, 2.0, 2.0, 2.0", Verdict::Ok),
    ] {
        let graph = format!(
            "g (float[{rank}] x) => (z) {{ s = Constant<value_floats = [{scales}]>() z = Resize<mode = \"{mode}\">(x, , s) }}"
        );
        assert_eq!(verdict(&graph), expected, "{graph}");
    }
    // Of sizes the scales are those that they make.
    for (axes, expected) in [("2, 3", Verdict::Ok), ("1, 3", Verdict::Violated)] {
        let graph = format!(
            "g (float[n,c,a,b] x) => (z) {{ s = Constant<value_ints = [7, 9]>() \
             z = Resize<mode = \"linear\", axes = [{axes}]>(x, , , s) }}"
        );
        assert_eq!(verdict(&graph), expected, "{graph}");
    }
}

#[test]
fn a_branch_that_declares_another_rank_than_is_inferred_runs() {
    let graph = "g (bool c, float[a,b] x) => (z) { z = If(c)<then_branch = t () => (float[2] p) { p = Relu(x) }, \
                 else_branch = e () => (float[a,b] q) { q = Identity(x) }> }";
    assert_eq!(verdict(graph), Verdict::Ok);
}

#[test]
fn axes_of_a_scalar_matter_where_its_rank_is_known_at_load() {
    let of = |input: &str| format!("g ({input}) => (z) {{ z = ReduceMax<axes = [0], keepdims = 0>(x) }}");
    assert_eq!(verdict_of(17, &of("float[a] x")), Verdict::Ok);
    assert_eq!(verdict_of(17, &of("float x")), Verdict::Violated);
    let graph = "g (float x) => (z) { q = SequenceConstruct(x) i = Constant<value_int = 0>() y = SequenceAt(q, i) \
                 z = ReduceMax<axes = [0], keepdims = 0>(y) }";
    assert_eq!(verdict_of(17, graph), Verdict::Unknown);
}

#[test]
fn statistics_of_each_place_are_not_followed() {
    let graph =
        "g (float[n,c,a] x, float[c,a] w) => (z) { z = BatchNormalization<spatial = 0>(x, w, w, w, w) }";
    assert_eq!(verdict_of(8, graph), Verdict::Unknown);
}

#[test]
fn fixes_declare_expressions_where_these_are_what_a_condition_asks_for() {
    let inputs = "float[b, past] p, float[b, q] n, float[b, t] m";
    let join = "c = Concat<axis = 1>(p, n)";
    for (graph, fix, rejects) in [
        (
            "g (float[4, h] x) => (z) { s = Constant<value_ints = [4, -1, 8]>() z = Reshape(x, s) }"
                .to_owned(),
            ("x", 1, "8*_h"),
            false,
        ),
        (
            format!("g ({inputs}) => (z) {{ {join} s = Shape(c) z = Reshape(m, s) }}"),
            ("m", 1, "past + q"),
            false,
        ),
        (format!("g ({inputs}) => (z) {{ {join} z = Add(c, m) }}"), ("m", 1, "past + q"), true),
    ] {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\n{graph}");
        let report = check(&Model::read(text.into_bytes()).expect("a model"));
        let (input, dim, size) = fix;
        let expected = vec![format!("declare {input}.shape[{dim}] as {size}")];
        let found = report.fixes.iter().find(|fix| fix.spec.is_none());
        let found = found.map(|fix| (lines(fix), fix.loses != Some(false)));
        assert_eq!(found, Some((expected, rejects)), "{graph}");
    }
}

#[test]
fn a_resize_loads_where_it_is_inferred_how_many_sizes_there_are() {
    for (inputs, sizes, expected) in [
        ("int64[2] d", "p = Identity(d)", true),
        (
            "int64[4] d",
            "z = Constant<value_ints = [0]>() t = Constant<value_ints = [2]>() p = Slice(d, z, t)",
            true,
        ),
        ("int64[4] d", "i = Constant<value_ints = [0, 1]>() p = Gather(d, i)", true),
        ("int64[k] d", "i = Constant<value_ints = [0, -1]>() p = Gather(d, i)", true),
        ("int64[2] d", "s = Shape(x) t = Constant<value_int = 2>() p = Mul(s, t)", true),
        ("int64[1,2] d", "t = Constant<value_ints = [-1]>() p = Reshape(d, t)", true),
        ("int64[k] d", "p = Identity(d)", false),
        ("int64[] d", "p = Identity(d)", false),
        ("int64[1] d", "q = SequenceConstruct(d, d) p = ConcatFromSequence<axis = 0>(q)", false),
        (
            "int64[4] d",
            "z = Constant<value_ints = [0]>() c = Constant<value_ints = [2]>() t = Identity(c) p = Slice(d, z, t)",
            false,
        ),
        ("int64[4] d, int64[1] t", "z = Constant<value_ints = [0]>() p = Slice(d, z, t)", false),
        ("int64[1,k] d", "t = Constant<value_ints = [-1]>() p = Reshape(d, t)", false),
    ] {
        let graph = format!(
            "g (float[n,m] x, {inputs}) => (z1) {{ {sizes} z1 = Resize<mode = \"nearest\">(x, , , p) }}"
        );
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\n{graph}");
        let report = check(&Model::read(text.into_bytes()).expect(&graph));
        let said = format!("{report:?}");
        let refusals =
            ["how many sizes there are", "number of sizes is not known", "the rank of its input 3"];
        assert_eq!(!refusals.iter().any(|refusal| said.contains(refusal)), expected, "{graph}");
    }
}

#[test]
fn counterexamples_have_small_sizes_where_small_ones_do() {
    let text = "<ir_version: 8, opset_import: [\"\" : 16]>
        g (float[batch, 4, t] x, float[batch, 4, t2] y) => (float[batch, 4, u] z) {
            p = AveragePool<kernel_shape = [2], strides = [2]>(y)
            z = Add(x, p)
        }";
    let report = check(&Model::read(text.as_bytes().to_vec()).expect("a model"));
    let are_small = |violation: &GuardReport| {
        ["x", "y"].iter().all(|input| sizes(violation, input).iter().all(|&size| size <= 16))
    };
    assert!(!report.violated().is_empty());
    assert!(report.violated().into_iter().all(are_small), "{report:?}");
}

#[test]
fn tables_of_positions_have_a_row_for_each_position() {
    let head = "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\ng";
    let embedding =
        "(int32[batch, seq] i, float[9, 4] w, float[24, 4] p, float[4] c) => (float[batch, seq, 4] y)
         { y, m = com.microsoft.EmbedLayerNormalization(i, , w, p, , c, c) }";
    let rotated = "(float[batch, 1, 32] q, float[batch, 1, 16] k, float[batch, 1, past, 16] c, float[12, 8] t) \
         => (float[batch, 1, 32] y) <int32[1] one = {1}> {
            s = Shape<start = 0, end = 1>(q)
            p = Shape<start = 2, end = 3>(c)
            p32 = Cast<to = 6>(p)
            total = Add(p32, one)
            lengths = Expand(p32, s)
            y, a, b = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 1, do_rotary = 1>(q, k, k, c, c, lengths, total, t, t)
         }";
    for (graph, sizes, most, at) in [
        (
            embedding,
            vec![("i", vec![2, 1]), ("w", vec![9, 4]), ("p", vec![24, 4]), ("c", vec![4])],
            24,
            (0, 1),
        ),
        (
            rotated,
            vec![("q", vec![2, 1, 32]), ("k", vec![2, 1, 16]), ("c", vec![2, 1, 1, 16]), ("t", vec![12, 8])],
            11,
            (2, 2),
        ),
    ] {
        let model = Model::read(format!("{head} {graph}").into_bytes()).expect(graph);
        let report = check(&model);
        assert_eq!(report.verdict, Verdict::Violated, "{graph}");
        assert!(report.violated().into_iter().all(is_on_sizes), "{report:?}");
        // Rotation needs both tables.
        for left in [")", ", t)"].into_iter().filter(|_| graph.contains(", t, t)")) {
            let without = graph.replace(", t, t)", left);
            let model = Model::read(format!("{head} {without}").into_bytes()).expect(&without);
            let report = check(&model);
            let is_refused =
                |violation: &GuardReport| violation.clause.as_ref().is_some_and(|code| code.ends_with(".C7"));
            assert!(report.violated().into_iter().any(is_refused), "{report:?}");
        }
        for size in [1, most, most + 1] {
            let mut sizes = sizes.clone();
            sizes[at.0].1[at.1] = size;
            let sizes = sizes.into_iter().map(|(name, sizes)| (name.to_owned(), sizes)).collect();
            let found = evaluate(&model, &sizes, &FxHashMap::default());
            assert_eq!(found.is_ok(), size <= most, "{graph} at {size}: {found:?}");
        }
    }
}

#[test]
fn updates_of_a_cache_fit_from_where_they_are_written() {
    for (mode, index, expected) in
        [("linear", 2, true), ("linear", 3, false), ("circular", 3, true), ("circular", -1, false)]
    {
        let text = format!(
            "<ir_version: 11, opset_import: [\"\" : 24]>
             g (float[b, 2, p, 8] c, float[b, 2, s, 8] u) => (float[b, 2, p, 8] y) <int64[2] w = {{{index}, 0}}>
             {{ y = TensorScatter<axis = 2, mode = \"{mode}\">(c, u, w) }}"
        );
        let model = Model::read(text.into_bytes()).expect(mode);
        let sizes = [("c".to_owned(), vec![2, 2, 4, 8]), ("u".to_owned(), vec![2, 2, 2, 8])];
        let found = evaluate(&model, &sizes.into_iter().collect(), &FxHashMap::default());
        assert_eq!(found.is_ok(), expected, "{mode} from {index} on: {found:?}");
    }
}

#[test]
fn graphs_within_nodes_are_as_onnxruntime_takes_them() {
    let scan = |body: &str, outputs: &str| {
        format!(
            "(float[n, m] x) => (float[a, b] y) {{ {outputs} = Scan<num_scan_inputs = 1, body = b {body}>(x) }}"
        )
    };
    for (graph, expected) in [
        (scan("(float[m] v) => (float[m] w) { w = Neg(v) }", "y"), Verdict::Ok),
        // What a round makes is written in its place.
        (scan("(float[m] v) => (float[m] v) { u = Neg(v) }", "y"), Verdict::Violated),
        (scan("(float[m] v) => (float[m] w, float[m] w) { w = Neg(v) }", "y, z"), Verdict::Violated),
        // A row is of the size that is declared as a number.
        (scan("(float[m] v) => (float[4] w) { w = Neg(v) }", "y"), Verdict::Violated),
        // What is returned is made within.
        (scan("(float[m] v) => (float[n, m] x) { w = Neg(v) }", "y"), Verdict::Violated),
        ("(bool c, float[n, m] x) => (float[n, m] y) { y = If<then_branch = t () => (float[n, m] x) { }, \
          else_branch = e () => (float[n, m] z) { z = Neg(x) }>(c) }".to_owned(), Verdict::Violated),
        // Conditions and numbers of rounds of which the rank is not known may have more than one element.
        ("(bool[] c, float[n, m] x) => (float[n, m] y) { y = If<then_branch = t () => (float[n, m] w) { w = Abs(x) }, \
          else_branch = e () => (float[n, m] z) { z = Neg(x) }>(c) }".to_owned(), Verdict::Unknown),
        ("(int64 k, float[n, m] x) => (float[n, m] y) { y = Loop<body = b (int64 i, bool g, float[n, m] p) => \
          (bool h, float[n, m] q) { h = Identity(g) q = Neg(p) }>(k, , x) }".to_owned(), Verdict::Ok),
        ("(int64 k) => (float[n] y) { y = Loop<body = b (int64 i, bool g) => \
          (bool h, float q) { h = Identity(g) q = Constant<value_float = 1.0>() }>(k) }".to_owned(), Verdict::Violated),
        ("(float[n, m] x, int64[1, 1] k) => (float[n, m] y) { y = Trilu(x, k) }".to_owned(), Verdict::Violated),
    ] {
        assert_eq!(verdict(&format!("g {graph}")), expected, "{graph}");
    }
    let unsorted = "g (float[n, m] x) => (float[n, m] y) { y = Scan<num_scan_inputs = 1, body = b (float[m] v) => (float[m] w) \
                    { w = Neg(u) u = Abs(v) }>(x) }";
    let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\n{unsorted}");
    let error = Model::read(text.into_bytes()).expect_err("not sorted").to_string();
    assert_eq!(error, "node of `w` (Neg): it uses what node of `u` (Abs) makes, which comes later");
}

#[test]
fn constants_of_random_numbers_and_of_dropping_are_checked() {
    let dropout = |ratio: &str, drops: i32| {
        format!(
            "(float[n] x) => (float[n] y) <float r = {{{ratio}}}, bool t = {{{drops}}}> {{ y, m = Dropout(x, r, t) }}"
        )
    };
    let random = |of: &str| format!("(float[n] x) => (float[n] y) {{ y = {of}(x) }}");
    for (graph, expected) in [
        (dropout("0.5", 1), Verdict::Ok),
        (dropout("1.5", 1), Verdict::Violated),
        (dropout("-0.5", 1), Verdict::Violated),
        (dropout("1.5", 0), Verdict::Violated),
        (random("RandomUniformLike<low = 2.0, high = 3.0>"), Verdict::Ok),
        (random("RandomUniformLike<low = 2.0, high = 1.0>"), Verdict::Violated),
        (random("RandomNormalLike<scale = -1.0>"), Verdict::Violated),
    ] {
        assert_eq!(verdict(&format!("g {graph}")), expected, "{graph}");
    }
}

#[test]
fn ranks_that_branches_and_loops_make_are_known_at_load_only_if_they_are_inferred() {
    let inputs = "float[2,n] x, float[2,n] w, float[3,2,n] y, bool i";
    let scan = "v = Scan<num_scan_inputs = 1, body = s (float[] l) => (float[] m) { m = Relu(l) }>";
    let branches = |of: &str| {
        format!(
            "c = Constant<value = bool {{1}}>() q = If(c)<then_branch = t () => (float[] o) {{ o = Relu(x) }}, \
             else_branch = e () => (float[] p) {{ p = Relu({of}) }}>"
        )
    };
    let declared =
        branches("y").replace("(float[] o)", "(float[a,b] o)").replace("(float[] p)", "(float[a,b] p)");
    let within = format!(
        "v = Scan<num_scan_inputs = 1, body = s (float[] x) => (float[] m) {{ {} m = Neg(q) }}>(w)",
        branches("y")
    );
    let carried = "k = Constant<value_int = 2>() q = Loop(k, , x)<body = b (int64 i, bool g, float[] r) => \
                   (bool h, float[] o) { h = Identity(g) s = Constant<value_ints = [2, 3]>() o = ConstantOfShape(s) }>";
    for (outputs, body, expected) in [
        ("(v)", format!("{} {scan}(q)", branches("w")), Verdict::Ok),
        ("(v)", format!("{} {scan}(q)", branches("y")), Verdict::Unknown),
        // What is inferred counts, not what a branch declares.
        ("(v)", format!("{declared} {scan}(q)"), Verdict::Unknown),
        // What is not inferred is as the model states.
        ("(v) <float[a,b] q>", format!("{} {scan}(q)", branches("y")), Verdict::Ok),
        ("(v) <float[a,b,d] q>", format!("{} {scan}(q)", branches("y")), Verdict::Unknown),
        ("(v, float[a,b] q)", format!("{} {scan}(q)", branches("y")), Verdict::Ok),
        ("(v)", within.replace("Relu(y)", "Relu(x)"), Verdict::Ok),
        ("(v)", within, Verdict::Unknown),
        ("(v)", format!("{carried} {scan}(q)"), Verdict::Unknown),
        (
            "(v)",
            format!(
                "{} {scan}(q)",
                branches("w").replace("(float[] p)", "(float[a] p)").replace("If(c)", "If(i)")
            ),
            Verdict::Unknown,
        ),
        // Where the model or a graph states another rank than is inferred, none is known.
        ("(v) <float[a,b] q>", format!("q = Relu(x) {scan}(q)"), Verdict::Ok),
        ("(v) <float[a] q>", format!("q = Relu(x) {scan}(q)"), Verdict::Unknown),
        ("(v)", format!("{scan}(x)").replace("(float[] m)", "(float[a,b] m)"), Verdict::Unknown),
        (
            "(v)",
            format!("{} {scan}(q)", branches("w").replace("(float[] p)", "(float[a] p)")),
            Verdict::Unknown,
        ),
        (
            "(v)",
            format!("a = Constant<value_ints = [0]>() u = Unsqueeze(x, a) q = Squeeze(u, a) {scan}(q)"),
            Verdict::Ok,
        ),
        (
            "(v)",
            format!("a = Constant<value_ints = [0]>() u = Unsqueeze(x, a) q = Squeeze(u) {scan}(q)"),
            Verdict::Unknown,
        ),
    ] {
        let graph = format!("g ({inputs}) => {outputs} {{ {body} }}");
        assert_eq!(verdict(&graph), expected, "{graph}");
    }
}

#[test]
fn graphs_that_never_run_are_to_load() {
    let branch = |body: &str| {
        format!(
            "c = Constant<value = bool {{1}}>() v = If(c)<then_branch = t () => (float[] o) {{ o = Relu(x) }}, \
             else_branch = e () => (float[] p) {{ {body} }}>"
        )
    };
    for (body, expected) in [
        (branch("p = Neg(x)"), Verdict::Ok),
        // Sizes that are not numbers are not compared when a model loads.
        (branch("p = Add(x, z)"), Verdict::Ok),
        // Whether a refusal is one when the model loads is not always known.
        (branch("p = Add(x, y)"), Verdict::Unknown),
        (branch("p = Concat<axis = 5>(x, x)"), Verdict::Unknown),
        (branch("p = Conv(x, y)"), Verdict::Unknown),
        // 2n elements in rows of 3n: no size fits, though only a number that is known at load is refused there.
        (branch("r = Constant<value_ints = [3, 0, -1]>() p = Reshape(x, r)"), Verdict::Unknown),
        (branch("r = Constant<value_ints = [1, 0, -1]>() p = Reshape(x, r)"), Verdict::Ok),
        (branch("p = Unheard(x)"), Verdict::Unknown),
        (branch("p = Add(x, i)"), Verdict::Violated),
        (branch("p = Identity(i)"), Verdict::Violated),
        (branch("p = Neg(x) u = Concat(x)"), Verdict::Violated),
        (
            branch(
                "p = If(c)<then_branch = r () => (float[] a) { a = Neg(x) }, \
                    else_branch = s () => (float[] b) { b = Add(x, y) }>",
            ),
            Verdict::Unknown,
        ),
        (
            "k = Constant<value_int = 0>() v = Loop(k, , x)<body = b (int64 t, bool g, float[] r) => \
             (bool h, float[] o) { h = Identity(g) o = Add(x, y) }>"
                .to_owned(),
            Verdict::Unknown,
        ),
    ] {
        let graph = format!("g (float[2,n] x, float[4,n] y, float[m,n] z, int64[2,n] i) => (v) {{ {body} }}");
        assert_eq!(verdict(&graph), expected, "{graph}");
    }
}

#[test]
fn control_flow_asks_for_element_types() {
    let looped = |counts: &str, body: &str, made: &str| {
        format!(
            "g ({counts} m, float[3] y) => (z) {{ z = Loop(m, , y)<body = b ({body}) => (bool k1, a1) \
             {{ k1 = Identity(k) a1 = {made} }}> }}"
        )
    };
    let scanned = |state: &str, made: &str| {
        format!(
            "g (float[2] s, float[4, 3] y) => (z) {{ z, q = Scan<num_scan_inputs = 1, body = b \
             ({state} a, float[3] e) => (a1, e1) {{ a1 = {made} e1 = Neg(e) }}>(s, y) }}"
        )
    };
    let chosen = |condition: &str, second: &str| {
        format!(
            "g ({condition} c, float[2] x) => (z) {{ z = If(c)<then_branch = t () => (p) {{ p = Neg(x) }}, \
             else_branch = e () => (q) {{ q = {second} }}> }}"
        )
    };
    let body = "int64 i, bool k, float[3] a";
    for (graph, expected) in [
        (looped("int64", body, "Neg(a)"), Verdict::Ok),
        (looped("int32", body, "Neg(a)"), Verdict::Violated),
        (looped("int64", "int32 i, bool k, float[3] a", "Neg(a)"), Verdict::Violated),
        (looped("int64", "int64 i, bool k, int64[3] a", "Neg(a)"), Verdict::Violated),
        (scanned("float[2]", "Neg(a)"), Verdict::Ok),
        (scanned("int64[2]", "Neg(a)"), Verdict::Violated),
        (scanned("float[2]", "Cast<to = 7>(a)"), Verdict::Violated),
        (chosen("bool[1]", "Abs(x)"), Verdict::Ok),
        (chosen("int64[1]", "Abs(x)"), Verdict::Violated),
        (chosen("bool[1]", "Cast<to = 7>(x)"), Verdict::Violated),
    ] {
        assert_eq!(verdict_of(17, &graph), expected, "{graph}");
    }
}

#[test]
fn a_state_of_one_slice_may_change_its_size() {
    let graph = "g (float[k] s, float[n] x) => (z) { i = Constant<value_ints = [0, 0]>() \
                 z, q = Scan<num_scan_inputs = 1, body = b (float[] a, float[] e) => (float[] a1, float[] e1) \
                 { e1 = Identity(e) a1 = Gather(a, i) }>(s, x) }";
    let text = format!("<ir_version: 8, opset_import: [\"\" : 17]>\n{graph}");
    let model = Model::read(text.into_bytes()).expect(graph);
    for (state, slices, expected) in [(5, 1, Some(2)), (2, 3, Some(2)), (5, 3, None)] {
        let sizes = [("s".to_owned(), vec![state]), ("x".to_owned(), vec![slices])].into_iter().collect();
        let found = evaluate(&model, &sizes, &FxHashMap::default()).ok();
        let made = found.and_then(|found| found.outputs[0].clone());
        assert_eq!(made, expected.map(|size| vec![super::ShownSize::Number(size)]), "{state} {slices}");
    }
}

#[test]
fn what_is_inferred_otherwise_than_it_is_made_is_not_known_to_run() {
    let reversed = |ends: &str| {
        format!(
            "g (float[n, 4] x) => (z) {{ s = Constant<value_ints = [-1]>() e = Constant<value_ints = [{ends}]>() \
             a = Constant<value_ints = [1]>() v = Slice(x, s, e, a, s) z = Neg(v) }}"
        )
    };
    let pooled = |attributes: &str, size: &str| {
        format!("g (float[1, 1, {size}] x) => (z) {{ z = MaxPool<{attributes}, ceil_mode = 1>(x) }}")
    };
    let einsum = |a, b| {
        format!(
            "g (float[n, {a}] x, float[n, {b}] y) => (z) {{ z = Einsum<equation = \"nc,nc->nc\">(x, y) }}"
        )
    };
    let greatest =
        |rows| format!("g (float[n, {rows}, 3] x) => (z) {{ z = ReduceMax<axes = [-3], keepdims = 0>(x) }}");
    let part = "s = Constant<value_ints = [0]>() e = Constant<value_ints = [1]>() v = Slice(x, s, e, s)";
    for (version, graph, expected) in [
        (10, "g (float[2, 1, 2] x) => (v) { v = Squeeze<axes = [-2]>(x) }".to_owned(), Verdict::Unknown),
        (10, "g (float[2, 1, 2] x) => (v) { v = Squeeze<axes = [1]>(x) }".to_owned(), Verdict::Ok),
        (11, "g (float[2, 1, 2] x) => (v) { v = Squeeze<axes = [-2]>(x) }".to_owned(), Verdict::Ok),
        (10, format!("g (float[n, 5] x) => (v) {{ {part} }}"), Verdict::Unknown),
        (11, format!("g (float[n, 5] x) => (v) {{ {part} }}"), Verdict::Ok),
        (16, reversed("9223372036854775807"), Verdict::Unknown),
        (16, reversed("-9223372036854775807"), Verdict::Ok),
        (17, pooled("kernel_shape = [1], strides = [2]", "6"), Verdict::Unknown),
        (17, pooled("kernel_shape = [1], strides = [2]", "7"), Verdict::Ok),
        (17, pooled("kernel_shape = [2], strides = [2], pads = [1, 1]", "13"), Verdict::Unknown),
        (17, pooled("kernel_shape = [3], strides = [2]", "8"), Verdict::Ok),
        (17, "g (bool x) => (z) { z = NonZero(x) }".to_owned(), Verdict::Unknown),
        (17, pooled("kernel_shape = [3], dilations = [2], auto_pad = \"SAME_UPPER\"", "6"), Verdict::Unknown),
        (
            17,
            pooled("kernel_shape = [3], dilations = [2], auto_pad = \"SAME_UPPER\"", "n"),
            Verdict::Violated,
        ),
        (17, pooled("kernel_shape = [3], strides = [2], auto_pad = \"SAME_UPPER\"", "6"), Verdict::Ok),
        (18, einsum(1, 3), Verdict::Unknown),
        (18, einsum(3, 1), Verdict::Ok),
        (17, greatest(0), Verdict::Unknown),
        (17, greatest(2), Verdict::Ok),
    ] {
        assert_eq!(verdict_of(version, &graph), expected, "{version} {graph}");
    }
}

#[test]
fn scans_need_the_ranks_of_states_that_are_made() {
    let scan = |before: &str, state: &str| {
        format!(
            "g (float[4, m] x) => (z, q) {{ {before} z, q = Scan<num_scan_inputs = 1, body = b (float[] a, float[] e) \
             => (float[] a1, int64[] e1) {{ a1 = {state} e1 = Shape(e) }}>(t, x) }}"
        )
    };
    let transposed = scan("r = ReduceMax<keepdims = 0>(x) t = Transpose(r)", "Identity(a)");
    let looped = "g (float[1, 2, 2] x) => (y, r) <int64[1] m = {0}, int64[1] o = {-2}> { w = Loop(m, , o)<body = l \
                  (int64 i, bool k, int64[] a) => (bool k1, int64[] a1) { a1 = Concat<axis = 0>(a, a) k1 = Identity(k) }> \
                  y, r = Scan<num_scan_inputs = 1, body = c (float[] s, float[] e) => (float[] s1, int64[] q) \
                  { q, p = Split<axis = 0, split = [1, 0]>(w) s1 = Identity(s) }>(x, x) }"
        .to_owned();
    for (version, graph, expected) in
        [(10, &transposed, Verdict::Unknown), (13, &transposed, Verdict::Ok), (10, &looped, Verdict::Unknown)]
    {
        assert_eq!(verdict_of(version, graph), expected, "{version} {graph}");
    }
}
