//! Images sampled at other places: enlarged and reduced, as columns of windows, grids of places.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py` (`_upsample_nearest`, `_upsample_linear`,
//! `upsample_bicubic2d_default`, `im2col`, `affine_grid_generator`) and `aten/src/ATen/native/UpSample.h`.
use super::Made;
use super::builder::{Builder, Function, Size, size};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{one, permuted, reshaped, squeezed, unsqueezed, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand, ValueId};

pub const RULES: &[(&str, Function)] = &[
    ("upsample_nearest1d.vec", |b, call| nearest(b, call, 0.0)),
    ("upsample_nearest3d.vec", |b, call| nearest(b, call, 0.0)),
    ("_upsample_nearest_exact1d.vec", |b, call| nearest(b, call, 0.5)),
    ("_upsample_nearest_exact2d.vec", |b, call| nearest(b, call, 0.5)),
    ("_upsample_nearest_exact3d.vec", |b, call| nearest(b, call, 0.5)),
    ("upsample_linear1d.vec", linear),
    ("upsample_trilinear3d.vec", linear),
    ("upsample_bicubic2d.vec", bicubic),
    ("im2col.default", columns),
    ("affine_grid_generator.default", affine_grid),
];

/// What `a` is in the cubic convolution that torch takes.
const CUBIC: f64 = -0.75;

/// A dimension that is sampled.
struct Axis {
    dim: usize,
    full: Size,
    made: Size,
    /// The factor that was asked for.
    factor: Option<f64>,
}

impl Axis {
    /// How far places of the input lie apart.
    fn step(&self, b: &mut Builder<'_, '_>, aligned: bool) -> Result<Argument, TraceError> {
        if aligned {
            let (before, after) =
                (b.minus(self.full, Operand::Literal(1))?, b.minus(self.made, Operand::Literal(1))?);
            let after = b.at_least(after, 1)?;
            // A single place is the first one: it is multiplied by 0.
            return b.ratio(before, after);
        }
        match self.factor {
            Some(factor) if factor > 0.0 => Ok(Argument::Float(1.0 / factor)),
            _ => b.ratio(self.full, self.made),
        }
    }

    /// The places of the input for the places of the result, with fractions.
    fn places(
        &self,
        b: &mut Builder<'_, '_>,
        x: Proxy,
        (dtype, aligned): (Dtype, bool),
    ) -> Result<Proxy, TraceError> {
        let step = self.step(b, aligned)?;
        let device = b.tensor(x)?.device.clone();
        let numbers = numbers(b, self.made, &device)?;
        let numbers = b.cast(numbers, dtype)?;
        if aligned {
            return b.one("mul.Tensor", &[numbers.into(), step]);
        }
        let centers = b.one("add.Tensor", &[numbers.into(), Argument::Float(0.5)])?;
        let centers = b.one("mul.Tensor", &[centers.into(), step])?;
        b.one("sub.Tensor", &[centers.into(), Argument::Float(0.5)])
    }

    /// The last place of the input.
    fn last(&self, b: &mut Builder<'_, '_>) -> Result<Argument, TraceError> {
        b.minus(self.full, Operand::Literal(1)).map(size)
    }
}

/// The dimensions behind batch and channels, with what becomes of each.
fn axes(b: &mut Builder<'_, '_>, call: &Call<'_>, x: Proxy) -> Result<Vec<Axis>, TraceError> {
    let (made, factors) = (call.optional_sizes("output_size"), call.optional_floats("scale_factors")?);
    let rank = b.rank(x)?;
    let mut axes = Vec::with_capacity(rank.saturating_sub(2));
    for dim in 2..rank {
        let full = b.size(x, dim)?;
        let factor = factors.as_ref().and_then(|factors| factors.get(dim - 2).copied());
        let made = match (made.as_ref().and_then(|sizes| sizes.get(dim - 2).copied()), factor) {
            (Some(made), _) => made,
            (None, Some(factor)) => b.scaled(full, factor)?,
            (None, None) => return Err(refused("neither a size nor a factor is given")),
        };
        axes.push(Axis { dim, full, made, factor });
    }
    Ok(axes)
}

/// As a dimension of its own in front of `behind` others.
fn before(b: &mut Builder<'_, '_>, mut x: Proxy, behind: usize) -> Result<Proxy, TraceError> {
    for _ in 0..behind {
        x = unsqueezed(b, x, -1)?;
    }
    Ok(x)
}

/// The elements at places of the dimensions behind batch and channels.
fn taken(b: &mut Builder<'_, '_>, x: Proxy, places: &[Proxy]) -> Result<Proxy, TraceError> {
    let mut indices: Vec<Option<ValueId>> = vec![None; 2];
    indices.extend(places.iter().map(|place| Some(place.id())));
    b.one("index.Tensor", &[x.into(), Argument::OptionalTensors(indices)])
}

/// The nearest element; `center` is where in an element of the result its place lies.
fn nearest(b: &mut Builder<'_, '_>, call: &Call<'_>, center: f64) -> Made {
    let x = call.tensor("input")?;
    let axes = axes(b, call, x)?;
    let device = Argument::Device(b.tensor(x)?.device.clone());
    let mut places = Vec::with_capacity(axes.len());
    for axis in &axes {
        let step = axis.step(b, false)?;
        let named = [("dtype", Argument::Dtype(Dtype::Float32)), ("device", device.clone())];
        let mut place = b.one_with("arange.start_step", &[Argument::Int(0), size(axis.made)], &named)?;
        if center != 0.0 {
            place = b.one("add.Tensor", &[place.into(), Argument::Float(center)])?;
        }
        let place = b.one("mul.Tensor", &[place.into(), step])?;
        let place = b.cast(place, Dtype::Int64)?;
        places.push(before(b, place, b.rank(x)? - 1 - axis.dim)?);
    }
    let made = taken(b, x, &places)?;
    b.laid_out_like(made, x).map(one)
}

/// The input in a dtype in which places and weights are computed.
fn computable(b: &mut Builder<'_, '_>, x: Proxy) -> Result<(Proxy, Dtype), TraceError> {
    let dtype = match b.dtype(x)? {
        Dtype::Float16 | Dtype::Bfloat16 | Dtype::Float32 => Dtype::Float32,
        Dtype::Float64 => Dtype::Float64,
        other => return Err(refused(format!("{other} is left"))),
    };
    Ok((b.cast(x, dtype)?, dtype))
}

/// Weighted by the distances to the neighbours in each dimension.
fn linear(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let given = call.tensor("input")?;
    let aligned = call.truth("align_corners")?;
    let (x, dtype) = computable(b, given)?;
    let axes = axes(b, call, x)?;
    // The places before and behind, and how far the exact place lies behind the first.
    let (mut neighbours, mut weights) = (Vec::new(), Vec::new());
    for axis in &axes {
        let exact = axis.places(b, x, (dtype, aligned))?;
        let exact = b.one("clamp.default", &[exact.into(), Argument::Float(0.0)])?;
        let exact = before(b, exact, axes.len() + 1 - axis.dim)?;
        let low = b.cast(exact, Dtype::Int64)?;
        let high = b.one("add.Tensor", &[low.into(), Argument::Int(1)])?;
        let last = axis.last(b)?;
        let high = b.one("clamp.default", &[high.into(), Argument::None, last])?;
        let behind = b.one("sub.Tensor", &[exact.into(), low.into()])?;
        weights.push(clamped(b, behind)?);
        neighbours.push([low, high]);
    }
    let corners = 1usize << axes.len();
    let mut values = Vec::with_capacity(corners);
    for corner in 0..corners {
        let high = |axis: usize| (corner >> (axes.len() - 1 - axis)) & 1;
        let places: Vec<Proxy> = neighbours.iter().enumerate().map(|(at, pair)| pair[high(at)]).collect();
        values.push(taken(b, x, &places)?);
    }
    for weight in weights.into_iter().rev() {
        let mut halved = Vec::with_capacity(values.len() / 2);
        for pair in values.chunks(2) {
            let difference = b.one("sub.Tensor", &[pair[1].into(), pair[0].into()])?;
            let share = b.one("mul.Tensor", &[difference.into(), weight.into()])?;
            halved.push(b.one("add.Tensor", &[pair[0].into(), share.into()])?);
        }
        values = halved;
    }
    let made = b.laid_out_like(values[0], given)?;
    let result = b.dtype(given)?;
    b.cast(made, result).map(one)
}

fn clamped(b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
    b.one("clamp.default", &[x.into(), Argument::Float(0.0), Argument::Float(1.0)])
}

/// `((first * t + second) * t + third) * t + fourth`, each step but those of 0.
fn polynomial(b: &mut Builder<'_, '_>, t: Proxy, [first, rest @ ..]: [f64; 4]) -> Result<Proxy, TraceError> {
    let mut made = b.one("mul.Tensor", &[t.into(), Argument::Float(first)])?;
    for (at, term) in rest.into_iter().enumerate() {
        if term != 0.0 {
            made = b.one("add.Tensor", &[made.into(), Argument::Float(term)])?;
        }
        if at < 2 {
            made = b.one("mul.Tensor", &[made.into(), t.into()])?;
        }
    }
    Ok(made)
}

/// The weights of four neighbours by how far the exact place lies behind the second.
fn cubic_weights(b: &mut Builder<'_, '_>, behind: Proxy) -> Result<[Proxy; 4], TraceError> {
    let near = [CUBIC + 2.0, -(CUBIC + 3.0), 0.0, 1.0];
    let far = [CUBIC, -5.0 * CUBIC, 8.0 * CUBIC, -4.0 * CUBIC];
    let shifted = |b: &mut Builder<'_, '_>, sign: &str, by: f64| -> Result<Proxy, TraceError> {
        if sign == "+" {
            return b.one("add.Tensor", &[behind.into(), Argument::Float(by)]);
        }
        let minus = b.one("neg.default", &[behind.into()])?;
        b.one("add.Tensor", &[minus.into(), Argument::Float(by)])
    };
    let (first, third, fourth) = (shifted(b, "+", 1.0)?, shifted(b, "-", 1.0)?, shifted(b, "-", 2.0)?);
    Ok([
        polynomial(b, first, far)?,
        polynomial(b, behind, near)?,
        polynomial(b, third, near)?,
        polynomial(b, fourth, far)?,
    ])
}

/// The places of four neighbours and their weights.
type Neighbours = ([Proxy; 4], [Proxy; 4]);

fn cubic(
    b: &mut Builder<'_, '_>,
    axis: &Axis,
    (x, dtype, aligned): (Proxy, Dtype, bool),
) -> Result<Neighbours, TraceError> {
    let exact = axis.places(b, x, (dtype, aligned))?;
    let exact = before(b, exact, 3 - axis.dim)?;
    let low = b.one("floor.default", &[exact.into()])?;
    let behind = b.one("sub.Tensor", &[exact.into(), low.into()])?;
    let behind = clamped(b, behind)?;
    let (low, last) = (b.cast(low, Dtype::Int64)?, axis.last(b)?);
    let mut places = [low; 4];
    for (at, place) in places.iter_mut().enumerate() {
        let moved = b.one("add.Tensor", &[low.into(), Argument::Int(at as i64 - 1)])?;
        *place = b.one("clamp.default", &[moved.into(), Argument::Int(0), last.clone()])?;
    }
    Ok((places, cubic_weights(b, behind)?))
}

fn weighted_sum(
    b: &mut Builder<'_, '_>,
    values: [Proxy; 4],
    weights: [Proxy; 4],
) -> Result<Proxy, TraceError> {
    let mut sum: Option<Proxy> = None;
    for (value, weight) in values.into_iter().zip(weights) {
        let product = b.one("mul.Tensor", &[value.into(), weight.into()])?;
        sum = Some(match sum {
            Some(sum) => b.one("add.Tensor", &[sum.into(), product.into()])?,
            None => product,
        });
    }
    sum.ok_or_else(|| refused("nothing is added"))
}

fn bicubic(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let given = call.tensor("input")?;
    let aligned = call.truth("align_corners")?;
    let (x, dtype) = computable(b, given)?;
    let axes = axes(b, call, x)?;
    let [high, wide] = axes.as_slice() else { return Err(refused("it takes images")) };
    let (rows, row_weights) = cubic(b, high, (x, dtype, aligned))?;
    let (columns, column_weights) = cubic(b, wide, (x, dtype, aligned))?;
    let mut sums = [x; 4];
    for (sum, row) in sums.iter_mut().zip(rows) {
        let mut values = [x; 4];
        for (value, column) in values.iter_mut().zip(columns) {
            *value = taken(b, x, &[row, column])?;
        }
        *sum = weighted_sum(b, values, column_weights)?;
    }
    let made = weighted_sum(b, sums, row_weights)?;
    let made = b.laid_out_like(made, given)?;
    let result = b.dtype(given)?;
    b.cast(made, result).map(one)
}

/// Where windows of a dimension have their elements: by place in the window and window.
fn windows(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    dim: usize,
    [kernel, dilation, padding, stride]: [i64; 4],
) -> Result<Proxy, TraceError> {
    let device = [("device", Argument::Device(b.tensor(x)?.device.clone()))];
    let full = b.size(x, dim)?;
    let reach = dilation.checked_mul(kernel - 1).and_then(|reach| (2 * padding).checked_sub(reach));
    let reach = reach.ok_or_else(|| refused("its windows are beyond 64 bits"))?;
    let end = b.plus(full, Operand::Literal(reach))?;
    let starts = [Argument::Int(0), size(end), Argument::Int(stride)];
    let starts = b.one_with("arange.start_step", &starts, &device)?;
    let starts = unsqueezed(b, starts, 0)?;
    let within = [Argument::Int(0), Argument::Int(kernel * dilation), Argument::Int(dilation)];
    let within = b.one_with("arange.start_step", &within, &device)?;
    let within = unsqueezed(b, within, -1)?;
    b.one("add.Tensor", &[starts.into(), within.into()])
}

/// Windows of images as columns.
fn columns(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let mut x = call.tensor("self")?;
    let batched = b.rank(x)? == 4;
    if !batched {
        x = unsqueezed(b, x, 0)?;
    }
    let mut options = Vec::new();
    for name in ["kernel_size", "dilation", "padding", "stride"] {
        let pair = call.ints(name)?;
        let (Some(&first), Some(&last)) = (pair.first(), pair.last()) else {
            return Err(refused(format!("`{name}` is no pair")));
        };
        if !(0..=i64::from(i32::MAX)).contains(&first.min(last)) || first.max(last) > i64::from(i32::MAX) {
            return Err(refused(format!("`{name}` is out of range")));
        }
        options.push([first, last]);
    }
    let of = |at: usize| [options[0][at], options[1][at], options[2][at], options[3][at]];
    let (rows, columns) = (windows(b, x, 2, of(0))?, windows(b, x, 3, of(1))?);
    let rows = before(b, rows, 2)?;
    let [high, wide] = options[2];
    let edges = Argument::Ints(vec![wide, wide, high, high]);
    let padded = b.one("constant_pad_nd.default", &[x.into(), edges, Argument::Int(0)])?;
    let found = taken(b, padded, &[rows, columns])?;
    let turned = permuted(b, found, [0, 1, 2, 4, 3, 5])?;
    let shape = b.sizes(turned)?;
    let (each, count) = (b.product(&shape[1..4])?, b.product(&shape[4..])?);
    let made = reshaped(b, turned, &[shape[0], each, count])?;
    if batched { Ok(vec![made]) } else { squeezed(b, made, vec![0]).map(one) }
}

/// Places from -1 to 1, as far apart: the corners, or the middles of as many elements.
fn spread(b: &mut Builder<'_, '_>, count: Size, theta: Proxy, aligned: bool) -> Result<Proxy, TraceError> {
    let tensor = b.tensor(theta)?;
    let numbers = numbers(b, count, &tensor.device)?;
    let numbers = b.cast(numbers, tensor.dtype)?;
    // Between the corners: 2 * i - (n - 1) of n - 1; the middles: 2 * i - (n - 1) of n.
    let last = b.minus(count, Operand::Literal(1))?;
    let parts = if aligned { b.at_least(last, 1)? } else { count };
    let twice = b.one("mul.Tensor", &[numbers.into(), Argument::Int(2)])?;
    let centered = b.one("sub.Tensor", &[twice.into(), size(last)])?;
    b.one("div.Tensor", &[centered.into(), size(parts)])
}

/// Places as matrices move them: `theta * (x, y, 1)` for each element of an image.
fn affine_grid(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (theta, shape) = (call.tensor("theta")?, call.sizes("size")?);
    let aligned = call.truth("align_corners")?;
    let dtype = b.dtype(theta)?;
    if !matches!(dtype, Dtype::Float32 | Dtype::Float64) || shape.len() < 4 {
        return Err(refused(format!("{dtype} is left")));
    }
    let spatial = &shape[2..];
    let mut shares: Option<Proxy> = None;
    // A column of the matrices for each dimension, from the last one on, and one that is added.
    for (column, dim) in (0..spatial.len()).rev().enumerate() {
        let places = spread(b, spatial[dim], theta, aligned)?;
        let places = before(b, places, spatial.len() - dim)?;
        let share = matrix_column(b, theta, column, spatial.len())?;
        let share = b.one("mul.Tensor", &[places.into(), share.into()])?;
        shares = Some(match shares {
            Some(sum) => b.one("add.Tensor", &[sum.into(), share.into()])?,
            None => share,
        });
    }
    let moved = matrix_column(b, theta, spatial.len(), spatial.len())?;
    let sum = shares.ok_or_else(|| refused("there is no dimension to place"))?;
    b.one("add.Tensor", &[sum.into(), moved.into()]).map(one)
}

/// A column of each matrix: the batch, a place for each dimension of the image, and the column.
fn matrix_column(
    b: &mut Builder<'_, '_>,
    theta: Proxy,
    column: usize,
    spatial: usize,
) -> Result<Proxy, TraceError> {
    let chosen = [theta.into(), Argument::Int(2), Argument::Int(column as i64)];
    let column = b.one("select.int", &chosen)?;
    let shape = b.sizes(column)?;
    let ones = vec![Operand::Literal(1); spatial];
    let copy = super::views::copied(b, column)?;
    viewed(b, copy, &[&shape[..1], &ones, &shape[1..]].concat())
}
