//! When the CPU's fused kernel computes attention, which lays out its result in its own way.
//!
//! Sources: `use_flash_attention_cpp` in `aten/src/ATen/native/transformers/sdp_utils_cpp.cpp`, and
//! `_scaled_dot_product_flash_attention_cpu` in `aten/src/ATen/native/transformers/attention.cpp`.
use crate::attention::{Attention, sdpa};
use crate::{Cx, KernelError};
use sizewise_expr::Expr;

impl Attention<'_> {
    /// The conditions under which the CPU's fused kernel serves the call; `None` when it does not in any case. It takes 4
    /// dimensions, the last one contiguous, without dropout, the same batch and last size everywhere, as many heads of
    /// the key as of the value, each of which stands for one of the query, for all of them, or for a group, no length of
    /// 0, and a mask that fits query and key.
    ///
    /// A mask has at least 2 dimensions where the other conditions hold.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the mask has too few dimensions for the CPU to ask that.
    pub fn fused(&self, cx: &mut Cx) -> Result<Option<Expr>, KernelError> {
        let (q, k, v) = (self.query, self.key, self.value);
        if [q, k, v].iter().any(|t| t.rank() != 4) || self.dropout.is_none_or(|p| p > 0.0) {
            return Ok(None);
        }
        let mut conditions = Vec::new();
        for other in [k, v] {
            conditions.push(cx.eq(q.sizes[0], other.sizes[0]));
        }
        conditions.push(cx.eq(k.sizes[1], v.sizes[1]));
        // Of groups, (C5) of the formula asks that their number divides the query's heads.
        if !self.grouped {
            let (same, single) = (cx.eq(q.sizes[1], k.sizes[1]), cx.eq(k.sizes[1], 1));
            conditions.push(cx.any(&[same, single]));
        }
        if let Some(mask) = &self.mask {
            if mask.len() < 2 && cx.on_cpu() {
                // The kernel's eligibility is asked of the mask's last two sizes, which are not there.
                let alike = cx.all(&conditions);
                let other = cx.not(alike);
                self.require(cx, other, sdpa::C6, |_| "a mask of at least 2 dimensions is expected".into())?;
                return Ok(None);
            }
            if !matches!(mask.len(), 2 | 4) {
                return Ok(None);
            }
            let scores = [q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]];
            for (&size, &whole) in mask.iter().rev().zip(scores.iter().rev()) {
                let (same, single) = (cx.eq(size, whole), cx.eq(size, 1));
                conditions.push(cx.any(&[same, single]));
            }
        }
        if [q, k, v].iter().any(|t| t.strides[3] != Expr::ONE) {
            return Ok(None);
        }
        for other in [k, v] {
            conditions.push(cx.eq(q.sizes[3], other.sizes[3]));
        }
        conditions.push(cx.ne(k.sizes[2], 0));
        // Where `unless` holds, the query may be empty, and nothing depends on this answer.
        if self.unless.is_none() {
            conditions.push(cx.ne(q.sizes[2], 0));
        }
        Ok(Some(cx.all(&conditions)))
    }
}
