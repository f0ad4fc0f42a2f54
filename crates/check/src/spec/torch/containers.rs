//! Where a program's inputs have tuples: torch.export takes a spec only if its containers are of the same types.
use rustc_hash::FxHashMap;
use sizewise_ir::{PathStep, Program};

/// The containers of a program's inputs that are tuples, by the names that a spec has for the way to them.
#[derive(Clone, Debug, Default)]
pub struct Tuples {
    is_tuple: bool,
    inner: FxHashMap<String, Tuples>,
}

impl Tuples {
    /// The tuples among a program's inputs; none where the program does not record how it is called.
    pub fn of(program: &Program) -> Tuples {
        let mut root = Tuples::default();
        for path in program.tuples().unwrap_or_default() {
            let end = path.iter().fold(&mut root, |at, step| at.inner.entry(step_name(step)).or_default());
            end.is_tuple = true;
        }
        root
    }

    /// Whether a tuple stands here.
    pub(in crate::spec) fn is_tuple(&self) -> bool {
        self.is_tuple
    }

    /// What stands below a key, or the number of an element.
    pub(in crate::spec) fn below(&self, key: &str) -> Option<&Tuples> {
        self.inner.get(key)
    }
}

/// The name that a spec has for a step: the number of an element, or a key.
fn step_name(step: &PathStep) -> String {
    match step {
        PathStep::Index(i) => i.to_string(),
        PathStep::Parameter(name) | PathStep::Field(name) => name.to_string(),
        PathStep::Key(key) => key.name(),
    }
}
