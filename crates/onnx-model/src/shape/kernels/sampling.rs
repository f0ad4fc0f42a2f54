//! Images sampled at the points of grids.
use super::layout::sizes_of;
use super::{Family, products};
use crate::shape::at_load::{self};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, clauses};
use sizewise_kernels::Cx;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[GridSample::ALL, AffineGrid::ALL];

pub(super) const KERNELS: Family = &free([
    op("AffineGrid", affine_grid).multiplies(products::grid).infers(at_load::rank),
    op("GridSample", grid_sample).infers(at_load::rank),
]);

clauses! { GridSample {
    C1 "The input and the grid have the same rank, at least 4."
    C2 "The input and the grid have the same batch size."
    C3 "The last size of the grid is the number of spatial dimensions."
    C4 "`mode` and `padding_mode` are known."
    C5 "For onnxruntime, no spatial dimension is empty. Cubic sampling takes 2 of them."
} }

/// `[n, c, places..]`.
pub(super) fn grid_sample(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, grid) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    let mode = call.text("mode", if call.since() < 20 { "bilinear" } else { "linear" });
    let known: &[&str] =
        if call.since() < 20 { &["bilinear", "bicubic", "nearest"] } else { &["linear", "cubic", "nearest"] };
    call.check(known.contains(&mode), GridSample::C4, || format!("no mode is named {mode}"))?;
    let padding = call.text("padding_mode", "zeros");
    call.check(matches!(padding, "zeros" | "border" | "reflection"), GridSample::C4, || {
        format!("no padding is named {padding}")
    })?;
    call.check(sizes.len() == grid.len() && sizes.len() >= 4, GridSample::C1, || {
        format!("ranks {} and {}", sizes.len(), grid.len())
    })?;
    cx.require_eq(sizes[0], grid[0], GridSample::C2, "batches")?;
    let spatial = cx.int(sizes.len() as i64 - 2);
    let (places, coordinates) = grid.split_at(grid.len() - 1);
    cx.require_eq(coordinates[0], spatial, GridSample::C3, "coordinates")?;
    super::policy::not_empty(cx, &sizes[2..], GridSample::C5)?;
    let is_flat = sizes.len() == 4 || !matches!(mode, "bicubic" | "cubic");
    super::policy::onnxruntime_checks(cx, is_flat, GridSample::C5, || {
        "cubic sampling is of images".to_owned()
    })?;
    let shape = [&sizes[..2], &places[1..]].concat();
    let dtype = call.output_type(0).unwrap_or(call.given(0)?.dtype);
    Ok(vec![Tensor::new(dtype, shape).into()])
}

clauses! { AffineGrid {
    C1 "`size` is `[n, c, h, w]` or `[n, c, d, h, w]`, with positive sizes."
    C2 "`theta` is `[n, 2, 3]`, or `[n, 3, 4]` for 3 spatial dimensions."
} }

/// `[n, places.., 2 or 3]` for matrices `[n, 2, 3]` or `[n, 3, 4]`.
fn affine_grid(cx: &mut Cx, call: &Checked) -> Outcome {
    let theta = call.shape(0)?.to_vec();
    let size = sizes_of(cx, call, 1, AffineGrid::C1)?;
    call.check(matches!(size.len(), 4 | 5), AffineGrid::C1, || {
        format!("the size has {} entries", size.len())
    })?;
    let (rows, columns) = (cx.int(size.len() as i64 - 2), cx.int(size.len() as i64 - 1));
    cx.require_same_shape(&theta, &[size[0], rows, columns], AffineGrid::C2)?;
    for (at, &size) in size.iter().enumerate() {
        // The function body takes no notice of the channels.
        let positive = cx.ge(size, i32::from(at != 1 || !cx.on_cpu()));
        cx.require(positive, AffineGrid::C1, |cx| format!("a size is {}", cx.show(size)))?;
    }
    call.one([&size[..1], &size[2..], &[rows]].concat())
}
