//! Layer 7: what a check found, as plain data, and its renderers.
mod json;
mod model;
mod style;
mod text;

pub use json::to_json;
pub use model::*;
pub use style::Style;
pub use text::to_text;
