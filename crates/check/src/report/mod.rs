//! Layer 7: what a check found, as plain data, and its renderers.
mod codes;
mod explanation;
mod findings;
mod github;
mod graph;
pub mod guard_code;
mod html;
mod json;
mod model;
mod sarif;
mod store;
mod style;
mod text;
mod torch;

pub use codes::{CODES, meaning};
pub use explanation::{Condition, Explanation};
pub use github::to_github;
pub use graph::{GraphView, NodeView, ValueView};
pub use html::{PAGE_SCRIPT, PAGE_STYLE, to_html, to_view_json};
pub use json::{int_json, to_json};
pub use model::*;
pub use sarif::{to_sarif, to_sarif_of};
pub use store::{StoreClass, StoreEntry, StoreReport};
pub use style::Style;
pub use text::to_text;
pub use torch::to_torch;
