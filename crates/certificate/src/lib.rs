//! Certificates: proofs that a goal follows from premises over the integers, and the checker that follows them.
//!
//! The checker uses integers and nothing else of the project. It is the whole of what has to be believed of a claim
//! that it accepts. `docs/certificates.md` has the format.
mod check;
mod claim;
mod eval;
mod fact;
mod poly;
mod term;

pub use check::{Checked, Event, Source, VERSION, check, explain};
pub use claim::Claim;
pub use eval::{Fault, Value, value};
pub use fact::{Fact, Meaning, Names, Problem, facts_of, negation};
pub use poly::{MAX_BITS, MAX_TERMS, Monomial, Poly, Var, times};
pub use term::{Op, Sexp, Sort, Term};

/// Reads and checks a text that holds one certificate.
///
/// # Errors
/// When it is none, or a step is not right.
pub fn check_text(text: &str) -> Result<Checked, String> {
    match Sexp::read_all(text)?.as_slice() {
        [one] => check(one),
        other => Err(format!("{} certificates where one is due", other.len())),
    }
}
