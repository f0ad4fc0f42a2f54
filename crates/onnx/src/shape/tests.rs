//! Statements about shape functions.
