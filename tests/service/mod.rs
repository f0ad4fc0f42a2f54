//! The service, asked in process: every path, every problem, every limit.
mod answers;
mod cache;
mod client;
mod connections;
mod envs;
mod forms;
mod hosts;
mod lanes;
mod limits;
mod openapi;
mod page;
mod problems;
mod process;
mod starting;
mod stopping;
