//! Names, formulas, shapes and dtypes with the arguments of a call.
use super::formula::Formula;
use super::invocation::{Given, Invocation};
use super::names::shown;
use super::shape::{DtypeOf, DtypeRule, Each, Element, Over, TensorRef};
use crate::args::Args;
use crate::bind::bind;
use crate::context::Cx;
use crate::error::KernelError;
use crate::promote::{Category, ResultType};
use crate::registry::Registry;
use crate::tensor::{Sizes, Tensor};
use crate::value::{Value, Values};
use sizewise_env::OpClause;
use sizewise_expr::escape::clipped;
use sizewise_expr::text::{Property, SourcePath, SourceStep};
use sizewise_expr::{Expr, Pool, Sort};
use sizewise_ir::dtype::Dtype;
use std::sync::Arc;

/// Names with their values.
pub(super) type Named = Vec<(Box<str>, Value)>;

/// The longest range.
const MAX_RANGE: i64 = 1024;

/// The names in scope with their values.
pub(super) struct Scope<'a> {
    pub args: &'a Args<'a>,
    pub locals: Vec<(Box<str>, Value)>,
    pub file: &'a str,
    /// The clause that is at work, for errors.
    pub clause: &'static OpClause,
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        let local = self.locals.iter().rev().find(|(local, _)| **local == *name);
        local.map(|(_, value)| value).or_else(|| self.args.value(name).ok())
    }

    /// The value of an argument.
    pub fn value(&self, name: &str) -> Value {
        self.get(name).cloned().unwrap_or(Value::None)
    }

    /// That the declaration does not fit the call.
    pub fn failed(&self, line: u32, message: String) -> KernelError {
        let name = self.args.schema.qualified();
        KernelError::invalid(self.clause, format!("{name} ({}:{line}): {message}", self.file))
    }

    /// The tensor at a place; `None` where it is absent.
    fn tensor(&self, name: &str, at: Option<i64>) -> Result<&Arc<Tensor>, String> {
        let shown = || at.map_or(name.to_owned(), |at| format!("{name}[{at}]"));
        let absent = || format!("`{}` is not given", shown());
        match (self.get(name), at) {
            (Some(Value::Tensor(t)), None) => Ok(t),
            (Some(Value::Tensors(items)), Some(at)) => {
                let count = items.len();
                let index = if at < 0 { at + count as i64 } else { at };
                let item = usize::try_from(index).ok().and_then(|index| items.get(index));
                item.ok_or_else(|| format!("`{name}` has {count} elements: {at} is out of range"))?
                    .as_ref()
                    .ok_or_else(absent)
            }
            _ => Err(absent()),
        }
    }

    pub fn tensor_ref(&self, reference: &TensorRef, line: u32) -> Result<Arc<Tensor>, KernelError> {
        let found = self.tensor(&reference.name, reference.at).cloned();
        found.map_err(|message| self.failed(line, message))
    }

    /// What a source in a formula is.
    fn resolve(&self, pool: &mut Pool, path: &SourcePath) -> Result<Expr, String> {
        let Some(value) = self.get(&path.root) else {
            let dtype = Dtype::from_name(&path.root).filter(|_| path.steps.is_empty());
            return dtype.map(|d| pool.int(d as i64)).ok_or_else(|| shown(path));
        };
        let at = match path.steps.first() {
            Some(SourceStep::Index(at)) => Some(*at),
            _ => None,
        };
        let attribute = match path.steps.last() {
            Some(SourceStep::Attribute(name)) => Some(name.as_str()),
            _ => None,
        };
        match (value, attribute, path.property) {
            (value, Some("given"), None) if at.is_none() => Ok(pool.bool(*value != Value::None)),
            (Value::None, ..) => Err(format!("`{}` is not given", path.root)),
            (Value::Tensor(_) | Value::Tensors(_), Some("length"), None) if at.is_none() => match value {
                Value::Tensors(items) => Ok(pool.int(items.len() as i64)),
                _ => Err(shown(path)),
            },
            (Value::Tensor(_) | Value::Tensors(_), attribute, property) => {
                let tensor = self.tensor(&path.root, at)?;
                property_of(pool, tensor, attribute, property, path)
            }
            (Value::Ints(list) | Value::Bools(list) | Value::Floats(list), _, None) => {
                match (at, attribute) {
                    (None, Some("length")) => Ok(pool.int(list.len() as i64)),
                    (Some(at), None) => {
                        let index = if at < 0 { at + list.len() as i64 } else { at };
                        let item = usize::try_from(index).ok().and_then(|index| list.get(index));
                        let message =
                            || format!("`{}` has {} elements: {at} is out of range", path.root, list.len());
                        item.copied().ok_or_else(message)
                    }
                    _ => Err(shown(path)),
                }
            }
            (Value::Int(e) | Value::Bool(e) | Value::Float(e), None, None) => Ok(*e),
            (Value::Dtype(d), None, None) => Ok(pool.int(*d as i64)),
            _ => Err(format!("{} has no value", shown(path))),
        }
    }

    /// The value of a formula.
    pub fn formula(&self, cx: &mut Cx, formula: &Formula) -> Result<Expr, KernelError> {
        let read = formula.value(&mut cx.env.pool, &mut |pool, path| self.resolve(pool, path));
        let read = read.map_err(|message| self.failed(formula.line, message))?;
        for divisor in read.divisors {
            let nonzero = cx.ne(divisor, 0);
            cx.require(nonzero, self.clause, |cx| {
                format!("{}:{}: `{}` divides by {}", self.file, formula.line, formula.text, cx.show(divisor))
            })?;
        }
        Ok(read.expr)
    }

    /// The value of a formula that is a size: it must not be negative.
    pub fn size(&self, cx: &mut Cx, formula: &Formula) -> Result<Expr, KernelError> {
        let size = self.formula(cx, formula)?;
        let fits = cx.ge(size, 0);
        cx.require(fits, self.clause, |cx| {
            format!("{}:{}: the size `{}` is {}", self.file, formula.line, formula.text, cx.show(size))
        })?;
        Ok(size)
    }

    /// A shape, or strides.
    pub fn shape(&self, cx: &mut Cx, elements: &[Element], line: u32) -> Result<Sizes, KernelError> {
        let mut sizes = Sizes::new();
        for element in elements {
            self.elements(cx, element, line, &mut sizes)?;
        }
        Ok(sizes)
    }

    /// Adds the sizes that a part of a shape stands for.
    pub fn elements(
        &self,
        cx: &mut Cx,
        element: &Element,
        line: u32,
        sizes: &mut Sizes,
    ) -> Result<(), KernelError> {
        match element {
            Element::Size(formula) => sizes.push(self.size(cx, formula)?),
            Element::Shape { tensor, from, to } => {
                let tensor = self.tensor_ref(tensor, line)?;
                let (from, to) = self.slice(cx, tensor.rank(), from.as_ref(), to.as_ref())?;
                sizes.extend_from_slice(&tensor.sizes[from..to]);
            }
            Element::Ints { name, from, to } => {
                let Some(Value::Ints(list)) = self.get(name) else {
                    return Err(self.failed(line, format!("`{name}` is not given")));
                };
                let (from, to) = self.slice(cx, list.len(), from.as_ref(), to.as_ref())?;
                for &size in &list[from..to] {
                    let fits = cx.ge(size, 0);
                    cx.require(fits, self.clause, |cx| format!("`{name}` holds {}", cx.show(size)))?;
                    sizes.push(size);
                }
            }
            Element::Broadcast(tensors) => {
                let mut shapes = Vec::with_capacity(tensors.len());
                for tensor in tensors {
                    shapes.push(self.tensor_ref(tensor, line)?);
                }
                let shapes = shapes.iter().map(|t| t.sizes.as_slice());
                let meet = cx.broadcast(shapes, self.clause)?;
                sizes.extend_from_slice(&meet);
            }
            Element::Each { each, size, only } => {
                for step in self.steps(cx, each)? {
                    let scope = self.with(step);
                    if let Some(only) = only {
                        let wanted = scope.formula(cx, only)?;
                        if !cx.branch(wanted, self.clause)? {
                            continue;
                        }
                    }
                    sizes.push(scope.size(cx, size)?);
                }
            }
        }
        Ok(())
    }

    /// The values that the names of `each` have, step after step. Tensors that are absent are left out.
    pub fn steps(&self, cx: &mut Cx, each: &Each) -> Result<Vec<Named>, KernelError> {
        let mut steps: Vec<Named> = Vec::new();
        for (at, (over, (name, _))) in each.lists.iter().zip(&each.variables).enumerate() {
            let values: Vec<Value> = match over {
                Over::Tensors(list) => match self.value(list) {
                    Value::Tensors(items) => items.into_iter().flatten().map(Value::Tensor).collect(),
                    _ => Vec::new(),
                },
                Over::Sizes(element) => {
                    let mut sizes = Default::default();
                    self.elements(cx, element, each.line, &mut sizes)?;
                    sizes.into_iter().map(Value::Int).collect()
                }
                Over::Range(formula) => {
                    let count = self.formula(cx, formula)?;
                    let count = cx.literal(count, self.clause)?;
                    if count > MAX_RANGE {
                        return Err(self.failed(each.line, format!("a range of {count} numbers")));
                    }
                    (0..count).map(|number| Value::Int(cx.int(number))).collect()
                }
            };
            if at == 0 {
                steps = values.iter().map(|_| Vec::with_capacity(each.lists.len())).collect();
            }
            if values.len() != steps.len() {
                let (few, many) = (values.len().min(steps.len()), values.len().max(steps.len()));
                return Err(self.failed(each.line, format!("{few} elements beside {many}")));
            }
            for (step, value) in steps.iter_mut().zip(values) {
                step.push((name.clone(), value));
            }
        }
        Ok(steps)
    }

    /// The same with more names.
    pub fn with(&self, more: Named) -> Scope<'_> {
        let locals = self.locals.iter().cloned().chain(more).collect();
        Scope { args: self.args, locals, file: self.file, clause: self.clause }
    }

    /// The ends of a slice of `count` elements, as Python has them.
    fn slice(
        &self,
        cx: &mut Cx,
        count: usize,
        from: Option<&Formula>,
        to: Option<&Formula>,
    ) -> Result<(usize, usize), KernelError> {
        let mut end = |bound: Option<&Formula>, default: usize| {
            let Some(formula) = bound else { return Ok(default) };
            let value = self.formula(cx, formula)?;
            let value = cx.literal(value, self.clause)?;
            let counted = if value < 0 { value.saturating_add(count as i64) } else { value };
            Ok(counted.clamp(0, count as i64) as usize)
        };
        let (from, to) = (end(from, 0)?, end(to, count)?);
        Ok((from.min(to), to))
    }

    /// The dtype that a rule gives.
    pub fn dtype(&self, rule: &DtypeRule) -> Result<Dtype, KernelError> {
        for alternative in &rule.alternatives {
            match alternative {
                DtypeOf::Constant(dtype) => return Ok(*dtype),
                DtypeOf::Tensor(tensor) => match self.tensor(&tensor.name, tensor.at) {
                    Ok(tensor) => return Ok(tensor.dtype),
                    Err(_) => continue,
                },
                DtypeOf::Argument(name) => {
                    if let Some(Value::Dtype(dtype)) = self.get(name) {
                        return Ok(*dtype);
                    }
                }
                DtypeOf::Promote(operands) => {
                    let mut result = ResultType::default();
                    for operand in operands {
                        match (self.tensor(&operand.name, operand.at), self.get(&operand.name)) {
                            (Ok(tensor), _) => result = result.with(tensor),
                            (_, Some(value)) => {
                                if let Some(scalar) = value.as_scalar() {
                                    result = result.with_scalar(scalar);
                                }
                            }
                            _ => {}
                        }
                    }
                    let clash = |(a, b)| self.failed(rule.line, format!("{a} and {b} do not promote"));
                    return result.dtype().map_err(clash);
                }
            }
        }
        Err(self.failed(rule.line, "none of the tensors and arguments that give the dtype is given".into()))
    }

    /// What another operator returns.
    pub fn invoke(&self, cx: &mut Cx, call: &Invocation) -> Result<Values, KernelError> {
        let Some(kernel) = Registry::builtin().resolve(&call.op) else {
            return Err(KernelError::Unsupported(format!("there is no fake kernel for `{}`", call.op)));
        };
        let mut positional = Vec::with_capacity(call.positional.len());
        for given in &call.positional {
            positional.push(self.given(cx, given)?);
        }
        let mut keywords = Vec::with_capacity(call.keywords.len());
        for (name, given) in &call.keywords {
            keywords.push((&**name, self.given(cx, given)?));
        }
        let args = bind(cx.pool(), call.schema, positional, keywords)
            .map_err(|error| self.failed(call.line, error.to_string()))?;
        kernel.call(cx, &args)
    }

    fn given(&self, cx: &mut Cx, given: &Given) -> Result<Value, KernelError> {
        Ok(match given {
            Given::Argument(name) => self.value(name),
            Given::None => Value::None,
            Given::Number(formula, sort) => {
                let value = self.formula(cx, formula)?;
                match sort {
                    Sort::Int => Value::Int(value),
                    Sort::Float => Value::Float(value),
                    Sort::Bool => Value::Bool(value),
                }
            }
            Given::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.given(cx, item)?);
                }
                gathered(values)
            }
        })
    }
}

/// Single values as one list.
fn gathered(values: Vec<Value>) -> Value {
    if !values.is_empty() && values.iter().all(|v| matches!(v, Value::Tensor(_) | Value::None)) {
        let tensor = |v| if let Value::Tensor(t) = v { Some(t) } else { None };
        return Value::Tensors(values.into_iter().map(tensor).collect());
    }
    let int = |v: &Value| if let Value::Int(e) = v { Some(*e) } else { None };
    match values.iter().map(int).collect() {
        Some(ints) => Value::Ints(ints),
        None => Value::Scalars(values),
    }
}

fn property_of(
    pool: &mut Pool,
    tensor: &Tensor,
    attribute: Option<&str>,
    property: Option<Property>,
    path: &SourcePath,
) -> Result<Expr, String> {
    let category = Category::of(tensor.dtype);
    let rank = tensor.rank();
    let along = |list: &Sizes, d: i64| {
        let index = if d < 0 { d + rank as i64 } else { d };
        let size = usize::try_from(index).ok().and_then(|index| list.get(index));
        size.copied().ok_or_else(|| format!("{} of a tensor with {rank} dimensions", clipped(&shown(path))))
    };
    match (attribute, property) {
        (None, Some(Property::Size(d))) => along(&tensor.sizes, d),
        (None, Some(Property::Stride(d))) => along(&tensor.strides, d),
        (Some("rank" | "ndim"), None) => Ok(pool.int(rank as i64)),
        (Some("numel"), None) => Ok(pool.product(tensor.sizes.iter().copied())),
        (Some("dtype"), None) => Ok(pool.int(tensor.dtype as i64)),
        (Some("is_floating"), None) => Ok(pool.bool(category == Category::Float)),
        (Some("is_complex"), None) => Ok(pool.bool(category == Category::Complex)),
        (Some("is_integral"), None) => Ok(pool.bool(category == Category::Int)),
        (Some("is_bool"), None) => Ok(pool.bool(category == Category::Bool)),
        _ => Err(format!("{} has no value", shown(path))),
    }
}
