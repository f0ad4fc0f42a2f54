//! Declared inputs of a few sizes: whatever the conditions say, a model that refuses one of them is wrong.
use super::{Check, Condition, Verdict, Violation};
use crate::check::declaration::Declared;
use crate::check::evaluate::{Evaluated, Refused, evaluate, evaluate_for_any_data};
use crate::check::examples::{SAMPLES, sampled};
use crate::check::findings::{DATA_DECIDE, Data, EVAL_DATA_BREAK};
use crate::check::names;
use crate::shape::Dtype;
use crate::walk::{Given, Input, Step, declared};
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Pool, Symbol, Value};

/// The most nodes that are visited for samples.
const MAX_SAMPLED: usize = 20_000;
/// The least number of samples, for models of any size.
const MIN_SAMPLES: usize = 2;

impl Check<'_> {
    /// Evaluates the model at a few declared inputs, and says what is wrong with the first that is not as declared. If
    /// the model is violated anyway, those are evaluated at which all its conditions hold.
    pub(super) fn samples(&mut self) {
        let visits = self.walk.visits.max(self.model.graph.node.len()).max(1);
        let count = (MAX_SAMPLED / visits).max(MIN_SAMPLES);
        let mut left_open = Vec::new();
        for &sample in SAMPLES.iter().take(count) {
            let is_violated = self.report.verdict == Verdict::Violated;
            let size = |symbol| sampled(&self.symbolic, sample, symbol);
            if self.report.refuses.is_some() || is_violated && self.breaks_condition(&size) {
                continue;
            }
            let Some(sizes) = self.symbolic.at(size) else { continue };
            match evaluate_for_any_data(self.model, &sizes) {
                Ok(evaluated) if !is_violated => {
                    let names = &self.symbolic.names;
                    let known =
                        |(name, &e): (&String, &Expr)| Some((name.clone(), self.symbolic.value(e, &size)?));
                    let named = names.iter().filter_map(known).collect();
                    self.left_to_data(&sizes);
                    self.as_declared((&sizes, None), &named, &evaluated);
                    if self.data_decide_outputs(&evaluated) {
                        left_open.push((sizes, named));
                    }
                }
                Ok(_) => self.left_to_data(&sizes),
                Err(refused) => self.refused_for_all_data(sizes, refused),
            }
        }
        self.as_declared_for_data(&left_open);
    }

    /// Notes that data decide whether sizes are accepted, where the data of `eval` are refused.
    fn left_to_data(&mut self, sizes: &FxHashMap<String, Vec<i64>>) {
        let is_float = |input: &Input| input.dtype.is_some_and(Dtype::is_float);
        if self.symbolic.sizes.iter().all(|(input, _)| is_float(input)) {
            return;
        }
        if let Some((refused, data)) = self.refusal_on_a_branch(sizes) {
            return self.refused((sizes.clone(), Some(data)), refused);
        }
        if self
            .report
            .undecided
            .iter()
            .any(|(_, reason)| [DATA_DECIDE, EVAL_DATA_BREAK].contains(&reason.as_str()))
        {
            return;
        }
        let Some(refused) = evaluate(self.model, sizes, &FxHashMap::default()).err() else { return };
        // An index of 0 lies within every dimension that has elements.
        if evaluate(self.model, sizes, &self.filled(Data::Zeros)).is_ok() {
            return;
        }
        let Some((node, expr)) = refused.node.zip(refused.expr).filter(|_| !refused.is_unsupported) else {
            return;
        };
        // It is the condition of which the values of inputs decide at run time.
        let left = self.report.run_time.iter().map(|left| &left.condition);
        if let Some(left) = left.into_iter().find(|left| left.node == node && left.because == expr) {
            self.report.undecided.push((left.clone(), EVAL_DATA_BREAK.to_owned()));
            return self.lower(Verdict::Unknown);
        }
        let op = self.op_of(&node);
        let condition =
            Condition { shown: expr.clone(), because: expr.clone(), expr, node, op, ..Condition::default() };
        self.report.undecided.push((condition, DATA_DECIDE.to_owned()));
        self.lower(Verdict::Unknown);
    }

    /// The operator of a node.
    fn op_of(&self, node: &str) -> String {
        self.walk.steps.iter().find(|step| step.node() == node).map(Step::op).unwrap_or_default()
    }

    /// Whether one of the model's conditions on sizes does not hold.
    fn breaks_condition(&self, size: &impl Fn(Symbol) -> Option<i64>) -> bool {
        let mut evaluator = Evaluator::new(&self.symbolic.env.pool, |symbol| {
            size(symbol).map(|size| Value::Int(size.into()))
        });
        let guards = self.walk.env.guards().iter().map(|guard| guard.condition);
        let demands = self.symbolic.demands.iter().map(|demand| demand.condition);
        let failed = self.failed.iter().copied();
        guards.chain(demands).chain(failed).any(|condition| evaluator.truth(condition) == Ok(false))
    }

    /// Notes a refusal of sizes whatever the data are, if the data of `eval` are refused.
    fn refused_for_all_data(&mut self, sizes: FxHashMap<String, Vec<i64>>, refused: Refused) {
        let given = evaluate(self.model, &sizes, &FxHashMap::default()).err();
        if refused.is_unsupported || given.is_some_and(|given| !given.is_unsupported) {
            return self.refused((sizes, None), refused);
        }
        self.lower(Verdict::Unknown);
        self.report.undecided.extend(refused.node.zip(refused.expr).map(|(node, expr)| {
            let (op, shown, because) = (self.op_of(&node), expr.clone(), "an example".to_owned());
            let condition = Condition { shown, because, expr, node, op, ..Condition::default() };
            (condition, "no input was found that shows it".to_owned())
        }));
    }

    /// Notes a refusal of sizes at which all conditions hold that are known.
    fn refused(&mut self, (sizes, data): (FxHashMap<String, Vec<i64>>, Option<Data>), refused: Refused) {
        let Some(node) = refused.node.filter(|_| !refused.is_unsupported) else { return };
        let op = self.op_of(&node);
        let expr = refused.expr.unwrap_or_else(|| "False".to_owned());
        self.report.refuses = Some(node.clone());
        let because = if expr == "False" { "an example".to_owned() } else { expr.clone() };
        let condition = Condition { shown: expr.clone(), expr, node, op, because, ..Condition::default() };
        let inputs = self.ordered(sizes);
        self.report.violations.push(Violation {
            condition,
            inputs,
            data,
            message: refused.message,
            follows: false,
            works: None,
        });
        self.lower(Verdict::Violated);
    }

    /// Compares the sizes of outputs with those that are declared: numbers, and names of inputs or of outputs
    /// before them.
    pub(super) fn as_declared(
        &mut self,
        (sizes, data): (&FxHashMap<String, Vec<i64>>, Option<Data>),
        named: &FxHashMap<String, i64>,
        evaluated: &Evaluated,
    ) {
        let (model, mut named) = (self.model, named.clone());
        for (message, made) in model.graph.output.iter().zip(&evaluated.outputs) {
            let output = declared(&message.name, message.r#type.as_ref());
            let (Some(stated), Some(made)) = (&output.shape, made) else { continue };
            if stated.len() != made.len() {
                let ranks = (format!("rank {}", stated.len()), format!("rank {}", made.len()));
                return self.wrong(
                    &output.name,
                    Declared::Shape(vec![None; made.len()]),
                    ranks,
                    (sizes.clone(), data),
                );
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
                    let texts = (text, made.to_string());
                    let right = Declared::Size(dim, None);
                    return self.wrong(&output.name, right, texts, (sizes.clone(), data));
                }
            }
        }
    }
}
