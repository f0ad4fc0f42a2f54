//! Arithmetic on spans, and what indices are held to whose span is known.
use super::context::Cx;
use super::error::KernelError;
use super::span::{Reach, Span};
use super::tensor::Tensor;
use sizewise_env::Clause;
use sizewise_expr::range::{Bounds, Congruence, Domain, ValueRange};
use sizewise_expr::{Expr, Int};
use sizewise_ir::dtype::Dtype;
use smallvec::{SmallVec, smallvec};

/// Ends of spans are followed if they fit into their dtype at sizes up to these: in 64 and in 32 bits. Larger sizes may
/// make them wrap around.
const USUAL_SIZES: (i64, i64) = (1 << 20, 1 << 15);

/// What a span of indices is held against.
pub struct Lookup<'a> {
    /// The size of the dimension that is indexed.
    pub size: Expr,
    /// Whether negative indices count from the end; otherwise they are out of range.
    pub from_end: bool,
    /// Conditions under each of which nothing is looked up, so that any index will do.
    pub nothing: &'a [Expr],
    /// What the size counts, for messages: `rows of the table`.
    pub what: &'a str,
}

/// Arithmetic on spans. It is that of mathematical integers: [`Cx::holds_span`] tells whether a dtype has them.
impl Cx<'_> {
    /// That of `count` numbers from `start` on in steps of `step`, if it is known which way they go.
    pub fn steps_span(&mut self, start: Expr, step: Expr, count: Expr) -> Option<Span> {
        let last = self.sub(count, 1);
        let way = self.mul(step, last);
        let end = self.add(start, way);
        if step == Expr::ONE {
            return Some(Span::new(start, end, Reach::Counting(0)));
        }
        let (up, down) = (self.gt(step, 0), self.lt(step, 0));
        let reach = if step.as_inline() == Some(-1) { Reach::Every } else { Reach::Ends };
        if self.surely(up) {
            Some(Span::new(start, end, reach))
        } else {
            self.surely(down).then(|| Span::new(end, start, reach))
        }
    }

    /// That of sums.
    pub fn add_spans(&mut self, a: &Span, b: &Span, apart: bool) -> Span {
        let (least, most) = (self.add(a.least, b.least), self.add(a.most, b.most));
        Span::new(least, most, Reach::joint(a, b, apart))
    }

    /// That of the negated elements.
    pub fn negated_span(&mut self, a: &Span) -> Span {
        let (least, most) = (self.sub(0, a.most), self.sub(0, a.least));
        Span::new(least, most, a.reach.unordered())
    }

    /// That of products, if it is known whether they grow with the operands.
    pub fn multiply_spans(&mut self, a: &Span, b: &Span, apart: bool) -> Option<Span> {
        if a.is_single() && b.is_single() {
            return Some(Span::single(self.mul(a.least, b.least)));
        }
        let (a, b) = if a.is_single() { (b, a) } else { (a, b) };
        if b.is_single() {
            let factor = b.least;
            if factor == Expr::ONE {
                return Some(a.clone());
            }
            let (natural, negative) = (self.ge(factor, 0), self.le(factor, 0));
            let (least, most) = (self.mul(a.least, factor), self.mul(a.most, factor));
            return if self.surely(natural) {
                Some(Span::new(least, most, a.reach.of_ends()))
            } else {
                self.surely(negative).then(|| Span::new(most, least, a.reach.of_ends()))
            };
        }
        for least in [a.least, b.least] {
            let natural = self.ge(least, 0);
            if !self.surely(natural) {
                return None;
            }
        }
        let (least, most) = (self.mul(a.least, b.least), self.mul(a.most, b.most));
        Some(Span::new(least, most, Reach::joint(a, b, apart).of_ends()))
    }

    /// That of quotients by a positive number, rounded downwards.
    pub fn divided_span(&mut self, a: &Span, divisor: Expr) -> Option<Span> {
        let positive = self.gt(divisor, 0);
        self.surely(positive).then(|| {
            let (least, most) = (self.floor_div(a.least, divisor), self.floor_div(a.most, divisor));
            Span::new(least, most, a.reach.merged())
        })
    }

    /// That of remainders by a positive number.
    pub fn remainder_span(&mut self, a: &Span, divisor: Expr) -> Option<Span> {
        let positive = self.gt(divisor, 0);
        if !self.surely(positive) {
            return None;
        }
        let greatest = self.sub(divisor, 1);
        if a.is_single() {
            return Some(Span::single(self.modulo(a.least, divisor)));
        }
        // Between multiples of the divisor remainders grow with the elements.
        let (first, last) = (self.floor_div(a.least, divisor), self.floor_div(a.most, divisor));
        let between = self.eq(first, last);
        if self.surely(between) {
            let (least, most) = (self.modulo(a.least, divisor), self.modulo(a.most, divisor));
            return Some(Span::new(least, most, a.reach));
        }
        let every = a.reach.unordered() == Reach::Every;
        let across = self.lt(first, last);
        let (most, reach) = if every && self.surely(across) {
            let length = self.sub(a.most, a.least);
            let all = self.ge(length, greatest);
            (greatest, if self.surely(all) { Reach::Every } else { Reach::Ends })
        } else if every && a.least == Expr::ZERO {
            (self.clamped_above(a.most, greatest), Reach::Every)
        } else {
            (greatest, Reach::Within)
        };
        Some(Span::new(Expr::ZERO, most, reach))
    }

    /// That of the lesser of two elements each.
    pub fn lesser_span(&mut self, a: &Span, b: &Span, apart: bool) -> Span {
        let (least, most) = (self.min(a.least, b.least), self.min(a.most, b.most));
        Span::new(least, most, Reach::joint(a, b, apart).merged())
    }

    /// That of the greater of two elements each.
    pub fn greater_span(&mut self, a: &Span, b: &Span, apart: bool) -> Span {
        let (least, most) = (self.max(a.least, b.least), self.max(a.most, b.most));
        Span::new(least, most, Reach::joint(a, b, apart).merged())
    }

    /// The least span around elements of several tensors; `all` says whether each of them has elements if one has.
    pub fn joined_span(&mut self, spans: &[Span], all: bool) -> Option<Span> {
        let (first, rest) = spans.split_first()?;
        let mut joined = first.clone();
        for span in rest {
            joined.least = self.min(joined.least, span.least);
            joined.most = self.max(joined.most, span.most);
        }
        let attained = all && spans.iter().all(Span::is_attained);
        joined.reach = if attained { Reach::Ends } else { Reach::Within };
        Some(joined)
    }

    /// Whether a dtype holds all numbers of a span at sizes that are not extremely large.
    pub fn holds_span(&mut self, span: &Span, dtype: Dtype) -> bool {
        let (least, most, usual) = match dtype {
            Dtype::Int64 => (i64::MIN, i64::MAX, USUAL_SIZES.0),
            Dtype::Int32 => (i32::MIN.into(), i32::MAX.into(), USUAL_SIZES.1),
            _ => return false,
        };
        [span.least, span.most].into_iter().all(|end| self.fits_up_to(end, (least, most), usual))
    }

    /// Whether an expression over sizes fits between two numbers where sizes are no greater than `usual`, or no greater
    /// than their least value if that is more.
    pub fn fits_up_to(&mut self, e: Expr, (least, most): (i64, i64), usual: i64) -> bool {
        if let Some(value) = e.as_inline() {
            return (least..=most).contains(&value);
        }
        let (facts, pool) = (self.env.known_facts(), &self.env.pool);
        let size = |e: Expr| {
            let range = facts.range(pool.as_symbol(e)?);
            let lower = range.map_or_else(|| Some(Int::ZERO), ValueRange::lower).unwrap_or(Int::from(-usual));
            let upper =
                range.and_then(ValueRange::upper).map_or(Int::from(usual), |upper| upper.min(usual.into()));
            let upper = if upper < lower { lower.clone() } else { upper };
            Domain::new(ValueRange::between(lower, upper), Congruence::multiples_of(1))
        };
        let range = Bounds::new(pool, size).domain(e).range;
        range.lower().is_none_or(|lower| lower >= Int::from(least))
            && range.upper().is_none_or(|upper| upper <= Int::from(most))
    }

    /// The condition that the ends of a span are indices of a dimension.
    pub fn is_index(&mut self, span: &Span, size: Expr, from_end: bool) -> Expr {
        let below = self.gt(size, span.most);
        let first = if from_end { self.add(span.least, size) } else { span.least };
        let not_below = self.ge(first, 0);
        if self.surely(not_below) { below } else { self.all(&[below, not_below]) }
    }

    /// The condition that a dimension has room for so many different indices of a span; `None` where some may be negative.
    fn has_room(&mut self, span: &Span, count: Expr, size: Expr) -> Option<Expr> {
        let natural = self.ge(span.least, 0);
        let needed = self.add(span.least, count);
        self.surely(natural).then(|| self.ge(size, needed))
    }

    /// Requires elements that lie in a span to be indices, if that is a condition on sizes alone.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when some are out of range.
    pub fn require_span(
        &mut self,
        span: Option<&Span>,
        lookup: &Lookup<'_>,
        clause: impl Into<Clause>,
    ) -> Result<(), KernelError> {
        let fits = span.map(|span| self.is_index(span, lookup.size, lookup.from_end));
        if fits.is_some_and(|fits| self.surely(fits)) {
            return Ok(());
        }
        let fits = match span.map(|span| span.reach) {
            Some(Reach::Within) => None,
            Some(Reach::Distinct(count)) => {
                // Larger ones may occur, which sizes do not decide.
                self.env.leave_indices_unchecked();
                span.and_then(|span| self.has_room(span, count, lookup.size))
            }
            _ => fits,
        };
        let Some((span, fits)) = span.zip(fits) else {
            self.env.leave_indices_unchecked();
            return self.require_positions(lookup, clause);
        };
        // Where nothing is looked up the indices mostly fit as well: `arange(0)` ends before 0.
        let mut fine = smallvec![fits];
        for &nothing in lookup.nothing {
            let some = self.not(nothing);
            let follows = self.any(&[some, fits]);
            if !self.surely(follows) {
                fine.push(nothing);
            }
        }
        let fine: SmallVec<[Expr; 4]> = fine;
        let fine = self.any(&fine);
        self.require(fine, clause, |cx| {
            let size = cx.show(lookup.size);
            if let Reach::Distinct(count) = span.reach {
                return format!(
                    "{} different positions do not fit the {size} {}",
                    cx.show(count),
                    lookup.what
                );
            }
            if span.is_single() {
                return format!("position {} is none of the {size} {}", cx.show(span.least), lookup.what);
            }
            let (least, most) = (cx.show(span.least), cx.show(span.most));
            format!("positions {least} to {most} do not fit the {size} {}", lookup.what)
        })
    }

    /// Requires a dimension to have positions, unless nothing is looked up: whatever the indices are, none is in range of
    /// an empty one.
    fn require_positions(
        &mut self,
        lookup: &Lookup<'_>,
        clause: impl Into<Clause>,
    ) -> Result<(), KernelError> {
        let some = self.ge(lookup.size, 1);
        if self.surely(some) {
            return Ok(());
        }
        let fine: SmallVec<[Expr; 4]> = lookup.nothing.iter().copied().chain([some]).collect();
        let fine = self.any(&fine);
        self.require(fine, clause, |_| format!("there are no {}: the dimension is empty", lookup.what))
    }

    /// Requires the elements of an index to be indices, unless it has none.
    ///
    /// # Errors
    /// As [`Cx::require_span`].
    pub fn require_indices(
        &mut self,
        index: &Tensor,
        size: Expr,
        from_end: bool,
        what: &str,
        clause: impl Into<Clause>,
    ) -> Result<(), KernelError> {
        let nothing = self.without_elements(&index.sizes);
        let lookup = Lookup { size, from_end, nothing: &nothing, what };
        self.require_span(index.span.as_ref(), &lookup, clause)
    }

    /// The conditions under each of which a tensor of these sizes has no elements.
    pub fn without_elements(&mut self, sizes: &[Expr]) -> SmallVec<[Expr; 4]> {
        let mut conditions = SmallVec::new();
        for &size in sizes {
            let empty = self.eq(size, 0);
            if !conditions.contains(&empty) {
                conditions.push(empty);
            }
        }
        conditions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_env::ShapeEnv;

    #[test]
    fn products_of_numbers_are_numbers_whatever_their_sign() {
        let mut env = ShapeEnv::new();
        let (a, b) = (env.pool.symbol("a"), env.pool.symbol("b"));
        let mut cx = Cx::new(&mut env);
        let difference = cx.sub(a, b);
        for factor in [1, -2, 3] {
            let factor = cx.int(factor);
            let product = cx.mul(difference, factor);
            let (x, y) = (Span::single(difference), Span::single(factor));
            assert_eq!(cx.multiply_spans(&x, &y, false), Some(Span::single(product)));
            assert_eq!(cx.multiply_spans(&y, &x, false), Some(Span::single(product)));
        }
        // Of a range it is not known which end becomes the least.
        let range = Span::new(Expr::ZERO, a, Reach::Every);
        assert_eq!(cx.multiply_spans(&range, &Span::single(difference), true), None);
    }
}
