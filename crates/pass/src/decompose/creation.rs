//! Tensors of numbers, and choices with numbers.
use super::Made;
use super::builder::{Builder, Function, size, sizes};
use super::call::{Call, refused};
use super::views::{one, unsqueezed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Device, Dtype, MemoryFormat, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("zeros.default", |b, call| filled(b, call, Argument::Int(0))),
    ("ones.default", |b, call| filled(b, call, Argument::Int(1))),
    ("zeros_like.default", |b, call| filled_like(b, call, Argument::Int(0))),
    ("ones_like.default", |b, call| filled_like(b, call, Argument::Int(1))),
    ("new_zeros.default", |b, call| filled_new(b, call, Argument::Int(0))),
    ("new_ones.default", |b, call| filled_new(b, call, Argument::Int(1))),
    ("new_full.default", |b, call| filled_new(b, call, call.argument("fill_value"))),
    ("new_empty.default", new_empty),
    ("empty_like.default", empty_like),
    ("fill.Scalar", |b, call| {
        b.one("full_like.default", &[call.argument("self"), call.argument("value")]).map(one)
    }),
    ("arange.default", |b, call| arange(b, call, Argument::Int(0))),
    ("arange.start", |b, call| arange(b, call, call.argument("start"))),
    ("eye.default", |b, call| eye(b, call, "n")),
    ("eye.m", |b, call| eye(b, call, "m")),
    ("tril.default", |b, call| triangle(b, call, "le.Scalar")),
    ("triu.default", |b, call| triangle(b, call, "ge.Scalar")),
    ("where.ScalarOther", |b, call| choice(b, call)),
    ("where.ScalarSelf", |b, call| choice(b, call)),
    ("where.Scalar", |b, call| choice(b, call)),
    ("copy.default", copy),
];

/// The options of an operator that makes tensors which it has been given.
fn options(call: &Call<'_>) -> Vec<(&'static str, Argument)> {
    let names = ["dtype", "layout", "device", "pin_memory"];
    let given = names.map(|name| (name, call.argument(name)));
    given.into_iter().filter(|(_, argument)| !matches!(argument, Argument::None)).collect()
}

/// The dtype of tensors that are made without one.
fn with_dtype(mut options: Vec<(&'static str, Argument)>, dtype: Dtype) -> Vec<(&'static str, Argument)> {
    if !options.iter().any(|(name, _)| *name == "dtype") {
        options.insert(0, ("dtype", Argument::Dtype(dtype)));
    }
    options
}

fn filled(b: &mut Builder<'_, '_>, call: &Call<'_>, value: Argument) -> Made {
    let op = call.schema.qualified().to_string();
    let dtype = b.foreseen(call, &op).map_or(Dtype::Float32, |tensor| tensor.dtype);
    let options = with_dtype(options(call), dtype);
    b.one_with("full.default", &[sizes(&call.sizes("size")?), value], &options).map(one)
}

fn filled_like(b: &mut Builder<'_, '_>, call: &Call<'_>, value: Argument) -> Made {
    let mut options = options(call);
    let format = call.argument("memory_format");
    if !matches!(format, Argument::None) {
        options.push(("memory_format", format));
    }
    b.one_with("full_like.default", &[call.argument("self"), value], &options).map(one)
}

fn filled_new(b: &mut Builder<'_, '_>, call: &Call<'_>, value: Argument) -> Made {
    let tensor = b.tensor(call.tensor("self")?)?;
    let mut options = with_dtype(options(call), tensor.dtype);
    if !options.iter().any(|(name, _)| *name == "device") {
        options.push(("device", Argument::Device(tensor.device.clone())));
    }
    b.one_with("full.default", &[sizes(&call.sizes("size")?), value], &options).map(one)
}

fn new_empty(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let tensor = b.tensor(call.tensor("self")?)?;
    let mut options = with_dtype(options(call), tensor.dtype);
    if !options.iter().any(|(name, _)| *name == "device") {
        options.push(("device", Argument::Device(tensor.device.clone())));
    }
    b.one_with("empty.memory_format", &[sizes(&call.sizes("size")?)], &options).map(one)
}

/// Values that nothing reads, contiguous.
fn empty_like(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let format = call.argument("memory_format");
    let keeps = matches!(format, Argument::None | Argument::MemoryFormat(MemoryFormat::Preserve));
    let contiguous = matches!(format, Argument::MemoryFormat(MemoryFormat::Contiguous));
    if !(contiguous || keeps && b.is_contiguous(x)?) {
        return Err(refused("values that do not lie in order are not decomposed"));
    }
    let tensor = b.tensor(x)?;
    let mut options = with_dtype(options(call), tensor.dtype);
    if !options.iter().any(|(name, _)| *name == "device") {
        options.push(("device", Argument::Device(tensor.device.clone())));
    }
    let shape = b.sizes(x)?;
    b.one_with("empty.memory_format", &[sizes(&shape)], &options).map(one)
}

fn arange(b: &mut Builder<'_, '_>, call: &Call<'_>, start: Argument) -> Made {
    b.one_with("arange.start_step", &[start, call.argument("end")], &options(call)).map(one)
}

/// The numbers up to a size, as integers.
pub fn numbers(b: &mut Builder<'_, '_>, end: Operand<i64>, device: &Device) -> Result<Proxy, TraceError> {
    let device = ("device", Argument::Device(device.clone()));
    b.one_with("arange.start_step", &[Argument::Int(0), size(end)], &[device])
}

fn eye(b: &mut Builder<'_, '_>, call: &Call<'_>, columns: &str) -> Made {
    let op = call.schema.qualified().to_string();
    let made = b.foreseen(call, &op).ok_or_else(|| refused("its result is not known"))?;
    let rows = numbers(b, call.size("n")?, &made.device)?;
    let columns = numbers(b, call.size(columns)?, &made.device)?;
    let rows = unsqueezed(b, rows, -1)?;
    let same = b.one("eq.Tensor", &[rows.into(), columns.into()])?;
    b.cast(same, made.dtype).map(one)
}

/// A triangle of matrices, with zeros beside it.
fn triangle(b: &mut Builder<'_, '_>, call: &Call<'_>, compare: &str) -> Made {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    let rank = tensor.sizes.len();
    if rank < 2 {
        return Err(refused("its operand has fewer than two dimensions"));
    }
    let (rows, columns) = (b.size(x, rank - 2)?, b.size(x, rank - 1)?);
    let columns = numbers(b, columns, &tensor.device)?;
    let columns = unsqueezed(b, columns, -2)?;
    let rows = numbers(b, rows, &tensor.device)?;
    let rows = unsqueezed(b, rows, -1)?;
    let distance = b.one("sub.Tensor", &[columns.into(), rows.into()])?;
    let inside = b.one(compare, &[distance.into(), call.argument("diagonal")])?;
    if tensor.dtype == Dtype::Bool {
        return b.one("logical_and.default", &[inside.into(), x.into()]).map(one);
    }
    let zero = b.scalar(Argument::Int(0), tensor.dtype, &tensor.device)?;
    b.one("where.self", &[inside.into(), x.into(), zero.into()]).map(one)
}

/// `where` with numbers: they become tensors of the dtype of the result.
fn choice(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let op = call.schema.qualified().to_string();
    let made = b.foreseen(call, &op).ok_or_else(|| refused("its result is not known"))?;
    let mut operands = vec![call.argument("condition")];
    for name in ["self", "other"] {
        operands.push(match call.argument(name) {
            tensor @ Argument::Tensor(_) => tensor,
            number => b.scalar(number, made.dtype, &made.device)?.into(),
        });
    }
    b.one("where.self", &operands).map(one)
}

/// The source in the dtype and shape of the first operand.
fn copy(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let dtype = b.dtype(x)?;
    let cast = b.cast(source, dtype)?;
    let shape = b.sizes(x)?;
    if b.sizes(cast)? == shape || b.tensor(cast)?.sizes == b.tensor(x)?.sizes {
        return if cast == source { b.one("clone.default", &[cast.into()]).map(one) } else { Ok(vec![cast]) };
    }
    super::views::expanded(b, cast, &shape).map(one)
}
