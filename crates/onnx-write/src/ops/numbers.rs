//! Arithmetic on sizes and other numbers, in `int64` and `float64`.

use super::super::call::Call;
use super::super::value::{Made, Val, one};
use sizewise_ir::{Dtype, TargetKind};

/// The functions of Python's `operator` and `math` and of torch on numbers.
pub(super) fn translate(call: &mut Call<'_, '_, '_>) -> Made {
    let TargetKind::Python { module, function } = call.node.target.kind() else { return None };
    if !matches!(&**module, "_operator" | "math" | "torch" | "builtins" | "") {
        return None;
    }
    let function = function.trim_start_matches("sym_").trim_start_matches("_sym_");
    if function == "sum" {
        return sum(call);
    }
    let mut given = Vec::new();
    for input in &call.node.inputs {
        given.push(call.number(&input.arg)?);
    }
    match given.as_slice() {
        [x] => unary(call, function, x),
        [x, y] => binary(call, function, x, y),
        [test, x, y] if function == "ite" => {
            let dtype = call.out_dtype()?;
            let (test, x, y) = (test.clone(), call.cast(x, dtype), call.cast(y, dtype));
            one(call.map("Where", &[&test, &x, &y]))
        }
        _ => None,
    }
}

fn sum(call: &mut Call<'_, '_, '_>) -> Made {
    let items = match call.nth(0)? {
        sizewise_ir::Argument::SymInts(list) => list.clone(),
        _ => return None,
    };
    let vector = call.vector(&items)?;
    one(call.reduce("ReduceSum", &vector, &[], false))
}

fn unary(call: &mut Call<'_, '_, '_>, function: &str, x: &Val) -> Made {
    let out = call.out_dtype()?;
    let truth = x.dtype.is_bool();
    let named = match function {
        "neg" => "Neg",
        "abs" => "Abs",
        "floor" => "Floor",
        "ceil" => "Ceil",
        "round" => "Round",
        "sqrt" => "Sqrt",
        "exp" => "Exp",
        "log" => "Log",
        "sin" => "Sin",
        "not" | "not_" | "invert" if truth => "Not",
        "pos" | "int" | "float" if !(function == "int" && x.dtype.is_float()) => {
            let value = call.cast(x, out);
            return one(value);
        }
        "trunc" | "int" => {
            let double = call.cast(x, Dtype::Float64);
            let zero = call.float(0.0, Dtype::Float64);
            let (down, up) = (call.map("Floor", &[&double]), call.map("Ceil", &[&double]));
            let negative = call.test("Less", &[&double, &zero]);
            let cut = call.map("Where", &[&negative, &up, &down]);
            return one(call.cast(&cut, out));
        }
        _ => return None,
    };
    let exact = matches!(named, "Neg" | "Abs" | "Not");
    if x.dtype.is_integral() && matches!(named, "Floor" | "Ceil" | "Round") {
        return one(x.clone());
    }
    let x = if exact { x.clone() } else { call.cast(x, Dtype::Float64) };
    let value = call.map(named, &[&x]);
    one(call.cast(&value, out))
}

fn binary(call: &mut Call<'_, '_, '_>, function: &str, x: &Val, y: &Val) -> Made {
    let float = x.dtype.is_float() || y.dtype.is_float() || function == "truediv";
    let dtype = if float { Dtype::Float64 } else { Dtype::Int64 };
    if x.dtype.is_bool() && y.dtype.is_bool() {
        let logic = match function {
            "and_" => Some("And"),
            "or_" => Some("Or"),
            "xor" | "ne" => Some("Xor"),
            "eq" => Some("Equal"),
            _ => None,
        };
        if let Some(logic) = logic {
            return one(call.test(logic, &[x, y]));
        }
    }
    let (x, y) = (call.cast(x, dtype), call.cast(y, dtype));
    let named = match function {
        "add" => "Add",
        "sub" => "Sub",
        "mul" => "Mul",
        "truediv" => "Div",
        "max" => "Max",
        "min" => "Min",
        "pow" | "pow_by_natural" | "float_pow" => "Pow",
        "eq" | "ne" => "Equal",
        "lt" => "Less",
        "le" => "LessOrEqual",
        "gt" => "Greater",
        "ge" => "GreaterOrEqual",
        "floordiv" => return one(call.floor_div(&x, &y)),
        "mod" => return one(call.remainder(&x, &y)),
        _ => return None,
    };
    if matches!(function, "eq" | "lt" | "le" | "gt" | "ge") {
        return one(call.test(named, &[&x, &y]));
    }
    if function == "ne" {
        let equal = call.test(named, &[&x, &y]);
        return one(call.map("Not", &[&equal]));
    }
    one(call.map(named, &[&x, &y]))
}

impl Call<'_, '_, '_> {
    /// The remainder with the sign of the divisor, as Python has it.
    pub fn remainder(&mut self, x: &Val, y: &Val) -> Val {
        if !x.dtype.is_float() {
            return self.map("Mod", &[x, y]);
        }
        // ONNX has doubles' remainder with the sign of the dividend only.
        let attributes = vec![super::super::attribute::int("fmod", 1)];
        let rank = x.rank.max(y.rank);
        let rest = self.put("Mod", &[x, y], attributes, (x.dtype, rank));
        let zero = self.float(0.0, x.dtype);
        let (below, under) = (self.test("Less", &[&rest, &zero]), self.test("Less", &[y, &zero]));
        let differs = self.test("Xor", &[&below, &under]);
        let none = self.test("Equal", &[&rest, &zero]);
        let some = self.map("Not", &[&none]);
        let shift = self.test("And", &[&differs, &some]);
        let shifted = self.map("Add", &[&rest, y]);
        self.map("Where", &[&shift, &shifted, &rest])
    }

    /// The quotient, rounded down.
    pub fn floor_div(&mut self, x: &Val, y: &Val) -> Val {
        if x.dtype.is_float() {
            let rest = self.remainder(x, y);
            let whole = self.map("Sub", &[x, &rest]);
            let quotient = self.map("Div", &[&whole, y]);
            let rounded = self.map("Round", &[&quotient]);
            // By zero there is no remainder, but an infinite quotient.
            let (zero, infinite) = (self.float(0.0, x.dtype), self.map("Div", &[x, y]));
            let by_zero = self.test("Equal", &[y, &zero]);
            return self.map("Where", &[&by_zero, &infinite, &rounded]);
        }
        let rest = self.map("Mod", &[x, y]);
        let whole = self.map("Sub", &[x, &rest]);
        self.map("Div", &[&whole, y])
    }
}
