//! `flex_attention(query, key, value, score_mod, block_mask, scale, options, score_mod_buffers, mask_mod_buffers)`.
//!
//! | value | shape |
//! |---|---|
//! | query | `[B, H, M, E]` |
//! | key | `[B or 1, Hk, N, E]` |
//! | value | `[B or 1, Hk, N, Ev]` |
//! | result | `[B, H, M, Ev]`, then logarithms of sums and greatest scores, float32 `[B, H, M]` |
//!
//! Source: `flex_attention_fake_impl` and the checks of `torch.nn.attention.flex_attention`.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::{Argument, Dtype, Node};
use sizewise_kernels::{Cx, Tensor, Value};

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[flex_attention::ALL];

impl<'p> Interpreter<'p> {
    /// The graphs that change a score and mask it are run on one score and its indices.
    pub(super) fn call_flex_attention(
        &mut self,
        frame: &Frame,
        node: &'p Node,
    ) -> Result<Vec<Value>, CallError> {
        let arguments: Vec<&'p Argument> = node.inputs.iter().map(|input| &input.arg).collect();
        let [q, k, v, score_mod, block_mask, rest @ ..] = arguments.as_slice() else {
            return Err(self.malformed("flex_attention needs query, key, value, a graph and a block mask"));
        };
        let tensors = [q, k, v].map(|argument| self.argument(frame, argument));
        let [Value::Tensor(q), Value::Tensor(k), Value::Tensor(v)] = &tensors else {
            return Err(self.malformed("query, key and value are tensors"));
        };
        let result = attend(&mut Cx::new(&mut self.run.env), q, k, v);
        let results = self.returned(result)?;
        let buffers: Vec<Vec<Value>> = rest.iter().skip(2).map(|a| self.list(frame, a)).collect();
        let single = |dtype| Tensor {
            sizes: Default::default(),
            strides: Default::default(),
            offset: Expr::ZERO,
            dtype,
            ..(**q).clone()
        };
        let index: Value = single(Dtype::Int32).into();
        let mut score = vec![single(q.dtype).into()];
        score.extend(std::iter::repeat_n(index.clone(), 4));
        score.extend(buffers.first().into_iter().flatten().cloned());
        let mut mask = vec![index; 4];
        mask.extend(buffers.get(1).into_iter().flatten().cloned());
        for (argument, inputs) in [(score_mod, score), (block_mask, mask)] {
            let mut graphs = Vec::new();
            argument.for_each_graph(&mut |graph| graphs.push(graph));
            for graph in graphs {
                let made = self.run_subgraph(graph, inputs.clone())?;
                if !matches!(made.as_slice(), [Value::Tensor(t)] if t.rank() == 0) {
                    let message = format!("`{}` returns one number for each score", graph.name);
                    return Err(self.malformed(message));
                }
            }
        }
        Ok(results)
    }
}

clauses! { flex_attention {
    C1 "`query`, `key` and `value` have 4 dimensions and the same dtype."
    C2 "`query` and `key` have the same last size, and `key` and `value` the same number of heads and \
        length."
    C3 "The batch size of `key` and `value` is that of `query`, or 1."
} }

fn attend(
    cx: &mut Cx,
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
) -> Result<Vec<Value>, sizewise_kernels::KernelError> {
    // C1: all three have four dimensions and one dtype.
    cx.check(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, flex_attention::C1, |_| {
        "query, key and value have four dimensions".into()
    })?;
    cx.check(q.dtype == k.dtype && q.dtype == v.dtype, flex_attention::C1, |_| {
        "query, key and value have one dtype".into()
    })?;
    // C2: keys have the length of queries; there are as many keys as values.
    cx.require_eq(q.sizes[3], k.sizes[3], flex_attention::C2, "query and key have other last dimensions")?;
    cx.require_eq(k.sizes[2], v.sizes[2], flex_attention::C2, "there are other keys than values")?;
    cx.require_eq(k.sizes[1], v.sizes[1], flex_attention::C2, "key and value have other heads")?;
    // C3: the batch is that of the queries or 1.
    for t in [k, v] {
        let (same, one) = (cx.eq(t.sizes[0], q.sizes[0]), cx.eq(t.sizes[0], 1));
        let either = cx.any(&[same, one]);
        cx.require(either, flex_attention::C3, |cx| {
            format!("a batch of {} fits no batch of {}", cx.show(t.sizes[0]), cx.show(q.sizes[0]))
        })?;
    }
    let rows = [q.sizes[0], q.sizes[1], q.sizes[2]];
    let out = cx.contiguous([rows[0], rows[1], rows[2], v.sizes[3]].as_slice(), q.dtype, &q.device);
    let row = cx.contiguous(rows.as_slice(), Dtype::Float32, &q.device);
    Ok(vec![out.into(), row.clone().into(), row.into()])
}
