//! Policies: what a tracer assumes of sizes without being told, and what that costs.
//!
//! None of them is a law of shapes. What they make of a size is kept as an [`Artefact`], apart from the guards that
//! the program needs.
use sizewise_expr::{Int, Symbol};
use std::fmt;

/// What is assumed of sizes without being told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policies {
    /// Sizes with equal hints share a symbol, unless they are declared dynamic.
    pub duck_sizing: bool,
    /// A size of 0 or 1 is a constant, and every other size is at least 2.
    pub zero_one_specialization: bool,
    /// A condition on backed symbols becomes a runtime assertion instead of a guard.
    pub prefer_deferred_asserts: bool,
}

impl Policies {
    /// Those of `torch.compile`: duck sizing and 0/1 specialisation.
    pub const COMPILE: Policies =
        Policies { duck_sizing: true, zero_one_specialization: true, prefer_deferred_asserts: false };
    /// Those of `torch.export`: 0/1 specialisation.
    pub const EXPORT: Policies = Policies { duck_sizing: false, ..Policies::COMPILE };
    /// None.
    pub const NONE: Policies =
        Policies { duck_sizing: false, zero_one_specialization: false, prefer_deferred_asserts: false };
}

impl Default for Policies {
    fn default() -> Policies {
        Policies::EXPORT
    }
}

/// A policy that can make something of a size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Policy {
    /// Equal hints share a symbol.
    DuckSizing,
    /// 0 and 1 are constants, other sizes are at least 2.
    ZeroOneSpecialization,
}

/// What a policy made of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Artefact {
    /// The size has another one's symbol.
    Shared {
        /// The size.
        source: Box<str>,
        /// The size that had the symbol before.
        with: Box<str>,
        /// The symbol.
        symbol: Symbol,
    },
    /// The size is this constant.
    Constant {
        /// The size.
        source: Box<str>,
        /// 0 or 1.
        value: Int,
    },
    /// The size is at least 2.
    AtLeastTwo {
        /// The size.
        source: Box<str>,
        /// Its symbol.
        symbol: Symbol,
    },
}

impl Artefact {
    /// The policy.
    pub fn policy(&self) -> Policy {
        match self {
            Artefact::Shared { .. } => Policy::DuckSizing,
            Artefact::Constant { .. } | Artefact::AtLeastTwo { .. } => Policy::ZeroOneSpecialization,
        }
    }

    /// The sizes that it costs, in words.
    pub fn cost(&self) -> String {
        match self {
            Artefact::Shared { source, with, .. } => format!("inputs for which {source} and {with} differ"),
            Artefact::Constant { source, value } => format!("every {source} but {value}"),
            Artefact::AtLeastTwo { source, .. } => format!("{source} of 0 and 1"),
        }
    }
}

/// The condition, as guard code.
impl fmt::Display for Artefact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Artefact::Shared { source, with, .. } => write!(f, "{source} == {with}"),
            Artefact::Constant { source, value } => write!(f, "{source} == {value}"),
            Artefact::AtLeastTwo { source, .. } => write!(f, "{source} >= 2"),
        }
    }
}
