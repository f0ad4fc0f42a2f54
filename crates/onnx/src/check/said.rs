//! What tests ask of reports.
use sizewise_check::report::{Fix, GuardReport, GuardVerdict, Needed, Report};

pub(crate) trait Said {
    fn with(&self, verdict: GuardVerdict) -> Vec<&GuardReport>;
    fn needed(&self) -> &[Needed];

    fn violated(&self) -> Vec<&GuardReport> {
        self.with(GuardVerdict::Violated)
    }

    /// The violated conditions as texts show them, those that follow from others left out.
    fn shown(&self) -> Vec<&str> {
        let own = self.violated().into_iter().filter(|guard| !guard.follows);
        own.map(|guard| guard.shown.as_str()).collect()
    }

    /// The conditions that are needed, as texts show them.
    fn needed_shown(&self) -> Vec<&str> {
        let open = [self.violated(), self.with(GuardVerdict::Unknown)].concat();
        let of = |needed: &Needed| {
            open.iter().find(|guard| guard.expr == needed.expr).map(|guard| guard.shown.as_str())
        };
        self.needed().iter().filter_map(of).collect()
    }
}

impl Said for Report {
    fn with(&self, verdict: GuardVerdict) -> Vec<&GuardReport> {
        self.guards.iter().filter(|guard| guard.verdict == verdict).collect()
    }

    fn needed(&self) -> &[Needed] {
        self.needs.as_ref().map_or(&[], |needs| &needs.conditions)
    }
}

/// Whether a condition is one on sizes, and no sentence.
pub(crate) fn is_on_sizes(guard: &GuardReport) -> bool {
    guard.shown.contains(['=', '<', '>', '%'])
}

/// The sizes of an input in a counterexample.
pub(crate) fn sizes(guard: &GuardReport, input: &str) -> Vec<i64> {
    let sizes = guard.inputs.as_ref().and_then(|inputs| inputs.get(input)?.as_array());
    sizes.into_iter().flatten().filter_map(serde_json::Value::as_i64).collect()
}

/// What a fix declares, a line a declaration.
pub(crate) fn lines(fix: &Fix) -> Vec<String> {
    fix.text.lines().take(fix.declarations.len()).map(str::to_owned).collect()
}
