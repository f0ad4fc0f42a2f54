//! The law of wrong records: a record that differs from what its call gives speaks against the program, unless
//! nothing uses the value (a note) or the call rests on an operator that is not known (not looked into).
use crate::campaign::{Tally, hold};
use crate::text_programs;
use proptest::prelude::*;
use sizewise::check::Checker;
use sizewise::ir::pt2::write_json;
use sizewise::kernels::Operators;
use sizewise::report::{GuardReport, GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use std::collections::BTreeSet;

/// The dtype and the sizes of a tensor.
#[derive(Clone, Debug, PartialEq)]
struct Form {
    dtype: &'static str,
    sizes: Vec<&'static str>,
}

const DTYPES: [(&str, &str); 3] = [("f16", "float16"), ("f32", "float32"), ("f64", "float64")];

/// The inputs: `a` to `d`.
fn inputs() -> Vec<Form> {
    let form = |dtype, sizes: &[&'static str]| Form { dtype, sizes: sizes.to_vec() };
    vec![form("f32", &["s0", "3"]), form("f32", &["3", "3"]), form("f16", &["3", "4"]), form("f64", &["s1"])]
}

impl Form {
    fn text(&self) -> String {
        format!("{}[{}]", self.dtype, self.sizes.join(", "))
    }

    /// Another form: another dtype, another size, or a dimension more.
    fn spoilt(&self, how: usize) -> Form {
        let mut form = self.clone();
        let others: Vec<&str> = DTYPES.iter().map(|(name, _)| *name).filter(|d| *d != self.dtype).collect();
        match (how % 3, self.sizes.len()) {
            (0, _) => form.dtype = others[how / 3 % 2],
            (1, rank) if rank > 0 => {
                let at = how / 3 % rank;
                let sizes: Vec<&str> = ["s0", "s1", "3", "4", "5"].into_iter().collect();
                let others: Vec<&str> = sizes.into_iter().filter(|s| *s != self.sizes[at]).collect();
                form.sizes[at] = others[how / 9 % others.len()];
            }
            _ => form.sizes.push("3"),
        }
        form
    }
}

#[derive(Clone, Copy, Debug)]
enum Operator {
    Relu,
    To(usize),
    Sum,
    Unsqueeze,
    Transpose,
    Mul,
    Product,
    /// Nothing is known of it: its record may be anything.
    Unknown,
}

/// What a call gives, or that it cannot be made.
enum Given {
    Form(Form),
    Refused,
}

impl Operator {
    fn text(self, a: &str, b: &str) -> String {
        match self {
            Operator::Relu => format!("aten.relu.default({a})"),
            Operator::To(dtype) => format!("aten.to.dtype({a}, torch.{})", DTYPES[dtype].1),
            Operator::Sum => format!("aten.sum.dim_IntList({a}, [-1])"),
            Operator::Unsqueeze => format!("aten.unsqueeze.default({a}, 0)"),
            Operator::Transpose => format!("aten.transpose.int({a}, 0, 1)"),
            Operator::Mul => format!("aten.mul.Tensor({a}, {b})"),
            Operator::Product => format!("aten.mm.default({a}, {b})"),
            Operator::Unknown => format!("my.op.default({a})"),
        }
    }

    /// What the call gives; nothing is said where that is a matter of sizes that are open.
    fn gives(self, a: &Form, b: &Form) -> Option<Given> {
        let form = |dtype, sizes: &[&'static str]| Some(Given::Form(Form { dtype, sizes: sizes.to_vec() }));
        match self {
            Operator::Relu | Operator::Unknown => form(a.dtype, &a.sizes),
            Operator::To(dtype) => form(DTYPES[dtype].0, &a.sizes),
            // Of a number it is the number.
            Operator::Sum => form(a.dtype, a.sizes.split_last().map_or(&[][..], |(_, rest)| rest)),
            Operator::Unsqueeze => form(a.dtype, &[&["1"], a.sizes.as_slice()].concat()),
            Operator::Transpose => match a.sizes.as_slice() {
                [x, y, rest @ ..] => form(a.dtype, &[&[*y, *x], rest].concat()),
                _ => Some(Given::Refused),
            },
            Operator::Mul if a.sizes == b.sizes => {
                let rank = |name| DTYPES.iter().position(|(known, _)| *known == name);
                form(if rank(a.dtype) < rank(b.dtype) { b.dtype } else { a.dtype }, &a.sizes)
            }
            Operator::Mul => None,
            Operator::Product => match (a.sizes.as_slice(), b.sizes.as_slice()) {
                ([x, k], [l, y]) if k == l && a.dtype == b.dtype => form(a.dtype, &[*x, *y]),
                ([_, k], [l, _]) if k == l => Some(Given::Refused),
                ([_, _], [_, _]) => None,
                _ => Some(Given::Refused),
            },
        }
    }
}

/// A call on values that there are already, and how its record is spoilt.
#[derive(Clone, Debug)]
struct Call {
    operator: Operator,
    operands: [prop::sample::Index; 2],
    /// Whether the first operand is the last value.
    goes_on: bool,
    spoilt: Option<usize>,
}

fn call() -> impl Strategy<Value = Call> {
    let operator = prop_oneof![
        2 => Just(Operator::Relu),
        2 => (0..DTYPES.len()).prop_map(Operator::To),
        1 => Just(Operator::Sum),
        1 => Just(Operator::Unsqueeze),
        1 => Just(Operator::Transpose),
        2 => Just(Operator::Mul),
        2 => Just(Operator::Product),
        2 => Just(Operator::Unknown),
    ];
    let operands = [any::<prop::sample::Index>(), any::<prop::sample::Index>()];
    let spoilt = prop::option::weighted(0.3, 0..90usize);
    (operator, operands, any::<bool>(), spoilt).prop_map(|(operator, operands, goes_on, spoilt)| Call {
        operator,
        operands,
        goes_on,
        spoilt,
    })
}

/// A value of a program.
struct Made {
    name: String,
    /// As it is recorded, which is what others take.
    record: Form,
    /// What the call gives, where the operator is known.
    given: Option<Given>,
    used: bool,
    /// The call rests on an operator that is not known.
    hidden: bool,
}

/// A program, and what is to be said of each of its values.
struct Drawn {
    lines: Vec<String>,
    values: Vec<Made>,
}

/// What is said of a node.
#[derive(Debug, PartialEq)]
enum Said {
    /// Nothing.
    Right,
    /// The record is wrong, or may be.
    Wrong,
    /// The record is wrong, and nothing uses it.
    Unused,
    /// The node is not looked into.
    Hidden,
}

fn drawn(calls: &[Call], returned: prop::sample::Index) -> Drawn {
    let input = |(at, record): (usize, Form)| {
        let name = ["a", "b", "c", "d"][at].to_string();
        Made { name, record, given: None, used: true, hidden: false }
    };
    let mut values: Vec<Made> = inputs().into_iter().enumerate().map(input).collect();
    let mut lines = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let [a, b] = call.operands.map(|index| index.index(values.len()));
        let a = if call.goes_on { values.len() - 1 } else { a };
        let hides = |values: &[Made], x: usize| {
            values[x].hidden || matches!((&values[x].given, x >= 4), (None, true))
        };
        let of = |operator: Operator| operator.gives(&values[a].record, &values[b].record);
        let binary = matches!(call.operator, Operator::Mul | Operator::Product);
        let mut hidden = hides(&values, a) || binary && hides(&values, b);
        let (mut operator, mut given) = (call.operator, of(call.operator));
        // What fails for reasons of its own is another matter.
        if given.is_none() || !hidden && matches!(given, Some(Given::Refused)) {
            (operator, given, hidden) = (Operator::Relu, of(Operator::Relu), hides(&values, a));
        }
        let mut record = match &given {
            Some(Given::Form(form)) => form.clone(),
            _ => values[a].record.clone(),
        };
        if let Some(how) = call.spoilt {
            let spoilt = record.spoilt(how);
            // Of sizes that may be equal it is open whether an operator that is not known explains the difference.
            let open = |(x, y): (&&str, &&str)| x != y && [x, y].iter().any(|size| size.starts_with('s'));
            if !hidden || !record.sizes.iter().zip(&spoilt.sizes).any(open) {
                record = spoilt;
            }
        }
        let name = format!("v{at}");
        let text = operator.text(&values[a].name, &values[b].name);
        lines.push(format!("{name}: \"{}\" = torch.ops.{text}", record.text()));
        values[a].used = true;
        values[b].used |= matches!(operator, Operator::Mul | Operator::Product);
        let given = given.filter(|_| !matches!(operator, Operator::Unknown));
        values.push(Made { name, record, given, used: false, hidden });
    }
    let at = returned.index(values.len());
    values[at].used = true;
    lines.push(format!("return ({},)", values[at].name));
    Drawn { lines, values: values.split_off(4) }
}

impl Made {
    fn expected(&self) -> Said {
        match &self.given {
            None | Some(Given::Refused) => Said::Hidden,
            Some(Given::Form(form)) if *form == self.record => Said::Right,
            Some(Given::Form(_)) if !self.used => Said::Unused,
            Some(Given::Form(_)) if self.hidden => Said::Hidden,
            Some(Given::Form(_)) => Said::Wrong,
        }
    }

    /// The sizes, as given and as recorded, that differ for some inputs and agree for others; and whether nothing
    /// else differs.
    fn open(&self) -> (Vec<(&'static str, &'static str)>, bool) {
        let Some(Given::Form(form)) = &self.given else { return (Vec::new(), false) };
        if form.dtype != self.record.dtype || form.sizes.len() != self.record.sizes.len() {
            return (Vec::new(), false);
        }
        let pairs = form.sizes.iter().copied().zip(self.record.sizes.iter().copied());
        let differing = pairs.filter(|(x, y)| x != y);
        let is_open = |(x, y): &(&str, &str)| x.starts_with('s') || y.starts_with('s');
        let (open, sure): (Vec<_>, Vec<_>) = differing.partition(is_open);
        (open.into_iter().map(|(x, y)| (x.min(y), x.max(y))).collect(), sure.is_empty())
    }

    fn said(&self, report: &Report) -> Said {
        let is = |node: &str| node == self.name;
        let guard = |g: &GuardReport| g.verdict != GuardVerdict::Implied && g.node.as_deref().is_some_and(is);
        if report.mismatches.iter().any(|m| is(&m.node)) || report.guards.iter().any(guard) {
            Said::Wrong
        } else if report.unsupported.iter().any(|u| is(&u.node)) {
            Said::Hidden
        } else if report
            .diagnostics
            .iter()
            .any(|d| d.code == "unused-mismatch" && d.node.as_deref().is_some_and(is))
        {
            Said::Unused
        } else {
            Said::Right
        }
    }
}

#[test]
fn a_wrong_record_speaks_against_a_program_where_it_is_used_and_nothing_explains_it() {
    let (operators, tally) = (Operators::new(), Tally::new("wrong records"));
    let parameters: Vec<String> = inputs()
        .iter()
        .zip(["a", "b", "c", "d"])
        .map(|(form, name)| format!("{name}: \"{}\"", form.text()))
        .collect();
    hold(400, &(prop::collection::vec(call(), 1..9), any::<prop::sample::Index>()), |(calls, returned)| {
        let drawn = drawn(&calls, returned);
        let source = text_programs::module(&parameters.join(", "), &drawn.lines);
        let json = write_json(&text_programs::program(&source)).expect("JSON");
        let checker = Checker::read("drawn", json.as_bytes()).expect("a program");
        let report = checker.check(None, &operators, &Budget::default()).expect("a report");
        let (mut verdict, mut may_be_violated) = (Outcome::Ok, false);
        let mut compared = BTreeSet::new();
        for value in &drawn.values {
            tally.add(1);
            let expected = value.expected();
            let (open, nothing_else) = value.open();
            verdict = verdict.max(match expected {
                // What comes out may be as recorded even so.
                Said::Wrong if nothing_else => Outcome::Unknown,
                Said::Wrong => Outcome::Violated,
                Said::Hidden => Outcome::Unknown,
                Said::Right | Said::Unused => Outcome::Ok,
            });
            may_be_violated |= expected == Said::Wrong;
            // One condition is decided once, at the first node that it is about; none where nothing uses the value.
            let known = open.iter().all(|pair| compared.contains(pair));
            let unspoken = nothing_else && !open.is_empty() && (known || expected == Said::Unused);
            if expected == Said::Wrong {
                compared.extend(open);
            }
            let said = value.said(&report);
            prop_assert!(
                said == expected || unspoken && said == Said::Right,
                "{}: {said:?}, not {expected:?}\n{source}",
                value.name
            );
        }
        let violated = may_be_violated && report.verdict == Outcome::Violated;
        prop_assert!(report.verdict == verdict || violated, "{:?}\n{source}", report.verdict);
        Ok(())
    });
}
