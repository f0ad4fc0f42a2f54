//! The dtype in which ExecuTorch has the operands of an operator meet.
//!
//! Source: ExecuTorch, `exir/passes/remove_mixed_type_operators.py`; torch, `_prims_common/__init__.py`
//! (`elementwise_dtypes`).
use sizewise_expr::Expr;
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Device, Dtype, Layout, Node};
use sizewise_kernels::{ResultType, Tensor, to_float};

/// The dtype to which the operands of a node are cast; `None` for operators of which none are. Operands are tensors by
/// dtype and rank.
pub(super) fn promoted(node: &Node, schema: &Schema, operands: &[(Dtype, usize)]) -> Option<Dtype> {
    let whole_to_float = match (schema.name.as_str(), schema.overload.as_str()) {
        _ if schema.namespace != "aten" => return None,
        ("add" | "mul" | "sub", "Tensor") | ("minimum", "default") => false,
        ("div", "Tensor") => true,
        ("div", "Tensor_mode") => {
            let index = schema.arg_index("rounding_mode");
            let mode = node.matched(schema).find(|(parameter, _)| parameter.is_some() && *parameter == index);
            mode.is_none_or(|(_, input)| !matches!(input.arg, Argument::Str(_)))
        }
        _ => return None,
    };
    let tensors: Vec<Tensor> = operands.iter().map(|&(dtype, rank)| tensor(dtype, rank)).collect();
    let dtype = ResultType::of(&tensors).dtype().ok()?;
    Some(if whole_to_float { to_float(dtype) } else { dtype })
}

/// A tensor of which only dtype and rank count.
fn tensor(dtype: Dtype, rank: usize) -> Tensor {
    Tensor {
        sizes: std::iter::repeat_n(Expr::ONE, rank).collect(),
        strides: std::iter::repeat_n(Expr::ONE, rank).collect(),
        offset: Expr::ZERO,
        dtype,
        device: Device::cpu(),
        layout: Layout::Strided,
        wrapped: false,
        span: None,
    }
}
