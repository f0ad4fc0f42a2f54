//! Which inputs can exist.
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::walk::Input;

/// No input takes more bytes, nor has a dimension that is longer: this is what can exist for a counterexample.
pub(super) const MOST_BYTES: i64 = 1 << 40;

/// Whether inputs of these sizes can exist.
pub(super) fn can_exist(input: &Input, sizes: &[i64]) -> bool {
    let bytes = input.dtype.map_or(1, Dtype::bytes);
    let total = sizes.iter().try_fold(bytes, |total, &size| total.checked_mul(size));
    sizes.iter().all(|&size| size <= MOST_BYTES)
        && (sizes.contains(&0) || total.is_some_and(|total| total <= MOST_BYTES))
}
