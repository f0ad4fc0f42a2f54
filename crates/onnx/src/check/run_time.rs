//! The conditions that a walk leaves to run time, as sentences.
use rustc_hash::FxHashSet;
use sizewise_expr::Expr;
use sizewise_onnx_model::shape::RunTime;
use sizewise_onnx_model::walk::Walk;

/// The conditions that a walk has left to run time, each once: the step, the condition and a sentence.
pub(super) fn sentences<'w>(
    walk: &'w Walk,
    shown: impl Fn(Expr) -> String,
) -> Vec<(usize, &'w RunTime, String)> {
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    for (step, left) in &walk.run_time {
        let Some(node) = walk.steps.get(*step) else { continue };
        let size = left.size.map_or_else(|| "the input's".to_owned(), &shown);
        let sentence = left.says.replace("{}", &format!("`{}`", node.input(left.input))).replace('#', &size);
        // A loop visits its nodes again and again.
        if seen.insert((node.node(), left.clause, sentence.clone())) {
            found.push((*step, left, sentence));
        }
    }
    found
}
