//! Calls at which the law was broken once, each named after what was wrong.
use super::law::{Call, check};
use serde_json::{Map, Value as Json, json};
use sizewise::kernels::Operators;

/// Checks a call, given by its arguments, at its hints and at other points.
fn holds(op: &str, args: Json, hints: &[i64], points: &[&[i64]]) {
    let args = args.as_array().expect("a list").clone();
    let call = Call { op: op.into(), args, kwargs: Map::new(), hints: hints.to_vec() };
    let points: Vec<Vec<i64>> = points.iter().map(|p| p.to_vec()).collect();
    let counts = check(&Operators::new(), &call, &points);
    assert!(counts.as_ref().is_ok_and(|c| c.inferences > 0), "{counts:?}");
}

fn tensor(dtype: &str, shape: Json) -> Json {
    json!({"tensor": {"dtype": dtype, "shape": shape}})
}

#[test]
fn a_size_whose_hint_is_1_is_broadcast_with_a_stride_of_0() {
    let args = json!([tensor("uint8", json!(["s0", "s1"])), tensor("uint8", json!(["s2"]))]);
    holds("aten.atan2.default", args, &[5, 1, 6], &[&[5, 6, 6]]);
}

#[test]
fn strides_of_an_expanded_tensor_are_claimed_only_where_the_size_is_not_1() {
    let args = json!([tensor("float32", json!(["s0", "s1"])), {"ints": [2, 3]}]);
    holds("aten.broadcast_to.default", args, &[2, 3], &[&[2, 1], &[1, 3]]);
    let args = json!([tensor("bool", json!(["s0"])), tensor("float32", json!(["s1"]))]);
    holds("aten.expand_as.default", args, &[1, 4], &[&[8, 8]]);
}

#[test]
fn the_mask_of_dropout_has_another_dtype_where_there_are_no_elements() {
    let args = json!([tensor("float32", json!(["s0"])), {"float": 0.5}, {"none": true}]);
    holds("aten.native_dropout.default", args, &[4], &[&[0]]);
}

#[test]
fn probabilities_need_not_broadcast_to_an_example_without_elements() {
    let args = json!([tensor("float32", json!(["s0", "s1"])), tensor("float32", json!(["s2"]))]);
    holds("aten.bernoulli.Tensor", args, &[0, 4, 3], &[&[2, 4, 3], &[0, 3, 3]]);
}

#[test]
fn what_is_summed_to_a_size_has_that_size() {
    let args = json!([tensor("float32", json!(["s0", "s1"])), {"ints": ["s0", 1]}]);
    holds("aten.sum_to_size.default", args, &[3, 1], &[&[3, 5], &[4, 0]]);
}

#[test]
fn what_an_operator_leaves_unchecked_without_elements_is_not_refused_where_the_example_has_none() {
    let args = json!([tensor("float32", json!(["s0"])), tensor("bfloat16", json!(["s0"]))]);
    holds("aten.searchsorted.Tensor", args, &[0], &[&[4]]);
    let args = json!([
        tensor("complex64", json!(["s0", 3, 6])),
        tensor("float32", json!(["s0", 3, 3])),
        {"ints": [1, 2]}
    ]);
    holds("aten.replication_pad1d_backward.default", args, &[0], &[&[2]]);
    let args = json!([
        tensor("float32", json!([2, "s0", 6, 6])),
        tensor("float32", json!([4, 3, 3, 3])),
        {"ints": [3, 3]},
        {"none": true},
        {"ints": [1, 1]},
        {"ints": [0, 0]}
    ]);
    holds("aten._slow_conv2d_forward.default", args, &[0], &[&[3], &[2]]);
}

#[test]
fn chunks_of_a_tensor_without_dimensions_are_refused_without_a_panic() {
    let args = json!([{"tensors": [{"dtype": "float32", "shape": []}]}, {"int": -1}, {"int": 1}]);
    holds("aten._chunk_cat.default", args, &[], &[]);
}

#[test]
fn a_bias_of_another_dtype_goes_with_a_dilation_that_is_1_at_the_example() {
    let args = json!([
        tensor("float32", json!([4, 7])),
        tensor("float32", json!([6, 4, 3])),
        tensor("uint8", json!([6])),
        {"ints": [1]},
        {"str": "same"},
        {"ints": ["s0"]},
        {"int": 1}
    ]);
    holds("aten.conv1d.padding", args, &[1], &[&[2]]);
}

#[test]
fn a_convolution_without_channels_needs_a_weight_with_elements_where_the_example_has_channels() {
    let args = json!([
        tensor("float32", json!([2, "s0", 6, 6])),
        tensor("float32", json!([4, "s0", 3, 3])),
        {"ints": [3, 3]},
        {"none": true},
        {"ints": [1, 1]},
        {"ints": [0, 0]}
    ]);
    holds("aten._slow_conv2d_forward.default", args, &[6], &[&[0], &[2]]);
}

#[test]
fn a_transposed_convolution_takes_a_dilation_of_0_that_is_symbolic_where_it_takes_the_number() {
    let args = json!([
        tensor("float32", json!([2, 7, 8, 4])),
        tensor("float32", json!([7, 2, 1, 1])),
        tensor("float32", json!([8])),
        {"ints": [1, 1]},
        {"ints": [0, 0]},
        {"ints": [0, 0]},
        {"int": 4},
        {"ints": ["s0", "s1"]}
    ]);
    holds("aten.conv_transpose2d.input", args, &[0, 1], &[&[1, 1], &[1, 0]]);
}

#[test]
fn a_copy_by_the_example_claims_no_strides_for_sizes_at_which_there_is_a_view() {
    let permuted = json!({"tensor": {"dtype": "float32", "shape": [2, 6, 3], "stride": [18, 1, 6]}});
    let args = json!([permuted, {"ints": ["s0", "s1", -1]}]);
    holds("aten.reshape.default", args, &[2, 3], &[&[2, 6], &[4, 3], &[36, 1]]);
}

#[test]
fn values_to_put_may_have_leading_sizes_that_are_1_at_the_example() {
    let args = json!([
        tensor("float32", json!([5])),
        {"tensors": [{"dtype": "int64", "shape": []}]},
        tensor("float32", json!(["s0", "s1"])),
        {"bool": false}
    ]);
    holds("aten.index_put.default", args, &[1, 1], &[&[1, 1]]);
}
