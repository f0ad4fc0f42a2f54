//! What a program accepts and returns, as conditions and expressions over the sizes of its inputs, to be compared with
//! another program.
use super::error::CheckError;
use super::guard_set::{Followed, conditions, layout_choices, left_open, of_inputs};
use super::runtime;
use super::session::Session;
use crate::report::guard_code::GuardSet;
use sizewise_env::Origin;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_ir::SymbolHints;
use sizewise_kernels::Value;

/// What a program accepts and returns.
pub struct Acceptance {
    /// The inputs with their sizes, and all conditions; they are not minimized.
    pub set: GuardSet,
    /// What is known of each condition, in the order of `set.conditions`.
    pub demands: Vec<Enforced>,
    /// The values of the symbols at the traced example.
    pub hints: SymbolHints,
    /// The results of the graph, in its order, as far as the program was followed.
    pub results: Vec<Value>,
    /// Whether the results hold for all sizes that satisfy the conditions.
    pub results_are_derived: bool,
}

/// How a condition is enforced, and what needs it.
#[derive(Clone, Debug)]
pub struct Enforced {
    /// Whether every call that does not satisfy it is refused.
    pub by: Enforcement,
    /// The line of the user's code that needs it.
    pub line: Option<String>,
}

/// How a condition is enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcement {
    /// The exported module checks it before anything is run.
    AtEntry,
    /// A step checks it, where the sizes are such that the program was followed as it goes.
    ByStep,
    /// Nothing checks it: the program was followed under it, and may go another way where it does not hold.
    Path,
}

impl Session<'_> {
    /// What the program accepts and returns; with a case, where the symbol has this value.
    ///
    /// # Errors
    /// As [`Session::guard_set`]; when a step is refused, or is not followed to its end.
    pub fn acceptance(&self, case: Option<(Symbol, Int)>) -> Result<Acceptance, CheckError> {
        let Followed { assumptions, mut run, unchecked } = self.followed(case)?;
        if let Some(failure) = run.failures.first() {
            let at = run.step(failure.origin).map_or_else(String::new, |step| format!("{}: ", step.op()));
            return Err(CheckError::UnreadableContract(format!("{at}{}", failure.message)));
        }
        let mut set = of_inputs(self, &run.env.pool)?;
        let symbols: Vec<Symbol> = set.variables.iter().map(|v| v.symbol).collect();
        let mut demands = Vec::new();
        for demanded in conditions(self.contract(), &mut run, &symbols, unchecked) {
            let by = match (demanded.is_enforced, demanded.is_at_entry) {
                (true, true) => Enforcement::AtEntry,
                (true, false) => Enforcement::ByStep,
                (false, _) => Enforcement::Path,
            };
            let line = |origin: Origin| run.step(origin)?.location();
            set.conditions.push(demanded.condition);
            demands.push(Enforced { by, line: demanded.origin.and_then(line) });
        }
        let needed = runtime::needed(&assumptions, &mut run, &set.conditions);
        set.conditions.extend(needed);
        demands.resize(set.conditions.len(), Enforced { by: Enforcement::ByStep, line: None });
        let choices: Vec<Expr> = layout_choices(self, &assumptions, &mut run, &set.conditions, &symbols);
        set.conditions.extend(choices);
        demands.resize(set.conditions.len(), Enforced { by: Enforcement::Path, line: None });
        set.left_open = left_open(&assumptions, &run);
        set.not_followed = run.unsupported.len();
        let results_are_derived = run.unsupported.is_empty();
        let hints = self.contract().hints.clone();
        set.pool = run.env.pool;
        Ok(Acceptance { set, demands, hints, results: run.results, results_are_derived })
    }
}
