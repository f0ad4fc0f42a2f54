//! Autocast regions: the casts that torch's dispatcher puts in front of a call are written out, so that what the call
//! becomes stands in no region.
use super::call::refused;
use crate::tracer::{Proxy, TraceError, Tracer};
use sizewise_ir::{Argument, Dtype, ValueId};
use sizewise_kernels::autocast::{Regions, Treatment};

/// What is left to do for a call whose operands have been cast.
#[derive(Clone, Copy, Default)]
pub struct Treated {
    /// Whether the operators that it is made of are treated as well.
    pub parts: bool,
    /// Whether a dtype argument that is absent becomes `float32`.
    pub dtype: bool,
}

/// The tensors of arguments, in their order.
fn tensors(arguments: &[&mut Argument]) -> Vec<ValueId> {
    let mut ids = Vec::new();
    for argument in arguments {
        match &**argument {
            Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) => ids.push(*id),
            Argument::Tensors(list) => ids.extend(list),
            Argument::OptionalTensors(list) => ids.extend(list.iter().flatten()),
            _ => {}
        }
    }
    ids
}

/// Casts the operands of a call as the regions around it say. `op` is named as in `aten.mm.default`.
///
/// # Errors
/// When autocast refuses the call, or what it does is not known.
pub fn treat(
    tracer: &mut Tracer<'_>,
    regions: &Regions,
    op: &str,
    arguments: &mut [&mut Argument],
) -> Result<Treated, TraceError> {
    let mut treated = Treated::default();
    for region in regions.enabled() {
        let ids = tensors(arguments);
        let known: Vec<_> = ids.iter().filter_map(|id| tracer.tensor_of(Proxy::tensor(*id))).collect();
        let operands: Vec<(&str, Dtype)> = known.iter().map(|t| (&*t.device.kind, t.dtype)).collect();
        let (dtype, first_alone) = match region.treatment(op, &operands) {
            Treatment::Kept => continue,
            Treatment::Cast(dtype) => (dtype, false),
            Treatment::CastFirst(dtype) => (dtype, true),
            Treatment::DtypeArgument => {
                treated.dtype = true;
                continue;
            }
            Treatment::Parts => {
                treated.parts = true;
                continue;
            }
            Treatment::Refused(message) => return Err(refused(message)),
        };
        let mut cast = Vec::new();
        for id in ids.iter().take(if first_alone { 1 } else { usize::MAX }) {
            let Some(tensor) = tracer.tensor_of(Proxy::tensor(*id)) else { continue };
            if !region.touches(&tensor.device.kind, tensor.dtype) || tensor.dtype == dtype {
                continue;
            }
            let given = [("self", Argument::Tensor(*id)), ("dtype", Argument::Dtype(dtype))];
            let made = tracer.call("aten._to_copy.default", given)?;
            cast.extend(made.first().map(|made| (*id, made.id())));
        }
        let now = |id: &mut ValueId| {
            if let Some((_, made)) = cast.iter().find(|(old, _)| old == id) {
                *id = *made;
            }
        };
        for argument in arguments.iter_mut() {
            match &mut **argument {
                Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) => now(id),
                Argument::Tensors(list) => list.iter_mut().for_each(now),
                Argument::OptionalTensors(list) => list.iter_mut().flatten().for_each(now),
                _ => {}
            }
        }
    }
    Ok(treated)
}
