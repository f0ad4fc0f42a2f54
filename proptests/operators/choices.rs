//! Random choices that shrink: a list of numbers that a generator consumes. Where the list ends every choice is the
//! first one, so a shorter list with smaller numbers is a simpler case.

/// The numbers still to be consumed.
pub struct Choices<'c> {
    left: &'c [u16],
}

impl<'c> Choices<'c> {
    /// All of a list.
    pub fn new(numbers: &'c [u16]) -> Choices<'c> {
        Choices { left: numbers }
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        let Some((&first, rest)) = self.left.split_first() else { return 0 };
        self.left = rest;
        usize::from(first) % limit.max(1)
    }

    /// True in `part` of `whole` cases, and at the end of the list never.
    pub fn rarely(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) >= whole - part
    }

    /// One of some.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
