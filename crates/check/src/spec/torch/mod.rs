//! What torch.export 2.15 takes as `dynamic_shapes`, and the text of it: the one home of these rules.
//!
//! - A `Dim` has a range of more than one size that reaches 2: torch makes the sizes 0 and 1 static. One size is written as
//!   the number, a range within 0 and 1 as `Dim.AUTO` with bounds ([`Spec::for_torch`](super::Spec::for_torch)).
//! - A dimension computed from another one is `a*root + b` with a positive `a`, and never below 0. Nothing is computed from
//!   `Dim.AUTO`: where the root is left to torch, each dimension that is computed from it is, within its own bounds
//!   (`lines`).
//! - Names are assigned before they are used (`lines`, `write`).
//! - Containers are of the types that the call has: containers where it has containers and for `*args`, and all keyword arguments
//!   inside the dictionary of `**kwargs` where its name is known (`containers`).
//! - A guard on one named dimension has to be one that torch itself proves for the entire range (`guards`).
mod containers;
mod guards;
mod lines;
pub(super) mod text;
mod write;

pub use containers::Containers;
pub(crate) use guards::{Reason, Refused, refused};
pub(crate) use lines::Lines;
pub use lines::range_in_words;
pub(super) use write::write;
