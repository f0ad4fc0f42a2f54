//! Positions of values in sorted sequences, and whether values occur at all.
use crate::domain::Domain;
use crate::elementwise::Operand;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::Category;
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Func};
use sizewise_ir::dtype::{Device, Dtype};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[search::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| {
        let sizes = args.tensor("self")?.sizes.clone();
        bucketize(cx, args, sizes)
    } => "aten.bucketize.Tensor";
    |cx, args| bucketize(cx, args, Sizes::new()) => "aten.bucketize.Scalar";
    |cx, args| {
        let sizes = args.tensor("self")?.sizes.clone();
        searchsorted(cx, args, &sizes)
    } => "aten.searchsorted.Tensor";
    |cx, args| searchsorted(cx, args, &[]) => "aten.searchsorted.Scalar";
    isin => "aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor";
    row_starts => "aten._convert_indices_from_coo_to_csr.default";
};

/// The dtype of positions.
fn position_dtype(args: &Args) -> Result<Dtype, KernelError> {
    Ok(if args.flag("out_int32")? { Dtype::Int32 } else { Dtype::Int64 })
}

/// `aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32, bool right) -> Tensor`: shaped like `self`.
fn bucketize(cx: &mut Cx, args: &Args, sizes: Sizes) -> KernelResult {
    let boundaries = args.tensor("boundaries")?;
    cx.check(boundaries.rank() == 1, search::C1, |_| {
        format!("the boundaries have {} dimensions, 1 is expected", boundaries.rank())
    })?;
    ordered(cx, boundaries)?;
    if let crate::Value::Tensor(x) = args.value("self")? {
        ordered(cx, x)?;
    }
    one(cx.contiguous(sizes, position_dtype(args)?, &boundaries.device))
}

fn ordered(cx: &mut Cx, x: &Tensor) -> Result<(), KernelError> {
    cx.check(!x.dtype.is_complex(), search::C6, |_| format!("{} numbers have no order", x.dtype))
}

clauses! { search {
    C1 "`boundaries` has 1 dimension."
    C2 "`sorted_sequence` has 1 dimension, or the rank and leading sizes of the values. With a value \
        without dimensions, it has 1 dimension."
    C3 "The values and the sorted sequence have the same dtype, unless either is empty."
    C4 "`sorter` is of `int64` and has the shape of `sorted_sequence`."
    C5 "`side` is `left` or `right`, and is not `left` if `right` is set."
    C6 "The dtype is ordered: not complex, and for `isin` not `bool`."
    C7 "`self` has at most 1 dimension."
    C8 "`size` is not negative."
    C9 "`self` has an integer dtype, on the CPU."
    C10 "`test_elements` can be viewed in 1 dimension. This does not apply if it has at least `int(10 * \
         n**0.145)` elements, or if `n`, the number of elements that are looked up, is 0 \
         (`aten/src/ATen/native/TensorCompare.cpp`)."
} }

/// `aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32, bool right, str? side, Tensor?
/// sorter) -> Tensor`: shaped like `self`.
fn searchsorted(cx: &mut Cx, args: &Args, values: &[Expr]) -> KernelResult {
    let sequence = args.tensor("sorted_sequence")?;
    ordered(cx, sequence)?;
    let alike = sequence.rank() == 1 || (sequence.rank() == values.len() && !values.is_empty());
    cx.check(alike, search::C2, |cx| {
        let (a, b) = (cx.show_all(&sequence.sizes), cx.show_all(values));
        format!("sequences of shape {a} do not go with values of shape {b}")
    })?;
    if sequence.rank() > 1 {
        for (&a, &b) in sequence.sizes.iter().zip(values).take(values.len() - 1) {
            cx.require_eq(a, b, search::C2, "sequences and values differ in a size before the last")?;
        }
    }
    if let crate::Value::Tensor(x) = args.value("self")? {
        let (sought, among) = (cx.numel(x), cx.numel(sequence));
        let same = x.wrapped
            || x.dtype == sequence.dtype
            || cx.is_nothing(sought, search::C3)
            || cx.is_nothing(among, search::C3);
        cx.check(same, search::C3, |_| format!("the dtypes differ: {} and {}", sequence.dtype, x.dtype))?;
    }
    if let Some(sorter) = args.opt_tensor("sorter")? {
        cx.check(sorter.dtype == Dtype::Int64, search::C4, |_| {
            format!("the sorter is of {}, int64 is expected", sorter.dtype)
        })?;
        cx.require_same_shape(&sorter.sizes, &sequence.sizes, search::C4)?;
    }
    if let Some(side) = args.opt_str("side")? {
        let sound = side == "right" || (side == "left" && !args.flag("right")?);
        cx.check(sound, search::C5, |_| format!("side {side} is unknown or contradicts right"))?;
    }
    one(cx.contiguous(values, position_dtype(args)?, &sequence.device))
}

/// `aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique, bool invert) -> Tensor` and
/// its like: shaped like the elements, `bool`.
///
/// The elements and what they are sought in are ordered, and no `bool`.
fn isin(cx: &mut Cx, args: &Args) -> KernelResult {
    let operands = [args.operand(0)?, args.operand(1)?];
    let (mut sizes, mut device) = (Sizes::new(), None);
    for (at, operand) in operands.iter().enumerate() {
        let Operand::Tensor(x) = operand else {
            let ordered = matches!(operand.category(), Category::Int | Category::Float);
            cx.check(ordered, search::C6, |_| "bool and complex numbers are not sought".into())?;
            continue;
        };
        cx.require_kind(x, Domain::REAL.by_definition(), search::C6)?;
        if at == 0 {
            sizes = x.sizes.clone();
        }
        device.get_or_insert_with(|| x.device.clone());
    }
    if let Operand::Tensor(among) = operands[1] {
        let elements = cx.product(sizes.iter().copied());
        require_viewable_flat(cx, elements, among)?;
    }
    one(cx.contiguous(sizes, Dtype::Bool, &device.unwrap_or_else(Device::cpu)))
}

fn require_viewable_flat(cx: &mut Cx, elements: Expr, among: &Tensor) -> Result<(), KernelError> {
    let viewable = cx.is_viewable_flat(among)?;
    if cx.surely(viewable) {
        return Ok(());
    }
    let sought = cx.numel(among);
    let pool = cx.pool();
    let (exponent, ten) = (pool.float(0.145), pool.float(10.0));
    let power = pool.float_pow(elements, exponent);
    let limit = pool.mul(ten, power);
    let limit = pool.float_to_int(Func::Trunc, limit);
    let (many, none) = (cx.ge(sought, limit), cx.eq(elements, 0));
    let condition = cx.any(&[viewable, none, many]);
    cx.require(condition, search::C10, |cx| {
        let (sizes, strides) = (cx.show_all(&among.sizes), cx.show_all(&among.strides));
        format!("test elements of shape {sizes} with strides {strides} cannot be viewed in one dimension")
    })
}

/// `aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor`: where each of
/// `size` rows starts in the sorted row indices `self`, and where the last one ends: `[size + 1]`.
fn row_starts(cx: &mut Cx, args: &Args) -> KernelResult {
    let (rows, size) = (args.tensor("self")?, args.int("size")?);
    cx.check(rows.rank() <= 1, search::C7, |_| {
        format!("the row indices have {} dimensions, at most 1 is expected", rows.rank())
    })?;
    let natural = cx.ge(size, 0);
    cx.require(natural, search::C8, |cx| format!("the number of rows is negative: {}", cx.show(size)))?;
    cx.require_kind(rows, Domain::INT.on_cpu(), search::C9)?;
    let starts = cx.add(size, 1);
    one(cx.contiguous([starts].as_slice(), position_dtype(args)?, &rows.device))
}
