//! Dtypes and memory formats by the numbers that they have in torch's C++ core, as older schemas write their defaults.
use sizewise_ir::dtype::{Dtype, MemoryFormat};

/// The dtypes in the order of their numbers, from 0.
const NUMBERED: [Dtype; 46] = {
    use Dtype::*;
    [
        Uint8,
        Int8,
        Int16,
        Int32,
        Int64,
        Float16,
        Float32,
        Float64,
        Complex32,
        Complex64,
        Complex128,
        Bool,
        Qint8,
        Quint8,
        Qint32,
        Bfloat16,
        Quint4x2,
        Quint2x4,
        Bits1x8,
        Bits2x4,
        Bits4x2,
        Bits8,
        Bits16,
        Float8E5m2,
        Float8E4m3fn,
        Float8E5m2fnuz,
        Float8E4m3fnuz,
        Uint16,
        Uint32,
        Uint64,
        Uint1,
        Uint2,
        Uint3,
        Uint4,
        Uint5,
        Uint6,
        Uint7,
        Int1,
        Int2,
        Int3,
        Int4,
        Int5,
        Int6,
        Int7,
        Float8E8m0fnu,
        Float4E2m1fnX2,
    ]
};

/// The dtype with a number.
pub fn dtype_of(number: i64) -> Option<Dtype> {
    NUMBERED.get(usize::try_from(number).ok()?).copied()
}

/// The number of a dtype; `None` for dtypes that are younger than the list.
pub fn number_of(dtype: Dtype) -> Option<i64> {
    NUMBERED.iter().position(|&d| d == dtype).map(|at| at as i64)
}

/// The memory format with a number.
pub fn memory_format_of(number: i64) -> Option<MemoryFormat> {
    use MemoryFormat::*;
    [Contiguous, Preserve, ChannelsLast, ChannelsLast3d].get(usize::try_from(number).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_core_and_round_trip() {
        for (number, dtype) in [(0, Dtype::Uint8), (4, Dtype::Int64), (6, Dtype::Float32), (11, Dtype::Bool)]
        {
            assert_eq!(dtype_of(number), Some(dtype));
        }
        for number in 0..NUMBERED.len() as i64 {
            assert_eq!(dtype_of(number).and_then(number_of), Some(number));
        }
        assert_eq!((dtype_of(-1), dtype_of(46)), (None, None));
    }
}
