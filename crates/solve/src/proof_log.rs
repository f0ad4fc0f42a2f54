//! Steps of proofs, recorded while a proof is found.

/// The most steps that are recorded.
const MAX_STEPS: usize = 400;

/// One step of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProofStep {
    /// The rule or the kind of argument: `normal-form`, `range`, `egraph`, `farkas`, `case`, …, or the name
    /// of a reduction.
    pub rule: String,
    /// What it says.
    pub says: String,
}

/// A record of steps, if anybody wants it.
#[derive(Debug, Default)]
pub(super) struct Log {
    steps: Option<Vec<ProofStep>>,
}

impl Log {
    /// A record that keeps nothing.
    pub fn off() -> Log {
        Log::default()
    }

    /// A record that keeps everything.
    pub fn on() -> Log {
        Log { steps: Some(Vec::new()) }
    }

    /// Records a step.
    pub fn note(&mut self, rule: &str, says: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.steps
            && steps.len() < MAX_STEPS
        {
            steps.push(ProofStep { rule: rule.to_string(), says: says() });
        }
    }

    /// Forgets what was recorded after the first steps.
    pub fn truncate(&mut self, length: usize) {
        self.steps.iter_mut().for_each(|s| s.truncate(length));
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.as_ref().map_or(0, Vec::len)
    }

    /// The steps that were recorded.
    pub fn into_steps(self) -> Vec<ProofStep> {
        self.steps.unwrap_or_default()
    }
}
