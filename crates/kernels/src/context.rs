//! What a kernel builds sizes and conditions with.
use super::backend::Backend;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use sizewise_env::{Clause, OpClause, Operation, Required, ShapeEnv};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool};
use sizewise_ir::dtype::{Device, Dtype, Layout};

/// The context of one kernel call: arithmetic on sizes, and conditions with their three-valued outcome.
pub struct Cx<'a> {
    /// The environment that keeps guards and runtime assertions.
    pub env: &'a mut ShapeEnv,
    /// The backend whose kernels run the program.
    pub backend: Backend,
}

/// Arithmetic and comparisons, each result remembered.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $operation:ident)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
            self.env.compute(Operation::$operation, a.into(), b.into())
        }
    )*};
}

impl<'a> Cx<'a> {
    /// A context on an environment, for the CPU.
    pub fn new(env: &'a mut ShapeEnv) -> Cx<'a> {
        Cx::on(env, Backend::default())
    }

    /// A context on an environment, for a backend.
    pub fn on(env: &'a mut ShapeEnv, backend: Backend) -> Cx<'a> {
        Cx { env, backend }
    }

    /// The expression pool.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.env.pool
    }

    binary! {
        /// `a + b`.
        add Add
        /// `a - b`.
        sub Sub
        /// `a * b`.
        mul Mul
        /// `a // b`, rounded downwards.
        floor_div FloorDiv
        /// `a / b`, rounded upwards.
        ceil_div CeilDiv
        /// `a % b`, with the sign of `b`.
        modulo Modulo
        /// The lesser of two.
        min Min
        /// The greater of two.
        max Max
        /// The condition `a == b`.
        eq Eq
        /// The condition `a != b`.
        ne Ne
        /// The condition `a <= b`.
        le Le
        /// The condition `a < b`.
        lt Lt
        /// The condition `a >= b`.
        ge Ge
        /// The condition `a > b`.
        gt Gt
    }

    /// An integer constant.
    pub fn int(&mut self, value: i64) -> Expr {
        self.env.pool.int(value)
    }

    /// The sum of sizes.
    pub fn sum(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        self.env.pool.sum(items)
    }

    /// Whether there is nothing of a size or a number of elements: by the facts, else where the hints say so, which
    /// records a guard. Where they do not, `false` is no claim: what is required then is enough in any case.
    pub fn is_nothing(&mut self, count: Expr, clause: &'static OpClause) -> bool {
        let nothing = self.eq(count, 0);
        self.surely(nothing)
            || self.env.hint_int(count).is_some_and(|n| n.is_zero()) && self.branch_or(nothing, false, clause)
    }

    /// The product of sizes.
    pub fn product(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        self.env.product(items)
    }

    /// The condition that all of the given ones hold.
    pub fn all(&mut self, conditions: &[Expr]) -> Expr {
        self.env.pool.and(conditions)
    }

    /// The condition that any of the given ones holds.
    pub fn any(&mut self, conditions: &[Expr]) -> Expr {
        self.env.pool.or(conditions)
    }

    /// The negation of a condition.
    pub fn not(&mut self, condition: Expr) -> Expr {
        self.env.pool.not(condition)
    }

    /// The number of elements of a tensor.
    pub fn numel(&mut self, tensor: &Tensor) -> Expr {
        self.env.product(tensor.sizes.iter().copied())
    }

    /// An expression as text, for messages.
    pub fn show(&self, e: Expr) -> String {
        sizewise_expr::text::print::expression(&self.env.pool, e)
    }

    /// Sizes as text, for messages: `[s0, 3]`.
    pub fn show_all(&self, sizes: &[Expr]) -> String {
        let shown: Vec<String> = sizes.iter().map(|&e| self.show(e)).collect();
        format!("[{}]", shown.join(", "))
    }

    /// Whether the facts settle a condition; records nothing.
    pub fn known(&mut self, condition: Expr) -> Option<bool> {
        self.env.statically(condition)
    }

    /// Whether the facts imply a condition; records nothing.
    pub fn surely(&mut self, condition: Expr) -> bool {
        self.known(condition) == Some(true)
    }

    /// Requires a condition on sizes: proved, nothing happens; open, it becomes a guard or a runtime assertion;
    /// refuted, it is an error with the clause and the message.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the condition is refuted.
    pub fn require(
        &mut self,
        condition: Expr,
        clause: impl Into<Clause>,
        message: impl FnOnce(&Cx) -> String,
    ) -> Result<(), KernelError> {
        let clause = clause.into();
        match self.env.require(condition, clause) {
            Required::Refuted => {
                let message = message(self);
                Err(KernelError::Invalid { clause, message, condition: Some(condition) })
            }
            _ => Ok(()),
        }
    }

    /// Requires two sizes to be equal; `what` says which ones they are.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they are not.
    pub fn require_eq(
        &mut self,
        a: Expr,
        b: Expr,
        clause: impl Into<Clause>,
        what: &str,
    ) -> Result<(), KernelError> {
        if a == b {
            return Ok(());
        }
        let condition = self.eq(a, b);
        self.require(condition, clause, |cx| format!("{what}: {} != {}", cx.show(a), cx.show(b)))
    }

    /// Requires what does not depend on sizes.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when `holds` is false.
    pub fn check(
        &mut self,
        holds: bool,
        clause: &'static OpClause,
        message: impl FnOnce(&Cx) -> String,
    ) -> Result<(), KernelError> {
        if holds { Ok(()) } else { Err(KernelError::invalid(clause, message(self))) }
    }

    /// Which way a condition goes: by the facts, else by the hints (a guard), else it is data dependent.
    ///
    /// # Errors
    /// [`KernelError::DataDependent`] when the condition depends on unbacked symbols and is open.
    pub fn branch(&mut self, condition: Expr, clause: &'static OpClause) -> Result<bool, KernelError> {
        match self.env.branch(condition, clause) {
            Some(value) => Ok(value),
            None => {
                let message = format!("`{}` decides the result and is open", self.show(condition));
                Err(KernelError::DataDependent { condition, message })
            }
        }
    }

    /// As [`Cx::branch`], taking `default` where the condition is open: for conditions where that way is right
    /// whatever the condition turns out to be, or where torch assumes it.
    pub fn branch_or(&mut self, condition: Expr, default: bool, clause: &'static OpClause) -> bool {
        self.env.branch(condition, clause).unwrap_or(default)
    }

    /// Which way a condition goes that changes only strides of the result; see [`ShapeEnv::layout_choice`].
    pub fn layout_choice(&mut self, condition: Expr) -> bool {
        self.env.layout_choice(condition)
    }

    /// The value of an integer that the operator needs as a number: a constant, else what the hint says (a guard).
    ///
    /// # Errors
    /// [`KernelError::DataDependent`] when it depends on unbacked symbols.
    pub fn literal(&mut self, e: Expr, clause: &'static OpClause) -> Result<i64, KernelError> {
        if let Some(value) = e.as_inline() {
            return Ok(value);
        }
        match self.env.hint_int(e).and_then(|v| v.to_i64()) {
            Some(value) => {
                let number = self.int(value);
                let same = self.eq(e, number);
                self.env.branch(same, clause);
                Ok(value)
            }
            None => {
                let message = format!("`{}` has to be a number here", self.show(e));
                Err(KernelError::DataDependent { condition: e, message })
            }
        }
    }

    /// A dimension as an index: counted from the end when negative, a 0-dimensional tensor counting as 1-dimensional.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it is out of range.
    pub fn dim(&mut self, dim: Expr, rank: usize, clause: &'static OpClause) -> Result<usize, KernelError> {
        let dim = self.literal(dim, clause)?;
        self.wrap_dim(dim, rank, clause)
    }

    /// As [`Cx::dim`] for a number.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it is out of range.
    pub fn wrap_dim(
        &mut self,
        dim: i64,
        rank: usize,
        clause: &'static OpClause,
    ) -> Result<usize, KernelError> {
        let span = rank.max(1) as i64;
        if dim < -span || dim >= span {
            let message =
                format!("dimension {dim} is out of range: expected to be in [{}, {}]", -span, span - 1);
            return Err(KernelError::invalid(clause, message));
        }
        Ok(if dim < 0 { dim + span } else { dim } as usize)
    }

    /// Distinct dimensions as flags; an empty list or `None` means all when `empty_means_all`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when one is out of range or named twice.
    pub fn dims(
        &mut self,
        dims: Option<&[Expr]>,
        rank: usize,
        empty_means_all: bool,
        clause: &'static OpClause,
    ) -> Result<Vec<bool>, KernelError> {
        let mut flags = vec![false; rank.max(1)];
        match dims {
            None => flags.fill(true),
            Some([]) => flags.fill(empty_means_all),
            Some(dims) => {
                for &dim in dims {
                    let at = self.dim(dim, rank, clause)?;
                    if std::mem::replace(&mut flags[at], true) {
                        return Err(KernelError::invalid(
                            clause,
                            format!("dimension {at} appears twice in the list of dims"),
                        ));
                    }
                }
            }
        }
        flags.truncate(rank);
        Ok(flags)
    }

    /// `max(size, 1)`, which is the size itself wherever that is known to be positive.
    pub fn at_least_one(&mut self, size: Expr) -> Expr {
        if let Some(v) = size.as_inline() {
            return Expr::inline(v.max(1)).unwrap_or(size);
        }
        let positive = self.ge(size, 1);
        if self.surely(positive) { size } else { self.max(size, 1) }
    }

    /// The strides of a contiguous tensor.
    pub fn contiguous_strides(&mut self, sizes: &[Expr]) -> Sizes {
        let mut strides: Sizes = smallvec::smallvec![Expr::ONE; sizes.len()];
        for i in (1..sizes.len()).rev() {
            let size = self.at_least_one(sizes[i]);
            strides[i - 1] = self.mul(strides[i], size);
        }
        strides
    }

    /// A fresh contiguous tensor.
    pub fn contiguous(&mut self, sizes: impl Into<Sizes>, dtype: Dtype, device: &Device) -> Tensor {
        let sizes = sizes.into();
        let strides = self.contiguous_strides(&sizes);
        self.strided(sizes, strides, dtype, device)
    }

    /// A fresh tensor with given strides.
    pub fn strided(&self, sizes: Sizes, strides: Sizes, dtype: Dtype, device: &Device) -> Tensor {
        let (offset, device) = (Expr::ZERO, device.clone());
        Tensor { sizes, strides, offset, dtype, device, layout: Layout::Strided, wrapped: false, span: None }
    }

    /// A fresh unbacked size between bounds; `None` is no upper bound.
    pub fn unbacked_size(&mut self, least: impl Into<Int>, most: Option<Expr>) -> Expr {
        let upper = most.and_then(|e| self.env.declared_upper_bound(e));
        let range = match upper {
            Some(upper) => ValueRange::between(least.into(), upper),
            None => ValueRange::at_least(least.into()),
        };
        let size = self.env.fresh_unbacked(range);
        if let Some(most) = most
            && most.as_inline().is_none()
        {
            let bounded = self.le(size, most);
            self.env.assume(bounded);
        }
        size
    }
}
