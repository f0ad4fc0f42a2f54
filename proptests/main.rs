//! Laws: what holds of whatever the generators draw, topic by topic.
mod campaign;
mod certificates;
mod components;
mod contracts;
mod data_sizes;
mod decide_laws;
mod dim_specs;
mod egraph_laws;
mod expressions;
mod graphs;
mod guard_code;
#[cfg(feature = "cli")]
mod hostile;
mod magnitudes;
mod onnx_specs;
#[cfg(feature = "cli")]
mod operators;
mod programs;
mod queries;
mod range_laws;
mod shapes_specs;
mod sizes;
mod store_laws;
#[path = "../tests/text_programs/mod.rs"]
mod text_programs;
