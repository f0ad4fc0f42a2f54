//! Symbolic integers.
