//! Sets of dtypes, as an operator's CPU kernels accept them.
use super::context::Cx;
use super::error::KernelError;
use super::tensor::Tensor;
use crate::ir::dtype::Dtype;

/// A set of dtypes, built from the groups that kernels are compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds(u8);

impl Kinds {
    /// Truth values.
    pub const BOOL: Kinds = Kinds(1);
    /// `uint8` and signed integers.
    pub const INT: Kinds = Kinds(2);
    /// Unsigned integers above 8 bits.
    pub const WIDE_UNSIGNED: Kinds = Kinds(4);
    /// `float16` and `bfloat16`.
    pub const HALF: Kinds = Kinds(8);
    /// `float32` and `float64`.
    pub const FULL: Kinds = Kinds(16);
    /// `complex64` and `complex128`.
    pub const COMPLEX: Kinds = Kinds(32);
    /// `complex32`.
    pub const HALF_COMPLEX: Kinds = Kinds(64);
    /// Floating point below 16 bits, quantised integers, bit patterns.
    pub const NARROW: Kinds = Kinds(128);
    /// Real floating point.
    pub const FLOATING: Kinds = Kinds::HALF.and(Kinds::FULL);
    /// `float32`, `float64` and their complex dtypes: what LAPACK computes in.
    pub const LAPACK: Kinds = Kinds::FULL.and(Kinds::COMPLEX);
    /// Floating point, real or complex.
    pub const INEXACT: Kinds = Kinds::FLOATING.and(Kinds::COMPLEX);
    /// Integers and real floating point.
    pub const REAL: Kinds = Kinds::INT.and(Kinds::FLOATING);
    /// Every dtype that one computes in ordinarily.
    pub const NUMBERS: Kinds = Kinds::REAL.and(Kinds::BOOL).and(Kinds::COMPLEX);
    /// As [`Kinds::NUMBERS`] without complex ones.
    pub const REAL_OR_BOOL: Kinds = Kinds::REAL.and(Kinds::BOOL);

    /// The union of two sets.
    #[must_use]
    pub const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// The group that a dtype belongs to.
    pub fn of(dtype: Dtype) -> Kinds {
        match dtype {
            Dtype::Bool => Kinds::BOOL,
            Dtype::Uint8 | Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64 => Kinds::INT,
            Dtype::Uint16 | Dtype::Uint32 | Dtype::Uint64 => Kinds::WIDE_UNSIGNED,
            Dtype::Float16 | Dtype::Bfloat16 => Kinds::HALF,
            Dtype::Float32 | Dtype::Float64 => Kinds::FULL,
            Dtype::Complex64 | Dtype::Complex128 => Kinds::COMPLEX,
            Dtype::Complex32 => Kinds::HALF_COMPLEX,
            _ => Kinds::NARROW,
        }
    }

    /// Whether the set has a dtype.
    pub fn has(self, dtype: Dtype) -> bool {
        self.0 & Kinds::of(dtype).0 != 0
    }
}

impl Cx<'_> {
    /// Requires that the operator computes in the tensor's dtype.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when it does not.
    pub fn check_kind(
        &mut self,
        tensor: &Tensor,
        accepted: Kinds,
        clause: &'static str,
    ) -> Result<(), KernelError> {
        self.check_dtype(tensor.dtype, accepted, clause)
    }

    /// As [`Cx::check_kind`] for a dtype.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the set does not have it.
    pub fn check_dtype(
        &mut self,
        dtype: Dtype,
        accepted: Kinds,
        clause: &'static str,
    ) -> Result<(), KernelError> {
        self.check(accepted.has(dtype), clause, |_| format!("there is no implementation for {dtype}"))
    }
}
