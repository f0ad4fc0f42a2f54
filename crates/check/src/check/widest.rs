//! The widest spec that a program supports, in either of torch's languages.
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
    /// The widest spec: any size, narrowed by the first fix where that is too wide. Of `Dim`s, where there is no fix the
    /// sizes that the program constrains are left to it. `None` if no spec was found under which everything is proved.
    ///
    /// # Errors
    /// When the program cannot be checked.
    pub fn widest(
        &self,
        language: Language,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Option<Widest>, CheckError> {
        let contract = self.contract(operators)?;
        let check = |spec: Option<&Spec>| self.check(spec, operators, budget);
        let initial = |width| match language {
            Language::Dims => Spec::initial(&contract, width),
            Language::Shapes => Spec::initial_shapes(&contract, width),
        };
        let widths: &[Width] = match language {
            Language::Dims => &[Width::Any, Width::Demanded, Width::Recorded],
            Language::Shapes => &[Width::Any, Width::Recorded],
        };
        let proved = |spec| Ok(Some(Widest { spec, is_proved: true }));
        for &width in widths {
            let spec = initial(width);
            let report = check(Some(&spec))?;
            let fixed = report.fixes.into_iter().filter(|fix| fix.proved);
            let fixed = fixed.filter_map(|fix| parsed(&fix.spec?)).find(|fixed| is_of(fixed, language));
            match (report.verdict, fixed) {
                (Outcome::Ok, _) => return proved(spec),
                (_, Some(fixed)) if language == Language::Shapes => return proved(fixed),
                (_, Some(fixed)) => return proved(wider(fixed, &contract, &check)?),
                (Outcome::Unknown, None)
                    if width == Width::Recorded && check(None)?.verdict == Outcome::Unknown =>
                {
                    return Ok(Some(Widest { spec, is_proved: false }));
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

fn parsed(spec: &Json) -> Option<Spec> {
    Spec::parse(spec.to_string().as_bytes()).ok()
}

fn is_of(spec: &Spec, language: Language) -> bool {
    spec.shapes().is_some() == (language == Language::Shapes)
}

/// A repaired spec, or the one that the program was exported with where that is right and allows more: with the entries
/// of the repaired one that are wider, if that is right, too.
fn wider(
    fixed: Spec,
    contract: &Contract,
    check: &dyn Fn(Option<&Spec>) -> Result<Report, CheckError>,
) -> Result<Spec, CheckError> {
    let recorded = Spec::initial(contract, Width::Recorded);
    let both = fixed.at_least_as_wide_as(&recorded);
    let Some(both) = both.ok().flatten() else { return Ok(fixed) };
    if check(Some(&recorded))?.verdict != Outcome::Ok {
        return Ok(fixed);
    }
    let is_right = check(Some(&both))?.verdict == Outcome::Ok;
    Ok(if is_right { both } else { recorded })
}
