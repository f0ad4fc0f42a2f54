//! Attention by its formula: the law that every implementation keeps.
use super::context::Cx;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[sdpa::ALL];

/// The arguments of attention: `[.., l, e]`, `[.., s, e]` and `[.., s, v]`, and a mask of `[.., l, s]`.
pub struct Attention<'a> {
    /// The query `[.., l, e]`.
    pub query: &'a Tensor,
    /// The key `[.., s, e]`.
    pub key: &'a Tensor,
    /// The value `[.., s, v]`.
    pub value: &'a Tensor,
    /// The shape of the mask.
    pub mask: Option<Sizes>,
    /// The probability of dropout, where it is a number.
    pub dropout: Option<f64>,
    /// Whether heads of key and value stand for several of the query.
    pub grouped: bool,
    /// Where this holds, nothing is asked, and the result has the sizes that it has elsewhere.
    pub unless: Option<Expr>,
}

clauses! { sdpa {
    C1 "`query`, `key` and `value` have at least 2 dimensions."
    C2 "`query`, `key` and `value` have the same dtype, and there is a kernel for it."
    C3 "`query` and `key` have the same last size."
    C4 "`key` and `value` have the same length. Fused kernels do not check it, and read past the end of \
        the shorter one."
    C5 "The leading dimensions of `query`, `key` and `value` broadcast. With `enable_gqa`, the number of \
        heads of `query` is divisible by those of `key` and `value`, which are not 0."
    C6 "`attn_mask` broadcasts to the shape of the scores, `[.., L, S]`."
    C7 "`dropout_p` is not negative, where the fused kernel could run."
    C9 "`dropout_p` is at most 1."
    nothing "Whether there are no queries or no values, which decides the strides of the result."
} }

impl Attention<'_> {
    /// The shape of the result, and that of the scores, as the formula `softmax(query × keyᵀ + mask) × value` has them:
    /// leading sizes broadcast.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a condition does not hold where `unless` does not.
    pub fn formula(&self, cx: &mut Cx) -> Result<(Sizes, Sizes), KernelError> {
        let (q, k, v) = (self.query, self.key, self.value);
        let same = cx.eq(q.size(-1), k.size(-1));
        self.require(cx, same, sdpa::C3, |cx| {
            let (query, key) = (cx.show(q.size(-1)), cx.show(k.size(-1)));
            format!("the last sizes of query and key differ: {query} != {key}")
        })?;
        let lengths = cx.eq(k.size(-2), v.size(-2));
        self.require(cx, lengths, sdpa::C4, |cx| {
            let (key, value) = (cx.show(k.size(-2)), cx.show(v.size(-2)));
            format!("the lengths of key and value differ: {key} != {value}")
        })?;
        let lead = |t: &Tensor| Sizes::from(&t.sizes[..t.rank() - 2]);
        let (ql, mut kl, mut vl) = (lead(q), lead(k), lead(v));
        if self.grouped {
            for heads in [&mut kl, &mut vl] {
                let (Some(own), Some(&all)) = (heads.last_mut(), ql.last()) else {
                    return Err(KernelError::invalid(sdpa::C5, "grouped queries need a dimension of heads"));
                };
                let some = cx.gt(*own, 0);
                self.require(cx, some, sdpa::C5, |_| "key and value have no heads".into())?;
                let rest = cx.modulo(all, *own);
                let divides = cx.eq(rest, 0);
                self.require(cx, divides, sdpa::C5, |cx| {
                    let (all, own) = (cx.show(all), cx.show(*own));
                    format!("the query's heads are no multiple of the others': {all} and {own}")
                })?;
                *own = all;
            }
        }
        let mut scores = cx.broadcast([ql.as_slice(), &kl], sdpa::C5)?;
        let mut sizes = cx.broadcast([scores.as_slice(), &vl], sdpa::C5)?;
        scores.extend([q.size(-2), k.size(-2)]);
        sizes.extend([q.size(-2), v.size(-1)]);
        if let Some(mask) = &self.mask {
            self.require_mask(cx, mask, &scores)?;
        }
        Ok((sizes, scores))
    }

    fn require_mask(&self, cx: &mut Cx, mask: &Sizes, scores: &Sizes) -> Result<(), KernelError> {
        let differs =
            |cx: &Cx| format!("a mask {} does not broadcast to {}", cx.show_all(mask), cx.show_all(scores));
        let never = cx.pool().bool(false);
        if mask.len() > scores.len() {
            return self.require(cx, never, sdpa::C6, differs);
        }
        for (&size, &whole) in mask.iter().rev().zip(scores.iter().rev()) {
            let (same, single) = (cx.eq(size, whole), cx.eq(size, 1));
            let fits = cx.any(&[same, single]);
            self.require(cx, fits, sdpa::C6, differs)?;
        }
        Ok(())
    }

    /// Requires a condition where `unless` does not hold.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it does not hold.
    pub(crate) fn require(
        &self,
        cx: &mut Cx,
        condition: Expr,
        clause: &'static OpClause,
        message: impl FnOnce(&Cx) -> String,
    ) -> Result<(), KernelError> {
        let condition = match self.unless {
            Some(unless) => cx.any(&[condition, unless]),
            None => condition,
        };
        cx.require(condition, clause, message)
    }
}
