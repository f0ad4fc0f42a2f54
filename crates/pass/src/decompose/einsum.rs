//! Einstein sums: each operand is brought into the order of all letters, and two at a time are multiplied and summed.
use super::Made;
use super::builder::{Builder, Function, Size};
use super::call::{Call, refused};
use super::views::{one, permuted, reshaped, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};
use std::collections::BTreeSet;

pub const RULES: &[(&str, Function)] = &[("einsum.default", einsum)];

/// A letter, or a dimension that an ellipsis stands for, counted from the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(std::cmp::Reverse<usize>),
    Letter(char),
}

/// A tensor with the labels of its dimensions, each once.
struct Labelled {
    tensor: Proxy,
    labels: Vec<Label>,
}

fn labels(text: &str, covered: usize) -> Result<Vec<Label>, TraceError> {
    let ellipsis = |count: usize| (0..count).rev().map(|at| Label::Ellipsis(std::cmp::Reverse(at)));
    let letters = |text: &str| text.chars().map(Label::Letter).collect::<Vec<Label>>();
    match text.split_once("...") {
        Some((before, after)) => Ok([letters(before), ellipsis(covered).collect(), letters(after)].concat()),
        None if text.contains('.') => Err(refused("its equation cannot be read")),
        None => Ok(letters(text)),
    }
}

fn einsum(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let equation: String = call.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let tensors = call.tensor_list("tensors")?;
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (equation.as_str(), None),
    };
    let texts: Vec<&str> = inputs.split(',').collect();
    if texts.len() != tensors.len() {
        return Err(refused("its equation has other operands"));
    }
    let mut operands = Vec::with_capacity(tensors.len());
    let mut widest = 0;
    for (text, tensor) in texts.iter().zip(tensors) {
        let named = text.replace("...", "").chars().count();
        let covered =
            b.rank(tensor)?.checked_sub(named).ok_or_else(|| refused("an operand has too few dimensions"))?;
        widest = widest.max(covered);
        let labels = labels(text, covered)?;
        if labels.len() != b.rank(tensor)? {
            return Err(refused("an operand has too many dimensions"));
        }
        operands.push(without_diagonals(b, Labelled { tensor, labels })?);
    }
    let output = match output {
        Some(text) => labels(text, widest)?,
        None => implicit(inputs, widest),
    };
    let mut rest = operands.into_iter();
    let mut result = rest.next().ok_or_else(|| refused("it has no operand"))?;
    let mut others: Vec<Labelled> = rest.collect();
    while !others.is_empty() {
        let next = others.remove(0);
        let mut later: BTreeSet<Label> = output.iter().copied().collect();
        later.extend(others.iter().flat_map(|operand| operand.labels.iter().copied()));
        result = contracted(b, result, next, &later)?;
    }
    let kept: BTreeSet<Label> = output.iter().copied().collect();
    let result = summed(b, result, &kept)?;
    let order: Option<Vec<usize>> =
        output.iter().map(|label| result.labels.iter().position(|known| known == label)).collect();
    let order = order.ok_or_else(|| refused("its result has a label that no operand has"))?;
    permuted(b, result.tensor, order).map(one)
}

/// Without a result in the equation: the dimensions of the ellipsis, then the letters that stand once, in order.
fn implicit(inputs: &str, widest: usize) -> Vec<Label> {
    let letters: Vec<char> = inputs.chars().filter(|c| c.is_alphabetic()).collect();
    let mut once: Vec<char> =
        letters.iter().copied().filter(|c| letters.iter().filter(|other| *other == c).count() == 1).collect();
    once.sort_unstable();
    let ellipsis = (0..widest).rev().map(|at| Label::Ellipsis(std::cmp::Reverse(at)));
    ellipsis.chain(once.into_iter().map(Label::Letter)).collect()
}

/// Where a letter stands twice in one operand, its diagonal.
fn without_diagonals(b: &mut Builder<'_, '_>, mut operand: Labelled) -> Result<Labelled, TraceError> {
    loop {
        let labels = &operand.labels;
        let twice = (0..labels.len()).find_map(|second| {
            let first = labels[..second].iter().position(|label| *label == labels[second])?;
            Some((first, second))
        });
        let Some((first, second)) = twice else { return Ok(operand) };
        let dims = [0, first as i64, second as i64].map(Argument::Int);
        let [offset, first_dim, second_dim] = dims;
        operand.tensor =
            b.one("diagonal.default", &[operand.tensor.into(), offset, first_dim, second_dim])?;
        let label = operand.labels.remove(second);
        operand.labels.remove(first);
        operand.labels.push(label);
    }
}

/// Sums over the labels that are not kept.
fn summed(
    b: &mut Builder<'_, '_>,
    operand: Labelled,
    kept: &BTreeSet<Label>,
) -> Result<Labelled, TraceError> {
    let (mut dims, mut labels) = (Vec::new(), Vec::new());
    for (dim, label) in operand.labels.iter().enumerate() {
        if kept.contains(label) {
            labels.push(*label);
        } else {
            dims.push(dim as i64);
        }
    }
    if dims.is_empty() {
        return Ok(operand);
    }
    let tensor = b.one("sum.dim_IntList", &[operand.tensor.into(), Argument::Ints(dims)])?;
    Ok(Labelled { tensor, labels })
}

/// Multiplies two operands, and sums over the labels that nothing needs later.
fn contracted(
    b: &mut Builder<'_, '_>,
    left: Labelled,
    right: Labelled,
    later: &BTreeSet<Label>,
) -> Result<Labelled, TraceError> {
    let mut for_left = later.clone();
    for_left.extend(right.labels.iter().copied());
    let left = summed(b, left, &for_left)?;
    let mut for_right = later.clone();
    for_right.extend(left.labels.iter().copied());
    let right = summed(b, right, &for_right)?;
    let (left_sizes, right_sizes) = (b.sizes(left.tensor)?, b.sizes(right.tensor)?);
    let both: Vec<Label> = left.labels.iter().copied().filter(|label| right.labels.contains(label)).collect();
    for label in &both {
        let one = |operand: &Labelled, sizes: &[Size]| {
            let at = operand.labels.iter().position(|known| known == label);
            at.is_some_and(|at| sizes[at] == Operand::Literal(1))
        };
        if one(&left, &left_sizes) != one(&right, &right_sizes) {
            return Err(refused("a dimension of one meets another"));
        }
    }
    let (shared, inner): (Vec<Label>, Vec<Label>) =
        both.iter().copied().partition(|label| later.contains(label));
    let only = |operand: &Labelled| -> Vec<Label> {
        operand.labels.iter().copied().filter(|label| !both.contains(label)).collect()
    };
    let (rows, columns) = (only(&left), only(&right));
    let pick = |operand: &Labelled, sizes: &[Size], labels: &[Label]| -> Vec<Size> {
        let size = |label: &Label| operand.labels.iter().position(|known| known == label).map(|at| sizes[at]);
        labels.iter().filter_map(size).collect()
    };
    let shared_sizes = pick(&left, &left_sizes, &shared);
    let inner_sizes = pick(&left, &left_sizes, &inner);
    let row_sizes = pick(&left, &left_sizes, &rows);
    let column_sizes = pick(&right, &right_sizes, &columns);
    let (batch, depth) = (b.product(&shared_sizes)?, b.product(&inner_sizes)?);
    let (height, width) = (b.product(&row_sizes)?, b.product(&column_sizes)?);
    let x = ordered(b, &left, &[&shared, &rows, &inner])?;
    let x = reshaped(b, x, &[batch, height, depth])?;
    let y = ordered(b, &right, &[&shared, &inner, &columns])?;
    let y = reshaped(b, y, &[batch, depth, width])?;
    let product = b.one("bmm.default", &[x.into(), y.into()])?;
    let tensor = viewed(b, product, &[shared_sizes, row_sizes, column_sizes].concat())?;
    Ok(Labelled { tensor, labels: [shared, rows, columns].concat() })
}

fn ordered(b: &mut Builder<'_, '_>, operand: &Labelled, groups: &[&[Label]]) -> Result<Proxy, TraceError> {
    let labels = groups.iter().flat_map(|group| group.iter());
    let order: Vec<usize> =
        labels.filter_map(|label| operand.labels.iter().position(|known| known == label)).collect();
    permuted(b, operand.tensor, order)
}
