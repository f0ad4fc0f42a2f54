//! Strides of results: contiguity, memory formats and the order that element-wise operators keep.
use super::context::Cx;
use super::tensor::{Sizes, Tensor};
use sizewise_expr::Expr;
use sizewise_ir::dtype::MemoryFormat;
use smallvec::{SmallVec, smallvec};

/// A permutation of dimensions, or some of them.
type Order = SmallVec<[usize; 5]>;

/// The dimensions of a memory format from the innermost to the outermost, for the rank that has it.
fn format_order(format: MemoryFormat, rank: usize) -> Option<&'static [usize]> {
    match (format, rank) {
        (MemoryFormat::ChannelsLast, 4) => Some(&[1, 3, 2, 0]),
        (MemoryFormat::ChannelsLast3d, 5) => Some(&[1, 4, 3, 2, 0]),
        _ => None,
    }
}

impl Cx<'_> {
    /// Strides without gaps for dimensions laid out in `order`, innermost first.
    pub fn strides_in_order(&mut self, sizes: &[Expr], order: &[usize]) -> Sizes {
        let mut strides: Sizes = smallvec![Expr::ONE; sizes.len()];
        let Some((&innermost, outside)) = order.split_first() else { return strides };
        let mut inside = innermost;
        for &dim in outside {
            let size = self.at_least_one(sizes[inside]);
            strides[dim] = self.mul(strides[inside], size);
            inside = dim;
        }
        strides
    }

    /// The strides of a fresh tensor in a memory format; contiguous where the format is not for this rank.
    pub fn format_strides(&mut self, sizes: &[Expr], format: MemoryFormat) -> Sizes {
        match format_order(format, sizes.len()) {
            Some(order) => self.strides_in_order(sizes, order),
            None => self.contiguous_strides(sizes),
        }
    }

    /// Whether the tensor's strides are those of a contiguous one, dimensions of size 1 aside.
    pub fn is_contiguous(&mut self, tensor: &Tensor) -> bool {
        let order: Order = (0..tensor.rank()).rev().collect();
        self.is_laid_out(tensor, &order)
    }

    /// Whether the tensor is laid out in a memory format.
    pub fn has_format(&mut self, tensor: &Tensor, format: MemoryFormat) -> bool {
        match (format, format_order(format, tensor.rank())) {
            (_, Some(order)) => self.is_laid_out(tensor, order),
            (MemoryFormat::Contiguous, None) => self.is_contiguous(tensor),
            _ => false,
        }
    }

    /// Whether strides are without gaps when dimensions are taken in `order`, innermost first. Dimensions of size 1
    /// may have any stride; an empty tensor always qualifies.
    fn is_laid_out(&mut self, tensor: &Tensor, order: &[usize]) -> bool {
        let mut expected = Expr::ONE;
        let mut conditions = Vec::new();
        // The dimension before, whose extent counts only if another one lies outside of it.
        let mut inside = Expr::ONE;
        for &dim in order {
            let (size, stride) = (tensor.sizes[dim], tensor.strides[dim]);
            if size == Expr::ONE {
                continue;
            }
            if inside != Expr::ONE {
                let extent = self.at_least_one(inside);
                expected = self.mul(expected, extent);
            }
            if stride != expected {
                let (same, one) = (self.eq(stride, expected), self.eq(size, 1));
                conditions.push(self.any(&[same, one]));
            }
            inside = size;
        }
        if conditions.is_empty() {
            return true;
        }
        let all = self.all(&conditions);
        if self.env.pool.as_bool(all) == Some(false)
            && tensor.sizes.iter().all(|s| s.as_inline().is_some_and(|v| v > 0))
        {
            return false;
        }
        let numel = self.numel(tensor);
        let empty = self.eq(numel, 0);
        let either = self.any(&[all, empty]);
        self.layout_choice(either)
    }

    /// The memory format that operators on images keep: channels last where the strides say so, else contiguous.
    pub fn suggested_format(&mut self, tensor: &Tensor) -> MemoryFormat {
        let format = match tensor.rank() {
            4 => MemoryFormat::ChannelsLast,
            5 => MemoryFormat::ChannelsLast3d,
            _ => return MemoryFormat::Contiguous,
        };
        let order: Order = (0..tensor.rank()).rev().collect();
        // The usual case first: structurally contiguous.
        if self.is_plainly(tensor, &order) && tensor.sizes.iter().all(|s| *s != Expr::ONE) {
            return MemoryFormat::Contiguous;
        }
        if self.strides_suggest(tensor, format) { format } else { MemoryFormat::Contiguous }
    }

    /// Whether the strides are literally those of a tensor laid out in `order`.
    fn is_plainly(&mut self, tensor: &Tensor, order: &[usize]) -> bool {
        self.strides_in_order(&tensor.sizes, order) == tensor.strides
    }

    /// The heuristic by which torch tells channels-last strides, sizes of 1 being ambiguous: strides, innermost
    /// first, never fall below the extent of the dimension inside, and a tensor of one pixel or one channel counts as
    /// contiguous.
    fn strides_suggest(&mut self, tensor: &Tensor, format: MemoryFormat) -> bool {
        let Some(order) = format_order(format, tensor.rank()) else { return false };
        let channel = tensor.strides[1];
        if channel == Expr::ZERO {
            return false;
        }
        let mut least = Expr::ZERO;
        for &dim in order {
            let (size, stride) = (tensor.sizes[dim], tensor.strides[dim]);
            let empty = self.eq(size, 0);
            if self.layout_choice(empty) {
                return false;
            }
            let short = self.lt(stride, least);
            if self.layout_choice(short) {
                return false;
            }
            // N111 with identical strides is contiguous by convention.
            if dim == 0 {
                let ambiguous = self.eq(least, channel);
                if self.layout_choice(ambiguous) {
                    return false;
                }
            }
            least = stride;
            let more = self.gt(size, 1);
            if self.layout_choice(more) {
                least = self.mul(least, size);
            }
        }
        true
    }

    /// The strides of a fresh tensor shaped like `tensor` that keeps its order of dimensions where it is dense and
    /// free of overlap, else as an element-wise operator would lay it out (torch's `preserve_format`).
    pub fn preserved_strides(&mut self, tensor: &Tensor) -> Sizes {
        if self.is_dense(tensor) {
            return tensor.strides.clone();
        }
        self.elementwise_strides(&tensor.sizes.clone(), &[tensor])
    }

    /// Whether the tensor covers its memory without gaps and overlaps.
    pub fn is_dense(&mut self, tensor: &Tensor) -> bool {
        let contiguous: Order = (0..tensor.rank()).rev().collect();
        if self.is_plainly(tensor, &contiguous) {
            return true;
        }
        let order = self.stride_order(&tensor.sizes.clone(), std::slice::from_ref(&tensor.strides));
        // A stride of 0 over more than one element overlaps.
        self.is_laid_out(tensor, &order)
    }

    /// The strides that element-wise operators give their result: dimensions keep the order they have in the
    /// operands, the first operand that tells two dimensions apart deciding (TensorIterator's rule), without gaps.
    pub fn elementwise_strides(&mut self, sizes: &[Expr], operands: &[&Tensor]) -> Sizes {
        // One dimension has no order to keep: it is laid out without gaps whatever the operands' strides.
        if sizes.len() <= 1 {
            return self.contiguous_strides(sizes);
        }
        let contiguous: Order = (0..sizes.len()).rev().collect();
        let full = |t: &&&Tensor| t.sizes.as_slice() == sizes;
        // All alike: the result is laid out as they are.
        if let Some(first) = operands.first().filter(full)
            && self.is_plainly(first, &contiguous)
        {
            return first.strides.clone();
        }
        if operands.iter().all(|t| full(&t)) {
            if operands.iter().all(|t| self.is_contiguous(t)) {
                return self.contiguous_strides(sizes);
            }
            for format in [MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d] {
                if format_order(format, sizes.len()).is_some()
                    && operands.iter().all(|t| self.has_format(t, format))
                {
                    return self.format_strides(sizes, format);
                }
            }
            if let [first, rest @ ..] = operands
                && rest.iter().all(|t| t.strides == first.strides)
                && self.is_dense(first)
            {
                return first.strides.clone();
            }
        }
        self.ordered_strides(sizes, operands)
    }

    /// Strides without gaps in the order of dimensions that the operands have: [`Cx::elementwise_strides`] without the
    /// short ways that torch takes where it would come to the same, but for strides of dimensions of size 1.
    pub fn ordered_strides(&mut self, sizes: &[Expr], operands: &[&Tensor]) -> Sizes {
        let mut aligned: Vec<Sizes> = Vec::with_capacity(operands.len());
        for tensor in operands {
            let Some(shift) = sizes.len().checked_sub(tensor.rank()) else { continue };
            let mut strides: Sizes = smallvec![Expr::ZERO; sizes.len()];
            for i in 0..tensor.rank() {
                // Where the operand's size is another expression than the result's, it may be 1 there and not here.
                let broadcast = tensor.sizes[i] != sizes[shift + i] && {
                    let one = self.eq(tensor.sizes[i], 1);
                    self.layout_choice(one)
                };
                strides[shift + i] = if broadcast { Expr::ZERO } else { tensor.strides[i] };
            }
            aligned.push(strides);
        }
        let order = self.stride_order(sizes, &aligned);
        self.strides_in_order(sizes, &order)
    }

    /// Dimensions from the innermost to the outermost: a stable insertion sort by the operands' strides that begins
    /// from row-major order and leaves ambiguous pairs where they are.
    fn stride_order(&mut self, sizes: &[Expr], strides: &[Sizes]) -> Order {
        let mut order: Order = (0..sizes.len()).rev().collect();
        for i in 1..order.len() {
            let mut at = i;
            for below in (0..i).rev() {
                match self.compare_strides(sizes, strides, order[below], order[at]) {
                    Some(true) => {
                        order.swap(below, at);
                        at = below;
                    }
                    Some(false) => break,
                    None => {}
                }
            }
        }
        order
    }

    /// Whether dimension `a` lies outside `b` (`Some(true)`), inside it, or the operands do not tell.
    fn compare_strides(&mut self, sizes: &[Expr], strides: &[Sizes], a: usize, b: usize) -> Option<bool> {
        for operand in strides {
            let (x, y) = (operand[a], operand[b]);
            if x == Expr::ZERO || y == Expr::ZERO {
                continue;
            }
            if x == y {
                let wider = self.gt(sizes[a], sizes[b]);
                if self.layout_choice(wider) {
                    return Some(true);
                }
                continue;
            }
            let less = self.lt(x, y);
            if self.layout_choice(less) {
                return Some(false);
            }
            let more = self.gt(x, y);
            if self.layout_choice(more) {
                return Some(true);
            }
            let wider = self.gt(sizes[a], sizes[b]);
            if self.layout_choice(wider) {
                return Some(true);
            }
        }
        None
    }
}
