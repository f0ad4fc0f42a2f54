//! sizewise: symbolic shape reasoning for exported PyTorch programs.
//!
//! Does the dynamic-shape spec of a program imply every condition that the program needs?
//!
//! ```
//! use sizewise::report::Outcome;
//! use sizewise::{Budget, Checker, Operators, Spec};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let program = std::fs::read("examples/area.pt2")?;
//! let spec = Spec::parse(&std::fs::read("examples/area.json")?)?;
//! let checker = Checker::read("area.pt2", &program)?;
//! let report = checker.check(Some(&spec), &Operators::new(), &Budget::default())?;
//! assert_eq!(report.verdict, Outcome::Violated);
//! assert_eq!(report.fixes[0].text.lines().next(), Some("p = Dim('p', min=2, max=12)"));
//! # Ok(())
//! # }
//! ```
//!
//! An exporter puts its questions to a [`ShapeEnv`] while it traces. It needs the crates `sizewise-expr`,
//! `sizewise-solve` and `sizewise-env` alone:
//!
//! ```
//! use sizewise::expr::{Expr, read};
//! use sizewise::{DimDynamic, ShapeEnv};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut env = ShapeEnv::new();
//! let batch = env.create("L['x'].size()[0]", 16, DimDynamic::Dynamic, None)?;
//! let eight = env.pool.int(8);
//! let rest = env.pool.modulo(batch, eight);
//! let whole = env.pool.eq(rest, Expr::ZERO);
//! env.check(whole)?;
//! let quarter = read::closed(&mut env.pool, "Eq(4*(s77//4), s77)")?.expr;
//! assert!(env.statically_known_true(quarter));
//! # Ok(())
//! # }
//! ```
//!
//! The crates of the workspace, each of which uses those above it only:
//!
//! | modules | what they have |
//! | --- | --- |
//! | [`contract`](mod@contract) | checkers of contracts, without dependencies |
//! | [`expr`], [`range`], [`escape`] | expressions over sizes, value ranges, text made safe for a place |
//! | [`solve`], [`egraph`] | whether facts imply a goal |
//! | [`env`](mod@env) | symbols, guards and runtime assertions of a program |
//! | [`ir`], [`keys`] | programs: graphs, archives, text forms |
//! | [`kernels`] | fake kernels |
//! | [`records`], [`spec`], [`propagate`], [`report`], [`check`], [`query`] | the main job |
//! | [`verify`], [`pass`], [`cost`], [`sizing`], [`diff`] | verifiers of dialects, passes, costs, how large values get, what changes from one export to another |
//! | [`onnx_model`], [`onnx`], [`onnx_write`] | ONNX models: read, checked, and written of programs |
//! | `service` | the HTTP service |
pub use sizewise_check::check::{Checker, Evaluator, Session};
pub use sizewise_check::report::Report;
pub use sizewise_check::spec::Spec;
pub use sizewise_check::{check, propagate, query, records, report, spec};
pub use sizewise_contract as contract;
pub use sizewise_cost as cost;
pub use sizewise_cost::sizing;
pub use sizewise_diff as diff;
pub use sizewise_env as env;
pub use sizewise_env::{DimDynamic, Env, ShapeEnv};
pub use sizewise_expr as expr;
pub use sizewise_expr::{STACK_BYTES, escape, range};
pub use sizewise_ir as ir;
pub use sizewise_ir::{Program, keys};
pub use sizewise_kernels as kernels;
pub use sizewise_kernels::Operators;
pub use sizewise_onnx as onnx;
pub use sizewise_onnx_model as onnx_model;
pub use sizewise_onnx_write as onnx_write;
pub use sizewise_pass as pass;
pub use sizewise_replay as replay;
#[cfg(feature = "service")]
pub use sizewise_service as service;
pub use sizewise_solve as solve;
pub use sizewise_solve::{Budget, egraph};
pub use sizewise_verify as verify;
pub use sizewise_verify::recorded_values;

#[cfg(feature = "cli")]
pub mod cli;

/// The Rust of the manual.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Manual;
