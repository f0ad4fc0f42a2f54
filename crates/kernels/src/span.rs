//! Where the elements of an integer tensor lie when sizes decide it: the positions `0 .. n - 1` that `arange` makes.
//!
//! Used as indices they give a condition on sizes. It is exact where the ends of the span are elements; where they need
//! not be, the span says nothing of a program that runs.
use sizewise_expr::Expr;

/// Where the elements of a tensor of integers lie, if it has any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// None is less.
    pub least: Expr,
    /// None is greater.
    pub most: Expr,
    /// Which of the integers in between are elements.
    pub reach: Reach,
}

/// Which integers of a span are elements of the tensor, unless it has no elements at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// This is not known.
    Within,
    /// This is not known, but so many different ones are, at least: `k` indices of a `topk`.
    Distinct(Expr),
    /// Both ends.
    Ends,
    /// Every one.
    Every,
    /// Every one: along this dimension each element is one more than the one before, along the others all are equal.
    Counting(usize),
}

impl Span {
    /// That of elements that are all the same.
    pub fn single(value: Expr) -> Span {
        Span { least: value, most: value, reach: Reach::Every }
    }

    /// Whether both ends are elements of a tensor that has elements.
    pub fn is_attained(&self) -> bool {
        !matches!(self.reach, Reach::Within | Reach::Distinct(_))
    }

    /// Whether all elements are the same.
    pub fn is_single(&self) -> bool {
        self.least == self.most
    }

    /// The same with nothing known of which integers are elements: of some of the elements.
    #[must_use]
    pub fn part(&self) -> Span {
        let reach = if self.is_single() { Reach::Every } else { Reach::Within };
        Span { reach, ..self.clone() }
    }

    /// The same of the elements in another arrangement.
    #[must_use]
    pub fn rearranged(&self) -> Span {
        Span { reach: self.reach.unordered(), ..self.clone() }
    }

    pub(super) fn new(least: Expr, most: Expr, reach: Reach) -> Span {
        Span { least, most, reach }
    }
}

impl Reach {
    /// The same without the order of the elements.
    pub(super) fn unordered(self) -> Reach {
        if let Reach::Counting(_) = self { Reach::Every } else { self }
    }

    /// What is kept by a map that keeps order but leaves integers out.
    pub(super) fn of_ends(self) -> Reach {
        if let Reach::Within | Reach::Distinct(_) = self { Reach::Within } else { Reach::Ends }
    }

    /// What is kept by a map that may make elements equal.
    pub(super) fn merged(self) -> Reach {
        if let Reach::Distinct(_) = self { Reach::Within } else { self.unordered() }
    }

    /// That of what a map that grows with both of its operands gives; `apart` says whether all elements of one meet all
    /// of the other.
    pub(super) fn joint(a: &Span, b: &Span, apart: bool) -> Reach {
        if !apart && !a.is_single() && !b.is_single() {
            return Reach::Within;
        }
        let of = |span: &Span| if span.is_single() { Reach::Every } else { span.reach.unordered() };
        match (of(a), of(b)) {
            (Reach::Distinct(count), _) if b.is_single() => Reach::Distinct(count),
            (_, Reach::Distinct(count)) if a.is_single() => Reach::Distinct(count),
            (Reach::Within | Reach::Distinct(_), _) | (_, Reach::Within | Reach::Distinct(_)) => {
                Reach::Within
            }
            (Reach::Every, Reach::Every) => Reach::Every,
            _ => Reach::Ends,
        }
    }
}
