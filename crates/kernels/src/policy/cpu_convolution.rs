//! How the CPU computes convolutions: by oneDNN or by kernels of its own, which differ in what they ask of dilation
//! and bias and in how they lay out the result.
//!
//! Sources: `ConvParams::use_mkldnn` and `select_conv_backend` in `aten/src/ATen/native/Convolution.cpp` choose the
//! kernel; `mkldnn_conv_use_channels_last`, `thnn_conv_use_channels_last` and `cudnn_conv_suggest_memory_format` in
//! `aten/src/ATen/native/ConvUtils.h` choose the memory format.
use super::Backend;
use crate::conv::{Conv, convolution};
use crate::domain::Domain;
use crate::{Cx, KernelError, Tensor};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Dtype, MemoryFormat};

impl Conv {
    /// # Errors
    /// [`KernelError::Invalid`] when no CPU kernel computes in the input's dtype.
    pub fn require_cpu_dtype(&self, cx: &mut Cx, x: &Tensor, composed: bool) -> Result<(), KernelError> {
        let unfolds = !self.transposed && self.dilation.iter().all(|d| *d == Expr::ONE);
        let served = match x.dtype {
            Dtype::Int64 => true,
            dtype if dtype.is_complex() => composed && Domain::COMPLEX.contains(dtype),
            dtype => Domain::FLOAT.contains(dtype) || (unfolds && Domain::INT.contains(dtype)),
        };
        cx.require_cpu_kernel(x.dtype, served, convolution::C9)
    }

    /// # Errors
    /// [`KernelError::Invalid`] when the kernel that is chosen does not copy the bias.
    pub fn require_cpu_bias(
        &self,
        cx: &mut Cx,
        x: &Tensor,
        w: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<(), KernelError> {
        let Some(bias) = bias.filter(|b| b.dtype != x.dtype && cx.on_cpu()) else { return Ok(()) };
        let mut plain = |d: &Expr| {
            let more = cx.sub(*d, 1);
            cx.is_nothing(more, convolution::C9)
        };
        let copies = if self.transposed { w.rank() <= 4 } else { self.dilation.iter().all(&mut plain) };
        let message = |_: &Cx| format!("the dtypes differ: {} and {}", x.dtype, bias.dtype);
        cx.check(copies, convolution::C9, message)?;
        let one_dnn = self.by_one_dnn(cx, x, w);
        let copied = cx.not(one_dnn);
        cx.require(copied, convolution::C9, message)
    }

    /// Where oneDNN takes a dilation of 0: in a transposed convolution in 1 or 2 spatial dimensions, for a kernel of
    /// size 1.
    pub fn takes_no_dilation(&self, cx: &mut Cx, x: &Tensor, w: &Tensor) -> Option<Expr> {
        let maybe_none = self.dilation.iter().any(|d| d.as_inline().is_none_or(|d| d == 0));
        if !cx.on_cpu() || !self.transposed || !maybe_none || x.rank() >= 5 || x.dtype == Dtype::Float16 {
            return None;
        }
        let mut conditions = vec![self.by_one_dnn(cx, x, w)];
        for (&dilation, &kernel) in self.dilation.iter().zip(&w.sizes[2..]) {
            let (positive, none, single) = (cx.gt(dilation, 0), cx.eq(dilation, 0), cx.eq(kernel, 1));
            let none = cx.all(&[none, single]);
            conditions.push(cx.any(&[positive, none]));
        }
        Some(cx.all(&conditions))
    }

    /// The memory format of the result: channels last where the input or the weight has it. In 3 spatial dimensions
    /// the CPU's own kernels do not follow it, oneDNN does; cuDNN follows it in both, except in `float64`.
    pub fn memory_format(&self, cx: &mut Cx, x: &Tensor, w: &Tensor) -> MemoryFormat {
        let format = match x.rank() {
            4 => MemoryFormat::ChannelsLast,
            5 if x.dtype != Dtype::Float64 => MemoryFormat::ChannelsLast3d,
            _ => return MemoryFormat::Contiguous,
        };
        if cx.backend == Backend::Cuda && x.dtype == Dtype::Float64 {
            return MemoryFormat::Contiguous;
        }
        if cx.env.hint(x.size(0)).is_none() {
            return MemoryFormat::Contiguous;
        }
        if cx.suggested_format(x) != format && cx.suggested_format(w) != format {
            return MemoryFormat::Contiguous;
        }
        if x.rank() == 5 && cx.on_cpu() {
            let one_dnn = self.by_one_dnn(cx, x, w);
            if !cx.layout_choice(one_dnn) {
                return MemoryFormat::Contiguous;
            }
        }
        format
    }

    /// Whether oneDNN computes the convolution rather than PyTorch's own kernels: any in 16-bit floats; in `float32`
    /// those with groups, more than one image, a large input or a kernel above 3.
    fn by_one_dnn(&self, cx: &mut Cx, x: &Tensor, w: &Tensor) -> Expr {
        if Domain::HALVES.contains(x.dtype) {
            return cx.eq(Expr::ONE, 1);
        }
        if x.dtype != Dtype::Float32 {
            return cx.eq(Expr::ONE, 0);
        }
        let grouped = cx.gt(self.groups, 1);
        let (high, wide) = (cx.gt(w.size(-1), 3), cx.gt(w.size(-2), 3));
        let large_kernel = cx.all(&[high, wide]);
        let several = cx.gt(x.size(0), 1);
        let elements = cx.product(x.sizes.iter().take(4).copied());
        let large = cx.gt(elements, 20480);
        cx.any(&[grouped, large_kernel, several, large])
    }
}
