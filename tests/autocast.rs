//! Calls in autocast regions, as torch makes them: `tests/data/autocast.txt`, written by `scripts/record_autocast.py`.
use sizewise::fake::Operators;
use sizewise::ir::{GraphInput, text};
use sizewise::propagate::{Interpreter, Mode, recorded};
use sizewise::spec::Contract;

/// A call in regions, from the outside in.
struct Call<'a> {
    regions: &'a str,
    operands: &'a str,
    call: &'a str,
    results: &'a str,
}

impl<'a> Call<'a> {
    fn read(line: &'a str) -> Option<Call<'a>> {
        let mut parts = line.split("; ");
        let (regions, operands, call) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Call { regions, operands, call, results: parts.next()? })
    }

    /// A program that makes the call, in which its results are recorded.
    fn program(&self) -> String {
        let split = |list: &'a str| list.replace("], ", "];");
        let operands = split(self.operands).replace("cuda, ", "cuda;");
        let parameters: Vec<String> = operands
            .split(';')
            .filter_map(|operand| operand.split_once(' '))
            .map(|(name, form)| format!("{name}: \"{form}\""))
            .collect();
        let mut source =
            format!("class M(torch.nn.Module):\n    def forward(self, {}):\n", parameters.join(", "));
        let mut line = |text: String| source.push_str(&format!("        {text}\n"));
        let regions: Vec<&str> = self.regions.split(", ").collect();
        for (index, region) in regions.iter().enumerate() {
            let words: Vec<&str> = region.split(' ').collect();
            let enabled = if words.get(2) == Some(&"off") { "False" } else { "True" };
            let arguments = format!("'{}', torch.{}, {enabled}, None", words[0], words[1]);
            line(format!("region{index} = torch.amp.autocast_mode._enter_autocast({arguments})"));
        }
        let results = if self.results == "refused" {
            "f32[]".into()
        } else {
            split(self.results).replace("cuda, ", "cuda;")
        };
        let results: Vec<&str> = results.split(';').collect();
        match results.as_slice() {
            [one] => line(format!("result0: \"{one}\" = torch.ops.{}", self.call)),
            many => {
                line(format!("results = torch.ops.{}", self.call));
                for (index, form) in many.iter().enumerate() {
                    line(format!("result{index}: \"{form}\" = results[{index}]"));
                }
            }
        }
        for index in (0..regions.len()).rev() {
            line(format!("exit{index} = torch.amp.autocast_mode._exit_autocast(region{index})"));
        }
        let names: Vec<String> = (0..results.len()).map(|index| format!("result{index}")).collect();
        line(format!("return ({},)", names.join(", ")));
        source
    }
}

/// What is wrong with a program: failures, operators without a kernel, wrong records.
fn wrong(source: &str) -> Vec<String> {
    let program = text::read(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let contract = Contract::load(&program).expect("a contract");
    let (mut env, mut records) = (contract.env.clone(), contract.records.clone());
    let mut inputs = Vec::new();
    for input in program.graph.inputs() {
        let GraphInput::Value(id) = input else { panic!("a constant") };
        inputs.push(recorded::value(&mut records, &mut env, program.graph.meta(*id)).expect("a value"));
    }
    let operators = Operators::new();
    let mut run = Interpreter::new(&program, env, records, &operators, Mode::Verify);
    run.run(inputs).expect("a run");
    let failures = run.failures.iter().map(|failure| failure.message.clone());
    let unsupported = run.unsupported.iter().map(|(_, reason)| reason.clone());
    let mismatch = |m: &sizewise::propagate::Mismatch| {
        format!("{} comes out as {}, not {}", m.value, m.derived, m.recorded)
    };
    failures.chain(unsupported).chain(run.mismatches.iter().map(mismatch)).collect()
}

#[test]
fn calls_in_regions_give_what_torch_gives() {
    let table = include_str!("data/autocast.txt");
    let mut differing = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let call = Call::read(line).unwrap_or_else(|| panic!("{line}"));
        let wrong = wrong(&call.program());
        if wrong.is_empty() == (call.results == "refused") {
            differing.push(format!("{line}: {}", wrong.join(", ")));
        }
    }
    assert!(differing.is_empty(), "{} lines\n{}", differing.len(), differing.join("\n"));
}
