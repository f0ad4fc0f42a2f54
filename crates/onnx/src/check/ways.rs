//! Ways that a node takes by sizes: `Squeeze` without axes drops the dimensions that are 1. They are no conditions of the
//! model, which runs on either way.
use sizewise_env::Guard;

/// Why a verdict is open where a model takes a way that was not walked.
pub(super) const OTHER_WAY: &str =
    "the model goes another way where it does not hold, and that was tried at a few sizes alone";

/// Whether a condition decides the way that a node takes, and requires nothing.
pub(super) fn is_branch(guard: &Guard) -> bool {
    sizewise_onnx_model::walk::is_way(guard.clause)
}
