//! Calls in autocast regions, as torch makes them: `tests/data/autocast.txt`, written by `scripts/record_autocast.py`.
use crate::text_programs;

use sizewise::propagate::{Mismatch, Mode};

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

    /// The forms of its operands, by name.
    fn parameters(&self) -> Vec<(&'a str, &'a str)> {
        items(self.operands).into_iter().filter_map(|operand| operand.split_once(' ')).collect()
    }

    /// The forms of its results; of a call that is refused, any.
    fn forms(&self) -> Vec<&'a str> {
        if self.results == "refused" { vec!["f32[]"] } else { items(self.results) }
    }

    /// The arguments of its regions: `'cpu', torch.bfloat16, True, None`.
    fn regions(&self) -> Vec<String> {
        let arguments = |region: &str| {
            let words: Vec<&str> = region.split(' ').collect();
            let enabled = if words.get(2) == Some(&"off") { "False" } else { "True" };
            format!("'{}', torch.{}, {enabled}, None", words[0], words[1])
        };
        self.regions.split(", ").map(arguments).collect()
    }

    /// The lines that make a call of `target` and give its results names.
    fn lines(&self, target: &str) -> Vec<String> {
        let forms = self.forms();
        let mut lines = vec![format!("results = {target}")];
        lines.extend(
            forms.iter().enumerate().map(|(i, form)| format!("result{i}: \"{form}\" = results[{i}]")),
        );
        if let ([form], false) = (forms.as_slice(), target.contains("higher_order")) {
            lines = vec![format!("result0: \"{form}\" = {target}")];
        }
        lines
    }

    /// The lines of a forward: its head, `body`, and the return.
    fn forward(&self, body: &[String]) -> Vec<String> {
        let parameters: Vec<String> =
            self.parameters().iter().map(|(name, form)| format!("{name}: \"{form}\"")).collect();
        let names: Vec<String> = (0..self.forms().len()).map(|index| format!("result{index}")).collect();
        let mut lines = vec![format!("def forward(self, {}):", parameters.join(", "))];
        lines.extend(body.iter().map(|line| format!("    {line}")));
        lines.push(format!("    return ({},)", names.join(", ")));
        lines
    }

    /// A program that makes the call between calls that enter and leave its regions.
    fn entering(&self) -> String {
        let regions = self.regions();
        let mut body = Vec::new();
        for (index, arguments) in regions.iter().enumerate() {
            body.push(format!("region{index} = torch.amp.autocast_mode._enter_autocast({arguments})"));
        }
        body.extend(self.lines(&format!("torch.ops.{}", self.call)));
        for index in (0..regions.len()).rev() {
            body.push(format!("exit{index} = torch.amp.autocast_mode._exit_autocast(region{index})"));
        }
        format!("class M(torch.nn.Module):\n    {}\n", self.forward(&body).join("\n    "))
    }

    /// A program that makes the call in graphs that higher-order operators call, one within the other.
    fn wrapping(&self) -> String {
        let names: Vec<&str> = self.parameters().into_iter().map(|(name, _)| name).collect();
        let mut source = String::new();
        let regions = self.regions();
        for (depth, arguments) in regions.iter().enumerate() {
            let class = if depth == 0 { "M".to_string() } else { format!("inner{depth}") };
            let inner = format!("inner{}", depth + 1);
            let call = format!("wrap_with_autocast({arguments}, {inner}, {})", names.join(", "));
            let mut body = vec![format!("{inner} = self.{inner}")];
            body.extend(self.lines(&format!("torch.ops.higher_order.{call}")));
            let indent = "    ".repeat(depth);
            source.push_str(&format!("{indent}class {class}(torch.nn.Module):\n"));
            self.forward(&body).iter().for_each(|line| source.push_str(&format!("{indent}    {line}\n")));
            source.push('\n');
        }
        let indent = "    ".repeat(regions.len());
        source.push_str(&format!("{indent}class inner{}(torch.nn.Module):\n", regions.len()));
        let body = self.lines(&format!("torch.ops.{}", self.call));
        self.forward(&body).iter().for_each(|line| source.push_str(&format!("{indent}    {line}\n")));
        source
    }
}

/// A list of forms of tensors, taken apart.
fn items(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_between = move |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    list.split(is_between).map(str::trim).collect()
}

/// What is wrong with a program: failures, operators without a kernel, wrong records.
fn wrong(source: &str) -> Vec<String> {
    text_programs::run(source, Mode::Verify, |run, results| {
        results.expect("a run");
        let failures = run.failures.iter().map(|failure| failure.message.clone());
        let unsupported = run.unsupported.iter().map(|(_, reason)| reason.clone());
        let mismatch = |m: &Mismatch| format!("{} comes out as {}, not {}", m.value, m.derived, m.recorded);
        failures.chain(unsupported).chain(run.mismatches.iter().map(mismatch)).collect()
    })
}

#[test]
fn calls_in_regions_give_what_torch_gives() {
    let table = include_str!("data/autocast.txt");
    let mut differing = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let call = Call::read(line).unwrap_or_else(|| panic!("{line}"));
        for source in [call.entering(), call.wrapping()] {
            let wrong = wrong(&source);
            if wrong.is_empty() == (call.results == "refused") {
                differing.push(format!("{line}: {}", wrong.join(", ")));
            }
        }
    }
    assert!(differing.is_empty(), "{} lines\n{}", differing.len(), differing.join("\n"));
}
