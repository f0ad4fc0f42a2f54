//! Short-time Fourier transforms.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[stft::ALL, istft::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    stft => "aten.stft.default", "aten.stft.center";
    istft => "aten.istft.default";
};

/// The lengths of a transform: of the window's frame, between frames, of the window.
struct Lengths {
    fft: Expr,
    hop: Expr,
    window: Expr,
}

fn lengths(cx: &mut Cx, args: &Args, clause: &'static OpClause) -> Result<Lengths, KernelError> {
    let fft = args.int("n_fft")?;
    let hop = match args.opt_int("hop_length")? {
        Some(hop) => hop,
        None => cx.floor_div(fft, 4),
    };
    let window = args.opt_int("win_length")?.unwrap_or(fft);
    let conditions = [cx.gt(hop, 0), cx.gt(window, 0), cx.le(window, fft)];
    for condition in conditions {
        cx.require(condition, clause, |cx| {
            format!(
                "n_fft = {}, hop_length = {} and win_length = {} do not fit",
                cx.show(fft),
                cx.show(hop),
                cx.show(window)
            )
        })?;
    }
    if let Some(given) = args.opt_tensor("window")? {
        cx.check(given.rank() == 1, clause, |_| format!("the window has {} dimensions", given.rank()))?;
        cx.require_eq(given.size(0), window, clause, "the window is not of win_length")?;
    }
    Ok(Lengths { fft, hop, window })
}

/// The signal as a matrix, with `n_fft // 2` elements added at both sides.
fn centred(cx: &mut Cx, args: &Args, x: &Tensor, pad: Expr) -> Result<Tensor, KernelError> {
    let length = x.size(1);
    let mode = args.str("pad_mode")?;
    let enough = match mode {
        "constant" => None,
        "reflect" => Some(cx.lt(pad, length)),
        "circular" => Some(cx.le(pad, length)),
        "replicate" => Some(cx.gt(length, 0)),
        _ => return Err(KernelError::invalid(stft::C5, format!("there is no padding mode `{mode}`"))),
    };
    if let Some(enough) = enough {
        cx.require(enough, stft::C5, |cx| {
            format!("a signal of {} cannot be padded by {}", cx.show(length), cx.show(pad))
        })?;
    }
    let both = cx.mul(pad, 2);
    let sizes = [x.size(0), cx.add(length, both)];
    Ok(cx.contiguous(sizes.as_slice(), x.dtype, &x.device))
}

clauses! { stft {
    C1 "`self` has 1 or 2 dimensions and a floating point or complex dtype."
    C2 "`hop_length` is positive, and `win_length` is from 1 to `n_fft`."
    C3 "`window` has 1 dimension, of size `win_length`."
    C4 "`n_fft` is at most the length of the padded signal."
    C5 "`pad_mode` is known, and the signal is long enough for its padding."
    C6 "`onesided` is not set for a complex signal or window."
    C7 "`return_complex` is given, unless the signal or the window is complex."
} }

/// `stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False,
/// bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor`: of `[batch, len]` (or `[len]`)
/// the result is `[batch, n, 1 + (len - n_fft) // hop]`, where `n` is `n_fft // 2 + 1` for real signals and `n_fft` for
/// complex ones.
///
/// Centring pads as in [`centred`].
fn stft(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(matches!(x.rank(), 1 | 2), stft::C1, |_| {
        format!("a vector or matrix is expected, not {} dimensions", x.rank())
    })?;
    cx.check(x.dtype.is_float() || x.dtype.is_complex(), stft::C1, |_| {
        format!("a signal of {} is not floating point", x.dtype)
    })?;
    let window = args.opt_tensor("window")?;
    let complex = x.dtype.is_complex() || window.is_some_and(|w| w.dtype.is_complex());
    let return_complex = args.opt_flag("return_complex")?;
    cx.check(complex || return_complex.is_some(), stft::C7, |_| "return_complex is not given".into())?;
    let mut signal = (**x).clone();
    if x.rank() == 1 {
        let outer = cx.mul(x.size(0), x.strides[0]);
        signal.sizes.insert(0, Expr::ONE);
        signal.strides.insert(0, outer);
    }
    let lengths = lengths(cx, args, stft::C2)?;
    let centre = args.has("center") && args.flag("center")?;
    if centre {
        let pad = cx.floor_div(lengths.fft, 2);
        signal = centred(cx, args, &signal, pad)?;
    }
    if args.opt_flag("align_to_window")? == Some(true) {
        return Err(KernelError::Unsupported("frames aligned to their windows".into()));
    }
    let fits = cx.le(lengths.fft, signal.size(1));
    cx.require(fits, stft::C4, |cx| {
        format!("n_fft = {} exceeds the signal's {}", cx.show(lengths.fft), cx.show(signal.size(1)))
    })?;
    let room = cx.sub(signal.size(1), lengths.fft);
    let hops = cx.floor_div(room, lengths.hop);
    let sizes: Sizes = [signal.size(0), cx.add(hops, 1), lengths.fft].as_slice().into();
    let step = cx.mul(lengths.hop, signal.strides[1]);
    let strides: Sizes = [signal.strides[0], step, signal.strides[1]].as_slice().into();
    let mut frames = cx.strided(sizes, strides, signal.dtype, &signal.device);
    let padded = cx.lt(lengths.window, lengths.fft);
    if window.is_some() || cx.layout_choice(padded) {
        let row = cx.contiguous([lengths.fft].as_slice(), window.map_or(x.dtype, |w| w.dtype), &x.device);
        frames = cx.combined(&[&frames, &row], stft::C3)?;
    }
    let onesided = args.opt_flag("onesided")?.unwrap_or(!frames.dtype.is_complex());
    let mut result = if frames.dtype.is_complex() {
        cx.check(!onesided, stft::C6, |_| "of complex operands the result is not one-sided".into())?;
        cx.fft_c2c(&frames, &[2], stft::C1)?
    } else {
        cx.fft_r2c(&frames, &[2], onesided, stft::C1)?
    };
    result.sizes.swap(1, 2);
    result.strides.swap(1, 2);
    if x.rank() == 1 {
        result.sizes.remove(0);
        result.strides.remove(0);
    }
    one(if return_complex.unwrap_or(complex) { result } else { as_real(cx, result) })
}

/// A complex tensor as a view of its parts: a last dimension of size 2.
fn as_real(cx: &mut Cx, mut x: Tensor) -> Tensor {
    for stride in &mut x.strides {
        *stride = cx.mul(*stride, 2);
    }
    x.offset = cx.mul(x.offset, 2);
    let two = cx.int(2);
    x.sizes.push(two);
    x.strides.push(Expr::ONE);
    x.dtype = crate::promote::to_real(x.dtype);
    x
}

clauses! { istft {
    C1 "`self` is complex, has 2 or 3 dimensions, and is not empty."
    C2 "`hop_length` is positive and at most `win_length`, which is from 1 to `n_fft`. `window` has 1 \
        dimension, of size `win_length`."
    C4 "The size of `self` at -2 is `n_fft // 2 + 1` if `onesided`, else `n_fft`. The length is not \
        negative."
    C5 "`onesided` is not set for a complex result. `window` is not complex for a real one."
} }

/// `istft(Tensor self, int n_fft, …, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool
/// return_complex=False) -> Tensor`: of `[batch, n, frames]` (or without batch) the result is `[batch, length]`, by
/// default what `n_fft + hop * (frames - 1)` leaves when `n_fft // 2` is cut off both ends where frames are centred.
fn istft(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(matches!(x.rank(), 2 | 3) && x.dtype.is_complex(), istft::C1, |_| {
        format!("a complex spectrum of 2 or 3 dimensions is expected, not {} of {}", x.rank(), x.dtype)
    })?;
    let numel = cx.numel(x);
    let filled = cx.ne(numel, 0);
    cx.require(filled, istft::C1, |_| "the spectrum is empty".into())?;
    let lengths = lengths(cx, args, istft::C2)?;
    let overlaps = cx.le(lengths.hop, lengths.window);
    cx.require(overlaps, istft::C2, |cx| {
        format!("hop_length = {} exceeds win_length = {}", cx.show(lengths.hop), cx.show(lengths.window))
    })?;
    let (values, frames) = (x.size(-2), x.size(-1));
    let onesided = match args.opt_flag("onesided")? {
        Some(onesided) => onesided,
        None => {
            let differs = cx.ne(values, lengths.fft);
            cx.branch(differs, istft::C4)?
        }
    };
    let half = cx.floor_div(lengths.fft, 2);
    let expected = if onesided { cx.add(half, 1) } else { lengths.fft };
    cx.require_eq(values, expected, istft::C4, "the spectrum does not go with n_fft")?;
    let window = args.opt_tensor("window")?;
    let complex = args.flag("return_complex")?;
    let fits = if complex { !onesided } else { window.is_none_or(|w| !w.dtype.is_complex()) };
    cx.check(fits, istft::C5, |_| "onesided, return_complex and the window do not go together".into())?;
    let last = cx.sub(frames, 1);
    let hops = cx.mul(lengths.hop, last);
    let whole = cx.add(lengths.fft, hops);
    let cut = if args.flag("center")? { cx.mul(half, 2) } else { Expr::ZERO };
    let length = match args.opt_int("length")? {
        Some(length) => length,
        None => cx.sub(whole, cut),
    };
    let positive = cx.ge(length, 0);
    cx.require(positive, istft::C4, |cx| format!("the length {} is negative", cx.show(length)))?;
    let dtype: Dtype = if complex { x.dtype } else { crate::promote::to_real(x.dtype) };
    let mut sizes = Sizes::new();
    if x.rank() == 3 {
        sizes.push(x.size(0));
    }
    sizes.push(length);
    one(cx.contiguous(sizes, dtype, &x.device))
}
