//! ONNX models: read from protobuf or text, and walked with the shape functions of their operators.
pub mod read;
pub mod shape;
pub mod text;
pub mod walk;

use sizewise_env::OpClause;

/// The conditions of all operators of models.
pub fn conditions() -> impl Iterator<Item = &'static OpClause> {
    shape::conditions().chain(walk::conditions())
}

/// What a condition of an operator says, by its code; `None` for a code that is not known.
pub fn condition_text(code: &str) -> Option<&'static str> {
    let mut known = conditions().chain(sizewise_kernels::conditions());
    known.find(|clause| clause.code == code).map(|clause| clause.says)
}
