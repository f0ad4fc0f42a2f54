//! Symbolic integers, floats and booleans.
//!
//! An [`Expr`] is a small copyable handle into a [`Pool`], which stores every distinct expression once.
//! Construction is canonical. Integer expressions are polynomials over *atoms* (symbols, floor divisions,
//! minima, ...) with sorted terms, and an integer comparison is a polynomial compared with zero. So
//! expressions that are equal as polynomials have the same handle. Whether two *different* expressions have
//! the same value is a question for `decide`, never for `==`.
//!
//! Integers are exact ([`Int`]); `//` and `%` floor, as in Python; floats are IEEE doubles.
mod build;
mod build_bool;
mod build_div;
mod build_float;
mod cancel;
mod compact;
mod divisor;
pub mod escape;
mod eval;
mod handle;
mod int;
mod meter;
mod node;
mod poly;
mod pool;
pub mod range;
mod rounding;
mod storage;
mod subst;
pub mod text;
mod work;

#[cfg(test)]
mod build_tests;
#[cfg(test)]
mod eval_tests;

pub use cancel::{CancelToken, is_cancelled};
pub use compact::{Handles, Moved};
pub use divisor::Divisor;
pub use eval::{EvalError, Evaluator, Value, call as evaluate_call};
pub use int::Int;
pub use node::{Args, F64, Func, Node, Sort};
pub use poly::{Monomial, Poly};
pub use pool::{Expr, Pool, Symbol};
pub use text::{print, read};
pub use work::WorkLimit;

/// The stack size, in bytes, of threads that read, propagate or decide: programs and expressions nest. Only
/// the used part of it takes memory.
pub const STACK_BYTES: usize = 256 << 20;
