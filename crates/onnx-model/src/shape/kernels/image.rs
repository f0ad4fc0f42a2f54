//! Images: resizing and sampling.
use super::interpolation::{Resize, Scaled, cubic_type, interpolates};
use super::layout::sizes_of;
use super::{Family, policy};
use crate::shape::at_load::{self, Known};
use crate::shape::call::{Checked, Outcome, open};
use crate::shape::op::{free, op};
use crate::shape::run_time::{About, rule, values};
use crate::shape::value::Element;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, windows};
use std::borrow::Cow;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Upsample::ALL, Col2Im::ALL, ImageDecoder::ALL];

pub(super) const KERNELS: Family = &free([
    op("Col2Im", col2im).infers(at_load::rank),
    op("ImageDecoder", decode).infers(at_load::rank),
    op("Resize", resize).infers(at_load::read_sizes).at_run(&[
        rule(1, Resize::C2, About::Scales, "every scale in {} is positive"),
        values(2, Resize::C2, "every scale in {} is positive"),
        values(3, Resize::C2, "every size in {} is positive"),
    ]),
    op("Upsample", upsample).infers(at_load::rank).at_run(&[values(
        1,
        Resize::C2,
        "every scale in {} is positive",
    )]),
]);

/// A size times a literal scale, rounded down; onnxruntime multiplies in single precision.
fn scaled(cx: &mut Cx, size: Expr, scale: f64) -> Result<Expr, KernelError> {
    if scale.fract() == 0.0 && (1.0..1e9).contains(&scale) {
        let scale = cx.int(scale as i64);
        return Ok(cx.mul(size, scale));
    }
    if let Some(literal) = size.as_inline() {
        return Ok(cx.int(in_single_precision(literal, scale)));
    }
    let Some((above, below)) = fraction(scale) else { return Ok(cx.unbacked_size(0, None)) };
    let limit = first_difference(scale, above, below);
    if limit < LEAST_LIMIT {
        return Ok(cx.unbacked_size(0, None));
    }
    // Halves, quarters and the like are exact as long as sizes are.
    if !(below as u64).is_power_of_two() {
        let bound = cx.int(limit);
        let fits = cx.lt(size, bound);
        cx.require(fits, Resize::C9, |cx| format!("{} may not be scaled exactly", cx.show(size)))?;
    }
    let (above, below) = (cx.int(above), cx.int(below));
    let product = cx.mul(size, above);
    Ok(cx.floor_div(product, below))
}

/// Sizes up to here are compared with what single precision makes of them.
const COMPARED: i64 = 1 << 17;
/// A fraction has to be right for sizes up to here.
const LEAST_LIMIT: i64 = 1 << 10;

fn in_single_precision(size: i64, scale: f64) -> i64 {
    (size as f32 * scale as f32).floor() as i64
}

/// The simplest fraction that is the scale in single precision, with a small denominator.
fn fraction(scale: f64) -> Option<(i64, i64)> {
    let (mut above, mut below) = ((0i64, 1i64), (1i64, 0i64));
    let mut rest = scale;
    for _ in 0..16 {
        let whole = rest.floor();
        if !(0.0..1e6).contains(&whole) {
            return None;
        }
        let digit = whole as i64;
        above = (above.1, digit.checked_mul(above.1)?.checked_add(above.0)?);
        below = (below.1, digit.checked_mul(below.1)?.checked_add(below.0)?);
        if below.1 > 10_000 {
            return None;
        }
        if (above.1 as f64 / below.1 as f64) as f32 == scale as f32 {
            return Some((above.1, below.1));
        }
        rest = 1.0 / (rest - whole);
    }
    None
}

/// The first size of which the fraction makes something else than single precision does, as far as sizes are compared.
fn first_difference(scale: f64, above: i64, below: i64) -> i64 {
    let differs = |&size: &i64| in_single_precision(size, scale) != size * above / below;
    // The scale and the product are rounded, each by at most 2^-24 of itself. Below `sure` that is less than the distance
    // from the exact product to the next integer, 1 / below, unless the product is an integer.
    let sure = ((1 << 22) / above.max(1)).min(COMPARED);
    // A scale whose denominator is a power of two is not rounded, and neither is its product.
    let is_exact = (below as u64).is_power_of_two();
    let step = if is_exact { COMPARED as usize } else { usize::try_from(below).unwrap_or(1) };
    (0..sure).step_by(step).chain(sure..COMPARED).find(differs).unwrap_or(COMPARED)
}

/// The scales that an input holds, if it holds some; an empty one stands for none.
fn scales<'c>(
    cx: &mut Cx,
    call: &Checked<'c, '_>,
    at: usize,
) -> Result<Option<Cow<'c, [Element]>>, KernelError> {
    let Some(tensor) = call.tensor(at) else { return Ok(None) };
    let shape = call.shape(at)?.to_vec();
    // onnxruntime takes the elements of any shape.
    call.check(shape.len() == 1 || cx.on_cpu(), Resize::C1, || {
        format!("scales have 1 dimension, not {}", shape.len())
    })?;
    let length = cx.product(shape);
    let length = cx.literal(length, Resize::C1)?;
    if length == 0 {
        return Ok(None);
    }
    let unknown = || vec![Element::Open; usize::try_from(length).unwrap_or(0).min(64)].into();
    Ok(Some(tensor.list().unwrap_or_else(unknown)))
}

fn by_scales(
    cx: &mut Cx,
    call: &Checked,
    sizes: &[Expr],
    scales: &[Element],
) -> Result<Vec<Expr>, KernelError> {
    call.check(scales.len() == sizes.len(), Resize::C1, || {
        format!("{} scales for {} sizes", scales.len(), sizes.len())
    })?;
    let mut shape = Vec::with_capacity(sizes.len());
    for (&size, scale) in sizes.iter().zip(scales) {
        shape.push(match scale.number() {
            Some(scale) => {
                call.check(scale > 0.0 && scale.is_finite(), Resize::C2, || format!("a scale is {scale}"))?;
                scaled(cx, size, scale)?
            }
            None => cx.unbacked_size(0, None),
        });
    }
    Ok(shape)
}

clauses! { Upsample {
    C6 "onnxruntime can interpolate along the axes that are scaled."
} }

/// In versions before 9 scales are an attribute.
fn upsample(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let mode = call.text("mode", "nearest");
    call.check(matches!(mode, "nearest" | "linear"), Resize::C4, || format!("no mode is named {mode}"))?;
    let scales = match call.attribute("scales") {
        Some(crate::shape::Attribute::Floats(list)) => {
            list.iter().map(|&scale| Element::Float(scale)).collect()
        }
        _ => scales(cx, call, 1)?.ok_or_else(|| open(call.op(), "the scales"))?,
    };
    let at_least_one = scales.iter().filter_map(Element::number).all(|scale| scale >= 1.0);
    call.check(at_least_one, Resize::C2, || "a scale is less than 1".to_owned())?;
    let scaled = Scaled::by_scales(cx, &scales);
    interpolates(cx, call, &scaled, Upsample::C6)?;
    let shape = by_scales(cx, call, &sizes, &scales)?;
    call.one(shape)
}

fn sizes_suit(cx: &mut Cx, sizes: &[Expr], axes: &[usize], stated: &[Expr]) -> Result<(), KernelError> {
    for (&at, &size) in axes.iter().zip(stated) {
        let (none, some) = (cx.eq(sizes[at], 0), cx.ge(sizes[at], 1));
        let (empty, filled) = (cx.eq(size, 0), cx.ge(size, 1));
        let fine = if cx.surely(some) || !cx.on_cpu() {
            filled
        } else {
            let (kept, scaled) = (cx.all(&[none, empty]), cx.all(&[some, filled]));
            cx.any(&[kept, scaled])
        };
        cx.require(fine, Resize::C2, |cx| {
            format!("a size of {} becomes {}", cx.show(sizes[at]), cx.show(size))
        })?;
    }
    Ok(())
}

fn region(cx: &mut Cx, call: &Checked, axes: usize) -> Result<(), KernelError> {
    if !call.has(1) {
        return Ok(());
    }
    let (count, expected) = (cx.product(call.shape(1)?.to_vec()), cx.int(2 * axes as i64));
    let fits = cx.eq(count, expected);
    policy::onnxruntime(cx, fits, Resize::C1, |cx| {
        format!("the region has {} numbers for {axes} axes", cx.show(count))
    })
}

fn resize_modes(cx: &mut Cx, call: &Checked) -> Result<(), KernelError> {
    let mode = call.text("mode", "nearest");
    call.check(matches!(mode, "nearest" | "linear" | "cubic"), Resize::C4, || {
        format!("no mode is named {mode}")
    })?;
    let places = call.text("coordinate_transformation_mode", "half_pixel");
    let known = matches!(
        places,
        "half_pixel"
            | "half_pixel_symmetric"
            | "pytorch_half_pixel"
            | "align_corners"
            | "asymmetric"
            | "tf_half_pixel_for_nn"
            | "tf_crop_and_resize"
    );
    call.check(known, Resize::C4, || format!("no coordinates are named {places}"))?;
    let nearest = call.text("nearest_mode", "round_prefer_floor");
    let known = matches!(nearest, "round_prefer_floor" | "round_prefer_ceil" | "floor" | "ceil");
    // Other modes take no notice of it in onnxruntime.
    let is_read = mode == "nearest" && !nearest.is_empty() || !cx.on_cpu();
    call.check(known || !is_read, Resize::C4, || format!("no rounding is named {nearest}"))?;
    let policy = call.text("keep_aspect_ratio_policy", "stretch");
    call.check(matches!(policy, "stretch" | "not_larger" | "not_smaller"), Resize::C4, || {
        format!("no policy is named {policy}")
    })?;
    let is_smooth = call.int("antialias", 0) != 0;
    policy::onnxruntime_checks(cx, !is_smooth || mode != "nearest", Resize::C4, || {
        "there is no antialiasing for nearest elements".to_owned()
    })?;
    let excludes = call.int("exclude_outside", 0) != 0;
    let is_weighted = mode == "cubic" || mode == "linear" && is_smooth;
    policy::onnxruntime_checks(cx, !excludes || is_weighted, Resize::C4, || {
        format!("exclude_outside is not for {mode} interpolation")
    })
}

/// The input scaled, or brought to sizes. Onnxruntime interpolates cubically 32-bit floats.
fn resize(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    resize_modes(cx, call)?;
    let policy = call.text("keep_aspect_ratio_policy", "stretch");
    let (scales_at, sizes_at) = if call.since() < 11 { (1, 3) } else { (2, 3) };
    let axes: Vec<usize> = match call.ints("axes") {
        None => (0..sizes.len()).collect(),
        Some(axes) => {
            let mut places = Vec::with_capacity(axes.len());
            for &axis in axes {
                let at = call.axis(axis, sizes.len(), Resize::C5)?;
                call.check(!places.contains(&at), Resize::C5, || format!("axis {at} is named twice"))?;
                places.push(at);
            }
            places
        }
    };
    if call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize" && call.since() >= 11 {
        region(cx, call, axes.len())?;
    }
    let scales = scales(cx, call, scales_at)?;
    if call.has(sizes_at) {
        number_of_sizes(cx, call, sizes_at)?;
    }
    let stated = match call.tensor(sizes_at) {
        Some(tensor) if tensor.count() != Some(0) => Some(sizes_of(cx, call, sizes_at, Resize::C1)?),
        _ => None,
    };
    call.check(scales.is_some() != stated.is_some(), Resize::C1, || {
        "either scales or sizes are given".to_owned()
    })?;
    if let Some(scales) = scales {
        call.check(scales.len() == axes.len(), Resize::C1, || {
            format!("{} scales for {} axes", scales.len(), axes.len())
        })?;
        let mut all = vec![Element::Float(1.0); sizes.len()];
        for (&at, scale) in axes.iter().zip(&*scales) {
            all[at] = scale.clone();
        }
        if policy != "stretch" {
            let message = || "a ratio is kept of sizes, not of scales".to_owned();
            call.refused_where(call.rank_at_load(0), Resize::C4, message)?;
        }
        let scaled = Scaled::by_scales(cx, &all);
        interpolates(cx, call, &scaled, Resize::C7)?;
        let shape = by_scales(cx, call, &sizes, &all)?;
        cubic_type(cx, call, &scaled.kept, (&sizes, &shape))?;
        return call.one(shape);
    }
    let stated = stated.unwrap_or_default();
    call.check(stated.len() == axes.len(), Resize::C1, || {
        format!("{} sizes for {} axes", stated.len(), axes.len())
    })?;
    sizes_suit(cx, &sizes, &axes, &stated)?;
    let mut shape = sizes.clone();
    let scales = match policy {
        "stretch" => {
            axes.iter().zip(&stated).for_each(|(&at, &size)| shape[at] = size);
            vec![None; shape.len()]
        }
        _ => keep_ratio(cx, call, (&axes, &stated), policy, &mut shape)?,
    };
    let scaled = Scaled::by_sizes(cx, &sizes, &shape, &scales);
    interpolates(cx, call, &scaled, Resize::C7)?;
    cubic_type(cx, call, &scaled.kept, (&sizes, &shape))?;
    call.one(shape)
}

fn number_of_sizes(cx: &Cx, call: &Checked, at: usize) -> Result<(), KernelError> {
    match call.sizes_at_load(at) {
        _ if !cx.on_cpu() => {}
        Known::Yes => {}
        Known::No => call.check(false, Resize::C10, || "the number of sizes is not known".to_owned())?,
        Known::Maybe => call.doubt("onnxruntime loads it only if it infers how many sizes there are"),
    }
    Ok(())
}

/// Sizes scaled by one factor: the least or the greatest that the stated sizes ask for. Returns the scale of each axis.
fn keep_ratio(
    cx: &mut Cx,
    call: &Checked,
    (axes, stated): (&[usize], &[Expr]),
    policy: &str,
    shape: &mut [Expr],
) -> Result<Vec<Option<f32>>, KernelError> {
    // onnxruntime leaves the sizes of axes that are given as negative numbers as they are.
    let is_scaled = |place: usize| {
        let given = call.ints("axes").and_then(|axes| axes.get(place)).copied().unwrap_or(0);
        !cx.on_cpu() || given >= 0
    };
    let scaled: Vec<(usize, Expr)> =
        (0..axes.len()).filter(|&place| is_scaled(place)).map(|place| (axes[place], stated[place])).collect();
    let mut scale: Option<f32> = None;
    for &(at, size) in &scaled {
        let (from, to) = (cx.literal(shape[at], Resize::C6)?, cx.literal(size, Resize::C6)?);
        call.check(from > 0, Resize::C6, || "a size is 0".to_owned())?;
        let own = to as f32 / from as f32;
        scale = Some(
            scale.map_or(own, |known| if policy == "not_larger" { known.min(own) } else { known.max(own) }),
        );
    }
    let scale = scale.unwrap_or(1.0);
    let mut scales = vec![Some(1.0); shape.len()];
    for (at, _) in scaled {
        scales[at] = Some(scale);
        let from = cx.literal(shape[at], Resize::C6)?;
        shape[at] = cx.int((scale * from as f32).round() as i64);
    }
    Ok(scales)
}

clauses! { Col2Im {
    C1 "The input has 3 dimensions. Lists have an entry for each dimension of the image, and `pads` has \
        two. Strides and dilations are positive."
    C2 "The number of channels is divisible by the number of elements of a block. The block is not empty."
    C3 "The input has a column for each position of the block."
    C4 "For onnxruntime, the image and its columns are not empty, and the block fits into the padded image."
} }

/// `[n, c, image..]` of columns `[n, c * block, blocks]`.
fn col2im(cx: &mut Cx, call: &Checked) -> Outcome {
    let columns = call.shape(0)?.to_vec();
    call.check(columns.len() == 3, Col2Im::C1, || {
        format!("columns have 3 dimensions, not {}", columns.len())
    })?;
    let image = sizes_of(cx, call, 1, Col2Im::C1)?;
    let block = sizes_of(cx, call, 2, Col2Im::C1)?;
    let count = image.len();
    call.check(block.len() == count, Col2Im::C1, || format!("a block has {} sizes", block.len()))?;
    let list = |name: &str, default: i64, length: usize| -> Result<Vec<i64>, KernelError> {
        let list = call.ints(name).map_or_else(|| vec![default; length], <[i64]>::to_vec);
        call.check(list.len() == length, Col2Im::C1, || format!("{name} has {} entries", list.len()))?;
        Ok(list)
    };
    let (dilations, strides, pads) =
        (list("dilations", 1, count)?, list("strides", 1, count)?, list("pads", 0, 2 * count)?);
    call.check(strides.iter().chain(&dilations).all(|&n| n > 0), Col2Im::C1, || {
        "strides are positive".to_owned()
    })?;
    let area = cx.product(block.clone());
    let positive = cx.ge(area, 1);
    cx.require(positive, Col2Im::C2, |_| "a block is empty".to_owned())?;
    for size in image.iter().copied().chain([columns[1]]) {
        let some = cx.ge(size, 1);
        policy::onnxruntime(cx, some, Col2Im::C4, |_| "an image or its columns are empty".to_owned())?;
    }
    let remainder = cx.modulo(columns[1], area);
    cx.require_eq(remainder, Expr::ZERO, Col2Im::C2, "channels that are left over")?;
    let mut places = Expr::ONE;
    for i in 0..count {
        let both = cx.int(pads[i].saturating_add(pads[count + i]));
        let padded = cx.add(image[i], both);
        let (stride, dilation) = (cx.int(strides[i]), cx.int(dilations[i]));
        let reach = cx.sub(block[i], 1);
        let reach = cx.mul(dilation, reach);
        let fits = cx.gt(padded, reach);
        policy::onnxruntime(cx, fits, Col2Im::C4, |cx| {
            format!("a block of {} does not fit {}", cx.show(block[i]), cx.show(padded))
        })?;
        let along = windows(cx, padded, block[i], stride, dilation);
        places = cx.mul(places, along);
    }
    cx.require_eq(columns[2], places, Col2Im::C3, "columns and places")?;
    let channels = cx.floor_div(columns[1], area);
    call.one([&[columns[0], channels], image.as_slice()].concat())
}

clauses! { ImageDecoder {
    C1 "The encoded image has 1 dimension."
    C2 "`pixel_format` is `RGB`, `BGR` or `Grayscale`."
} }

/// `[height, width, channels]`, which the image decides.
fn decode(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(0)?.len();
    call.check(rank == 1, ImageDecoder::C1, || format!("the data has 1 dimension, not {rank}"))?;
    let channels = match call.text("pixel_format", "RGB") {
        "Grayscale" => Expr::ONE,
        "RGB" | "BGR" => cx.int(3),
        other => return Err(KernelError::invalid(ImageDecoder::C2, format!("no format is named {other}"))),
    };
    let (height, width) = (cx.unbacked_size(0, None), cx.unbacked_size(0, None));
    call.one(vec![height, width, channels])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_without_trying_every_size() {
        for below in [1, 2, 3, 5, 7, 8, 10, 48, 125, 999, 9_973] {
            for above in [1, 2, 3, 11, 17, 100, 1_001, 65_537, 999_983] {
                let scale = f64::from((f64::from(above) / f64::from(below)) as f32);
                let Some((above, below)) = fraction(scale) else { continue };
                let differs = |&size: &i64| in_single_precision(size, scale) != size * above / below;
                let every = (0..COMPARED).find(differs).unwrap_or(COMPARED);
                assert_eq!(first_difference(scale, above, below), every, "{above} / {below}");
            }
        }
    }
}
