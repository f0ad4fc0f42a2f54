//! What decompositions are made with: calls by the order of their parameters, sizes as operands, and arithmetic on
//! them.
use super::Made;
use super::call::{Call, fitted, refused};
use super::regions;
use crate::tracer::{OldCall, Proxy, TraceError, Tracer};
use sizewise_expr::Expr;
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Device, Dtype, MemoryFormat, Operand};
use sizewise_kernels::autocast::{Regions, policy_of};
use sizewise_kernels::{Cx, Tensor, Value};
use sizewise_verify::is_core_or_excepted;
use std::sync::Arc;

/// How deep decompositions may stand on others: more than any of the table.
const MAX_DEPTH: usize = 24;

/// An integer: a literal, or a value of the graph.
pub type Size = Operand<i64>;

/// A decomposition that looks at ranks, sizes or options.
pub type Function = fn(&mut Builder<'_, '_>, &Call<'_>) -> Made;

/// What an operator becomes.
pub trait Decomposition: Sync {
    /// Makes the calls that stand for a call of the operator.
    fn apply(&self, b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made;
}

/// Finds the decomposition of an operator.
pub type Find = fn(&str) -> Option<&'static dyn Decomposition>;

/// Makes the calls that stand for another.
pub struct Builder<'t, 'o> {
    tracer: &'t mut Tracer<'o>,
    find: Find,
    depth: usize,
    /// The autocast regions in which the calls are made.
    around: Regions,
}

impl<'t, 'o> Builder<'t, 'o> {
    pub fn new(tracer: &'t mut Tracer<'o>, find: Find, around: Regions) -> Builder<'t, 'o> {
        Builder { tracer, find, depth: 0, around }
    }

    /// What stands for the results of a call of the program. Dtypes and sizes have to be those of the results.
    pub fn replaced(&mut self, step: &OldCall<'_>, op: &str) -> Made {
        let (schema, _) =
            self.tracer.operators().find(op).ok_or_else(|| TraceError::Unknown(op.to_owned()))?;
        let matched = step.node.matched(schema).zip(&step.inputs);
        let given = matched
            .filter_map(|((parameter, _), input)| {
                Some((schema.args.get(parameter?)?.name.clone(), input.arg.clone()))
            })
            .collect();
        let wanted: Vec<Option<Arc<Tensor>>> = self.tracer.recorded_tensors(step.node);
        let call = Call::new(schema, given);
        // What the operator asks of its operands itself is no guard of the decomposition. In regions its parts have other
        // operands.
        if self.around.enabled().next().is_none() {
            self.foreseen_values(&call, op)?;
        }
        let (guards, mut facts) = (self.tracer.guard_count(), self.tracer.facts());
        let results = self.decomposed(op, call)?;
        if let Some(guard) = self.tracer.first_open_guard(guards, &mut facts) {
            return Err(refused(format!("the decomposition holds only where {guard}")));
        }
        if results.len() != wanted.len() {
            return Err(refused(format!("{} results stand for {}", results.len(), wanted.len())));
        }
        for (result, wanted) in results.iter().zip(&wanted) {
            let (Some(found), Some(wanted)) = (self.tracer.tensor_of(*result), wanted) else { continue };
            if found.dtype != wanted.dtype || !self.tracer.same_sizes(&found.sizes, &wanted.sizes) {
                let (found, wanted) = (self.tracer.shape(*result), self.tracer.shape_of(wanted));
                let message = format!("the decomposition gives {found}, not the recorded {wanted}");
                return Err(refused(message));
            }
        }
        Ok(results)
    }

    fn decomposed(&mut self, op: &str, call: Call<'_>) -> Made {
        let rule = (self.find)(op).ok_or_else(|| refused(format!("there is no decomposition of `{op}`")))?;
        if self.depth >= MAX_DEPTH {
            return Err(refused("the recursion limit of decompositions is reached"));
        }
        self.depth += 1;
        let made = rule.apply(self, &call);
        self.depth -= 1;
        made
    }

    /// A call of an operator of `aten` with its arguments in order, and others by name. One that is not of the core set
    /// is decomposed.
    pub fn call_with(&mut self, op: &str, ordered: &[Argument], named: &[(&str, Argument)]) -> Made {
        let op = format!("aten.{op}");
        let (schema, _) = self.tracer.operators().find(&op).ok_or_else(|| TraceError::Unknown(op.clone()))?;
        if ordered.len() > schema.args.len() {
            return Err(refused(format!("`{op}` takes {} arguments", schema.args.len())));
        }
        let ordered = schema.args.iter().zip(ordered).map(|(spec, argument)| (spec.name.as_str(), argument));
        let named = named.iter().map(|(name, argument)| (*name, argument));
        let mut given: Vec<(String, Argument)> = Vec::new();
        for (name, argument) in ordered.chain(named) {
            let spec = schema.args.iter().find(|spec| spec.name == name);
            let spec = spec.ok_or_else(|| refused(format!("`{op}` has no `{name}`")))?;
            let absent = matches!(argument, Argument::None) && spec.default.is_some();
            if !absent {
                given.push((name.to_owned(), fitted(argument.clone(), &spec.ty)));
            }
        }
        let around = self.around.clone();
        if around.enabled().next().is_some() {
            let mut arguments: Vec<&mut Argument> = given.iter_mut().map(|(_, argument)| argument).collect();
            let treated = regions::treat(self.tracer, &around, &op, &mut arguments)?;
            if treated.dtype && !given.iter().any(|(name, _)| name == "dtype") {
                given.push(("dtype".to_owned(), Argument::Dtype(Dtype::Float32)));
            }
            // What an operator does that is treated itself stands in no region.
            if !treated.parts && policy_names(&around, &op) {
                self.around = Regions::default();
            }
        }
        let made = self.made(&op, schema, given);
        self.around = around;
        made
    }

    /// A call that is made as it is, or decomposed.
    fn made(&mut self, op: &str, schema: &Schema, given: Vec<(String, Argument)>) -> Made {
        if (self.find)(op).is_some() {
            return self.decomposed(op, Call::new(schema, given));
        }
        if !is_core_or_excepted(op) {
            return Err(refused(format!("there is no decomposition of `{op}`")));
        }
        self.tracer.call(op, given.iter().map(|(name, argument)| (name.as_str(), argument.clone())))
    }

    /// The first result of a call.
    pub fn one_with(
        &mut self,
        op: &str,
        ordered: &[Argument],
        named: &[(&str, Argument)],
    ) -> Result<Proxy, TraceError> {
        let made = self.call_with(op, ordered, named)?;
        made.first().copied().ok_or_else(|| refused(format!("`{op}` gives nothing")))
    }

    /// As [`Builder::one_with`], without arguments by name.
    pub fn one(&mut self, op: &str, ordered: &[Argument]) -> Result<Proxy, TraceError> {
        self.one_with(op, ordered, &[])
    }

    /// A tensor as kernels see it.
    pub fn tensor(&self, proxy: Proxy) -> Result<Arc<Tensor>, TraceError> {
        self.tracer.tensor_of(proxy).ok_or_else(|| refused("an operand is no tensor whose shape is known"))
    }

    pub fn rank(&self, proxy: Proxy) -> Result<usize, TraceError> {
        Ok(self.tensor(proxy)?.sizes.len())
    }

    pub fn dtype(&self, proxy: Proxy) -> Result<Dtype, TraceError> {
        Ok(self.tensor(proxy)?.dtype)
    }

    /// A tensor without dimensions.
    pub fn scalar(&mut self, value: Argument, dtype: Dtype, device: &Device) -> Result<Proxy, TraceError> {
        let named = [("dtype", Argument::Dtype(dtype)), ("device", Argument::Device(device.clone()))];
        self.one_with("scalar_tensor.default", &[value], &named)
    }

    /// A tensor in a dtype.
    pub fn cast(&mut self, proxy: Proxy, dtype: Dtype) -> Result<Proxy, TraceError> {
        if self.dtype(proxy)? == dtype {
            return Ok(proxy);
        }
        self.one_with("_to_copy.default", &[proxy.into()], &[("dtype", Argument::Dtype(dtype))])
    }

    /// What the kernel of an operator gives for a call that is not made.
    ///
    /// # Errors
    /// When it refuses the call.
    fn foreseen_values(&mut self, call: &Call<'_>, op: &str) -> Result<Vec<Value>, TraceError> {
        let names = call.schema.args.iter().map(|spec| spec.name.as_str());
        let given: Vec<(&str, Argument)> = names
            .map(|name| (name, call.argument(name)))
            .filter(|(_, argument)| !matches!(argument, Argument::None))
            .collect();
        self.tracer.foreseen(op, &given)
    }

    /// The first tensor that a call would give.
    pub fn foreseen(&mut self, call: &Call<'_>, op: &str) -> Option<Arc<Tensor>> {
        match self.foreseen_values(call, op).ok()?.into_iter().next()? {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// How many tensors a call would give.
    pub fn foreseen_count(&mut self, call: &Call<'_>, op: &str) -> Option<usize> {
        match self.foreseen_values(call, op).ok()?.into_iter().next()? {
            Value::Tensors(list) => Some(list.len()),
            _ => None,
        }
    }

    /// A dimension counted from the front.
    pub fn dim(&self, dim: i64, rank: usize) -> Result<usize, TraceError> {
        let rank = rank.max(1) as i64;
        let from_front = if dim < 0 { dim + rank } else { dim };
        if (0..rank).contains(&from_front) {
            return Ok(from_front as usize);
        }
        Err(refused(format!("there is no dimension {dim}")))
    }

    /// The size of a dimension.
    pub fn size(&mut self, proxy: Proxy, dim: usize) -> Result<Size, TraceError> {
        let tensor = self.tensor(proxy)?;
        let e = *tensor.sizes.get(dim).ok_or_else(|| refused(format!("there is no dimension {dim}")))?;
        if let Some(value) = self.tracer.number(e) {
            return Ok(Operand::Literal(value));
        }
        if let Some(known) = self.tracer.size_read(proxy, dim) {
            return Ok(Operand::Value(known.id()));
        }
        let given = [("self", proxy.into()), ("dim", Argument::Int(dim as i64))];
        let made = self.tracer.call("aten.sym_size.int", given)?;
        let size = made.first().copied().ok_or_else(|| refused("a size is no number"))?;
        self.tracer.note_size_read(proxy, dim, size);
        Ok(Operand::Value(size.id()))
    }

    pub fn sizes(&mut self, proxy: Proxy) -> Result<Vec<Size>, TraceError> {
        (0..self.rank(proxy)?).map(|dim| self.size(proxy, dim)).collect()
    }

    /// Arithmetic on integers: a function of Python's `operator`.
    fn arithmetic(&mut self, function: &str, a: Size, b: Size) -> Result<Size, TraceError> {
        let made = self.tracer.call(&format!("_operator.{function}"), [("a", size(a)), ("b", size(b))])?;
        let made = made.first().copied().ok_or_else(|| refused("arithmetic gives no number"))?;
        Ok(self.tracer.number_of(made).map_or(Operand::Value(made.id()), Operand::Literal))
    }

    pub fn times(&mut self, a: Size, b: Size) -> Result<Size, TraceError> {
        match (a, b) {
            (Operand::Literal(a), Operand::Literal(b)) => literal(a.checked_mul(b)),
            (Operand::Literal(1), other) | (other, Operand::Literal(1)) => Ok(other),
            _ => self.arithmetic("mul", a, b),
        }
    }

    pub fn plus(&mut self, a: Size, b: Size) -> Result<Size, TraceError> {
        match (a, b) {
            (Operand::Literal(a), Operand::Literal(b)) => literal(a.checked_add(b)),
            (Operand::Literal(0), other) | (other, Operand::Literal(0)) => Ok(other),
            _ => self.arithmetic("add", a, b),
        }
    }

    pub fn minus(&mut self, a: Size, b: Size) -> Result<Size, TraceError> {
        match (a, b) {
            (Operand::Literal(a), Operand::Literal(b)) => literal(a.checked_sub(b)),
            (other, Operand::Literal(0)) => Ok(other),
            _ => self.arithmetic("sub", a, b),
        }
    }

    pub fn divided(&mut self, a: Size, b: Size) -> Result<Size, TraceError> {
        match (a, b) {
            (Operand::Literal(a), Operand::Literal(b)) if b > 0 => Ok(Operand::Literal(a.div_euclid(b))),
            (other, Operand::Literal(1)) => Ok(other),
            _ => self.arithmetic("floordiv", a, b),
        }
    }

    /// A function of numbers, of Python's `operator`, `math` or `torch`.
    pub fn computed(&mut self, function: &str, given: &[Argument]) -> Result<Argument, TraceError> {
        let named = ["a", "b"].into_iter().zip(given.iter().cloned());
        let made = self.tracer.call(function, named)?;
        made.first().copied().map(Into::into).ok_or_else(|| refused("arithmetic gives no number"))
    }

    /// One size divided by another, as a number with a fraction.
    pub fn ratio(&mut self, a: Size, b: Size) -> Result<Argument, TraceError> {
        match (a, b) {
            (Operand::Literal(a), Operand::Literal(b)) if b != 0 => Ok(Argument::Float(a as f64 / b as f64)),
            _ => self.computed("_operator.truediv", &[size(a), size(b)]),
        }
    }

    /// The product of a size and a factor, without its fraction: by integers, as the kernels have it, where the factor is a
    /// fraction of a power of two.
    pub fn scaled(&mut self, full: Size, factor: f64) -> Result<Size, TraceError> {
        for parts in (0..=8).map(|bits| 1_i64 << bits) {
            let numerator = factor * parts as f64;
            if numerator.fract() == 0.0 && (0.0..=4096.0).contains(&numerator) {
                let product = self.times(full, Operand::Literal(numerator as i64))?;
                return self.divided(product, Operand::Literal(parts));
            }
        }
        if let Operand::Literal(full) = full {
            return Ok(Operand::Literal((full as f64 * factor).trunc() as i64));
        }
        let full = self.computed("torch.sym_float", &[size(full)])?;
        let product = self.computed("_operator.mul", &[full, Argument::Float(factor)])?;
        match self.computed("math.trunc", &[product])? {
            Argument::SymInt(made) => Ok(made),
            _ => Err(refused("a rounded number is no integer")),
        }
    }

    /// The larger one of a size and a number.
    pub fn at_least(&mut self, full: Size, least: i64) -> Result<Size, TraceError> {
        if let Operand::Literal(full) = full {
            return Ok(Operand::Literal(full.max(least)));
        }
        match self.computed("torch.sym_max", &[size(full), Argument::Int(least)])? {
            Argument::SymInt(made) => Ok(made),
            _ => Err(refused("a size is no integer")),
        }
    }

    /// Whether a dimension has at least so many elements, whatever the sizes are.
    pub fn has_at_least(&mut self, proxy: Proxy, dim: usize, least: i64) -> Result<bool, TraceError> {
        let tensor = self.tensor(proxy)?;
        let e = *tensor.sizes.get(dim).ok_or_else(|| refused(format!("there is no dimension {dim}")))?;
        let env = self.tracer.env_mut();
        let least = env.pool.int(least);
        let enough = env.pool.ge(e, least);
        Ok(env.statically_known_true(enough))
    }

    /// The value as it lies in memory where operators on images keep the order of dimensions that `like` has.
    pub fn laid_out_like(&mut self, made: Proxy, like: Proxy) -> Result<Proxy, TraceError> {
        let like = self.tensor(like)?;
        let format = Cx::new(self.tracer.env_mut()).suggested_format(&like);
        if format == MemoryFormat::Contiguous && self.is_contiguous(made)? {
            return Ok(made);
        }
        let format = [("memory_format", Argument::MemoryFormat(format))];
        self.one_with("clone.default", &[made.into()], &format)
    }

    pub fn product(&mut self, list: &[Size]) -> Result<Size, TraceError> {
        let mut product = Operand::Literal(1);
        for &size in list {
            product = self.times(product, size)?;
        }
        Ok(product)
    }

    /// Whether a tensor lies in memory without gaps and in order, for all sizes.
    pub fn is_contiguous(&mut self, proxy: Proxy) -> Result<bool, TraceError> {
        let tensor = self.tensor(proxy)?;
        let expected = Cx::new(self.tracer.env_mut()).contiguous_strides(&tensor.sizes);
        let strides = tensor.strides.iter().zip(&expected).zip(&tensor.sizes);
        let mut all = true;
        for ((stride, expected), &size) in strides {
            all &= stride == expected || self.tracer.number(size) == Some(1);
        }
        Ok(all)
    }

    /// Whether a view of other sizes would have the sizes of the tensor itself, whatever these are.
    pub fn keeps_sizes(&mut self, proxy: Proxy, shape: &[Size]) -> Result<bool, TraceError> {
        let given = [("self", proxy.into()), ("shape", sizes(shape))];
        let Ok(values) = self.tracer.foreseen("aten.reshape.default", &given) else { return Ok(false) };
        let kept = self.tensor(proxy)?;
        Ok(matches!(values.first(), Some(Value::Tensor(tensor)) if tensor.sizes == kept.sizes))
    }

    /// Whether all sizes and strides are numbers.
    pub fn is_static(&self, proxy: Proxy) -> Result<bool, TraceError> {
        let tensor = self.tensor(proxy)?;
        let known = |e: &Expr| self.tracer.number(*e).is_some();
        Ok(tensor.sizes.iter().all(known) && tensor.strides.iter().all(known))
    }

    /// The size that an expression is, where it is a number.
    pub fn number(&self, e: Expr) -> Option<i64> {
        self.tracer.number(e)
    }
}

/// Whether an operator is treated itself in one of the regions.
fn policy_names(around: &Regions, op: &str) -> bool {
    around.enabled().any(|region| policy_of(&region.device, op).is_some())
}

fn literal(value: Option<i64>) -> Result<Size, TraceError> {
    value.map(Operand::Literal).ok_or_else(|| refused("a size is beyond 64 bits"))
}

/// An integer as an argument.
pub fn size(size: Size) -> Argument {
    match size {
        Operand::Literal(value) => Argument::Int(value),
        value => Argument::SymInt(value),
    }
}

/// Integers as an argument.
pub fn sizes(list: &[Size]) -> Argument {
    let literal = |size: &Size| match size {
        Operand::Literal(value) => Some(*value),
        Operand::Value(_) => None,
    };
    let literals: Option<Vec<i64>> = list.iter().map(literal).collect();
    literals.map_or_else(|| Argument::SymInts(list.to_vec()), Argument::Ints)
}

/// Dimensions as an argument.
pub fn dims(list: impl IntoIterator<Item = usize>) -> Argument {
    Argument::Ints(list.into_iter().map(|dim| dim as i64).collect())
}
