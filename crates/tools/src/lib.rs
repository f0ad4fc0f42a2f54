//! Tools for programs: verifiers of the dialects, passes and lowering.
pub mod pass;
mod recorded_values;
pub mod verify;

pub use recorded_values::recorded_values;
