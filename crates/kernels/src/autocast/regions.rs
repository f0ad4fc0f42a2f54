//! The autocast regions around a step.
use super::policy;
use sizewise_ir::dtype::Dtype;
use sizewise_ir::{Argument, Node};
use smallvec::SmallVec;
use std::sync::Arc;

/// What holds for one type of device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The type of device: `cuda`.
    pub device: Arc<str>,
    /// Whether operands are cast.
    pub enabled: bool,
    /// The lower precision.
    pub dtype: Option<Dtype>,
}

/// What holds for each type of device that a region around a step names, the innermost one counting.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Regions(SmallVec<[Region; 1]>);

impl Regions {
    /// What holds in a region within these. Without a dtype it is the one that holds around it, as `torch.autocast`
    /// has it.
    pub fn within(&self, device: &Arc<str>, dtype: Option<Dtype>, enabled: bool) -> Regions {
        let mut regions = self.clone();
        let at = regions.0.iter().position(|region| region.device == *device);
        let around = at.and_then(|at| regions.0[at].dtype);
        let dtype = dtype.or(around).or_else(|| policy::default_dtype(device));
        // Elsewhere than on CUDA other dtypes switch the region off, with a warning.
        let lower = matches!(dtype, Some(Dtype::Bfloat16 | Dtype::Float16));
        let enabled = enabled && (lower || &**device == "cuda");
        let region = Region { device: device.clone(), enabled, dtype };
        match at {
            Some(at) => regions.0[at] = region,
            None => regions.0.push(region),
        }
        regions
    }

    /// What holds in the region of `wrap_with_autocast(device, dtype, enabled, ..)` or behind `_enter_autocast`; `None`
    /// where its arguments are others.
    pub fn entered(&self, node: &Node) -> Option<Regions> {
        let mut given = node.inputs.iter().map(|input| &input.arg);
        let (Some(Argument::Str(device)), dtype, Some(Argument::Bool(enabled))) =
            (given.next(), given.next(), given.next())
        else {
            return None;
        };
        let dtype = if let Some(Argument::Dtype(dtype)) = dtype { Some(*dtype) } else { None };
        Some(self.within(device, dtype, *enabled))
    }

    /// Those in which operands are cast.
    pub fn enabled(&self) -> impl Iterator<Item = &Region> {
        self.0.iter().filter(|region| region.enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_region_of_a_device_counts() {
        let outer = Regions::default().within(&"cpu".into(), Some(Dtype::Float16), true);
        for (device, dtype, enabled, holds) in [
            ("cpu", None, true, "cpu float16"),
            ("cpu", Some(Dtype::Bfloat16), true, "cpu bfloat16"),
            ("cpu", None, false, ""),
            ("cpu", Some(Dtype::Float32), true, ""),
            ("cuda", None, true, "cpu float16, cuda float16"),
            ("cuda", Some(Dtype::Float32), true, "cpu float16, cuda float32"),
            ("cuda", None, false, "cpu float16"),
            ("xla", None, true, "cpu float16, xla bfloat16"),
            ("abacus", None, true, "cpu float16"),
        ] {
            let inner = outer.within(&device.into(), dtype, enabled);
            let text = |r: &Region| format!("{} {}", r.device, r.dtype.map_or("", Dtype::name));
            let held: Vec<String> = inner.enabled().map(text).collect();
            assert_eq!(held.join(", "), holds, "{device} {dtype:?} {enabled}");
        }
    }
}
