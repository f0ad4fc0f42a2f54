//! Elements of small tensors by their indices.
use super::value::{Element, Elements, MAX_ELEMENTS, Tensor};
use sizewise_expr::Expr;
use smallvec::SmallVec;
use std::borrow::Cow;

/// The index of an element, or sizes: most tensors have few dimensions.
pub type Index = SmallVec<[usize; 6]>;

/// A tensor whose sizes are numbers, with its elements.
pub struct Grid<'t> {
    sizes: Index,
    items: Cow<'t, [Element]>,
}

impl<'t> Grid<'t> {
    /// The elements of a tensor, if they are followed.
    pub fn new(tensor: &'t Tensor) -> Option<Grid<'t>> {
        Some(Grid { sizes: followed(tensor.shape.as_ref()?)?, items: tensor.list()? })
    }

    /// As [`Grid::new`], with open elements where none are followed.
    pub fn or_open(tensor: &'t Tensor) -> Option<Grid<'t>> {
        let sizes = followed(tensor.shape.as_ref()?)?;
        let count = sizes.iter().product();
        Some(Grid { sizes, items: tensor.list().unwrap_or_else(|| vec![Element::Open; count].into()) })
    }

    /// The sizes.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The position of an index, row by row; sizes of 1 are broadcast, and leading indices that are too many skipped.
    fn position(&self, index: &[usize]) -> Option<usize> {
        let index = index.get(index.len().checked_sub(self.sizes.len())?..)?;
        index.iter().zip(&self.sizes).try_fold(0usize, |position, (&at, &size)| {
            let at = if size == 1 { 0 } else { at };
            (at < size).then(|| position * size + at)
        })
    }

    /// The element at an index.
    pub fn get(&self, index: &[usize]) -> Option<&Element> {
        self.items.get(self.position(index)?)
    }

    /// The element at an index, to be changed.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut Element> {
        let position = self.position(index)?;
        self.items.to_mut().get_mut(position)
    }

    /// The elements of a part of this shape that begins at a place along an axis.
    pub fn part(&self, at: usize, from: usize, shape: &[Expr]) -> Option<Elements> {
        build(shape, |index| {
            let mut index = Index::from_slice(index);
            index[at] += from;
            self.get(&index).cloned()
        })
    }

    /// The elements as those of a tensor.
    pub fn into_elements(self) -> Elements {
        Elements::List(self.items.into())
    }
}

/// The literal sizes of a shape, if it has not too many elements to follow.
pub(super) fn followed(shape: &[Expr]) -> Option<Index> {
    let sizes: Index = shape.iter().map(|e| usize::try_from(e.as_inline()?).ok()).collect::<Option<_>>()?;
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    (count <= MAX_ELEMENTS).then_some(sizes)
}

/// Each index of a shape, row by row.
pub fn indices(sizes: &[usize]) -> impl Iterator<Item = Index> + '_ {
    let count: usize = sizes.iter().product();
    (0..count).map(move |position| {
        let mut rest = position;
        let mut index = Index::from_elem(0, sizes.len());
        for (at, &size) in index.iter_mut().zip(sizes).rev() {
            *at = rest % size;
            rest /= size;
        }
        index
    })
}

/// The elements of a small shape by their indices; nothing where one of them cannot be said.
pub fn build(shape: &[Expr], mut at: impl FnMut(&[usize]) -> Option<Element>) -> Option<Elements> {
    let sizes = followed(shape)?;
    let items = indices(&sizes).map(|index| at(&index)).collect::<Option<Vec<_>>>()?;
    Some(Elements::List(items.into()))
}

/// The elements of tensors one behind the other along an axis, if some are followed.
pub fn joined(inputs: &[&Tensor], at: usize, result: &Tensor) -> Option<Elements> {
    if inputs.iter().all(|tensor| tensor.elements.is_none()) {
        return None;
    }
    let parts = inputs.iter().copied().filter(|tensor| tensor.count() != Some(0));
    let parts = parts.map(Grid::or_open).collect::<Option<Vec<_>>>()?;
    build(result.shape.as_deref()?, |index| {
        let mut index = Index::from_slice(index);
        for part in &parts {
            if index[at] < part.sizes()[at] {
                return part.get(&index).cloned();
            }
            index[at] -= part.sizes()[at];
        }
        None
    })
}

/// The elements of tensors of one shape along a new axis, if some are followed.
pub fn stacked(inputs: &[&Tensor], at: usize, result: &Tensor) -> Option<Elements> {
    if inputs.iter().all(|tensor| tensor.elements.is_none()) {
        return None;
    }
    let parts = inputs.iter().copied().map(Grid::or_open).collect::<Option<Vec<_>>>()?;
    build(result.shape.as_deref()?, |index| {
        let mut index = Index::from_slice(index);
        let part = index.remove(at);
        parts.get(part)?.get(&index).cloned()
    })
}

/// An index that is a number, counted from the end when negative.
pub fn place(index: &Element, size: usize) -> Option<usize> {
    let index = index.int()?.as_inline()?;
    let index = if index < 0 { index + i64::try_from(size).ok()? } else { index };
    usize::try_from(index).ok().filter(|&index| index < size)
}
