//! Layer 7: what a check found, as plain data, and its renderers.
mod codes;
mod explanation;
pub mod guard_code;
mod json;
mod model;
mod style;
mod text;
mod torch;

pub use codes::{CODES, meaning};
pub use explanation::{Condition, Explanation};
pub use json::to_json;
pub use model::*;
pub use style::Style;
pub use text::to_text;
pub use torch::to_torch;
