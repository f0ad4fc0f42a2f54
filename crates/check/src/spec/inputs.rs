//! A program's inputs with the sizes that it records.
use crate::records::{RecordedError, Records};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Pool, Symbol};
use sizewise_ir::{Constant, Dtype, GraphInput, InputSpec, Meta, PathStep, Program, ReadError, UserInput};

/// What an input is.
#[derive(Clone, Debug)]
pub enum InputKind {
    /// A tensor with its recorded sizes, strides and storage offset, in the program's symbols.
    Tensor {
        /// The sizes.
        sizes: Vec<Expr>,
        /// The strides.
        strides: Vec<Expr>,
        /// The storage offset.
        offset: Expr,
        /// The type of the elements.
        dtype: Dtype,
    },
    /// A number that the program keeps symbolic.
    Scalar(Expr),
    /// A constant.
    Constant(Constant),
    /// Something without a shape.
    Other,
}

/// An input that the user passes.
#[derive(Clone, Debug)]
pub struct ProgramInput {
    /// Its names and its place.
    pub input: UserInput,
    /// What it is.
    pub kind: InputKind,
    /// The constant integer, if it is one.
    pub burned_in: Option<Expr>,
}

impl ProgramInput {
    /// The input as Python writes it: `x`, `xs[0]`.
    pub fn path(&self) -> String {
        path_text(&self.input.path)
    }
}

/// A path as Python writes it.
pub(crate) fn path_text(path: &[PathStep]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// Why a program's inputs cannot be determined.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ContractError {
    /// The structure of the call is inconsistent.
    #[error(transparent)]
    Structure(#[from] ReadError),
    /// A recorded expression cannot be read.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
}

/// The inputs that the user passes, in the graph's order.
///
/// # Errors
/// When a recorded size cannot be read.
pub(super) fn load(
    program: &Program,
    env: &mut ShapeEnv,
    records: &mut Records,
) -> Result<Vec<ProgramInput>, ContractError> {
    let mut inputs = Vec::new();
    for input in program.user_inputs()? {
        let kind = match (&program.signature.inputs[input.index], &program.graph.inputs()[input.index]) {
            (InputSpec::Constant { value, .. }, _) | (_, GraphInput::Constant(value)) => {
                InputKind::Constant(value.clone())
            }
            (_, GraphInput::Value(id)) => match program.graph.meta(*id) {
                Meta::Tensor(meta) => {
                    let mut read = |size| records.size(env, size);
                    InputKind::Tensor {
                        sizes: meta.sizes.iter().map(|&s| read(s)).collect::<Result<_, _>>()?,
                        strides: meta.strides.iter().map(|&s| read(s)).collect::<Result<_, _>>()?,
                        offset: read(meta.storage_offset)?,
                        dtype: meta.dtype,
                    }
                }
                Meta::SymInt(size) => InputKind::Scalar(records.size(env, *size)?),
                Meta::SymFloat(v) => InputKind::Scalar(records.float(env, *v)?),
                Meta::SymBool(v) => InputKind::Scalar(records.truth(env, *v)?),
                Meta::CustomObj(_) | Meta::Token | Meta::Unknown => InputKind::Other,
            },
        };
        let burned_in = match &kind {
            InputKind::Constant(Constant::Int(value)) => Some(env.pool.int(*value)),
            _ => None,
        };
        inputs.push(ProgramInput { input, kind, burned_in });
    }
    Ok(inputs)
}

/// The symbol of a size that is `a*symbol + b`, computed from that size.
pub(super) fn solved_text(pool: &Pool, size: Expr, source: &str) -> Option<(Symbol, String)> {
    let poly = pool.poly(size);
    let [(monomial, factor)] = poly.terms.as_slice() else { return None };
    let symbol = pool.as_symbol(*monomial)?;
    let rest = match poly.constant.signum() {
        0 => source.to_string(),
        1 => format!("({source} - {})", poly.constant),
        _ => format!("({source} + {})", poly.constant.abs()),
    };
    Some((symbol, if factor.is_one() { rest } else { format!("({rest}//{factor})") }))
}
