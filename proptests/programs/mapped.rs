//! The law of `vmap`: calls that are mapped over a dimension give what the calls give on the whole, also where there
//! is nothing to map over.
use crate::campaign::{Tally, hold};
use crate::text_programs;
use proptest::prelude::*;
use sizewise::kernels::Value;
use sizewise::propagate::Mode;

/// What torch does with a call whose mapped dimension is empty.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OverNothing {
    /// It runs, whatever it is given.
    Runs,
    /// It fails where one of its two operands is a number for each row and the other one is a row.
    Promotes,
    /// It runs, which need not be known.
    Open,
}

/// Calls: as they are made on a row, as they are made on all rows, the number of their operands, and whether a number
/// for each row comes out. `{}` stands for the operands.
const CALLS: &[(&str, &str, usize, bool, OverNothing)] = &[
    ("relu.default({})", "relu.default({})", 1, false, OverNothing::Runs),
    ("neg.default({})", "neg.default({})", 1, false, OverNothing::Runs),
    ("clamp.default({}, 0, 1)", "clamp.default({}, 0, 1)", 1, false, OverNothing::Runs),
    ("gelu.default({})", "gelu.default({})", 1, false, OverNothing::Runs),
    ("mul.Scalar({}, 2)", "mul.Scalar({}, 2)", 1, false, OverNothing::Runs),
    ("gt.Tensor({})", "gt.Tensor({})", 2, false, OverNothing::Runs),
    ("add.Tensor({})", "add.Tensor({})", 2, false, OverNothing::Promotes),
    ("mul.Tensor({})", "mul.Tensor({})", 2, false, OverNothing::Promotes),
    ("maximum.default({})", "maximum.default({})", 2, false, OverNothing::Promotes),
    ("sum.dim_IntList({}, [0])", "sum.dim_IntList({}, [1])", 1, true, OverNothing::Open),
    ("amax.default({}, [0])", "amax.default({}, [1])", 1, true, OverNothing::Open),
    ("softmax.int({}, 0)", "softmax.int({}, 1)", 1, false, OverNothing::Open),
    ("flip.default({}, [0])", "flip.default({}, [1])", 1, false, OverNothing::Open),
];

/// A value: its name, whether it is a number for each row, and its dtype.
#[derive(Clone)]
struct Made {
    name: String,
    number: bool,
    dtype: &'static str,
}

impl Made {
    /// Its form in the map.
    fn hidden(&self) -> String {
        format!("{}[{}]", self.dtype, if self.number { "" } else { "3" })
    }

    /// Its form for all rows.
    fn whole(&self, rows: &str) -> String {
        format!("{}[{rows}{}]", self.dtype, if self.number { "" } else { ", 3" })
    }
}

type Call = (usize, [prop::sample::Index; 2]);

/// A program in two forms, which makes calls on `rows` rows of `x` and as many numbers of `y`, and gives the last
/// value.
struct Forms {
    rows: &'static str,
    values: Vec<Made>,
    mapped: Vec<String>,
    whole: Vec<String>,
    /// What torch does with nothing.
    over_nothing: OverNothing,
}

impl Forms {
    fn new(rows: &'static str, calls: &[Call]) -> Forms {
        let input = |name: &str, number| Made { name: name.to_string(), number, dtype: "f32" };
        let values = vec![input("a", false), input("b", true)];
        let (mapped, whole, over_nothing) = (Vec::new(), Vec::new(), OverNothing::Runs);
        let mut forms = Forms { rows, values, mapped, whole, over_nothing };
        calls.iter().for_each(|call| forms.call(call));
        forms
    }

    fn call(&mut self, (call, operands): &Call) {
        let (row_call, whole_call, arity, reduces, nothing) = CALLS[*call];
        let compares = row_call.starts_with("gt");
        let fits = |value: &&Made| {
            (compares || value.dtype == "f32") && !(value.number && nothing == OverNothing::Open)
        };
        let fitting: Vec<Made> = self.values.iter().filter(fits).cloned().collect();
        let given: Vec<&Made> =
            operands[..arity].iter().map(|index| &fitting[index.index(fitting.len())]).collect();
        let (numbers, rows): (Vec<&Made>, Vec<&Made>) = given.iter().partition(|made| made.number);
        let mixed = !numbers.is_empty() && !rows.is_empty();
        match nothing {
            OverNothing::Promotes if mixed => self.over_nothing = OverNothing::Promotes,
            OverNothing::Open if self.over_nothing == OverNothing::Runs => {
                self.over_nothing = OverNothing::Open;
            }
            _ => {}
        }
        let made = Made {
            name: format!("v{}", self.values.len()),
            number: reduces || rows.is_empty(),
            dtype: if compares { "b8" } else { "f32" },
        };
        let line = |form: String, call: &str, operands: Vec<String>| {
            let call = call.replace("{}", &operands.join(", "));
            format!("{}: \"{form}\" = torch.ops.aten.{call}", made.name)
        };
        let names = given.iter().map(|made| made.name.clone()).collect();
        self.mapped.push(line(made.hidden(), row_call, names));
        let mut columns = Vec::new();
        for operand in given {
            columns.push(if mixed && operand.number { self.column(operand) } else { operand.name.clone() });
        }
        self.whole.push(line(made.whole(self.rows), whole_call, columns));
        self.values.push(made);
    }

    /// A number for each row as a column, which is how it meets the rows.
    fn column(&mut self, made: &Made) -> String {
        let name = format!("{}_column", made.name);
        let form = format!("{}[{}, 1]", made.dtype, self.rows);
        let line = format!("{name}: \"{form}\" = torch.ops.aten.unsqueeze.default({}, 1)", made.name);
        if !self.whole.contains(&line) {
            self.whole.push(line);
        }
        name
    }

    fn last(&self) -> &Made {
        self.values.last().expect("the inputs")
    }

    fn parameters(&self, x: &str, y: &str) -> String {
        format!("{x}: \"f32[{rows}, 3]\", {y}: \"f32[{rows}]\"", rows = self.rows)
    }

    fn mapped(&self) -> String {
        let is_open = self.rows.starts_with('s');
        let size = if is_open { "n" } else { self.rows };
        let mut lines = Vec::new();
        if is_open {
            lines.push(format!("n: \"Sym({})\" = torch.ops.aten.sym_size.int(x, 0)", self.rows));
        }
        let module = "torch._functorch.predispatch";
        lines.push(format!("enter = {module}._vmap_increment_nesting({size}, 'error')"));
        lines.push(format!("a: \"f32[3]\" = {module}._add_batch_dim(x, 0, 1)"));
        lines.push(format!("b: \"f32[]\" = {module}._add_batch_dim(y, 0, 1)"));
        lines.extend(self.mapped.iter().cloned());
        let (last, form) = (&self.last().name, self.last().whole(self.rows));
        lines.push(format!("out: \"{form}\" = {module}._remove_batch_dim({last}, 1, {size}, 0)"));
        lines.push(format!("exit = {module}._vmap_decrement_nesting()"));
        lines.push("return (out,)".to_string());
        text_programs::module(&self.parameters("x", "y"), &lines)
    }

    fn whole(&self) -> String {
        let mut lines = self.whole.clone();
        lines.push(format!("return ({},)", self.last().name));
        text_programs::module(&self.parameters("a", "b"), &lines)
    }
}

/// What a run finds.
#[derive(Debug, PartialEq)]
struct Found {
    /// The shape of the result.
    result: String,
    /// Failures, wrong records, and conditions on the inputs.
    refused: Vec<String>,
    unsupported: usize,
}

fn found(source: &str) -> Found {
    text_programs::run(source, Mode::Verify, |run, results| {
        let value = results.expect("a run").remove(0);
        let mut refused: Vec<String> = run.failures.iter().map(|failure| failure.message.clone()).collect();
        refused
            .extend(run.mismatches.iter().map(|m| format!("{}: {} not {}", m.value, m.derived, m.recorded)));
        refused.extend(run.comparisons.iter().map(|c| format!("{} is open", c.value)));
        refused.extend(run.env.guards().iter().map(|guard| guard.clause.to_string()));
        refused.extend(run.env.runtime_asserts().iter().map(|assert| assert.clause.to_string()));
        let Value::Tensor(tensor) = value else { panic!("no tensor") };
        let sizes: Vec<String> =
            tensor.sizes.iter().map(|&e| sizewise::expr::print::expression(&run.env.pool, e)).collect();
        let result = format!("{}[{}]", tensor.dtype.short_name(), sizes.join(", "));
        Found { result, refused, unsupported: run.unsupported.len() }
    })
}

#[test]
fn mapped_calls_give_what_the_calls_give_on_the_whole() {
    let call = (0..CALLS.len(), [any::<prop::sample::Index>(), any::<prop::sample::Index>()]);
    let rows = prop::sample::select(vec!["0", "0", "1", "4", "s0"]);
    let tally = Tally::new("mapped calls");
    hold(300, &(rows, prop::collection::vec(call, 1..6)), |(rows, calls)| {
        tally.add(1);
        let forms = Forms::new(rows, &calls);
        let (source, whole) = (forms.mapped(), forms.whole());
        let (mapped, expected) = (found(&source), found(&whole));
        prop_assert!(expected.refused.is_empty() && expected.unsupported == 0, "{expected:?}\n{whole}");
        let may_be_empty = matches!(rows, "0" | "s0");
        prop_assert_eq!(&mapped.result, &expected.result, "{}", source);
        match forms.over_nothing {
            OverNothing::Promotes if may_be_empty => {
                prop_assert!(!mapped.refused.is_empty(), "torch refuses nothing to map over:\n{source}");
            }
            // It is asked for something to map over, which may turn out to be needless.
            OverNothing::Open if rows == "s0" => {}
            OverNothing::Open if rows == "0" => {
                prop_assert!(mapped.refused.is_empty(), "torch runs: {mapped:?}\n{source}");
            }
            _ => prop_assert_eq!(&mapped, &expected, "{}", source),
        }
        Ok(())
    });
}
