//! Broadcasting: the shape that operands of different shapes meet in.
use super::context::Cx;
use super::error::KernelError;
use super::tensor::Sizes;
use sizewise_env::OpClause;
use sizewise_expr::Expr;

impl Cx<'_> {
    /// The size in which two sizes of one dimension meet: equal, or one of them is 1.
    ///
    /// With `r` the size that is not 1 at the hints and `o` the other one, the result is `r` wherever `o == r` or
    /// `o == 1`; that is the condition required. Where nothing is known of unbacked sizes they are taken to be equal.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not meet.
    pub fn broadcast_size(
        &mut self,
        a: Expr,
        b: Expr,
        clause: &'static OpClause,
    ) -> Result<Expr, KernelError> {
        if a == b || b == Expr::ONE {
            return Ok(a);
        }
        if a == Expr::ONE {
            return Ok(b);
        }
        let (a_is_one, b_is_one) = (self.eq(a, 1), self.eq(b, 1));
        if self.surely(b_is_one) {
            return Ok(a);
        }
        if self.surely(a_is_one) {
            return Ok(b);
        }
        let one_at_hint = |cx: &mut Cx, e: Expr| cx.env.hint_int(e).is_some_and(|v| v.is_one());
        // A number is preferred as the result, then what is not 1 at the hints, then the older expression.
        let keep_a = if a.as_inline().is_some() {
            true
        } else if b.as_inline().is_some() {
            false
        } else if one_at_hint(self, a) != one_at_hint(self, b) {
            one_at_hint(self, b)
        } else {
            a < b
        };
        let (result, other, other_is_one) = if keep_a { (a, b, b_is_one) } else { (b, a, a_is_one) };
        let equal = self.eq(result, other);
        let backed = self.env.hint(other).is_some();
        let condition = if backed && self.known(other_is_one) != Some(false) {
            self.any(&[equal, other_is_one])
        } else {
            equal
        };
        self.require(condition, clause, |cx| {
            format!("sizes {} and {} neither agree nor is one of them 1", cx.show(a), cx.show(b))
        })?;
        Ok(result)
    }

    /// The shape in which shapes meet, aligned at the last dimension.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not meet.
    pub fn broadcast<'s>(
        &mut self,
        shapes: impl IntoIterator<Item = &'s [Expr]>,
        clause: &'static OpClause,
    ) -> Result<Sizes, KernelError> {
        let mut result = Sizes::new();
        for shape in shapes {
            if shape.len() > result.len() {
                let missing = shape.len() - result.len();
                result.insert_many(0, std::iter::repeat_n(Expr::ONE, missing));
            }
            let shift = result.len() - shape.len();
            for (i, &size) in shape.iter().enumerate() {
                result[shift + i] = self.broadcast_size(result[shift + i], size, clause)?;
            }
        }
        Ok(result)
    }

    /// Requires that `from` broadcasts to `to`: each size, aligned at the last dimension, is equal or 1.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it does not.
    pub fn require_expandable(
        &mut self,
        from: &[Expr],
        to: &[Expr],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        self.check(from.len() <= to.len(), clause, |cx| {
            format!("shape {} has more dimensions than {}", cx.show_all(from), cx.show_all(to))
        })?;
        let shift = to.len() - from.len();
        for (i, &size) in from.iter().enumerate() {
            let target = to[shift + i];
            if size == target || size == Expr::ONE {
                continue;
            }
            let (equal, one) = (self.eq(size, target), self.eq(size, 1));
            let condition = if self.known(one) == Some(false) { equal } else { self.any(&[equal, one]) };
            self.require(condition, clause, |cx| {
                format!("shape {} does not broadcast to {}", cx.show_all(from), cx.show_all(to))
            })?;
        }
        Ok(())
    }

    /// Requires that two shapes agree.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they do not.
    pub fn require_same_shape(
        &mut self,
        a: &[Expr],
        b: &[Expr],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        let differ = |cx: &Cx| format!("the shapes {} and {} differ", cx.show_all(a), cx.show_all(b));
        self.check(a.len() == b.len(), clause, differ)?;
        for (&x, &y) in a.iter().zip(b) {
            if x != y {
                let same = self.eq(x, y);
                self.require(same, clause, differ)?;
            }
        }
        Ok(())
    }
}
