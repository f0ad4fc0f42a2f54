//! Assertions in graphs, and bounds put on symbolic numbers.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Tensor, Value, Values};
use sizewise_env::{Clause, Clauses, clauses, sym_constrain_range};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[linalg_check_errors::ALL, _assert_tensor_metadata::ALL, _assert_async::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    assert_tensor_metadata => "aten._assert_tensor_metadata.default";
    assert_async => "aten._assert_async.default", "aten._assert_async.msg", "aten._functional_assert_async.msg";
    assert_scalar => "aten._assert_scalar.default", "aten._functional_assert_scalar.default";
    constrain_range => "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default",
        "aten._functional_sym_constrain_range.default", "aten._functional_sym_constrain_range_for_size.default";
    |_, _| Ok(Values::new()) => "aten._print.default";
    check_errors => "aten._linalg_check_errors.default";
};

clauses! { linalg_check_errors {
    C1 "`info` is of `int32`."
} }

/// `_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()`.
fn check_errors(cx: &mut Cx, args: &Args) -> KernelResult {
    let found = args.tensor("info")?.dtype;
    cx.check(found == Dtype::Int32, linalg_check_errors::C1, |_| format!("int32 is expected, not {found}"))?;
    Ok(Values::new())
}

/// The token that a functional variant hands on, else nothing.
fn done(args: &Args) -> KernelResult {
    if !args.has("dep_token") {
        return Ok(Values::new());
    }
    one(Tensor { wrapped: false, ..(**args.tensor("dep_token")?).clone() })
}

clauses! { _assert_tensor_metadata {
    C1 "The tensor has the sizes that are asserted."
    C2 "The tensor has the strides that are asserted."
    C3 "The tensor has the dtype that is asserted."
    C4 "The tensor is on the device that is asserted."
    C5 "The tensor has the layout that is asserted."
} }

/// `aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *,
/// Device? device=None, Layout? layout=None) -> ()`.
fn assert_tensor_metadata(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("a")?;
    let pairs = [
        ("size", &x.sizes, Clause::TensorAssertion(_assert_tensor_metadata::C1)),
        ("stride", &x.strides, Clause::TensorAssertion(_assert_tensor_metadata::C2)),
    ];
    for (name, held, clause) in pairs {
        if let Some(given) = args.opt_ints(name)? {
            if given.len() != held.len() {
                let message = format!("{name} is {}, not {}", cx.show_all(held), cx.show_all(given));
                return Err(KernelError::invalid(clause, message));
            }
            for (&held, &given) in held.iter().zip(given) {
                cx.require_eq(held, given, clause, name)?;
            }
        }
    }
    if let Some(dtype) = args.opt_dtype("dtype")? {
        cx.check(dtype == x.dtype, _assert_tensor_metadata::C3, |_| {
            format!("dtype is {}, not {dtype}", x.dtype)
        })?;
    }
    if let Some(device) = args.opt_device("device")? {
        cx.check(device == x.device, _assert_tensor_metadata::C4, |_| {
            format!("device is {}, not {device}", x.device)
        })?;
    }
    if let Some(layout) = args.opt_layout("layout")? {
        cx.check(layout == x.layout, _assert_tensor_metadata::C5, |_| {
            format!("layout is {}, not {layout}", x.layout)
        })?;
    }
    Ok(Values::new())
}

clauses! { _assert_async {
    C1 "The tensor has one element."
} }

/// `aten::_assert_async.msg(Tensor self, str assert_msg) -> ()`: what it asserts is data.
fn assert_async(cx: &mut Cx, args: &Args) -> KernelResult {
    let numel = cx.numel(args.tensor("self")?);
    let clause = Clause::TensorAssertion(_assert_async::C1);
    cx.require_eq(numel, Expr::ONE, clause, "the number of elements is to be 1")?;
    done(args)
}

/// `aten::_assert_scalar(Scalar self, str assert_msg) -> ()`.
fn assert_scalar(cx: &mut Cx, args: &Args) -> KernelResult {
    let condition = match args.scalar("self")? {
        Scalar::Bool(e) | Scalar::Int(e) | Scalar::Float(e) => cx.pool().truth(e),
        Scalar::Complex(re, im) => cx.pool().bool(re != 0.0 || im != 0.0),
    };
    let message = args.str("assert_msg")?.to_string();
    cx.require(condition, Clause::ScalarAssertion, |cx| match condition.as_literal_bool() {
        // The message says what is false.
        Some(_) if !message.is_empty() => message,
        _ => format!("{} is false: {message}", cx.show(condition)),
    })?;
    done(args)
}

/// `aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()`; `…_for_size` has 0 as its least
/// `min`.
fn constrain_range(cx: &mut Cx, args: &Args) -> KernelResult {
    let size = match args.value("size")? {
        Value::Int(e) => *e,
        Value::Bool(e) => cx.pool().as_integer(*e),
        other => {
            let message = format!("an integer is expected, not {}", other.kind());
            return Err(KernelError::invalid(sym_constrain_range::C1, message));
        }
    };
    let (mut least, most) = (args.opt_int("min")?, args.opt_int("max")?);
    if args.schema.name.ends_with("for_size") {
        least = Some(least.map_or(Expr::ZERO, |least| cx.max(least, 0)));
    }
    if let (Some(least), Some(most)) = (least, most) {
        let ordered = cx.le(least, most);
        cx.require(ordered, sym_constrain_range::C1, |cx| {
            format!("the range from {} to {} is empty", cx.show(least), cx.show(most))
        })?;
    }
    for (bound, upper) in [(least, false), (most, true)] {
        let Some(bound) = bound else { continue };
        let within = if upper { cx.le(size, bound) } else { cx.ge(size, bound) };
        cx.require(within, Clause::RangeConstraint, |cx| {
            format!("{} lies beyond the bound {}", cx.show(size), cx.show(bound))
        })?;
    }
    done(args)
}
