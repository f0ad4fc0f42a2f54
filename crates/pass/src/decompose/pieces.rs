//! Pieces of tensors, and tensors of pieces.
use super::Made;
use super::builder::{Builder, Function, Size, size, sizes};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{concatenated, copied, expanded, one, sliced, squeezed, unsqueezed, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand, ValueId};

pub const RULES: &[(&str, Function)] = &[
    ("split.Tensor", split),
    ("unsafe_split.Tensor", split),
    ("split.sizes", split_with_sizes),
    ("unsafe_split_with_sizes.default", split_with_sizes),
    ("chunk.default", chunk),
    ("unsafe_chunk.default", chunk),
    ("tensor_split.sections", |b, call| {
        let x = call.tensor("self")?;
        let dim = axis(b, call, x)?;
        sections(b, x, (call.int("sections")?, dim), false)
    }),
    ("tensor_split.indices", |b, call| {
        let x = call.tensor("self")?;
        let dim = axis(b, call, x)?;
        cut_at(b, x, &call.sizes("indices")?, dim)
    }),
    ("hsplit.int", |b, call| split_along(b, call, |rank| usize::from(rank > 1))),
    ("hsplit.array", |b, call| split_along(b, call, |rank| usize::from(rank > 1))),
    ("vsplit.int", |b, call| split_along(b, call, |_| 0)),
    ("vsplit.array", |b, call| split_along(b, call, |_| 0)),
    ("dsplit.int", |b, call| split_along(b, call, |_| 2)),
    ("dsplit.array", |b, call| split_along(b, call, |_| 2)),
    ("unbind.int", unbind),
    ("narrow.default", narrow),
    ("stack.default", stack),
    ("hstack.default", |b, call| {
        let tensors = call.tensor_list("tensors")?;
        let flat = tensors.first().map_or(Ok(0), |x| b.rank(*x))? < 2;
        let tensors = at_least(b, tensors, 1)?;
        concatenated(b, tensors, i64::from(!flat)).map(one)
    }),
    ("vstack.default", |b, call| {
        let tensors = at_least(b, call.tensor_list("tensors")?, 2)?;
        concatenated(b, tensors, 0).map(one)
    }),
    ("row_stack.default", |b, call| {
        let tensors = at_least(b, call.tensor_list("tensors")?, 2)?;
        concatenated(b, tensors, 0).map(one)
    }),
    ("dstack.default", |b, call| {
        let mut deep = Vec::new();
        for x in call.tensor_list("tensors")? {
            deep.push(at_least_3d(b, x)?);
        }
        concatenated(b, deep, 2).map(one)
    }),
    ("atleast_2d.Sequence", |b, call| at_least(b, call.tensor_list("tensors")?, 2)),
    ("atleast_1d.Sequence", |b, call| at_least(b, call.tensor_list("tensors")?, 1)),
    ("atleast_3d.Sequence", |b, call| {
        call.tensor_list("tensors")?.into_iter().map(|x| at_least_3d(b, x)).collect()
    }),
    ("atleast_3d.default", |b, call| at_least_3d(b, call.tensor("self")?).map(one)),
    ("column_stack.default", column_stack),
    ("block_diag.default", block_diag),
    ("cartesian_prod.default", cartesian_product),
    ("grid_sampler.default", |b, call| {
        let names = ["input", "grid", "interpolation_mode", "padding_mode", "align_corners"];
        b.one("grid_sampler_2d.default", &names.map(|name| call.argument(name))).map(one)
    }),
    ("concat.default", |b, call| concatenated(b, call.tensor_list("tensors")?, call.int("dim")?).map(one)),
    ("concatenate.default", |b, call| {
        concatenated(b, call.tensor_list("tensors")?, call.int("dim")?).map(one)
    }),
    ("repeat_interleave.self_int", repeat_interleave),
    ("meshgrid.default", |b, call| grids(b, call.tensor_list("tensors")?, false)),
    ("meshgrid.indexing", |b, call| grids(b, call.tensor_list("tensors")?, call.text("indexing")? == "xy")),
    ("select_scatter.default", select_scatter),
    ("index_add.default", index_add),
    ("index_copy.default", |b, call| {
        let source = call.argument("source");
        indexed(b, call, source, false)
    }),
    ("_unsafe_index.Tensor", |b, call| {
        b.one("index.Tensor", &[call.argument("self"), call.argument("indices")]).map(one)
    }),
    ("diff.default", diff),
];

/// The most pieces that a tensor is taken into.
const MAX_PIECES: i64 = 4096;

/// The lengths of the pieces of `full` elements, each of which has `each` but the last.
fn lengths(full: i64, each: i64) -> Result<Vec<i64>, TraceError> {
    if each <= 0 {
        return Err(refused("its pieces have no length"));
    }
    let count = (full / each + i64::from(full % each != 0)).max(1);
    if count > MAX_PIECES {
        return Err(refused("it has too many pieces"));
    }
    Ok((0..count).map(|at| each.min(full - at * each)).collect())
}

fn axis(b: &Builder<'_, '_>, call: &Call<'_>, x: Proxy) -> Result<usize, TraceError> {
    b.dim(call.int("dim")?, b.rank(x)?)
}

/// Pieces of these lengths.
fn pieces(b: &mut Builder<'_, '_>, x: Proxy, lengths: Vec<i64>, dim: usize) -> Made {
    b.call_with(
        "split_with_sizes.default",
        &[x.into(), Argument::Ints(lengths), Argument::Int(dim as i64)],
        &[],
    )
}

fn split(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let dim = axis(b, call, x)?;
    match (b.size(x, dim)?, call.size("split_size")?) {
        (Operand::Literal(full), Operand::Literal(each)) if each > 0 => {
            let lengths = lengths(full, each)?;
            pieces(b, x, lengths, dim)
        }
        (_, each) => recorded_pieces(b, call, (x, dim), each),
    }
}

fn split_with_sizes(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let name = if call.has("split_sizes") { "split_sizes" } else { "split_size" };
    let lengths = sizes(&call.sizes(name)?);
    b.call_with("split_with_sizes.default", &[call.argument("self"), lengths, call.argument("dim")], &[])
}

fn chunk(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let dim = axis(b, call, x)?;
    let (full, chunks) = (b.size(x, dim)?, call.int("chunks")?);
    if chunks <= 0 || full == Operand::Literal(0) {
        return Err(refused("nothing is cut"));
    }
    let Operand::Literal(full) = full else {
        let longer = b.plus(full, Operand::Literal(chunks - 1))?;
        let each = b.divided(longer, Operand::Literal(chunks))?;
        return recorded_pieces(b, call, (x, dim), each);
    };
    let each = full / chunks + i64::from(full % chunks != 0);
    let lengths = lengths(full, each)?;
    pieces(b, x, lengths, dim)
}

/// Pieces of a length, but the last: how many there are is recorded.
fn recorded_pieces(b: &mut Builder<'_, '_>, call: &Call<'_>, (x, dim): (Proxy, usize), each: Size) -> Made {
    let op = call.schema.qualified().to_string();
    let count = b.foreseen_count(call, &op).ok_or_else(|| refused("it is open how many pieces there are"))?;
    let mut lengths = vec![each; count.saturating_sub(1)];
    let before = b.times(each, Operand::Literal(count as i64 - 1))?;
    let full = b.size(x, dim)?;
    lengths.push(b.minus(full, before)?);
    let arguments = [x.into(), sizes(&lengths), Argument::Int(dim as i64)];
    b.call_with("split_with_sizes.default", &arguments, &[])
}

/// Parts of nearly the same length, the longer ones first; of one length where the size is known to be a multiple.
fn sections(b: &mut Builder<'_, '_>, x: Proxy, (count, dim): (i64, usize), is_multiple: bool) -> Made {
    if !(1..=MAX_PIECES).contains(&count) {
        return Err(refused("nothing is cut"));
    }
    let full = b.size(x, dim)?;
    let each = b.divided(full, Operand::Literal(count))?;
    let most = b.times(each, Operand::Literal(count))?;
    let rest = b.minus(full, most)?;
    let mut places = Vec::new();
    for at in 1..count {
        let start = b.times(each, Operand::Literal(at))?;
        let longer = match rest {
            _ if is_multiple => Operand::Literal(0),
            Operand::Literal(rest) => Operand::Literal(rest.min(at)),
            rest => match b.computed("torch.sym_min", &[size(rest), Argument::Int(at)])? {
                Argument::SymInt(made) => made,
                _ => return Err(refused("a size is no integer")),
            },
        };
        places.push(b.plus(start, longer)?);
    }
    cut_at(b, x, &places, dim)
}

/// Parts that end at these places, and what is behind the last one.
fn cut_at(b: &mut Builder<'_, '_>, x: Proxy, places: &[Size], dim: usize) -> Made {
    let mut made = Vec::with_capacity(places.len() + 1);
    let mut start = Operand::Literal(0);
    for end in places.iter().copied().chain([Operand::Literal(i64::MAX)]) {
        made.push(sliced(b, x, dim, start, end)?);
        start = end;
    }
    Ok(made)
}

/// `hsplit` and its kin: as many parts of one length, or those that end at places.
fn split_along(b: &mut Builder<'_, '_>, call: &Call<'_>, dim: fn(usize) -> usize) -> Made {
    let x = call.tensor("self")?;
    let dim = dim(b.rank(x)?);
    if call.has("indices") {
        return cut_at(b, x, &call.sizes("indices")?, dim);
    }
    sections(b, x, (call.int("sections")?, dim), true)
}

fn unbind(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let dim = axis(b, call, x)?;
    let Operand::Literal(full) = b.size(x, dim)? else {
        return Err(refused("the size that is taken apart is symbolic"));
    };
    if full > MAX_PIECES {
        return Err(refused("it has too many pieces"));
    }
    let mut made = Vec::new();
    for at in 0..full {
        let slice = sliced(b, x, dim, Operand::Literal(at), Operand::Literal(at + 1))?;
        made.push(squeezed(b, slice, vec![dim])?);
    }
    Ok(made)
}

fn narrow(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let dim = axis(b, call, x)?;
    let (start, length) = (call.size("start")?, call.size("length")?);
    let start = match start {
        Operand::Literal(value) if value < 0 => {
            let full = b.size(x, dim)?;
            b.plus(full, start)?
        }
        start => start,
    };
    let end = b.plus(start, length)?;
    sliced(b, x, dim, start, end).map(one)
}

/// Tensors beside each other, those of fewer than two dimensions as columns.
fn column_stack(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let mut columns = Vec::new();
    for mut x in call.tensor_list("tensors")? {
        while b.rank(x)? < 2 {
            x = unsqueezed(b, x, -1)?;
        }
        columns.push(x);
    }
    concatenated(b, columns, 1).map(one)
}

fn at_least(b: &mut Builder<'_, '_>, tensors: Vec<Proxy>, rank: usize) -> Result<Vec<Proxy>, TraceError> {
    let mut wide = Vec::with_capacity(tensors.len());
    for mut x in tensors {
        while b.rank(x)? < rank {
            x = unsqueezed(b, x, 0)?;
        }
        wide.push(x);
    }
    Ok(wide)
}

/// With dimensions of one in front of and behind those of a row, behind those of a matrix.
fn at_least_3d(b: &mut Builder<'_, '_>, mut x: Proxy) -> Result<Proxy, TraceError> {
    while b.rank(x)? < 2 {
        x = unsqueezed(b, x, 0)?;
    }
    if b.rank(x)? == 2 { unsqueezed(b, x, -1) } else { Ok(x) }
}

/// Matrices along the diagonal of one, with zeros beside them.
fn block_diag(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let matrices = at_least(b, call.tensor_list("tensors")?, 2)?;
    let mut widths = Vec::with_capacity(matrices.len());
    for &x in &matrices {
        widths.push(b.size(x, 1)?);
    }
    let mut rows = Vec::with_capacity(matrices.len());
    for (at, &x) in matrices.iter().enumerate() {
        let (mut left, mut right) = (Operand::Literal(0), Operand::Literal(0));
        for (other, &width) in widths.iter().enumerate() {
            match other.cmp(&at) {
                std::cmp::Ordering::Less => left = b.plus(left, width)?,
                std::cmp::Ordering::Greater => right = b.plus(right, width)?,
                std::cmp::Ordering::Equal => {}
            }
        }
        rows.push(b.one("constant_pad_nd.default", &[x.into(), sizes(&[left, right]), Argument::Int(0)])?);
    }
    concatenated(b, rows, 0).map(one)
}

/// All pairs, triples, .. of elements of several rows.
fn cartesian_product(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let rows = call.tensor_list("tensors")?;
    if let [only] = rows.as_slice() {
        return Ok(vec![*only]);
    }
    let mut columns = Vec::with_capacity(rows.len());
    for grid in grids(b, rows, false)? {
        let flat = super::views::reshaped(b, grid, &[Operand::Literal(-1)])?;
        columns.push(unsqueezed(b, flat, 1)?);
    }
    concatenated(b, columns, 1).map(one)
}

/// Tensors side by side: concatenated, then taken apart.
fn stack(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let tensors = call.tensor_list("tensors")?;
    let Some(&first) = tensors.first() else { return Err(refused("there is nothing to stack")) };
    let rank = b.rank(first)?;
    let dim = b.dim(call.int("dim")?, rank + 1)?;
    let count = Operand::Literal(tensors.len() as i64);
    if dim == rank {
        let mut columns = Vec::with_capacity(tensors.len());
        for x in tensors {
            columns.push(unsqueezed(b, x, rank as i64)?);
        }
        return concatenated(b, columns, rank as i64).map(one);
    }
    let mut shape = b.sizes(first)?;
    let joined = concatenated(b, tensors, dim as i64)?;
    shape.insert(dim, count);
    viewed(b, joined, &shape).map(one)
}

fn repeat_interleave(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let mut x = call.tensor("self")?;
    let times = call.size("repeats")?;
    let dim = if matches!(call.argument("dim"), Argument::None) {
        x = super::views::reshaped(b, x, &[Operand::Literal(-1)])?;
        0
    } else {
        axis(b, call, x)?
    };
    let mut shape = b.sizes(x)?;
    let column = unsqueezed(b, x, dim as i64 + 1)?;
    let mut wide = shape.clone();
    wide.insert(dim + 1, times);
    let wide = expanded(b, column, &wide)?;
    let copy = copied(b, wide)?;
    shape[dim] = b.times(shape[dim], times)?;
    viewed(b, copy, &shape).map(one)
}

fn grids(b: &mut Builder<'_, '_>, tensors: Vec<Proxy>, swapped: bool) -> Made {
    let swapped = swapped && tensors.len() > 1;
    let place = |at: usize| if swapped && at < 2 { 1 - at } else { at };
    let mut shape = vec![Operand::Literal(1); tensors.len()];
    for (at, &x) in tensors.iter().enumerate() {
        shape[place(at)] = if b.rank(x)? == 0 { Operand::Literal(1) } else { b.size(x, 0)? };
    }
    let mut grids = Vec::with_capacity(tensors.len());
    for (at, x) in tensors.into_iter().enumerate() {
        let mut alone: Vec<Size> = vec![Operand::Literal(1); shape.len()];
        alone[place(at)] = shape[place(at)];
        let line = super::views::reshaped(b, x, &alone)?;
        grids.push(expanded(b, line, &shape)?);
    }
    Ok(grids)
}

fn select_scatter(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, source) = (call.tensor("self")?, call.tensor("src")?);
    let (dim, tensor) = (axis(b, call, x)?, b.tensor(x)?);
    let (full, index) = (b.size(x, dim)?, call.size("index")?);
    let index = match index {
        Operand::Literal(value) if value < 0 => b.plus(full, index)?,
        index => index,
    };
    let places = numbers(b, full, &tensor.device)?;
    let mut shape = vec![Operand::Literal(1); tensor.sizes.len()];
    shape[dim] = Operand::Literal(-1);
    let places = viewed(b, places, &shape)?;
    let here = b.one("eq.Scalar", &[places.into(), size(index)])?;
    let column = unsqueezed(b, source, dim as i64)?;
    let full = b.sizes(x)?;
    let wide = expanded(b, column, &full)?;
    b.one("where.self", &[here.into(), wide.into(), x.into()]).map(one)
}

fn index_add(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let source = match call.argument("alpha") {
        Argument::Int(1) => call.argument("source"),
        alpha => b.one("mul.Tensor", &[call.argument("source"), alpha])?.into(),
    };
    indexed(b, call, source, true)
}

/// Puts the source at the places that an index names.
fn indexed(b: &mut Builder<'_, '_>, call: &Call<'_>, source: Argument, accumulates: bool) -> Made {
    let (x, index) = (call.tensor("self")?, call.tensor("index")?);
    if b.rank(x)? == 0 || b.rank(index)? != 1 {
        return Err(refused("operands without dimensions are not decomposed"));
    }
    let dim = axis(b, call, x)?;
    let mut indices: Vec<Option<ValueId>> = vec![None; dim];
    indices.push(Some(index.id()));
    let arguments = [x.into(), Argument::OptionalTensors(indices), source, Argument::Bool(accumulates)];
    b.one("index_put.default", &arguments).map(one)
}

fn diff(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let mut x = call.tensor("self")?;
    let dim = axis(b, call, x)?;
    let beside = [call.optional_tensor("prepend"), Some(x), call.optional_tensor("append")];
    let parts: Vec<Proxy> = beside.into_iter().flatten().collect();
    for part in &parts {
        if b.rank(*part)? != b.rank(x)? || b.dtype(*part)? != b.dtype(x)? {
            return Err(refused("what is put beside it has another rank or dtype"));
        }
    }
    if parts.len() > 1 {
        x = concatenated(b, parts, dim as i64)?;
    }
    let (boolean, times) = (b.dtype(x)?.is_bool(), call.int("n")?);
    if !(1..=64).contains(&times) {
        return Err(refused("differences of this order are not decomposed"));
    }
    for _ in 0..times {
        let full = b.size(x, dim)?;
        let last = b.minus(full, Operand::Literal(1))?;
        let before = sliced(b, x, dim, Operand::Literal(0), last)?;
        let behind = sliced(b, x, dim, Operand::Literal(1), full)?;
        let op = if boolean { "logical_xor.default" } else { "sub.Tensor" };
        x = b.one(op, &[behind.into(), before.into()])?;
    }
    Ok(vec![x])
}
