//! One call of an operator: its inputs, attributes and the outputs that are asked for.
use super::dtype::Dtype;
use super::known::Known;
use super::schema::{CpuTypes, Occurs, Schema, Types};
use super::value::{Element, Tensor, Value};
use crate::shape::schema::signature;
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};
use smallvec::SmallVec;
use std::cell::RefCell;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Attribute {
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<String>),
    Tensor(Tensor),
    /// What no kernel reads: graphs, types, sparse tensors; the letter is that of the schema.
    Other(char),
}

impl Attribute {
    /// The letter of its kind in schemas.
    fn letter(&self) -> char {
        match self {
            Attribute::Int(_) => 'i',
            Attribute::Float(_) => 'f',
            Attribute::Text(_) => 's',
            Attribute::Ints(_) => 'I',
            Attribute::Floats(_) => 'F',
            Attribute::Texts(_) => 'S',
            Attribute::Tensor(_) => 't',
            Attribute::Other(letter) => *letter,
        }
    }
}

/// For an input and one of its dimensions, whether onnxruntime knows the size as a number when it loads the model, where the
/// value itself does not say it.
pub type FoundAtLoad<'a> = &'a dyn Fn(usize, usize) -> Known;

/// A call.
pub struct Call<'a> {
    /// The domain; empty for `ai.onnx`.
    pub domain: &'a str,
    /// The operator.
    pub op: &'a str,
    /// The version of its domain.
    pub version: i64,
    /// The attributes.
    pub attributes: &'a [(&'a str, Attribute)],
    /// The inputs; `None` where an optional one is left out.
    pub inputs: &'a [Option<&'a Value>],
    /// For each output whether it is asked for.
    pub outputs: &'a [bool],
    /// Whether sizes that are numbers may be those of a run.
    pub is_run: bool,
    /// What is found of sizes when the model loads.
    pub found_at_load: FoundAtLoad<'a>,
    /// Where kernels note what is not known of the call, though its shapes are.
    pub doubts: &'a RefCell<Vec<KernelError>>,
}

impl<'a> Call<'a> {
    /// A tensor input, if it is given.
    pub fn tensor(&self, at: usize) -> Option<&'a Tensor> {
        (*self.inputs.get(at)?)?.tensor()
    }

    /// The inputs that are given, from one on; `None` for one that is no tensor.
    pub fn tensors(&self, from: usize) -> impl Iterator<Item = Option<&'a Tensor>> {
        self.inputs.iter().skip(from).flatten().map(|value| value.tensor())
    }

    /// Whether an input is given.
    pub fn has(&self, at: usize) -> bool {
        self.inputs.get(at).is_some_and(Option::is_some)
    }
}

/// A call that its schema allows.
pub struct Checked<'c, 'a> {
    pub(super) call: &'c Call<'a>,
    pub(super) schema: &'static Schema,
    /// For each type constraint that an input decides, the first such input.
    bound: SmallVec<[(usize, &'a Value); 4]>,
}

/// What a kernel returns: a value for each output, as far as it has them.
pub type Outcome = Result<Vec<Value>, KernelError>;

pub(super) fn refused(clause: &'static OpClause, message: String) -> KernelError {
    KernelError::invalid(clause, message)
}

impl<'c, 'a> Checked<'c, 'a> {
    /// Checks a call against the schema. (S1) It has as many inputs and outputs as the operator takes, and those that
    /// are not optional. (S2) Types are allowed, and equal where the schema says so. (S3) Attributes are known, of the
    /// right kind, and there where they are required.
    pub(super) fn new(call: &'c Call<'a>, schema: &'static Schema) -> Result<Checked<'c, 'a>, KernelError> {
        let mut checked = Checked { call, schema, bound: SmallVec::new() };
        checked.counts()?;
        checked.types()?;
        checked.attributes()?;
        Ok(checked)
    }

    /// (S4) Whether onnxruntime's CPU provider has a kernel for the types of the inputs. Where it has one for `f32`, it casts
    /// `f16` to that.
    pub(super) fn has_kernel(&self) -> bool {
        let allows = |(constraint, types): &(usize, Types), is_cast: bool| {
            let value = self.bound.iter().find(|(known, _)| known == constraint);
            value.is_none_or(|(_, value)| {
                let is_half = value.tensor().is_some_and(|tensor| tensor.dtype == Dtype::F16);
                types.allow(value) || is_cast && is_half && types.allow_tensor(Dtype::F32)
            })
        };
        let version = self.call.version;
        let has = |kernel: &CpuTypes| {
            kernel.versions.is_none_or(|(first, last)| (first..=last).contains(&version))
                && kernel.types.iter().all(|of| allows(of, kernel.versions.is_none()))
        };
        self.schema.cpu.as_ref().is_none_or(|kernels| kernels.iter().any(has))
    }

    /// (S4) Whether onnxruntime's CPU provider has a kernel that makes outputs of these types, where attributes decide them.
    /// Where onnxruntime casts an input from `f16`, for a kernel of `f32`, it casts outputs back.
    pub(super) fn has_kernel_for(&self, outputs: &[Value]) -> bool {
        let version = self.call.version;
        let is_half = |value: &Value| value.tensor().is_some_and(|tensor| tensor.dtype == Dtype::F16);
        let casts = self.bound.iter().any(|(_, value)| is_half(value));
        let makes = |(constraint, types): &(usize, Types)| {
            let is_given = self.bound.iter().any(|(known, _)| known == constraint);
            is_given
                || outputs.iter().enumerate().all(|(at, output)| {
                    let formal = self.schema.outputs.formal(at);
                    let is_own = formal.is_some_and(|formal| formal.constraint == Some(*constraint));
                    let is_cast = casts && is_half(output) && types.allow_tensor(Dtype::F32);
                    let is_open = !self.wants(at) || matches!(output, Value::Unknown);
                    !is_own || is_open || is_cast || types.allow(output)
                })
        };
        let has = |kernel: &CpuTypes| {
            kernel.versions.is_none_or(|(first, last)| (first..=last).contains(&version))
                && kernel.types.iter().all(makes)
        };
        self.schema.cpu.as_ref().is_none_or(|kernels| kernels.iter().any(has))
    }

    /// Whether onnxruntime's CPU provider runs another operator, of the same domain and version, on types by the order of the
    /// constraints.
    pub(super) fn runs_as(&self, op: &str, types: &[Dtype]) -> bool {
        let schema = super::schema::find(self.call.domain, op, self.call.version);
        let takes =
            |(at, allowed): &(usize, Types)| types.get(*at).is_none_or(|&dtype| allowed.allow_tensor(dtype));
        let kernels = schema.and_then(|schema| schema.cpu.as_ref());
        kernels.is_none_or(|kernels| kernels.iter().any(|kernel| kernel.types.iter().all(takes)))
    }

    /// Whether onnxruntime's CPU provider has a kernel of the operator for a type in an earlier version, where a body stands
    /// for it in this one.
    pub fn has_kernel_since(&self, version: i64, dtype: Dtype) -> bool {
        let schema = super::schema::find(self.call.domain, self.call.op, version);
        let kernels = schema.and_then(|schema| schema.cpu.as_ref());
        let takes = |kernel: &CpuTypes| kernel.types.iter().all(|(_, types)| types.allow_tensor(dtype));
        kernels.is_none_or(|kernels| kernels.iter().any(takes))
    }

    fn counts(&self) -> Result<(), KernelError> {
        let (schema, op) = (self.schema, self.call.op);
        for (side, count, what) in [
            (&schema.inputs, self.call.inputs.len(), "inputs"),
            (&schema.outputs, self.call.outputs.len(), "outputs"),
        ] {
            if !side.takes(count) {
                let most = side.most.map_or("any number".to_owned(), |most| most.to_string());
                return Err(refused(
                    signature::S1,
                    format!("{op} takes {} to {most} {what}, not {count}", side.least),
                ));
            }
        }
        let skipped = (0..self.call.outputs.len()).find(|&at| {
            let single = schema.outputs.formal(at).is_some_and(|formal| formal.occurs == Occurs::Once);
            single && !self.call.outputs[at]
        });
        if let Some(at) = skipped {
            return Err(refused(
                signature::S1,
                format!("{op} leaves out its output {at}, which is not optional"),
            ));
        }
        let missing = schema.inputs.formals.iter().enumerate().find(|(at, formal)| {
            formal.occurs == Occurs::Once && !matches!(self.call.inputs.get(*at), Some(Some(_)))
        });
        match missing {
            Some((_, formal)) => {
                Err(refused(signature::S1, format!("{op} needs its input `{}`", formal.name)))
            }
            None => Ok(()),
        }
    }

    fn types(&mut self) -> Result<(), KernelError> {
        for (at, value) in self.call.inputs.iter().enumerate() {
            let (Some(value), Some(formal)) = (*value, self.schema.inputs.formal(at)) else { continue };
            if matches!(value, Value::Unknown) {
                continue;
            }
            if !formal.types.allow(value) {
                let (op, given) = (self.call.op, value.type_name());
                let message = format!("{op} does not take {given} as its input `{}`", formal.name);
                return Err(refused(signature::S2, message));
            }
            let Some(constraint) = formal.constraint.filter(|_| formal.occurs != Occurs::Mixed) else {
                continue;
            };
            match self.bound.iter().find(|(other, _)| *other == constraint) {
                Some((_, known)) if !known.has_type_of(value) => {
                    let (given, known) = (value.type_name(), known.type_name());
                    let (op, name) = (self.call.op, formal.name);
                    let message = format!("{op}: input `{name}` is {given}, where another is {known}");
                    return Err(refused(signature::S2, message));
                }
                Some(_) => {}
                None => self.bound.push((constraint, value)),
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Result<(), KernelError> {
        let (schema, op) = (self.schema, self.call.op);
        for (name, value) in self.call.attributes {
            let Some((_, kind, _)) = schema.attributes.iter().find(|(known, ..)| known == name) else {
                // Attributes with a leading underscore are notes of tools. onnxruntime turns constants of any kind into
                // initializers before it looks at the version.
                if name.starts_with('_') || op == "Constant" && name.starts_with("value") {
                    continue;
                }
                return Err(refused(signature::S3, format!("{op} has no attribute `{name}`")));
            };
            // An empty list does not say of what it is one.
            let is_empty = match value {
                Attribute::Ints(list) => list.is_empty(),
                Attribute::Floats(list) => list.is_empty(),
                Attribute::Texts(list) => list.is_empty(),
                _ => false,
            };
            if value.letter() != *kind && !(is_empty && "IFS".contains(*kind)) {
                return Err(refused(
                    signature::S3,
                    format!("the attribute `{name}` of {op} is of another kind"),
                ));
            }
        }
        for (name, _, required) in &schema.attributes {
            if *required && self.attribute(name).is_none() && op != "Constant" {
                return Err(refused(signature::S3, format!("{op} needs its attribute `{name}`")));
            }
        }
        Ok(())
    }

    /// The operator's name.
    pub fn op(&self) -> &'a str {
        self.call.op
    }

    /// The first version of the domain that has this form of the operator.
    pub fn since(&self) -> i64 {
        self.schema.since
    }

    /// The number of inputs, those left out included.
    pub fn count(&self) -> usize {
        self.call.inputs.len()
    }

    /// Whether an output is asked for.
    pub fn wants(&self, at: usize) -> bool {
        self.call.outputs.get(at).copied().unwrap_or(false)
    }

    /// The number of outputs.
    pub fn output_count(&self) -> usize {
        self.call.outputs.len()
    }

    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&'a Attribute> {
        self.call.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        match self.attribute(name) {
            Some(Attribute::Int(value)) => *value,
            _ => default,
        }
    }

    /// An attribute that is a number.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.attribute(name)? {
            Attribute::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Option<&'a [i64]> {
        match self.attribute(name)? {
            Attribute::Ints(list) => Some(list),
            Attribute::Floats(list) if list.is_empty() => Some(&[]),
            Attribute::Texts(list) if list.is_empty() => Some(&[]),
            _ => None,
        }
    }

    /// The length of a list that is an attribute; 0 if it is not given.
    pub fn length(&self, name: &str) -> usize {
        match self.attribute(name) {
            Some(Attribute::Ints(list)) => list.len(),
            Some(Attribute::Floats(list)) => list.len(),
            Some(Attribute::Texts(list)) => list.len(),
            _ => 0,
        }
    }

    /// A text.
    pub fn text(&self, name: &str, default: &'a str) -> &'a str {
        match self.attribute(name) {
            Some(Attribute::Text(value)) => value,
            _ => default,
        }
    }

    /// An input, if it is given.
    pub fn input(&self, at: usize) -> Option<&'a Value> {
        *self.call.inputs.get(at)?
    }

    /// A tensor input, if it is given.
    pub fn tensor(&self, at: usize) -> Option<&'a Tensor> {
        self.input(at)?.tensor()
    }

    /// Whether an input is given.
    pub fn has(&self, at: usize) -> bool {
        self.input(at).is_some()
    }

    /// The shape of a tensor that has to be given.
    ///
    /// # Errors
    /// When it is not, or when its rank is not known.
    pub fn shape(&self, at: usize) -> Result<&'a [Expr], KernelError> {
        let tensor = self.given(at)?;
        tensor.shape.as_deref().ok_or_else(|| open(self.op(), &format!("the rank of its input {at}")))
    }

    /// A tensor that has to be given.
    ///
    /// # Errors
    /// When it is not.
    pub fn given(&self, at: usize) -> Result<&'a Tensor, KernelError> {
        let missing = || refused(signature::S1, format!("{} needs a tensor as its input {at}", self.op()));
        self.tensor(at).ok_or_else(missing)
    }

    /// The element type of an output by the schema, if that decides it.
    pub fn output_type(&self, at: usize) -> Option<Dtype> {
        let formal = self.schema.outputs.formal(at)?;
        match self.bound.iter().find(|(constraint, _)| Some(*constraint) == formal.constraint) {
            Some((_, known)) => known.tensor().map(|tensor| tensor.dtype),
            None => formal.types.only(),
        }
    }

    /// An output of which the schema says the type at most.
    pub(super) fn unknown_output(&self, at: usize) -> Value {
        self.output_type(at).map_or(Value::Unknown, |dtype| Tensor::unranked(dtype).into())
    }

    /// An output of a shape, with the type that the schema gives it.
    ///
    /// # Errors
    /// When the schema does not decide the type.
    pub fn output(&self, at: usize, shape: Vec<Expr>) -> Result<Tensor, KernelError> {
        let unknown =
            || KernelError::Unsupported(format!("the type of output {at} of {} is not known", self.op()));
        Ok(Tensor::new(self.output_type(at).ok_or_else(unknown)?, shape))
    }

    /// One result of a shape.
    ///
    /// # Errors
    /// As [`Checked::output`].
    pub fn one(&self, shape: Vec<Expr>) -> Outcome {
        Ok(vec![self.output(0, shape)?.into()])
    }

    /// Requires what does not depend on sizes.
    ///
    /// # Errors
    /// When it does not hold.
    pub fn check(
        &self,
        holds: bool,
        clause: &'static OpClause,
        message: impl FnOnce() -> String,
    ) -> Result<(), KernelError> {
        if holds { Ok(()) } else { Err(refused(clause, format!("{}: {}", self.op(), message()))) }
    }

    /// An axis counted from the end when negative; it has to be one of `rank` axes.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn axis(&self, axis: i64, rank: usize, clause: &'static OpClause) -> Result<usize, KernelError> {
        let most = rank as i64;
        self.check((-most..most).contains(&axis), clause, || {
            format!("axis {axis} is not within [-{most}, {most})")
        })?;
        Ok(if axis < 0 { axis + most } else { axis } as usize)
    }

    /// The number that a size is, on which the rank of a result depends: other sizes make another rank.
    ///
    /// # Errors
    /// When it is not known to be one.
    pub fn fixed_size(&self, cx: &mut Cx, size: Expr, what: &str) -> Result<i64, KernelError> {
        if let Some(number) = size.as_inline() {
            return Ok(number);
        }
        let hint = cx.env.hint_int(size).and_then(|hint| hint.to_i64());
        if let Some(number) = hint {
            let same = cx.int(number);
            let same = cx.eq(size, same);
            if cx.surely(same) {
                return Ok(number);
            }
        }
        Err(open(self.op(), what))
    }

    /// The integers that an input holds: attributes of older versions became inputs.
    pub fn input_ints(
        &self,
        cx: &mut Cx,
        at: usize,
        clause: &'static OpClause,
    ) -> Result<Option<Vec<i64>>, KernelError> {
        let Some(tensor) = self.tensor(at) else { return Ok(None) };
        let count = match tensor.shape.as_deref() {
            Some(&[size]) if tensor.elements.is_some() => usize::try_from(cx.literal(size, clause)?).ok(),
            _ => tensor.count().and_then(|count| usize::try_from(count).ok()),
        };
        let items = count.and_then(|count| tensor.list_of(count));
        let items: Option<Vec<Expr>> = items.and_then(|items| items.iter().map(Element::int).collect());
        let Some(items) = items else {
            return Err(open(self.op(), &format!("the elements of its input {at}")));
        };
        items.into_iter().map(|e| cx.literal(e, clause)).collect::<Result<_, _>>().map(Some)
    }

    /// A list that is an attribute up to some version and an input afterwards.
    ///
    /// # Errors
    /// When the elements of the input are not known.
    pub fn list(
        &self,
        cx: &mut Cx,
        name: &str,
        at: usize,
        clause: &'static OpClause,
    ) -> Result<Option<Vec<i64>>, KernelError> {
        match self.ints(name) {
            Some(list) => Ok(Some(list.to_vec())),
            None if self.schema.attributes.iter().any(|(known, ..)| *known == name) => Ok(None),
            None => self.input_ints(cx, at, clause),
        }
    }
}

/// The error for what only data decide.
pub fn open(op: &str, what: &str) -> KernelError {
    let message = format!("{op}: the result depends on what is not known: {what}");
    KernelError::DataDependent { condition: Expr::ZERO, message }
}
