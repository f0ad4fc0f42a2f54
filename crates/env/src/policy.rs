//! Policies: what a tracer assumes of sizes without being told, and what that costs.
//!
//! None of them is a law of shapes. What they make of a size is kept as an [`Artefact`], apart from the guards that
//! the program needs.
use super::ShapeEnv;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol, Value};
use sizewise_solve::{Budget, Facts, Verdict, decide};
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

impl ShapeEnv {
    /// The policies by which symbols are made.
    pub fn policies(&self) -> Policies {
        self.policies
    }

    /// What the policies have made of sizes so far, in order.
    ///
    /// ```
    /// use sizewise_env::{DimDynamic, Policies, Policy, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::with_policies(Policies::COMPILE);
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Duck, None)?;
    /// let y = env.create("L['y'].size()[0]", 6, DimDynamic::Duck, None)?;
    /// assert_eq!(x, y);
    /// let shared = &env.artefacts()[1];
    /// assert_eq!(shared.policy(), Policy::DuckSizing);
    /// assert_eq!(shared.to_string(), "L['y'].size()[0] == L['x'].size()[0]");
    /// # Ok(()) }
    /// ```
    pub fn artefacts(&self) -> &[Artefact] {
        &self.artefacts
    }

    /// The answers that rest on 0/1 specialisation of a symbol: conditions that were asked for, hold under the facts,
    /// and do not follow from them if the symbol may be 0 and 1 too. Where there is none, the policy's bound costs
    /// sizes for nothing.
    pub fn resting_on_two(&mut self, symbol: Symbol) -> Vec<Expr> {
        let mut bare = Facts::new();
        let ranges: Vec<_> =
            self.facts.ranges().map(|(s, low, high)| (s, low.cloned(), high.cloned())).collect();
        for (s, low, high) in ranges {
            let low = if s == symbol { Some(Int::ZERO) } else { low };
            bare.declare(
                &mut self.pool,
                s,
                ValueRange::between_options(low, high).unwrap_or_else(ValueRange::all),
            );
        }
        for condition in self.facts.conditions().to_vec() {
            bare.assume(&mut self.pool, condition);
        }
        let mut resting = Vec::new();
        for condition in self.answered.clone() {
            let needs = self.pool.free_symbols(&[condition]).contains(&symbol)
                && !matches!(
                    decide(&mut self.pool, &mut bare, condition, &Budget::small()).verdict,
                    Verdict::Implied { .. }
                );
            if needs && !resting.contains(&condition) {
                resting.push(condition);
            }
        }
        resting
    }

    /// The symbol that duck sizing gives a size with this hint.
    pub(super) fn duck(&self, hint: &Int) -> Option<Symbol> {
        let of_hint = |symbol: &Symbol| {
            self.symbols.get(symbol).and_then(|info| info.hint.clone()) == Some(Value::Int(hint.clone()))
        };
        self.ducks.iter().copied().find(of_hint)
    }
}
