//! Whether the assumptions allow any input at all: if none, they imply everything.
use super::prove::shown_premises;
use crate::report::{Diagnostic, Level, Outcome};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Pool, Symbol};
use sizewise_solve::{Budget, Verdict, decide, unsat_core};

/// What a report says if no input satisfies what is assumed, by a spec or without one, or if that stays open; with what the
/// verdict is then at best. `name` is the user's name of a symbol.
pub fn unsatisfied(
    env: &mut ShapeEnv,
    has_spec: bool,
    name: &dyn Fn(&Pool, Symbol) -> String,
    budget: &Budget,
) -> Option<(Outcome, Diagnostic)> {
    let never = env.pool.bool(false);
    let (pool, facts) = env.facts();
    match decide(pool, facts, never, budget).verdict {
        Verdict::Inconsistent { because } => {
            let because = unsat_core(pool, facts, budget).unwrap_or(because);
            let because = shown_premises(pool, facts, &because, &|symbol| name(pool, symbol));
            Some((Outcome::Invalid, contradiction(has_spec, &because)))
        }
        Verdict::Unknown { reason } => {
            let message = format!("no input was found that satisfies all assumptions: {reason}");
            Some((Outcome::Unknown, Diagnostic::new("undecided-assumptions", Level::Warning, message)))
        }
        Verdict::Refuted { .. } | Verdict::Implied { .. } => None,
    }
}

/// That no input satisfies the assumptions, because of these.
pub(super) fn contradiction(has_spec: bool, because: &[String]) -> Diagnostic {
    let because = because.join(", ");
    let (code, message) = match has_spec {
        true => ("contradictory", format!("no input satisfies all assumptions: {because}")),
        false => ("contradictory-contract", format!("the program allows no input at all: {because}")),
    };
    Diagnostic::new(code, Level::Error, message)
}
