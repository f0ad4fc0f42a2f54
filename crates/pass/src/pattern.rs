//! Rewriting by patterns: calls that fit a pattern are replaced by what a closure traces.
use super::tracer::{Edit, Proxy, TraceError, Traced, Tracer, retrace_edits};
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use sizewise_ir::{Argument, Graph, Node, Program, ValueId};
use sizewise_kernels::Operators;

/// What a call or an argument is to look like.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// Anything that is passed, under a name. Where the name comes twice, it has to be the same.
    Any(String),
    /// This integer or, where a number is passed, this number.
    Int(i64),
    /// A call of this target with these arguments; others may be passed too.
    Call {
        /// The target: `aten.mul.Tensor`.
        target: String,
        /// Parameters with what is passed for them.
        arguments: Vec<(String, Pattern)>,
    },
}

impl Pattern {
    /// Anything, under a name.
    pub fn any(name: &str) -> Pattern {
        Pattern::Any(name.to_owned())
    }

    /// A call of a target with some of its arguments.
    pub fn call<'a>(target: &str, arguments: impl IntoIterator<Item = (&'a str, Pattern)>) -> Pattern {
        let arguments = arguments.into_iter().map(|(name, pattern)| (name.to_owned(), pattern)).collect();
        Pattern::Call { target: target.to_owned(), arguments }
    }
}

/// What fits a pattern.
#[derive(Debug, Clone, Default)]
pub struct Match {
    arguments: IndexMap<String, Argument>,
}

impl Match {
    /// What stands for a name of the pattern, in the new program; `None` where the pattern has no such name.
    pub fn argument(&self, name: &str) -> Option<Argument> {
        self.arguments.get(name).cloned()
    }
}

/// Where a pattern fits: the calls in it, the last one first, and what stands for its names.
struct Found {
    nodes: Vec<usize>,
    names: IndexMap<String, Argument>,
}

/// A program in which calls that fit a pattern are replaced, front to back; calls are part of one replacement at most.
/// What a call within gives must not be used elsewhere, as it is made no more. Graphs within are kept.
///
/// ```
/// use sizewise_kernels::Operators;
/// use sizewise_ir::text;
/// use sizewise_pass::{Pattern, rewrite};
///
/// let program = text::read(
///     "class M(torch.nn.Module):
///     def forward(self, x: \"f32[s0, 3]\", w: \"f32[3, 4]\", b: \"f32[4]\"):
///         y: \"f32[s0, 4]\" = torch.ops.aten.mm.default(x, w)
///         z: \"f32[s0, 4]\" = torch.ops.aten.add.Tensor(y, b)
///         return (z,)
/// ",
/// )?;
/// let product = Pattern::call("aten.mm.default", [("self", Pattern::any("x")), ("mat2", Pattern::any("w"))]);
/// let sum = Pattern::call("aten.add.Tensor", [("self", product), ("other", Pattern::any("b"))]);
/// let operators = Operators::new();
/// let traced = rewrite(&program, &operators, &sum, |tracer, found| {
///     let given = [("self", "b"), ("mat1", "x"), ("mat2", "w")];
///     let given = given.map(|(parameter, name)| (parameter, found.argument(name).unwrap()));
///     tracer.call("aten.addmm.default", given)
/// })?;
/// let targets: Vec<String> = traced.program.graph.nodes().iter().map(|node| node.target.to_string()).collect();
/// assert_eq!(targets, ["aten.addmm.default"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the program's contract cannot be read, `replacement` fails or gives another number of results than the call, or
/// an operator refuses operands that have changed.
pub fn rewrite<'o>(
    program: &Program,
    operators: &'o Operators,
    pattern: &Pattern,
    mut replacement: impl FnMut(&mut Tracer<'o>, &Match) -> Result<Vec<Proxy>, TraceError>,
) -> Result<Traced, TraceError> {
    let found = find(&program.graph, pattern);
    let mut gone = FxHashSet::default();
    let mut roots = IndexMap::new();
    for found in found {
        let root = found.nodes[0];
        gone.extend(found.nodes.iter().skip(1).copied());
        roots.insert(root, found.names);
    }
    let mut at = 0;
    retrace_edits(program, operators, &mut |tracer, _| {
        let here = at;
        at += 1;
        if let Some(names) = roots.get(&here) {
            let now = |argument: &Argument| tracer.argument_now(argument);
            let arguments = names.iter().map(|(name, argument)| (name.clone(), now(argument))).collect();
            return replacement(tracer, &Match { arguments }).map(Edit::Replace);
        }
        Ok(if gone.contains(&here) { Edit::LeaveOut } else { Edit::Repeat })
    })
}

/// Where a pattern fits, without calls in common.
fn find(graph: &Graph, pattern: &Pattern) -> Vec<Found> {
    let mut taken: FxHashSet<usize> = FxHashSet::default();
    let mut all = Vec::new();
    for (at, node) in graph.nodes().iter().enumerate() {
        let mut found = Found { nodes: Vec::new(), names: IndexMap::new() };
        if !fits_call(graph, pattern, (at, node), &mut found)
            || found.nodes.iter().any(|at| taken.contains(at))
        {
            continue;
        }
        let inside =
            |&inner: &usize| is_inside(graph, inner, &found.nodes) && !is_named(graph, inner, &found.names);
        if found.nodes.iter().skip(1).all(inside) {
            taken.extend(found.nodes.iter().copied());
            all.push(found);
        }
    }
    all
}

/// Whether nothing outside of a match uses what a call gives.
fn is_inside(graph: &Graph, inner: usize, nodes: &[usize]) -> bool {
    let Some(node) = graph.nodes().get(inner) else { return false };
    let users_inside = graph
        .nodes()
        .iter()
        .enumerate()
        .all(|(at, user)| nodes.contains(&at) || !node.output_values().any(|value| user.uses(value)));
    let mut returned = false;
    let mut see = |id: ValueId| returned |= node.output_values().any(|value| value == id);
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut see));
    users_inside && !returned
}

/// Whether a name stands for what a call gives.
fn is_named(graph: &Graph, inner: usize, names: &IndexMap<String, Argument>) -> bool {
    let mut named = false;
    let made: Vec<ValueId> = graph.nodes().get(inner).into_iter().flat_map(Node::output_values).collect();
    names.values().for_each(|argument| argument.for_each_value(&mut |id| named |= made.contains(&id)));
    named
}

fn fits_call(graph: &Graph, pattern: &Pattern, (at, node): (usize, &Node), found: &mut Found) -> bool {
    let Pattern::Call { target, arguments } = pattern else { return false };
    if node.target.to_string() != *target {
        return false;
    }
    found.nodes.push(at);
    arguments.iter().all(|(name, pattern)| {
        node.argument(name).is_some_and(|argument| fits(graph, pattern, argument, found))
    })
}

/// Patterns nest no deeper than their author wrote them.
fn fits(graph: &Graph, pattern: &Pattern, argument: &Argument, found: &mut Found) -> bool {
    match pattern {
        Pattern::Any(name) => match found.names.get(name) {
            // Without graphs among them, arguments say all there is to them in their debug form.
            Some(known) => format!("{known:?}") == format!("{argument:?}"),
            None => {
                found.names.insert(name.clone(), argument.clone());
                true
            }
        },
        Pattern::Int(wanted) => match argument {
            Argument::Int(value) => value == wanted,
            Argument::Float(value) => *value == *wanted as f64,
            _ => false,
        },
        Pattern::Call { .. } => {
            let origin = argument.value().map(|id| graph.value(id).origin);
            let Some(sizewise_ir::Origin::Node(at)) = origin else { return false };
            graph.nodes().get(at).is_some_and(|node| fits_call(graph, pattern, (at, node), found))
        }
    }
}
