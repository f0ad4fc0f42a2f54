//! Shape functions of views: sizes with one to be inferred, strides of a reshaped tensor, expansion, slicing.
use super::args::Args;
use super::context::Cx;
use super::error::{KernelError, KernelResult};
use super::kernel::Kernel;
use super::tensor::{Sizes, Tensor};
use super::value::Value;
use sizewise_env::OpClause;
use sizewise_expr::{Expr, Int};
use smallvec::smallvec;
use std::sync::Arc;

/// The dimensions of a tensor that lie one inside the other without gaps, as one: their number of elements and the
/// distance between neighbours.
struct Chunk {
    numel: Expr,
    stride: Expr,
}

/// Conditions that the facts leave open, as they are at the hints.
#[derive(Default)]
struct ByHint {
    true_there: Vec<Expr>,
    false_there: Vec<Expr>,
}

/// Whether a tensor can be viewed in other sizes.
enum Viewing {
    /// Under the condition, with these strides.
    Possible(Expr, Sizes),
    /// Not at the hints, and nowhere else under the condition. Without hints, as far as the forms of sizes tell.
    Impossible(Expr),
}

impl Cx<'_> {
    /// The sizes that `requested` asks for of a tensor of `numel` elements, where one entry may be -1: that one is
    /// `numel // known`, with `known` the product of the others.
    ///
    /// Conditions: at most one entry is -1, the others are not negative; without -1, `numel == known`; with it,
    /// `known != 0` and `numel % known == 0`.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when one of them does not hold.
    pub fn inferred_sizes(
        &mut self,
        numel: Expr,
        requested: &[Expr],
        clause: &'static OpClause,
    ) -> Result<Sizes, KernelError> {
        let minus_one = self.int(-1);
        let mut sizes: Sizes = requested.into();
        let unknown: Vec<usize> = (0..sizes.len()).filter(|&i| sizes[i] == minus_one).collect();
        self.check(unknown.len() <= 1, clause, |_| "only one dimension can be inferred".to_string())?;
        for &size in requested.iter().filter(|&&size| size != minus_one) {
            let natural = self.ge(size, 0);
            self.require(natural, clause, |cx| format!("invalid shape dimension {}", cx.show(size)))?;
        }
        let known = self.product(requested.iter().copied().filter(|&size| size != minus_one));
        let message = |cx: &Cx| {
            format!("shape {} is invalid for input of size {}", cx.show_all(requested), cx.show(numel))
        };
        match unknown.first() {
            None => {
                let same = self.eq(numel, known);
                self.require(same, clause, message)?;
            }
            Some(&at) => {
                let some = self.ne(known, 0);
                self.require(some, clause, |cx| {
                    format!("the size to be inferred in {} is ambiguous", cx.show_all(requested))
                })?;
                let rest = self.modulo(numel, known);
                let divides = self.eq(rest, 0);
                self.require(divides, clause, message)?;
                sizes[at] = self.floor_div(numel, known);
            }
        }
        Ok(sizes)
    }

    /// The strides with which the elements of `tensor` form a tensor of other sizes and as many elements, and the
    /// condition under which they do: each run of dimensions that lie one inside the other without gaps is split up
    /// on its own.
    fn view_strides(&mut self, tensor: &Tensor, sizes: &[Expr]) -> Viewing {
        let always = self.env.pool.bool(true);
        // One chunk without gaps, whatever the sizes are.
        if self.is_packed(tensor) {
            return Viewing::Possible(always, self.contiguous_strides(sizes));
        }
        let numel = self.numel(tensor);
        if self.env.hint_int(numel).is_some_and(|v| v.is_zero()) {
            let empty = self.eq(numel, 0);
            return Viewing::Possible(empty, self.contiguous_strides(sizes));
        }
        let chunks = self.chunks(tensor, None);
        if let Some(strides) = self.split_chunks(&chunks, sizes, None) {
            return Viewing::Possible(always, strides);
        }
        if self.env.hint_int(numel).is_none() {
            return Viewing::Impossible(always);
        }
        let mut open = ByHint::default();
        let chunks = self.chunks(tensor, Some(&mut open));
        match self.split_chunks(&chunks, sizes, Some(&mut open)) {
            Some(strides) => Viewing::Possible(self.all(&open.true_there), strides),
            None => {
                // The same answers lead to the same end, as far as there are elements.
                let mut path = open.true_there;
                path.extend(open.false_there.iter().map(|&e| self.env.pool.not(e)));
                path.push(self.ne(numel, 0));
                Viewing::Impossible(self.all(&path))
            }
        }
    }

    /// Whether the elements of a tensor, if it has any, are one chunk without gaps in the order of the dimensions. A
    /// stride is the product of the sizes within; some count sizes of 0 as 1, which matters to empty tensors only.
    fn is_packed(&mut self, tensor: &Tensor) -> bool {
        let counted = self.contiguous_strides(&tensor.sizes);
        let mut product = Expr::ONE;
        for (i, &size) in tensor.sizes.iter().enumerate().rev() {
            if tensor.strides[i] != counted[i] && tensor.strides[i] != product {
                return false;
            }
            product = self.mul(product, size);
        }
        true
    }

    /// The chunks of a tensor that is not empty, innermost first. With `by_hint`, what holds only at the hints counts
    /// and is added there.
    fn chunks(&mut self, tensor: &Tensor, mut by_hint: Option<&mut ByHint>) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut expected = Expr::ONE;
        for (&size, &stride) in tensor.sizes.iter().zip(&tensor.strides).rev() {
            let one = self.eq(size, 1);
            if self.holds(one, by_hint.as_deref_mut()) {
                continue;
            }
            let outside = if chunks.is_empty() { None } else { Some(self.eq(stride, expected)) };
            match (chunks.last_mut(), outside) {
                (Some(chunk), Some(outside)) if self.holds(outside, by_hint.as_deref_mut()) => {
                    chunk.numel = self.mul(chunk.numel, size);
                }
                _ => chunks.push(Chunk { numel: size, stride }),
            }
            let extent = self.at_least_one(size);
            expected = self.mul(stride, extent);
        }
        chunks
    }

    /// Strides of `sizes` that split up the chunks one by one, innermost first.
    fn split_chunks(
        &mut self,
        chunks: &[Chunk],
        sizes: &[Expr],
        mut by_hint: Option<&mut ByHint>,
    ) -> Option<Sizes> {
        let mut strides: Sizes = smallvec![Expr::ONE; sizes.len()];
        let mut at = sizes.len();
        for (i, chunk) in chunks.iter().enumerate() {
            let mut covered = Expr::ONE;
            let mut stride = chunk.stride;
            // The outermost chunk takes all that is left: the numbers of elements agree.
            let last = i + 1 == chunks.len();
            while at > 0 {
                if !last {
                    let full = self.eq(covered, chunk.numel);
                    if self.holds(full, by_hint.as_deref_mut()) {
                        break;
                    }
                }
                at -= 1;
                strides[at] = stride;
                covered = self.mul(covered, sizes[at]);
                let extent = self.at_least_one(sizes[at]);
                stride = self.mul(stride, extent);
            }
            if !last {
                let full = self.eq(covered, chunk.numel);
                if !self.holds(full, by_hint.as_deref_mut()) {
                    return None;
                }
            }
        }
        if chunks.is_empty() {
            return Some(self.contiguous_strides(sizes));
        }
        Some(strides)
    }

    /// Whether a condition holds by the facts or, with `by_hint`, at the hints; what only the hints decide is added
    /// there.
    fn holds(&mut self, condition: Expr, by_hint: Option<&mut ByHint>) -> bool {
        match (self.known(condition), by_hint) {
            (Some(value), _) => value,
            (None, Some(open)) => {
                let holds = self.env.hint(condition).is_some_and(|v| v.as_bool());
                let list = if holds { &mut open.true_there } else { &mut open.false_there };
                list.push(condition);
                holds
            }
            (None, None) => false,
        }
    }

    /// A view of other sizes with as many elements (which the caller has required).
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when the strides do not allow one.
    pub fn view(
        &mut self,
        tensor: &Tensor,
        sizes: Sizes,
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        self.env.need_strides();
        let cannot = |cx: &Cx| {
            let (from, strides, to) =
                (cx.show_all(&tensor.sizes), cx.show_all(&tensor.strides), cx.show_all(&sizes));
            format!("a tensor of shape {from} with strides {strides} cannot be viewed with shape {to}")
        };
        let Viewing::Possible(condition, strides) = self.view_strides(tensor, &sizes) else {
            let numel = self.numel(tensor);
            return Err(match self.env.hint(numel) {
                Some(_) => KernelError::invalid(clause, cannot(self)),
                None => KernelError::DataDependent { condition: numel, message: cannot(self) },
            });
        };
        self.require(condition, clause, cannot)?;
        Ok(tensor.viewed(sizes, strides))
    }

    /// The condition under which a tensor can be viewed in one dimension: its elements lie at equal distances. `false`
    /// where it cannot at the hints.
    ///
    /// # Errors
    /// [`KernelError::DataDependent`] when that depends on sizes that only data decides.
    pub fn is_viewable_flat(&mut self, tensor: &Tensor) -> Result<Expr, KernelError> {
        self.env.need_strides();
        let numel = self.numel(tensor);
        match self.view_strides(tensor, &[numel]) {
            Viewing::Possible(condition, _) => Ok(condition),
            Viewing::Impossible(_) if self.env.hint(numel).is_none() => {
                let sizes = self.show_all(&tensor.sizes);
                let message =
                    format!("whether a tensor of shape {sizes} can be viewed in one dimension is open");
                Err(KernelError::DataDependent { condition: numel, message })
            }
            Viewing::Impossible(_) => Ok(self.env.pool.bool(false)),
        }
    }

    /// The tensor with other sizes and as many elements: a view where the strides allow one, else a contiguous copy.
    pub fn reshaped(&mut self, tensor: &Tensor, sizes: Sizes) -> Tensor {
        match self.view_strides(tensor, &sizes) {
            Viewing::Possible(condition, strides) => {
                if self.layout_choice(condition) {
                    return tensor.viewed(sizes, strides);
                }
            }
            Viewing::Impossible(condition) => {
                // Elsewhere it may be a view, with other strides.
                self.layout_choice(condition);
            }
        }
        self.contiguous(sizes, tensor.dtype, &tensor.device)
    }

    /// The tensor expanded to sizes, where -1 keeps a size: sizes of 1 are repeated with stride 0, dimensions may be
    /// put in front.
    ///
    /// # Errors
    /// [`KernelError::Invalid`] when a size is neither 1 nor the wanted one, when dimensions are missing, or when -1
    /// stands for a dimension that is not there.
    pub fn expanded(
        &mut self,
        tensor: &Tensor,
        wanted: &[Expr],
        clause: &'static OpClause,
    ) -> Result<Tensor, KernelError> {
        let rank = tensor.rank();
        self.check(wanted.len() >= rank, clause, |cx| {
            format!("{} has fewer dimensions than {}", cx.show_all(wanted), cx.show_all(&tensor.sizes))
        })?;
        let new = wanted.len() - rank;
        let minus_one = self.int(-1);
        let mut sizes: Sizes = wanted.into();
        let mut strides: Sizes = smallvec![Expr::ZERO; wanted.len()];
        for i in (0..wanted.len()).rev() {
            let target = wanted[i];
            if i < new {
                let natural = self.ge(target, 0);
                self.require(natural, clause, |cx| {
                    format!("the size {} is not allowed in the leading dimension {i}", cx.show(target))
                })?;
                if target == Expr::ONE {
                    strides[i] = match sizes.get(i + 1) {
                        Some(&inner) => self.mul(inner, strides[i + 1]),
                        None => Expr::ONE,
                    };
                }
                continue;
            }
            let (size, stride) = (tensor.sizes[i - new], tensor.strides[i - new]);
            let kept = target == minus_one || target == size;
            if !kept {
                let natural = self.ge(target, 0);
                self.require(natural, clause, |cx| {
                    format!("the expanded size {} is negative", cx.show(target))
                })?;
            }
            if kept {
                sizes[i] = size;
            }
            if kept || !self.is_repeated(size, target, i, clause)? {
                strides[i] = stride;
            }
        }
        Ok(tensor.viewed(sizes, strides))
    }

    /// Whether a dimension of one size is repeated to reach another one; requires that it is 1 or the same.
    fn is_repeated(
        &mut self,
        size: Expr,
        target: Expr,
        dim: usize,
        clause: &'static OpClause,
    ) -> Result<bool, KernelError> {
        let (same, one) = (self.eq(size, target), self.eq(size, 1));
        let message = |cx: &Cx| {
            format!(
                "the expanded size {} must match the existing size {} at non-singleton dimension {dim}",
                cx.show(target),
                cx.show(size)
            )
        };
        match (self.known(same), self.known(one)) {
            (Some(true), _) => Ok(false),
            (_, Some(true)) => Ok(true),
            // The result has the wanted size whether the two are equal or the size is 1. Where nothing is known of
            // unbacked sizes they are taken to be equal.
            (_, None) if self.env.hint(one).is_some() => {
                let either = self.any(&[same, one]);
                self.require(either, clause, message)?;
                Ok(!self.layout_choice(same))
            }
            _ => self.require(same, clause, message).map(|()| false),
        }
    }

    /// An index that counts from the end when negative, as one from the start.
    pub fn from_start(&mut self, index: Expr, size: Expr) -> Expr {
        let negative = self.lt(index, 0);
        match self.known(negative) {
            Some(false) => index,
            Some(true) => self.add(index, size),
            None => {
                let moved = self.add(index, size);
                self.env.pool.ite(negative, moved, index)
            }
        }
    }

    /// `min(value, size)` for a size, simplified by the facts; the greatest `int64` stands for no bound.
    pub fn clamped_above(&mut self, value: Expr, limit: Expr) -> Expr {
        if self.env.pool.as_int(value).is_some_and(|v| v >= Int::from(i64::MAX)) {
            return limit;
        }
        // Sizes are never negative.
        if value == Expr::ZERO || value == limit {
            return value;
        }
        let below = self.le(value, limit);
        match self.known(below) {
            Some(true) => value,
            Some(false) => limit,
            None => self.min(value, limit),
        }
    }

    /// `max(value, limit)`, simplified by the facts.
    pub fn clamped_below(&mut self, value: Expr, limit: Expr) -> Expr {
        let above = self.ge(value, limit);
        match self.known(above) {
            Some(true) => value,
            Some(false) => limit,
            None => self.max(value, limit),
        }
    }

    /// Every `step`-th element of a dimension of size `d` from `start` up to `end`, both as in Python's slices:
    /// `max(0, min(end, d) - max(start, 0))` elements lie between them, negative ones counted from the end first.
    pub fn sliced(&mut self, tensor: &Tensor, dim: usize, start: Expr, end: Expr, step: Expr) -> Tensor {
        let (size, stride) = (tensor.sizes[dim], tensor.strides[dim]);
        let start = self.from_start(start, size);
        let start = self.clamped_below(start, Expr::ZERO);
        let end = self.from_start(end, size);
        let end = self.clamped_above(end, size);
        let span = self.sub(end, start);
        let span = self.clamped_below(span, Expr::ZERO);
        let mut result = tensor.viewed(tensor.sizes.clone(), tensor.strides.clone());
        result.sizes[dim] = self.ceil_div(span, step);
        result.strides[dim] = self.mul(stride, step);
        let first = self.clamped_above(start, size);
        let skipped = self.mul(first, stride);
        result.offset = self.add(result.offset, skipped);
        result
    }

    /// The first element of a slice that begins at `start`: an index, or the size where the slice has no elements.
    pub fn first_of_slice(&mut self, start: Expr, size: Expr) -> Expr {
        let start = self.from_start(start, size);
        let start = self.clamped_below(start, Expr::ZERO);
        self.clamped_above(start, size)
    }

    /// A copy of a tensor, contiguous.
    pub fn contiguous_copy(&mut self, tensor: &Tensor) -> Tensor {
        self.contiguous(tensor.sizes.clone(), tensor.dtype, &tensor.device)
    }
}

impl Cx<'_> {
    /// Whether a dimension of a size is dropped by squeezing, that is whether the size is 1: by the facts, else by
    /// the hints (a guard). An unbacked size is taken not to be 1, which becomes a runtime assertion.
    ///
    /// # Errors
    /// None in effect: an assumption of an open condition is never refuted.
    pub fn drops(&mut self, size: Expr, clause: &'static OpClause) -> Result<bool, KernelError> {
        let one = self.eq(size, 1);
        match self.env.branch(one, clause) {
            Some(value) => Ok(value),
            None => {
                let more = self.not(one);
                self.require(more, clause, |cx| format!("the size {} is not to be 1", cx.show(size)))?;
                Ok(false)
            }
        }
    }
}

/// An operator with more results than this is not followed.
const MAX_RESULTS: i64 = 1 << 16;

impl Cx<'_> {
    /// A number of results, bounded so that sizes cannot exhaust memory.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] above the bound.
    pub fn result_count(&self, count: i64) -> Result<std::ops::Range<i64>, KernelError> {
        if count > MAX_RESULTS {
            return Err(KernelError::Unsupported(format!("{count} results are more than {MAX_RESULTS}")));
        }
        Ok(0..count)
    }
}

/// The results of a view, copied: contiguous tensors of the same sizes.
///
/// # Errors
/// Those of the view.
pub(super) fn copied(cx: &mut Cx, args: &Args, view: Kernel) -> KernelResult {
    let mut results = view(cx, args)?;
    for value in &mut results {
        match value {
            Value::Tensor(t) => *t = Arc::new(cx.contiguous_copy(t)),
            Value::Tensors(items) => {
                for t in items.iter_mut().flatten() {
                    *t = Arc::new(cx.contiguous_copy(t));
                }
            }
            _ => {}
        }
    }
    Ok(results)
}
