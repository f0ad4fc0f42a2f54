//! The dtypes that operators accept, and those that the CPU's kernels compute with on the way.
//!
//! The source of what the CPU accepts is the `AT_DISPATCH_…` macro around the operator's CPU kernel in
//! `aten/src/ATen/native`, seen by calling the operator with every dtype (`tests/kernels/*.txt`). The source of what
//! the definition accepts is the same call on tensors of the device `meta`, for which no kernel is called
//! (`DTYPES` in `tests/kernels.rs`).
use crate::domain::{Accepted, Domain, Refusal};
use crate::product::PRODUCTS;
use crate::{Cx, KernelError, Tensor};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype};

impl Cx<'_> {
    /// As [`Cx::require_dtype`] for a tensor's own dtype and device.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the dtype is not accepted.
    pub fn require_kind(
        &mut self,
        tensor: &Tensor,
        accepted: Accepted,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        self.require_dtype(tensor.dtype, accepted, &tensor.device, clause)
    }

    /// As [`Cx::require_kind`], but nothing is required of a result without elements, for which no kernel is called.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the dtype is not accepted and the sizes have elements.
    pub fn require_kind_where_filled(
        &mut self,
        tensor: &Tensor,
        accepted: Accepted,
        sizes: &[Expr],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        if accepted.refusal(tensor.dtype, self.cpu_computes(&tensor.device)).is_none() {
            return Ok(());
        }
        let numel = self.product(sizes.iter().copied());
        let empty = self.eq(numel, 0);
        if self.known(empty) == Some(false) {
            return self.require_kind(tensor, accepted, clause);
        }
        self.require(empty, clause, |_| format!("the operator does not compute in {}", tensor.dtype))
    }

    /// Requires that an operator accepts `dtype`: its definition on every backend, and the CPU's kernel on tensors of
    /// the CPU. Which dtypes other backends have kernels for is not known, and not required.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it does not, [`KernelError::Unsupported`] for rare dtypes where that is not known.
    pub fn require_dtype(
        &mut self,
        dtype: Dtype,
        accepted: Accepted,
        device: &Device,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        match accepted.refusal(dtype, self.cpu_computes(device)) {
            None => Ok(()),
            Some(Refusal::Doubtful) => Err(KernelError::Unsupported(format!(
                "{clause}: it is not known whether {dtype} is accepted"
            ))),
            Some(Refusal::Known) => {
                Err(KernelError::invalid(clause, format!("the operator does not compute in {dtype}")))
            }
        }
    }

    /// Requires that a CPU kernel computes in `dtype`, as `served` says, whatever the device that the program records.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when none does.
    pub fn require_cpu_kernel(
        &mut self,
        dtype: Dtype,
        served: bool,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        self.check(served || !self.on_cpu(), clause, |_| no_kernel(dtype))
    }

    /// As [`Cx::require_cpu_kernel`], unless `trivial` holds: where nothing is computed, no kernel is called.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it is refuted and there is no kernel.
    pub fn require_cpu_kernel_unless(
        &mut self,
        dtype: Dtype,
        domain: Domain,
        trivial: impl FnOnce(&mut Self) -> Expr,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        if domain.contains(dtype) || !self.on_cpu() {
            return Ok(());
        }
        let trivial = trivial(self);
        self.require(trivial, clause, |_| no_kernel(dtype))
    }

    /// Requires of a dtype in which the CPU multiplies no matrices that the result of these sizes is empty.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it is not.
    pub fn products_or_empty(
        &mut self,
        dtype: Dtype,
        sizes: &[Expr],
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        let empty = |cx: &mut Self| {
            let numel = cx.product(sizes.iter().copied());
            cx.eq(numel, 0)
        };
        self.require_cpu_kernel_unless(dtype, PRODUCTS, empty, clause)
    }

    /// Requires of dtypes for which the CPU has no kernel of distances between rows that there is nothing to compute,
    /// or that the distances come from a product of matrices: where `by_product` is not `None` and either says so or
    /// there are more than 25 rows (`cdist_impl` in `aten/src/ATen/native/Distance.cpp`).
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when there is something to compute.
    pub fn require_cpu_cdist(
        &mut self,
        [a, b]: [&Tensor; 2],
        batch: &[Expr],
        by_product: Option<bool>,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        let agree = a.dtype == b.dtype;
        if !self.on_cpu() || agree && Domain::SINGLE_DOUBLE.contains(a.dtype) {
            return Ok(());
        }
        let (n, m) = (a.size(-2), b.size(-2));
        let inside = self.product(batch.iter().copied().chain([n, m, a.size(-1)]));
        let mut served = vec![self.eq(inside, 0)];
        if agree
            && Domain::FLOAT.contains(a.dtype)
            && let Some(always) = by_product
        {
            served.extend([self.gt(n, 25), self.gt(m, 25)]);
            if always {
                served.push(self.eq(n, n));
            }
        }
        let served = self.any(&served);
        self.require(served, clause, |_| format!("there is no CPU kernel for {} and {}", a.dtype, b.dtype))
    }

    /// The dtype in which numbers of a dtype are added up (`AccumulateType.h` in `aten/src/ATen`): the CPU widens
    /// `float32`.
    pub fn accumulated(&self, dtype: Dtype) -> Dtype {
        match dtype {
            Dtype::Float16 | Dtype::Bfloat16 => Dtype::Float32,
            Dtype::Float32 if self.on_cpu() => Dtype::Float64,
            Dtype::Complex64 if self.on_cpu() => Dtype::Complex128,
            other if other.is_integral() => Dtype::Int64,
            other => other,
        }
    }

    /// Whether softmax converts `float16` to `float32` on the way, which the CPU does not (`host_softmax` in
    /// `aten/src/ATen/native/cuda/SoftMax.cu`).
    pub fn softmax_converts(&self, from: Dtype, to: Dtype) -> bool {
        !self.on_cpu() && from == Dtype::Float16 && to == Dtype::Float32
    }

    /// Whether a tensor is empty, so that the CPU's kernel copies it instead of computing (`pixel_unshuffle_cpu` in
    /// `aten/src/ATen/native/PixelShuffle.cpp`).
    pub fn returns_empty_as_it_is(&mut self, x: &Tensor, clause: &'static OpClause) -> Branch {
        if !self.on_cpu() {
            return Branch::No;
        }
        let numel = self.numel(x);
        let empty = self.eq(numel, 0);
        match self.env.branch(empty, clause) {
            Some(true) => Branch::Yes,
            Some(false) => Branch::No,
            None => Branch::Open(empty),
        }
    }
}

/// Which way a kernel goes.
pub enum Branch {
    /// The condition holds.
    Yes,
    /// It does not.
    No,
    /// Sizes that are not backed decide it.
    Open(Expr),
}

fn no_kernel(dtype: Dtype) -> String {
    format!("there is no CPU kernel for {dtype}")
}
