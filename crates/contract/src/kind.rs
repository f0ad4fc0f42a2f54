//! The kinds of inputs, as the compact form numbers them.

/// A tensor; its rank and its dtype follow.
pub const TENSOR: u8 = 0;
/// An integer.
pub const INTEGER: u8 = 1;
/// An integer that has to be the one that follows.
pub const CONSTANT_INTEGER: u8 = 2;
/// A truth value that has to be the one that follows.
pub const CONSTANT_BOOL: u8 = 3;
/// A double that has to be the one that follows.
pub const CONSTANT_DOUBLE: u8 = 4;
/// A string that has to be the one that follows.
pub const CONSTANT_STRING: u8 = 5;
/// An input of which nothing is checked.
pub const ANY: u8 = 6;
