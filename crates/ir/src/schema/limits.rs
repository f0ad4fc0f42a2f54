//! How large a schema may be.

/// The longest schema, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;
/// The deepest nesting of a type or a default.
pub const MAX_DEPTH: usize = 16;
/// The most arguments, and the most results.
pub const MAX_ARGUMENTS: usize = 256;
/// The longest default list and the longest fixed length of a list.
pub const MAX_LIST: usize = 32;
