//! Casts.
use super::elementwise::{mapped, named};
use super::{Family, numbers};
use crate::shape::at_load::{self};
use crate::shape::call::{Checked, Outcome};
use crate::shape::dtype::Dtype;
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::{About, Rule, rule};
use crate::shape::spans;
use crate::shape::value::{Element, Elements, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_kernels::Cx;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Cast::ALL, BitCast::ALL];

pub(super) const KERNELS: Family = &free([
    op("Cast", cast).reads(Reads::Texts).infers(at_load::all).span(spans::same).at_run(TEXTS),
    op("CastLike", cast_like).reads(Reads::Texts).infers(at_load::rank).at_run(TEXTS),
    op("BitCast", bit_cast).infers(at_load::rank),
]);

const TEXTS: &[Rule] = &[rule(0, Cast::C3, About::Texts, "every text in {} is a number")];

clauses! { Cast {
    C2 "`saturate` is 0 only in casts to 8-bit floats."
    C3 "Strings that are cast to numbers begin with a number."
    C4 "`round_mode` is known, and onnxruntime has a kernel for the cast. onnxruntime rounds down or to \
        nearest only in casts to `f8e8m0`."
} }

fn cast_to(cx: &mut Cx, call: &Checked, to: Dtype) -> Outcome {
    let x = call.given(0)?;
    call.check(call.int("saturate", 1) != 0 || to.name().starts_with("f8"), Cast::C2, || {
        format!("saturate does not go with {}", to.name())
    })?;
    if to != Dtype::Str && x.count() != Some(0) {
        let read =
            |element: &Element| !matches!(element, Element::Text(text) if !numbers::begins_number(text));
        let fine = match &x.elements {
            Some(Elements::Fill(element)) => x.count().is_none() || read(element),
            Some(Elements::List(list)) => list.iter().all(read),
            None => true,
        };
        call.check(fine, Cast::C3, || "a text is no number".to_owned())?;
    }
    let result = Tensor::new(to, call.shape(0)?.to_vec());
    Ok(vec![mapped(x, result, |element| numbers::cast(cx, element, x.dtype, to)).into()])
}

/// `to` is a type that the output may have.
fn cast(cx: &mut Cx, call: &Checked) -> Outcome {
    let to = named(call, call.int("to", 0))?;
    let rounding = call.text("round_mode", "up");
    let is_known = match rounding {
        "up" => true,
        "down" | "nearest" => to == Dtype::F8E8M0 || !cx.on_cpu(),
        _ => false,
    };
    call.check(is_known, Cast::C4, || format!("no cast to {} rounds {rounding}", to.name()))?;
    cast_to(cx, call, to)
}

fn cast_like(cx: &mut Cx, call: &Checked) -> Outcome {
    let to = call.given(1)?.dtype;
    // onnxruntime runs the body, which is a cast.
    let runs = call.runs_as("Cast", &[call.given(0)?.dtype, to]);
    super::policy::onnxruntime_checks(cx, runs, Cast::C4, || {
        format!("onnxruntime has no cast to {}", to.name())
    })?;
    cast_to(cx, call, to)
}

clauses! { BitCast {
    C1 "Both types have elements of the same number of bits."
} }

/// The same bits as another type.
fn bit_cast(_: &mut Cx, call: &Checked) -> Outcome {
    let to = named(call, call.int("to", 0))?;
    let bits = |dtype: Dtype| match dtype {
        Dtype::F64 | Dtype::C64 => 64,
        Dtype::F32 => 32,
        Dtype::F16 | Dtype::BF16 => 16,
        Dtype::C128 => 128,
        _ => dtype.integer_range().map_or(8, |(least, most)| 128 - (most - least).leading_zeros()),
    };
    let from = call.given(0)?.dtype;
    call.check(bits(from) == bits(to), BitCast::C1, || {
        format!("{} and {} differ in size", from.name(), to.name())
    })?;
    Ok(vec![Tensor::new(to, call.shape(0)?.to_vec()).into()])
}
