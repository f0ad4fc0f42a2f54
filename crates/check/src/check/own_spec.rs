//! The specs that a program has: the one that it was exported with, and the widest that it supports. torch.export takes them.
use super::checker::Checker;
use super::error::CheckError;
use crate::report::{Outcome, Report};
use crate::spec::{Contract, Spec, Width};
use serde_json::Value as Json;
use sizewise_kernels::Operators;
use sizewise_solve::Budget;

/// What is known of a spec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// A check proved that it implies everything that the program needs.
    Proved,
    /// It is the program's own contract, under which the program is undecided.
    Undecided,
    /// It is the program's own contract, and no spec was found that implies everything that the program needs.
    NotFound,
}

impl Checker {
    /// The spec that the program was exported with, as far as it is recorded.
    ///
    /// # Errors
    /// When the program's records cannot be read.
    pub fn recorded_spec(&self) -> Result<Spec, CheckError> {
        let contract = Contract::load(self.program())?;
        let spec = Spec::initial(&contract, Width::Recorded);
        Ok(spec.left_to_torch(&contract).unwrap_or(spec).for_torch())
    }

    /// The widest spec that the program supports: any size, narrowed by the first fix where that is too wide. Where there
    /// is no fix, the sizes that the program constrains are left to the program.
    ///
    /// # Errors
    /// When the program's records cannot be read.
    pub fn widest_spec(
        &self,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<(Spec, Standing), CheckError> {
        let contract = Contract::load(self.program())?;
        let check = |spec: Option<&Spec>| self.check(spec, operators, budget);
        for width in [Width::Any, Width::Demanded, Width::Recorded] {
            let spec = Spec::initial(&contract, width);
            let report = check(Some(&spec))?;
            match (report.verdict, report.fixes.into_iter().find(|fix| fix.proved).and_then(|fix| fix.spec)) {
                (Outcome::Ok, _) => return Ok((taken(spec, &contract, &check)?, Standing::Proved)),
                (_, Some(fixed)) => {
                    let spec = wider(&fixed, &contract, &check)?;
                    return Ok((taken(spec, &contract, &check)?, Standing::Proved));
                }
                // Nothing can be proved about a program that is undecided under its own contract.
                (Outcome::Unknown, None)
                    if width == Width::Recorded && check(None)?.verdict == Outcome::Unknown =>
                {
                    return Ok((taken(spec, &contract, &check)?, Standing::Undecided));
                }
                _ => {}
            }
        }
        Ok((self.recorded_spec()?, Standing::NotFound))
    }
}

type Check<'c> = dyn Fn(Option<&Spec>) -> Result<Report, CheckError> + 'c;

/// A spec in a form that torch takes, if that is as good.
fn taken(spec: Spec, contract: &Contract, check: &Check) -> Result<Spec, CheckError> {
    let spec = spec.for_torch();
    let Some(left) = spec.left_to_torch(contract) else { return Ok(spec) };
    let left = left.for_torch();
    let is_as_good = check(Some(&left))?.verdict == check(Some(&spec))?.verdict;
    Ok(if is_as_good { left } else { spec })
}

/// A repaired spec, or the one that the program was exported with where that is right and allows more: with the entries
/// of the repaired one that are wider, if that is right, too.
fn wider(fixed: &Json, contract: &Contract, check: &Check) -> Result<Spec, CheckError> {
    let recorded = Spec::initial(contract, Width::Recorded);
    let Ok(fixed) = Spec::parse(fixed.to_string().as_bytes()) else { return Ok(recorded) };
    let Some(both) = fixed.at_least_as_wide_as(&recorded).ok().flatten() else { return Ok(fixed) };
    if check(Some(&recorded))?.verdict != Outcome::Ok {
        return Ok(fixed);
    }
    let is_right = check(Some(&both))?.verdict == Outcome::Ok;
    Ok(if is_right { both } else { recorded })
}
