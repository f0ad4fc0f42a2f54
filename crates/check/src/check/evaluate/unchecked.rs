//! What the operators of a program do with inputs that the exported module refuses: whether something needs a condition, or only
//! the export checks it.
use super::{Actual, Evaluator, Refused, Shapes, hint_of, malformed, refused};
use crate::propagate::{FailureKind, Interpreter, Mode, Run, Step, Stop};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::{Hint, SymbolHints, symbol_hints};

/// What becomes of inputs where nothing but the operators can refuse them.
pub(in crate::check) enum Unchecked<'p> {
    /// All operators take them.
    Runs,
    /// An operator refuses them: its step, the condition that it names, and why.
    Fails { step: Step<'p>, clause: Option<String>, message: String },
    /// That is not known.
    Open,
}

impl<'p> Evaluator<'p> {
    /// What the operators do at these shapes. Guards, ranges and assertions of numbers are not asked.
    pub(in crate::check) fn unchecked(&self, given: &Shapes) -> Unchecked<'p> {
        let Ok((sizes, values)) = self.sizes(given) else { return Unchecked::Open };
        let mut env = self.contract().env.with_own_pool();
        env.leave_assertions();
        let mut interpreter = self.interpreter(env, &values);
        let Ok(inputs) = self.inputs(&mut interpreter.run.env, &mut interpreter.records, &sizes) else {
            return Unchecked::Open;
        };
        let failure = match interpreter.propagate(inputs) {
            Ok(_) if interpreter.run.unsupported.is_empty() => return Unchecked::Runs,
            Err(Stop::Failed(failure)) if failure.kind == FailureKind::Invalid => failure,
            _ => return Unchecked::Open,
        };
        match interpreter.run.step(failure.origin) {
            Some(step) => Unchecked::Fails {
                step: step.clone(),
                clause: failure.clause.map(|clause| clause.name().to_owned()),
                message: failure.message,
            },
            None => Unchecked::Open,
        }
    }

    /// The sizes of all inputs, given or as traced, beside what the program records, and the values of its symbols there.
    pub(super) fn sizes(&self, given: &Shapes) -> Result<(Vec<Actual>, SymbolHints), Refused> {
        self.known_inputs(given)?;
        let mut sizes: Vec<Actual> = Vec::new();
        for input in &self.contract.inputs {
            self.actual(input, given.get(&input.input.placeholder), &mut sizes)?;
        }
        let known = sizes.iter().map(|(_, recorded, actual)| Ok((*recorded, hint_of(actual)?)));
        let known = known.collect::<Result<Vec<(Expr, Hint)>, Refused>>()?;
        let values = symbol_hints(&self.contract.env.pool, &known);
        Ok((sizes, values))
    }

    /// What runs the program where its symbols have these values.
    pub(super) fn interpreter(&self, mut env: ShapeEnv, values: &SymbolHints) -> Interpreter<'p> {
        let mut records = self.contract.records.clone();
        for (symbol, value) in values {
            let constant = env.pool.value_expr(value.clone());
            records.bind(*symbol, constant);
        }
        Interpreter::new(self.contract.program, env, records, self.operators, Mode::Evaluate)
    }
}

/// What a step that fails says.
pub(super) fn refused_by_step(run: &Run, stop: Stop) -> Refused {
    let failure = match stop {
        Stop::Failed(failure) => failure,
        Stop::Unreadable(error) => return malformed(error.to_string()),
    };
    let step = run.step(failure.origin);
    let message = match step {
        Some(step) => format!("{}: {}", step.op(), failure.message),
        None => failure.message.clone(),
    };
    let node = step.map(|s| s.node().into());
    Refused { node, ..refused(message, failure.clause.map(|clause| clause.to_string())) }
}
