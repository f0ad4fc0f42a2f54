//! What a spec says of one dimension or of one scalar input.
use sizewise_expr::Int;

/// A named dimension with its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimSpec {
    /// The name; dimensions of one name are one dimension.
    pub name: String,
    /// The least size.
    pub min: Int,
    /// The greatest size, if there is one.
    pub max: Option<Int>,
}

/// Whether the program may make a dimension static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hint {
    /// It may make the dimension static.
    Auto,
    /// It must not.
    Dynamic,
}

/// What a spec says of one dimension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// It has the size of the example.
    Static,
    /// It has this size.
    Size(Int),
    /// The program infers its range, possibly within bounds.
    Inferred {
        /// Whether the program may make it static.
        hint: Hint,
        /// The least size, if said.
        min: Option<Int>,
        /// The greatest size, if said.
        max: Option<Int>,
    },
    /// It is a named dimension.
    Dim(DimSpec),
    /// It is computed from a named dimension.
    Derived {
        /// The expression over the root's name, such as `2*batch + 1`.
        expression: String,
        /// The named dimension; it need not be one of any input.
        root: DimSpec,
    },
    /// It is computed from several named dimensions; only ONNX models take such.
    Sum {
        /// The expression over the roots' names, such as `past + q`.
        expression: String,
        /// The named dimensions.
        roots: Vec<DimSpec>,
    },
    /// It is this expression over the variables of a ShapesSpec.
    Formula(String),
}
