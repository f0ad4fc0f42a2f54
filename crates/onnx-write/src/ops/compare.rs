//! Comparisons and logic, in the dtype in which operands meet.

use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    if overload.contains("out") {
        return None;
    }
    let node = match op {
        "eq" | "ne" | "not_equal" => "Equal",
        "lt" | "less" => "Less",
        "le" | "less_equal" => "LessOrEqual",
        "gt" | "greater" => "Greater",
        "ge" | "greater_equal" => "GreaterOrEqual",
        "logical_and" | "logical_or" | "logical_xor" => {
            let (x, y) = (call.operand("self", Dtype::Bool)?, call.operand("other", Dtype::Bool)?);
            let node = match op {
                "logical_and" => "And",
                "logical_or" => "Or",
                _ => "Xor",
            };
            return one(call.test(node, &[&x, &y]));
        }
        "bitwise_and" | "bitwise_or" | "bitwise_xor" | "__and__" | "__or__" | "__xor__" => {
            return bitwise(call, op.trim_start_matches("bitwise_").trim_matches('_'));
        }
        _ => return None,
    };
    let common = call.common(&["self", "other"])?;
    if common.is_complex() {
        return None;
    }
    let dtype = match node {
        // Order is defined for numbers only.
        "Equal" => work(common),
        _ if common.is_bool() => Dtype::Int32,
        _ => work(common),
    };
    let (x, y) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    let value = call.test(node, &[&x, &y]);
    one(if matches!(op, "ne" | "not_equal") { call.map("Not", &[&value]) } else { value })
}

fn bitwise(call: &mut Call<'_, '_, '_>, op: &str) -> Made {
    let dtype = work(call.out_dtype()?);
    let (x, y): (Val, Val) = (call.operand("self", dtype)?, call.operand("other", dtype)?);
    let (logic, bits) = match op {
        "and" => ("And", "BitwiseAnd"),
        "or" => ("Or", "BitwiseOr"),
        _ => ("Xor", "BitwiseXor"),
    };
    one(call.map(if dtype.is_bool() { logic } else { bits }, &[&x, &y]))
}
