//! Recorded values as values of fake kernels.
use crate::records::{RecordedError, Records};
use crate::spec::InputSizes;
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::{Constant, GraphInput, Meta, Program, TensorMeta};
use sizewise_kernels::{Cx, Sizes, Tensor, Value};

/// A recorded tensor.
///
/// # Errors
/// When a size cannot be read.
pub fn tensor(records: &mut Records, env: &mut ShapeEnv, meta: &TensorMeta) -> Result<Tensor, RecordedError> {
    let sizes: Sizes = meta.sizes.iter().map(|&s| records.size(env, s)).collect::<Result<_, _>>()?;
    let mut strides: Sizes = meta.strides.iter().map(|&s| records.size(env, s)).collect::<Result<_, _>>()?;
    strides.resize(sizes.len(), Expr::ONE);
    let offset = records.size(env, meta.storage_offset)?;
    let (dtype, device, layout) = (meta.dtype, meta.device.clone(), meta.layout);
    Ok(Tensor { sizes, strides, offset, dtype, device, layout, wrapped: false, span: None })
}

/// A recorded value; `Opaque` for what has no shape.
///
/// # Errors
/// When an expression cannot be read.
pub fn value(records: &mut Records, env: &mut ShapeEnv, meta: &Meta) -> Result<Value, RecordedError> {
    Ok(match meta {
        Meta::Tensor(meta) => tensor(records, env, meta)?.into(),
        Meta::SymInt(size) => Value::Int(records.size(env, *size)?),
        Meta::SymFloat(v) => Value::Float(records.float(env, *v)?),
        Meta::SymBool(v) => Value::Bool(records.truth(env, *v)?),
        Meta::CustomObj(_) | Meta::Token | Meta::Unknown => Value::Opaque,
    })
}

/// Values for the inputs of a program's graph, as it records them.
///
/// # Errors
/// When an expression cannot be read.
pub fn inputs(
    program: &Program,
    records: &mut Records,
    env: &mut ShapeEnv,
) -> Result<Vec<Value>, RecordedError> {
    let of = |input: &GraphInput| match input {
        GraphInput::Constant(constant) => Ok(constant_value(env, constant)),
        GraphInput::Value(id) => value(records, env, program.graph.meta(*id)),
    };
    program.graph.inputs().iter().map(of).collect()
}

/// Values for the inputs of a program's graph, as assumed: a tensor that was contiguous at the example is contiguous
/// at all sizes. The recorded strides are products of sizes, which says so only where no size is 0.
///
/// # Errors
/// As [`inputs`].
pub fn assumed_inputs(
    program: &Program,
    assumed: &[InputSizes],
    records: &mut Records,
    env: &mut ShapeEnv,
) -> Result<Vec<Value>, RecordedError> {
    let mut values = inputs(program, records, env)?;
    for input in assumed.iter().filter(|input| input.contiguous) {
        if let Some(Value::Tensor(tensor)) = values.get(input.index) {
            let strides = Cx::new(env).contiguous_strides(&tensor.sizes);
            if strides != tensor.strides {
                values[input.index] = Tensor { strides, ..(**tensor).clone() }.into();
            }
        }
    }
    Ok(values)
}

/// A constant input as a value.
pub fn constant_value(env: &mut ShapeEnv, constant: &Constant) -> Value {
    match constant {
        Constant::None => Value::None,
        Constant::Int(v) => Value::Int(env.pool.int(*v)),
        Constant::Float(v) => Value::Float(env.pool.float(*v)),
        Constant::Str(s) => Value::Str(s.clone()),
        Constant::Bool(b) => Value::Bool(env.pool.bool(*b)),
    }
}
