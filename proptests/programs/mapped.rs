//! The law of `vmap`: calls that are mapped over a dimension give what the calls give on the whole, also where there is nothing to map over.
use crate::campaign::{Tally, config};
use crate::text_programs;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sizewise::fake::Value;
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

/// Calls: as they are made on a row, as they are made on all rows, the number of their operands, and whether a number for each row comes out.
/// `{}` stands for the operands.
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

/// A value: whether it is a number for each row, and its dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    number: bool,
    dtype: &'static str,
}

/// A program in two forms.
struct Forms {
    mapped: String,
    whole: String,
    /// What torch does with nothing.
    over_nothing: OverNothing,
}

type Call = (usize, [prop::sample::Index; 2]);

/// The forms of a program that makes calls on `rows` rows of `x` and as many numbers of `y`, and gives the last value.
fn forms(rows: &str, calls: &[Call]) -> Forms {
    let kind = |number| Kind { number, dtype: "f32" };
    let mut values = vec![("a".to_string(), kind(false)), ("b".to_string(), kind(true))];
    let (mut mapped, mut whole, mut over_nothing) = (Vec::new(), Vec::new(), OverNothing::Runs);
    for (at, (call, operands)) in calls.iter().enumerate() {
        let (row_call, whole_call, arity, reduces, nothing) = CALLS[*call];
        let fits = |value: &&(String, Kind)| {
            let plain = nothing == OverNothing::Runs && arity == 2 || value.1.dtype == "f32";
            plain && !(value.1.number && nothing == OverNothing::Open)
        };
        let fitting: Vec<&(String, Kind)> = values.iter().filter(fits).collect();
        let given: Vec<&(String, Kind)> =
            operands[..arity].iter().map(|index| fitting[index.index(fitting.len())]).collect();
        let rows_among = given.iter().any(|(_, kind)| !kind.number);
        let result = Kind {
            number: reduces || !rows_among,
            dtype: if row_call.starts_with("gt") { "b8" } else { "f32" },
        };
        let promotes = rows_among && given.iter().any(|(_, kind)| kind.number);
        if nothing == OverNothing::Promotes && promotes {
            over_nothing = OverNothing::Promotes;
        } else if nothing == OverNothing::Open && over_nothing == OverNothing::Runs {
            over_nothing = OverNothing::Open;
        }
        let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        // A number for each row meets the rows as a column.
        let columns: Vec<String> = given
            .iter()
            .map(|(name, kind)| if kind.number && rows_among { format!("{name}_column") } else { name.clone() })
            .collect();
        for (name, kind) in given.iter().filter(|(_, kind)| kind.number && rows_among) {
            let line = format!(
                "{name}_column: \"{}[{rows}, 1]\" = torch.ops.aten.unsqueeze.default({name}, 1)",
                kind.dtype
            );
            if !whole.contains(&line) {
                whole.push(line);
            }
        }
        let name = format!("v{at}");
        let line = |form: String, call: &str, names: String| {
            format!("{name}: \"{form}\" = torch.ops.aten.{}", call.replace("{}", &names))
        };
        let (row, all) = if result.number { ("[]".to_string(), format!("[{rows}]")) } else { ("[3]".to_string(), format!("[{rows}, 3]")) };
        mapped.push(line(format!("{}{row}", result.dtype), row_call, names.join(", ")));
        whole.push(line(format!("{}{all}", result.dtype), whole_call, columns.join(", ")));
        values.push((name, result));
    }
    let (last, kind) = values.last().expect("the inputs");
    let all = if kind.number { format!("{}[{rows}]", kind.dtype) } else { format!("{}[{rows}, 3]", kind.dtype) };
    let size = if rows.starts_with('s') { "n" } else { rows };
    let mut lines = vec![
        "n: \"Sym(ROWS)\" = torch.ops.aten.sym_size.int(x, 0)".replace("ROWS", rows),
        format!("enter = torch._functorch.predispatch._vmap_increment_nesting({size}, 'error')"),
        "a: \"f32[3]\" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)".to_string(),
        "b: \"f32[]\" = torch._functorch.predispatch._add_batch_dim(y, 0, 1)".to_string(),
    ];
    if !rows.starts_with('s') {
        lines.remove(0);
    }
    lines.extend(mapped);
    lines.push(format!("out: \"{all}\" = torch._functorch.predispatch._remove_batch_dim({last}, 1, {size}, 0)"));
    lines.push("exit = torch._functorch.predispatch._vmap_decrement_nesting()".to_string());
    lines.push("return (out,)".to_string());
    let parameters = |x: &str, y: &str| format!("{x}: \"f32[{rows}, 3]\", {y}: \"f32[{rows}]\"");
    whole.push(format!("return ({last},)"));
    Forms {
        mapped: text_programs::module(&parameters("x", "y"), &lines),
        whole: text_programs::module(&parameters("a", "b"), &whole),
        over_nothing,
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
        refused.extend(run.mismatches.iter().map(|m| format!("{}: {} not {}", m.value, m.derived, m.recorded)));
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
    TestRunner::new(config(300))
        .run(&(rows, prop::collection::vec(call, 1..6)), |(rows, calls)| {
            tally.add(1);
            let forms = forms(rows, &calls);
            let (mapped, whole) = (found(&forms.mapped), found(&forms.whole));
            prop_assert!(whole.refused.is_empty() && whole.unsupported == 0, "{whole:?}\n{}", forms.whole);
            let may_be_empty = matches!(rows, "0" | "s0");
            let source = &forms.mapped;
            prop_assert_eq!(&mapped.result, &whole.result, "{}", source);
            match forms.over_nothing {
                OverNothing::Promotes if may_be_empty => {
                    prop_assert!(!mapped.refused.is_empty(), "torch refuses nothing to map over:\n{source}");
                }
                OverNothing::Open if may_be_empty => {
                    prop_assert!(mapped.refused.is_empty(), "torch runs: {mapped:?}\n{source}");
                }
                _ => prop_assert_eq!(&mapped, &whole, "{}", source),
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
