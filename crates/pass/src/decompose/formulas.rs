//! Operators whose meaning is one formula.

/// How a formula is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Math {
    /// In the dtypes of the operands.
    Exact,
    /// Halves in `float32`, integers in the dtype of the result.
    Float,
}
use Math::{Exact, Float};

/// Operator, how it is computed, formula.
pub const FORMULAS: &[(&str, Math, &str)] = &[
    // Other names of operators.
    ("absolute.default", Exact, "abs(self)"),
    ("negative.default", Exact, "neg(self)"),
    ("positive.default", Exact, "self"),
    ("detach.default", Exact, "self"),
    ("lift.default", Exact, "self"),
    ("resolve_conj.default", Exact, "self"),
    ("resolve_neg.default", Exact, "self"),
    ("lift_fresh_copy.default", Exact, "clone(self)"),
    ("lift_fresh.default", Exact, "self"),
    ("subtract.Tensor", Exact, "sub.Tensor(self, other, alpha=alpha)"),
    ("subtract.Scalar", Exact, "sub.Tensor(self, other * alpha)"),
    ("multiply.Tensor", Exact, "self * other"),
    ("multiply.Scalar", Exact, "self * other"),
    ("divide.Tensor", Exact, "self / other"),
    ("divide.Scalar", Exact, "self / other"),
    ("divide.Tensor_mode", Exact, "div.Tensor_mode(self, other, rounding_mode=rounding_mode)"),
    ("divide.Scalar_mode", Exact, "div.Scalar_mode(self, other, rounding_mode=rounding_mode)"),
    ("true_divide.Tensor", Exact, "self / other"),
    ("true_divide.Scalar", Exact, "self / other"),
    ("floor_divide.default", Exact, "div.Tensor_mode(self, other, rounding_mode=\"floor\")"),
    ("floor_divide.Scalar", Exact, "div.Tensor_mode(self, other, rounding_mode=\"floor\")"),
    ("greater.Tensor", Exact, "gt.Tensor(self, other)"),
    ("greater.Scalar", Exact, "gt.Scalar(self, other)"),
    ("greater_equal.Tensor", Exact, "ge.Tensor(self, other)"),
    ("greater_equal.Scalar", Exact, "ge.Scalar(self, other)"),
    ("less.Tensor", Exact, "lt.Tensor(self, other)"),
    ("less.Scalar", Exact, "lt.Scalar(self, other)"),
    ("less_equal.Tensor", Exact, "le.Tensor(self, other)"),
    ("less_equal.Scalar", Exact, "le.Scalar(self, other)"),
    ("not_equal.Tensor", Exact, "ne.Tensor(self, other)"),
    ("not_equal.Scalar", Exact, "ne.Scalar(self, other)"),
    ("__and__.Tensor", Exact, "bitwise_and.Tensor(self, other)"),
    ("__and__.Scalar", Exact, "bitwise_and.Scalar(self, other)"),
    ("__or__.Tensor", Exact, "bitwise_or.Tensor(self, other)"),
    ("__or__.Scalar", Exact, "bitwise_or.Scalar(self, other)"),
    ("__xor__.Tensor", Exact, "bitwise_xor.Tensor(self, other)"),
    ("__xor__.Scalar", Exact, "bitwise_xor.Scalar(self, other)"),
    ("max.other", Exact, "maximum(self, other)"),
    ("min.other", Exact, "minimum(self, other)"),
    (
        "fmax.default",
        Exact,
        "where.self(bitwise_or.Tensor(ge.Tensor(self, other), ne.Tensor(other, other)), self, other)",
    ),
    (
        "fmin.default",
        Exact,
        "where.self(bitwise_or.Tensor(le.Tensor(self, other), ne.Tensor(other, other)), self, other)",
    ),
    ("arccos.default", Exact, "acos(self)"),
    ("arccosh.default", Exact, "acosh(self)"),
    ("arcsin.default", Exact, "asin(self)"),
    ("arcsinh.default", Exact, "asinh(self)"),
    ("arctan.default", Exact, "atan(self)"),
    ("arctanh.default", Exact, "atanh(self)"),
    ("arctan2.default", Exact, "atan2(self, other)"),
    ("special_expit.default", Exact, "sigmoid(self)"),
    ("special_erf.default", Exact, "erf(self)"),
    ("special_expm1.default", Exact, "expm1(self)"),
    ("special_log1p.default", Exact, "log1p(self)"),
    ("fix.default", Exact, "trunc(self)"),
    // Arithmetic.
    ("rsub.Tensor", Exact, "sub.Tensor(other, self, alpha=alpha)"),
    ("rsub.Scalar", Exact, "sub.Tensor(other, self, alpha=alpha)"),
    ("square.default", Exact, "pow.Tensor_Scalar(self, 2)"),
    ("addcmul.default", Float, "self + tensor1 * value * tensor2"),
    ("addcdiv.default", Float, "self + tensor1 * value / tensor2"),
    ("clamp_min.default", Exact, "clamp(self, min)"),
    ("clamp_min.Tensor", Exact, "clamp.Tensor(self, min)"),
    ("clamp_max.default", Exact, "clamp(self, none, max)"),
    ("clamp_max.Tensor", Exact, "clamp.Tensor(self, none, max)"),
    ("clip.default", Exact, "clamp(self, min, max)"),
    ("clip.Tensor", Exact, "clamp.Tensor(self, min, max)"),
    ("deg2rad.default", Float, "self * (pi / 180)"),
    ("rad2deg.default", Float, "self * (180 / pi)"),
    ("frac.default", Exact, "self - trunc(self)"),
    ("exp2.default", Float, "pow.Scalar(2, self)"),
    (
        "lerp.Scalar",
        Float,
        "w = scalar(weight, self); h = ge.Scalar(abs(w), 0.5); \
        where.self(h, w - 1, w) * (end - self) + where.self(h, end, self)",
    ),
    (
        "lerp.Tensor",
        Float,
        "h = ge.Scalar(abs(weight), 0.5); \
        where.self(h, weight - 1, weight) * (end - self) + where.self(h, end, self)",
    ),
    ("isfinite.default", Exact, "eq.Tensor(self, self) * ne.Scalar(abs(self), inf)"),
    ("isneginf.default", Exact, "eq.Scalar(self, -inf)"),
    ("isposinf.default", Exact, "eq.Scalar(self, inf)"),
    (
        "xlogy.Tensor",
        Float,
        "m = where.self(eq.Scalar(self, 0), scalar(0, log(other)), self * log(other)); \
        where.self(isnan(other), scalar(nan, m), m)",
    ),
    (
        "logaddexp.default",
        Float,
        "c = ge.Tensor(self, other); \
        most = where.self(c, self, other); least = where.self(c, other, self); \
        same = logical_and(logical_not(isfinite(self)), eq.Tensor(self, other)); \
        where.self(same, self, most + log1p(exp(least - most)))",
    ),
    (
        "logaddexp2.default",
        Float,
        "c = ge.Tensor(self, other); \
        most = where.self(c, self, other); least = where.self(c, other, self); \
        same = logical_and(logical_not(isfinite(self)), eq.Tensor(self, other)); \
        where.self(same, self, most + log1p(pow.Scalar(2, least - most)) / 0.6931471805599453)",
    ),
    (
        "special_xlog1py.default",
        Float,
        "m = where.self(eq.Scalar(self, 0), scalar(0, log1p(other)), self * log1p(other)); \
        where.self(isnan(other), scalar(nan, m), m)",
    ),
    (
        "special_entr.default",
        Float,
        "m = where.self(gt.Scalar(self, 0), neg(self) * log(self), \
        where.self(eq.Scalar(self, 0), scalar(0, self), scalar(-inf, self))); \
        where.self(isnan(self), self, m)",
    ),
    ("special_ndtr.default", Float, "(erf(self * 0.7071067811865476) + 1) * 0.5"),
    ("sinc.default", Float, "p = self * pi; where.self(eq.Scalar(self, 0), scalar(1, self), sin(p) / p)"),
    ("special_sinc.default", Exact, "sinc(self)"),
    ("special_exp2.default", Exact, "exp2(self)"),
    ("special_logsumexp.default", Exact, "logsumexp(self, dim, keepdim)"),
    (
        "heaviside.default",
        Exact,
        "zero = logical_or(lt.Scalar(self, 0), isnan(self)); \
        where.self(eq.Scalar(self, 0), values, where.self(zero, scalar(0, values), scalar(1, values)))",
    ),
    // Activations.
    ("silu.default", Float, "self * sigmoid(self)"),
    ("mish.default", Float, "self * tanh(where.self(gt.Scalar(self, 20), self, log1p(exp(self))))"),
    ("hardswish.default", Float, "self * clamp(clamp(self + 3, 0), none, 6) / 6"),
    ("hardsigmoid.default", Float, "clamp(clamp(self + 3, 0), none, 6) / 6"),
    (
        "softplus.default",
        Float,
        "s = self * beta; \
        where.self(gt.Scalar(s, threshold), self, log1p(exp(s)) / beta)",
    ),
    ("relu6.default", Exact, "hardtanh(self, 0, 6)"),
    ("selu.default", Exact, "elu(self, 1.6732632423543772, 1.0507009873554805)"),
    ("celu.default", Float, "where.self(gt.Scalar(self, 0), self, expm1(self / alpha) * alpha)"),
    ("log_sigmoid.default", Float, "minimum(scalar(0, self), self) - log1p(exp(-abs(self)))"),
    ("hardshrink.default", Exact, "where.self(le.Scalar(abs(self), lambd), scalar(0, self), self)"),
    (
        "softshrink.default",
        Exact,
        "where.self(gt.Scalar(abs(self), lambd), self - sign(self) * lambd, self * 0)",
    ),
    ("threshold.default", Exact, "where.self(le.Scalar(self, threshold), scalar(value, self), self)"),
    ("_prelu_kernel.default", Exact, "where.self(gt.Scalar(self, 0), self, weight * self)"),
    // Choices.
    ("masked_fill.Scalar", Exact, "where.self(mask, scalar(value, self), self)"),
    ("masked_fill.Tensor", Exact, "where.self(mask, cast(value, self), self)"),
    // Products.
    ("mv.default", Exact, "sum.dim_IntList(self * vec, [1])"),
    ("ger.default", Exact, "outer(self, vec2)"),
    ("linalg_matmul.default", Exact, "matmul(self, other)"),
    // Reductions.
    ("all.default", Exact, "logical_not(any.dims(logical_not(self)))"),
    ("all.dim", Exact, "logical_not(any.dim(logical_not(self), dim, keepdim))"),
    ("all.dims", Exact, "logical_not(any.dims(logical_not(self), dim, keepdim))"),
    ("argsort.default", Exact, "sort(self, dim, descending)[1]"),
    ("msort.default", Exact, "sort(self, 0)[0]"),
    ("argsort.stable", Exact, "sort.stable(self, stable=stable, dim=dim, descending=descending)[1]"),
    // Indices.
];
