//! Calls for which onnxruntime 1.31 infers another shape, when it loads a model, than its kernel makes. What becomes of
//! such a model is not known: nodes behind may be refused, or write into a buffer of another size.
use super::Walk;
use super::known_sizes::may_be_known;
use crate::shape::{Attribute, Call, Tensor, Value};
use sizewise_expr::Expr;
use sizewise_kernels::{Backend, KernelError};

const POOLS: &[&str] = &["AveragePool", "LpPool", "MaxPool"];

fn attribute<'a>(call: &'a Call, name: &str) -> Option<&'a Attribute> {
    call.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

pub(super) fn int(call: &Call, name: &str) -> Option<i64> {
    if let Some(Attribute::Int(value)) = attribute(call, name) { Some(*value) } else { None }
}

fn ints<'a>(call: &'a Call, name: &str) -> Option<&'a [i64]> {
    if let Some(Attribute::Ints(list)) = attribute(call, name) { Some(list) } else { None }
}

fn tensor<'a>(call: &Call<'a>, at: usize) -> Option<&'a Tensor> {
    call.inputs.get(at).copied().flatten().and_then(Value::tensor)
}

/// The integers of an input that are known as numbers.
fn numbers(call: &Call, at: usize) -> Option<Vec<i64>> {
    tensor(call, at)?.ints()?.iter().map(|e| e.as_inline()).collect()
}

/// The axes of a call: an attribute, or an input from some version on.
fn axes(call: &Call) -> Option<Vec<i64>> {
    match attribute(call, "axes") {
        Some(Attribute::Ints(list)) => Some(list.clone()),
        _ => numbers(call, 1),
    }
}

/// Whether a last window that begins behind the input is counted by the inference, and not by the kernel.
fn counts_window(call: &Call, made: &[Expr]) -> Option<bool> {
    let sizes = tensor(call, 0)?.shape.as_ref()?;
    let kernel = ints(call, "kernel_shape")?;
    let of = |name: &str, at: usize| ints(call, name).and_then(|list| list.get(at).copied());
    if int(call, "ceil_mode").unwrap_or(0) == 0
        || made.len() != sizes.len()
        || sizes.len() != kernel.len() + 2
    {
        return None;
    }
    let mut is_other = false;
    for (at, &window) in kernel.iter().enumerate() {
        // The sizes are inferred one by one.
        let numbers = sizes[at + 2].as_inline().zip(made[at + 2].as_inline());
        let Some((size, made)) = numbers.filter(|_| may_be_known(call, 0, at + 2)) else { continue };
        let (stride, dilation) = (of("strides", at).unwrap_or(1), of("dilations", at).unwrap_or(1));
        let pads = of("pads", at).unwrap_or(0).checked_add(of("pads", at + kernel.len()).unwrap_or(0))?;
        let reach = dilation.checked_mul(window.checked_sub(1)?)?.checked_add(1)?;
        let room = size.checked_add(pads)?.checked_sub(reach)?;
        if stride < 1 || room < 0 {
            return None;
        }
        is_other |= room.checked_add(stride - 1)? / stride + 1 != made;
    }
    Some(is_other)
}

/// Whether a subscript of an equation is 1 in the first operand that has it, where that may be known, and not in another
/// one.
fn stretches_first(call: &Call) -> Option<bool> {
    let Some(Attribute::Text(equation)) = attribute(call, "equation") else { return None };
    let mut first: Vec<(char, bool)> = Vec::new();
    for (at, operand) in equation.split("->").next()?.split(',').enumerate() {
        let letters: Vec<char> = operand.chars().filter(|letter| letter.is_ascii_alphabetic()).collect();
        let sizes = tensor(call, at)?.shape.as_ref()?;
        if operand.contains('.') || letters.len() != sizes.len() {
            return None;
        }
        for (dim, (letter, &size)) in letters.into_iter().zip(sizes).enumerate() {
            match first.iter().find(|(known, _)| *known == letter) {
                Some((_, is_one)) if *is_one && size != Expr::ONE => return Some(true),
                Some(_) => {}
                None => first.push((letter, size == Expr::ONE && may_be_known(call, at, dim))),
            }
        }
    }
    Some(false)
}

impl Walk<'_> {
    /// Says of a call that onnxruntime infers another shape than `made`, if it is known to.
    pub(super) fn misinferred(&self, call: &Call, made: &[Option<Value>]) -> Option<KernelError> {
        if !call.domain.is_empty() || self.model.backend != Backend::Cpu {
            return None;
        }
        let result = made.first().and_then(Option::as_ref).and_then(Value::tensor)?;
        let made = result.shape.as_deref()?;
        let is_reduction =
            || call.op.starts_with("Reduce") && call.op.len() > 6 || matches!(call.op, "ArgMax" | "ArgMin");
        let has_negative_axis = || {
            let own = int(call, "axis").map(|axis| vec![axis]);
            own.or_else(|| axes(call)).is_some_and(|axes| axes.iter().any(|&axis| axis < 0))
        };
        let sizes = tensor(call, 0).and_then(|x| x.shape.as_ref());
        let is_other = match call.op {
            "Squeeze" | "Unsqueeze" if call.version < 11 => has_negative_axis(),
            // The body that stands for the kernel of mixed types is not loaded.
            "LayerNormalization" if call.version < 17 => {
                tensor(call, 0).zip(tensor(call, 1)).is_some_and(|(x, scale)| x.dtype != scale.dtype)
            }
            "CenterCropPad" => numbers(call, 1).is_some_and(|sizes| sizes.iter().any(|&size| size < 0)),
            // The inference leaves out a stated size below that of the image, if it knows that one.
            "ConvTranspose" => ints(call, "output_shape").is_some_and(|stated| {
                let sizes = sizes.into_iter().flat_map(|sizes| sizes.iter().enumerate().skip(2));
                let is_less = |(stated, (at, size)): (&i64, (usize, &Expr))| {
                    size.as_inline().is_some_and(|size| *stated < size) && may_be_known(call, 0, at)
                };
                stated.iter().zip(sizes).any(is_less)
            }),
            "NonZero" => sizes.is_some_and(Vec::is_empty),
            // Names of sizes are kept where a part is taken.
            "Slice" if call.version == 10 => sizes.is_some_and(|sizes| {
                let differ = |(size, made): (&Expr, &Expr)| size.as_inline().is_none() && size != made;
                self.keeps && sizes.iter().zip(made).any(differ)
            }),
            "Slice" => self.ends_behind(call) == Some(true),
            "Einsum" => stretches_first(call) == Some(true),
            op if POOLS.contains(&op) => counts_window(call, made) == Some(true),
            // Given sizes of 0 run in most models.
            _ if self.keeps && is_reduction() => {
                let is_empty = sizes.is_some_and(|sizes| sizes.contains(&Expr::ZERO));
                is_empty && int(call, "keepdims") == Some(0) && has_negative_axis()
            }
            _ => false,
        };
        is_other.then(|| {
            let message =
                format!("{}: onnxruntime infers another shape of its result than it makes", call.op);
            KernelError::Unsupported(message)
        })
    }

    /// Whether a part that is taken backwards ends at the greatest integer: the kernel takes that for no end.
    fn ends_behind(&self, call: &Call) -> Option<bool> {
        let (ends, steps) = (tensor(call, 2)?.ints()?, numbers(call, 4)?);
        let is_greatest = |end: &Expr| {
            let end = self.env.pool.as_int(*end).and_then(|end| end.to_i64());
            end.is_some_and(|end| end >= i64::from(i32::MAX))
        };
        Some(ends.iter().zip(steps).any(|(end, step)| step < 0 && is_greatest(end)))
    }
}
