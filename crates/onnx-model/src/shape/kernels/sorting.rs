//! The greatest elements, and distinct ones.
use super::Family;
use crate::shape::Dtype;
use crate::shape::at_load::{self, AtLoad};
use crate::shape::call::{Call, Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::run_time::values;
use crate::shape::value::{Element, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, Reach, Span};

/// What is known of [`top_k`] when the model loads: the rank, and sizes where the file has their number.
fn top_k_at_load(call: &Call, rank: usize) -> AtLoad {
    if at_load::are_in_file(call, 1) { at_load::read(call, rank) } else { at_load::rank(call, rank) }
}

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[TopK::ALL, Unique::ALL];

pub(super) const KERNELS: Family = &free([
    op("TopK", top_k).infers(top_k_at_load).at_run(&[values(
        1,
        TopK::C3,
        "{} is not negative and does not exceed the size of its dimension",
    )]),
    op("Unique", unique).infers(at_load::rank),
]);

clauses! { TopK {
    C1 "`axis` is within the rank of the input."
    C2 "The number `K` is a single one, and not negative."
    C3 "The number `K` does not exceed the size of the dimension `axis`."
} }

/// The k greatest along an axis, and their indices.
fn top_k(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let at = call.axis(call.int("axis", -1), shape.len(), TopK::C1)?;
    let k = if call.since() < 10 {
        let k = call.int("k", 0);
        call.check(k > 0, TopK::C2, || format!("k is {k}"))?;
        cx.int(k)
    } else {
        let count = call.shape(1)?.to_vec();
        call.check(count.len() == 1, TopK::C2, || format!("k has 1 dimension, not {}", count.len()))?;
        cx.require_eq(count[0], Expr::ONE, TopK::C2, "the number of k")?;
        match call.given(1)?.single() {
            Some(Element::Int(k)) => k,
            _ => cx.unbacked_size(0, Some(shape[at])),
        }
    };
    let (natural, enough) = (cx.ge(k, 0), cx.le(k, shape[at]));
    cx.require(natural, TopK::C2, |cx| format!("k is {}", cx.show(k)))?;
    cx.require(enough, TopK::C3, |cx| format!("k is {}", cx.show(k)))?;
    let most = cx.sub(shape[at], 1);
    let span = Span { least: Expr::ZERO, most, reach: Reach::Distinct(k) };
    shape[at] = k;
    let indices = Tensor { spans: Some([Some(span)].into()), ..Tensor::new(Dtype::I64, shape.clone()) };
    Ok(vec![call.output(0, shape)?.into(), indices.into()])
}

clauses! { Unique {
    C1 "`axis` is within the rank of the input."
} }

/// The distinct elements, or slices along an axis, with first indices, inverse indices and counts.
fn unique(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let at = match call.attribute("axis") {
        Some(_) => Some(call.axis(call.int("axis", 0), sizes.len(), Unique::C1)?),
        None => None,
    };
    let along = at.map_or_else(|| cx.product(sizes.clone()), |at| sizes[at]);
    let x = call.given(0)?;
    let count = match (at, x.list(), &x.elements) {
        (None, _, Some(crate::shape::Elements::Fill(element))) if *element != Element::Open => {
            cx.min(along, 1)
        }
        (None, Some(list), _) if list.iter().all(|element| element.number().is_some()) => {
            let mut seen: Vec<f64> = Vec::new();
            for number in list.iter().filter_map(Element::number) {
                if !seen.contains(&number) {
                    seen.push(number);
                }
            }
            cx.int(seen.len() as i64)
        }
        _ => {
            let least = cx.min(along, 1).as_inline().unwrap_or(0);
            cx.unbacked_size(least, Some(along))
        }
    };
    let distinct = match at {
        Some(at) => {
            let mut shape = sizes;
            shape[at] = count;
            shape
        }
        None => vec![count],
    };
    let indices = |size: Expr| Tensor::new(Dtype::I64, vec![size]).into();
    Ok(vec![call.output(0, distinct)?.into(), indices(count), indices(along), indices(count)])
}
