//! Sets of dtypes: which ones an operator is defined for, and which ones the CPU's kernel is compiled for.
use sizewise_ir::dtype::Dtype;

/// A set of dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain(u16);

impl Domain {
    /// `bool`.
    pub const BOOL: Domain = Domain(1);
    /// `uint8`, `int8`, `int16`, `int32`, `int64`.
    pub const INT: Domain = Domain(1 << 1);
    /// `uint16`, `uint32`, `uint64`, which few kernels know.
    pub const WIDE_UNSIGNED: Domain = Domain(1 << 2);
    /// `float16`.
    pub const HALF: Domain = Domain(1 << 3);
    /// `bfloat16`.
    pub const BFLOAT: Domain = Domain(1 << 4);
    /// `float32` and `float64`.
    pub const SINGLE_DOUBLE: Domain = Domain(1 << 5);
    /// `complex32`.
    pub const COMPLEX_HALF: Domain = Domain(1 << 6);
    /// `complex64` and `complex128`.
    pub const COMPLEX: Domain = Domain(1 << 7);
    /// The 8-bit floats.
    pub const FLOAT8: Domain = Domain(1 << 8);
    /// `bcomplex32`.
    pub const COMPLEX_BFLOAT: Domain = Domain(1 << 9);
    const REST: Domain = Domain(1 << 15);

    /// The floating point dtypes of 16 bits and more.
    pub const FLOAT: Domain = Self::SINGLE_DOUBLE.with(Self::HALF).with(Self::BFLOAT);
    /// The floating point dtypes of 16 bits.
    pub const HALVES: Domain = Self::HALF.with(Self::BFLOAT);
    /// [`Domain::FLOAT`] and [`Domain::COMPLEX`].
    pub const FLOAT_COMPLEX: Domain = Self::FLOAT.with(Self::COMPLEX);
    /// What LAPACK computes in.
    pub const LAPACK: Domain = Self::SINGLE_DOUBLE.with(Self::COMPLEX);
    /// Integers and floats.
    pub const REAL: Domain = Self::INT.with(Self::FLOAT);
    /// Integers, floats and `bool`.
    pub const REAL_BOOL: Domain = Self::REAL.with(Self::BOOL);
    /// Integers, floats and complex numbers.
    pub const NUMBER: Domain = Self::REAL.with(Self::COMPLEX);
    /// Integers and `bool`.
    pub const INT_BOOL: Domain = Self::INT.with(Self::BOOL);
    /// All that ordinary kernels know.
    pub const ORDINARY: Domain = Self::NUMBER.with(Self::BOOL);
    /// All but complex numbers.
    pub const NOT_COMPLEX: Domain =
        Self::ANY.without(Self::COMPLEX).without(Self::COMPLEX_HALF).without(Self::COMPLEX_BFLOAT);
    /// Everything.
    pub const ANY: Domain = Domain(u16::MAX);

    /// The dtypes of an operator whose definition takes these only, on every backend.
    pub const fn by_definition(self) -> Accepted {
        Accepted { definition: self, cpu: self }
    }

    /// The dtypes of an operator whose definition takes any, and whose CPU kernel is compiled for these.
    pub const fn on_cpu(self) -> Accepted {
        Accepted { definition: Self::ANY, cpu: self }
    }

    /// The union of two sets.
    #[must_use]
    pub const fn with(self, other: Domain) -> Domain {
        Domain(self.0 | other.0)
    }

    /// The set without the members of another.
    #[must_use]
    pub const fn without(self, other: Domain) -> Domain {
        Domain(self.0 & !other.0)
    }

    const fn class(dtype: Dtype) -> Domain {
        use Dtype::*;
        match dtype {
            Bool => Self::BOOL,
            Uint8 | Int8 | Int16 | Int32 | Int64 => Self::INT,
            Uint16 | Uint32 | Uint64 => Self::WIDE_UNSIGNED,
            Float16 => Self::HALF,
            Bfloat16 => Self::BFLOAT,
            Float32 | Float64 => Self::SINGLE_DOUBLE,
            Complex32 => Self::COMPLEX_HALF,
            Bcomplex32 => Self::COMPLEX_BFLOAT,
            Complex64 | Complex128 => Self::COMPLEX,
            Float8E4m3fn | Float8E5m2 | Float8E4m3fnuz | Float8E5m2fnuz | Float8E8m0fnu => Self::FLOAT8,
            _ => Self::REST,
        }
    }

    /// Whether the dtype is a member.
    pub const fn contains(self, dtype: Dtype) -> bool {
        self.0 & Self::class(dtype).0 != 0
    }

    /// Whether the dtype is one that few kernels know although they know its better-known relatives, so that its
    /// absence from a set proves nothing.
    pub const fn is_doubtful(self, dtype: Dtype) -> bool {
        let relative = match Self::class(dtype) {
            Self::WIDE_UNSIGNED => Self::INT,
            Self::COMPLEX_HALF => Self::COMPLEX,
            Self::FLOAT8 => Self::SINGLE_DOUBLE,
            Self::REST => return true,
            _ => return false,
        };
        self.0 & relative.0 != 0
    }
}

/// The dtypes that an operator accepts, by its definition and on the CPU.
///
/// What the definition does not take is refused on every backend: the meta function or the code before the dispatch
/// to a device refuses it. What only the CPU's kernel does not take is refused on that backend alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    definition: Domain,
    cpu: Domain,
}

impl Accepted {
    /// Linear algebra: LAPACK computes in these dtypes, the definition takes 16-bit floats as well
    /// (`checkFloatingOrComplex` in `aten/src/ATen/native/LinearAlgebraUtils.h`). Operators that do not call that
    /// check have kernels for no more dtypes on any device.
    pub const LINALG: Accepted = Domain::LAPACK.on_cpu().within(Domain::FLOAT_COMPLEX);

    /// The same, where the definition takes dtypes of this set only. It has all that the CPU accepts.
    #[must_use]
    pub const fn within(self, definition: Domain) -> Accepted {
        Accepted { definition: definition.with(self.cpu), cpu: self.cpu }
    }

    /// Why a dtype is refused, if it is: on the CPU where `on_cpu`, otherwise by the definition.
    pub const fn refusal(self, dtype: Dtype, on_cpu: bool) -> Option<Refusal> {
        let domain = if on_cpu { self.cpu } else { self.definition };
        if domain.contains(dtype) {
            return None;
        }
        match (domain.is_doubtful(dtype), on_cpu) {
            (false, _) => Some(Refusal::Known),
            (true, true) => Some(Refusal::Doubtful),
            // Nothing is known of the definition, so nothing is required.
            (true, false) => None,
        }
    }
}

/// How well it is known that an operator refuses a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It does.
    Known,
    /// It may: the dtype is rare ([`Domain::is_doubtful`]).
    Doubtful,
}
