//! Whether the outputs are as the model declares them.
use super::decided::BUDGET;
use super::{
    Check, DATA_DECIDE, Data, Decided, Given as Sizes, GuardReport, MismatchReport, NO_EXAMPLE, Outcome,
    Witness, WrongOutput, decide, report,
};
use crate::check::declaration::Declared;
use crate::check::evaluate::evaluate_for_any_data;
use crate::check::names;
use crate::check::plain::plain;
use rustc_hash::FxHashMap;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Symbol};
use sizewise_onnx_model::shape::{Dtype, Value};
use sizewise_onnx_model::walk::{Given, declared};

/// Longer texts are no declaration that anybody reads.
const MAX_DECLARED: usize = 60;
const NOT_KNOWN: &str = "the shape that the model computes is not known";

/// The sizes as they are declared.
pub(super) fn texts(sizes: &[Given]) -> String {
    let text = |given: &Given| match given {
        Given::Size(number) => number.to_string(),
        Given::Name(name) => name.clone(),
        Given::Open => "?".to_owned(),
    };
    format!("[{}]", sizes.iter().map(text).collect::<Vec<_>>().join(", "))
}

impl Check<'_> {
    /// That an output, or a size of it, is as declared.
    fn of_output(&self, (output, dim): (&str, Option<usize>), declared: &str) -> GuardReport {
        let place = match dim {
            Some(dim) => format!("{output}.shape[{dim}]"),
            None => format!("{output}.shape"),
        };
        let because = format!("the model declares {place} as {declared}");
        self.declared_guard(format!("{place} == {declared}"), because)
    }

    /// Notes that it is not known whether an output is as declared.
    fn not_known(&mut self, output: (&str, Option<usize>), declared: &str, reason: &str) {
        let guard = self.of_output(output, declared);
        self.pending.push(GuardReport { reason: Some(reason.to_owned()), ..guard });
        self.lower(Outcome::Unknown);
    }

    /// Notes that a list is of another type than is declared: onnxruntime does not load such a model.
    fn not_of_type(&mut self, output: &str, (declared, derived): (Dtype, Dtype)) {
        let shown = format!("{output}: seq({})", declared.name());
        let because = format!("the model declares {shown}");
        let reason = Some(format!("it is computed as seq({})", derived.name()));
        self.pending.push(GuardReport { reason, ..self.declared_guard(shown, because) });
        self.lower(Outcome::Unknown);
    }

    /// Sees to it that a verdict which is open has a reason.
    pub(super) fn said(&mut self) {
        let is_said = !self.undecided.is_empty() || !self.unsupported.is_empty();
        if self.verdict == Outcome::Unknown && !is_said {
            self.undecided.append(&mut self.pending);
        }
    }

    /// Compares the outputs with what is declared of them.
    pub(super) fn outputs(&mut self, results: &[Value]) {
        let model = self.model;
        let mut named = self.symbolic.names.clone();
        for (at, (message, value)) in model.graph.output.iter().zip(results).enumerate() {
            let output = declared(&message.name, message.r#type.as_ref());
            if let (Some(stated), Some(tensor)) = (output.dtype, value.tensor())
                && output.is_tensor
                && stated != tensor.dtype
            {
                let types = (stated.name().to_owned(), tensor.dtype.name().to_owned());
                self.wrong_anywhere(&output.name, Declared::Type(tensor.dtype), types);
                continue;
            }
            if let (Some(stated), Value::Sequence(sequence)) = (output.dtype, value)
                && output.is_sequence
                && stated != sequence.dtype
            {
                self.not_of_type(&output.name, (stated, sequence.dtype));
                continue;
            }
            let Some(sizes) = &output.shape else { continue };
            let Some(derived) = value.tensor().and_then(|tensor| tensor.shape.clone()) else {
                let before = self.pending.len();
                self.compare_example(at, &output.name, sizes, &named);
                // Other sizes, or other data, may make another rank: that says more than why the example is no answer.
                self.pending.truncate(before);
                self.not_known((&output.name, None), &texts(sizes), NOT_KNOWN);
                continue;
            };
            if sizes.len() != derived.len() {
                let ranks = (format!("rank {}", sizes.len()), format!("rank {}", derived.len()));
                let sizes = derived.iter().map(|&size| self.declared_text(size)).collect();
                self.wrong_anywhere(&output.name, Declared::Shape(sizes), ranks);
                continue;
            }
            for (dim, (given, &size)) in sizes.iter().zip(&derived).enumerate() {
                let expected = match given {
                    Given::Size(number) => self.symbolic.env.pool.int(*number),
                    Given::Name(name) => match self.stated(name, &named) {
                        Some(known) => known,
                        None => {
                            named.insert(name.clone(), size);
                            continue;
                        }
                    },
                    Given::Open => continue,
                };
                if self.is_open(size) {
                    self.compare_example(at, &output.name, sizes, &named);
                    break;
                }
                self.compare((at, &output.name, dim), given, expected, size);
            }
        }
    }

    /// The size of a name, or of an expression over names.
    fn stated(&self, text: &str, named: &FxHashMap<String, Expr>) -> Option<Expr> {
        // A clone is a handle of the same pool.
        let pool = &mut self.symbolic.env.pool.clone();
        named.get(text).copied().or_else(|| {
            let written = |name: &str| named.get(name).map(|&e| format!("({})", print::expression(pool, e)));
            let words = names::words(text).into_iter().map(|word| &text[word]);
            let known: FxHashMap<&str, String> =
                words.map(|word| Some((word, written(word)?))).collect::<Option<_>>()?;
            names::expression(pool, text, &|name| known.get(name).cloned())
        })
    }

    /// Whether data decide a size.
    fn is_open(&self, size: Expr) -> bool {
        let known = |s: &Symbol| self.symbolic.position(*s).is_some();
        !self.symbolic.env.pool.free_symbols(&[size]).iter().all(known)
    }

    /// Compares an output whose sizes only data decide with what is declared, at the example.
    fn compare_example(&mut self, at: usize, name: &str, sizes: &[Given], named: &FxHashMap<String, Expr>) {
        let (text, open) = (texts(sizes), (name, None));
        let Some(example) = self.example() else { return self.not_known(open, &text, NO_EXAMPLE) };
        let says = |given: &Given| match given {
            Given::Size(_) => true,
            Given::Name(text) => self.stated(text, named).is_some(),
            Given::Open => false,
        };
        let says = sizes.iter().any(says);
        let mut named = self.sizes_of(named, &self.values(&Witness::new()));
        let made = evaluate_for_any_data(self.model, &example).ok();
        match made.and_then(|mut evaluated| evaluated.outputs.get_mut(at).and_then(Option::take)) {
            None if says => self.not_known(open, &text, NO_EXAMPLE),
            Some(made) if self.is_as_declared(at, (&example, None), &mut named, &made) && says => {
                self.not_known(open, &text, DATA_DECIDE);
            }
            _ => {}
        }
    }

    fn compare(&mut self, (at, name, dim): (usize, &str, usize), given: &Given, expected: Expr, size: Expr) {
        let same = self.symbolic.env.pool.eq(expected, size);
        let stated = match given {
            Given::Size(number) => number.to_string(),
            Given::Name(name) => name.clone(),
            Given::Open => "?".to_owned(),
        };
        let open = (name, Some(dim));
        if self.is_open(same) {
            return self.not_known(open, &stated, DATA_DECIDE);
        }
        let conditions: Vec<Expr> = self.walk.env.guards().iter().map(|guard| guard.condition).collect();
        let mut env = self.symbolic.env.clone();
        // The output is compared where the model runs.
        conditions.into_iter().for_each(|condition| env.assume(condition));
        let (pool, facts) = env.facts();
        let witness = match decide(pool, facts, same, &self.budget).verdict {
            Decided::Implied { .. } | Decided::Inconsistent { .. } => return,
            Decided::Unknown { .. } => {
                return self.leave_open(self.of_output(open, &stated), BUDGET);
            }
            Decided::Refuted { witness } => witness,
        };
        let differs = |(witness, _): &(Witness, bool)| {
            let sizes = self.sizes_at(witness)?;
            let evaluated = evaluate_for_any_data(self.model, &sizes).ok()?;
            let made = evaluated.outputs.get(at)?.as_ref()?.get(dim)?.number()?;
            (Some(made) != self.symbolic.value(expected, &self.values(witness))).then_some(sizes)
        };
        let Some(sizes) = self.breaking(same, Some(&witness)).iter().find_map(differs) else {
            return self.not_known(open, &stated, NO_EXAMPLE);
        };
        let derived = print::expression(&env.pool, size);
        let right = self.declared_text(size).filter(|text| *text != stated);
        self.wrong(name, Declared::Size(dim, right), (stated, derived), (sizes, None));
    }

    /// The text that declares a size, if the names that inputs declare can say it.
    pub(super) fn declared_text(&self, size: Expr) -> Option<String> {
        let size = plain(&mut self.symbolic.env.clone(), size);
        let pool = &self.symbolic.env.pool;
        if let Some(number) = size.as_inline() {
            return Some(number.to_string());
        }
        let text = print::python(pool, size, &|symbol| pool.symbol_name(symbol).to_owned());
        let is_plain = text.len() <= MAX_DECLARED && !text.contains("if ") && !text.contains('%');
        // What is written reads as what is meant.
        (is_plain && self.stated(&text, &self.symbolic.names) == Some(size)).then_some(text)
    }

    /// An output that is wrong at all sizes.
    fn wrong_anywhere(&mut self, output: &str, right: Declared, texts: (String, String)) {
        match self.example() {
            Some(example) => self.wrong(output, right, texts, (example, None)),
            None => self.not_known((output, None), &texts.0, NO_EXAMPLE),
        }
    }

    pub(super) fn wrong(
        &mut self,
        output: &str,
        right: Declared,
        (declared, derived): (String, String),
        (inputs, data): (Sizes, Option<Data>),
    ) {
        let values = data.map(|data| data.elements(self.model));
        let report = MismatchReport {
            node: output.to_owned(),
            value: right.place(output),
            recorded: declared,
            derived: format!("{derived}{}", report::with_elements(values.as_ref())),
            inputs: Some(report::shapes_json(&self.ordered(inputs))),
            values,
            stack: Vec::new(),
        };
        self.wrong_outputs.push(WrongOutput { output: output.to_owned(), right, report });
        self.lower(Outcome::Violated);
    }
}
