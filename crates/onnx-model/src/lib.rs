//! ONNX models: read from protobuf or text, and walked with the shape functions of their operators.
pub mod read;
pub mod shape;
pub mod text;
pub mod walk;
