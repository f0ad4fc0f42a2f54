//! The main job: does the spec of a program imply its guards?
//!
//! A [`spec`] is bound to the inputs of a program, [`propagate`] runs the program's fake kernels under it,
//! and [`check`] decides every condition that they need and reports what fails, with fixes that are proved.
//! [`report`] has the forms of reports, [`query`] the single questions of the command line and the service.
// Unit tests share programs with the tests of the workspace, which know this crate by its name.
#[cfg(test)]
extern crate self as sizewise_check;

pub mod check;
pub mod propagate;
pub mod query;
pub mod records;
pub mod report;
pub mod spec;
