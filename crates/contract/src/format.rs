//! The format in numbers.

/// The version of the format.
pub const VERSION: u8 = 1;
/// The first bytes of a contract; the version follows.
pub const MAGIC: [u8; 3] = *b"SZC";
/// The flag of a contract that is not all that the program needs: data decide the rest.
pub const INCOMPLETE: u8 = 1;
/// The most variables of a contract.
pub const MAX_VARIABLES: usize = 64;
/// The most values on the stack of a check.
pub const MAX_STACK: usize = 32;
