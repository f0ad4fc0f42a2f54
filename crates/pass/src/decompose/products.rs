//! Products of matrices.
use super::Made;
use super::builder::{Builder, Function, Size};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{copied, expanded, one, permuted, reshaped, squeezed, transposed, unsqueezed, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("linear.default", linear),
    ("matmul.default", |b, call| matmul(b, call.tensor("self")?, call.tensor("other")?).map(one)),
    ("dot.default", |b, call| matmul(b, call.tensor("self")?, call.tensor("tensor")?).map(one)),
    ("outer.default", outer),
    ("baddbmm.default", baddbmm),
    ("bilinear.default", bilinear),
    ("tensordot.default", tensordot),
    ("kron.default", kron),
    ("linalg_cross.default", cross),
    ("cross.default", cross),
    ("vdot.default", |b, call| {
        let (x, y) = (call.tensor("self")?, call.tensor("other")?);
        real(b, x)?;
        real(b, y)?;
        matmul(b, x, y).map(one)
    }),
    ("linalg_vecdot.default", |b, call| {
        let (x, y) = (call.tensor("x")?, call.tensor("y")?);
        real(b, x)?;
        let products = b.one("mul.Tensor", &[x.into(), y.into()])?;
        let over = Argument::Ints(vec![call.int("dim")?]);
        b.one("sum.dim_IntList", &[products.into(), over]).map(one)
    }),
    ("inner.default", inner),
    ("addr.default", addr),
    ("linalg_multi_dot.default", chain),
    ("chain_matmul.default", chain),
    ("linalg_matrix_power.default", power),
    ("matrix_power.default", power),
];

/// `x * w^T + bias`.
fn linear(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, weight) = (call.tensor("input")?, call.tensor("weight")?);
    let (rank, bias) = (b.rank(x)?, call.optional_tensor("bias"));
    if b.rank(weight)? != 2 || rank == 0 {
        return Err(refused("its weight has no two dimensions"));
    }
    let folds = bias.is_some() && (rank < 3 || b.is_contiguous(x)?);
    let shape = b.sizes(x)?;
    let (last, before) = shape.split_last().ok_or_else(|| refused("its input has no dimension"))?;
    if folds && rank != 2 {
        let rows = b.product(before)?;
        let flat = viewed(b, x, &[rows, *last])?;
        let turned = transposed(b, weight, 0, 1)?;
        let bias = bias.map_or(Argument::None, Into::into);
        let product = b.one("addmm.default", &[bias, flat.into(), turned.into()])?;
        let columns = b.size(weight, 0)?;
        return viewed(b, product, &[before, &[columns]].concat()).map(one);
    }
    let turned = transposed(b, weight, 0, 1)?;
    if let (true, Some(bias)) = (folds, bias) {
        return b.one("addmm.default", &[bias.into(), x.into(), turned.into()]).map(one);
    }
    let product = matmul(b, x, turned)?;
    match bias {
        Some(bias) => b.one("add.Tensor", &[product.into(), bias.into()]).map(one),
        None => Ok(vec![product]),
    }
}

/// The product of tensors as `torch.matmul` has it.
pub fn matmul(b: &mut Builder<'_, '_>, x: Proxy, y: Proxy) -> Result<Proxy, TraceError> {
    let two = |b: &mut Builder<'_, '_>, op: &str, x: Proxy, y: Proxy| b.one(op, &[x.into(), y.into()]);
    match (b.rank(x)?, b.rank(y)?) {
        (0, _) | (_, 0) => Err(refused("an operand has no dimension")),
        (1, 1) => {
            let products = two(b, "mul.Tensor", x, y)?;
            b.one("sum.dim_IntList", &[products.into(), Argument::Ints(Vec::new())])
        }
        (2, 1) => two(b, "mv.default", x, y),
        (1, 2) => {
            let row = unsqueezed(b, x, 0)?;
            let product = two(b, "mm.default", row, y)?;
            squeezed(b, product, vec![0])
        }
        (2, 2) => two(b, "mm.default", x, y),
        (rank, columns @ (1 | 2)) if b.is_contiguous(x)? => {
            let shape = b.sizes(x)?;
            let rows = b.product(&shape[..rank - 1])?;
            let flat = viewed(b, x, &[rows, shape[rank - 1]])?;
            let product = matmul(b, flat, y)?;
            let mut result = shape[..rank - 1].to_vec();
            if columns == 2 {
                result.push(b.size(y, 1)?);
            }
            viewed(b, product, &result)
        }
        (1, rank) => {
            let row = unsqueezed(b, x, 0)?;
            let product = batched(b, row, y)?;
            squeezed(b, product, vec![rank - 2])
        }
        (rank, 1) => {
            let column = unsqueezed(b, y, 1)?;
            let product = batched(b, x, column)?;
            squeezed(b, product, vec![rank - 1])
        }
        _ => batched(b, x, y),
    }
}

/// The sizes in front of the matrices: those of both, broadcast.
fn batch(b: &mut Builder<'_, '_>, x: Proxy, y: Proxy) -> Result<Vec<Size>, TraceError> {
    let ((xs, ys), (xe, ye)) = ((b.sizes(x)?, b.sizes(y)?), (b.tensor(x)?, b.tensor(y)?));
    let (x_batch, y_batch) = (xs.len() - 2, ys.len() - 2);
    let rank = x_batch.max(y_batch);
    let mut sizes = Vec::with_capacity(rank);
    for dim in 0..rank {
        let x_dim = (dim + x_batch).checked_sub(rank);
        let y_dim = (dim + y_batch).checked_sub(rank);
        let size = match (x_dim, y_dim) {
            (Some(x), Some(y)) if xs[x] == Operand::Literal(1) => ys[y],
            (Some(x), Some(y)) if ys[y] == Operand::Literal(1) || xe.sizes[x] == ye.sizes[y] => xs[x],
            (Some(x), None) => xs[x],
            (None, Some(y)) => ys[y],
            _ => return Err(refused("it is open whether sizes that meet are one")),
        };
        sizes.push(size);
    }
    Ok(sizes)
}

fn batched(b: &mut Builder<'_, '_>, x: Proxy, y: Proxy) -> Result<Proxy, TraceError> {
    let batch = batch(b, x, y)?;
    let count = b.product(&batch)?;
    let mut flat = Vec::with_capacity(2);
    let mut matrices = Vec::with_capacity(2);
    for operand in [x, y] {
        let sizes = b.sizes(operand)?;
        let matrix = sizes[sizes.len() - 2..].to_vec();
        let full = expanded(b, operand, &[batch.as_slice(), &matrix].concat())?;
        flat.push(reshaped(b, full, &[&[count], matrix.as_slice()].concat())?);
        matrices.push(matrix);
    }
    let product = b.one("bmm.default", &[flat[0].into(), flat[1].into()])?;
    viewed(b, product, &[batch.as_slice(), &[matrices[0][0], matrices[1][1]]].concat())
}

fn outer(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("vec2")?);
    let rows = b.size(x, 0)?;
    let column = reshaped(b, x, &[rows, Operand::Literal(1)])?;
    b.one("mul.Tensor", &[column.into(), y.into()]).map(one)
}

/// A tensor times a number, unless that is one.
fn scaled(b: &mut Builder<'_, '_>, x: Proxy, factor: Argument) -> Result<Proxy, TraceError> {
    match factor {
        Argument::Int(1) | Argument::Float(1.0) => Ok(x),
        factor => b.one("mul.Tensor", &[x.into(), factor]),
    }
}

fn baddbmm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (first, second) = (call.tensor("batch1")?, call.tensor("batch2")?);
    let product = b.one("bmm.default", &[first.into(), second.into()])?;
    let product = scaled(b, product, call.argument("alpha"))?;
    // What is multiplied by zero is not looked at.
    if matches!(call.argument("beta"), Argument::Int(0) | Argument::Float(0.0)) {
        return Ok(vec![product]);
    }
    let added = scaled(b, call.tensor("self")?, call.argument("beta"))?;
    b.one("add.Tensor", &[added.into(), product.into()]).map(one)
}

/// `x1 * w * x2` for each matrix of the weight.
fn bilinear(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y, weight) = (call.tensor("input1")?, call.tensor("input2")?, call.tensor("weight")?);
    let (shape, columns) = (b.sizes(x)?, b.size(weight, 0)?);
    let (last, before) = shape.split_last().ok_or_else(|| refused("its input has no dimension"))?;
    let (rows, other) = (b.product(before)?, b.size(weight, 2)?);
    let left = reshaped(b, x, &[rows, *last])?;
    let right = reshaped(b, y, &[rows, Operand::Literal(1), other])?;
    let turned = permuted(b, weight, [1, 0, 2])?;
    let wide = b.times(columns, other)?;
    let turned = copied(b, turned)?;
    let flat = viewed(b, turned, &[*last, wide])?;
    let product = b.one("mm.default", &[left.into(), flat.into()])?;
    let product = viewed(b, product, &[rows, columns, other])?;
    let products = b.one("mul.Tensor", &[product.into(), right.into()])?;
    let sums = b.one("sum.dim_IntList", &[products.into(), Argument::Ints(vec![2])])?;
    let result = viewed(b, sums, &[before, &[columns]].concat())?;
    match call.optional_tensor("bias") {
        Some(bias) => b.one("add.Tensor", &[result.into(), bias.into()]).map(one),
        None => Ok(vec![result]),
    }
}

fn tensordot(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let (x_rank, y_rank) = (b.rank(x)?, b.rank(y)?);
    let dims = |name: &str, rank: usize| {
        call.ints(name)?.into_iter().map(|dim| b.dim(dim, rank)).collect::<Result<Vec<_>, _>>()
    };
    let (x_dims, y_dims) = (dims("dims_self", x_rank)?, dims("dims_other", y_rank)?);
    let x_free: Vec<usize> = (0..x_rank).filter(|dim| !x_dims.contains(dim)).collect();
    let y_free: Vec<usize> = (0..y_rank).filter(|dim| !y_dims.contains(dim)).collect();
    let (x_sizes, y_sizes) = (b.sizes(x)?, b.sizes(y)?);
    let of = |sizes: &[Size], dims: &[usize]| dims.iter().map(|&dim| sizes[dim]).collect::<Vec<Size>>();
    let (rows, columns) = (of(&x_sizes, &x_free), of(&y_sizes, &y_free));
    let (row_count, column_count) = (b.product(&rows)?, b.product(&columns)?);
    let (summed, others) = (of(&x_sizes, &x_dims), of(&y_sizes, &y_dims));
    if summed.iter().zip(&others).any(|(a, b)| (*a == Operand::Literal(1)) != (*b == Operand::Literal(1))) {
        return Err(refused("a dimension of one is summed with another"));
    }
    let inner = b.product(&summed)?;
    let left = permuted(b, x, x_free.iter().chain(&x_dims).copied())?;
    let left = reshaped(b, left, &[row_count, inner])?;
    let right = permuted(b, y, y_dims.iter().chain(&y_free).copied())?;
    let right = reshaped(b, right, &[inner, column_count])?;
    let product = b.one("mm.default", &[left.into(), right.into()])?;
    viewed(b, product, &[rows, columns].concat()).map(one)
}

fn kron(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let (mut xs, mut ys) = (b.sizes(x)?, b.sizes(y)?);
    let rank = xs.len().max(ys.len());
    for sizes in [&mut xs, &mut ys] {
        while sizes.len() < rank {
            sizes.insert(0, Operand::Literal(1));
        }
    }
    let unit = Operand::Literal(1);
    let wide: Vec<Size> = xs.iter().flat_map(|&size| [size, unit]).collect();
    let tall: Vec<Size> = ys.iter().flat_map(|&size| [unit, size]).collect();
    let (left, right) = (reshaped(b, x, &wide)?, reshaped(b, y, &tall)?);
    let product = b.one("mul.Tensor", &[left.into(), right.into()])?;
    let mut result = Vec::with_capacity(rank);
    for (&x, &y) in xs.iter().zip(&ys) {
        result.push(b.times(x, y)?);
    }
    reshaped(b, product, &result).map(one)
}

/// Refuses complex operands.
fn real(b: &Builder<'_, '_>, x: Proxy) -> Result<(), TraceError> {
    if b.dtype(x)?.is_complex() { Err(refused("complex tensors are not decomposed")) } else { Ok(()) }
}

/// Products of elements turned against each other: `a1*b2 - a2*b1` in each of three places.
fn cross(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let rank = b.rank(x)?;
    let dim = match call.argument("dim") {
        // The first dimension of three elements.
        Argument::None => {
            let tensor = b.tensor(x)?;
            let three = tensor.sizes.iter().position(|size| b.number(*size) == Some(3));
            three.ok_or_else(|| refused("it is open which dimension has three elements"))?
        }
        _ => b.dim(call.int("dim")?, rank)?,
    };
    let dim = Argument::Int(dim as i64 - rank as i64);
    let device = b.tensor(x)?.device.clone();
    let places = numbers(b, Operand::Literal(3), &device)?;
    let mut turned = Vec::new();
    for (tensor, shift) in [(x, 1), (y, 2), (x, 2), (y, 1)] {
        let moved = b.one("add.Tensor", &[places.into(), Argument::Int(shift)])?;
        let index = b.one("remainder.Scalar", &[moved.into(), Argument::Int(3)])?;
        turned.push(b.one("index_select.default", &[tensor.into(), dim.clone(), index.into()])?);
    }
    let first = b.one("mul.Tensor", &[turned[0].into(), turned[1].into()])?;
    let second = b.one("mul.Tensor", &[turned[2].into(), turned[3].into()])?;
    b.one("sub.Tensor", &[first.into(), second.into()]).map(one)
}

/// Products of all last dimensions of one with all of the other.
fn inner(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let (x_sizes, y_sizes) = (b.sizes(x)?, b.sizes(y)?);
    let (Some((last, rows)), Some((_, columns))) = (x_sizes.split_last(), y_sizes.split_last()) else {
        return b.one("mul.Tensor", &[x.into(), y.into()]).map(one);
    };
    let (row_count, column_count) = (b.product(rows)?, b.product(columns)?);
    let left = reshaped(b, x, &[row_count, *last])?;
    let right = reshaped(b, y, &[column_count, *last])?;
    let turned = transposed(b, right, 0, 1)?;
    let product = b.one("mm.default", &[left.into(), turned.into()])?;
    viewed(b, product, &[rows, columns].concat()).map(one)
}

fn addr(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let product = b.one("outer.default", &[call.argument("vec1"), call.argument("vec2")])?;
    let product = scaled(b, product, call.argument("alpha"))?;
    if matches!(call.argument("beta"), Argument::Int(0) | Argument::Float(0.0)) {
        return Ok(vec![product]);
    }
    let added = scaled(b, call.tensor("self")?, call.argument("beta"))?;
    b.one("add.Tensor", &[added.into(), product.into()]).map(one)
}

/// A product of several matrices, the first and the last of which may be rows and columns.
fn chain(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let name = if call.has("tensors") { "tensors" } else { "matrices" };
    let mut made: Option<Proxy> = None;
    for matrix in call.tensor_list(name)? {
        made = Some(match made {
            Some(made) => matmul(b, made, matrix)?,
            None => matrix,
        });
    }
    made.map(one).ok_or_else(|| refused("there is nothing to multiply"))
}

/// A matrix times itself: squared as often as the power is halved.
fn power(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let mut square = call.tensor("self")?;
    let mut left = call.int("n")?;
    if !(1..=1 << 20).contains(&left) {
        return Err(refused("powers that are not positive, or very large, are not decomposed"));
    }
    let mut made: Option<Proxy> = None;
    while left > 0 {
        if left % 2 == 1 {
            made = Some(match made {
                Some(made) => matmul(b, made, square)?,
                None => square,
            });
        }
        left /= 2;
        if left > 0 {
            square = matmul(b, square, square)?;
        }
    }
    let made = made.ok_or_else(|| refused("there is nothing to multiply"))?;
    if call.int("n")? == 1 { b.one("clone.default", &[made.into()]).map(one) } else { Ok(vec![made]) }
}
