//! Along which axes onnxruntime interpolates.
use super::policy;
use crate::shape::Dtype;
use crate::shape::call::Checked;
use crate::shape::value::Element;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Resize::ALL];

clauses! { Resize {
    C1 "Either `scales` or `sizes` is given, with an entry for each axis. For onnxruntime, `roi` has two \
        entries for each."
    C2 "Scales and sizes are positive. onnxruntime takes a size of 0 where the input has one. Scales of \
        `Upsample` are at least 1."
    C4 "The modes are known, and onnxruntime supports them together."
    C5 "`axes` are distinct and within the rank of the input."
    C6 "With `keep_aspect_ratio_policy`, sizes are known numbers. Those of the input are not 0."
    C7 "onnxruntime can interpolate along the axes that are scaled."
    C8 "onnxruntime's cubic interpolation without antialiasing takes floats of 16 or 32 bits. Other types \
        are taken if the result is empty, no size changes, or only the middle two of four do."
    C9 "A symbolic size is small enough for an exact fraction. It is scaled as single precision does."
    C10 "onnxruntime infers how many `sizes` there are when it loads the model."
} }

/// Of each axis whether its scale is 1, and whether it is at least 1.
pub(super) struct Scaled {
    pub kept: Vec<Expr>,
    grown: Vec<Expr>,
}

impl Scaled {
    /// As far as scales are known.
    pub(super) fn by_scales(cx: &Cx, scales: &[Element]) -> Scaled {
        let each = |holds: &dyn Fn(f64) -> bool| {
            scales.iter().map(|scale| cx.env.pool.bool(scale.number().is_none_or(holds))).collect()
        };
        Scaled { kept: each(&|scale| scale == 1.0), grown: each(&|scale| scale >= 1.0) }
    }

    /// By the sizes before and after; axes with one scale for all have that.
    pub(super) fn by_sizes(cx: &mut Cx, before: &[Expr], after: &[Expr], one: &[Option<f32>]) -> Scaled {
        let (mut kept, mut grown) = (Vec::new(), Vec::new());
        for ((&before, &after), one) in before.iter().zip(after).zip(one) {
            kept.push(match one {
                Some(scale) => cx.env.pool.bool(*scale == 1.0),
                None => cx.eq(before, after),
            });
            grown.push(match one {
                Some(scale) => cx.env.pool.bool(*scale >= 1.0),
                None => cx.le(before, after),
            });
        }
        Scaled { kept, grown }
    }
}

/// onnxruntime interpolates linearly along the last dimensions, at most three, or of four the middle two. Cubic
/// interpolation takes two dimensions, or four of which the first two are kept, or the first and the last, where the
/// others do not shrink without antialiasing.
pub(super) fn interpolates(
    cx: &mut Cx,
    call: &Checked,
    scaled: &Scaled,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let mode = call.text("mode", "nearest");
    if mode == "nearest" || !cx.on_cpu() {
        return Ok(());
    }
    let is_smooth = call.int("antialias", 0) != 0;
    let grown = cx.all(scaled.grown.get(1..3).unwrap_or_default());
    let pool = cx.pool();
    let fine = match (mode, scaled.kept.as_slice()) {
        (_, [_, _]) | ("linear", [_, _, _]) => pool.bool(true),
        (_, &[first, second, _, last]) => {
            let last_two = pool.and(&[first, second]);
            let middle_two = match mode {
                "cubic" if !is_smooth => pool.and(&[first, last, grown]),
                _ => pool.and(&[first, last]),
            };
            pool.or(&[last_two, middle_two])
        }
        ("linear", &[first, second, _, _, _]) => pool.and(&[first, second]),
        _ => pool.bool(false),
    };
    cx.require(fine, clause, |_| format!("{mode} interpolation does not take these scales"))
}

pub(super) fn cubic_type(
    cx: &mut Cx,
    call: &Checked,
    kept: &[Expr],
    (before, after): (&[Expr], &[Expr]),
) -> Result<(), KernelError> {
    let is_float = matches!(call.given(0)?.dtype, Dtype::F32 | Dtype::F16);
    let is_cubic = call.text("mode", "nearest") == "cubic" && call.int("antialias", 0) == 0;
    if is_float || !is_cubic {
        return Ok(());
    }
    let same: Vec<Expr> = before.iter().zip(after).map(|(&before, &after)| cx.eq(before, after)).collect();
    let mut ways = vec![cx.all(&same)];
    for &size in after {
        ways.push(cx.eq(size, 0));
    }
    if let &[_, second, _, last] = kept {
        let is_scaled = cx.not(second);
        ways.push(cx.all(&[is_scaled, last]));
    }
    let fine = cx.any(&ways);
    policy::onnxruntime(cx, fine, Resize::C8, |_| "cubic interpolation is of 32-bit floats".to_owned())
}
