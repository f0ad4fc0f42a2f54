//! What a user would pick instead of sizewise, without sizewise in the build.
pub mod schema;
pub mod typed;
