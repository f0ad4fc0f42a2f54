//! Declared inputs of a few sizes: whatever the conditions say, a model that refuses one of them is wrong.
use super::{Check, Condition, Verdict, Violation};
use crate::check::evaluate::{Evaluated, Refused, evaluate};
use crate::check::names;
use crate::walk::{Given, Step, declared};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Pool};

/// The most nodes of the main graph that are visited for samples.
const MAX_SAMPLED: usize = 20_000;
/// The least number of samples, for models of any size.
const MIN_SAMPLES: usize = 2;

/// The first size and by how much each further symbol's size is greater.
const SAMPLES: &[(i64, i64)] = &[(1, 0), (2, 0), (3, 0), (8, 0), (64, 0), (5, 2), (7, 4), (16, 3)];

impl Check<'_> {
    /// Evaluates the model at a few declared inputs, and says what is wrong with the first that is not as declared.
    pub(super) fn samples(&mut self) {
        let count = (MAX_SAMPLED / self.model.graph.node.len().max(1)).max(MIN_SAMPLES);
        for &(first, step) in SAMPLES.iter().take(count) {
            if self.report.verdict == Verdict::Violated {
                return;
            }
            let size = |symbol| {
                let at = self.symbolic.symbols.iter().position(|(known, _)| *known == symbol)?;
                let (min, max) = (self.symbolic.symbols[at].1.min, self.symbolic.symbols[at].1.max);
                Some((first + step * at as i64).min(max.unwrap_or(i64::MAX)).max(min))
            };
            let Some(sizes) = self.symbolic.at(size) else { continue };
            match evaluate(self.model, &sizes, &FxHashMap::default()) {
                Ok(evaluated) => {
                    let names = &self.symbolic.names;
                    let known =
                        |(name, &e): (&String, &Expr)| Some((name.clone(), self.symbolic.value(e, &size)?));
                    let named = names.iter().filter_map(known).collect();
                    self.as_declared(sizes, named, &evaluated);
                }
                Err(refused) => self.refused(sizes, refused),
            }
        }
    }

    fn refused(&mut self, sizes: FxHashMap<String, Vec<i64>>, refused: Refused) {
        let Some(node) = refused.node.filter(|_| !refused.is_unsupported) else { return };
        let step = self.walk.steps.iter().find(|step| step.node() == node);
        let op = step.map(Step::op).unwrap_or_default();
        let expr = refused.expr.unwrap_or_else(|| "False".to_owned());
        let condition = Condition { shown: expr.clone(), expr, node, op, because: "an example".to_owned() };
        let inputs = self.ordered(sizes);
        self.report.violations.push(Violation {
            condition,
            inputs,
            message: refused.message,
            follows: false,
        });
        self.lower(Verdict::Violated);
    }

    /// Compares the sizes of outputs with those that are declared: numbers, and names of inputs or of outputs
    /// before them.
    fn as_declared(
        &mut self,
        sizes: FxHashMap<String, Vec<i64>>,
        mut named: FxHashMap<String, i64>,
        evaluated: &Evaluated,
    ) {
        let model = self.model;
        for (message, made) in model.graph.output.iter().zip(&evaluated.outputs) {
            let output = declared(&message.name, message.r#type.as_ref());
            let (Some(stated), Some(made)) = (&output.shape, made) else { continue };
            if stated.len() != made.len() {
                let ranks = (format!("rank {}", stated.len()), format!("rank {}", made.len()));
                return self.wrong(&output.name, 0, ranks, sizes);
            }
            for (dim, (stated, made)) in stated.iter().zip(made).enumerate() {
                let Some(made) = made.number() else { continue };
                let (text, expected) = match stated {
                    Given::Size(number) => (number.to_string(), *number),
                    Given::Name(name) => {
                        let known = |word: &str| named.get(word).map(|size| size.to_string());
                        let derived = names::expression(&mut Pool::new(), name, &known);
                        let derived =
                            derived.and_then(|e| e.as_inline()).filter(|_| !named.contains_key(name));
                        let expected = derived.unwrap_or_else(|| *named.entry(name.clone()).or_insert(made));
                        (name.clone(), expected)
                    }
                    Given::Open => continue,
                };
                if made != expected {
                    return self.wrong(&output.name, dim, (text, made.to_string()), sizes);
                }
            }
        }
    }
}
