//! ONNX models checked: whether they run on every input that they declare; and what a file holds, a program or a model.

pub mod check;
mod costs;
pub mod dot;
pub mod fill;
#[cfg(test)]
mod hostile_tests;
pub mod query;
pub mod redeclare;
pub mod subject;
