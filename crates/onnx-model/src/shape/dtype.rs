//! The element types of ONNX tensors.

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $number:literal)+) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Dtype { $($(#[$doc])* $variant,)+ }

        impl Dtype {
            /// Every element type.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),+];

            /// Its short name: `f32`, `i64`, `bool`, `str`.
            pub fn name(self) -> &'static str {
                match self { $(Dtype::$variant => $name),+ }
            }

            /// Its number in `TensorProto.DataType`.
            pub fn number(self) -> i32 {
                match self { $(Dtype::$variant => $number),+ }
            }
        }
    };
}

dtypes! {
    F32 "f32" 1
    U8 "u8" 2
    I8 "i8" 3
    U16 "u16" 4
    I16 "i16" 5
    I32 "i32" 6
    I64 "i64" 7
    Str "str" 8
    Bool "bool" 9
    F16 "f16" 10
    F64 "f64" 11
    U32 "u32" 12
    U64 "u64" 13
    C64 "c64" 14
    C128 "c128" 15
    BF16 "bf16" 16
    F8E4M3FN "f8e4m3fn" 17
    F8E4M3FNUZ "f8e4m3fnuz" 18
    F8E5M2 "f8e5m2" 19
    F8E5M2FNUZ "f8e5m2fnuz" 20
    U4 "u4" 21
    I4 "i4" 22
    F4E2M1 "f4e2m1" 23
    F8E8M0 "f8e8m0" 24
    U2 "u2" 25
    I2 "i2" 26
    F6E2M3 "f6e2m3" 27
    F6E3M2 "f6e3m2" 28
}

impl Dtype {
    /// The element type of a short name.
    pub fn from_name(name: &str) -> Option<Dtype> {
        Dtype::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// The element type of a number of `TensorProto.DataType`; 0 is undefined.
    pub fn from_number(number: i64) -> Option<Dtype> {
        Dtype::ALL.iter().copied().find(|dtype| i64::from(dtype.number()) == number)
    }

    /// The least and the greatest value of an integer type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let (bits, signed) = match self {
            Dtype::U2 => (2, false),
            Dtype::U4 => (4, false),
            Dtype::U8 => (8, false),
            Dtype::U16 => (16, false),
            Dtype::U32 => (32, false),
            Dtype::U64 => (64, false),
            Dtype::I2 => (2, true),
            Dtype::I4 => (4, true),
            Dtype::I8 => (8, true),
            Dtype::I16 => (16, true),
            Dtype::I32 => (32, true),
            Dtype::I64 => (64, true),
            _ => return None,
        };
        Some(if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) })
    }

    /// How many bytes an element takes, or one that holds several.
    pub fn bytes(self) -> i64 {
        match self {
            Dtype::C128 => 16,
            Dtype::F64 | Dtype::C64 | Dtype::I64 | Dtype::U64 => 8,
            Dtype::F32 | Dtype::I32 | Dtype::U32 => 4,
            Dtype::F16 | Dtype::BF16 | Dtype::I16 | Dtype::U16 => 2,
            _ => 1,
        }
    }

    /// Whether it is an integer type.
    pub fn is_integer(self) -> bool {
        self.integer_range().is_some()
    }

    /// Whether it is a floating-point type of 16, 32 or 64 bits.
    pub fn is_float(self) -> bool {
        matches!(self, Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::BF16)
    }
}
