//! Laws of the sizes of values: bounds, plans, what fits and buckets, beside enumeration over small boxes.
use crate::campaign;

use campaign::hold;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use sizewise::ShapeEnv;
use sizewise::cost::Branches;
use sizewise::env::SymbolInfo;
use sizewise::expr::{Expr, Int, Symbol, Value, read};
use sizewise::range::ValueRange;
use sizewise::sizing::{
    At, Block, Buffer, Fit, Memory, Parts, Serving, Sized, Sizing, SizingError, arena, greedy, lower_bound,
    overlaps,
};
use sizewise::spec::{InputSizes, Shape};

type Law = Result<(), TestCaseError>;

/// One input of sizes `s0` and `s1` in ranges, on which conditions hold.
#[derive(Clone, Debug)]
struct Box2 {
    ranges: [(i64, i64); 2],
    conditions: Vec<&'static str>,
}

const CONDITIONS: &[&str] = &[
    "Eq(Mod(s0, 4), 0)",
    "Eq(Mod(s1, 3), 1)",
    "s0 <= s1",
    "s0 + s1 <= 30",
    "s0*s1 <= 100",
    "Ne(s0, s1)",
    "s1 < 2*s0",
    "s0 + 3 >= s1",
    "Eq(Mod(s0 + s1, 2), 0)",
    "s0 >= 5",
];

const EXPRESSIONS: &[&str] = &[
    "s0",
    "s0*s1",
    "4*s0*s1 + 12*s0",
    "s0*(40 - s0)",
    "s0*s1 - s0 - s1 + 60",
    "(s0 + 3)//2",
    "s0*(s1//4)",
    "Max(s0, s1)*5",
    "Mod(s0, 7) + s1",
    "s0**2 + s1",
    "((s0 - 1)//2 + 1)*s1",
    "30 - s0 + 2*s1",
    "Max(0, s0 - s1)",
];

fn boxes() -> impl Strategy<Value = Box2> {
    let range = || (0..6i64, 0..26i64).prop_map(|(low, more)| (low, low + more));
    let conditions = prop::collection::vec(prop::sample::select(CONDITIONS), 0..3);
    ([range(), range()], conditions).prop_map(|(ranges, conditions)| Box2 { ranges, conditions })
}

/// The sizing of a value of one size and of buffers, with these texts.
fn sizing(of: &Box2, value: &str, peak: &[&str]) -> Result<Sizing<'static>, SizingError> {
    let mut env = ShapeEnv::new();
    let symbols = [0, 1].map(|at| {
        let (low, high) = of.ranges[at];
        let range = ValueRange::between(low.into(), high.into());
        env.declare(&format!("s{at}"), range, SymbolInfo::default())
    });
    let mut parsed = |text: &str| read::closed(&mut env.pool, text).expect("an expression").expr;
    let value = parsed(value);
    let buffers: Vec<Buffer> = peak
        .iter()
        .enumerate()
        .map(|(at, text)| Buffer {
            value: format!("b{at}").into(),
            bytes: parsed(text),
            from: at,
            to: at + 1,
            branches: Branches::default(),
        })
        .collect();
    let conditions: Vec<Expr> = of.conditions.iter().map(|text| parsed(text)).collect();
    conditions.into_iter().for_each(|condition| env.assume(condition));
    let memory = Memory {
        peak: buffers.iter().map(|buffer| buffer.bytes).collect(),
        buffers,
        inputs: Some(Expr::ZERO),
        state: Some(Expr::ONE),
        ..Memory::default()
    };
    let input = InputSizes {
        placeholder: "x".into(),
        index: 0,
        path: "x".to_owned(),
        allowed: Some(symbols.to_vec()),
        scalar: None,
        contiguous: true,
    };
    Sizing::new(Parts {
        env,
        open: None,
        inputs: vec![input],
        dims: Default::default(),
        values: vec![Sized::new("v", "float32", 4, &[value])],
        memory,
        reasons: Vec::new(),
        replay: Box::new(|_| true),
    })
}

/// The value of a text at sizes.
fn at(text: &str, s0: i64, s1: i64) -> i64 {
    let mut pool = sizewise::expr::Pool::new();
    let e = read::closed(&mut pool, text).expect("an expression").expr;
    let value = |symbol: Symbol| {
        let value = if pool.symbol_name(symbol) == "s0" { s0 } else { s1 };
        Some(Value::Int(value.into()))
    };
    match pool.eval(e, value).expect("a value") {
        Value::Bool(value) => i64::from(value),
        other => other.as_int().and_then(|value| value.to_i64()).expect("an integer"),
    }
}

/// The sizes that are allowed.
fn allowed(of: &Box2) -> Vec<(i64, i64)> {
    let [(low0, high0), (low1, high1)] = of.ranges;
    let all = (low0..=high0).flat_map(|s0| (low1..=high1).map(move |s1| (s0, s1)));
    all.filter(|&(s0, s1)| of.conditions.iter().all(|text| at(text, s0, s1) != 0)).collect()
}

/// The sizes of the input.
fn sizes(at: &At) -> (i64, i64) {
    match &at[0].1 {
        Shape::Tensor(sizes) => (sizes[0].to_i64().expect("small"), sizes[1].to_i64().expect("small")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bounds_are_what_enumeration_finds() {
    let cases = (boxes(), prop::sample::select(EXPRESSIONS));
    hold(400, &cases, |(of, text)| -> Law {
        let inputs = allowed(&of);
        let mut sizing = match sizing(&of, text, &[]) {
            Ok(sizing) => sizing,
            Err(error) => {
                prop_assert!(inputs.is_empty() && matches!(error, SizingError::Nothing), "{error}");
                return Ok(());
            }
        };
        let values: Vec<i64> = inputs.iter().map(|&(s0, s1)| at(text, s0, s1)).collect();
        let (least, most) = (*values.iter().min().expect("inputs"), *values.iter().max().expect("inputs"));
        let bounds = sizing.values().remove(0);
        prop_assert!(bounds.is_exact(), "{:?}", bounds.reasons);
        let json = sizing.value_json(&bounds);
        for (name, expected) in [("min", least), ("max", most)] {
            prop_assert_eq!(json["dims"][0][name].as_i64(), Some(expected));
            prop_assert_eq!(json["bytes"][name].as_i64(), Some(4 * expected));
            let shown = &json["dims"][0][format!("{name}_at")]["x"];
            if let Some(shown) = shown.as_array() {
                let there = (shown[0].as_i64().expect("a size"), shown[1].as_i64().expect("a size"));
                prop_assert!(inputs.contains(&there), "{there:?}");
                prop_assert_eq!(at(text, there.0, there.1), expected);
            }
        }
        Ok(())
    });
}

#[test]
fn arenas_keep_apart_what_is_in_use_together() {
    // Half of the blocks are in one of two graphs of a `cond`.
    let block = (0..200u64, 0..30usize, 0..12usize, 0..4usize).prop_map(|(bytes, from, more, graph)| {
        let none = Branches::default();
        let branches = if graph < 2 { none.within(0, graph) } else { none };
        Block { bytes, from, to: from + more, branches }
    });
    hold(200, &prop::collection::vec(block, 0..40), |blocks| -> Law {
        let (found, simple) = (arena(&blocks), greedy(&blocks));
        for arena in [&found, &simple] {
            prop_assert_eq!(overlaps(&blocks, &arena.offsets), None);
            for (a, b) in (0..blocks.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let (x, y) = (&blocks[a], &blocks[b]);
                let together = x.from <= y.to && y.from <= x.to && x.bytes > 0 && y.bytes > 0;
                let together = together && !x.branches.exclude(&y.branches);
                let apart = arena.offsets[a] >= arena.offsets[b] + y.bytes
                    || arena.offsets[b] >= arena.offsets[a] + x.bytes;
                prop_assert!(!together || apart, "{x:?} {y:?}");
            }
            let end = blocks
                .iter()
                .zip(&arena.offsets)
                .map(|(block, at)| if block.bytes > 0 { at + block.bytes } else { 0 })
                .max();
            prop_assert_eq!(end.unwrap_or(0), arena.bytes);
        }
        let load = |step: usize| {
            let live = || blocks.iter().filter(|b| b.from <= step && step <= b.to);
            let of_run = |graph: usize| {
                let run = Branches::default().within(0, graph);
                live().filter(|b| !b.branches.exclude(&run)).map(|b| b.bytes).sum::<u64>()
            };
            of_run(0).max(of_run(1))
        };
        prop_assert_eq!(lower_bound(&blocks), (0..45).map(load).max().unwrap_or(0));
        prop_assert!(found.bytes <= simple.bytes && found.bytes >= lower_bound(&blocks));
        Ok(())
    });
}

#[test]
fn plans_hold_at_all_sizes() {
    let cases = (boxes(), prop::collection::vec(prop::sample::select(EXPRESSIONS), 1..6));
    hold(100, &cases, |(of, buffers)| -> Law {
        let inputs = allowed(&of);
        let Ok(mut sizing) = sizing(&of, "s0", &buffers) else { return Ok(()) };
        let plan = sizing.plan(8).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for &(s0, s1) in &inputs {
            let places: Vec<(u64, u64)> = buffers
                .iter()
                .zip(&plan.buffers)
                .map(|(text, planned)| (planned.offset, at(text, s0, s1).max(0).unsigned_abs()))
                .collect();
            for (at, (planned, &(offset, bytes))) in plan.buffers.iter().zip(&places).enumerate() {
                prop_assert!(bytes <= planned.bytes && offset + bytes <= plan.arena_bytes && offset % 8 == 0);
                if let Some(&(before, size)) = at.checked_sub(1).and_then(|before| places.get(before)) {
                    prop_assert!(
                        bytes == 0 || size == 0 || before >= offset + bytes || offset >= before + size
                    );
                }
            }
        }
        Ok(())
    });
}

#[test]
fn what_fits_is_the_largest_that_does() {
    let cases = (
        boxes(),
        prop::collection::vec(prop::sample::select(EXPRESSIONS), 1..4),
        0..3_000i64,
        any::<prop::sample::Index>(),
    );
    hold(200, &cases, |(of, peak, memory, pick)| -> Law {
        let inputs = allowed(&of);
        let Ok(mut sizing) = sizing(&of, "s0", &peak) else { return Ok(()) };
        let given = inputs[pick.index(inputs.len())].1;
        let bytes = |&(s0, s1): &(i64, i64)| 1 + peak.iter().map(|text| at(text, s0, s1)).max().unwrap_or(0);
        let row: Vec<(i64, i64)> = inputs.iter().copied().filter(|(_, s1)| *s1 == given).collect();
        let most = row.iter().filter(|input| bytes(input) <= memory).map(|(s0, _)| *s0).max();
        let next = row.iter().map(|(s0, _)| *s0).filter(|s0| most.is_none_or(|most| *s0 > most)).min();
        let fit = Fit {
            memory: memory.into(),
            maximize: Some("x.0".to_owned()),
            given: vec![("x.1".to_owned(), given.into())],
        };
        match sizing.fit(&fit) {
            Ok(found) => {
                let size = |step: &Option<sizewise::sizing::SizeStep>| {
                    step.as_ref().and_then(|step| step.size.to_i64())
                };
                prop_assert_eq!((size(&found.fits), size(&found.breaks)), (most, next));
                for step in found.fits.iter().chain(&found.breaks) {
                    prop_assert!(row.contains(&sizes(&step.at)));
                    prop_assert_eq!(step.bytes.clone(), Int::from(bytes(&sizes(&step.at))));
                }
            }
            // Where the other size leaves one only.
            Err(error) => prop_assert!(
                matches!(error, SizingError::Question(_)) && of.ranges[0].0 == of.ranges[0].1,
                "{error}"
            ),
        }
        Ok(())
    });
}

#[test]
fn every_allowed_size_has_a_bucket() {
    hold(60, &(boxes(), 0..150u32), |(of, percent)| -> Law {
        let inputs = allowed(&of);
        let Ok(mut sizing) = sizing(&of, "s0", &[]) else { return Ok(()) };
        let padding = f64::from(percent) / 100.0;
        let found = match sizing.buckets(Serving::Padding(padding)) {
            Ok(found) => found,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let shapes: Vec<(i64, i64)> = found.buckets.iter().map(|bucket| sizes(&bucket.at)).collect();
        prop_assert!(shapes.iter().all(|shape| inputs.contains(shape)), "{shapes:?}");
        for &(s0, s1) in &inputs {
            let grown = |&(b0, b1): &(i64, i64)| {
                b0.max(1) as f64 / s0.max(1) as f64 * (b1.max(1) as f64 / s1.max(1) as f64)
            };
            let fits = |&(b0, b1): &(i64, i64)| b0 >= s0 && b1 >= s1;
            let best = shapes.iter().filter(|shape| fits(shape)).map(grown).fold(f64::MAX, f64::min);
            prop_assert!(best <= 1.0 + padding + 1e-6, "{s0} {s1}: {best}");
        }
        let same = sizing
            .buckets(Serving::Count(found.buckets.len()))
            .map_err(|error| TestCaseError::fail(error.to_string()));
        if of.conditions.is_empty() {
            prop_assert!(same?.padding <= found.padding + 1e-6);
        }
        Ok(())
    });
}
