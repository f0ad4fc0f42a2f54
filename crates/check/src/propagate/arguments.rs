//! Arguments of nodes as values of fake kernels.
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::{Argument, Operand, ValueId};
use sizewise_kernels::Value;

/// Looks up values of the graph at hand.
pub type Lookup<'a> = &'a dyn Fn(ValueId) -> Value;

/// The value of an argument; graphs and operator names are `Opaque`, as the higher-order operators read those
/// themselves.
pub fn value(env: &mut ShapeEnv, argument: &Argument, lookup: Lookup) -> Value {
    let tensor = |id: ValueId| match lookup(id) {
        Value::Tensor(t) => Some(t),
        _ => None,
    };
    match argument {
        Argument::None | Argument::OptionalTensor(None) => Value::None,
        Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) | Argument::CustomObj(id) => lookup(*id),
        Argument::Tensors(ids) => Value::Tensors(ids.iter().map(|&id| tensor(id)).collect()),
        Argument::OptionalTensors(ids) => Value::Tensors(ids.iter().map(|id| id.and_then(tensor)).collect()),
        Argument::Int(v) => Value::Int(env.pool.int(*v)),
        Argument::Ints(list) => Value::Ints(list.iter().map(|&v| env.pool.int(v)).collect()),
        Argument::Float(v) => Value::Float(env.pool.float(*v)),
        Argument::Floats(list) => Value::Floats(list.iter().map(|&v| env.pool.float(v)).collect()),
        Argument::Str(s) => Value::Str(s.clone()),
        Argument::Bool(b) => Value::Bool(env.pool.bool(*b)),
        Argument::Bools(list) => Value::Bools(list.iter().map(|&b| env.pool.bool(b)).collect()),
        Argument::Complex(re, im) => Value::Complex(*re, *im),
        Argument::SymInt(o) => scalar(env, o, lookup, |env, v| Value::Int(env.pool.int(*v))),
        Argument::SymFloat(o) => scalar(env, o, lookup, |env, v| Value::Float(env.pool.float(*v))),
        Argument::SymBool(o) => scalar(env, o, lookup, |env, v| Value::Bool(env.pool.bool(*v))),
        Argument::SymInts(list) => symbolic_list(env, list, lookup, |env, v| env.pool.int(*v), Value::Ints),
        Argument::SymFloats(list) => {
            symbolic_list(env, list, lookup, |env, v| env.pool.float(*v), Value::Floats)
        }
        Argument::SymBools(list) => {
            symbolic_list(env, list, lookup, |env, v| env.pool.bool(*v), Value::Bools)
        }
        Argument::Dtype(d) => Value::Dtype(*d),
        Argument::Layout(l) => Value::Layout(*l),
        Argument::Device(d) => Value::Device(d.clone()),
        Argument::MemoryFormat(f) => Value::MemoryFormat(*f),
        Argument::NestedTensors(_)
        | Argument::IntLists(_)
        | Argument::FloatLists(_)
        | Argument::Strs(_)
        | Argument::Graph(_)
        | Argument::Operator(_)
        | Argument::List(_)
        | Argument::Map(_) => Value::Opaque,
    }
}

fn scalar<T>(
    env: &mut ShapeEnv,
    operand: &Operand<T>,
    lookup: Lookup,
    literal: impl Fn(&mut ShapeEnv, &T) -> Value,
) -> Value {
    match operand {
        Operand::Value(id) => lookup(*id),
        Operand::Literal(v) => literal(env, v),
    }
}

fn symbolic_list<T>(
    env: &mut ShapeEnv,
    list: &[Operand<T>],
    lookup: Lookup,
    literal: impl Fn(&mut ShapeEnv, &T) -> Expr,
    collect: impl Fn(Vec<Expr>) -> Value,
) -> Value {
    let mut items = Vec::with_capacity(list.len());
    for operand in list {
        items.push(match operand {
            Operand::Literal(v) => literal(env, v),
            Operand::Value(id) => match lookup(*id) {
                Value::Int(e) | Value::Float(e) | Value::Bool(e) => e,
                _ => return Value::Opaque,
            },
        });
    }
    collect(items)
}
