//! Element types, layouts, memory formats and devices of tensors.

use std::fmt;
use std::sync::Arc;

/// How the elements of a dtype are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Unsigned,
    Signed,
    Float,
    Complex,
    /// Opaque bit patterns and quantised integers.
    Other,
}

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $short:literal $size:literal $class:ident $number:tt;)+) => {
        /// The element type of a tensor, one variant for each dtype of torch.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Dtype {
            $($(#[$doc])* #[doc = concat!("`torch.", $name, "`")] $variant,)+
        }

        impl Dtype {
            /// Every dtype, in the order of declaration.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),+];

            /// The name as torch prints it, without the `torch.` prefix: `float32`.
            pub const fn name(self) -> &'static str {
                match self { $(Dtype::$variant => $name),+ }
            }

            /// The abbreviation that `print_readable` uses: `f32`.
            pub const fn short_name(self) -> &'static str {
                match self { $(Dtype::$variant => $short),+ }
            }

            /// Bytes taken by one element.
            pub const fn item_size(self) -> u32 {
                match self { $(Dtype::$variant => $size),+ }
            }

            /// The number of this dtype in the export format's `ScalarType`, which is not c10's;
            /// `None` where the format has no number for it.
            pub const fn export_number(self) -> Option<i64> {
                match self { $(Dtype::$variant => dtypes!(@number $number)),+ }
            }

            const fn class(self) -> Class {
                match self { $(Dtype::$variant => Class::$class),+ }
            }
        }
    };
    (@number -) => { None };
    (@number $n:literal) => { Some($n) };
}

dtypes! {
    Uint8 "uint8" "u8" 1 Unsigned 1;
    Int8 "int8" "i8" 1 Signed 2;
    Int16 "int16" "i16" 2 Signed 3;
    Int32 "int32" "i32" 4 Signed 4;
    Int64 "int64" "i64" 8 Signed 5;
    Float16 "float16" "f16" 2 Float 6;
    Float32 "float32" "f32" 4 Float 7;
    Float64 "float64" "f64" 8 Float 8;
    Complex32 "complex32" "c32" 4 Complex 9;
    Complex64 "complex64" "c64" 8 Complex 10;
    Complex128 "complex128" "c128" 16 Complex 11;
    Bool "bool" "b8" 1 Bool 12;
    Bfloat16 "bfloat16" "bf16" 2 Float 13;
    Uint16 "uint16" "u16" 2 Unsigned 28;
    Float8E4m3fn "float8_e4m3fn" "f8e4m3fn" 1 Float 29;
    Float8E5m2 "float8_e5m2" "f8e5m2" 1 Float 30;
    Float8E4m3fnuz "float8_e4m3fnuz" "f8e4m3fnuz" 1 Float 31;
    Float8E5m2fnuz "float8_e5m2fnuz" "f8e5m2fnuz" 1 Float 32;
    Float8E8m0fnu "float8_e8m0fnu" "f8e8m0fnu" 1 Float 33;
    Uint32 "uint32" "u32" 4 Unsigned 34;
    Uint64 "uint64" "u64" 8 Unsigned 35;
    /// Two 4-bit floats in a byte:
    Float4E2m1fnX2 "float4_e2m1fn_x2" "f4e2m1fnx2" 1 Float -;
    Bcomplex32 "bcomplex32" "bc32" 4 Complex -;
    Qint8 "qint8" "qint8" 1 Other -;
    Quint8 "quint8" "quint8" 1 Other -;
    Qint32 "qint32" "qint32" 4 Other -;
    Quint4x2 "quint4x2" "quint4x2" 1 Other -;
    Quint2x4 "quint2x4" "quint2x4" 1 Other -;
    Bits1x8 "bits1x8" "b1x8" 1 Other -;
    Bits2x4 "bits2x4" "b2x4" 1 Other -;
    Bits4x2 "bits4x2" "b4x2" 1 Other -;
    Bits8 "bits8" "b8x1" 1 Other -;
    Bits16 "bits16" "b16x1" 2 Other -;
    Uint1 "uint1" "uint1" 1 Unsigned -;
    Uint2 "uint2" "uint2" 1 Unsigned -;
    Uint3 "uint3" "uint3" 1 Unsigned -;
    Uint4 "uint4" "uint4" 1 Unsigned -;
    Uint5 "uint5" "uint5" 1 Unsigned -;
    Uint6 "uint6" "uint6" 1 Unsigned -;
    Uint7 "uint7" "uint7" 1 Unsigned -;
    Int1 "int1" "int1" 1 Signed -;
    Int2 "int2" "int2" 1 Signed -;
    Int3 "int3" "int3" 1 Signed -;
    Int4 "int4" "int4" 1 Signed -;
    Int5 "int5" "int5" 1 Signed -;
    Int6 "int6" "int6" 1 Signed -;
    Int7 "int7" "int7" 1 Signed -;
}

impl Dtype {
    /// The dtype that torch prints as `name`, with or without the `torch.` prefix. Torch's aliases
    /// (`float`, `double`, `half`, `int`, `long`, `short`, `cfloat`, ..) are understood too.
    pub fn from_name(name: &str) -> Option<Dtype> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let name = match name {
            "float" => "float32",
            "double" => "float64",
            "half" => "float16",
            "long" => "int64",
            "int" => "int32",
            "short" => "int16",
            "chalf" => "complex32",
            "cfloat" => "complex64",
            "cdouble" => "complex128",
            other => other,
        };
        Self::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// The dtype with this abbreviation, as in `f32[2, 3]`.
    pub fn from_short_name(short: &str) -> Option<Dtype> {
        Self::ALL.iter().copied().find(|dtype| dtype.short_name() == short)
    }

    /// The dtype with this number in the export format's `ScalarType`. 0 (`UNKNOWN`) is none.
    pub fn from_export_number(number: i64) -> Option<Dtype> {
        Self::ALL.iter().copied().find(|dtype| dtype.export_number() == Some(number))
    }

    /// Real floating point, complex excluded (torch's `is_floating_point`).
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// Complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), Class::Complex)
    }

    /// Signed or unsigned integers. `bool`, quantised integers and bit patterns are not.
    pub const fn is_integral(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned)
    }

    /// Whether negative values are represented (torch's `is_signed`; true of floats and complex).
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Float | Class::Complex)
    }

    /// `torch.bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self, Dtype::Bool)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a tensor keeps its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Sizes, strides and one storage: every tensor that is not sparse.
    #[default]
    Strided,
    /// Coordinates and values.
    SparseCoo,
    /// Compressed rows.
    SparseCsr,
    /// Compressed columns.
    SparseCsc,
    /// Compressed rows of blocks.
    SparseBsr,
    /// Compressed columns of blocks.
    SparseBsc,
    /// Opaque to everything but oneDNN.
    Mkldnn,
}

impl Layout {
    const NAMES: &'static [(Layout, i64, &'static str)] = &[
        (Layout::SparseCoo, 1, "sparse_coo"),
        (Layout::SparseCsr, 2, "sparse_csr"),
        (Layout::SparseCsc, 3, "sparse_csc"),
        (Layout::SparseBsr, 4, "sparse_bsr"),
        (Layout::SparseBsc, 5, "sparse_bsc"),
        (Layout::Mkldnn, 6, "_mkldnn"),
        (Layout::Strided, 7, "strided"),
    ];

    /// The name as torch prints it, without the `torch.` prefix.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("strided", |row| row.2)
    }

    /// The layout that torch prints as `name`, with or without the `torch.` prefix.
    pub fn from_name(name: &str) -> Option<Layout> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        Self::NAMES.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// The number in the export format.
    pub fn export_number(self) -> i64 {
        Self::NAMES.iter().find(|row| row.0 == self).map_or(0, |row| row.1)
    }

    /// The layout with this number in the export format. 0 (unknown) is none.
    pub fn from_export_number(number: i64) -> Option<Layout> {
        Self::NAMES.iter().find(|row| row.1 == number).map(|row| row.0)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The order of dimensions in memory that an operator is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryFormat {
    /// Row-major.
    Contiguous,
    /// NHWC order of a 4-dimensional tensor.
    ChannelsLast,
    /// NDHWC order of a 5-dimensional tensor.
    ChannelsLast3d,
    /// As the input has it.
    Preserve,
}

impl MemoryFormat {
    const NAMES: &'static [(MemoryFormat, i64, &'static str)] = &[
        (MemoryFormat::Contiguous, 1, "contiguous_format"),
        (MemoryFormat::ChannelsLast, 2, "channels_last"),
        (MemoryFormat::ChannelsLast3d, 3, "channels_last_3d"),
        (MemoryFormat::Preserve, 4, "preserve_format"),
    ];

    /// The name as torch prints it, without the `torch.` prefix.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("contiguous_format", |row| row.2)
    }

    /// The memory format that torch prints as `name`, with or without the `torch.` prefix.
    pub fn from_name(name: &str) -> Option<MemoryFormat> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        Self::NAMES.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// The number in the export format.
    pub fn export_number(self) -> i64 {
        Self::NAMES.iter().find(|row| row.0 == self).map_or(0, |row| row.1)
    }

    /// The memory format with this number in the export format. 0 (unknown) is none.
    pub fn from_export_number(number: i64) -> Option<MemoryFormat> {
        Self::NAMES.iter().find(|row| row.1 == number).map(|row| row.0)
    }
}

impl fmt::Display for MemoryFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a tensor lives: `cpu`, `cuda:0`, `meta`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device {
    /// The device type by torch's name. Backends register names of their own, so it is a text.
    pub kind: Arc<str>,
    /// Which of several; `None` is the current one.
    pub index: Option<u16>,
}

impl Device {
    /// A device without an index.
    pub fn new(kind: &str) -> Device {
        Device { kind: kind.into(), index: None }
    }

    /// The host's processor.
    pub fn cpu() -> Device {
        Device::new("cpu")
    }

    /// Reads torch's text form: `cpu`, `cuda:1`. `None` when the index is no natural number or
    /// the type is empty.
    pub fn from_name(text: &str) -> Option<Device> {
        let (kind, index) = match text.split_once(':') {
            Some((kind, index)) => (kind, Some(index.parse().ok()?)),
            None => (text, None),
        };
        (!kind.is_empty()).then(|| Device { kind: kind.into(), index })
    }
}

impl Default for Device {
    fn default() -> Device {
        Device::cpu()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}:{index}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_unique_and_round_trip() {
        for &dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(dtype));
            assert_eq!(Dtype::from_name(&format!("torch.{dtype}")), Some(dtype));
            assert_eq!(Dtype::from_short_name(dtype.short_name()), Some(dtype));
            if let Some(number) = dtype.export_number() {
                assert_eq!(Dtype::from_export_number(number), Some(dtype));
            }
        }
    }

    #[test]
    fn export_numbers_are_not_those_of_c10() {
        for (number, dtype) in [
            (1, Some(Dtype::Uint8)),
            (5, Some(Dtype::Int64)),
            (7, Some(Dtype::Float32)),
            (12, Some(Dtype::Bool)),
            (13, Some(Dtype::Bfloat16)),
            (28, Some(Dtype::Uint16)),
            (35, Some(Dtype::Uint64)),
            (0, None),
            (14, None),
            (36, None),
            (-1, None),
        ] {
            assert_eq!(Dtype::from_export_number(number), dtype, "{number}");
        }
    }

    #[test]
    fn classes_exclude_each_other() {
        for &dtype in Dtype::ALL {
            let count = [dtype.is_float(), dtype.is_complex(), dtype.is_integral(), dtype.is_bool()];
            assert!(count.iter().filter(|&&yes| yes).count() <= 1, "{dtype}");
        }
        assert!(Dtype::Float8E5m2.is_float() && !Dtype::Bool.is_integral() && !Dtype::Uint8.is_signed());
    }

    #[test]
    fn devices_read_as_torch_writes_them() {
        for text in ["cpu", "cuda:1", "meta", "npu:0"] {
            assert_eq!(Device::from_name(text).unwrap().to_string(), text);
        }
        for text in ["", ":1", "cuda:", "cuda:x", "cuda:-1"] {
            assert_eq!(Device::from_name(text), None, "{text}");
        }
    }

    #[test]
    fn layouts_and_memory_formats_round_trip() {
        for &(layout, number, name) in Layout::NAMES {
            assert_eq!(
                (Layout::from_export_number(number), Layout::from_name(name)),
                (Some(layout), Some(layout))
            );
        }
        for &(format, number, name) in MemoryFormat::NAMES {
            assert_eq!(MemoryFormat::from_export_number(number), Some(format));
            assert_eq!(MemoryFormat::from_name(&format!("torch.{name}")), Some(format));
        }
        assert_eq!((Layout::from_export_number(0), MemoryFormat::from_export_number(5)), (None, None));
    }
}
