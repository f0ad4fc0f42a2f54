//! Small sizes by themselves: a program may go another way at 0 and 1 than it was traced. It is followed again with such a
//! size in place of its symbol, and compared there.
use super::direction::{Answer, Direction};
use super::form::{Case, Form, SharedSize};
use super::side::Side;
use sizewise_check::check::Acceptance;
use sizewise_expr::{Int, Pool};

/// The most places of which small sizes are cases.
const MAX_PLACES: usize = 2;
/// Larger programs are not followed again.
const MAX_NODES: usize = 2_000;
/// The sizes that are cases.
const SMALL: [Int; 2] = [Int::ZERO, Int::ONE];

/// Settles what is open, if it is settled at small sizes and at all others.
pub(super) fn settle(
    lost: &Direction,
    won: &Direction,
    forms: [&Form; 2],
    places: &[SharedSize],
    answers: &mut (Answer, Answer),
) {
    let mut chosen: Vec<usize> = forms.iter().flat_map(|form| form.choosing()).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen.truncate(MAX_PLACES);
    let nodes = [lost.from, lost.to].map(|side| side.nodes);
    if chosen.is_empty() || nodes.iter().any(|&nodes| nodes > MAX_NODES) {
        return;
    }
    let mut rest: Vec<Case> = Vec::new();
    let mut found: Vec<(Answer, Answer)> = Vec::new();
    for at in chosen {
        for value in SMALL {
            let case = Case { at, value, is_equal: true };
            let mut cases = rest.clone();
            cases.push(case.clone());
            let Some([old, new]) = followed(lost, forms, &case) else { return };
            let before = old.as_ref().unwrap_or(forms[0].acceptance);
            let after = new.as_ref().unwrap_or(forms[1].acceptance);
            found.push(compared(lost, won, [before, after], places, &cases));
            rest.push(Case { is_equal: false, ..case });
        }
    }
    found.push(compared(lost, won, forms.map(|form| form.acceptance), places, &rest));
    let (first, second) = found.into_iter().unzip();
    answers.0.settle(first);
    answers.1.settle(second);
}

/// What the programs accept where a place has a value; none where its size is no symbol of the program.
fn followed(lost: &Direction, forms: [&Form; 2], case: &Case) -> Option<[Option<Acceptance>; 2]> {
    let one = |side: &Side, form: &Form| {
        let symbol = form.sizes[case.at].and_then(|size| Pool::as_symbol(&form.pool, size));
        match symbol {
            Some(symbol) => side.source.case(symbol, case.value.clone()).map(Some),
            None => Some(None),
        }
    };
    Some([one(lost.from, forms[0])?, one(lost.to, forms[1])?])
}

fn compared(
    lost: &Direction,
    won: &Direction,
    [before, after]: [&Acceptance; 2],
    places: &[SharedSize],
    cases: &[Case],
) -> (Answer, Answer) {
    let mut before = Form::new(lost.from, before, places, &|place| place.inputs.0, cases);
    let mut after = Form::new(lost.to, after, places, &|place| place.inputs.1, cases);
    (lost.decide(&mut before, &after), won.decide(&mut after, &before))
}
