//! Export IR: the operator schemas, and the programs that call them.
pub mod dtype;
pub mod schema;
