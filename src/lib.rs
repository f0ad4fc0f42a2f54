//! sizewise: symbolic shape reasoning for exported PyTorch programs.
#![warn(missing_docs)]
// Unit tests share files with the tests in `tests/`, which know this crate by its name.
#[cfg(test)]
extern crate self as sizewise;

pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod decide;
pub mod egraph;
pub mod escape;
pub mod expr;
pub mod fake;
pub mod ir;
pub mod keys;
pub mod onnx;
pub mod pass;
pub mod propagate;
pub mod query;
pub mod range;
pub mod report;
#[cfg(feature = "service")]
pub mod service;
pub mod shape_env;
pub mod spec;
pub mod verify;

/// The stack, in bytes, of threads that read, propagate or decide: programs and expressions nest. Only what is used of it takes memory.
pub const STACK_BYTES: usize = 256 << 20;
