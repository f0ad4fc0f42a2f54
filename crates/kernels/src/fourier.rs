//! Discrete Fourier transforms of strided tensors, and how the CPU's library lays out their results.
use super::context::Cx;
use super::domain::Domain;
use super::error::KernelError;
use super::promote;
use super::tensor::{Sizes, Tensor};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use smallvec::smallvec;

impl Cx<'_> {
    /// Dimensions by falling stride; equal strides keep their order. What the facts leave open follows the hints and
    /// changes strides alone.
    fn by_stride(&mut self, tensor: &Tensor, dims: &mut [usize]) {
        for i in 1..dims.len() {
            let mut at = i;
            while at > 0 {
                let wider = self.gt(tensor.strides[dims[at]], tensor.strides[dims[at - 1]]);
                if !self.layout_choice(wider) {
                    break;
                }
                dims.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    /// The result of a transform over `dims`, of sizes `sizes`: dimensions in `dims` innermost, the last of them
    /// first; the others around them in the order of the operand's strides.
    fn transformed(
        &mut self,
        x: &Tensor,
        sizes: Sizes,
        dims: &[usize],
        dtype: sizewise_ir::dtype::Dtype,
    ) -> Tensor {
        let mut batch: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
        self.by_stride(x, &mut batch);
        batch.extend_from_slice(dims);
        let mut strides: Sizes = smallvec![Expr::ONE; sizes.len()];
        let mut stride = Expr::ONE;
        for &dim in batch.iter().rev() {
            strides[dim] = stride;
            let size = self.at_least_one(sizes[dim]);
            stride = self.mul(stride, size);
        }
        self.strided(sizes, strides, dtype, &x.device)
    }

    /// Requires a transform into `sizes` to be over distinct dimensions, none of them empty; an empty result is
    /// transformed without looking. Gives whether there are dimensions to transform.
    fn check_transform(
        &mut self,
        x: &Tensor,
        dims: &[usize],
        sizes: &[Expr],
        clause: &'static OpClause,
    ) -> Result<bool, KernelError> {
        let numel = self.product(sizes.iter().copied());
        let empty = self.eq(numel, 0);
        for (i, &dim) in dims.iter().enumerate() {
            if dim >= x.rank() || dims[..i].contains(&dim) {
                self.require(empty, clause, |_| format!("dimension {dim} is out of range or named twice"))?;
                return Ok(false);
            }
            let filled = self.ne(x.sizes[dim], 0);
            if !self.surely(filled) {
                let either = self.any(&[filled, empty]);
                self.require(either, clause, |_| {
                    format!("dimension {dim} is empty: there is nothing to transform")
                })?;
            }
        }
        Ok(true)
    }

    /// The complex transform over `dims`: shaped as the operand.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] unless the dimensions are distinct and not empty and the operand is `complex64` or
    /// `complex128`.
    pub fn fft_c2c(
        &mut self,
        x: &Tensor,
        dims: &[usize],
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        self.check(x.dtype.is_complex(), clause, |_| {
            format!("a complex operand is expected, not {}", x.dtype)
        })?;
        if dims.is_empty() {
            let strides = self.preserved_strides(x);
            return Ok(self.strided(x.sizes.clone(), strides, x.dtype, &x.device));
        }
        self.require_dtype(x.dtype, Domain::COMPLEX.on_cpu(), &x.device, clause)?;
        if !self.check_transform(x, dims, &x.sizes.clone(), clause)? {
            return Ok(self.contiguous_copy(x));
        }
        let mut dims = dims.to_vec();
        self.by_stride(x, &mut dims);
        Ok(self.transformed(x, x.sizes.clone(), &dims, x.dtype))
    }

    /// The transform of a real operand over `dims`; one-sided, the last of them is left with `n // 2 + 1` of its `n`
    /// elements.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] unless the dimensions are distinct and not empty and the operand is `float32` or
    /// `float64`.
    pub fn fft_r2c(
        &mut self,
        x: &Tensor,
        dims: &[usize],
        onesided: bool,
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        self.require_dtype(x.dtype, Domain::SINGLE_DOUBLE.on_cpu(), &x.device, clause)?;
        let Some((&last, others)) = dims.split_last() else {
            return Err(KernelError::invalid(clause, "no dimension is named"));
        };
        self.check(last < x.rank(), clause, |_| format!("dimension {last} is out of range"))?;
        let mut sizes = x.sizes.clone();
        if onesided {
            let half = self.floor_div(sizes[last], 2);
            sizes[last] = self.add(half, 1);
        }
        let dtype = promote::to_complex(x.dtype);
        if !self.check_transform(x, dims, &sizes, clause)? {
            return Ok(self.contiguous(sizes, dtype, &x.device));
        }
        let mut dims = others.to_vec();
        self.by_stride(x, &mut dims);
        dims.push(last);
        Ok(self.transformed(x, sizes, &dims, dtype))
    }

    /// The transform over `dims` whose result is real; the last of them becomes `last_size`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] unless the dimensions are distinct and not empty, the operand is `complex64` or
    /// `complex128`, `last_size` is not negative, and the last dimension of the operand has the `last_size // 2 + 1` elements of a one-sided spectrum (or as many
    /// as the library takes for them).
    pub fn fft_c2r(
        &mut self,
        x: &Tensor,
        dims: &[usize],
        last_size: Expr,
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        let Some((&last, others)) = dims.split_last() else {
            return Err(KernelError::invalid(clause, "no dimension is named"));
        };
        // Over several dimensions, all but the last are transformed on their own first.
        let x = self.fft_c2c(x, others, clause)?;
        self.require_dtype(x.dtype, Domain::COMPLEX.on_cpu(), &x.device, clause)?;
        let mut sizes = x.sizes.clone();
        if let Some(size) = sizes.get_mut(last) {
            *size = last_size;
        }
        let natural = self.ge(last_size, 0);
        self.require(natural, clause, |cx| format!("a negative size {}", cx.show(last_size)))?;
        let dtype = promote::to_real(x.dtype);
        if !self.check_transform(&x, &[last], &sizes, clause)? {
            return Ok(self.contiguous(sizes, dtype, &x.device));
        }
        let given = x.sizes[last];
        let (half_out, half_in) = (self.floor_div(last_size, 2), self.floor_div(given, 2));
        let (half_out, half_in) = (self.add(half_out, 1), self.add(half_in, 1));
        let numel = self.product(sizes.iter().copied());
        let empty = self.eq(numel, 0);
        let fits = [self.eq(given, half_out), self.eq(given, last_size), self.eq(last_size, half_in), empty];
        // The usual case leaves a guard of one equation.
        let usual = self.env.hint(fits[0]).is_some_and(|v| v.as_bool());
        let fits = if usual { fits[0] } else { self.any(&fits) };
        self.require(fits, clause, |cx| {
            format!("{} values are no spectrum of {}", cx.show(given), cx.show(last_size))
        })?;
        Ok(self.transformed(&x, sizes, &[last], dtype))
    }

    /// The operand cut or padded with zeros to `sizes` along `dims`. What of both is done changes strides alone.
    pub fn fft_resized(&mut self, x: &Tensor, dims: &[usize], sizes: &[Expr]) -> Tensor {
        let mut resized = x.viewed(x.sizes.clone(), x.strides.clone());
        let mut padded = false;
        for (&dim, &size) in dims.iter().zip(sizes) {
            if x.sizes[dim] != size {
                let shorter = self.lt(x.sizes[dim], size);
                padded |= self.layout_choice(shorter);
                resized.sizes[dim] = size;
            }
        }
        if padded {
            let format = self.suggested_format(x);
            let strides = self.format_strides(&resized.sizes.clone(), format);
            return self.strided(resized.sizes, strides, x.dtype, &x.device);
        }
        resized
    }
}
