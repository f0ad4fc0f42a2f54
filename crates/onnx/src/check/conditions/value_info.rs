//! Whether the sizes that a file states of values are those that it computes.
//!
//! onnxruntime plans the memory of a run by what `value_info` states: by numbers, and by names, of which equal ones are
//! equal sizes. Where it is not so, it refuses the run, or an optimization computes with the wrong size.
use super::outputs::texts;
use super::{Check, Decided, decide};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::Backend;
use sizewise_onnx_model::walk::{Given, declared};

/// How many values are listed.
const MOST: usize = 4;
const WHY: &str = "onnxruntime plans by it, and may refuse a run or compute with a wrong size; `sizewise show MODEL --as \
                   onnx` writes the shapes that are computed";

impl Check<'_> {
    /// Notes the values of which the file states other shapes than it computes.
    pub(super) fn value_info(&mut self) {
        let model = self.model;
        if model.graph.value_info.is_empty() || model.backend == Backend::Any {
            return;
        }
        let mut named = self.symbolic.names.clone();
        // Sizes that data decide are symbols of the walk.
        let mut env = self.walk.env.clone();
        let mut wrong = Vec::new();
        for info in &model.graph.value_info {
            let Some(stated) = declared(&info.name, info.r#type.as_ref()).shape else { continue };
            let value = model.number(&info.name).and_then(|number| self.walk.values.get(number)?.as_ref());
            let Some(computed) = value.and_then(|value| value.tensor()?.shape.clone()) else { continue };
            let mut is_wrong = stated.len() != computed.len();
            for (given, &size) in stated.iter().zip(&computed) {
                let expected = match given {
                    Given::Size(number) => self.symbolic.env.pool.int(*number),
                    Given::Name(name) => *named.entry(name.clone()).or_insert(size),
                    Given::Open => continue,
                };
                is_wrong |= self.may_differ(&mut env, expected, size);
            }
            if is_wrong {
                wrong.push(self.misstated(&info.name, &texts(&stated), &computed));
            }
        }
        if wrong.is_empty() {
            return;
        }
        let more = wrong.len().saturating_sub(MOST);
        wrong.truncate(MOST);
        if more > 0 {
            wrong.push(format!("{more} more"));
        }
        let shown = "value_info states the computed shapes".to_owned();
        let reason = format!("it does not: {}. {WHY}", wrong.join("; "));
        self.leave_open(self.declared_guard(shown, "the file".to_owned()), &reason);
    }

    /// Whether it is not sure that two sizes are the same wherever the model runs.
    fn may_differ(&mut self, env: &mut ShapeEnv, expected: Expr, size: Expr) -> bool {
        if expected == size {
            return false;
        }
        let same = env.pool.eq(expected, size);
        let (pool, facts) = env.facts();
        matches!(decide(pool, facts, same, &self.budget).verdict, Decided::Refuted { .. })
    }

    /// What the file states of a value, and what it computes.
    fn misstated(&self, name: &str, stated: &str, computed: &[Expr]) -> String {
        let pool = &self.walk.env.pool;
        let sizes: Vec<String> = computed.iter().map(|&e| self.symbolic.shown(pool, e)).collect();
        format!("`{name}` is stated as {stated} and computed as [{}]", sizes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::check::{Verdict, check};
    use sizewise_onnx_model::read::Model;

    #[test]
    fn what_a_file_states_of_values_is_compared() {
        let table = [
            ("float[N, 4] m", Verdict::Ok),
            ("float[k, 4] m", Verdict::Ok),
            ("float[?, 4] m", Verdict::Ok),
            ("float[k, 4] m, float[k, 4] y", Verdict::Ok),
            ("float[2, 4] m", Verdict::Unknown),
            ("float[N, 5] m", Verdict::Unknown),
            ("float[N] m", Verdict::Unknown),
            // Equal names of different sizes.
            ("float[k, 4] m, float[k, N] t", Verdict::Unknown),
            // Data decide the size.
            ("int64[1, N] z", Verdict::Unknown),
            ("int64[1, k] z", Verdict::Ok),
        ];
        for (stated, verdict) in table {
            let text = format!(
                "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N, 4] x, float[K] b) => (float[4, N] t, int64[1, q] z) <{stated}> {{\n \
                 m = Relu(x)\n t = Transpose(m)\n z = NonZero(b)\n}}"
            );
            let found = check(&Model::read(text.into_bytes()).expect(stated));
            assert_eq!(found.verdict, verdict, "{stated}: {:?}", found.guards);
        }
    }
}
