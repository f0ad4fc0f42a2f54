//! The HTTP service: the engine for exporters and CI systems, and a page for people.
//!
//! A request goes through the `router` (id, token, metrics), a handler of [`api`] (what is asked), and the threads of
//! `work` (the engine), with the `cache` in between. Everything that a client can make grow has a limit in [`config`].
pub mod api;
pub mod app;
mod ask;
mod auth;
mod batch;
mod cache;
pub mod config;
mod connections;
mod envs;
mod hosts;
mod intake;
mod lanes;
mod listen;
mod log;
mod metrics;
pub mod problem;
mod rest;
mod router;
mod server;
mod text;
mod threads;
mod work;

pub use app::{App, StartError};
pub use auth::Tokens;
pub use config::{Config, Limits};
pub use lanes::Lane;
pub use router::router;
pub use server::run;
