//! The handlers of the routes.
pub mod check;
pub mod cost;
pub mod docs;
pub mod envs;
pub mod eval;
pub mod form;
pub mod health;
pub mod params;
pub mod questions;
pub mod single;
pub mod sizes;
