//! Programs to measure with.
#![warn(missing_docs)]

pub mod generate;
