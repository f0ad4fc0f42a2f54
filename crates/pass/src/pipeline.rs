//! Passes by name, and pipelines that verify after each one.
use super::error::PassError;
use super::{assertions, dead_code, decompose, derive, fold, functionalize, lower, subexpressions};
use sizewise_ir::Program;
use sizewise_ir::schema::{Schema, SchemaTable};
use sizewise_kernels::Operators;
use sizewise_verify::{KnownOperators, Level, Options, Profile, Violation, verify_program};
use std::sync::Arc;

type Changed = Result<Program, PassError>;
type Closure = dyn Fn(&Program, &Operators) -> Changed + Send + Sync;

/// What a pass does with a program.
#[derive(Clone)]
enum Run {
    Function(fn(&Program, &Operators) -> Changed),
    Closure(Arc<Closure>),
}

/// A pass from program to program.
#[derive(Clone)]
pub struct Pass {
    /// The name by which it is asked for: `dce`.
    pub name: &'static str,
    /// What it does, in a line.
    pub does: &'static str,
    run: Run,
}

impl Pass {
    /// The passes that come with the crate.
    pub const ALL: &'static [Pass] = &[
        Pass {
            name: "dce",
            does: "leaves out calls that nothing uses and that have no effect",
            run: Run::Function(dead_code::run),
        },
        Pass { name: "cse", does: "makes equal calls once", run: Run::Function(subexpressions::run) },
        Pass {
            name: "fold",
            does: "replaces arithmetic on shapes by its value where that is a number, and by one value where equal",
            run: Run::Function(fold::run),
        },
        Pass {
            name: "derive",
            does: "infers what is recorded of every value anew",
            run: Run::Function(derive::run),
        },
        Pass {
            name: "assert",
            does: "asserts the ranges of sizes that only data decides where they are made",
            run: Run::Function(assertions::run),
        },
        Pass {
            name: "functionalize",
            does: "makes a training program functional: writes become results, those of states and inputs outputs",
            run: Run::Function(functionalize::run),
        },
        Pass {
            name: "decompose",
            does: "replaces operators outside the core ATen set by what they mean in core operators",
            run: Run::Function(decompose::decompose),
        },
        Pass {
            name: "edge",
            does: "takes a functional ATen program to the Edge dialect",
            run: Run::Function(lower::lower_to_edge),
        },
    ];

    /// A pass of one's own: a function, or a closure with what it was configured with.
    ///
    /// ```
    /// use sizewise_kernels::Operators;
    /// use sizewise_ir::text;
    /// use sizewise_pass::{Pass, Pipeline};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let nodes = Arc::new(AtomicUsize::new(0));
    /// let counted = nodes.clone();
    /// let count = Pass::new("count", "counts nodes", move |program, _| {
    ///     counted.fetch_add(program.graph.nodes().len(), Ordering::Relaxed);
    ///     Ok(program.clone())
    /// });
    /// let program = text::read(
    ///     "class M(torch.nn.Module):
    ///     def forward(self, x: \"f32[3]\"):
    ///         y: \"f32[3]\" = torch.ops.aten.neg.default(x)
    ///         return (y,)
    /// ",
    /// )?;
    /// Pipeline::new().then(count.clone()).then(count).run(&program, &Operators::new())?;
    /// assert_eq!(nodes.load(Ordering::Relaxed), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        name: &'static str,
        does: &'static str,
        run: impl Fn(&Program, &Operators) -> Result<Program, PassError> + Send + Sync + 'static,
    ) -> Pass {
        Pass { name, does, run: Run::Closure(Arc::new(run)) }
    }

    /// The pass of this name.
    pub fn find(name: &str) -> Option<Pass> {
        Pass::ALL.iter().find(|pass| pass.name == name).cloned()
    }

    /// What the pass makes of a program.
    ///
    /// # Errors
    /// When it cannot do its work.
    pub fn run(&self, program: &Program, operators: &Operators) -> Result<Program, PassError> {
        match &self.run {
            Run::Function(run) => run(program, operators),
            Run::Closure(run) => run(program, operators),
        }
    }
}

/// What verifiers are to know of operators.
struct Known<'o>(&'o Operators);

impl KnownOperators for Known<'_> {
    fn declared(&self, op: &str) -> Option<&Schema> {
        // An operator without a line in the table of schemas is there because someone declared it.
        let (schema, _) = self.0.find(op)?;
        (self.0.is_custom(op) || SchemaTable::global().find(op).is_none()).then_some(schema)
    }

    fn has_kernel(&self, op: &str) -> bool {
        self.0.find(op).is_some()
    }
}

/// Passes one after the other.
#[derive(Clone, Default)]
pub struct Pipeline {
    passes: Vec<Pass>,
}

impl Pipeline {
    /// A pipeline without passes.
    pub fn new() -> Pipeline {
        Pipeline::default()
    }

    /// The same with one more pass at the end.
    #[must_use]
    pub fn then(mut self, pass: Pass) -> Pipeline {
        self.passes.push(pass);
        self
    }

    /// Runs the passes, and verifies what each gives under its dialect. Rules that the program broke before are not
    /// held against a pass.
    ///
    /// # Errors
    /// When a pass fails, or breaks a rule.
    pub fn run(&self, program: &Program, operators: &Operators) -> Result<Program, PassError> {
        let mut before = broken(program, operators);
        let mut current = program.clone();
        for pass in &self.passes {
            let next = pass.run(&current, operators)?;
            let found = broken(&next, operators);
            let new: Vec<Violation> = found
                .iter()
                .filter(|violation| !before.iter().any(|known| known.rule == violation.rule))
                .cloned()
                .collect();
            if !new.is_empty() {
                return Err(PassError::Broken { pass: pass.name, violations: new });
            }
            (current, before) = (next, found);
        }
        Ok(current)
    }
}

fn broken(program: &Program, operators: &Operators) -> Vec<Violation> {
    let profile = Profile::from(program.dialect);
    let found = verify_program(program, profile, &Known(operators), &Options::default());
    found.into_iter().filter(|violation| violation.rule.level() == Level::Error).collect()
}
