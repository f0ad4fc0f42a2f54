//! onnxruntime's operators on streams of several branches, as hyper-connections have them.
use super::{Family, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Branches::ALL, HyperConnectionPostMix::ALL, ScaledSiLU::ALL];

pub(super) const CONTRIB: Family = &[
    op("BranchwiseRMSNorm", norm).passes(),
    op("HyperConnectionPostMix", post_mix).passes(),
    op("HyperConnectionPreMix", pre_mix).passes(),
    op("ScaledSiLU", scaled_silu).passes(),
];

/// Streams `[.., branches, hidden]`, or `[.., branches * hidden]` with the number of branches from an attribute.
struct Streams {
    rows: Vec<Expr>,
    branches: Expr,
    hidden: Expr,
    flat: bool,
}

impl Streams {
    /// Reads the first input.
    fn read(cx: &mut Cx, call: &Checked) -> Result<Streams, KernelError> {
        let sizes = call.shape(0)?;
        let stated = call.int("num_branches", 0);
        let fine = stated >= 0 && sizes.len() >= if stated == 0 { 2 } else { 1 };
        call.check(fine, Branches::C1, || format!("rank {} with {stated} branches", sizes.len()))?;
        let (rows, branches, hidden) = if stated == 0 {
            let (rows, last) = sizes.split_at(sizes.len() - 2);
            (rows, last[0], last[1])
        } else {
            let (rows, last) = sizes.split_at(sizes.len() - 1);
            let stated = cx.int(stated);
            (rows, stated, super::meeting::exactly(cx, last[0], stated, Branches::C1)?)
        };
        for size in [branches, hidden] {
            let some = cx.ge(size, 1);
            cx.require(some, Branches::C1, |_| "there are no branches, or they are empty".to_owned())?;
        }
        Ok(Streams { rows: rows.to_vec(), branches, hidden, flat: stated != 0 })
    }

    /// Requires that an input is `[.., last]`, where `last` is one of these lists.
    fn require(
        &self,
        cx: &mut Cx,
        call: &Checked,
        at: usize,
        last: &[&[Expr]],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        let given = call.shape(at)?.to_vec();
        let rank = self.rows.len();
        call.check(given.len() >= rank, clause, || format!("input {at} has rank {}", given.len()))?;
        let (rows, rest) = given.split_at(rank);
        cx.require_same_shape(rows, &self.rows, clause)?;
        let fitting: Vec<&&[Expr]> = last.iter().filter(|last| last.len() == rest.len()).collect();
        call.check(!fitting.is_empty(), clause, || format!("input {at} has rank {}", given.len()))?;
        if let [single] = fitting.as_slice() {
            return cx.require_same_shape(rest, single, clause);
        }
        let mut ways = Vec::new();
        for sizes in fitting {
            let equal: Vec<Expr> = rest.iter().zip(*sizes).map(|(&a, &b)| cx.eq(a, b)).collect();
            ways.push(cx.all(&equal));
        }
        let fine = cx.any(&ways);
        cx.require(fine, clause, |cx| format!("input {at} is {}", cx.show_all(&given)))
    }
}

/// The streams, each branch divided by its norm.
fn norm(cx: &mut Cx, call: &Checked) -> Outcome {
    let Streams { branches, hidden, flat, .. } = Streams::read(cx, call)?;
    let sizes = call.shape(0)?.to_vec();
    if call.has(1) {
        let all = if flat { sizes[sizes.len() - 1] } else { cx.mul(branches, hidden) };
        let whole = Streams { rows: Vec::new(), branches, hidden, flat };
        whole.require(cx, call, 1, &[&[hidden], &[all], &[branches, hidden]], Branches::C2)?;
    }
    call.one(sizes)
}

/// `[.., hidden]`: the sum of the branches, each times its gate.
fn pre_mix(cx: &mut Cx, call: &Checked) -> Outcome {
    let streams = Streams::read(cx, call)?;
    let (branches, hidden) = (streams.branches, streams.hidden);
    let mut ways: Vec<&[Expr]> = Vec::new();
    let flat = [call.shape(0)?[call.shape(0)?.len() - 1]];
    let (each, single, all) = ([branches], [branches, Expr::ONE], [branches, hidden]);
    ways.extend([each.as_slice(), &single, &all]);
    if streams.flat {
        ways.push(&flat);
    }
    streams.require(cx, call, 1, &ways, Branches::C3)?;
    call.one([streams.rows, vec![hidden]].concat())
}

clauses! { Branches {
    C1 "The input is `[.., branches, hidden]`, and neither size is 0. With `num_branches`, it may be `[.., \
        branches * hidden]`."
    C2 "The scale is `[hidden]`, `[branches * hidden]` or `[branches, hidden]`."
    C3 "The gate is `[.., branches]`, `[.., branches, 1]` or `[.., branches, hidden]`. With `num_branches` \
        it may be `[.., branches * hidden]`."
    C4 "The output of the block is `[.., hidden]`."
    C5 "The mix of streams is `[.., branches, branches]`."
} }

clauses! { HyperConnectionPostMix {
    C1 "The gate is `[.., branches]`, `[.., branches, 1]` or `[.., branches, hidden]`."
} }

/// The streams, or what the mix of streams makes of them, and the output of the block times the gate of each branch.
fn post_mix(cx: &mut Cx, call: &Checked) -> Outcome {
    let streams = Streams::read(cx, call)?;
    let (branches, hidden) = (streams.branches, streams.hidden);
    streams.require(cx, call, 1, &[&[hidden]], Branches::C4)?;
    let gates: &[&[Expr]] = &[&[branches], &[branches, Expr::ONE], &[branches, hidden]];
    streams.require(cx, call, 2, gates, HyperConnectionPostMix::C1)?;
    if call.has(3) {
        streams.require(cx, call, 3, &[&[branches, branches]], Branches::C5)?;
    }
    call.one(call.shape(0)?.to_vec())
}

clauses! { ScaledSiLU {
    C1 "The scale has one element, for onnxruntime as a scalar."
} }

/// `z * sigmoid(z)` of `z = scale * x`.
fn scaled_silu(cx: &mut Cx, call: &Checked) -> Outcome {
    if call.has(1) {
        let rank = call.shape(1)?.len();
        policy::onnxruntime_checks(cx, rank == 0, ScaledSiLU::C1, || format!("the scale has rank {rank}"))?;
        let count = cx.product(call.shape(1)?.to_vec());
        cx.require_eq(count, Expr::ONE, ScaledSiLU::C1, "the number of scales")?;
    }
    call.one(call.shape(0)?.to_vec())
}
