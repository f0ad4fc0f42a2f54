//! Expressions as text: reading every form that torch writes, and writing one that everybody reads.
//!
//! One grammar, Python's expression grammar, covers the three written forms: sympy's `str`
//! (`Eq(Mod(s0, 8), 0)`), its `srepr` (`Add(Symbol('s17', positive=True, integer=True), Integer(2))`) and
//! torch's guard code (`L['x'].size()[0] % 8 == 0`). What is written parses back to the same handle.
mod functions;
pub mod known;
mod lexer;
pub mod print;
mod print_compare;
mod print_order;
mod print_parts;
mod printer;
pub mod read;
mod read_calls;
mod read_double_calls;
mod read_error;
mod read_operands;
mod read_operators;
mod reader;
mod remarks;
pub mod size;
mod source;
mod srepr;
pub mod tree;

pub use functions::has_meaning;
pub use source::{Property, SourcePath, SourceStep};

#[cfg(test)]
mod print_tests;
#[cfg(test)]
mod read_tests;
