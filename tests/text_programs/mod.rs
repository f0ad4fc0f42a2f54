//! Programs given as text, run on what they record of their inputs.
// Each crate of tests uses a part of this.
#![allow(dead_code)]
use sizewise_check::propagate::{Interpreter, Mode, Run, Stop, recorded};
use sizewise_check::spec::Contract;
use sizewise_ir::{Program, text};
use sizewise_kernels::{Operators, Value};

/// The text of a module whose `forward` has these parameters and lines.
pub fn module(parameters: &str, lines: &[impl AsRef<str>]) -> String {
    let mut source = format!("class M(torch.nn.Module):\n    def forward(self, {parameters}):\n");
    lines.iter().for_each(|line| source.push_str(&format!("        {}\n", line.as_ref())));
    source
}

/// The program that a text describes.
///
/// # Panics
/// When it describes none.
pub fn program(source: &str) -> Program {
    text::read(source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Runs the program that a text describes, and looks at the run and at what comes out.
///
/// # Panics
/// When the text describes no program.
pub fn run<T>(source: &str, mode: Mode, look: impl FnOnce(&mut Run, Result<Vec<Value>, Stop>) -> T) -> T {
    let program = program(source);
    let contract = Contract::load(&program).expect("a contract");
    let (mut env, mut records) = (contract.env.clone(), contract.records.clone());
    let inputs = recorded::inputs(&program, &mut records, &mut env).expect("values");
    let operators = Operators::new();
    let mut interpreter = Interpreter::new(&program, env, records, &operators, mode);
    let results = interpreter.propagate(inputs);
    look(&mut interpreter.run, results)
}
