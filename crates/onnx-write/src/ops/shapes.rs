//! Sizes, and tensors with the same elements in other dimensions.

use super::super::attribute;
use super::super::call::{Call, axis};
use super::super::value::{Made, Val, one};
use sizewise_ir::{Argument, Dtype, Operand};

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    let x = call.tensor("self").or_else(|| call.tensor("input"))?;
    match op.strip_suffix("_copy").unwrap_or(op) {
        "sym_size" | "size" if overload == "int" => {
            let dim = axis(call.int("dim", 0)?, x.rank)?;
            let size = call.size(&x, dim);
            one(call.scalar(&size))
        }
        "sym_numel" | "numel" => {
            let count = call.put("Size", &[&x], Vec::new(), (Dtype::Int64, 0));
            one(count)
        }
        "_local_scalar_dense" | "item" => one(call.scalar(&x)),
        "view" if overload == "dtype" => None,
        "view" | "reshape" | "_unsafe_view" | "_reshape_alias" => {
            let elements = call.elements("size").or_else(|| call.elements("shape"))?;
            let rank = elements.len();
            let sizes = call.vector(&elements)?;
            one(call.reshape(&x, &sizes, rank))
        }
        "view_as" | "reshape_as" => {
            let other = call.tensor("other")?;
            let sizes = call.shape(&other);
            one(call.reshape(&x, &sizes, other.rank))
        }
        "flatten" => flatten(call, &x),
        "unflatten" => {
            let at = axis(call.int("dim", 0)?, x.rank)?;
            let elements = call.elements("sizes")?;
            let middle = call.vector(&elements)?;
            let open = elements.contains(&Operand::Literal(-1));
            regrouped(call, &x, at, at + 1, (&middle, elements.len(), open))
        }
        "unsqueeze" => {
            let dim = call.int("dim", 0)?;
            one(call.unsqueeze(&x, &[dim]))
        }
        "squeeze" => squeeze(call, &x, overload),
        "permute" => {
            let order: Option<Vec<usize>> =
                call.ints("dims")?.into_iter().map(|dim| axis(dim, x.rank)).collect();
            one(call.permute(&x, &order?))
        }
        "movedim" | "moveaxis" => movedim(call, &x),
        "transpose" | "swapaxes" | "swapdims" => transpose(call, &x),
        "t" | "numpy_T" | "mT" | "adjoint" => {
            let mut order: Vec<usize> = (0..x.rank).collect();
            let first = if op == "numpy_T" { 0 } else { x.rank.saturating_sub(2) };
            order[first..].reverse();
            one(call.permute(&x, &order))
        }
        "expand" => expand(call, &x),
        "expand_as" => {
            let other = call.tensor("other")?;
            let sizes = call.shape(&other);
            one(call.put("Expand", &[&x, &sizes], Vec::new(), (x.dtype, other.rank)))
        }
        // `copy(self, src)`: what is copied takes the form of what it is copied to.
        "copy" => {
            let src = call.tensor("src")?;
            if src.dtype != x.dtype && (src.dtype.is_complex() || x.dtype.is_complex()) {
                return None;
            }
            let src = call.cast(&src, x.dtype);
            let sizes = call.shape(&x);
            one(call.put("Expand", &[&src, &sizes], Vec::new(), (x.dtype, x.rank)))
        }
        "repeat" | "tile" => repeat(call, &x),
        // onnxruntime has no kernel for 64-bit integers, and no wider dtype holds them.
        "pixel_shuffle" if x.rank == 4 && !matches!(x.dtype, Dtype::Int64 | Dtype::Uint64) => {
            let attributes = vec![
                attribute::int("blocksize", call.int("upscale_factor", 1)?),
                attribute::string("mode", "CRD"),
            ];
            one(call.put("DepthToSpace", &[&x], attributes, (x.dtype, 4)))
        }
        _ => None,
    }
}

fn transpose(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let of = |call: &Call<'_, '_, '_>, names: [&str; 2]| {
        call.int(names[0], i64::MIN).filter(|dim| *dim != i64::MIN).or_else(|| call.int(names[1], 0))
    };
    let (a, b) = (of(call, ["dim0", "axis0"])?, of(call, ["dim1", "axis1"])?);
    let mut order: Vec<usize> = (0..x.rank).collect();
    if x.rank > 0 {
        order.swap(axis(a, x.rank)?, axis(b, x.rank)?);
    }
    one(call.permute(x, &order))
}

/// `Expand` keeps a dimension where it is given 1: what `expand` says with -1.
fn expand(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let kept = |item: Operand<i64>| match item {
        Operand::Literal(-1) => Operand::Literal(1),
        other => other,
    };
    let elements: Vec<_> = call.elements("size")?.into_iter().map(kept).collect();
    let sizes = call.vector(&elements)?;
    one(call.put("Expand", &[x, &sizes], Vec::new(), (x.dtype, elements.len())))
}

fn flatten(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let (begin, end) = (axis(call.int("start_dim", 0)?, x.rank)?, axis(call.int("end_dim", -1)?, x.rank)?);
    if x.rank == 0 {
        return one(call.flat(x));
    }
    if begin == 0 && end + 1 == x.rank {
        return one(call.flat(x));
    }
    if begin == end {
        return one(x.clone());
    }
    // The product is computed, as -1 is open beside a size of 0.
    let mut product = call.size(x, begin);
    for dim in begin + 1..=end {
        let size = call.size(x, dim);
        product = call.map("Mul", &[&product, &size]);
    }
    regrouped(call, x, begin, end + 1, (&product, 1, false))
}

/// The value with the sizes of dimensions `begin..end` replaced.
fn regrouped(
    call: &mut Call<'_, '_, '_>,
    x: &Val,
    begin: usize,
    end: usize,
    (middle, count, open): (&Val, usize, bool),
) -> Made {
    let mut parts = Vec::new();
    for dim in 0..begin {
        parts.push(call.size(x, dim));
    }
    parts.push(middle.clone());
    for dim in end..x.rank {
        parts.push(call.size(x, dim));
    }
    let parts: Vec<&Val> = parts.iter().collect();
    let sizes = call.put("Concat", &parts, vec![attribute::int("axis", 0)], (Dtype::Int64, 1));
    // A size that is left open cannot stand beside one of 0, which then means the size before.
    let rank = x.rank + count - (end - begin);
    one(match open {
        true => call.put("Reshape", &[x, &sizes], Vec::new(), (x.dtype, rank)),
        false => call.reshape(x, &sizes, rank),
    })
}

/// Only dimensions whose recorded size is 1 go, as for torch when it traced the program.
fn squeeze(call: &mut Call<'_, '_, '_>, x: &Val, overload: &str) -> Made {
    let recorded = &call.recorded("self").or_else(|| call.recorded("input"))?.sizes;
    let is_one = |dim: usize| matches!(recorded.get(dim), Some(sizewise_ir::Sym::Literal(1)));
    let named: Vec<usize> = match overload {
        "default" => (0..x.rank).collect(),
        _ => call.ints("dim")?.into_iter().map(|dim| axis(dim, x.rank)).collect::<Option<_>>()?,
    };
    let dims: Vec<i64> =
        named.into_iter().filter(|&dim| is_one(dim)).filter_map(|dim| i64::try_from(dim).ok()).collect();
    if x.rank - dims.len() != call.out_rank() {
        return None;
    }
    one(if dims.is_empty() { x.clone() } else { call.squeeze(x, &dims) })
}

fn movedim(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let places = |call: &Call<'_, '_, '_>, name: &str| -> Option<Vec<usize>> {
        call.ints(name)?.into_iter().map(|dim| axis(dim, x.rank)).collect()
    };
    let (from, to) = (places(call, "source")?, places(call, "destination")?);
    let mut order = vec![None; x.rank];
    for (&from, &to) in from.iter().zip(&to) {
        order[to] = Some(from);
    }
    let mut rest = (0..x.rank).filter(|dim| !from.contains(dim));
    let order: Option<Vec<usize>> = order.into_iter().map(|dim| dim.or_else(|| rest.next())).collect();
    one(call.permute(x, &order?))
}

fn repeat(call: &mut Call<'_, '_, '_>, x: &Val) -> Made {
    let mut times = call.elements("repeats").or_else(|| call.elements("dims"))?;
    let mut x = x.clone();
    while times.len() < x.rank {
        times.insert(0, Operand::Literal(1));
    }
    let missing = i64::try_from(times.len() - x.rank).ok()?;
    if missing > 0 {
        x = call.unsqueeze(&x, &(0..missing).collect::<Vec<_>>());
    }
    let times = call.vector(&times)?;
    one(call.put("Tile", &[&x, &times], Vec::new(), (x.dtype, x.rank)))
}

impl Call<'_, '_, '_> {
    /// An index that may be a value, as a number without dimensions.
    pub fn index(&mut self, name: &str, default: i64) -> Option<Val> {
        match self.arg(name) {
            None => Some(self.integer(default, Dtype::Int64)),
            Some(argument @ (Argument::Int(_) | Argument::SymInt(_))) => {
                self.in_dtype(argument, Dtype::Int64)
            }
            Some(_) => None,
        }
    }

    /// An index that may be a value, as a vector of one.
    pub fn index_vector(&mut self, name: &str, default: i64) -> Option<Val> {
        let element = match self.arg(name) {
            None => Operand::Literal(default),
            Some(Argument::Int(value)) => Operand::Literal(*value),
            Some(Argument::SymInt(operand)) => *operand,
            Some(_) => return None,
        };
        self.vector(&[element])
    }
}
