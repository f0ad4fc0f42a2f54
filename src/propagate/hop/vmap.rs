//! The calls that `torch.vmap` leaves in a graph: inside, the mapped dimension is hidden.
use super::super::interpreter::{CallError, Frame, Interpreter};
use crate::fake::{Cx, Sizes, Value};
use crate::ir::schema::{SchemaTable, Tags};
use crate::ir::{Graph, Meta, Node, TargetKind};

impl<'p> Interpreter<'p> {
    /// A call of `torch._functorch.predispatch`; `None` when `function` is none that is known.
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
                let at = Cx::new(&mut self.env).dim(*dim, x.rank(), "vmap.C1");
                self.returned(at).and_then(|at| {
                    if at >= x.rank() {
                        return Err(CallError::Unsupported("vmap over a 0-dimensional tensor".into()));
                    }
                    if !runs_on_nothing(frame.graph, frame.at) {
                        let some = self.env.pool.ge(x.sizes[at], 1.into());
                        let result = Cx::new(&mut self.env)
                            .require(some, "vmap.C3", |_| "vmap over an empty dimension".into());
                        self.returned(result)?;
                    }
                    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
                    sizes.remove(at);
                    strides.remove(at);
                    Ok(vec![x.viewed(sizes, strides).into()])
                })
            }
            // _remove_batch_dim(x, level, batch_size, out_dim)
            ("_remove_batch_dim", [Value::Tensor(x), _, Value::Int(size), Value::Int(dim)]) => {
                let at = Cx::new(&mut self.env).dim(*dim, x.rank() + 1, "vmap.C2");
                self.returned(at).map(|at| {
                    let mut sizes: Sizes = x.sizes.clone();
                    sizes.insert(at, *size);
                    let strides = Cx::new(&mut self.env).contiguous_strides(&sizes);
                    vec![x.viewed(sizes, strides).into()]
                })
            }
            _ => return None,
        })
    }
}

/// The most calls that are looked at for what they do with an empty dimension.
const MAX_MAPPED: usize = 256;

/// Whether the calls mapped from a node on are known to run where the mapped dimension is empty: `vmap` itself does, but operators without a
/// batching rule of their own look at the first slice. Only element-wise operators are known not to, unless an operand without
/// dimensions meets one with some, as the type of a slice is asked for then.
fn runs_on_nothing(graph: &Graph, from: usize) -> bool {
    let mut depth = 0_usize;
    for node in graph.nodes().iter().skip(from + 1).take(MAX_MAPPED) {
        match node.target.kind() {
            TargetKind::Python { function, .. } => match &**function {
                "_vmap_increment_nesting" => depth += 1,
                "_vmap_decrement_nesting" if depth == 0 => return true,
                "_vmap_decrement_nesting" => depth -= 1,
                _ => {}
            },
            TargetKind::Op { op, .. } => {
                let overload = SchemaTable::global().find(&node.target.to_string());
                let is_pointwise = overload.is_some_and(|o| o.tags().contains(Tags::POINTWISE));
                if !is_pointwise || op.starts_with("special_") || !ranks_are_alike(graph, node) {
                    return false;
                }
            }
            TargetKind::HigherOrder(_) | TargetKind::Extension { .. } => return false,
        }
    }
    false
}

/// Whether all tensors that a node takes have dimensions, or none of them.
fn ranks_are_alike(graph: &Graph, node: &Node) -> bool {
    let (mut scalars, mut others) = (false, false);
    for input in &node.inputs {
        input.arg.for_each_value(&mut |id| {
            if let Meta::Tensor(meta) = graph.meta(id) {
                let kind = if meta.sizes.is_empty() { &mut scalars } else { &mut others };
                *kind = true;
            }
        });
    }
    !(scalars && others)
}
