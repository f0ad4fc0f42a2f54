//! Symbols, guards and runtime assertions.
//!
//! A [`ShapeEnv`] owns the expression pool and what is known about the symbols while a program is traced. A condition
//! on backed symbols that is not settled follows the hints and is recorded as a [`Guard`]; one on unbacked symbols
//! becomes a [`RuntimeAssert`] or is reported as data dependent.
//!
//! A tracer makes symbols ([`ShapeEnv::create`], [`ShapeEnv::fresh_unbacked`]), asks ([`ShapeEnv::evaluate`]) and is
//! told ([`ShapeEnv::check`]). Operators speak to the environment through [`ShapeEnv::require`] and
//! [`ShapeEnv::branch`], which decide by means that cost microseconds.
mod answers;
mod ask;
mod checks;
mod clause;
mod compact;
mod computed;
mod create;
mod deferred;
mod env;
mod error;
mod guard;
mod hints;
mod lifetime;
mod operations;
mod parts;
mod path;
mod policy;
mod premises;
mod questions;
mod records;
mod rename;
mod replace;
mod specialize;
mod strides;
mod symbols;
mod unsat_core;

pub use clause::{Clauses, OpClause};
pub use create::DimDynamic;
pub use env::ShapeEnv;
pub use error::{DataDependent, EnvError, UnsatCore};
pub use guard::{Clause, Guard, GuardKind, Origin, Required, RuntimeAssert, STATED, sym_constrain_range};
pub use operations::Operation;
pub use parts::StrideNotes;
pub use path::Outside;
pub use policy::{Artefact, Policies, Policy};
pub use premises::{Declared, Premises, Requires, narrow};
pub use questions::{Decision, Env};
pub use symbols::SymbolInfo;
