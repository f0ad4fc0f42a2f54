//! Autocast: in a region, operands are cast before an operator sees them, as torch's dispatcher does it for the type
//! of the region's device and the region's dtype.
mod policy;
mod regions;
mod treatment;

pub use policy::{Policy, find as policy_of, is_listed};
pub use regions::{Region, Regions};
pub use treatment::Treatment;
