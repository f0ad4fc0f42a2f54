//! Fake kernels, which compute what an operator returns from what its arguments look like.
//!
//! A kernel reads like its specification: schema, shape equation, numbered conditions, then code in the same order.
//! It sees its arguments already matched against the schema ([`Args`]) and builds sizes and conditions through a
//! [`Cx`], which does the three-valued work: proved conditions cost nothing, refuted ones are errors, open ones
//! become guards or runtime assertions. The same kernels serve symbolic and concrete sizes.
mod args;
mod attention;
pub mod autocast;
mod backend;
mod bind;
mod broadcast;
mod c10;
mod compose;
mod context;
mod conv;
mod coverage;
mod custom;
mod demand;
mod domain;
mod elementwise;
mod error;
mod flops;
mod following;
mod fourier;
mod inplace;
mod invoke;
mod kernel;
mod matrix;
mod norm;
mod operators;
pub mod ops;
mod policy;
mod pool;
mod positions;
mod product;
mod promote;
mod reduce;
mod registry;
mod scalar;
pub mod sharing;
mod span;
mod stride;
mod tensor;
mod value;
mod view;

pub use args::Args;
pub use backend::Backend;
pub use bind::{BindError, bind};
pub use context::Cx;
pub use conv::windows;
pub use coverage::{Coverage, Served, conditions, coverage, refused_call};
pub use custom::{DeclarationError, Library, libraries};
pub use error::{KernelError, KernelResult};
pub use kernel::{FakeKernel, Kernel};
pub use operators::Operators;
pub use ops::flops;
pub use positions::Lookup;
pub use promote::{Category, ResultType, default_dtype_for, to_float};
pub use registry::Registry;
pub use scalar::python_function;
pub use span::{Reach, Span};
pub use tensor::{Sizes, Tensor};
pub use value::{Scalar, Value, Values};
