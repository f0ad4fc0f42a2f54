//! Whether the outputs are as the model declares them.
use super::{BUDGET, Check, Condition, Decided, Verdict, decide};
use crate::check::declaration::Declared;
use crate::check::evaluate::evaluate_for_any_data;
use crate::check::findings::{DATA_DECIDE, Data, WrongOutput};
use crate::check::names;
use crate::check::plain::plain;
use crate::shape::{Dtype, Value};
use crate::walk::{Given, declared};
use rustc_hash::FxHashMap;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Symbol};

/// Why it stays open whether an output is as declared.
const NO_EXAMPLE: &str = "no input was found that shows it";
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

/// That an output, or a size of it, is as declared.
fn of_output((output, dim): (&str, Option<usize>), declared: &str) -> Condition {
    let place = match dim {
        Some(dim) => format!("{output}.shape[{dim}]"),
        None => format!("{output}.shape"),
    };
    let shown = format!("{place} == {declared}");
    let because = format!("the model declares {place} as {declared}");
    Condition { expr: shown.clone(), shown, because, ..Condition::default() }
}

impl Check<'_> {
    /// Notes that it is not known whether an output is as declared.
    fn not_known(&mut self, output: (&str, Option<usize>), declared: &str, reason: &str) {
        self.pending.push((of_output(output, declared), reason.to_owned()));
        self.lower(Verdict::Unknown);
    }

    /// Notes that a list is of another type than is declared: onnxruntime does not load such a model.
    fn not_of_type(&mut self, output: &str, (declared, derived): (Dtype, Dtype)) {
        let shown = format!("{output}: seq({})", declared.name());
        let because = format!("the model declares {shown}");
        let condition = Condition { expr: shown.clone(), shown, because, ..Condition::default() };
        self.pending.push((condition, format!("it is computed as seq({})", derived.name())));
        self.lower(Verdict::Unknown);
    }

    /// Sees to it that a verdict which is open has a reason.
    pub(super) fn said(&mut self) {
        let is_said = !self.report.undecided.is_empty() || !self.report.unknown.is_empty();
        if self.report.verdict == Verdict::Unknown && !is_said {
            self.report.undecided.append(&mut self.pending);
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
                self.compare_example(at, &output.name, sizes, &named);
                // Other sizes, or other data, may make another rank.
                self.not_known((&output.name, None), &sizes.len().to_string(), NOT_KNOWN);
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
        let known = |s: &Symbol| self.symbolic.symbols.iter().any(|(symbol, _)| symbol == s);
        !self.symbolic.env.pool.free_symbols(&[size]).iter().all(known)
    }

    /// Compares an output whose sizes only data decide with what is declared, at the example.
    fn compare_example(&mut self, at: usize, name: &str, sizes: &[Given], named: &FxHashMap<String, Expr>) {
        let text = texts(sizes);
        let open = (name, None);
        let Some(example) = self.example() else { return self.not_known(open, &text, NO_EXAMPLE) };
        let stated: Vec<Option<Expr>> = sizes
            .iter()
            .map(|given| match given {
                Given::Name(text) => self.stated(text, named),
                _ => None,
            })
            .collect();
        let made = evaluate_for_any_data(self.model, &example).ok();
        let made = made.and_then(|mut evaluated| evaluated.outputs.get_mut(at).and_then(Option::take));
        let hint = |symbol| self.symbolic.hint(symbol);
        let expected = |(given, stated): (&Given, &Option<Expr>)| match given {
            Given::Size(number) => Some(*number),
            Given::Name(_) => self.symbolic.value((*stated)?, &hint),
            Given::Open => None,
        };
        let expected: Vec<Option<i64>> = sizes.iter().zip(&stated).map(expected).collect();
        if expected.iter().all(Option::is_none) && made.as_ref().is_none_or(|m| m.len() == sizes.len()) {
            return;
        }
        let Some(made) = made else { return self.not_known(open, &text, NO_EXAMPLE) };
        if made.len() != sizes.len() {
            let ranks = (format!("rank {}", sizes.len()), format!("rank {}", made.len()));
            return self.wrong(name, Declared::Shape(vec![None; made.len()]), ranks, (example, None));
        }
        for (dim, (stated, made)) in expected.iter().zip(&made).enumerate() {
            if let (&Some(stated), Some(made)) = (stated, made.number())
                && stated != made
            {
                let texts = (stated.to_string(), made.to_string());
                return self.wrong(name, Declared::Size(dim, None), texts, (example, None));
            }
        }
        self.not_known(open, &text, DATA_DECIDE);
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
                let condition = of_output(open, &stated);
                self.report.undecided.push((condition, BUDGET.to_owned()));
                return self.lower(Verdict::Unknown);
            }
            Decided::Refuted { witness } => witness,
        };
        let value = |symbol: Symbol| {
            let found = witness.iter().find(|(s, _)| *s == symbol).and_then(|(_, v)| v.to_i64());
            found.or_else(|| self.symbolic.hint(symbol))
        };
        let Some(sizes) = self.symbolic.at(value) else {
            return self.not_known(open, &stated, NO_EXAMPLE);
        };
        let evaluated = evaluate_for_any_data(self.model, &sizes).ok();
        let made = evaluated.and_then(|evaluated| evaluated.outputs.get(at)?.as_ref()?.get(dim)?.number());
        if made.is_none() || made == self.symbolic.value(expected, &value) {
            return self.not_known(open, &stated, NO_EXAMPLE);
        }
        let sizes = self.smaller_wrong((at, dim), expected, &sizes).unwrap_or(sizes);
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
        (inputs, data): (FxHashMap<String, Vec<i64>>, Option<Data>),
    ) {
        let inputs = self.ordered(inputs);
        let output = output.to_owned();
        self.report.wrong_outputs.push(WrongOutput { output, right, declared, derived, inputs, data });
        self.lower(Verdict::Violated);
    }
}
