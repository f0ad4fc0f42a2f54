//! Reductions: which dimensions go, and the shape that is left.
use super::args::Args;
use super::context::Cx;
use super::error::KernelError;
use super::tensor::{Sizes, Tensor};
use super::value::Value;
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// Which dimensions of a tensor are reduced, and whether they stay as dimensions of size 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// One flag a dimension.
    pub dims: Vec<bool>,
    /// Whether a reduced dimension stays with size 1.
    pub keepdim: bool,
}

/// The dimensions that torch's reductions over lists of dimensions can tell apart.
const MOST_DIMS: usize = 64;

impl Reduction {
    /// The reduction over all dimensions of a tensor.
    pub fn all(rank: usize) -> Reduction {
        Reduction { dims: vec![true; rank], keepdim: false }
    }

    /// The reduction over one dimension.
    pub fn one(rank: usize, dim: usize, keepdim: bool) -> Reduction {
        Reduction { dims: (0..rank).map(|i| i == dim).collect(), keepdim }
    }

    /// The shape that is left.
    pub fn apply(&self, sizes: &[Expr]) -> Sizes {
        let mut left = Sizes::new();
        for (&size, &reduced) in sizes.iter().zip(&self.dims) {
            if !reduced {
                left.push(size);
            } else if self.keepdim {
                left.push(Expr::ONE);
            }
        }
        left
    }
}

impl Cx<'_> {
    /// The reduction that the arguments `dim` and `keepdim` ask for; a schema without them reduces everything. An empty
    /// list means all dimensions.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a dimension is out of range or named twice, or there are more than 64.
    pub fn reduction(
        &mut self,
        args: &Args,
        x: &Tensor,
        clause: &'static OpClause,
    ) -> Result<Reduction, KernelError> {
        self.reduction_over(args, x, true, clause)
    }

    /// As [`Cx::reduction`], saying whether an empty list means all dimensions.
    ///
    /// # Errors
    /// As [`Cx::reduction`].
    pub fn reduction_over(
        &mut self,
        args: &Args,
        x: &Tensor,
        empty_means_all: bool,
        clause: &'static OpClause,
    ) -> Result<Reduction, KernelError> {
        self.check(x.rank() <= MOST_DIMS, clause, |_| {
            format!("a tensor of {} dimensions cannot be reduced: at most {MOST_DIMS}", x.rank())
        })?;
        let keepdim = args.has("keepdim") && args.flag("keepdim")?;
        if !args.has("dim") {
            return Ok(Reduction { keepdim, ..Reduction::all(x.rank()) });
        }
        let dims = match args.value("dim")? {
            Value::None => None,
            Value::Int(dim) => Some(std::slice::from_ref(dim)),
            _ => Some(args.ints("dim")?),
        };
        Ok(Reduction { dims: self.dims(dims, x.rank(), empty_means_all, clause)?, keepdim })
    }

    /// A fresh tensor of the shape that a reduction leaves.
    pub fn reduced(&mut self, x: &Tensor, reduction: &Reduction, dtype: Dtype) -> Tensor {
        self.contiguous(reduction.apply(&x.sizes), dtype, &x.device)
    }

    /// Requires that no reduced dimension is empty, for operators that have no value for an empty set.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when one is.
    pub fn require_reducible(
        &mut self,
        x: &Tensor,
        reduction: &Reduction,
        clause: &'static OpClause,
    ) -> Result<(), KernelError> {
        for (i, &size) in x.sizes.iter().enumerate() {
            if reduction.dims[i] {
                let filled = self.ne(size, 0);
                self.require(filled, clause, |cx| {
                    format!("dimension {i} of shape {} is empty: it has no value", cx.show_all(&x.sizes))
                })?;
            }
        }
        Ok(())
    }
}
