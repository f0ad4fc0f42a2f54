//! What becomes of the operands of one call in a region, as torch's dispatcher has it.
use super::policy::{self, Policy};
use super::regions::Region;
use sizewise_ir::dtype::Dtype;

/// What becomes of the operands of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// They stay as they are.
    Kept,
    /// Those that the region [touches](Region::touches) are cast.
    Cast(Dtype),
    /// The first one is cast, if the region touches it.
    CastFirst(Dtype),
    /// A dtype argument that is absent becomes `float32`.
    DtypeArgument,
    /// The operators that the operator is made of are treated in its place.
    Parts,
    /// The call is refused, or what happens is not known.
    Refused(String),
}

impl Region {
    /// Whether the region casts tensors of this device and dtype.
    pub fn touches(&self, device: &str, dtype: Dtype) -> bool {
        device == &*self.device && dtype.is_float() && dtype != Dtype::Float64
    }

    /// What becomes of the operands of a call, of which these are the devices and dtypes of its tensors in their order.
    /// `op` is named as in `aten.mm.default`.
    pub fn treatment(&self, op: &str, operands: &[(&str, Dtype)]) -> Treatment {
        let (Some(lower), device) = (self.dtype, &*self.device) else { return Treatment::Kept };
        let touched: Vec<Dtype> =
            operands.iter().filter(|(on, dtype)| self.touches(on, *dtype)).map(|(_, dtype)| *dtype).collect();
        if !policy::is_listed(device) {
            return match touched.is_empty() {
                true => Treatment::Kept,
                false => Treatment::Refused(format!("what autocast does on `{device}` is not known")),
            };
        }
        // The dispatcher asks the devices of all operands.
        if !operands.iter().any(|(on, _)| *on == device) {
            return Treatment::Kept;
        }
        let first = operands.first().is_some_and(|(on, dtype)| self.touches(on, *dtype));
        match policy::find(device, op) {
            None => Treatment::Kept,
            Some(Policy::Lower) => Treatment::Cast(lower),
            Some(Policy::Fp32) => Treatment::Cast(Dtype::Float32),
            Some(Policy::Fp32Append) if first => Treatment::CastFirst(Dtype::Float32),
            Some(Policy::Fp32Dtype) if first => Treatment::DtypeArgument,
            Some(Policy::Fp32Append | Policy::Fp32Dtype) => Treatment::Kept,
            Some(Policy::Promote) if touched.contains(&Dtype::Float32) => Treatment::Cast(Dtype::Float32),
            Some(Policy::Promote) => match touched.iter().find(|dtype| **dtype != lower) {
                Some(other) => Treatment::Refused(format!("autocast to {lower} does not promote {other}")),
                None => Treatment::Cast(lower),
            },
            Some(Policy::Banned) => Treatment::Refused(format!("{op} is unsafe to autocast")),
            Some(Policy::Recorded) => Treatment::Parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autocast::Regions;
    use Dtype::{Bfloat16, Float16, Float32, Float64, Int64};

    #[test]
    fn operands_are_treated_as_the_table_says() {
        let regions = Regions::default().within(&"cpu".into(), Some(Bfloat16), true);
        let region = regions.enabled().next().expect("a region");
        for (op, operands, expected) in [
            ("aten.linear.default", vec![("cpu", Float32), ("cpu", Float32)], Treatment::Cast(Bfloat16)),
            ("aten.linear.default", vec![("cuda", Float32)], Treatment::Kept),
            ("aten.relu.default", vec![("cpu", Float32)], Treatment::Kept),
            ("aten.mse_loss.default", vec![("cpu", Float16)], Treatment::Cast(Float32)),
            ("aten.cat.default", vec![("cpu", Bfloat16), ("cpu", Float32)], Treatment::Cast(Float32)),
            ("aten.cat.default", vec![("cpu", Bfloat16), ("cpu", Float64)], Treatment::Cast(Bfloat16)),
            ("aten.einsum.default", vec![("cpu", Float32)], Treatment::Parts),
        ] {
            assert_eq!(region.treatment(op, &operands), expected, "{op} {operands:?}");
        }
        let promoted = region.treatment("aten.cat.default", &[("cpu", Float16), ("cpu", Bfloat16)]);
        assert!(matches!(promoted, Treatment::Refused(_)), "{promoted:?}");
        assert!(!region.touches("cpu", Int64) && !region.touches("cpu", Float64));
    }

    #[test]
    fn what_a_device_outside_of_torch_does_is_not_known() {
        let regions = Regions::default().within(&"privateuseone".into(), Some(Bfloat16), true);
        let region = regions.enabled().next().expect("a region");
        let treated = region.treatment("aten.mm.default", &[("privateuseone", Float32)]);
        assert!(matches!(treated, Treatment::Refused(_)), "{treated:?}");
    }
}
