//! The conditions under which a model runs, as a checker of sizes checks them.
use super::evaluate::{evaluate, evaluate_for_any_data};
use super::examples::{SAMPLES, Walked, sampled, walked};
use super::symbolic::Symbolic;
use super::ways::is_branch;
use rustc_hash::FxHashMap;
use sizewise_check::check::minimal;
use sizewise_check::report::guard_code::{GuardSet, GuardedInput};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::Walk;
use sizewise_solve::Budget;

/// The most nodes of the main graph that are visited for samples, and the least number of samples.
const MAX_SAMPLED: usize = 20_000;
const MIN_SAMPLES: usize = 2;

/// Why a model has no checker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoGuards {
    /// A node refuses the model's inputs whatever their sizes are, as far as is known.
    #[error("no sizes are known that the model accepts: {node}: {message}")]
    Refuses {
        /// The node.
        node: String,
        /// What it says.
        message: String,
    },
    /// A node refuses sizes at which all known conditions hold.
    #[error("the conditions are not all known: {node} refuses sizes at which those hold that are: {message}")]
    Incomplete {
        /// The node.
        node: String,
        /// What it says.
        message: String,
    },
    /// The sizes of the inputs do not determine a symbol.
    #[error("no size of an input says what {0} is")]
    Undetermined(String),
    /// An input has no declared rank.
    #[error("the model does not say how many dimensions {0} has")]
    Rank(String),
}

/// The sizes that a model declares, and the conditions under which it runs.
///
/// The checker accepts sizes of at least 1 that are as declared, equal names being equal sizes, and at which every
/// condition holds that a node requires.
///
/// # Errors
/// When no sizes are known that the model accepts, or the declared sizes do not say enough.
pub fn guard_set(model: &Model, name: &str) -> Result<GuardSet, NoGuards> {
    let Walked { symbolic, mut walk, .. } = walked(model, None);
    for failure in &walk.failures {
        if let KernelError::Invalid { message, .. } = &failure.error {
            let node = walk.steps.get(failure.step).map_or_else(String::new, |step| step.node().to_owned());
            return Err(NoGuards::Refuses { node, message: message.clone() });
        }
    }
    let fitting: Vec<Expr> = super::integers::integers(&symbolic, &mut walk, &Budget::small())
        .into_iter()
        .map(|fits| fits.condition)
        .collect();
    let mut set = GuardSet {
        program: name.to_owned(),
        pool: walk.env.pool.clone(),
        inputs: Vec::new(),
        variables: Vec::new(),
        fixed: Vec::new(),
        conditions: Vec::new(),
        left_open: Vec::new(),
        not_followed: walk.unknown.len(),
    };
    let required = walk.env.guards().iter().filter(|guard| !is_branch(guard));
    unexplained(model, &symbolic, &required.map(|guard| guard.condition).collect::<Vec<_>>())?;
    let mut sizes = Vec::new();
    for (input, of_input) in symbolic.sizes.iter().filter(|(input, _)| input.is_tensor) {
        if input.shape.is_none() {
            return Err(NoGuards::Rank(input.name.clone()));
        }
        let at = set.inputs.len();
        sizes.extend(of_input.iter().enumerate().map(|(dim, &size)| (at, Some(dim), size)));
        set.inputs.push(GuardedInput::Tensor { name: input.name.clone(), sizes: of_input.clone() });
    }
    set.determine(&sizes).map_err(NoGuards::Undetermined)?;
    let symbols: Vec<Symbol> = set.variables.iter().map(|variable| variable.symbol).collect();
    let known = |e: Expr| set.pool.free_symbols(&[e]).iter().all(|symbol| symbols.contains(symbol));
    let mut conditions: Vec<Expr> = symbolic.conditions();
    conditions.extend(fitting);
    for guard in walk.env.guards() {
        match known(guard.condition) && !is_branch(guard) {
            true if !conditions.contains(&guard.condition) => conditions.push(guard.condition),
            true => {}
            // Only data decide it, or it is a way that was not walked.
            false => {
                let node = node_of(&walk, guard.origin.0 as usize);
                set.left_open.push(format!("{node}: {}", guard.clause.name()));
            }
        }
    }
    set.left_open.extend(left_to_data(&symbolic, &walk));
    let ranges: Vec<(Symbol, ValueRange)> =
        symbols.iter().map(|&symbol| (symbol, ValueRange::at_least(Int::ZERO))).collect();
    set.conditions = minimal(&mut set.pool, &ranges, &conditions);
    Ok(set)
}

/// What data decide, or nodes need that are not followed.
pub(super) fn left_to_data(symbolic: &Symbolic, walk: &Walk) -> Vec<String> {
    let pool = &walk.env.pool;
    let shown = |e| symbolic.shown(pool, e);
    let unknown = walk.unknown.iter().map(|(step, reason)| (*step, reason.to_string()));
    let asserts = walk.env.runtime_asserts().iter();
    let asserts = asserts.map(|assert| (assert.origin.0 as usize, assert.clause.name().to_owned()));
    let left = super::run_time::sentences(walk, shown).into_iter().map(|(step, _, says)| (step, says));
    let all = unknown.chain(asserts).chain(left);
    all.map(|(step, says)| format!("{}: {says}", node_of(walk, step))).collect()
}

/// The node of a step.
pub(super) fn node_of(walk: &Walk, step: usize) -> String {
    walk.steps.get(step).map_or_else(String::new, |step| step.node().to_owned())
}

/// Tries a few sizes at which all conditions hold.
///
/// # Errors
/// When a node refuses one of them with all data.
fn unexplained(model: &Model, symbolic: &Symbolic, conditions: &[Expr]) -> Result<(), NoGuards> {
    let count = (MAX_SAMPLED / model.graph.node.len().max(1)).max(MIN_SAMPLES);
    for &sample in SAMPLES.iter().take(count) {
        let size = |symbol| sampled(symbolic, sample, symbol);
        let mut evaluator = symbolic.evaluator(size);
        if conditions.iter().any(|&condition| evaluator.truth(condition) == Ok(false)) {
            continue;
        }
        let Some(sizes) = symbolic.at(size) else { continue };
        if evaluate(model, &sizes, &FxHashMap::default()).is_ok() {
            continue;
        }
        if let Err(refused) = evaluate_for_any_data(model, &sizes)
            && !refused.is_unsupported
            && let Some(node) = refused.node
        {
            return Err(NoGuards::Incomplete { node, message: refused.message });
        }
    }
    Ok(())
}
