//! Contracts: what a checker checks as data, readable and in a compact form that small checkers evaluate.
//!
//! The format is that of the crate `sizewise-contract`, which evaluates it; `docs/contract.md` describes it.
use super::formula::{NotExpressible, condition_message, constant_message, fixed_message};
use super::{GuardSet, GuardedInput};
use crate::report::{TensorInfo, int_json};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use sizewise_contract::{INCOMPLETE, MAGIC, MAX_STACK, MAX_VARIABLES, VERSION, kind, op};
use sizewise_expr::escape::json_text;
use sizewise_expr::text;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort, Symbol};
use sizewise_ir::{Constant, Dtype};

/// The longest code of a check, in bytes.
const MAX_CODE: usize = 1 << 16;

/// A contract.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// The readable form; its field `compact` is the compact one in base64.
    pub json: Json,
    /// The compact form.
    pub bytes: Vec<u8>,
}

impl Contract {
    /// The contract of a program with these guards. Of `inputs`, it has the dtypes; of `outputs`, all.
    ///
    /// # Errors
    /// When a condition has no counterpart in the format.
    pub fn new(
        set: &GuardSet,
        inputs: &[TensorInfo],
        outputs: &[TensorInfo],
    ) -> Result<Contract, NotExpressible> {
        let checks = checks(set)?;
        let bytes = compact(set, (inputs, outputs), &checks)?;
        let json = readable(set, (inputs, outputs), &checks, &bytes);
        Ok(Contract { json, bytes })
    }

    /// The checks in words, in order.
    pub(super) fn messages(&self) -> Vec<String> {
        let checks = self.json["checks"].as_array().into_iter().flatten();
        checks.filter_map(|check| check["message"].as_str()).map(str::to_owned).collect()
    }

    /// The readable form as text.
    pub fn to_text(&self) -> String {
        json_text(format!("{:#}\n", self.json))
    }
}

/// What is checked once the variables are known.
struct ContractCheck {
    /// As an expression over the variables.
    text: String,
    message: String,
    code: Vec<u8>,
}

fn checks(set: &GuardSet) -> Result<Vec<ContractCheck>, NotExpressible> {
    let mut checks = Vec::with_capacity(set.fixed.len() + set.conditions.len());
    for &(input, dim, e) in &set.fixed {
        let expected = Compiler::new(set, e).code()?;
        let mut code = vec![op::SIZE];
        unsigned(&mut code, input as u64);
        unsigned(&mut code, dim.map_or(0, |dim| dim as u64 + 1));
        if expected.depth >= MAX_STACK {
            return Err(fail(set, e, "it is nested too deeply"));
        }
        code.extend(expected.code);
        code.push(op::EQUAL);
        let text = format!("Eq({}, {})", set.place(input, dim), text::print::expression(&set.pool, e));
        checks.push(ContractCheck { text, message: fixed_message(set, input, dim, e), code });
    }
    for &e in &set.conditions {
        let text = text::print::expression(&set.pool, e);
        checks.push(ContractCheck {
            text,
            message: condition_message(set, e),
            code: Compiler::new(set, e).code()?.code,
        });
    }
    Ok(checks)
}

fn fail(set: &GuardSet, e: Expr, reason: impl Into<String>) -> NotExpressible {
    NotExpressible { condition: set.shown(e), language: "a contract", reason: reason.into() }
}

fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn signed(out: &mut Vec<u8>, value: i64) {
    unsigned(out, (value << 1 ^ value >> 63) as u64);
}

fn block(out: &mut Vec<u8>, bytes: &[u8]) {
    unsigned(out, bytes.len() as u64);
    out.extend(bytes);
}

/// The number of a dtype in the export format, 0 if it has none.
fn dtype(infos: &[TensorInfo], name: &str) -> u8 {
    let info = infos.iter().find(|info| info.name == name);
    let known = info.and_then(|info| Dtype::from_name(&info.dtype));
    known.and_then(Dtype::export_number).and_then(|number| u8::try_from(number).ok()).unwrap_or(0)
}

fn compact(
    set: &GuardSet,
    (inputs, outputs): (&[TensorInfo], &[TensorInfo]),
    checks: &[ContractCheck],
) -> Result<Vec<u8>, NotExpressible> {
    if set.variables.len() > MAX_VARIABLES {
        return Err(NotExpressible {
            condition: set.program.clone(),
            language: "a contract",
            reason: format!("it has more than {MAX_VARIABLES} sizes of their own"),
        });
    }
    let mut out = MAGIC.to_vec();
    let flags = if set.is_complete() { 0 } else { INCOMPLETE };
    out.extend([VERSION, flags]);
    unsigned(&mut out, set.inputs.len() as u64);
    for input in &set.inputs {
        compact_input(&mut out, input, dtype(inputs, input.name()));
    }
    unsigned(&mut out, set.variables.len() as u64);
    for variable in &set.variables {
        unsigned(&mut out, variable.input as u64);
        unsigned(&mut out, variable.dim.map_or(0, |dim| dim as u64 + 1));
        for number in [&variable.factor, &variable.offset] {
            let symbol = || set.pool.known_symbol_expr(variable.symbol).unwrap_or(Expr::ZERO);
            signed(&mut out, number.to_i64().ok_or_else(|| fail(set, symbol(), TOO_LARGE))?);
        }
    }
    unsigned(&mut out, checks.len() as u64);
    checks.iter().for_each(|check| block(&mut out, &check.code));
    unsigned(&mut out, outputs.len() as u64);
    for output in outputs {
        let Some(shape) = &output.shape else {
            out.push(0);
            continue;
        };
        unsigned(&mut out, shape.len() as u64 + 1);
        out.push(dtype(outputs, &output.name));
        for size in greatest(output, shape) {
            // 0 says that there is no bound.
            unsigned(&mut out, size.as_u64().and_then(|size| size.checked_add(1)).unwrap_or(0));
        }
    }
    unsigned(&mut out, checks.len() as u64);
    checks.iter().for_each(|check| block(&mut out, check.message.as_bytes()));
    Ok(out)
}

const TOO_LARGE: &str = "a number of it does not fit 64 bits";

fn compact_input(out: &mut Vec<u8>, input: &GuardedInput, dtype: u8) {
    match input {
        GuardedInput::Tensor { sizes, .. } => {
            out.push(kind::TENSOR);
            unsigned(out, sizes.len() as u64);
            out.push(dtype);
        }
        GuardedInput::Number { .. } => out.push(kind::INTEGER),
        GuardedInput::Constant { value, .. } => match value {
            Constant::None => out.push(kind::ANY),
            Constant::Int(value) => {
                out.push(kind::CONSTANT_INTEGER);
                signed(out, *value);
            }
            Constant::Bool(value) => out.extend([kind::CONSTANT_BOOL, u8::from(*value)]),
            Constant::Float(value) => {
                out.push(kind::CONSTANT_DOUBLE);
                out.extend(value.to_le_bytes());
            }
            Constant::Str(value) => {
                out.push(kind::CONSTANT_STRING);
                block(out, value.as_bytes());
            }
        },
    }
}

/// The greatest sizes of an output: numbers, or null without a bound.
fn greatest(output: &TensorInfo, shape: &[Json]) -> Vec<Json> {
    match &output.upper_bound {
        Some(bounds) => bounds.iter().map(|bound| bound.clone().unwrap_or(Json::Null)).collect(),
        None => shape.iter().map(|size| if size.is_number() { size.clone() } else { Json::Null }).collect(),
    }
}

fn readable(
    set: &GuardSet,
    (inputs, outputs): (&[TensorInfo], &[TensorInfo]),
    checks: &[ContractCheck],
    bytes: &[u8],
) -> Json {
    let input = |input: &GuardedInput| match input {
        GuardedInput::Tensor { name, sizes } => {
            let sizes: Vec<Json> = sizes.iter().map(|&size| shown_size(&set.pool, size)).collect();
            let info = inputs.iter().find(|info| info.name == *name);
            json!({"name": name, "kind": "tensor", "dtype": info.map(|info| &info.dtype), "sizes": sizes})
        }
        GuardedInput::Number { name, value } => {
            json!({"name": name, "kind": "integer", "value": shown_size(&set.pool, *value)})
        }
        GuardedInput::Constant { name, value: Constant::None } => json!({"name": name, "kind": "any"}),
        GuardedInput::Constant { name, value } => {
            json!({"name": name, "kind": "constant", "value": value.json(), "message": constant_message(name, value)})
        }
    };
    let variables = set.variables.iter().map(|v| {
        let (name, input) = (set.pool.symbol_name(v.symbol), set.inputs.get(v.input).map(GuardedInput::name));
        let (factor, offset) = (int_json(&v.factor), int_json(&v.offset));
        json!({"name": name, "input": input, "dim": v.dim, "factor": factor, "offset": offset})
    });
    let output = |output: &TensorInfo| match &output.shape {
        Some(shape) => {
            let max = greatest(output, shape);
            json!({"name": output.name, "dtype": output.dtype, "sizes": shape, "max": max})
        }
        None => json!({"name": output.name, "dtype": output.dtype}),
    };
    let checks = checks.iter().map(|check| json!({"expr": check.text, "message": check.message}));
    json!({
        "contract_version": VERSION,
        "program": set.program,
        "complete": set.is_complete(),
        "inputs": set.inputs.iter().map(input).collect::<Vec<Json>>(),
        "variables": variables.collect::<Vec<Json>>(),
        "checks": checks.collect::<Vec<Json>>(),
        "outputs": outputs.iter().map(output).collect::<Vec<Json>>(),
        "left_open": set.left_open,
        "compact": BASE64.encode(bytes),
    })
}

fn shown_size(pool: &Pool, e: Expr) -> Json {
    match pool.as_int(e) {
        Some(value) => int_json(&value),
        None => text::print::expression(pool, e).into(),
    }
}

/// Code that leaves one value on the stack, and how many it needs there at most.
#[derive(Clone, Default)]
struct Code {
    code: Vec<u8>,
    depth: usize,
}

/// Compiles an expression for the stack machine.
struct Compiler<'a> {
    set: &'a GuardSet,
    whole: Expr,
    slots: FxHashMap<Symbol, u64>,
    parts: FxHashMap<Expr, Code>,
}

impl<'a> Compiler<'a> {
    fn new(set: &'a GuardSet, whole: Expr) -> Compiler<'a> {
        let slots = set.variables.iter().enumerate().map(|(slot, v)| (v.symbol, slot as u64)).collect();
        Compiler { set, whole, slots, parts: FxHashMap::default() }
    }

    fn fail(&self, reason: impl Into<String>) -> NotExpressible {
        fail(self.set, self.whole, reason)
    }

    fn code(mut self) -> Result<Code, NotExpressible> {
        // Children come before their parents.
        for part in self.set.pool.reachable(&[self.whole]) {
            let Some(node) = self.set.pool.node(part) else { continue };
            let code = self.node(part, node)?;
            if code.code.len() > MAX_CODE {
                return Err(self.fail("it is too long"));
            }
            if code.depth > MAX_STACK {
                return Err(self.fail("it is nested too deeply"));
            }
            self.parts.insert(part, code);
        }
        self.operand(self.whole)
    }

    fn int(&self, value: &Int) -> Result<Code, NotExpressible> {
        let mut code = vec![op::INT];
        signed(&mut code, value.to_i64().ok_or_else(|| self.fail(TOO_LARGE))?);
        Ok(Code { code, depth: 1 })
    }

    fn operand(&self, e: Expr) -> Result<Code, NotExpressible> {
        match e.as_inline() {
            Some(value) => self.int(&Int::from(value)),
            None => self.parts.get(&e).cloned().ok_or_else(|| self.fail("a part has no code")),
        }
    }

    /// An operand as a double.
    fn double(&self, e: Expr) -> Result<Code, NotExpressible> {
        let mut code = self.operand(e)?;
        if self.set.pool.sort(e) != Sort::Float {
            code.code.push(op::TO_DOUBLE);
        }
        Ok(code)
    }

    /// Operands one after the other, joined by an operation of two.
    fn joined(&self, operands: Vec<Code>, op: u8) -> Result<Code, NotExpressible> {
        let mut whole = Code::default();
        for (at, operand) in operands.into_iter().enumerate() {
            whole.code.extend(operand.code);
            whole.depth = whole.depth.max(operand.depth + usize::from(at > 0));
            if at > 0 {
                whole.code.push(op);
            }
            if whole.code.len() > MAX_CODE {
                return Err(self.fail("it is too long"));
            }
        }
        Ok(whole)
    }

    fn node(&self, part: Expr, node: &Node) -> Result<Code, NotExpressible> {
        Ok(match node {
            Node::Int(value) => self.int(value)?,
            Node::Float(value) => {
                let mut code = vec![op::DOUBLE];
                code.extend(value.0.to_le_bytes());
                Code { code, depth: 1 }
            }
            Node::Bool(value) => self.int(&Int::from(i64::from(*value)))?,
            Node::Symbol(symbol) => {
                let slot = self.slots.get(symbol).ok_or_else(|| self.fail("no size determines a symbol"))?;
                let mut code = vec![op::VARIABLE];
                unsigned(&mut code, *slot);
                Code { code, depth: 1 }
            }
            Node::Sum { constant, terms } => {
                let mut summands = Vec::with_capacity(terms.len() + 1);
                for (monomial, coefficient) in terms {
                    let term = self.operand(*monomial)?;
                    summands.push(match coefficient.is_one() {
                        true => term,
                        false => self.joined(vec![term, self.int(coefficient)?], op::MUL)?,
                    });
                }
                if !constant.is_zero() {
                    summands.push(self.int(constant)?);
                }
                self.joined(summands, op::ADD)?
            }
            Node::Product(powers) => {
                let mut factors = Vec::with_capacity(powers.len());
                for &(atom, power) in powers {
                    let atom = self.operand(atom)?;
                    factors.push(match power {
                        1 => atom,
                        _ => self.joined(vec![atom, self.int(&Int::from(i64::from(power)))?], op::POW)?,
                    });
                }
                self.joined(factors, op::MUL)?
            }
            Node::Call(func, args) => self.call(part, *func, args)?,
        })
    }

    fn call(&self, part: Expr, func: Func, args: &[Expr]) -> Result<Code, NotExpressible> {
        use Func::*;
        let pool = &self.set.pool;
        let of_doubles = args.iter().any(|&e| pool.sort(e) == Sort::Float);
        let is_either = match func {
            IntTrueDiv => of_doubles,
            Ite => false,
            _ => pool.may_be_integer(part),
        };
        if is_either {
            return Err(self.fail("a number may be an integer or a double"));
        }
        let ints = |op| self.joined(args.iter().map(|&e| self.operand(e)).collect::<Result<_, _>>()?, op);
        let doubles = |op| self.joined(args.iter().map(|&e| self.double(e)).collect::<Result<_, _>>()?, op);
        let then = |mut code: Code, op| {
            code.code.push(op);
            code
        };
        let [first, ..] = args else { return Err(self.fail(format!("it lacks {func:?}"))) };
        match func {
            FloorDiv => ints(op::FLOOR_DIV),
            Mod => ints(op::MOD),
            Pow => ints(op::POW),
            Min if !of_doubles => ints(op::MIN),
            Max if !of_doubles => ints(op::MAX),
            BitAnd => ints(op::BIT_AND),
            BitOr => ints(op::BIT_OR),
            BitXor => ints(op::BIT_XOR),
            And => ints(op::AND),
            Or => ints(op::OR),
            FloatAdd => doubles(op::DOUBLE_ADD),
            FloatMul => doubles(op::DOUBLE_MUL),
            IntTrueDiv | FloatTrueDiv => doubles(op::DOUBLE_DIV),
            FloatEq => doubles(op::DOUBLE_EQ),
            FloatLt => doubles(op::DOUBLE_LT),
            FloatLe => doubles(op::DOUBLE_LE),
            ToFloat => self.double(*first),
            Abs if of_doubles => Ok(then(self.operand(*first)?, op::DOUBLE_ABS)),
            Abs => Ok(then(self.operand(*first)?, op::ABS)),
            IsZero => Ok(then(self.operand(*first)?, op::IS_ZERO)),
            NotPositive => Ok(then(self.operand(*first)?, op::NOT_POSITIVE)),
            Not => Ok(then(self.operand(*first)?, op::NOT)),
            Trunc => Ok(then(self.double(*first)?, op::TRUNC)),
            Floor => Ok(then(self.double(*first)?, op::FLOOR)),
            Ceil => Ok(then(self.double(*first)?, op::CEIL)),
            Round => Ok(then(self.double(*first)?, op::ROUND)),
            Ite => self.choice(part, args),
            // Powers, roots and transcendental functions differ in the last bit from library to library.
            _ => Err(self.fail(format!("it lacks {func:?}"))),
        }
    }

    fn choice(&self, part: Expr, args: &[Expr]) -> Result<Code, NotExpressible> {
        let &[condition, a, b] = args else { return Err(self.fail("a choice is of two")) };
        let is_double = self.set.pool.sort(part) == Sort::Float;
        let of = |e| if is_double { self.double(e) } else { self.operand(e) };
        let mut whole = self.operand(condition)?;
        for (before, branch) in [of(a)?, of(b)?].into_iter().enumerate() {
            whole.code.extend(branch.code);
            whole.depth = whole.depth.max(branch.depth + before + 1);
        }
        whole.code.push(op::IF);
        Ok(whole)
    }
}
