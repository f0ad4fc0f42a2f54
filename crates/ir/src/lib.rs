//! The Export IR: graphs, nodes, values and signatures of an exported program, readers for it, and the
//! schemas of the operators it calls.

mod argument;
pub mod asked;
mod builder;
mod constant;
pub mod dtype;
pub mod error;
pub mod functions;
pub mod graph;
pub mod hints;
pub mod input;
pub mod keys;
pub mod meta;
mod node;
mod other_files;
pub mod outline;
pub mod partition;
pub mod program;
pub mod provenance;
pub mod pt2;
pub mod pytree;
pub mod schema;
pub mod signature;
mod source_table;
mod target;
pub mod text;
mod tree_key;

pub use asked::{Asked, AskedBy, Traced};
pub use builder::GraphBuilder;
pub use constant::Constant;
pub use dtype::{Device, Dtype, Layout, MemoryFormat};
pub use error::{Place, ReadError, ReadErrorKind, ReadResult};
pub use functions::{Function, Functions};
pub use graph::{
    Argument, Graph, GraphInput, Input, Node, Operand, Origin, Output, PassedAs, Subgraph, Value, ValueId,
};
pub use hints::{SymbolHints, symbol_hints};
pub use input::UserInput;
pub use meta::{ExprRef, ExprTable, Hint, Meta, Size, Sizes, Sym, SymText, TensorMeta};
pub use other_files::other_file;
pub use program::{Bounds, CallValue, Dialect, ModuleCall, ModuleSignature, Program};
pub use provenance::{ModuleFrame, Provenance, SourceLocation};
pub use pytree::{Container, Part, PathStep, TreeKey, TreeKind, TreeSpec};
pub use signature::{InputSpec, OutputSpec, Signature};
pub use source_table::SourceTable;
pub use target::{Target, TargetKind, WrappedOp, Wrapper};
