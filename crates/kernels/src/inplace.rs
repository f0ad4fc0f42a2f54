//! In-place overloads: `relu_` is `relu` with its result written into the first argument.
use super::args::Args;
use super::context::Cx;
use super::error::{KernelError, KernelResult, one};
use super::kernel::{FakeKernel, Kernel};
use super::promote::Category;
use super::registry::Registry;
use super::tensor::Tensor;
use super::value::{Value, Values};
use rustc_hash::FxHashMap;
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;
use sizewise_ir::schema::{Overload, Schema, SchemaTable, Tags};
use std::sync::OnceLock;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[in_place::ALL];

/// Where the functional overload has another name than the in-place one without its underscore.
const RENAMED: &[(&str, &str)] = &[
    ("aten.bernoulli_.float", "aten.bernoulli.p"),
    ("aten.normal_.default", "aten.normal_functional.default"),
    ("aten.pow_.Tensor", "aten.pow.Tensor_Tensor"),
    ("aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"),
    ("aten.floor_divide_.Tensor", "aten.floor_divide.default"),
    ("aten.ldexp_.default", "aten.ldexp.Tensor"),
    ("aten.transpose_.default", "aten.transpose.int"),
    ("aten.rrelu_with_noise_.default", "aten.rrelu_with_noise_functional.default"),
];

/// An in-place overload whose functional form has a kernel.
pub struct InPlace {
    functional: &'static Schema,
    kernel: Kernel,
    /// Whether the operator changes sizes and strides of its argument instead of its elements.
    reshapes: bool,
}

/// The in-place overload called `op`, if its functional form has a kernel.
fn find(op: &str) -> Option<&'static InPlace> {
    op.rsplit_once('.').filter(|(operator, _)| operator.ends_with('_'))?;
    static TABLE: OnceLock<FxHashMap<String, InPlace>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let named = |overload: &&Overload| overload.name().name.ends_with('_');
        let overloads = SchemaTable::global().overloads().iter().filter(named);
        overloads.filter_map(|overload| Some((overload.name().to_string(), in_place(overload)?))).collect()
    });
    table.get(op)
}

impl Registry {
    /// The schema and kernel of an overload, as [`Registry::resolve`] finds it.
    pub fn find(&'static self, op: &str) -> Option<(&'static Schema, &'static dyn FakeKernel)> {
        match self.kernels.get(op) {
            Some(entry) => {
                let schema = entry.schema.get_or_init(|| SchemaTable::global().get(op));
                Some(((*schema)?, &entry.kernel))
            }
            None => Some((SchemaTable::global().get(op)?, self::find(op)?)),
        }
    }

    /// The kernel of an overload, that of an in-place overload being made of the functional one's.
    pub fn resolve(&self, op: &str) -> Option<&dyn FakeKernel> {
        match self.kernels.get(op) {
            Some(entry) => Some(&entry.kernel),
            None => self::find(op).map(|kernel| kernel as &dyn FakeKernel),
        }
    }
}

fn in_place(overload: &'static Overload) -> Option<InPlace> {
    let name = overload.name().to_string();
    let functional = match RENAMED.iter().find(|(renamed, _)| *renamed == name) {
        Some((_, functional)) => functional.to_string(),
        None => functional_name(&name)?,
    };
    Some(InPlace {
        kernel: *Registry::builtin().get(&functional)?,
        functional: SchemaTable::global().get(&functional)?,
        reshapes: overload.tags().contains(Tags::INPLACE_VIEW),
    })
}

/// `aten.relu_.default` is for `aten.relu.default`, `aten.__iand__.Tensor` for `aten.__and__.Tensor`.
fn functional_name(name: &str) -> Option<String> {
    let (operator, overload) = name.rsplit_once('.')?;
    if let Some(magic) = operator.strip_prefix("aten.__i").and_then(|rest| rest.strip_suffix("__")) {
        return Some(format!("aten.__{magic}__.{overload}"));
    }
    let operator = operator.strip_suffix('_').filter(|rest| !rest.ends_with('_'))?;
    Some(format!("{operator}.{overload}"))
}

impl FakeKernel for InPlace {
    /// `foo_(Tensor(a!) self, …) -> Tensor(a!)`: `self`, if `foo(self, …)` fits into it.
    fn call(&self, cx: &mut Cx, args: &Args) -> KernelResult {
        let results = (self.kernel)(cx, &self.functional_args(args))?;
        let Some(written) = args.values().first() else { return Ok(results) };
        if self.reshapes {
            return Ok(results);
        }
        match (written, results.first()) {
            (Value::Tensor(x), Some(Value::Tensor(result))) => {
                require_fit(cx, x, result)?;
                one(Tensor { wrapped: false, ..(**x).clone() })
            }
            (Value::Tensors(written), Some(Value::Tensors(results))) => {
                for (x, result) in written.iter().zip(results) {
                    if let (Some(x), Some(result)) = (x, result) {
                        require_fit(cx, x, result)?;
                    }
                }
                Ok(Values::new())
            }
            _ => Err(KernelError::Unsupported("an in-place operator without a tensor to write".into())),
        }
    }
}

impl InPlace {
    /// The arguments as the functional form names them: by name, else by position.
    fn functional_args(&self, args: &Args) -> Args<'static> {
        let values = self.functional.args.iter().enumerate().map(|(at, arg)| {
            let same_name = args.schema.args.iter().position(|given| given.name == arg.name);
            args.values.get(same_name.unwrap_or(at)).cloned().unwrap_or(Value::None)
        });
        Args { schema: self.functional, values: values.collect() }
    }
}

clauses! { in_place {
    C1 "The result of an in-place operator has the shape of `self`."
    C2 "The dtype of the result of an in-place operator can be cast to that of `self`."
} }

fn require_fit(cx: &mut Cx, x: &Tensor, result: &Tensor) -> Result<(), KernelError> {
    let message = |cx: &Cx| {
        format!(
            "a result of shape {} is not written in place of {}",
            cx.show_all(&result.sizes),
            cx.show_all(&x.sizes)
        )
    };
    cx.check(x.rank() == result.rank(), in_place::C1, message)?;
    for (&held, &computed) in x.sizes.iter().zip(&result.sizes) {
        let same = cx.eq(held, computed);
        cx.require(same, in_place::C1, message)?;
    }
    cx.check(casts(result.dtype, x.dtype), in_place::C2, |_| {
        format!("a result of {} is not cast to {}", result.dtype, x.dtype)
    })
}

/// Whether torch stores numbers of one dtype as another without being asked to: not complex ones as real, floats as
/// integers, nor anything but `bool` as `bool`.
pub fn casts(from: Dtype, to: Dtype) -> bool {
    let (low, high) = (Category::of(to), Category::of(from));
    from == to || (low != Category::Bool && (high <= low || high <= Category::Int))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_place_overloads_are_found_by_their_functional_form() {
        for (name, functional) in [
            ("aten.relu_.default", Some("aten.relu.default")),
            ("aten.add_.Tensor", Some("aten.add.Tensor")),
            ("aten.__iand__.Scalar", Some("aten.__and__.Scalar")),
            ("aten.relu.default", None),
            ("aten.__and__.Scalar", None),
        ] {
            assert_eq!(functional_name(name).as_deref(), functional, "{name}");
        }
        assert!(find("aten.add_.Tensor").is_some() && find("aten.add.Tensor").is_none());
    }

    #[test]
    fn dtypes_cast_upwards_and_among_their_kind() {
        use Dtype::*;
        for (from, to, fits) in [
            (Int64, Uint8, true),
            (Bool, Int8, true),
            (Int64, Float16, true),
            (Float64, Float16, true),
            (Float32, Int64, false),
            (Complex64, Float32, false),
            (Int64, Bool, false),
            (Bool, Bool, true),
        ] {
            assert_eq!(casts(from, to), fits, "{from} to {to}");
        }
    }
}
