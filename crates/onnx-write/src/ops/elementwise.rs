//! Functions of one tensor, element by element.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, one};
use sizewise_ir::Dtype;
use sizewise_onnx_model::read::message::AttributeProto;

/// Functions that are one node.
const PLAIN: &[(&str, &str)] = &[
    ("abs", "Abs"),
    ("neg", "Neg"),
    ("exp", "Exp"),
    ("log", "Log"),
    ("sqrt", "Sqrt"),
    ("reciprocal", "Reciprocal"),
    ("sin", "Sin"),
    ("cos", "Cos"),
    ("tan", "Tan"),
    ("asin", "Asin"),
    ("acos", "Acos"),
    ("atan", "Atan"),
    ("sinh", "Sinh"),
    ("cosh", "Cosh"),
    ("tanh", "Tanh"),
    ("asinh", "Asinh"),
    ("acosh", "Acosh"),
    ("atanh", "Atanh"),
    ("sigmoid", "Sigmoid"),
    ("erf", "Erf"),
    ("floor", "Floor"),
    ("ceil", "Ceil"),
    ("sign", "Sign"),
    ("sgn", "Sign"),
    ("relu", "Relu"),
    ("mish", "Mish"),
];

/// Operators whose result is their operand.
const SAME: &[&str] = &[
    "alias",
    "clone",
    "contiguous",
    "detach",
    "detach_copy",
    "alias_copy",
    "lift_fresh",
    "lift_fresh_copy",
    "positive",
    "_to_copy",
    "to",
    "type_as",
];

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, overload) = name.split_once('.')?;
    // What is written to is seen under other names, which a model cannot say; that a constant may not be is no matter.
    let op = if op == "detach_" { "detach" } else { op };
    if overload.split('_').any(|part| part == "out") || matches!(overload, "decimals") && op != "round" {
        return None;
    }
    let x = call.tensor("self").or_else(|| call.tensor("input"))?;
    let out = call.out_dtype()?;
    if SAME.contains(&op) {
        if x.dtype != out && (x.dtype.is_complex() || out.is_complex()) {
            return None;
        }
        return one(call.cast(&x, out));
    }
    if x.dtype.is_complex() || out.is_complex() {
        return None;
    }
    let compute = work(out);
    if let Some((_, node)) = PLAIN.iter().find(|(plain, _)| *plain == op) {
        if compute.is_bool() || out.is_integral() && matches!(*node, "Floor" | "Ceil") {
            return one(x);
        }
        let x = call.cast(&x, compute);
        if *node == "Relu" && compute.is_integral() {
            let zero = call.integer(0, compute);
            return one(call.map("Max", &[&x, &zero]));
        }
        return one(call.map(node, &[&x]));
    }
    match op {
        "square" if compute.is_integral() => {
            let x = call.cast(&x, compute);
            one(call.map("Mul", &[&x, &x]))
        }
        "round" if overload == "default" => {
            let x = call.cast(&x, compute);
            one(if compute.is_float() { call.map("Round", &[&x]) } else { x })
        }
        "bitwise_not" | "logical_not" if x.dtype.is_bool() => one(call.map("Not", &[&x])),
        "bitwise_not" => {
            let x = call.cast(&x, compute);
            one(call.map("BitwiseNot", &[&x]))
        }
        "logical_not" => {
            let truth = call.cast(&x, Dtype::Bool);
            one(call.map("Not", &[&truth]))
        }
        "isnan" | "isinf" | "isfinite" => classify(call, op, &x),
        "dropout" | "feature_dropout" | "alpha_dropout" | "feature_alpha_dropout" => {
            (!call.flag("train", true)?).then_some(())?;
            one(x)
        }
        "_softmax" | "softmax" | "_log_softmax" | "log_softmax" => softmax(call, op, &x, compute),
        _ => {
            let x = call.cast(&x, compute);
            compute.is_float().then_some(())?;
            activation(call, op, &x).or_else(|| composed(call, op, &x)).and_then(one)
        }
    }
}

fn classify(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let float = work(if x.dtype.is_float() { x.dtype } else { Dtype::Float32 });
    let x = call.cast(x, float);
    if op == "isnan" {
        return one(call.test("IsNaN", &[&x]));
    }
    let infinite = call.test("IsInf", &[&x]);
    if op == "isinf" {
        return one(infinite);
    }
    let nan = call.test("IsNaN", &[&x]);
    let either = call.test("Or", &[&infinite, &nan]);
    one(call.map("Not", &[&either]))
}

fn softmax(call: &mut Call<'_, '_, '_>, op: &str, x: &Val, compute: Dtype) -> Made {
    compute.is_float().then_some(())?;
    let node = if op.contains("log") { "LogSoftmax" } else { "Softmax" };
    let x = call.cast(x, compute);
    let dim = call.int("dim", -1)?;
    if x.rank == 0 {
        let line = call.unsqueeze(&x, &[0]);
        let made = call.put(node, &[&line], vec![attribute::int("axis", 0)], (compute, 1));
        return one(call.squeeze(&made, &[0]));
    }
    one(call.put(node, &[&x], vec![attribute::int("axis", dim)], (compute, x.rank)))
}

/// Activations that ONNX has with their parameters.
fn activation(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Option<Val> {
    let shape = (x.dtype, x.rank);
    let real = |call: &Call<'_, '_, '_>, name: &str, default: f64| -> Option<AttributeProto> {
        let written = if name == "negative_slope" { "alpha" } else { name };
        Some(attribute::float(written, call.real(name, default)?))
    };
    Some(match op {
        "gelu" => {
            let kind = call.text("approximate", "none")?;
            call.put("Gelu", &[x], vec![attribute::string("approximate", kind)], shape)
        }
        "leaky_relu" => {
            let alpha = real(call, "negative_slope", 0.01)?;
            call.put("LeakyRelu", &[x], vec![alpha], shape)
        }
        "celu" => {
            let alpha = real(call, "alpha", 1.0)?;
            call.put("Celu", &[x], vec![alpha], shape)
        }
        "elu" if call.real("scale", 1.0)? == 1.0 && call.real("input_scale", 1.0)? == 1.0 => {
            let alpha = real(call, "alpha", 1.0)?;
            call.put("Elu", &[x], vec![alpha], shape)
        }
        "selu" => call.put("Selu", &[x], Vec::new(), shape),
        "hardsigmoid" => {
            let alpha = attribute::float("alpha", 1.0 / 6.0);
            call.put("HardSigmoid", &[x], vec![alpha], shape)
        }
        "hardswish" => call.put("HardSwish", &[x], Vec::new(), shape),
        _ => return None,
    })
}

/// Functions that several nodes compute.
fn composed(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Option<Val> {
    let number = |call: &mut Call<'_, '_, '_>, value: f64| call.float(value, x.dtype);
    Some(match op {
        "rsqrt" => {
            let root = call.map("Sqrt", &[x]);
            call.map("Reciprocal", &[&root])
        }
        "square" => call.map("Mul", &[x, x]),
        "silu" => {
            let gate = call.map("Sigmoid", &[x]);
            call.map("Mul", &[x, &gate])
        }
        "erfc" => {
            let (one, erf) = (number(call, 1.0), call.map("Erf", &[x]));
            call.map("Sub", &[&one, &erf])
        }
        "exp2" => {
            let two = number(call, 2.0);
            call.map("Pow", &[&two, x])
        }
        "expm1" => {
            // Twice the sinh of half times the exponential of half: exact where a difference would cancel.
            let (half, two) = (number(call, 0.5), number(call, 2.0));
            let half = call.map("Mul", &[x, &half]);
            let (sinh, exp) = (call.map("Sinh", &[&half]), call.map("Exp", &[&half]));
            let product = call.map("Mul", &[&sinh, &exp]);
            call.map("Mul", &[&two, &product])
        }
        "log1p" => {
            let one = number(call, 1.0);
            let sum = call.map("Add", &[&one, x]);
            call.map("Log", &[&sum])
        }
        "log2" | "log10" => {
            let base = if op == "log2" { std::f64::consts::LN_2 } else { std::f64::consts::LN_10 };
            let (log, base) = (call.map("Log", &[x]), number(call, base));
            call.map("Div", &[&log, &base])
        }
        "trunc" | "fix" => call.truncate(x),
        "frac" => {
            let whole = call.truncate(x);
            call.map("Sub", &[x, &whole])
        }
        "deg2rad" | "rad2deg" => {
            let factor = std::f64::consts::PI / 180.0;
            let factor = number(call, if op == "deg2rad" { factor } else { 1.0 / factor });
            call.map("Mul", &[x, &factor])
        }
        "log_sigmoid" | "log_sigmoid_forward" => {
            let minus = call.map("Neg", &[x]);
            let soft = call.map("Softplus", &[&minus]);
            call.map("Neg", &[&soft])
        }
        "softplus" => softplus(call, x)?,
        "hardtanh" | "relu6" => {
            let (low, high) = match op {
                "relu6" => (0.0, 6.0),
                _ => (call.real("min_val", -1.0)?, call.real("max_val", 1.0)?),
            };
            let (low, high) = (number(call, low), number(call, high));
            call.put("Clip", &[x, &low, &high], Vec::new(), (x.dtype, x.rank))
        }
        "elu" => elu(call, x)?,
        "threshold" => {
            let limit = call.real("threshold", 0.0)?;
            let (limit, value) = (number(call, limit), call.operand("value", x.dtype)?);
            let above = call.test("Greater", &[x, &limit]);
            call.map("Where", &[&above, x, &value])
        }
        "softsign" => call.map("Softsign", &[x]),
        "softshrink" | "hardshrink" => shrink(call, op, x)?,
        "nan_to_num" => nan_to_num(call, x)?,
        _ => return None,
    })
}

/// 0 between the bounds; what is not a number stays.
fn shrink(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Option<Val> {
    let bound = call.real("lambd", 0.5)?;
    let [zero, high, low] = [0.0, bound, -bound].map(|value| call.float(value, x.dtype));
    let (below, above) = (call.test("LessOrEqual", &[x, &high]), call.test("GreaterOrEqual", &[x, &low]));
    let between = call.test("And", &[&below, &above]);
    let outside = match op {
        "hardshrink" => x.clone(),
        _ => {
            let (less, more) = (call.map("Sub", &[x, &high]), call.map("Add", &[x, &high]));
            call.map("Where", &[&below, &more, &less])
        }
    };
    Some(call.map("Where", &[&between, &zero, &outside]))
}

fn softplus(call: &mut Call<'_, '_, '_>, x: &Val) -> Option<Val> {
    let (beta, threshold) = (call.real("beta", 1.0)?, call.real("threshold", 20.0)?);
    let (beta, threshold) = (call.float(beta, x.dtype), call.float(threshold, x.dtype));
    let scaled = call.map("Mul", &[x, &beta]);
    let soft = call.map("Softplus", &[&scaled]);
    let soft = call.map("Div", &[&soft, &beta]);
    let straight = call.test("Greater", &[&scaled, &threshold]);
    Some(call.map("Where", &[&straight, x, &soft]))
}

fn elu(call: &mut Call<'_, '_, '_>, x: &Val) -> Option<Val> {
    let (alpha, scale, inner) =
        (call.real("alpha", 1.0)?, call.real("scale", 1.0)?, call.real("input_scale", 1.0)?);
    let [zero, inner, outer, scale, one] =
        [0.0, inner, alpha * scale, scale, 1.0].map(|value| call.float(value, x.dtype));
    let scaled = call.map("Mul", &[x, &inner]);
    let exp = call.map("Exp", &[&scaled]);
    let below = call.map("Sub", &[&exp, &one]);
    let below = call.map("Mul", &[&below, &outer]);
    let above = call.map("Mul", &[x, &scale]);
    let positive = call.test("Greater", &[x, &zero]);
    Some(call.map("Where", &[&positive, &above, &below]))
}

fn nan_to_num(call: &mut Call<'_, '_, '_>, x: &Val) -> Option<Val> {
    let largest = if x.dtype == Dtype::Float64 { f64::MAX } else { f32::MAX.into() };
    if call.out_dtype()? != x.dtype {
        return None;
    }
    let values = [call.real("nan", 0.0)?, call.real("posinf", largest)?, call.real("neginf", -largest)?];
    let [nan, high, low] = values.map(|value| call.float(value, x.dtype));
    let flag =
        |up: i64| vec![attribute::int("detect_positive", up), attribute::int("detect_negative", 1 - up)];
    let is_nan = call.test("IsNaN", &[x]);
    let is_high = call.put("IsInf", &[x], flag(1), (Dtype::Bool, x.rank));
    let is_low = call.put("IsInf", &[x], flag(0), (Dtype::Bool, x.rank));
    let value = call.map("Where", &[&is_nan, &nan, x]);
    let value = call.map("Where", &[&is_high, &high, &value]);
    Some(call.map("Where", &[&is_low, &low, &value]))
}

impl Call<'_, '_, '_> {
    /// The value, cut towards zero.
    pub fn truncate(&mut self, x: &Val) -> Val {
        let zero = self.float(0.0, x.dtype);
        let (down, up) = (self.map("Floor", &[x]), self.map("Ceil", &[x]));
        let negative = self.test("Less", &[x, &zero]);
        self.map("Where", &[&negative, &up, &down])
    }
}
