//! The operations of checks, as the compact form numbers them. Each takes its operands from a stack and leaves a value
//! there: a 64-bit integer, a truth value (0 or 1) or a double. A value may be missing: of a result that does not fit, a
//! division by 0, and what is computed of these.

/// An integer; it follows as a signed varint.
pub const INT: u8 = 0;
/// A variable; its number follows.
pub const VARIABLE: u8 = 1;
/// A size; the input and the dimension plus 1 follow. Dimension 0 is the value of an integer.
pub const SIZE: u8 = 2;
/// A double; its 8 bytes follow, the least first.
pub const DOUBLE: u8 = 3;
/// The sum of two integers.
pub const ADD: u8 = 4;
/// The product of two integers.
pub const MUL: u8 = 5;
/// The quotient of two integers, rounded down.
pub const FLOOR_DIV: u8 = 6;
/// What [`FLOOR_DIV`] leaves: it has the sign of the divisor.
pub const MOD: u8 = 7;
/// A power of integers. A negative exponent has no value.
pub const POW: u8 = 8;
/// The lesser of two integers.
pub const MIN: u8 = 9;
/// The greater of two integers.
pub const MAX: u8 = 10;
/// The bits that two integers share.
pub const BIT_AND: u8 = 11;
/// The bits of either of two integers.
pub const BIT_OR: u8 = 12;
/// The bits in which two integers differ.
pub const BIT_XOR: u8 = 13;
/// The magnitude of an integer.
pub const ABS: u8 = 14;
/// Whether two integers are equal.
pub const EQUAL: u8 = 15;
/// Whether an integer is 0.
pub const IS_ZERO: u8 = 16;
/// Whether an integer is at most 0.
pub const NOT_POSITIVE: u8 = 17;
/// Whether a truth value is false.
pub const NOT: u8 = 18;
/// Whether two truth values are true; false if one is, whatever the other.
pub const AND: u8 = 19;
/// Whether one of two truth values is true, whatever the other.
pub const OR: u8 = 20;
/// Of a truth value and two others: the second where the first is true, else the third.
pub const IF: u8 = 21;
/// An integer as a double; beyond 2^53 it has no value.
pub const TO_DOUBLE: u8 = 22;
/// The sum of two doubles.
pub const DOUBLE_ADD: u8 = 23;
/// The product of two doubles.
pub const DOUBLE_MUL: u8 = 24;
/// The quotient of two doubles; by 0 it has no value.
pub const DOUBLE_DIV: u8 = 25;
/// The magnitude of a double.
pub const DOUBLE_ABS: u8 = 26;
/// The integer of a double, rounded towards 0. Beyond 2^62 it has no value, as for the other roundings.
pub const TRUNC: u8 = 27;
/// The integer of a double, rounded down.
pub const FLOOR: u8 = 28;
/// The integer of a double, rounded up.
pub const CEIL: u8 = 29;
/// The integer nearest to a double; of two, the even one.
pub const ROUND: u8 = 30;
/// Whether two doubles are equal.
pub const DOUBLE_EQ: u8 = 31;
/// Whether the first of two doubles is less.
pub const DOUBLE_LT: u8 = 32;
/// Whether the first of two doubles is less or equal.
pub const DOUBLE_LE: u8 = 33;
