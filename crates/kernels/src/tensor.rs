//! What a fake kernel knows of a tensor: everything but its elements.
use super::span::Span;
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, Layout};
use smallvec::SmallVec;

/// Sizes or strides, one entry a dimension, counted in elements.
pub type Sizes = SmallVec<[Expr; 5]>;

/// A tensor without elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// The size of each dimension.
    pub sizes: Sizes,
    /// The distance between neighbours along each dimension, in elements; meaningless unless the layout is strided.
    pub strides: Sizes,
    /// Where the first element lies in the storage, in elements.
    pub offset: Expr,
    /// The type of the elements.
    pub dtype: Dtype,
    /// Where the elements live.
    pub device: Device,
    /// How they are stored.
    pub layout: Layout,
    /// Whether this stands for a Python number, which takes part in type promotion by its category only.
    pub wrapped: bool,
    /// Where the elements lie, if they are integers and sizes decide it.
    pub span: Option<Span>,
}

impl Tensor {
    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The size of dimension `i`, counted from the end when negative; the caller knows it exists.
    pub fn size(&self, i: isize) -> Expr {
        let at = if i < 0 { self.sizes.len() as isize + i } else { i };
        self.sizes[at as usize]
    }

    /// The same tensor with other sizes and strides: a view.
    pub fn viewed(&self, sizes: Sizes, strides: Sizes) -> Tensor {
        Tensor { sizes, strides, wrapped: false, span: None, ..self.clone() }
    }

    /// The same tensor with another dtype.
    pub fn with_dtype(&self, dtype: Dtype) -> Tensor {
        Tensor { dtype, wrapped: false, span: None, ..self.clone() }
    }
}
