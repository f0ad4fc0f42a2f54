//! Arguments of one call, matched against the operator's schema.
use super::error::KernelError;
use super::tensor::Tensor;
use super::value::{Scalar, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype, Layout, MemoryFormat};
use sizewise_ir::schema::Schema;
use smallvec::SmallVec;
use std::sync::Arc;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[arguments::ALL];

/// The arguments of one call: one value for each argument of the schema, in its order, defaults filled in and of the
/// type that the schema says (see [`super::bind`]). The getters therefore fail only for a name or type that the
/// schema does not have, which is a mistake in the kernel.
#[derive(Debug)]
pub struct Args<'a> {
    /// The operator's schema.
    pub schema: &'a Schema,
    pub(super) values: SmallVec<[Value; 8]>,
}

impl Args<'_> {
    /// The value of an argument.
    pub fn value(&self, name: &str) -> Result<&Value, KernelError> {
        let at = self.schema.args.iter().position(|arg| arg.name == name);
        at.and_then(|at| self.values.get(at)).ok_or_else(|| self.mismatch(name, "no such argument"))
    }

    /// All values in the schema's order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values in the schema's order, to be replaced by others of their types.
    pub fn values_mut(&mut self) -> &mut [Value] {
        &mut self.values
    }

    /// Whether the schema has an argument of this name.
    pub fn has(&self, name: &str) -> bool {
        self.schema.args.iter().any(|arg| arg.name == name)
    }

    /// The tensor at a position of the schema, for kernels whose overloads name their arguments differently.
    pub fn tensor_at(&self, at: usize) -> Result<&Arc<Tensor>, KernelError> {
        match self.values.get(at) {
            Some(Value::Tensor(t)) => Ok(t),
            Some(Value::None) => Err(undefined(&format!("argument {at}"))),
            other => Err(self.mismatch(&format!("argument {at}"), other.map_or("nothing", Value::kind))),
        }
    }

    pub(super) fn mismatch(&self, name: &str, found: &str) -> KernelError {
        KernelError::Unsupported(format!(
            "{}: the kernel does not fit its schema at `{name}`: {found}",
            self.schema.qualified()
        ))
    }

    fn optional<'s, T>(
        &'s self,
        name: &str,
        read: impl Fn(&'s Value) -> Option<T>,
    ) -> Result<Option<T>, KernelError> {
        match self.value(name)? {
            Value::None => Ok(None),
            value => read(value).map(Some).ok_or_else(|| self.mismatch(name, value.kind())),
        }
    }

    fn required<T>(&self, name: &str, found: Result<Option<T>, KernelError>) -> Result<T, KernelError> {
        found?.ok_or_else(|| self.mismatch(name, "None"))
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Result<&Arc<Tensor>, KernelError> {
        self.opt_tensor(name)?.ok_or_else(|| undefined(name))
    }

    /// A tensor that may be absent.
    pub fn opt_tensor(&self, name: &str) -> Result<Option<&Arc<Tensor>>, KernelError> {
        self.optional(name, |v| if let Value::Tensor(t) = v { Some(t) } else { None })
    }

    /// A list of tensors, none of them absent.
    pub fn tensors(&self, name: &str) -> Result<Vec<Arc<Tensor>>, KernelError> {
        let list = self.opt_tensors(name)?;
        list.iter()
            .map(|t| t.clone().ok_or_else(|| self.mismatch(name, "a list with an absent tensor")))
            .collect()
    }

    /// A list of tensors, some of which may be absent.
    pub fn opt_tensors(&self, name: &str) -> Result<&[Option<Arc<Tensor>>], KernelError> {
        let list = self.optional(name, |v| if let Value::Tensors(t) = v { Some(t.as_slice()) } else { None });
        self.required(name, list)
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<Expr, KernelError> {
        self.required(name, self.opt_int(name))
    }

    /// An integer that may be absent.
    pub fn opt_int(&self, name: &str) -> Result<Option<Expr>, KernelError> {
        self.optional(name, |v| if let Value::Int(e) = v { Some(*e) } else { None })
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<&[Expr], KernelError> {
        self.required(name, self.opt_ints(name))
    }

    /// A list of integers that may be absent.
    pub fn opt_ints(&self, name: &str) -> Result<Option<&[Expr]>, KernelError> {
        self.optional(name, |v| if let Value::Ints(e) = v { Some(e.as_slice()) } else { None })
    }

    /// A double.
    pub fn float(&self, name: &str) -> Result<Expr, KernelError> {
        self.required(name, self.opt_float(name))
    }

    /// A double that may be absent.
    pub fn opt_float(&self, name: &str) -> Result<Option<Expr>, KernelError> {
        self.optional(name, |v| if let Value::Float(e) = v { Some(*e) } else { None })
    }

    /// A list of doubles that may be absent.
    pub fn opt_floats(&self, name: &str) -> Result<Option<&[Expr]>, KernelError> {
        self.optional(name, |v| if let Value::Floats(e) = v { Some(e.as_slice()) } else { None })
    }

    /// A literal truth value.
    pub fn flag(&self, name: &str) -> Result<bool, KernelError> {
        self.required(name, self.opt_flag(name))
    }

    /// A literal truth value that may be absent.
    pub fn opt_flag(&self, name: &str) -> Result<Option<bool>, KernelError> {
        self.optional(name, |v| if let Value::Bool(e) = v { e.as_literal_bool() } else { None })
    }

    /// A list of literal truth values.
    pub fn flags(&self, name: &str) -> Result<Vec<bool>, KernelError> {
        let read = |v: &Value| {
            if let Value::Bools(list) = v { list.iter().map(|e| e.as_literal_bool()).collect() } else { None }
        };
        self.required(name, self.optional(name, read))
    }

    /// A number.
    pub fn scalar(&self, name: &str) -> Result<Scalar, KernelError> {
        self.required(name, self.opt_scalar(name))
    }

    /// A number that may be absent.
    pub fn opt_scalar(&self, name: &str) -> Result<Option<Scalar>, KernelError> {
        self.optional(name, Value::as_scalar)
    }

    /// A text.
    pub fn str(&self, name: &str) -> Result<&str, KernelError> {
        self.required(name, self.opt_str(name))
    }

    /// A text that may be absent.
    pub fn opt_str(&self, name: &str) -> Result<Option<&str>, KernelError> {
        self.optional(name, |v| if let Value::Str(s) = v { Some(&**s) } else { None })
    }

    /// A dtype that may be absent.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<Dtype>, KernelError> {
        self.optional(name, |v| if let Value::Dtype(d) = v { Some(*d) } else { None })
    }

    /// A layout that may be absent.
    pub fn opt_layout(&self, name: &str) -> Result<Option<Layout>, KernelError> {
        self.optional(name, |v| if let Value::Layout(l) = v { Some(*l) } else { None })
    }

    /// A device that may be absent.
    pub fn opt_device(&self, name: &str) -> Result<Option<Device>, KernelError> {
        self.optional(name, |v| if let Value::Device(d) = v { Some(d.clone()) } else { None })
    }

    /// A memory format that may be absent.
    pub fn opt_memory_format(&self, name: &str) -> Result<Option<MemoryFormat>, KernelError> {
        self.optional(name, |v| if let Value::MemoryFormat(f) = v { Some(*f) } else { None })
    }
}

clauses! { arguments {
    C1 "Each tensor that the kernel needs is given, not `None`."
    C2 "The arguments match the schema of the operator in number and type."
} }

/// What a kernel says of None where it needs a tensor.
pub(super) fn undefined(name: &str) -> KernelError {
    KernelError::invalid(arguments::C1, format!("`{name}` is None, a tensor is needed"))
}

impl Value {
    /// The number that this is, if it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Value::Int(e) => Some(Scalar::Int(*e)),
            Value::Float(e) => Some(Scalar::Float(*e)),
            Value::Bool(e) => Some(Scalar::Bool(*e)),
            Value::Complex(re, im) => Some(Scalar::Complex(*re, *im)),
            _ => None,
        }
    }
}
