//! Laws of what reports say of single inputs: that a fix loses none that works, and why an input is refused.
use super::{allowed, budget, on_each, placeholders, random_spec, shapes, shown, size_at};
use proptest::prelude::*;
use serde_json::Value as Json;
use sizewise::check::Shapes;
use sizewise::expr::{Int, Pool, Value, read};
use sizewise::report::{Fix, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};

/// The most symbols without a dimension of their own for which values are sought.
const MAX_SOUGHT: usize = 2;
/// The greatest size for which they are.
const MAX_SIZE: i64 = 128;

/// The sizes of shapes beside what a report says of them.
fn pairs<'r>(report: &'r Report, names: &[String], shapes: &Shapes) -> Option<Vec<(&'r Json, i64)>> {
    let mut pairs = Vec::new();
    for (input, name) in report.inputs.iter().zip(names) {
        let Shape::Tensor(given) = shapes.get(name.as_str())? else { return None };
        let sizes = input.shape.as_ref()?;
        for (size, given) in sizes.iter().zip(given) {
            pairs.push((size, given.to_i64()?));
        }
    }
    Some(pairs)
}

/// Whether the spec of a report allows shapes; none if that is not found out.
fn fits(report: &Report, names: &[String], shapes: &Shapes) -> Option<bool> {
    let pairs = pairs(report, names, shapes)?;
    let mut known: Vec<(String, i64)> = Vec::new();
    let mut sought: Vec<Vec<&String>> = Vec::new();
    for (name, symbol) in &report.symbols {
        let own: Vec<&String> = std::iter::once(name).chain(&symbol.dim).chain(&symbol.source).collect();
        let found = pairs.iter().find(|(size, _)| own.iter().any(|name| size.as_str() == Some(name)));
        match found {
            Some((_, value)) => known.extend(own.into_iter().map(|name| (name.clone(), *value))),
            None => sought.push(own),
        }
    }
    if sought.len() > MAX_SOUGHT || pairs.iter().any(|(_, size)| *size > MAX_SIZE) {
        return None;
    }
    let is_within = |values: &[(String, i64)]| {
        report.symbols.iter().all(|(name, symbol)| {
            let bound = |bound: &Option<Json>| bound.as_ref().and_then(Json::as_i64);
            let value = values.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value);
            bound(&symbol.min).is_none_or(|min| min <= value)
                && bound(&symbol.max).is_none_or(|max| value <= max)
        })
    };
    let is_met = |values: &[(String, i64)]| {
        is_within(values)
            && pairs.iter().all(|(size, given)| size_at(size, values) == Some(Int::from(*given)))
    };
    let tries = (MAX_SIZE + 1).pow(u32::try_from(sought.len()).ok()?);
    Some((0..tries).any(|number| {
        let mut values = known.clone();
        let mut rest = number;
        for own in &sought {
            values.extend(own.iter().map(|name| ((*name).clone(), rest % (MAX_SIZE + 1))));
            rest /= MAX_SIZE + 1;
        }
        is_met(&values)
    }))
}

/// The spec of a fix of named dimensions of which the report says that it loses no shapes.
fn keeps_all(fix: &Fix) -> Option<&Json> {
    let spec = fix.spec.as_ref().filter(|_| fix.loses == Some(false) && fix.assumptions.is_empty())?;
    let text = spec.to_string();
    (!text.contains("AUTO") && !text.contains("DYNAMIC")).then_some(spec)
}

#[test]
fn what_is_said_to_work_does_and_a_fix_that_loses_no_shapes_allows_all_that_does() {
    on_each("fixes keep what works", 1, |name, checker, operators, numbers| {
        let own = checker.check(None, operators, &Budget::small()).expect("a report");
        let json = random_spec(&own, numbers);
        let Ok(spec) = Spec::parse(json.to_string().as_bytes()) else { return Ok(0) };
        let report = checker.check(Some(&spec), operators, &budget()).expect("a report");
        if report.verdict != Outcome::Violated || !report.runtime_asserts.is_empty() {
            return Ok(0);
        }
        let evaluator = checker.evaluator(operators).expect("inputs");
        let (names, mut count) = (placeholders(checker), 0);
        // What is said to work does.
        for works in report.guards.iter().filter_map(|guard| shapes(guard.works.as_ref()?)) {
            count += 1;
            let refused = evaluator.evaluate(&works).err();
            prop_assert!(refused.is_none(), "{name} under {json}: {} is refused", shown(&works));
        }
        // Two fixes are never the same.
        for (at, fix) in report.fixes.iter().enumerate() {
            let is_same =
                |other: &Fix| other.text == fix.text || other.spec.is_some() && other.spec == fix.spec;
            prop_assert!(!report.fixes[..at].iter().any(is_same), "{name} under {json}: {} twice", fix.text);
        }
        for fix in &report.fixes {
            let Some(json) = keeps_all(fix) else { continue };
            let fixed = Spec::parse(json.to_string().as_bytes()).expect("a spec");
            let fixed = checker.check(Some(&fixed), operators, &budget()).expect("a report");
            for shift in 0..numbers.len() {
                let mut moved = numbers.to_vec();
                moved.rotate_left(shift);
                let Some((_, tried)) = allowed(&report, &names, &moved) else { continue };
                let works = evaluator.evaluate(&tried).is_ok_and(|found| found.outputs == found.recorded);
                let Some(fits) = works.then(|| fits(&fixed, &names, &tried)).flatten() else { continue };
                count += 1;
                prop_assert!(fits, "{name} under {json}: {} loses {}", fix.text, shown(&tried));
            }
        }
        Ok(count)
    });
}

/// Whether a condition holds at values of the sizes that it speaks of; none if it cannot be read.
fn holds(condition: &str, values: &[(String, i64)]) -> Option<bool> {
    let mut text = condition.to_owned();
    for (source, value) in values.iter().filter(|(name, _)| name.contains('.')) {
        text = text.replace(source.as_str(), &format!("({value})"));
    }
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, &text).ok()?.expr;
    match pool.eval(e, |_| None).ok()? {
        Value::Bool(holds) => Some(holds),
        _ => None,
    }
}

#[test]
fn the_guard_that_a_refusal_names_is_broken_there() {
    on_each("refusals name what is broken", 2, |name, checker, operators, numbers| {
        let own = checker.check(None, operators, &Budget::small()).expect("a report");
        let evaluator = checker.evaluator(operators).expect("inputs");
        let (names, mut count) = (placeholders(checker), 0);
        for shift in 0..8 {
            let mut moved = numbers.to_vec();
            moved.rotate_left(shift);
            let Some((values, shapes)) = allowed(&own, &names, &moved) else { continue };
            let Err(refused) = evaluator.evaluate(&shapes) else { continue };
            let told = evaluator.told(&refused);
            let Some(condition) = told.strip_prefix("guard failed: ") else { continue };
            let Some(holds) = holds(condition, &values) else { continue };
            count += 1;
            prop_assert!(!holds, "{name}: {told} at {}", shown(&shapes));
        }
        Ok(count)
    });
}
