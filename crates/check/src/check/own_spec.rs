//! The specs that a program has: the one that it was exported with, and the widest that it supports, in either of torch's
//! languages. torch.export takes them.
use super::checker::Checker;
use super::error::CheckError;
use crate::report::{Outcome, Report};
use crate::spec::{Contract, Language, Spec, Width};
use serde_json::Value as Json;
use sizewise_kernels::Operators;
use sizewise_solve::Budget;

/// A spec, and whether everything is proved under it. Nothing can be proved about a program that is undecided under its
/// own contract; that contract is the spec then.
#[derive(Clone, Debug)]
pub struct Widest {
    /// The spec.
    pub spec: Spec,
    /// Whether it is proved.
    pub is_proved: bool,
}

impl Checker {
    /// The spec that the program was exported with, as far as it is recorded; without a language, in that of the program.
    ///
    /// # Errors
    /// When the program's records cannot be read.
    pub fn recorded_spec(
        &self,
        language: Option<Language>,
        operators: &Operators,
    ) -> Result<Spec, CheckError> {
        let contract = self.contract(operators)?;
        Ok(match language.unwrap_or_else(|| contract.language()) {
            Language::Dims => {
                let spec = Spec::initial(&contract, Width::Recorded);
                spec.left_to_torch(&contract).unwrap_or(spec).for_torch()
            }
            Language::Shapes => Spec::initial_shapes(&contract, Width::Recorded),
        })
    }

    /// The widest spec that the program supports: any size, narrowed by the first fix where that is too wide. Of `Dim`s,
    /// where there is no fix the sizes that the program constrains are left to it. `None` if no spec was found under which
    /// everything is proved. Without a language, in that of the program.
    ///
    /// # Errors
    /// When the program cannot be checked.
    pub fn widest_spec(
        &self,
        language: Option<Language>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Option<Widest>, CheckError> {
        let contract = self.contract(operators)?;
        let language = language.unwrap_or_else(|| contract.language());
        let check = |spec: Option<&Spec>| self.check(spec, operators, budget);
        let widths: &[Width] = match language {
            Language::Dims => &[Width::Any, Width::Demanded, Width::Recorded],
            Language::Shapes => &[Width::Any, Width::Recorded],
        };
        let found = |spec, is_proved| {
            let spec = match language {
                Language::Dims => taken(spec, &contract, &check)?,
                Language::Shapes => spec.with_classes_of(&contract),
            };
            Ok(Some(Widest { spec, is_proved }))
        };
        for &width in widths {
            let spec = match language {
                Language::Dims => Spec::initial(&contract, width),
                Language::Shapes => Spec::initial_shapes(&contract, width),
            };
            let report = check(Some(&spec))?;
            let fixes = report.fixes.into_iter().filter(|fix| fix.proved);
            let fixes = fixes.filter_map(|fix| Some((parsed(&fix.spec?)?, fix.loses)));
            let mut fixes = fixes.filter(|(fix, _)| is_of(fix, language));
            match (report.verdict, fixes.next()) {
                (Outcome::Ok, _) => return found(spec, true),
                // None is wider than one that loses nothing.
                (_, Some((fixed, loses))) if language == Language::Shapes || loses == Some(false) => {
                    return found(fixed, true);
                }
                (_, Some((fixed, _))) => return found(wider(fixed, &contract, &check)?, true),
                (Outcome::Unknown, None)
                    if width == Width::Recorded && check(None)?.verdict == Outcome::Unknown =>
                {
                    return found(spec, false);
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

type CheckSpec<'c> = dyn Fn(Option<&Spec>) -> Result<Report, CheckError> + 'c;

fn parsed(spec: &Json) -> Option<Spec> {
    Spec::parse(spec.to_string().as_bytes()).ok()
}

fn is_of(spec: &Spec, language: Language) -> bool {
    spec.shapes().is_some() == (language == Language::Shapes)
}

/// A spec in a form that torch takes, if that is as good.
fn taken(spec: Spec, contract: &Contract, check: &CheckSpec) -> Result<Spec, CheckError> {
    let spec = spec.for_torch();
    let Some(left) = spec.left_to_torch(contract) else { return Ok(spec) };
    let left = left.for_torch();
    let is_as_good = check(Some(&left))?.verdict == check(Some(&spec))?.verdict;
    Ok(if is_as_good { left } else { spec })
}

/// A repaired spec, or the one that the program was exported with where that is right and allows more: with the entries
/// of the repaired one that are wider, if that is right, too.
fn wider(fixed: Spec, contract: &Contract, check: &CheckSpec) -> Result<Spec, CheckError> {
    let recorded = Spec::initial(contract, Width::Recorded);
    let Some(both) = fixed.at_least_as_wide_as(&recorded).ok().flatten() else { return Ok(fixed) };
    if check(Some(&recorded))?.verdict != Outcome::Ok {
        return Ok(fixed);
    }
    let is_right = check(Some(&both))?.verdict == Outcome::Ok;
    Ok(if is_right { both } else { recorded })
}
