//! Entries that a spec has forgotten: a size that it leaves static, and that the program takes equal to one that varies.
use super::error::CheckError;
use super::examine::Examination;
use super::fix::only_skips;
use super::session::Session;
use super::whole::shown_whole;
use crate::report::{Cause, Changed, Fix, GuardVerdict, Outcome};
use crate::spec::{Containers, Forgotten, Spec};
use sizewise_expr::escape::visible;
use sizewise_solve::Budget;

impl Session<'_> {
    /// The spec with the entries that it has forgotten, as a fix, with what it needs besides.
    pub(super) fn completions(&self, spec: &Spec, budget: &Budget) -> Result<Vec<Fix>, CheckError> {
        let Some((completed, forgotten)) = forgotten(self.contract(), spec) else { return Ok(Vec::new()) };
        let mut examined = self.examine(Some(&completed), budget, false)?;
        let mut fixes = match examined.report.verdict {
            Outcome::Violated => self.fixes(&completed, &mut examined, budget)?,
            Outcome::Ok => vec![self.as_it_is(&completed, true)],
            _ if only_skips(&examined.report) => vec![self.as_it_is(&completed, false)],
            _ => Vec::new(),
        };
        // A dimension in the other language is no change of one entry.
        fixes.retain(|fix| fix.assumptions.is_empty());
        fixes.truncate(1);
        let is_sure = forgotten.iter().all(|place| place.is_sure);
        for fix in &mut fixes {
            if !is_sure && fix.loses == Some(false) {
                (fix.loses, fix.cost) = (None, Some("it may also reject shapes that work".to_owned()));
            }
            let named: Vec<String> = forgotten.iter().map(comment).collect();
            let lines = shown_whole(fix).unwrap_or_else(|| fix.text.clone());
            fix.text = [named.join("\n"), lines].join("\n").trim_end().to_owned();
            let added = forgotten.iter().map(|place| Changed {
                dim: place.path.clone(),
                source: Some(place.path.clone()),
                needs: format!("{}, as {}", place.entry, place.varies),
            });
            fix.changes.splice(0..0, added);
        }
        Ok(fixes)
    }

    /// A spec under which everything is proved, as a fix.
    pub(super) fn as_it_is(&self, spec: &Spec, proved: bool) -> Fix {
        Fix {
            text: String::new(),
            spec: Some(spec.to_json()),
            code: Some(spec.to_python_with(&Containers::of(self.checker().program()))),
            proved,
            cost: Some("loses no shapes that this export serves".to_owned()),
            loses: Some(false),
            changes: Vec::new(),
            note: None,
            assumptions: Vec::new(),
            declarations: Vec::new(),
        }
    }
}

/// `# y.shape[1] is t, as x.shape[1]`
fn comment(place: &Forgotten) -> String {
    format!("# {} is {}, as {}", visible(&place.path), place.entry, visible(&place.varies))
}

/// A spec with what it has forgotten.
fn forgotten(contract: &crate::spec::Contract, spec: &Spec) -> Option<(Spec, Vec<Forgotten>)> {
    spec.resolved(contract).unwrap_or_else(|_| spec.clone()).inlined().completed(contract)
}

impl Examination<'_, '_> {
    /// Blames the spec, and not the code, for conditions that are broken only because it leaves a size static.
    pub(super) fn blame_spec(&mut self, spec: &Spec) {
        let Some((_, forgotten)) = forgotten(self.evaluator.contract(), spec) else { return };
        let mut pool = self.assumptions.env.pool.clone();
        let mut broken = Vec::new();
        for place in &forgotten {
            let (input, dim) = place.of;
            let sizes = self.assumptions.inputs.get(input).and_then(|input| input.allowed.as_ref());
            let Some(&allowed) = sizes.and_then(|sizes| sizes.get(dim)) else { continue };
            let example = pool.int(place.size.clone());
            broken.push((pool.eq(allowed, example), place));
        }
        let violated = self.report.guards.iter_mut().filter(|g| g.verdict == GuardVerdict::Violated);
        for (guard, obligation) in violated.zip(&self.violated) {
            let found = broken.iter().find(|(condition, _)| *condition == obligation.condition);
            if let Some((_, place)) = found {
                guard.cause = Cause::Forgotten;
                guard.left_static = Some(place.path.clone());
            }
        }
    }
}
