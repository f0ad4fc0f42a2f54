//! Declared inputs of a few sizes: whatever the conditions say, a model that refuses one of them is wrong.
use super::{
    Check, DATA_DECIDE, Data, EVAL_DATA_BREAK, Given as Sizes, GuardReport, NO_EXAMPLE, Outcome, Witness,
    sentence,
};
use crate::check::declaration::Declared;
use crate::check::evaluate::{Evaluated, Refused, evaluate, evaluate_for_any_data};
use crate::check::examples::{SAMPLES, sampled};
use crate::check::names;
use crate::check::size::ShownSize;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Pool, Symbol};
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::walk::{Given, Input, WalkStep, declared};

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
            let is_violated = self.verdict == Outcome::Violated;
            let size = |symbol| sampled(&self.symbolic, sample, symbol);
            if self.refuses.is_some() || is_violated && self.breaks_condition(&size) {
                continue;
            }
            let Some(sizes) = self.symbolic.at(size) else { continue };
            match evaluate_for_any_data(self.model, &sizes) {
                Ok(evaluated) if !is_violated => {
                    let named = self.sizes_of_names(&size);
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
    fn left_to_data(&mut self, sizes: &Sizes) {
        let is_float = |input: &Input| input.dtype.is_some_and(Dtype::is_float);
        if self.symbolic.sizes.iter().all(|(input, _)| is_float(input)) {
            return;
        }
        if let Some((refused, data)) = self.refusal_on_a_branch(sizes) {
            return self.refused((sizes.clone(), Some(data)), refused);
        }
        let by_data = |guard: &GuardReport| {
            guard.reason.as_deref().is_some_and(|reason| [DATA_DECIDE, EVAL_DATA_BREAK].contains(&reason))
        };
        if self.undecided.iter().any(by_data) {
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
        let left = self
            .run_time
            .iter()
            .find(|left| left.after_node == node && left.message.ends_with(&format!("({expr})")));
        let sentence = left.map(|left| left.expr.clone());
        let reason = if sentence.is_some() { EVAL_DATA_BREAK } else { DATA_DECIDE };
        let guard = self.guard_of((node, expr));
        let guard = match sentence {
            Some(sentence) => GuardReport { shown: sentence.clone(), expr: sentence, ..guard },
            None => guard,
        };
        self.leave_open(guard, reason);
    }

    /// What a node asks for, by the code of its operator's condition.
    fn guard_of(&self, (node, code): (String, String)) -> GuardReport {
        let op = self.walk.steps.iter().find(|step| step.node() == node).map(WalkStep::op);
        let shown = sentence(&code);
        GuardReport { shown, ..self.guard_at((Some(node), op), code.clone(), &code) }
    }

    /// What the names of the model's sizes are at values of symbols.
    pub(super) fn sizes_of_names(&self, value: &impl Fn(Symbol) -> Option<i64>) -> FxHashMap<String, i64> {
        self.sizes_of(&self.symbolic.names, value)
    }

    /// What names are at values of symbols.
    pub(super) fn sizes_of(
        &self,
        names: &FxHashMap<String, Expr>,
        value: &impl Fn(Symbol) -> Option<i64>,
    ) -> FxHashMap<String, i64> {
        let size = |(name, &e): (&String, &Expr)| Some((name.clone(), self.symbolic.value(e, value)?));
        names.iter().filter_map(size).collect()
    }

    /// Whether one of the model's conditions on sizes does not hold.
    fn breaks_condition(&self, size: &impl Fn(Symbol) -> Option<i64>) -> bool {
        let mut evaluator = self.symbolic.evaluator(size);
        let guards = self.walk.env.guards().iter().map(|guard| guard.condition);
        let demands = self.symbolic.demands.iter().map(|demand| demand.condition);
        let failed = self.failed.iter().copied();
        guards.chain(demands).chain(failed).any(|condition| evaluator.truth(condition) == Ok(false))
    }

    /// Notes a refusal of sizes whatever the data are, if the data of `eval` are refused.
    fn refused_for_all_data(&mut self, sizes: Sizes, refused: Refused) {
        let given = evaluate(self.model, &sizes, &FxHashMap::default()).err();
        if refused.is_unsupported || given.is_some_and(|given| !given.is_unsupported) {
            return self.refused((sizes, None), refused);
        }
        self.lower(Outcome::Unknown);
        if let Some(of_node) = refused.node.zip(refused.expr) {
            self.leave_open(self.guard_of(of_node), NO_EXAMPLE);
        }
    }

    /// Notes a refusal of sizes at which all conditions hold that are known.
    fn refused(&mut self, (sizes, data): (Sizes, Option<Data>), refused: Refused) {
        let Some(node) = refused.node.filter(|_| !refused.is_unsupported) else { return };
        self.refuses = Some(node.clone());
        let guard = self.guard_of((node, refused.expr.unwrap_or_else(|| "False".to_owned())));
        self.violation(guard, (None, Witness::new()), sizes, (refused.message, data));
    }

    /// Compares the sizes of outputs with those that are declared: numbers, and names of inputs or of outputs
    /// before them.
    pub(super) fn as_declared(
        &mut self,
        (sizes, data): (&Sizes, Option<Data>),
        named: &FxHashMap<String, i64>,
        evaluated: &Evaluated,
    ) {
        let mut named = named.clone();
        for (at, made) in evaluated.outputs.iter().enumerate() {
            if let Some(made) = made
                && !self.is_as_declared(at, (sizes, data), &mut named, made)
            {
                return;
            }
        }
    }

    /// Whether an output of these sizes is as it is declared; what is wrong is noted.
    pub(super) fn is_as_declared(
        &mut self,
        at: usize,
        (sizes, data): (&Sizes, Option<Data>),
        named: &mut FxHashMap<String, i64>,
        made: &[ShownSize],
    ) -> bool {
        let Some(message) = self.model.graph.output.get(at) else { return true };
        let output = declared(&message.name, message.r#type.as_ref());
        let Some(stated) = &output.shape else { return true };
        if stated.len() != made.len() {
            let ranks = (format!("rank {}", stated.len()), format!("rank {}", made.len()));
            let right = Declared::Shape(vec![None; made.len()]);
            self.wrong(&output.name, right, ranks, (sizes.clone(), data));
            return false;
        }
        for (dim, (stated, made)) in stated.iter().zip(made).enumerate() {
            let Some(made) = made.number() else { continue };
            let (text, expected) = match stated {
                Given::Size(number) => (number.to_string(), *number),
                Given::Name(name) => {
                    let known = |word: &str| named.get(word).map(|size| size.to_string());
                    let derived = names::expression(&mut Pool::new(), name, &known);
                    let derived = derived.and_then(|e| e.as_inline()).filter(|_| !named.contains_key(name));
                    (name.clone(), derived.unwrap_or_else(|| *named.entry(name.clone()).or_insert(made)))
                }
                Given::Open => continue,
            };
            if made != expected {
                let texts = (text, made.to_string());
                self.wrong(&output.name, Declared::Size(dim, None), texts, (sizes.clone(), data));
                return false;
            }
        }
        true
    }
}
