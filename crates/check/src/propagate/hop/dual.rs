//! The calls that `torch.func.jvp` leaves in a graph: a dual tensor is represented by its primal.
use super::super::interpreter::{CallError, Interpreter};
use sizewise_ir::{Node, Output};
use sizewise_kernels::Value;

impl<'p> Interpreter<'p> {
    /// A call of `torch._functorch.predispatch`; `None` if `function` is unknown.
    pub(in super::super) fn call_dual(
        &mut self,
        node: &Node,
        function: &str,
        args: &[Value],
    ) -> Option<Result<Vec<Value>, CallError>> {
        Some(match (function, args) {
            (
                "_jvp_increment_nesting"
                | "_jvp_decrement_nesting"
                | "_enter_dual_level"
                | "_exit_dual_level",
                _,
            ) => Ok(vec![Value::None]),
            // _make_dual(primal, tangent, *, level)
            ("_make_dual", [primal, tangent, ..]) => {
                let level = Value::Int(sizewise_expr::Expr::ZERO);
                let args = [primal.clone(), tangent.clone(), level];
                let args = args.into_iter().map(|value| ("".into(), value)).collect();
                self.call_operator("aten._make_dual.default", args)
            }
            // _unpack_dual(dual, *, level)
            ("_unpack_dual", [dual @ Value::Tensor(_), ..]) => {
                let mut parts = vec![dual.clone(), Value::None];
                complete_dual(node, &mut parts);
                Ok(parts)
            }
            // _unwrap_for_grad(tensor, level)
            ("_unwrap_for_grad", [tensor @ Value::Tensor(_), _]) => Ok(vec![tensor.clone()]),
            _ => return None,
        })
    }
}

/// Gives a dual taken apart its tangent, which has the form of the primal. Whether there is one is not to be
/// seen from the operand, but from whether the node has a result in its place.
pub(in super::super) fn complete_dual(node: &Node, parts: &mut [Value]) {
    let tangent = match node.outputs.as_slice() {
        [_, Output::Value(_)] => true,
        [Output::List(parts)] => matches!(parts.as_slice(), [_, Some(_)]),
        _ => false,
    };
    if let ([primal, part @ Value::None], true) = (parts, tangent) {
        *part = primal.clone();
    }
}
