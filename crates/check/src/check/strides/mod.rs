//! What depends on strides that were chosen by the example.
//!
//! A check makes no promise about strides, but a later step may depend on them: where a copy and a view of the
//! data are laid out differently, only one of them can be viewed with other sizes.
pub(super) mod cases;

use crate::propagate::Run;
use rustc_hash::FxHashSet;
use sizewise_env::Origin;
use sizewise_ir::ValueId;
use sizewise_ir::schema::{ArgSpec, SchemaTable};

/// The first step that may depend on the strides of what the step of `origin` made, or of what was made of
/// that: one whose kernel says so, or any higher-order operator.
pub(super) fn needs_strides_of(run: &Run, Origin(origin): Origin) -> Option<Origin> {
    let mut later = run.steps.iter().zip(0_u32..).skip(origin as usize);
    let (maker, _) = later.next()?;
    // An operator that writes its first argument gives that back.
    if SchemaTable::global().get(&maker.op()).is_some_and(|s| s.args.first().is_some_and(ArgSpec::is_written))
    {
        return None;
    }
    if maker.is_nested() {
        return run.strides_needed.iter().copied().find(|needed| needed.0 > origin);
    }
    let mut made: FxHashSet<ValueId> = maker.reached().output_values().collect();
    for (step, i) in later.filter(|(step, _)| !step.is_nested()) {
        let mut reads = false;
        for input in &step.reached().inputs {
            input.arg.for_each_value(&mut |value| reads |= made.contains(&value));
        }
        if !reads {
            continue;
        }
        if step.reached().target.higher_order().is_some() || run.strides_needed.contains(&Origin(i)) {
            return Some(Origin(i));
        }
        made.extend(step.reached().output_values());
    }
    None
}
