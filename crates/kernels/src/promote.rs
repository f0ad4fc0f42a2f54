//! Type promotion: the dtype that operands of different dtypes meet in.
use super::tensor::Tensor;
use super::value::Scalar;
use sizewise_ir::dtype::Dtype;

/// The kinds of numbers, each containing the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Category {
    /// Truth values.
    Bool,
    /// Integers.
    Int,
    /// Real floating point.
    Float,
    /// Complex.
    Complex,
}

impl Category {
    /// The category of a dtype.
    pub fn of(dtype: Dtype) -> Category {
        if dtype.is_complex() {
            Category::Complex
        } else if dtype.is_float() {
            Category::Float
        } else if dtype.is_bool() {
            Category::Bool
        } else {
            Category::Int
        }
    }
}

impl Scalar {
    /// The category of the number.
    pub fn category(&self) -> Category {
        match self {
            Scalar::Int(_) => Category::Int,
            Scalar::Float(_) => Category::Float,
            Scalar::Bool(_) => Category::Bool,
            Scalar::Complex(..) => Category::Complex,
        }
    }

    /// The dtype that the number has as a tensor of its own.
    pub fn dtype(&self) -> Dtype {
        default_dtype_for(self.category())
    }
}

/// The dtype that a Python number of a category becomes: `float32` and `complex64` are torch's defaults.
pub fn default_dtype_for(category: Category) -> Dtype {
    match category {
        Category::Bool => Dtype::Bool,
        Category::Int => Dtype::Int64,
        Category::Float => Dtype::Float32,
        Category::Complex => Dtype::Complex64,
    }
}

/// The complex dtype with parts of a given real dtype.
pub fn to_complex(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Float16 => Dtype::Complex32,
        Dtype::Float64 => Dtype::Complex128,
        Dtype::Bfloat16 => Dtype::Bcomplex32,
        d if d.is_complex() => d,
        _ => Dtype::Complex64,
    }
}

/// The dtype of the parts of a complex dtype; any other dtype is its own.
pub fn to_real(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Complex32 => Dtype::Float16,
        Dtype::Bcomplex32 => Dtype::Bfloat16,
        Dtype::Complex64 => Dtype::Float32,
        Dtype::Complex128 => Dtype::Float64,
        d => d,
    }
}

/// The dtype that operators which compute in floating point give for operands of `dtype`.
pub fn to_float(dtype: Dtype) -> Dtype {
    if dtype.is_float() || dtype.is_complex() { dtype } else { Dtype::Float32 }
}

/// The least dtype that holds the values of both, as torch's lattice has it; `None` where torch defines none (8-bit
/// floats, and unsigned integers above 8 bits with signed ones).
pub fn promote(a: Dtype, b: Dtype) -> Option<Dtype> {
    use Dtype::*;
    if a == b {
        return Some(a);
    }
    let narrow = |d: Dtype| d.is_float() && d.item_size() == 1;
    if narrow(a) || narrow(b) {
        return None;
    }
    let (low, high) = if Category::of(a) <= Category::of(b) { (a, b) } else { (b, a) };
    match (Category::of(low), Category::of(high)) {
        (Category::Bool, _) => Some(high),
        (Category::Int, Category::Int) => {
            if !low.is_signed() && !high.is_signed() {
                // Unsigned integers promote among themselves only to the wider one of the two.
                return Some(if low.item_size() >= high.item_size() { low } else { high });
            }
            if low.is_signed() && high.is_signed() {
                return Some(if low.item_size() >= high.item_size() { low } else { high });
            }
            let (unsigned, signed) = if low.is_signed() { (high, low) } else { (low, high) };
            match (unsigned, signed) {
                (Uint8, Int8) => Some(Int16),
                (Uint8, _) => Some(signed),
                _ => None,
            }
        }
        (Category::Int, _) => Some(high),
        (Category::Float, Category::Float) => Some(match (low, high) {
            (Float16, Bfloat16) | (Bfloat16, Float16) => Float32,
            _ => {
                if low.item_size() >= high.item_size() {
                    low
                } else {
                    high
                }
            }
        }),
        (Category::Float, Category::Complex) => match (low, high) {
            (Float64, _) => Some(Complex128),
            (Float32 | Bfloat16, Complex32) => Some(Complex64),
            _ => Some(high),
        },
        _ => Some(if low.item_size() >= high.item_size() { low } else { high }),
    }
}

/// The dtype in which operands meet: tensors with dimensions first; 0-dimensional tensors and then Python numbers
/// only where their category is higher.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultType {
    dimensioned: Option<Dtype>,
    zero_dimensional: Option<Dtype>,
    wrapped: Option<Dtype>,
    clash: Option<(Dtype, Dtype)>,
}

impl ResultType {
    /// The result type of tensors.
    pub fn of<'t>(tensors: impl IntoIterator<Item = &'t Tensor>) -> ResultType {
        tensors.into_iter().fold(ResultType::default(), ResultType::with)
    }

    /// With one more tensor.
    #[must_use]
    pub fn with(mut self, tensor: &Tensor) -> ResultType {
        if tensor.wrapped {
            self.add_wrapped(Category::of(tensor.dtype));
            return self;
        }
        self.with_dtype(tensor.dtype, tensor.sizes.len())
    }

    /// With one more tensor of this dtype and rank.
    #[must_use]
    pub fn with_dtype(mut self, dtype: Dtype, rank: usize) -> ResultType {
        if rank == 0 {
            self.zero_dimensional = self.join(self.zero_dimensional, dtype);
        } else {
            self.dimensioned = self.join(self.dimensioned, dtype);
        }
        self
    }

    /// With one more Python number.
    #[must_use]
    pub fn with_scalar(self, scalar: Scalar) -> ResultType {
        self.with_category(scalar.category())
    }

    /// With one more Python number of this category.
    #[must_use]
    pub fn with_category(mut self, category: Category) -> ResultType {
        self.add_wrapped(category);
        self
    }

    fn add_wrapped(&mut self, category: Category) {
        self.wrapped = self.join(self.wrapped, default_dtype_for(category));
    }

    fn join(&mut self, held: Option<Dtype>, new: Dtype) -> Option<Dtype> {
        let Some(held) = held else { return Some(new) };
        let joined = promote(held, new);
        if joined.is_none() {
            self.clash = Some((held, new));
        }
        joined.or(Some(held))
    }

    /// The dtype.
    ///
    /// # Errors
    /// The two dtypes that torch does not promote.
    pub fn dtype(self) -> Result<Dtype, (Dtype, Dtype)> {
        if let Some(clash) = self.clash {
            return Err(clash);
        }
        let lower = combine(self.zero_dimensional, self.wrapped)?;
        Ok(combine(self.dimensioned, lower)?.unwrap_or(Dtype::Float32))
    }
}

/// The higher-priority dtype, unless the lower-priority one is of a higher category.
fn combine(higher: Option<Dtype>, lower: Option<Dtype>) -> Result<Option<Dtype>, (Dtype, Dtype)> {
    let (Some(high), Some(low)) = (higher, lower) else { return Ok(higher.or(lower)) };
    let joined = match (Category::of(high), Category::of(low)) {
        (Category::Complex, _) => Some(high),
        (Category::Float, Category::Complex) => Some(to_complex(high)),
        (Category::Float, _) => Some(high),
        (Category::Bool, _) | (_, Category::Float | Category::Complex) => promote(high, low),
        _ => Some(high),
    };
    joined.map(Some).ok_or((high, low))
}
