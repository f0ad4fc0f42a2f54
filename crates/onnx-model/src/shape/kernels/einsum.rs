//! Sums of products by an equation of subscripts.
use super::meeting::{meet, meet_sizes};
use super::{Family, products};
use crate::shape::at_load::{self, Known};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Einsum::ALL];

pub(super) const KERNELS: Family =
    &[op("Einsum", einsum).multiplies(products::einsum).passes().infers(at_load::all)];

/// The subscripts of one operand: letters before an ellipsis, whether there is one, letters behind it.
struct Term {
    before: Vec<char>,
    ellipsis: bool,
    behind: Vec<char>,
}

fn term(call: &Checked, text: &str) -> Result<Term, KernelError> {
    let (before, behind, ellipsis) = match text.split_once("...") {
        Some((before, behind)) => (before, behind, true),
        None => (text, "", false),
    };
    let fine = [before, behind].into_iter().all(|part| part.chars().all(|c| c.is_ascii_alphabetic()));
    call.check(fine, Einsum::C1, || format!("`{text}` are no subscripts"))?;
    Ok(Term { before: before.chars().collect(), ellipsis, behind: behind.chars().collect() })
}

/// Notes that a subscript is 1 in the first operand that has it, where that may be known when the model loads, and not in
/// another one: the inference of shapes takes the first size.
fn stretched_first(cx: &Cx, call: &Checked, operands: &[&str]) {
    let mut first: Vec<(char, bool)> = Vec::new();
    for (at, operand) in operands.iter().enumerate() {
        let Ok(sizes) = call.shape(at) else { return };
        if operand.contains('.') || operand.len() != sizes.len() {
            return;
        }
        for (dim, (letter, &size)) in operand.chars().zip(sizes).enumerate() {
            match first.iter().find(|(known, _)| *known == letter) {
                Some((_, is_one)) if *is_one && size != Expr::ONE => return call.misinferred(cx),
                Some(_) => {}
                None => first.push((letter, size == Expr::ONE && call.size_at_load(at, dim) != Known::No)),
            }
        }
    }
}

clauses! { Einsum {
    C1 "The equation is well formed, with as many operands as there are inputs."
    C2 "Each operand of the equation has as many subscripts as its input has dimensions, unless it has an \
        ellipsis for the others."
    C3 "Sizes of the same subscript are equal, or one of them is 1."
    C4 "The dimensions of ellipses broadcast. The result has an ellipsis if operands have one."
    C5 "Each subscript of the result is in an operand, and only once in the result."
    C6 "Sizes of a subscript that is repeated within one operand are equal."
} }

fn einsum(cx: &mut Cx, call: &Checked) -> Outcome {
    let equation: String = call.text("equation", "").chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let operands: Vec<&str> = left.split(',').collect();
    call.check(operands.len() == call.count(), Einsum::C1, || {
        format!("the equation has {} operands, not {}", operands.len(), call.count())
    })?;
    let (mut sizes, mut counts) = (Vec::<(char, Expr)>::new(), Vec::<(char, usize)>::new());
    let mut stack: Option<Vec<Expr>> = None;
    stretched_first(cx, call, &operands);
    for (at, text) in operands.into_iter().enumerate() {
        let (term, shape) = (term(call, text)?, call.shape(at)?.to_vec());
        let letters = term.before.len() + term.behind.len();
        let fits = if term.ellipsis { shape.len() >= letters } else { shape.len() == letters };
        call.check(fits, Einsum::C2, || format!("`{text}` does not fit a rank of {}", shape.len()))?;
        let middle = shape.len() - letters;
        let own = shape[..term.before.len()].iter().chain(&shape[term.before.len() + middle..]);
        let mut inside: Vec<(char, Expr)> = Vec::new();
        for (&letter, &size) in term.before.iter().chain(&term.behind).zip(own) {
            match inside.iter().find(|(known, _)| *known == letter) {
                Some((_, known)) => cx.require_eq(*known, size, Einsum::C6, "the sizes of a diagonal")?,
                None => inside.push((letter, size)),
            }
            match counts.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, count)) => *count += 1,
                None => counts.push((letter, 1)),
            }
            match sizes.iter_mut().find(|(known, _)| *known == letter) {
                Some((_, known)) => *known = meet_sizes(cx, *known, size, Einsum::C3)?,
                None => sizes.push((letter, size)),
            }
        }
        if term.ellipsis {
            let inner = shape[term.before.len()..term.before.len() + middle].to_vec();
            stack = Some(match stack {
                None => inner,
                Some(known) => {
                    call.check(known.len() == inner.len(), Einsum::C4, || {
                        "ellipses differ in rank".to_owned()
                    })?;
                    meet(cx, [known.as_slice(), inner.as_slice()], Einsum::C4)?
                }
            });
        }
    }
    let result = match right {
        Some(text) => term(call, text)?,
        None => {
            let mut single: Vec<char> =
                counts.iter().filter(|(_, count)| *count == 1).map(|(c, _)| *c).collect();
            single.sort_unstable();
            Term { before: Vec::new(), ellipsis: stack.is_some(), behind: single }
        }
    };
    let mut shape = Vec::new();
    let mut add = |letters: &[char], shape: &mut Vec<Expr>| -> Result<(), KernelError> {
        for letter in letters {
            let known = sizes.iter().position(|(known, _)| known == letter);
            call.check(known.is_some(), Einsum::C5, || {
                format!("`{letter}` is not in one operand, or twice in the result")
            })?;
            // A subscript that was used is gone.
            shape.extend(known.map(|at| sizes.remove(at).1));
        }
        Ok(())
    };
    add(&result.before, &mut shape)?;
    // onnxruntime asks for an ellipsis of the result where one stands for something.
    let stands = stack.as_ref().is_some_and(|stack| !stack.is_empty() || !cx.on_cpu());
    call.check(result.ellipsis || !stands, Einsum::C4, || "the result has no ellipsis".to_owned())?;
    if result.ellipsis {
        call.check(stack.is_some() || cx.on_cpu(), Einsum::C4, || "no operand has an ellipsis".to_owned())?;
        shape.extend(stack.clone().unwrap_or_default());
    }
    add(&result.behind, &mut shape)?;
    call.one(shape)
}
