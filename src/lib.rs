//! sizewise: symbolic shape reasoning for exported PyTorch programs.
//!
//! The crates of the workspace under one name. Dependencies go downwards only:
//!
//! | crate | what it has |
//! | --- | --- |
//! | [`expr`], [`range`], [`escape`] | expressions over sizes, value ranges, text made safe for a place |
//! | [`decide`], [`egraph`] | whether facts imply a goal |
//! | [`shape_env`] | symbols, guards and runtime assertions of a program |
//! | [`ir`], [`keys`] | programs: graphs, archives, text forms |
//! | [`fake`] | fake kernels |
//! | [`spec`], [`propagate`], [`check`], [`report`], [`query`] | the main job |
//! | [`verify`], [`pass`] | verifiers of dialects, passes |
//! | [`onnx`] | ONNX models of programs |
//! | `service` | the HTTP service |
pub use sizewise_check::{check, propagate, query, records, report, spec};
pub use sizewise_env as shape_env;
pub use sizewise_expr as expr;
pub use sizewise_expr::{STACK_BYTES, escape, range};
pub use sizewise_ir as ir;
pub use sizewise_ir::keys;
pub use sizewise_kernels as fake;
pub use sizewise_onnx as onnx;
#[cfg(feature = "service")]
pub use sizewise_service as service;
pub use sizewise_solve as decide;
pub use sizewise_solve::egraph;
pub use sizewise_tools::{pass, recorded_values, verify};

#[cfg(feature = "cli")]
pub mod cli;
