//! Parts of models that people use every day, as exporters write them.
use super::said::{Said, lines};
use super::{Verdict, check, evaluate_fully};
use rustc_hash::FxHashMap;
use sizewise_check::report::{GuardVerdict, Report};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::{Dimension, TypeValue};

fn model(opset: i64, graph: &str) -> Model {
    let text = format!("<ir_version: 8, opset_import: [\"\" : {opset}]>\ng {graph}");
    Model::read(text.into_bytes()).expect(graph)
}

fn checked(opset: i64, graph: &str) -> Report {
    check(&model(opset, graph))
}

/// The first output of a model at sizes of its first input, or `None` where it refuses them or that is not known.
fn output(graph: &str, sizes: &[(&str, &[i64])]) -> Option<Vec<i64>> {
    let sizes = sizes.iter().map(|(name, sizes)| ((*name).to_owned(), sizes.to_vec())).collect();
    let made = evaluate_fully(&model(17, graph), &sizes, &FxHashMap::default()).ok()?;
    made.outputs.into_iter().next()??.iter().map(super::ShownSize::number).collect()
}

/// A U-Net's way up: what a transposed convolution makes is scaled to the size of what came down.
fn way_up(attributes: &str, kernel: &str) -> String {
    format!(
        "(float[b, 8, h, w] x, float[b, 8, p, q] v, {kernel} k) => (float[b, 8, h, w] y) \
         <int64[1] z = {{0}}, int64[1] two = {{2}}, int64[1] four = {{4}}> {{ \
         u = ConvTranspose<strides = [2, 2]{attributes}>(v, k) su = Shape(u) nc = Slice(su, z, two, z) \
         sx = Shape(x) hw = Slice(sx, two, four, z) s = Concat<axis = 0>(nc, hw) \
         y = Resize<mode = \"linear\">(u, , , s) }}"
    )
}

#[test]
fn sizes_behind_a_transposed_convolution_are_counted_where_its_kernel_is_known() {
    let (sized, open) = ("float[8, 8, 2, 2]", "float[8, 8, k0, k1]");
    for (opset, attributes, kernel, verdict) in [
        (17, "", sized, Verdict::Ok),
        (17, ", kernel_shape = [2, 2]", sized, Verdict::Ok),
        (17, ", auto_pad = \"SAME_UPPER\"", sized, Verdict::Ok),
        // onnxruntime infers nothing of these.
        (17, "", open, Verdict::Unknown),
        (17, ", output_shape = [9, 9]", sized, Verdict::Unknown),
    ] {
        let found = checked(opset, &way_up(attributes, kernel));
        // A stated size is one that the padding has to make.
        let is_right =
            found.verdict == verdict || verdict == Verdict::Unknown && found.verdict != Verdict::Ok;
        assert!(
            is_right,
            "{opset} {attributes} {kernel}: {:?} {:?}",
            found.with(GuardVerdict::Unknown),
            found.unsupported
        );
    }
    let sizes: [(&str, &[i64]); 3] = [("x", &[1, 8, 9, 7]), ("v", &[1, 8, 4, 3]), ("k", &[8, 8, 2, 2])];
    assert_eq!(output(&way_up("", sized), &sizes), Some(vec![1, 8, 9, 7]));
}

/// A squeeze by size, as TorchScript writes it, with these declarations of what its branches make.
fn squeezed([then, other]: [&str; 2]) -> String {
    format!(
        "(float[N, 1, 128] x) => (float[N, 128] y) <int64 n = {{1}}, int64[1] ax = {{1}}> {{ \
         s = Shape(x) d = Gather<axis = 0>(s, n) c = Equal(d, n) \
         y = If<then_branch = t () => ({then} a) {{ a = Squeeze(x, ax) }}, \
         else_branch = e () => ({other} b) {{ b = Identity(x) }}>(c) }}"
    )
}

#[test]
fn a_branch_that_declares_a_part_of_its_sizes_is_held_to_no_others_than_it_has() {
    for declared in [
        ["float[m, 128]", "float[m, 128, k]"],
        ["float[m, 128]", "float[m, 1, 128]"],
        ["float[m, k]", "float"],
        ["float", "float"],
        // What is inferred of it counts.
        ["float[m, 64]", "float[m, 64, k]"],
    ] {
        let graph = squeezed(declared);
        let found = checked(17, &graph);
        assert_eq!(found.verdict, Verdict::Ok, "{declared:?}: {:?}", found.unsupported);
        assert_eq!(output(&graph, &[("x", &[3, 1, 128])]), Some(vec![3, 128]), "{declared:?}");
    }
}

#[test]
fn sizes_that_are_counted_in_floats_are_followed() {
    // The end of the range, its start and its step, and how many it has at 7 columns.
    for (size, [start, step], count) in [
        ("f = Cast<to = 1>(d)", ["0.0", "1.0"], 7),
        ("f = Cast<to = 11>(d)", ["0.0", "1.0"], 7),
        ("f = Cast<to = 1>(d)", ["2.0", "2.0"], 3),
        ("i = Cast<to = 1>(d) two = Constant<value_float = 2.0>() f = Mul(i, two)", ["0.0", "2.0"], 7),
        ("i = Cast<to = 1>(d) two = Constant<value_float = 2.0>() f = Div(i, two)", ["0.0", "1.0"], 4),
        (
            "i = Cast<to = 1>(d) half = Constant<value_float = 0.5>() g = Mul(half, i) f = Floor(g)",
            ["0.0", "1.0"],
            3,
        ),
        (
            "i = Cast<to = 1>(d) c = Constant<value_float = 3.0>() g = Div(i, c) f = Ceil(g)",
            ["0.0", "1.0"],
            3,
        ),
    ] {
        let kind = if size.contains("to = 11") { 11 } else { 1 };
        let graph = format!(
            "(float[N, w] x) => (y) <int64 one = {{1}}> {{ s = Shape(x) d = Gather<axis = 0>(s, one) {size} \
             a = Constant<value_float = {start}>() b = Constant<value_float = {step}>() \
             from = Cast<to = {kind}>(a) by = Cast<to = {kind}>(b) y = Range(from, f, by) }}"
        );
        let found = checked(17, &graph);
        assert_eq!(
            found.verdict,
            Verdict::Ok,
            "{size}: {:?} {:?}",
            found.with(GuardVerdict::Unknown),
            found.unsupported
        );
        assert_eq!(output(&graph, &[("x", &[2, 7])]), Some(vec![count]), "{size}");
    }
    // Anchors as detectors make them: positions as long as the image is wide, beside its columns.
    let anchors = "(float[N, w] x) => (float[N, w] y) <int64 one = {1}, float zero = {0}, float by = {1}, \
                   float half = {0.5}> { s = Shape(x) d = Gather<axis = 0>(s, one) f = Cast<to = 1>(d) \
                   r = Range(zero, f, by) p = Add(r, half) y = Add(x, p) }";
    let found = checked(17, anchors);
    assert_eq!(found.verdict, Verdict::Ok, "{:?} {:?}", found.with(GuardVerdict::Unknown), found.unsupported);
    let note = found.diagnostics.iter().find(|note| note.code == "sizes-in-floats").expect("a note");
    assert!(note.message.starts_with("assumed: `w <= 16777216`;"), "{note:?}");
}

#[test]
fn floats_that_round_are_not_followed() {
    for size in [
        // A third is no float, nor are 16 bits enough.
        "i = Cast<to = 1>(d) c = Constant<value_float = 0.3>() f = Mul(i, c)",
        "h = Cast<to = 10>(d) f = Cast<to = 1>(h)",
        "i = Cast<to = 1>(d) f = Sqrt(i)",
    ] {
        let graph = format!(
            "(float[N, w] x) => (y) <int64 one = {{1}}, float zero = {{0}}, float by = {{1}}> {{ \
             s = Shape(x) d = Gather<axis = 0>(s, one) {size} y = Range(zero, f, by) }}"
        );
        assert_eq!(checked(17, &graph).verdict, Verdict::Unknown, "{size}");
    }
}

/// Rows of four of what is left of a length without its rest; a size of 0 stands for the one of the input at its place.
fn rows_of_4(given: &str, to: &str) -> String {
    format!(
        "(float[b, t] x) => (y) <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] four = {{4}}> {{ \
         s = Shape(x) b0 = Gather<axis = 0>(s, zero) t0 = Gather<axis = 0>(s, one) n = Div(t0, four) \
         e = Mul(n, four) c = Slice(x, zero, e, one) {given} to = Concat<axis = 0>({to}) y = Reshape(r, to) }}"
    )
}

#[test]
fn a_size_of_0_may_stand_for_0() {
    for (given, to, verdict, at_3) in [
        ("r = Identity(c)", "b0, n, four", Verdict::Ok, Some(vec![5, 0, 4])),
        // Here it stands for the batch, and there for none.
        ("r = Identity(c)", "n, b0, four", Verdict::Violated, None),
        ("r = Identity(c)", "b0, four, n", Verdict::Violated, None),
    ] {
        let graph = rows_of_4(given, to);
        let found = checked(17, &graph);
        let open = found.verdict == Verdict::Unknown && verdict == Verdict::Violated;
        assert!(found.verdict == verdict || open, "{to}: {:?}", found.guards);
        assert_eq!(output(&graph, &[("x", &[5, 3])]), at_3, "{to}");
        assert!(output(&graph, &[("x", &[5, 9])]).is_some(), "{to}");
    }
}

#[test]
fn indices_are_left_to_run_time_where_0_is_one() {
    for graph in [
        "(float[nodes, 4] x, int64[edges] i) => (float[edges, 4] y) { y = Gather<axis = 0>(x, i) }",
        "(float[nodes, 4] x, int64[edges, 1] i) => (float[edges, 4] y) { y = GatherND(x, i) }",
        "(float[nodes, 4] x, int64[edges, 4] i) => (float[edges, 4] y) { y = GatherElements<axis = 0>(x, i) }",
    ] {
        let found = checked(17, graph);
        assert_eq!(
            (found.verdict, found.runtime_asserts.len()),
            (Verdict::Ok, 1),
            "{graph}: {:?}",
            found.with(GuardVerdict::Unknown)
        );
    }
    // No index lies within rows that may be none.
    let none = "(float[nodes, 4] x, int64[edges] i) => (float[edges, 4] y) <int64[1] z = {0}> \
                { r = Slice(x, z, z) y = Gather<axis = 0>(r, i) }";
    assert_ne!(checked(17, none).verdict, Verdict::Ok);
}

#[test]
fn sizes_without_a_name_become_multiples_each_of_its_own() {
    for names in ["D.1, D.2", "?, ?", "height, D.2"] {
        let text = format!(
            "(float[1, 3, {names}] x) => (y) <float[4] s = {{1, 1, 2, 2}}> {{ p = MaxPool<kernel_shape = [2, 2], \
             strides = [2, 2]>(x) u = Resize<mode = \"nearest\">(p, , s) y = Add(x, u) }}"
        );
        let model = quoted(&text);
        let found = check(&model);
        let fix = found.fixes.iter().find(|fix| !fix.declarations.is_empty()).expect(names);
        let inputs = fix.declarations.iter().zip(lines(fix)).filter(|(json, _)| json.get("input").is_some());
        let sizes: Vec<String> =
            inputs.filter_map(|(_, line)| Some(line.split_once(" as ")?.1.to_owned())).collect();
        assert!(fix.proved && sizes.len() == 2 && sizes[0] != sizes[1], "{names}: {sizes:?}");
    }
}

/// A model whose names of sizes are no identifiers, with dots in them.
fn quoted(graph: &str) -> Model {
    let mut model = model(17, &graph.replace("D.", "D_"));
    for value in &mut model.graph.input {
        let Some(TypeValue::Tensor(tensor)) = value.r#type.as_mut().and_then(|kind| kind.value.as_mut())
        else {
            continue;
        };
        for dim in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim) {
            if let Some(Dimension::Name(name)) = &mut dim.value {
                *name = name.replace('_', ".");
            }
        }
    }
    model
}

#[test]
fn a_size_is_not_pinned_where_a_range_of_it_is_enough() {
    let found =
        checked(17, "(float[1, 3, h, w] x, float[4, 3, 9, 9] k) => (float[1, 4, a, b] y) { y = Conv(x, k) }");
    let specs = found.fixes.iter().filter(|fix| fix.spec.is_some()).count();
    assert_eq!((found.fixes.len(), specs), (1, 1), "{:?}", found.fixes);
}

#[test]
fn a_branch_by_size_that_changes_the_rank_is_the_one_that_the_example_takes() {
    // A squeeze of the last dimension where it is 1, before what wants one rank.
    let graph = "(float[N, 8, w] x, float[1, 16, 8] k, float[1, 16, 4] r) => (y) \
                 <int64 two = {2}, int64 n = {1}> { p = MaxPool<kernel_shape = [64], strides = [64]>(x) s = Shape(p) \
                 d = Gather<axis = 0>(s, two) c = Equal(d, n) \
                 f = If<then_branch = t () => (a) <int64[1] ax = {2}> { a = Squeeze(p, ax) }, \
                 else_branch = e () => (b) { b = Identity(p) }>(c) \
                 z = Constant<value_ints = [0]>() u = Unsqueeze(f, z) y = LSTM<hidden_size = 4>(u, k, r) }";
    let found = checked(17, graph);
    assert_eq!(found.verdict, Verdict::Violated, "{:?}", found.with(GuardVerdict::Unknown));
    let fix = found.fixes.iter().find_map(|fix| fix.spec.as_ref().filter(|_| fix.proved)).expect("a spec");
    let width = &fix["x"][2];
    assert_eq!((width["min"].as_i64(), width["max"].as_i64()), (Some(1), Some(127)), "{fix}");
}
