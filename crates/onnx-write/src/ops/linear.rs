//! Products of matrices.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, _) = name.split_once('.')?;
    let out = call.out_dtype()?;
    if out.is_complex() {
        return None;
    }
    let dtype = work(out);
    match op {
        "mm" | "bmm" | "matmul" | "mv" | "dot" => {
            let (x, y) = (call.operand("self", dtype)?, call.arg("mat2").or(call.arg("other")));
            let y = y.or(call.arg("vec")).or(call.arg("tensor"))?;
            let y = call.in_dtype(y, dtype)?;
            one(call.product(&x, &y))
        }
        "linear" => linear(call, dtype),
        "addmm" | "baddbmm" | "addmv" | "addbmm" => {
            let (first, second) = match op {
                "addmm" => ("mat1", "mat2"),
                "addmv" => ("mat", "vec"),
                _ => ("batch1", "batch2"),
            };
            let (x, y) = (call.operand(first, dtype)?, call.operand(second, dtype)?);
            let mut product = call.product(&x, &y);
            if op == "addbmm" {
                product = call.reduce("ReduceSum", &product, &[0], false);
            }
            scaled_sum(call, product, dtype)
        }
        "outer" | "ger" => {
            let y = call.arg("vec2").or(call.arg("other"))?;
            let (x, y) = (call.operand("self", dtype)?, call.in_dtype(y, dtype)?);
            let (x, y) = (call.unsqueeze(&x, &[1]), call.unsqueeze(&y, &[0]));
            one(call.map("Mul", &[&x, &y]))
        }
        "einsum" => {
            let equation = call.text("equation", "")?.to_lowercase();
            let mut operands = Vec::new();
            for tensor in call.tensors("tensors")? {
                operands.push(call.cast(&tensor, dtype));
            }
            let inputs: Vec<&Val> = operands.iter().collect();
            let rank = call.out_rank();
            one(call.put("Einsum", &inputs, vec![attribute::string("equation", &equation)], (dtype, rank)))
        }
        "scaled_dot_product_attention"
        | "_scaled_dot_product_flash_attention_for_cpu"
        | "_scaled_dot_product_attention_math" => attention(call, op, dtype),
        _ => None,
    }
}

fn linear(call: &mut Call<'_, '_, '_>, dtype: Dtype) -> Made {
    let (x, weight) = (call.operand("input", dtype)?, call.operand("weight", dtype)?);
    let weight = if weight.rank == 2 { call.permute(&weight, &[1, 0]) } else { weight };
    let product = call.product(&x, &weight);
    if !call.has("bias") {
        return one(product);
    }
    let bias = call.operand("bias", dtype)?;
    one(call.map("Add", &[&product, &bias]))
}

/// `beta * self + alpha * product`.
fn scaled_sum(call: &mut Call<'_, '_, '_>, product: Val, dtype: Dtype) -> Made {
    let mut product = product;
    let mut x = call.operand("self", dtype)?;
    if call.has("alpha") {
        let alpha = call.operand("alpha", dtype)?;
        product = call.map("Mul", &[&product, &alpha]);
    }
    if call.has("beta") {
        if call.real("beta", 1.0)? == 0.0 {
            // What is not a number in `self` does not count then.
            return one(product);
        }
        let beta = call.operand("beta", dtype)?;
        x = call.map("Mul", &[&x, &beta]);
    }
    one(call.map("Add", &[&x, &product]))
}

/// `softmax(query @ key.T * scale + mask) @ value`.
fn attention(call: &mut Call<'_, '_, '_>, op: &str, dtype: Dtype) -> Made {
    (call.real("dropout_p", 0.0)? == 0.0 && dtype.is_float()).then_some(())?;
    let grouped = call.flag("enable_gqa", false)?;
    let query = call.operand("query", dtype)?;
    let (mut key, mut value) = (call.operand("key", dtype)?, call.operand("value", dtype)?);
    if grouped {
        (key, value) = (call.repeated(&query, &key)?, call.repeated(&query, &value)?);
    }
    let mut order: Vec<usize> = (0..key.rank).collect();
    let last = key.rank.checked_sub(2)?;
    order[last..].reverse();
    let turned = call.permute(&key, &order);
    let scale = match call.has("scale") {
        true => call.operand("scale", dtype)?,
        false => {
            let width = call.size(&query, query.rank - 1);
            let width = call.scalar(&width);
            let width = call.cast(&width, dtype);
            let root = call.map("Sqrt", &[&width]);
            call.map("Reciprocal", &[&root])
        }
    };
    let scores = call.product(&query, &turned);
    let mut scores = call.map("Mul", &[&scores, &scale]);
    let mask = if call.has("attn_mask") { call.tensor("attn_mask") } else { None };
    let low = call.float(f64::NEG_INFINITY, dtype);
    if call.flag("is_causal", false)? {
        let (rows, columns) = (call.size(&query, query.rank - 2), call.size(&key, key.rank - 2));
        let sizes =
            call.put("Concat", &[&rows, &columns], vec![attribute::int("axis", 0)], (Dtype::Int64, 1));
        let all = call.integer(1, Dtype::Int64);
        let ones = call.put("Expand", &[&all, &sizes], Vec::new(), (Dtype::Int64, 2));
        let lower = call.put("Trilu", &[&ones], vec![attribute::int("upper", 0)], (Dtype::Int64, 2));
        let kept = call.cast(&lower, Dtype::Bool);
        scores = call.map("Where", &[&kept, &scores, &low]);
    }
    if let Some(mask) = mask {
        scores = if mask.dtype.is_bool() {
            call.map("Where", &[&mask, &scores, &low])
        } else {
            let mask = call.cast(&mask, dtype);
            call.map("Add", &[&scores, &mask])
        };
    }
    let weights = call.put("Softmax", &[&scores], vec![attribute::int("axis", -1)], (dtype, scores.rank));
    // Rows of which nothing is seen give zeros.
    let nan = call.test("IsNaN", &[&weights]);
    let zero = call.float(0.0, dtype);
    let weights = call.map("Where", &[&nan, &zero, &weights]);
    let result = call.product(&weights, &value);
    match op {
        "scaled_dot_product_attention" => one(result),
        _ if call.is_used(1) => None,
        _ => Some(vec![Some(result), None]),
    }
}

impl Call<'_, '_, '_> {
    /// The product of matrices, vectors or stacks of matrices.
    pub fn product(&mut self, x: &Val, y: &Val) -> Val {
        let rank = match (x.rank, y.rank) {
            (1, 1) => 0,
            (1, other) | (other, 1) => other.saturating_sub(1),
            (a, b) => a.max(b),
        };
        self.put("MatMul", &[x, y], Vec::new(), (y.dtype, rank))
    }

    /// Keys or values of grouped attention, a head for each head of the query.
    fn repeated(&mut self, query: &Val, x: &Val) -> Option<Val> {
        let heads = x.rank.checked_sub(3)?;
        let at = i64::try_from(heads + 1).ok()?;
        let (wanted, given) = (self.size(query, heads), self.size(x, heads));
        let times = self.map("Div", &[&wanted, &given]);
        let spread = self.unsqueeze(x, &[at]);
        let before = self.constant_vector(&vec![1; heads + 1]);
        let behind = self.constant_vector(&[1, 1]);
        let axis = vec![attribute::int("axis", 0)];
        let sizes = self.put("Concat", &[&before, &times, &behind], axis.clone(), (Dtype::Int64, 1));
        let spread = self.put("Expand", &[&spread, &sizes], Vec::new(), (x.dtype, x.rank + 1));
        let mut parts = Vec::new();
        for dim in 0..x.rank {
            parts.push(if dim == heads { wanted.clone() } else { self.size(x, dim) });
        }
        let parts: Vec<&Val> = parts.iter().collect();
        let sizes = self.put("Concat", &parts, axis, (Dtype::Int64, 1));
        Some(self.reshape(&spread, &sizes, x.rank))
    }
}
