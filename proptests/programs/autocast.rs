//! The law of autocast: in a region, results are what casting the operands by hand and calling the operator gives.
use crate::campaign::{Tally, hold};
use crate::text_programs;
use proptest::prelude::*;
use sizewise::ir::Dtype;
use sizewise::kernels::Value;
use sizewise::propagate::Mode;

/// What is done with operands on the CPU, as torch's documentation has it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Treatment {
    Lower,
    Full,
    Widest,
    None,
}

/// Operators on square matrices: name, number of operands, what stands around them, treatment.
const OPERATORS: &[(&str, usize, Treatment)] = &[
    ("aten.mm.default({})", 2, Treatment::Lower),
    ("aten.addmm.default({})", 3, Treatment::Lower),
    ("aten.linear.default({})", 2, Treatment::Lower),
    ("aten.matmul.default({})", 2, Treatment::Lower),
    ("aten.mse_loss.default({}, 0)", 2, Treatment::Full),
    ("aten.cdist.default({})", 2, Treatment::Full),
    ("aten.linalg_inv.default({})", 1, Treatment::Full),
    ("aten.cat.default([{}])", 2, Treatment::Widest),
    ("aten.stack.default([{}])", 3, Treatment::Widest),
    ("aten.relu.default({})", 1, Treatment::None),
    ("aten.exp.default({})", 1, Treatment::None),
    ("aten.add.Tensor({})", 2, Treatment::None),
    ("aten.mul.Tensor({})", 2, Treatment::None),
    ("aten.sum.default({})", 1, Treatment::None),
];

const DTYPES: [Dtype; 5] = [Dtype::Float32, Dtype::Bfloat16, Dtype::Float16, Dtype::Float64, Dtype::Int64];

/// A part of a program: a call on inputs, or a region.
#[derive(Clone, Debug)]
enum Part {
    Call { operator: usize, operands: Vec<usize> },
    Region { device: &'static str, dtype: Option<Dtype>, enabled: bool, parts: Vec<Part> },
}

fn part() -> impl Strategy<Value = Part> {
    let operands = prop::collection::vec(0..DTYPES.len(), 3);
    let call =
        (0..OPERATORS.len(), operands).prop_map(|(operator, operands)| Part::Call { operator, operands });
    call.prop_recursive(4, 24, 4, |inner| {
        let device = prop::sample::select(vec!["cpu", "cpu", "cpu", "cuda", "xla"]);
        let dtypes = vec![None, Some(Dtype::Bfloat16), Some(Dtype::Float16), Some(Dtype::Float32)];
        let parts = prop::collection::vec(inner, 1..4);
        (device, prop::sample::select(dtypes), prop::bool::weighted(0.8), parts)
            .prop_map(|(device, dtype, enabled, parts)| Part::Region { device, dtype, enabled, parts })
    })
}

/// The region of the CPU that holds: whether it is enabled, and its dtype.
#[derive(Clone, Copy)]
struct Held {
    enabled: bool,
    dtype: Dtype,
}

/// A call in the two forms.
struct Call {
    in_region: String,
    /// The casts, then the call.
    by_hand: Vec<String>,
    /// Autocast itself refuses it.
    refused: bool,
}

/// A line of the form with regions: one that enters or leaves a region, or the place of a call.
enum Line {
    Region(String),
    Call(usize),
}

/// The two forms of a program: with regions, and with casts by hand.
#[derive(Default)]
struct Forms {
    lines: Vec<Line>,
    calls: Vec<Call>,
    entered: usize,
}

impl Forms {
    fn write(&mut self, parts: &[Part], held: Held) {
        for part in parts {
            match part {
                Part::Call { operator, operands } => self.call(*operator, operands, held),
                Part::Region { device, dtype, enabled, parts } => {
                    let region = format!("region{}", self.entered);
                    self.entered += 1;
                    let name = dtype.map_or("None".to_string(), |dtype| format!("torch.{}", dtype.name()));
                    let flag = if *enabled { "True" } else { "False" };
                    self.lines.push(Line::Region(format!(
                        "{region} = torch.amp.autocast_mode._enter_autocast('{device}', {name}, {flag}, None)"
                    )));
                    let mut inner = held;
                    if *device == "cpu" {
                        inner.dtype = dtype.unwrap_or(held.dtype);
                        inner.enabled = *enabled && matches!(inner.dtype, Dtype::Bfloat16 | Dtype::Float16);
                    }
                    self.write(parts, inner);
                    self.lines.push(Line::Region(format!(
                        "exit_{region} = torch.amp.autocast_mode._exit_autocast({region})"
                    )));
                }
            }
        }
    }

    fn call(&mut self, operator: usize, operands: &[usize], held: Held) {
        let (call, arity, treatment) = OPERATORS[operator];
        let operands = &operands[..arity];
        let eligible = |&&x: &&usize| matches!(DTYPES[x], Dtype::Float32 | Dtype::Bfloat16 | Dtype::Float16);
        let touched: Vec<Dtype> = operands.iter().filter(eligible).map(|&x| DTYPES[x]).collect();
        let to = match treatment {
            _ if !held.enabled => None,
            Treatment::None => None,
            Treatment::Lower => Some(held.dtype),
            Treatment::Full => Some(Dtype::Float32),
            Treatment::Widest if touched.contains(&Dtype::Float32) => Some(Dtype::Float32),
            Treatment::Widest => Some(held.dtype),
        };
        // Operands are looked at in turn, until one is `float32`.
        let mut first = touched.iter().take_while(|&&dtype| dtype != Dtype::Float32);
        let refused =
            held.enabled && treatment == Treatment::Widest && first.any(|&dtype| dtype != held.dtype);
        let names: Vec<String> = operands.iter().map(|x| format!("x{x}")).collect();
        let (mut cast, mut by_hand) = (names.clone(), Vec::new());
        for (at, x) in operands.iter().enumerate().filter(|(_, x)| eligible(x)) {
            if let Some(to) = to {
                let form = format!("\"{}[4, 4]\"", to.short_name());
                by_hand
                    .push(format!("cast{at}: {form} = torch.ops.aten.to.dtype(x{x}, torch.{})", to.name()));
                cast[at] = format!("cast{at}");
            }
        }
        let line = |names: &[String]| {
            format!("r: \"f32[4, 4]\" = torch.ops.{}", call.replace("{}", &names.join(", ")))
        };
        by_hand.push(line(&cast));
        self.lines.push(Line::Call(self.calls.len()));
        self.calls.push(Call { in_region: line(&names), by_hand, refused });
    }

    /// The lines of the form with regions in which one call is made.
    fn with_regions(&self, call: usize) -> Vec<String> {
        let shown = |line: &Line| match line {
            Line::Region(text) => Some(text.clone()),
            Line::Call(at) => (*at == call).then(|| self.calls[call].in_region.clone()),
        };
        self.lines.iter().filter_map(shown).collect()
    }
}

/// What a program of these lines gives, or why it is refused.
fn result(lines: &[String]) -> Result<String, String> {
    let inputs: Vec<String> =
        DTYPES.iter().enumerate().map(|(x, d)| format!("x{x}: \"{}[4, 4]\"", d.short_name())).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain(["return (r,)"]).collect();
    let source = text_programs::module(&inputs.join(", "), &lines);
    text_programs::run(&source, Mode::Evaluate, |run, results| {
        assert!(run.unsupported.is_empty() || results.is_err(), "{:?}\n{source}", run.unsupported);
        let described = |value: &Value| match value {
            Value::Tensor(t) => format!("{}{:?}{:?}", t.dtype.name(), t.sizes, t.strides),
            other => other.kind().to_string(),
        };
        let values = results.map_err(|stop| format!("{stop:?}"))?;
        Ok(values.iter().map(described).collect())
    })
}

#[test]
fn a_region_gives_what_casting_by_hand_gives() {
    let tally = Tally::new("autocast as casts by hand");
    hold(200, &prop::collection::vec(part(), 1..5), |parts| {
        let mut forms = Forms::default();
        forms.write(&parts, Held { enabled: false, dtype: Dtype::Bfloat16 });
        for (at, call) in forms.calls.iter().enumerate() {
            tally.add(1);
            match (result(&forms.with_regions(at)), result(&call.by_hand)) {
                (Ok(in_region), Ok(by_hand)) if !call.refused => {
                    prop_assert_eq!(in_region, by_hand, "{}", call.in_region);
                }
                (Ok(_), _) => {
                    return Err(TestCaseError::fail(format!("to be refused: {}", call.in_region)));
                }
                (Err(message), Ok(_)) => prop_assert!(call.refused, "{}: {message}", call.in_region),
                (Err(_), Err(_)) => {}
            }
        }
        Ok(())
    });
}
