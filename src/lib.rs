//! sizewise: symbolic shape reasoning for exported PyTorch programs.
#![warn(missing_docs)]
pub mod decide;
pub mod expr;
