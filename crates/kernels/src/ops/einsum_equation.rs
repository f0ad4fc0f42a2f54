//! The equation of an Einstein summation: `bij,bjk->bik`.

/// One subscript of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// A letter, `A` to `Z` and then `a` to `z`, as a number below 52.
    Letter(u8),
    /// `...`: as many dimensions as the letters leave over.
    Ellipsis,
}

/// A parsed equation, fitted to the operands' ranks.
#[derive(Debug)]
pub struct Equation {
    /// The subscripts of each operand.
    pub operands: Vec<Vec<Label>>,
    /// How many dimensions the result has.
    pub output: usize,
    /// How many dimensions there are in all: those of the result, then those summed over.
    pub positions: usize,
    /// Where the dimensions under `...` begin.
    pub ellipsis: usize,
    /// How many dimensions `...` covers at most.
    pub ellipsis_rank: usize,
    places: [Option<usize>; 52],
}

impl Equation {
    /// Parses an equation for operands of given ranks. Without `->` the result has `...` and then the letters that
    /// occur once, in alphabetical order.
    ///
    /// # Errors
    /// What is wrong with the equation, or in what it does not fit the operands.
    pub fn parse(text: &str, ranks: &[usize]) -> Result<Equation, String> {
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text, None),
        };
        let operands = left.split(',').map(subscripts).collect::<Result<Vec<_>, _>>()?;
        if operands.len() != ranks.len() {
            return Err(format!(
                "the equation is for {} operands, {} are given",
                operands.len(),
                ranks.len()
            ));
        }
        let mut counts = [0usize; 52];
        let mut ellipsis_rank = 0;
        for (i, (labels, &rank)) in operands.iter().zip(ranks).enumerate() {
            let dotted = labels.contains(&Label::Ellipsis);
            let letters = labels.len() - usize::from(dotted);
            if if dotted { letters > rank } else { letters != rank } {
                return Err(format!("operand {i} has {rank} dimensions but {letters} subscripts"));
            }
            if dotted {
                ellipsis_rank = ellipsis_rank.max(rank - letters);
            }
            for label in labels {
                if let Label::Letter(letter) = label {
                    counts[usize::from(*letter)] += 1;
                }
            }
        }
        let mut places = [None; 52];
        let mut next = 0;
        let mut ellipsis = None;
        match right {
            None => {
                ellipsis = Some(0);
                next = ellipsis_rank;
                for (place, _) in places.iter_mut().zip(counts).filter(|(_, count)| *count == 1) {
                    *place = Some(next);
                    next += 1;
                }
            }
            Some(right) => {
                for label in subscripts(right)? {
                    match label {
                        Label::Ellipsis => {
                            ellipsis = Some(next);
                            next += ellipsis_rank;
                        }
                        Label::Letter(letter) => {
                            let place = &mut places[usize::from(letter)];
                            if counts[usize::from(letter)] == 0 || place.is_some() {
                                return Err("a subscript of the result occurs in no operand, or twice".into());
                            }
                            *place = Some(next);
                            next += 1;
                        }
                    }
                }
            }
        }
        let output = next;
        let ellipsis = ellipsis.unwrap_or_else(|| {
            next += ellipsis_rank;
            output
        });
        for (place, _) in places.iter_mut().zip(counts).filter(|(_, count)| *count > 0) {
            if place.is_none() {
                *place = Some(next);
                next += 1;
            }
        }
        Ok(Equation { operands, output, positions: next, ellipsis, ellipsis_rank, places })
    }

    /// The dimension that belongs to a letter of the equation.
    pub fn position_of(&self, letter: u8) -> usize {
        self.places.get(usize::from(letter)).copied().flatten().unwrap_or(0)
    }
}

/// The subscripts in a part of an equation; spaces do not count.
fn subscripts(text: &str) -> Result<Vec<Label>, String> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == ' ' {
            rest = &rest[1..];
        } else if let Some(after) = rest.strip_prefix("...") {
            if labels.contains(&Label::Ellipsis) {
                return Err(format!("`{text}` has two ellipses"));
            }
            labels.push(Label::Ellipsis);
            rest = after;
        } else {
            let letter = match first {
                'A'..='Z' => first as u8 - b'A',
                'a'..='z' => first as u8 - b'a' + 26,
                _ => return Err(format!("`{first}` is no subscript")),
            };
            labels.push(Label::Letter(letter));
            rest = &rest[1..];
        }
    }
    Ok(labels)
}
