//! What element-wise operators share: operands that may be numbers, their common dtype, and the tensor they give.
use super::args::Args;
use super::context::Cx;
use super::domain::Accepted;
use super::error::{KernelError, KernelResult, one};
use super::promote::{self, Category, ResultType};
use super::tensor::Tensor;
use super::value::{Scalar, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_ir::dtype::{Device, Dtype, Layout};
use smallvec::SmallVec;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[pointwise::ALL];

/// An operand of an element-wise operator.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Scalar(Scalar),
}

/// Which dtype the result has, given the one that the operands meet in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// The same.
    Common,
    /// The same, integers and `bool` becoming `float32`; the operator computes in it.
    Float,
    /// The same, complex numbers becoming their real parts' dtype.
    Real,
    /// `bool`.
    Bool,
}

impl Operand<'_> {
    /// The dtype, for conditions on single operands.
    pub fn dtype(&self) -> Dtype {
        match self {
            Operand::Tensor(t) => t.dtype,
            Operand::Scalar(s) => s.dtype(),
        }
    }

    /// The category of the dtype.
    pub fn category(&self) -> Category {
        Category::of(self.dtype())
    }
}

impl Args<'_> {
    /// The operand at a position of the schema: a tensor or a number.
    pub fn operand(&self, at: usize) -> Result<Operand<'_>, KernelError> {
        match self.values.get(at) {
            Some(Value::Tensor(t)) => Ok(Operand::Tensor(t)),
            Some(Value::None) => Err(super::args::undefined(&format!("argument {at}"))),
            Some(value) => match value.as_scalar() {
                Some(scalar) => Ok(Operand::Scalar(scalar)),
                None => Err(self.mismatch(&format!("argument {at}"), value.kind())),
            },
            None => Err(self.mismatch(&format!("argument {at}"), "nothing")),
        }
    }
}

/// The dtype that operands meet in.
///
/// # Errors
/// [`KernelError::Invalid`] when torch does not promote their dtypes.
pub fn common_dtype(operands: &[Operand], clause: &'static OpClause) -> Result<Dtype, KernelError> {
    let mut common = ResultType::default();
    for operand in operands {
        common = match operand {
            Operand::Tensor(t) => common.with(t),
            Operand::Scalar(s) => common.with_scalar(*s),
        };
    }
    common.dtype().map_err(|(x, y)| KernelError::invalid(clause, format!("{x} and {y} do not promote")))
}

/// The tensors among the operands.
pub fn tensors<'a>(operands: &[Operand<'a>]) -> SmallVec<[&'a Tensor; 3]> {
    operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None }).collect()
}

clauses! { pointwise {
    C1 "The shapes of the operands broadcast, and their devices agree."
    C2 "The dtypes of the operands promote to a common one."
    C3 "There is a kernel for the common dtype of the operands."
} }

impl Cx<'_> {
    /// The device that tensors share; 0-dimensional ones on the host follow the others.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when they live on different devices.
    pub fn common_device(
        &mut self,
        operands: &[&Tensor],
        clause: &'static OpClause,
    ) -> Result<Device, KernelError> {
        let follows = |t: &Tensor| t.sizes.is_empty() && &*t.device.kind == "cpu";
        let lead = operands.iter().find(|t| !follows(t)).or(operands.first());
        let device = lead.map_or_else(Device::cpu, |t| t.device.clone());
        for other in operands {
            self.check(other.device == device || follows(other), clause, |_| {
                format!("the operands live on {device} and {}", other.device)
            })?;
        }
        Ok(device)
    }

    /// The result of an element-wise operator: operands broadcast, and their order of dimensions is kept.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the shapes do not broadcast or the devices differ.
    pub fn elementwise(
        &mut self,
        operands: &[&Tensor],
        dtype: Dtype,
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        if let Some(other) = operands.iter().find(|t| t.layout != Layout::Strided) {
            return Err(KernelError::Unsupported(format!("{clause}: a {} operand", other.layout)));
        }
        let device = self.common_device(operands, clause)?;
        let sizes = self.broadcast(operands.iter().map(|t| t.sizes.as_slice()), clause)?;
        let strides = self.elementwise_strides(&sizes, operands);
        Ok(self.strided(sizes, strides, dtype, &device))
    }

    /// An element-wise function of operands that meet in their common dtype.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] for a violated clause.
    pub fn pointwise(&mut self, operands: &[Operand], accepted: Accepted, out: Out) -> KernelResult {
        let mut common = common_dtype(operands, pointwise::C2)?;
        if out == Out::Float {
            common = promote::to_float(common);
        }
        let dtype = match out {
            Out::Common | Out::Float => common,
            Out::Real => promote::to_real(common),
            Out::Bool => Dtype::Bool,
        };
        let result = self.elementwise(&tensors(operands), dtype, pointwise::C1)?;
        self.require_dtype(common, accepted, &result.device, pointwise::C3)?;
        one(result)
    }
}
