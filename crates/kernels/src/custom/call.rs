//! Declared operators as fake kernels.
use super::declaration::{
    DeclaredStep, Definition, Fold, Made, Operator, Require, Return, Returns, Strides, When,
};
use super::evaluate::Scope;
use crate::args::Args;
use crate::context::Cx;
use crate::error::{KernelError, KernelResult};
use crate::kernel::FakeKernel;
use crate::tensor::{Sizes, Tensor};
use crate::value::{Value, Values, list};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Layout, MemoryFormat};
use std::sync::Arc;

clauses! { custom {
    shape "The sizes that the declaration computes are valid: not negative, no divisor is 0, and named \
           dimensions exist."
    when "Whether a case of the declared operator applies to the call, which decides the result."
} }

/// The conditions that the `requires` of a declaration make, in the order of the file.
macro_rules! required {
    ($($number:literal)+) => {
        &[$(&OpClause {
            code: concat!("custom.C", $number),
            says: "A condition that the declaration of the operator makes (`requires`, see docs/operators.md): its number \
                   in the order of the file. The report has its file and line.",
        }),+]
    };
}
const REQUIRED: &[&OpClause] = required!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
/// Those behind them.
const FURTHER: &OpClause = &OpClause {
    code: "custom.C17+",
    says: "A condition of a declared operator behind the first 16 of its `requires`; the report has its file and line.",
};

/// The conditions of declared operators.
pub(crate) const CLAUSES: Clauses = &[custom::ALL, REQUIRED, &[FURTHER]];

impl FakeKernel for Operator {
    fn call(&self, cx: &mut Cx, args: &Args) -> KernelResult {
        let mut scope = Scope { args, locals: Vec::new(), file: &self.file, clause: custom::shape };
        run(cx, &mut scope, &self.first)?;
        for case in &self.cases {
            if let Some(when) = &case.when {
                let applies = match when {
                    When::Holds(formula) => {
                        let condition = scope.formula(cx, formula)?;
                        cx.branch(condition, custom::when)?
                    }
                    When::Text { argument, is } => scope.value(argument) == Value::Str(is.clone().into()),
                };
                if !applies {
                    continue;
                }
            }
            run(cx, &mut scope, &case.steps)?;
            return results(cx, &scope, &case.returns);
        }
        let message = format!("{}: none of the cases of {} applies", self.file, args.schema.qualified());
        Err(KernelError::invalid(custom::when, message))
    }
}

/// Checks conditions and names values.
fn run(cx: &mut Cx, scope: &mut Scope, steps: &[DeclaredStep]) -> Result<(), KernelError> {
    for step in steps {
        match step {
            DeclaredStep::Require(condition) => {
                scope.clause = REQUIRED.get(condition.number).copied().unwrap_or(FURTHER);
                require(cx, scope, condition)?;
                scope.clause = custom::shape;
            }
            DeclaredStep::Let { name, value } => {
                let value = define(cx, scope, value)?;
                scope.locals.push((name.clone(), Value::Int(value)));
            }
            DeclaredStep::Fresh { name, min, max } => {
                let min = match min {
                    Some(formula) => {
                        let least = scope.formula(cx, formula)?;
                        cx.literal(least, custom::shape)?.max(0)
                    }
                    None => 0,
                };
                let max = max.as_ref().map(|formula| scope.formula(cx, formula)).transpose()?;
                if let Some(max) = max {
                    let room = cx.le(Expr::inline(min).unwrap_or(Expr::ZERO), max);
                    cx.require(room, custom::shape, |cx| {
                        format!("`{name}` is at least {min} and at most {}", cx.show(max))
                    })?;
                }
                let size = cx.unbacked_size(min, max);
                scope.locals.push((name.clone(), Value::Int(size)));
            }
        }
    }
    Ok(())
}

fn require(cx: &mut Cx, scope: &Scope, condition: &Require) -> Result<(), KernelError> {
    if let Some(when) = &condition.when {
        let when = scope.formula(cx, when)?;
        if !cx.branch(when, scope.clause)? {
            return Ok(());
        }
    }
    let Some(each) = &condition.each else { return require_one(cx, scope, condition) };
    for step in scope.steps(cx, each)? {
        require_one(cx, &scope.with(step), condition)?;
    }
    Ok(())
}

fn require_one(cx: &mut Cx, scope: &Scope, condition: &Require) -> Result<(), KernelError> {
    let holds = scope.formula(cx, &condition.holds)?;
    let message = || {
        let text = condition.message.as_ref().unwrap_or(&condition.holds.text);
        format!("{} ({}:{}): {text}", scope.args.schema.qualified(), scope.file, condition.holds.line)
    };
    match holds.as_literal_bool() {
        Some(holds) => cx.check(holds, scope.clause, |_| message()),
        None => cx.require(holds, scope.clause, |cx| format!("{}: {}", message(), cx.show(holds))),
    }
}

fn define(cx: &mut Cx, scope: &Scope, definition: &Definition) -> Result<Expr, KernelError> {
    let (fold, formula, each) = match definition {
        Definition::Formula(formula) => return scope.formula(cx, formula),
        Definition::Fold { fold, formula, each } => (*fold, formula, each),
    };
    let mut total = match fold {
        Fold::Sum => Some(Expr::ZERO),
        Fold::Product => Some(Expr::ONE),
        Fold::Min | Fold::Max => None,
    };
    for step in scope.steps(cx, each)? {
        let value = scope.with(step).formula(cx, formula)?;
        total = Some(match (total, fold) {
            (None, _) => value,
            (Some(total), Fold::Sum) => cx.add(total, value),
            (Some(total), Fold::Product) => cx.mul(total, value),
            (Some(total), Fold::Min) => cx.min(total, value),
            (Some(total), Fold::Max) => cx.max(total, value),
        });
    }
    total.ok_or_else(|| scope.failed(formula.line, "nothing has no least and no greatest value".into()))
}

fn results(cx: &mut Cx, scope: &Scope, returns: &Returns) -> KernelResult {
    let listed = match returns {
        Returns::All(call) => return scope.invoke(cx, call),
        Returns::Listed(listed) => listed,
    };
    let mut values = Values::new();
    for result in listed {
        values.push(match result {
            Return::Tensor(made) => make(cx, scope, made)?.into(),
            Return::Same(name) => scope.value(name),
            Return::Call(call) => scope.invoke(cx, call)?.into_iter().next().unwrap_or(Value::None),
            Return::Tensors(tensors) => {
                let mut items = Vec::with_capacity(tensors.len());
                for made in tensors {
                    items.push(make(cx, scope, made)?);
                }
                list(items)
            }
            Return::Each(each, made) => {
                let mut items = Vec::new();
                for step in scope.steps(cx, each)? {
                    items.push(make(cx, &scope.with(step), made)?);
                }
                list(items)
            }
            Return::Int(formula) => Value::Int(scope.formula(cx, formula)?),
            Return::Float(formula) => {
                let value = scope.formula(cx, formula)?;
                Value::Float(cx.pool().to_float(value))
            }
            Return::Bool(formula) => Value::Bool(scope.formula(cx, formula)?),
            Return::None => Value::None,
        });
    }
    Ok(values)
}

fn make(cx: &mut Cx, scope: &Scope, made: &Made) -> Result<Tensor, KernelError> {
    let like = made.like.as_ref().map(|like| scope.tensor_ref(like, made.line)).transpose()?;
    let sizes = match (&made.shape, &like) {
        (Some(shape), _) => scope.shape(cx, shape, made.line)?,
        (None, Some(like)) => like.sizes.clone(),
        (None, None) => Default::default(),
    };
    let dtype = match (&made.dtype, &like) {
        (Some(rule), _) => scope.dtype(rule)?,
        (None, Some(like)) => like.dtype,
        (None, None) => return Err(KernelError::Unsupported("a tensor without a dtype".into())),
    };
    let strides = match &made.strides {
        Strides::Contiguous => cx.contiguous_strides(&sizes),
        Strides::ChannelsLast => {
            let format =
                if sizes.len() == 5 { MemoryFormat::ChannelsLast3d } else { MemoryFormat::ChannelsLast };
            cx.format_strides(&sizes, format)
        }
        Strides::Like(tensor) => {
            let tensor = scope.tensor_ref(tensor, made.line)?;
            if tensor.layout != Layout::Strided || tensor.rank() != sizes.len() {
                cx.contiguous_strides(&sizes)
            } else if tensor.sizes == sizes {
                cx.preserved_strides(&tensor)
            } else {
                cx.elementwise_strides(&sizes, &[&tensor])
            }
        }
        Strides::Order(name) => ordered_strides(cx, scope, name, &sizes, made.line)?,
        Strides::Listed(elements) => {
            let strides = scope.shape(cx, elements, made.line)?;
            cx.check(strides.len() == sizes.len(), custom::shape, |_| {
                format!("{}:{}: {} strides for {} sizes", scope.file, made.line, strides.len(), sizes.len())
            })?;
            strides
        }
    };
    let device = match (&made.device, &like) {
        (Some(tensor), _) => scope.tensor_ref(tensor, made.line)?.device.clone(),
        (None, Some(like)) => like.device.clone(),
        (None, None) => first_device(scope),
    };
    Ok(cx.strided(sizes, strides, dtype, &device))
}

/// The strides of a dense tensor whose dimensions lie in the order of a list, the outermost first.
fn ordered_strides(
    cx: &mut Cx,
    scope: &Scope,
    name: &str,
    sizes: &[Expr],
    line: u32,
) -> Result<Sizes, KernelError> {
    let Value::Ints(list) = scope.value(name) else {
        return Err(scope.failed(line, format!("`{name}` is not given")));
    };
    let count = list.len();
    let mut order: Vec<usize> = Vec::with_capacity(count);
    for dim in list {
        let dim = usize::try_from(cx.literal(dim, custom::shape)?).unwrap_or(usize::MAX);
        if dim < sizes.len() && !order.contains(&dim) {
            order.push(dim);
        }
    }
    cx.check(order.len() == count && count == sizes.len(), custom::shape, |_| {
        format!("{}:{line}: `{name}` is no order of {} dimensions", scope.file, sizes.len())
    })?;
    let lying: Sizes = order.iter().map(|&dim| sizes[dim]).collect();
    let mut strides: Sizes = sizes.into();
    for (dim, stride) in order.into_iter().zip(cx.contiguous_strides(&lying)) {
        strides[dim] = stride;
    }
    Ok(strides)
}

/// The device of the first tensor among the arguments.
fn first_device(scope: &Scope) -> Device {
    let tensors = scope.args.values().iter().find_map(|value| match value {
        Value::Tensor(t) if !t.wrapped => Some(Arc::clone(t)),
        Value::Tensors(items) => items.iter().flatten().next().cloned(),
        _ => None,
    });
    tensors.map_or_else(Device::cpu, |t| t.device.clone())
}
