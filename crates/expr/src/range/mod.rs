//! Abstract domains, which describe sets of possible values.
//!
//! A [`Domain`] is a set of integers given by inclusive bounds ([`ValueRange`]) and a residue class
//! ([`Congruence`]). Truth values are the integers 0 and 1. A [`FloatRange`] is an interval of doubles.
//! [`transfer`] has one function for each kind of node, which maps the domains of the operands to the domain
//! of the result. [`DomainTable`] applies them to the expressions of a pool, stores the results, and runs
//! conditions backwards ([`DomainTable::assume`]).
//!
//! Every domain describes the values at assignments where the expression *is defined*: an operation that has no value
//! anywhere (a divisor that is always 0) has no domain, `None`. Results of more than [`MAX_BITS`] bits are widened.
mod assume;
mod backward;
mod bitwise;
mod bound;
mod bounds;
mod congruence;
mod correlated;
mod domain;
mod float_range;
mod monotone;
mod table;
pub mod transfer;
mod value_range;

#[cfg(test)]
mod exact_tests;
#[cfg(test)]
mod strength_tests;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;

pub use assume::{is_idempotent, is_learned_at_once};
pub use bound::Bound;
pub use bounds::Bounds;
pub use congruence::Congruence;
pub use domain::{Contradiction, Domain, truth};
pub use float_range::FloatRange;
pub use table::{DomainTable, FactSubject, Mark};
pub use transfer::Abstract;
pub use value_range::ValueRange;

/// Bounds and moduli of more bits than this are widened, so that no chain of products can make them grow without limit.
pub const MAX_BITS: u64 = 2048;
