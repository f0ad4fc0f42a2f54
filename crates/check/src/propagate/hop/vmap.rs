//! The calls that `torch.vmap` leaves in a graph: inside, the mapped dimension is hidden.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use rustc_hash::FxHashSet;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::schema::{Overload, SchemaTable, Tags, Type};
use sizewise_ir::{Argument, Graph, Meta, Node, Operand, TargetKind, ValueId};
use sizewise_kernels::{Cx, Sizes, Value};

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[vmap::ALL];

clauses! { vmap {
    C1 "The dimension that is mapped over is in range."
    C2 "The dimension of the result that holds the calls is in range."
    C3 "The dimension that is mapped over is not empty, if the function could fail on it."
} }

impl<'p> Interpreter<'p> {
    /// A call of `torch._functorch.predispatch`; `None` if `function` is unknown.
    pub(in super::super) fn call_vmap(
        &mut self,
        frame: &Frame,
        function: &str,
        args: &[Value],
    ) -> Option<Result<Vec<Value>, CallError>> {
        Some(match (function, args) {
            ("lazy_load_decompositions" | "_vmap_increment_nesting" | "_vmap_decrement_nesting", _) => {
                Ok(vec![Value::None])
            }
            // _add_batch_dim(x, dim, level)
            ("_add_batch_dim", [Value::Tensor(x), Value::Int(dim), ..]) => {
                let at = Cx::new(&mut self.run.env).dim(*dim, x.rank(), vmap::C1);
                self.returned(at).and_then(|at| {
                    if at >= x.rank() {
                        return Err(CallError::Unsupported("vmap over a 0-dimensional tensor".into()));
                    }
                    self.maps_something(x.sizes[at], over_nothing(frame.graph, frame.at))?;
                    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
                    sizes.remove(at);
                    strides.remove(at);
                    Ok(vec![x.viewed(sizes, strides).into()])
                })
            }
            // _remove_batch_dim(x, level, batch_size, out_dim)
            ("_remove_batch_dim", [Value::Tensor(x), _, Value::Int(size), Value::Int(dim)]) => {
                let at = Cx::new(&mut self.run.env).dim(*dim, x.rank() + 1, vmap::C2);
                self.returned(at).map(|at| {
                    let mut sizes: Sizes = x.sizes.clone();
                    sizes.insert(at, *size);
                    let strides = Cx::new(&mut self.run.env).contiguous_strides(&sizes);
                    vec![x.viewed(sizes, strides).into()]
                })
            }
            _ => return None,
        })
    }

    /// Requires a mapped dimension not to be empty if the calls might fail then.
    fn maps_something(&mut self, size: Expr, over_nothing: OverNothing) -> Result<(), CallError> {
        let some = self.run.env.pool.ge(size, 1.into());
        match over_nothing {
            OverNothing::Runs => return Ok(()),
            // A size that is open must not be 0; a call that works on 0 all the same gives no counterexample.
            OverNothing::Open(call) if self.run.env.statically(some) == Some(false) => {
                let reason = format!("whether {call} runs where there is nothing to map over is not known");
                return Err(CallError::Unsupported(reason));
            }
            _ => {}
        }
        let result =
            Cx::new(&mut self.run.env).require(some, vmap::C3, |_| "vmap over an empty dimension".into());
        self.returned(result)
    }
}

/// The most calls that are examined for their behaviour on an empty dimension.
const MAX_MAPPED: usize = 256;

/// What calls do whose mapped dimension is empty.
enum OverNothing {
    Runs,
    Fails,
    /// It is not known of this one.
    Open(String),
}

/// What the calls mapped from a node on do where the mapped dimension is empty. `vmap` itself runs, and so do
/// most element-wise operators. Of the others, some run as well, some give shapes of their own, and those
/// without a batching rule fail.
fn over_nothing(graph: &Graph, from: usize) -> OverNothing {
    let (mut depth, mut open) = (0_usize, None);
    let mut mapped = Mapped::before(graph, from);
    for node in graph.nodes().iter().skip(from + 1).take(MAX_MAPPED) {
        mapped.follow(node);
        let found = match node.target.kind() {
            TargetKind::Python { function, .. } => {
                match &**function {
                    "_vmap_increment_nesting" => depth += 1,
                    "_vmap_decrement_nesting" if depth == 0 => {
                        return open.map_or(OverNothing::Runs, OverNothing::Open);
                    }
                    "_vmap_decrement_nesting" => depth -= 1,
                    _ => {}
                }
                OverNothing::Runs
            }
            TargetKind::Op { op, .. } => mapped.over_nothing(graph, node, op, depth > 0),
            TargetKind::HigherOrder(_) | TargetKind::Extension { .. } => {
                OverNothing::Open(node.target.to_string())
            }
        };
        match found {
            OverNothing::Runs => {}
            OverNothing::Fails => return OverNothing::Fails,
            OverNothing::Open(call) => open = open.or(Some(call)),
        }
    }
    OverNothing::Open(open.unwrap_or_else(|| "every call".to_string()))
}

/// The values that have a hidden dimension.
struct Mapped {
    values: FxHashSet<ValueId>,
    /// Whether all nodes were looked at, so that other values have none.
    is_complete: bool,
}

impl Mapped {
    /// Those that a node and the nodes before it give.
    fn before(graph: &Graph, at: usize) -> Mapped {
        let mut mapped = Mapped { values: FxHashSet::default(), is_complete: at <= MAX_MAPPED };
        let nodes = graph.nodes().iter().take(at + 1);
        nodes.skip(at.saturating_sub(MAX_MAPPED)).for_each(|node| mapped.follow(node));
        mapped
    }

    fn follow(&mut self, node: &Node) {
        let adds = match node.target.kind() {
            TargetKind::Python { function, .. } if &**function == "_add_batch_dim" => true,
            TargetKind::Python { function, .. } if &**function == "_remove_batch_dim" => false,
            _ => {
                let mut takes = false;
                for input in &node.inputs {
                    input.arg.for_each_value(&mut |id| takes |= self.values.contains(&id));
                }
                takes
            }
        };
        if adds {
            self.values.extend(node.output_values());
        }
    }

    /// Whether a tensor is mapped over that has no dimension but the hidden one.
    fn maps_scalar(&self, graph: &Graph, node: &Node) -> bool {
        let mut found = false;
        for input in &node.inputs {
            input.arg.for_each_value(&mut |id| {
                let is_scalar = matches!(graph.meta(id), Meta::Tensor(meta) if meta.sizes.is_empty());
                found |= is_scalar && self.values.contains(&id);
            });
        }
        found
    }

    /// What one operator does. The batching rule of an element-wise operator on two tensors, unless it
    /// compares them, asks for the type of a slice where one of them alone is mapped over and has no other
    /// dimension: of nothing there is none. A number in the place of a tensor is such an operand, too.
    fn over_nothing(&self, graph: &Graph, node: &Node, op: &str, nested: bool) -> OverNothing {
        let open = || OverNothing::Open(node.target.to_string());
        let overload = SchemaTable::global().find(&node.target.to_string());
        let is_pointwise = overload.is_some_and(|o| o.tags().contains(Tags::POINTWISE));
        if !is_pointwise && RUN_OVER_NOTHING.contains(&op) {
            return if self.maps_scalar(graph, node) || infers_size(node) {
                open()
            } else {
                OverNothing::Runs
            };
        }
        if !is_pointwise || op.starts_with("special_") || WITHOUT_RULE.contains(&op) {
            return open();
        }
        let is_in_place = overload.is_some_and(|o| o.tags().contains(Tags::INPLACE));
        // For each tensor whether it has no dimensions that are not hidden, and whether one is hidden.
        let mut tensors: Vec<(bool, bool)> = Vec::new();
        for input in &node.inputs {
            input.arg.for_each_value(&mut |id| {
                if let Meta::Tensor(meta) = graph.meta(id) {
                    tensors.push((meta.sizes.is_empty(), self.values.contains(&id)));
                }
            });
        }
        let mapped_scalars = tensors.iter().filter(|&&tensor| tensor == (true, true)).count();
        let numbers = numbers_as_tensors(node, overload);
        let operands = tensors.len() + numbers;
        if mapped_scalars == 0 || mapped_scalars == operands || COMPARISONS.contains(&op) {
            return OverNothing::Runs;
        }
        // What is written keeps its type.
        if is_in_place && tensors.first() == Some(&(true, true)) {
            return OverNothing::Runs;
        }
        // A number is not mapped over.
        let meets_others = numbers > 0 || self.is_complete || tensors.iter().any(|(scalar, _)| !scalar);
        if operands == 2 && meets_others && !nested { OverNothing::Fails } else { open() }
    }
}

/// How many numbers a call passes in the place of tensors.
fn numbers_as_tensors(node: &Node, overload: Option<&Overload>) -> usize {
    let Some(Ok(schema)) = overload.map(Overload::schema) else { return 0 };
    let is_tensor = |name: &str| schema.args.iter().any(|arg| arg.name == name && arg.ty == Type::Tensor);
    node.inputs.iter().filter(|input| input.arg.is_number() && is_tensor(&input.name)).count()
}

/// Whether a call leaves a size to be inferred from the number of elements, which nothing tells where there are none.
fn infers_size(node: &Node) -> bool {
    let is_open = |arg: &Argument| match arg {
        Argument::Ints(sizes) => sizes.contains(&-1),
        Argument::SymInts(sizes) => sizes.contains(&Operand::Literal(-1)),
        _ => false,
    };
    node.inputs.iter().any(|input| matches!(&*input.name, "size" | "shape") && is_open(&input.arg))
}

/// Operators that are not element-wise and run over an empty dimension, with the shapes that they have over others: tried in
/// torch 2.15 with one and two dimensions and more, each operand mapped over or not, and inside another `vmap`.
const RUN_OVER_NOTHING: &[&str] = &[
    "_log_softmax",
    "_softmax",
    "_unsafe_view",
    "addmm",
    "alias",
    "amax",
    "amin",
    "any",
    "argmax",
    "baddbmm",
    "bmm",
    "cat",
    "chunk",
    "clone",
    "constant_pad_nd",
    "contiguous",
    "cumsum",
    "diagonal",
    "dot",
    "einsum",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "full_like",
    "gather",
    "index_select",
    "layer_norm",
    "linalg_cross",
    "linalg_vector_norm",
    "linear",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "mean",
    "mm",
    "movedim",
    "mv",
    "ones_like",
    "outer",
    "permute",
    "prod",
    "repeat",
    "reshape",
    "roll",
    "select",
    "slice",
    "softmax",
    "sort",
    "split",
    "squeeze",
    "stack",
    "sum",
    "t",
    "topk",
    "transpose",
    "tril",
    "unbind",
    "unsqueeze",
    "var",
    "view",
    "zeros_like",
];

/// Element-wise operators that `vmap` has no rule for.
const WITHOUT_RULE: &[&str] = &["_conj_physical", "equal", "native_dropout_backward"];

/// Element-wise operators that compare, which take operands as they are.
const COMPARISONS: &[&str] =
    &["eq", "ge", "gt", "le", "logical_and", "logical_or", "logical_xor", "lt", "ne"];
