//! The casts in front of an operator.
use super::interpreter::{CallError, Interpreter};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;
use sizewise_ir::schema::Type;
use sizewise_kernels::autocast::{Policy, Region, Regions, is_listed, policy_of};
use sizewise_kernels::{Args, Cx, Tensor, Value};
use std::sync::Arc;

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[autocast::ALL];

clauses! { autocast {
    C1 "Operands before the first of `float32` have autocast's lower precision dtype."
    C2 "The operator is safe to autocast."
} }

impl<'p> Interpreter<'p> {
    /// `_enter_autocast(device, dtype, enabled, cache_enabled)` and `_exit_autocast(region)`, which stand
    /// around a region's calls where no higher-order operator holds them; `None` when `function` is neither.
    pub(super) fn call_autocast(
        &mut self,
        function: &str,
        args: &[Value],
    ) -> Option<Result<Vec<Value>, CallError>> {
        match (function, args) {
            ("_enter_autocast", [Value::Str(device), dtype, Value::Bool(enabled), ..]) => {
                let dtype = if let Value::Dtype(dtype) = dtype { Some(*dtype) } else { None };
                let enabled = self.run.env.pool.as_bool(*enabled) == Some(true);
                let inner = self.autocast.within(device, dtype, enabled);
                self.entered.push(std::mem::replace(&mut self.autocast, inner));
                Some(Ok(vec![Value::Opaque]))
            }
            ("_exit_autocast", _) => {
                let Some(outer) = self.entered.pop() else {
                    return Some(Err(self.malformed("no autocast region has been entered")));
                };
                self.autocast = outer;
                Some(Ok(vec![Value::None]))
            }
            _ => None,
        }
    }

    /// Casts the operands of a call of `op`, named as in `aten.mm.default`, as the regions around it say.
    pub(super) fn autocast(&mut self, op: &str, args: &mut Args) -> Result<(), CallError> {
        let regions: Regions = self.autocast.clone();
        for region in regions.enabled() {
            let Some(lower) = region.dtype else { continue };
            let device = &*region.device;
            if !is_listed(device) {
                if tensors(args.values()).any(|t| is_eligible(t, device)) {
                    let reason = format!("what autocast does on `{device}` is not known");
                    return Err(CallError::Unsupported(reason));
                }
                continue;
            }
            let Some(policy) = policy_of(device, op) else { continue };
            // The dispatcher asks the devices of all operands.
            if !tensors(args.values()).any(|t| &*t.device.kind == device) {
                continue;
            }
            let first = args.values().first();
            let first_is_eligible = matches!(first, Some(Value::Tensor(t)) if is_eligible(t, device));
            match policy {
                Policy::Lower => self.cast_all(args, region, lower)?,
                Policy::Fp32 => self.cast_all(args, region, Dtype::Float32)?,
                Policy::Promote => {
                    let widest = self.widest(args, region, lower)?;
                    self.cast_all(args, region, widest)?;
                }
                Policy::Fp32Append if first_is_eligible => {
                    let value = std::mem::replace(&mut args.values_mut()[0], Value::None);
                    args.values_mut()[0] = self.cast(value, region, Dtype::Float32)?;
                }
                Policy::Fp32Dtype if first_is_eligible => set_dtype(args),
                Policy::Fp32Append | Policy::Fp32Dtype => {}
                Policy::Banned => {
                    let message = format!("{op} is unsafe to autocast");
                    return Err(self.invalid(autocast::C2, message));
                }
                Policy::Recorded => {
                    self.dtypes_as_recorded = true;
                    self.cast_all(args, region, Dtype::Float32)?;
                }
            }
        }
        Ok(())
    }

    /// The dtype of the widest-type policy: operands in turn, `float64` being passed over.
    fn widest(&self, args: &Args, region: &Region, lower: Dtype) -> Result<Dtype, CallError> {
        let mut widest = lower;
        for tensor in tensors(args.values()).filter(|t| is_eligible(t, &region.device)) {
            if widest == Dtype::Float32 || tensor.dtype == Dtype::Float32 {
                widest = Dtype::Float32;
            } else if tensor.dtype != lower {
                let message = format!("autocast to {lower} does not promote {}", tensor.dtype);
                return Err(self.invalid(autocast::C1, message));
            }
        }
        Ok(widest)
    }

    fn cast_all(&mut self, args: &mut Args, region: &Region, dtype: Dtype) -> Result<(), CallError> {
        for at in 0..args.values().len() {
            let value = std::mem::replace(&mut args.values_mut()[at], Value::None);
            args.values_mut()[at] = self.cast(value, region, dtype)?;
        }
        Ok(())
    }

    /// The value with its tensors cast, those that are eligible.
    fn cast(&mut self, value: Value, region: &Region, dtype: Dtype) -> Result<Value, CallError> {
        Ok(match value {
            Value::Tensor(t) => Value::Tensor(self.cast_tensor(t, region, dtype)?),
            Value::Tensors(list) => {
                let mut cast = Vec::with_capacity(list.len());
                for item in list {
                    cast.push(item.map(|t| self.cast_tensor(t, region, dtype)).transpose()?);
                }
                Value::Tensors(cast)
            }
            other => other,
        })
    }

    fn cast_tensor(
        &mut self,
        tensor: Arc<Tensor>,
        region: &Region,
        dtype: Dtype,
    ) -> Result<Arc<Tensor>, CallError> {
        if !is_eligible(&tensor, &region.device) || tensor.dtype == dtype {
            return Ok(tensor);
        }
        let arguments = [Value::Tensor(tensor), Value::Dtype(dtype)];
        let cast = Cx::new(&mut self.run.env).invoke_one("aten.to.dtype", arguments);
        self.returned(cast).map(Arc::new)
    }

    /// The regions around the step as words of a key of calls: different regions have different words.
    pub(super) fn write_regions(&self, key: &mut Vec<u64>) {
        key.push(self.autocast.enabled().count() as u64);
        for region in self.autocast.enabled() {
            key.push(region.dtype.map_or(0, |dtype| dtype as u64 + 1));
            super::calls::write_text(&region.device, key);
        }
    }
}

/// Whether autocast for a type of device touches a tensor.
fn is_eligible(tensor: &Tensor, device: &str) -> bool {
    &*tensor.device.kind == device && tensor.dtype.is_float() && tensor.dtype != Dtype::Float64
}

/// The tensors among arguments, in their order.
fn tensors(values: &[Value]) -> impl Iterator<Item = &Tensor> {
    values.iter().flat_map(|value| {
        let (one, many) = match value {
            Value::Tensor(t) => (Some(t), &[] as &[Option<Arc<Tensor>>]),
            Value::Tensors(list) => (None, list.as_slice()),
            _ => (None, &[] as &[_]),
        };
        one.into_iter().chain(many.iter().flatten()).map(|t| &**t)
    })
}

/// Gives the dtype argument that is absent the value `float32`.
fn set_dtype(args: &mut Args) {
    let is_dtype = |ty: &Type| matches!(ty.strip_optional(), (Type::ScalarType, true));
    let at = args.schema.args.iter().position(|arg| is_dtype(&arg.ty));
    if let Some(value @ Value::None) = at.and_then(|at| args.values_mut().get_mut(at)) {
        *value = Value::Dtype(Dtype::Float32);
    }
}
