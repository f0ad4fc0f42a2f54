//! Signals: windows, Fourier transforms.
use super::elementwise::named;
use super::{Family, policy};
use crate::shape::call::{Attribute, Checked, Outcome, open};
use crate::shape::op::{free, op};
use crate::shape::run_time::values;
use crate::shape::value::{Element, Tensor};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Rfft::ALL, Irfft::ALL, Window::ALL, MelWeightMatrix::ALL, DFT::ALL, STFT::ALL];

pub(super) const KERNELS: Family = &free([
    op("BlackmanWindow", window).at_run(&[values(0, Window::C2, "the size {} is not negative")]),
    op("DFT", dft).infers(at_load::rank),
    op("HammingWindow", window).at_run(&[values(0, Window::C2, "the size {} is not negative")]),
    op("HannWindow", window).at_run(&[values(0, Window::C2, "the size {} is not negative")]),
    op("MelWeightMatrix", mel).at_run(&[values(1, MelWeightMatrix::C1, "{} suits the other operands")]),
    op("STFT", stft),
]);

pub(super) const CONTRIB: Family = &free([op("Irfft", inverse_real).passes(), op("Rfft", real).passes()]);

clauses! { Rfft {
    C1 "`signal_ndim` is positive, and at most the rank of the input."
    C2 "The last size of the input is even."
} }

/// `[.., n / 2 + 1, 2]` of a signal `[.., n]`.
fn real(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let count = call.int("signal_ndim", 1);
    let is_enough = count >= 1 && shape.len() as i64 >= count;
    call.check(is_enough, Rfft::C1, || format!("a signal of {count} dimensions in {}", shape.len()))?;
    let last = shape.len() - 1;
    let two = cx.int(2);
    let left = cx.modulo(shape[last], two);
    cx.require_eq(left, Expr::ZERO, Rfft::C2, "what pairs leave over")?;
    let half = cx.floor_div(shape[last], two);
    shape[last] = cx.add(half, 1);
    shape.push(two);
    call.one(shape)
}

clauses! { Irfft {
    C1 "`signal_ndim` is positive and less than the rank of the input, whose last size is 2."
} }

/// `[.., 2 (n - 1)]` of a spectrum `[.., n, 2]`.
fn inverse_real(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let count = call.int("signal_ndim", 1);
    let is_enough = count >= 1 && shape.len() as i64 > count;
    call.check(is_enough, Irfft::C1, || format!("a signal of {count} dimensions in {}", shape.len()))?;
    let (parts, two) = (shape.pop().unwrap_or(Expr::ONE), cx.int(2));
    cx.require_eq(parts, two, Irfft::C1, "real and imaginary parts")?;
    let last = shape.len() - 1;
    let less = cx.sub(shape[last], 1);
    shape[last] = cx.mul(less, 2);
    call.one(shape)
}

/// A number that an input of one element holds; a new size if it is not known.
fn scalar(cx: &mut Cx, call: &Checked, at: usize, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let count = cx.product(call.shape(at)?.to_vec());
    cx.require_eq(count, Expr::ONE, clause, "the number of elements of a scalar")?;
    Ok(match call.given(at)?.single() {
        Some(Element::Int(value)) => value,
        _ => cx.unbacked_size(0, None),
    })
}

/// As [`scalar`], of an operand which onnxruntime's inference of shapes wants without dimensions if the file has it.
fn bare(cx: &mut Cx, call: &Checked, at: usize, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let rank = call.shape(at)?.len();
    policy::onnxruntime_checks(cx, rank == 0 || !call.is_in_file(at), clause, || {
        format!("its input {at} is a scalar, not of rank {rank}")
    })?;
    scalar(cx, call, at, clause)
}

fn output_type(call: &Checked) -> Result<Dtype, KernelError> {
    match call.attribute("output_datatype") {
        Some(Attribute::Int(number)) => named(call, *number),
        _ => Ok(Dtype::F32),
    }
}

clauses! { Window {
    C1 "The size is a scalar."
    C2 "The size is not negative. A constant size is positive."
} }

/// `[size]`.
fn window(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(0)?.len();
    // Only the inference of shapes looks at the rank.
    let is_open = cx.on_cpu() && !call.is_in_file(0);
    call.check(rank == 0 || is_open, Window::C1, || format!("the size is a scalar, not of rank {rank}"))?;
    let size = scalar(cx, call, 0, Window::C1)?;
    // The inference of shapes refuses a constant of 0; a size that an input says may be 0.
    let natural = cx.ge(size, i32::from(call.is_in_file(0)));
    cx.require(natural, Window::C2, |cx| format!("the size is {}", cx.show(size)))?;
    Ok(vec![Tensor::new(output_type(call)?, vec![size]).into()])
}

clauses! { MelWeightMatrix {
    C1 "All inputs are scalars."
} }

/// `[spectrogram / 2 + 1, bins]`.
fn mel(cx: &mut Cx, call: &Checked) -> Outcome {
    let bins = bare(cx, call, 0, MelWeightMatrix::C1)?;
    let length = bare(cx, call, 1, MelWeightMatrix::C1)?;
    for at in 2..5 {
        scalar(cx, call, at, MelWeightMatrix::C1)?;
    }
    let two = cx.int(2);
    let half = cx.floor_div(length, two);
    let rows = cx.add(half, 1);
    Ok(vec![Tensor::new(output_type(call)?, vec![rows, bins]).into()])
}

fn transformed(cx: &mut Cx, call: &Checked) -> Result<Expr, KernelError> {
    let axes = call.given(2)?;
    match axes.list() {
        Some(list) if list.len() > 1 && cx.on_cpu() && !call.is_in_file(2) => {
            list[0].int().ok_or_else(|| open(call.op(), "the axis"))
        }
        _ => bare(cx, call, 2, DFT::C1),
    }
}

/// Requires the size of a dimension that has a real part, or a real and an imaginary one.
fn parts(cx: &mut Cx, size: Expr, clause: &'static OpClause) -> Result<(), KernelError> {
    let (one, two) = (cx.eq(size, 1), cx.eq(size, 2));
    let fine = cx.any(&[one, two]);
    cx.require(fine, clause, |cx| format!("the last size is {}, not 1 or 2", cx.show(size)))
}

fn real_at_load(cx: &Cx, call: &Checked, last: usize) -> Result<(), KernelError> {
    let two = Expr::from(2);
    if !cx.on_cpu() || call.shape(0)?[last] != two {
        return Ok(());
    }
    call.refused_where(call.size_at_load(0, last), DFT::C6, || {
        "a one-sided transform is of real numbers".to_owned()
    })
}

clauses! { DFT {
    C1 "`axis` is within the rank of the input, and not the last one. The input has at least 2 dimensions."
    C2 "The last size of the input is 1 or 2."
    C3 "`dft_length` is a positive scalar."
    C4 "The input of a one-sided inverse has complex numbers: its last size is 2."
    C5 "For onnxruntime, the signal is not empty. Only an empty result without `dft_length` allows it."
    C6 "The input of a one-sided transform has real numbers, where the last size is known when the model \
        loads."
} }

/// The transform along an axis of a signal whose last dimension has 1 or 2 parts.
fn dft(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let rank = shape.len();
    call.check(rank >= 2, DFT::C1, || format!("a signal has at least 2 dimensions, not {rank}"))?;
    let axis = if call.since() < 20 {
        call.int("axis", 1)
    } else if call.has(2) {
        let axis = transformed(cx, call)?;
        cx.literal(axis, DFT::C1)?
    } else {
        -2
    };
    let at = call.axis(axis, rank, DFT::C1)?;
    call.check(at + 1 < rank, DFT::C1, || "the axis is that of real and imaginary parts".to_owned())?;
    parts(cx, shape[rank - 1], DFT::C2)?;
    let two = cx.eq(shape[rank - 1], 2);
    let length = shape[at];
    if call.has(1) {
        let rank = call.shape(1)?.len();
        policy::onnxruntime_checks(cx, rank <= 1, DFT::C3, || format!("the length is of rank {rank}"))?;
        let length = bare(cx, call, 1, DFT::C3)?;
        let positive = cx.ge(length, 1);
        cx.require(positive, DFT::C3, |cx| format!("the length is {}", cx.show(length)))?;
        let some = cx.ge(shape[at], 1);
        policy::onnxruntime(cx, some, DFT::C5, |_| "the signal is empty".to_owned())?;
        shape[at] = length;
    }
    let (onesided, inverse) = (call.int("onesided", 0) != 0, call.int("inverse", 0) != 0);
    let mut parts = cx.int(2);
    if onesided && inverse {
        cx.require(two, DFT::C4, |_| "a one-sided spectrum is of complex numbers".to_owned())?;
        parts = Expr::ONE;
        if !call.has(1) {
            let twice = cx.sub(shape[at], 1);
            shape[at] = cx.mul(twice, 2);
        }
    } else if onesided {
        let two = cx.int(2);
        real_at_load(cx, call, rank - 1)?;
        let half = cx.floor_div(shape[at], two);
        shape[at] = cx.add(half, 1);
    }
    shape[rank - 1] = parts;
    let some = cx.ge(length, 1);
    let empty: Vec<Expr> = shape.iter().map(|&size| cx.eq(size, 0)).collect();
    let fine = cx.any(&[&[some], empty.as_slice()].concat());
    policy::onnxruntime(cx, fine, DFT::C5, |_| "the signal is empty".to_owned())?;
    call.one(shape)
}

clauses! { STFT {
    C1 "The signal is `[batch, length]`, `[batch, length, 1]` or `[batch, length, 2]`."
    C2 "`frame_step` is a positive scalar."
    C3 "The window has 1 dimension, and the length of `frame_length` if both are given."
    C4 "The frame length is from 1 to the length of the signal."
} }

/// `[batch, frames, bins, 2]`.
fn stft(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check((2..=3).contains(&sizes.len()), STFT::C1, || {
        format!("a signal has 3 dimensions, not {}", sizes.len())
    })?;
    if let Some(&size) = sizes.get(2) {
        parts(cx, size, STFT::C1)?;
    }
    let step = scalar(cx, call, 1, STFT::C2)?;
    let positive = cx.ge(step, 1);
    cx.require(positive, STFT::C2, |cx| format!("the step is {}", cx.show(step)))?;
    let window = if call.has(2) { Some(call.shape(2)?.to_vec()) } else { None };
    // Where it is not inferred how many dimensions a window has, the inference of shapes finds a wrong number.
    let is_ranked = !call.has(2) || call.infers_rank(2)?;
    policy::onnxruntime_checks(cx, is_ranked, STFT::C3, || "the rank of the window is not known".to_owned())?;
    if let Some(window) = &window {
        call.check(window.len() == 1, STFT::C3, || {
            format!("a window has 1 dimension, not {}", window.len())
        })?;
    }
    let length = match (&window, call.has(3)) {
        (window, true) => {
            let length = bare(cx, call, 3, STFT::C3)?;
            if let Some(window) = window {
                cx.require_eq(window[0], length, STFT::C3, "the window and the frame length")?;
            }
            length
        }
        (Some(window), false) => window[0],
        (None, false) => return Err(open(call.op(), "neither a window nor a frame length is given: they")),
    };
    let (some, fits) = (cx.ge(length, 1), cx.le(length, sizes[1]));
    cx.require(some, STFT::C4, |_| "a frame is empty".to_owned())?;
    cx.require(fits, STFT::C4, |cx| format!("a frame of {} does not fit", cx.show(length)))?;
    let room = cx.sub(sizes[1], length);
    let steps = cx.floor_div(room, step);
    let frames = cx.add(steps, 1);
    let two = cx.int(2);
    let bins = if call.int("onesided", 1) != 0 {
        let half = cx.floor_div(length, two);
        cx.add(half, 1)
    } else {
        length
    };
    call.one(vec![sizes[0], frames, bins, two])
}
