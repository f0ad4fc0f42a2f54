//! sizewise: symbolic shape reasoning for exported PyTorch programs.
#![warn(missing_docs)]
pub mod egraph;
pub mod expr;
