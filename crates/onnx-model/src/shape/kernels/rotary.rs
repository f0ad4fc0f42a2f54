//! The rotation of positions.
use super::attention::heads;
use super::meeting::exactly;
use super::{Family, gather, policy};
use crate::shape::at_load;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{Reads, free, op};
use crate::shape::run_time::{About, within};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[RotaryEmbedding::ALL, MRotaryEmbedding::ALL];

pub(super) const KERNELS: Family = &free([op("RotaryEmbedding", rotary)
    .reads(Reads::Behind(3))
    .infers(at_load::rank)
    .at_run(&[within(3, RotaryEmbedding::C2, About::Dimension(1, 0))])]);

pub(super) const CONTRIB: Family = &free([
    op("MRotaryEmbedding", multi_rotary),
    op("RotaryEmbedding", contrib_rotary).at_run(&[within(1, RotaryEmbedding::C2, About::Dimension(2, 0))]),
]);

clauses! { RotaryEmbedding {
    C1 "The input is `[batch, heads, length, head size]` or `[batch, length, hidden]`. Heads divide the \
        hidden size."
    C2 "`cos_cache` and `sin_cache` fit half of a head and the positions. They are `[positions, head size \
        / 2]` with position ids `[batch, length]`, which are rows, or `[batch, length, head size / 2]` \
        without."
    C3 "The rotated part of a head is even, and not larger than the head."
} }

/// The input is `[batch, heads, length, size]` or `[batch, length, hidden]` with heads given.
fn rotary(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let x = heads(cx, call, 0, "num_heads")?;
    let part = call.int("rotary_embedding_dim", 0);
    let half = if part > 0 {
        let part_size = cx.int(part);
        let fits = cx.le(part_size, x.size);
        call.check(part % 2 == 0, RotaryEmbedding::C3, || format!("a part of {part} is not even"))?;
        cx.require(fits, RotaryEmbedding::C3, |cx| {
            format!("a part of {part} of a head of {}", cx.show(x.size))
        })?;
        cx.int(part / 2)
    } else {
        let two = cx.int(2);
        if !cx.on_cpu() {
            exactly(cx, x.size, two, RotaryEmbedding::C3)?;
        }
        cx.floor_div(x.size, two)
    };
    let (cosines, sines) = (call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    cx.require_same_shape(&cosines, &sines, RotaryEmbedding::C2)?;
    if call.has(3) {
        call.check(cosines.len() == 2, RotaryEmbedding::C2, || {
            format!("caches have 2 dimensions, not {}", cosines.len())
        })?;
        cx.require_eq(cosines[1], half, RotaryEmbedding::C2, "the caches and half of a head")?;
        cx.require_same_shape(call.shape(3)?, &[x.batch, x.length], RotaryEmbedding::C2)?;
        gather::inside(cx, call.given(3)?, cosines[0], RotaryEmbedding::C2)?;
        gather::not_negative(call, 3, RotaryEmbedding::C2)?;
        let room = cx.le(x.length, cosines[0]);
        policy::onnxruntime(cx, room, RotaryEmbedding::C2, |cx| {
            format!("a length of {} for {} positions", cx.show(x.length), cx.show(cosines[0]))
        })?;
    } else {
        cx.require_same_shape(&cosines, &[x.batch, x.length, half], RotaryEmbedding::C2)?;
    }
    call.one(sizes)
}

/// onnxruntime's own form: `input, position_ids, cos_cache, sin_cache`.
fn contrib_rotary(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let cosines = call.shape(2)?.to_vec();
    call.check(matches!(sizes.len(), 3 | 4), RotaryEmbedding::C1, || {
        format!("the input has rank {}", sizes.len())
    })?;
    call.check(cosines.len() == 2, RotaryEmbedding::C2, || {
        format!("caches have 2 dimensions, not {}", cosines.len())
    })?;
    cx.require_same_shape(&cosines, call.shape(3)?, RotaryEmbedding::C2)?;
    let (batch, length) = (sizes[0], sizes[sizes.len() - 2]);
    let positions = call.shape(1)?.to_vec();
    match positions.len() {
        0 => {}
        1 => cx.require_eq(positions[0], Expr::ONE, RotaryEmbedding::C2, "the number of offsets")?,
        2 => {
            cx.require_same_shape(&positions, &[batch, length], RotaryEmbedding::C2)?;
            gather::inside(cx, call.given(1)?, cosines[0], RotaryEmbedding::C2)?;
        }
        rank => call.check(false, RotaryEmbedding::C2, || format!("position ids are of rank {rank}"))?,
    }
    let (part, count) = (call.int("rotary_embedding_dim", 0), call.int("num_heads", 0));
    call.check(part == 0 || count > 0, RotaryEmbedding::C1, || "num_heads is needed for a part".to_owned())?;
    let size = match (sizes.len(), count) {
        (4, _) => sizes[3],
        (_, 0) => cx.mul(cosines[1], 2),
        (_, count) => {
            let count = cx.int(count);
            exactly(cx, sizes[2], count, RotaryEmbedding::C1)?
        }
    };
    gather::not_negative(call, 1, RotaryEmbedding::C2)?;
    let two = cx.int(2);
    let half = cx.floor_div(size, two);
    let mut halves = vec![cx.eq(cosines[1], half)];
    if part > 0 {
        let part = cx.int(part / 2);
        halves.push(cx.eq(cosines[1], part));
    }
    let fine = cx.any(&halves);
    cx.require(fine, RotaryEmbedding::C2, |cx| {
        format!("caches of {} for a head of {}", cx.show(cosines[1]), cx.show(size))
    })?;
    if sizes.len() == 3 {
        let remainder = cx.modulo(sizes[2], size);
        cx.require_eq(remainder, Expr::ZERO, RotaryEmbedding::C1, "what heads leave over")?;
    }
    // One position is that of the first token.
    let first =
        if positions.len() < 2 { call.given(1)?.single().and_then(|first| first.int()) } else { None };
    let end = cx.add(length, first.unwrap_or(Expr::ZERO));
    let room = cx.le(end, cosines[0]);
    cx.require(room, RotaryEmbedding::C2, |cx| {
        format!("positions up to {} in a table of {}", cx.show(end), cx.show(cosines[0]))
    })?;
    call.one(sizes)
}

clauses! { MRotaryEmbedding {
    C1 "The input has 3 or 4 dimensions."
    C2 "Position ids are `[3, batch, length]`, and both caches have the same shape of rank 2. For \
        onnxruntime, they have a row for each position."
    C3 "`mrope_section` has 3 entries, none of them negative, whose sum is the number of columns of the \
        caches."
    C4 "The rotated part of a head is even, and the caches have half as many columns. The hidden size is \
        divisible by `num_heads`."
} }

/// Positions in three parts.
fn multi_rotary(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    call.check(matches!(sizes.len(), 3 | 4), MRotaryEmbedding::C1, || {
        format!("the input has rank {}", sizes.len())
    })?;
    let (batch, length) = (sizes[0], sizes[sizes.len() - 2]);
    let three = cx.int(3);
    cx.require_same_shape(call.shape(1)?, &[three, batch, length], MRotaryEmbedding::C2)?;
    let cosines = call.shape(2)?.to_vec();
    call.check(cosines.len() == 2, MRotaryEmbedding::C2, || format!("caches have rank {}", cosines.len()))?;
    cx.require_same_shape(&cosines, call.shape(3)?, MRotaryEmbedding::C2)?;
    multi_heads(cx, call, &sizes, cosines[1])?;
    let room = cx.le(length, cosines[0]);
    policy::onnxruntime(cx, room, MRotaryEmbedding::C2, |cx| {
        format!("a length of {} for {} positions", cx.show(length), cx.show(cosines[0]))
    })?;
    let sections = call.ints("mrope_section").unwrap_or_default();
    call.check(sections.len() == 3 && sections.iter().all(|&n| n >= 0), MRotaryEmbedding::C3, || {
        format!("sections are {sections:?}")
    })?;
    let sum = cx.int(sections.iter().sum());
    cx.require_eq(cosines[1], sum, MRotaryEmbedding::C3, "the caches and the sections")?;
    call.one(sizes)
}

fn multi_heads(cx: &mut Cx, call: &Checked, sizes: &[Expr], cache: Expr) -> Result<(), KernelError> {
    let (count, part) = (call.int("num_heads", 0), call.int("rotary_embedding_dim", 0));
    call.check(count >= 0 && part >= 0, MRotaryEmbedding::C4, || format!("{count} heads, a part of {part}"))?;
    let size = if sizes.len() == 4 {
        sizes[3]
    } else {
        call.check(count > 0, MRotaryEmbedding::C4, || "num_heads is not given".to_owned())?;
        let count = cx.int(count);
        exactly(cx, sizes[2], count, MRotaryEmbedding::C4)?
    };
    let rotated = if part > 0 { cx.int(part) } else { size };
    let (two, twice) = (cx.int(2), cx.mul(cache, 2));
    let half = cx.floor_div(rotated, two);
    cx.require_eq(cache, half, MRotaryEmbedding::C4, "the caches and half of a head")?;
    let positive = cx.ge(rotated, 1);
    let even = cx.eq(rotated, twice);
    let count = cx.product(sizes.to_vec());
    let none = cx.eq(count, 0);
    let rotates = cx.all(&[positive, even]);
    let fine = cx.any(&[none, rotates]);
    cx.require(fine, MRotaryEmbedding::C4, |cx| format!("{} is not even", cx.show(rotated)))
}
