//! What bodies of control flow declare, and what onnxruntime makes of it.
use super::check;
use sizewise_check::report::Outcome as Verdict;
use sizewise_onnx_model::read::Model;

fn verdict(version: i64, graph: &str) -> Verdict {
    let text = format!("<ir_version: 8, opset_import: [\"\" : {version}]>\n{graph}");
    check(&Model::read(text.into_bytes()).expect(graph)).verdict
}

#[test]
fn graphs_make_the_types_that_they_declare() {
    let branch = |declared: &str| {
        format!(
            "g (float[b] x, bool c) => (y) {{ y = If(c)<then_branch = t () => (float[b] o) {{ o = Relu(x) }}, \
             else_branch = e () => ({declared} p) {{ p = Relu(x) }}> }}"
        )
    };
    let looped = |declared: &str| {
        format!(
            "g (float[n] x, int64 k) => (y) {{ y = Loop(k, , x)<body = b (int64 i, bool c, float[n] a) \
             => (bool c2, {declared} a2) {{ c2 = Identity(c) a2 = Add(a, x) }}> }}"
        )
    };
    let scanned = |declared: &str| {
        format!(
            "g (float[n] i, float[t, n] x) => (y) {{ y = Scan<num_scan_inputs = 1, body = b (float[n] a, float[n] e) \
             => ({declared} a2) {{ a2 = Add(a, e) }}>(i, x) }}"
        )
    };
    for (right, wrong) in [
        (branch("float[]"), branch("int64[]")),
        (looped("float[]"), looped("double[]")),
        (scanned("float[n]"), scanned("int64[n]")),
    ] {
        assert_eq!(verdict(15, &right), Verdict::Ok, "{right}");
        assert_ne!(verdict(15, &wrong), Verdict::Ok, "{wrong}");
    }
}

#[test]
fn states_of_scans_have_the_sizes_that_the_body_declares() {
    let scan = |size: &str, before: &str, after: &str| {
        format!(
            "g (float[{size}] i, float[t, {size}] x) => (y) {{ y = Scan<num_scan_inputs = 1, body = b \
             (float[{before}] a, float[{size}] e) => (float[{after}] a2) {{ a2 = Relu(a) }}>(i, x) }}"
        )
    };
    for (graph, expected) in [
        (scan("n", "n", "n"), Verdict::Ok),
        (scan("3", "3", "3"), Verdict::Ok),
        (scan("n", "3", "m"), Verdict::Violated),
        (scan("n", "m", "3"), Verdict::Violated),
        (scan("n", "n,1", "m"), Verdict::Violated),
    ] {
        assert_eq!(verdict(17, &graph), expected, "{graph}");
    }
}

#[test]
fn bodies_of_loops_are_inferred_with_the_numbers_that_they_declare() {
    let looped = |declared: &str| {
        format!(
            "g (float[n, 3] x, int64 k) => (y) {{ y = Loop(k, , x)<body = b (int64 i, bool c, float[n, {declared}] a) \
             => (bool c2, float[] a2) {{ c2 = Identity(c) a2 = Add(a, x) }}> }}"
        )
    };
    for (declared, expected) in [("3", Verdict::Ok), ("m", Verdict::Ok), ("4", Verdict::Unknown)] {
        assert_eq!(verdict(17, &looped(declared)), expected, "{declared}");
    }
}

#[test]
fn what_kernels_do_not_take_is_refused() {
    for (version, graph, expected) in [
        (
            16,
            "g (float[n,1,h] x, float[1,1,2] w) => (y) { y = Conv<auto_pad = \"SAME_UPPER\", dilations = [2]>(x, w) }",
            Verdict::Violated,
        ),
        (
            16,
            "g (float[n,1,h] x, float[1,1,2] w) => (y) { y = Conv<auto_pad = \"SAME_UPPER\", dilations = [1]>(x, w) }",
            Verdict::Ok,
        ),
        (
            18,
            "g (float[n,4] x) => (y) { s = Constant<value_ints = [3, 5]>() \
              y = Resize<mode = \"nearest\", antialias = 1>(x, , , s) }",
            Verdict::Violated,
        ),
        (
            18,
            "g (float[n,4] x) => (y) { s = Constant<value_ints = [3, 5]>() \
              y = Resize<mode = \"linear\", antialias = 1>(x, , , s) }",
            Verdict::Ok,
        ),
        (
            17,
            "g (float[n,1,3,5] x, float[1,1,2,2] w) => (y) { y = ConvTranspose<output_shape = [8, 3], strides = [3, 1]>(x, w) }",
            Verdict::Unknown,
        ),
        (
            17,
            "g (float[n,1,3,5] x, float[1,1,2,2] w) => (y) { y = ConvTranspose<output_shape = [8, 6], strides = [3, 1]>(x, w) }",
            Verdict::Ok,
        ),
        (
            18,
            "g (float[2] x) => (y) { k = Constant<value_ints = [-1]>() y = CenterCropPad<axes = [0]>(x, k) }",
            Verdict::Unknown,
        ),
        (12, "g (float16[n,4] x, float[4] s) => (y) { y = LayerNormalization(x, s) }", Verdict::Unknown),
        (12, "g (float[n,4] x, float[4] s) => (y) { y = LayerNormalization(x, s) }", Verdict::Ok),
        (
            16,
            "g (float[n,2,w] x) => (y) { y = AveragePool<kernel_shape = [2], strides = [3], ceil_mode = 1, \
              count_include_pad = 1, auto_pad = \"SAME_LOWER\">(x) }",
            Verdict::Ok,
        ),
        (
            16,
            "g (float[n,2,w] x) => (y) { y = AveragePool<kernel_shape = [2], strides = [3], ceil_mode = 1, \
              auto_pad = \"SAME_LOWER\">(x) }",
            Verdict::Violated,
        ),
        (
            16,
            "g (float[n,2,w] x) => (y) { y = AveragePool<kernel_shape = [2], strides = [3], \
              count_include_pad = 1, auto_pad = \"SAME_LOWER\">(x) }",
            Verdict::Violated,
        ),
    ] {
        assert_eq!(verdict(version, graph), expected, "{version} {graph}");
    }
}

/// A body stands for a kernel only in versions of `ai.onnx` whose operators it was written with.
#[test]
fn types_without_a_kernel_are_taken_where_a_body_runs() {
    for (op, dtype, of_version) in [
        ("LeakyRelu", "double", [(17, true), (18, true), (19, false)]),
        ("Elu", "double", [(17, false), (18, true), (19, false)]),
        ("Elu", "float16", [(17, true), (18, true), (22, true)]),
        ("MeanVarianceNormalization", "float16", [(13, false), (14, true), (18, false)]),
        ("ReduceLogSumExp", "uint32", [(17, false), (18, true), (19, false)]),
        ("HardSwish", "float", [(17, true), (18, true), (22, true)]),
    ] {
        for (version, runs) in of_version {
            let graph = format!("g ({dtype}[1, 2, n, 3] x) => (y) {{ y = {op}(x) }}");
            let expected = if runs { Verdict::Ok } else { Verdict::Violated };
            assert_eq!(verdict(version, &graph), expected, "{op} {dtype} {version}");
        }
    }
}

#[test]
fn old_branches_are_merged_by_what_is_inferred() {
    let graph = |axis: i64| {
        format!(
            "g (float[4, 1] x, bool c) => (y) {{ y = If(c)<then_branch = t () => (o) {{ o = Relu(x) }}, \
             else_branch = e () => (p) {{ p = Concat<axis = {axis}>(x, x) }}> }}"
        )
    };
    for (version, axis, is_refused) in [(10, 1, true), (10, -1, false), (11, 1, false), (11, -1, false)] {
        let found = verdict(version, &graph(axis));
        assert_eq!(found == Verdict::Violated, is_refused, "{version} {axis} {found:?}");
    }
}
