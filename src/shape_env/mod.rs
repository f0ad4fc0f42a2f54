//! Layer 4: symbols, guards and runtime assertions.
//!
//! A [`ShapeEnv`] owns the expression pool and what is known about the symbols while a program is traced. A
//! condition on backed symbols that is not settled follows the hints and is recorded as a [`Guard`]; one on unbacked symbols
//! becomes a [`RuntimeAssert`] or is reported as data dependent.
mod env;
mod guard;
mod path;
mod records;
mod symbols;

pub use env::ShapeEnv;
pub use guard::{Guard, GuardKind, Origin, Required, RuntimeAssert};
pub use path::Outside;
pub use records::{RecordedError, Records, range};
pub use symbols::SymbolInfo;
