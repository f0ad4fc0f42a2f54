//! Tools for programs: verifiers of the dialects, passes, lowering, and the replay of recorded `ShapeEnv` traces.
pub mod pass;
mod recorded_values;
pub mod replay;
pub mod verify;

pub use recorded_values::recorded_values;
