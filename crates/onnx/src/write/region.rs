//! The autocast regions that nodes begin.
use sizewise_ir::{Argument, Node};
use sizewise_kernels::autocast::Regions;

/// The region of `wrap_with_autocast(device, dtype, enabled, ..)` or `_enter_autocast`.
pub(super) fn region(around: &Regions, node: &Node) -> Option<Regions> {
    let mut given = node.inputs.iter().map(|input| &input.arg);
    let (Some(Argument::Str(device)), dtype, Some(Argument::Bool(enabled))) =
        (given.next(), given.next(), given.next())
    else {
        return None;
    };
    let dtype = if let Some(Argument::Dtype(dtype)) = dtype { Some(*dtype) } else { None };
    Some(around.within(device, dtype, *enabled))
}
