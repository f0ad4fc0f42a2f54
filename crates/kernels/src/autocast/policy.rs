//! What autocast does with the operands of each operator: `data/autocast.txt`.
use rustc_hash::FxHashMap;
use sizewise_ir::dtype::Dtype;
use std::sync::OnceLock;

/// Written by `scripts/generate_autocast.py`, which describes the lines.
static TEXT: &str = include_str!("../../data/autocast.txt");

static TABLE: OnceLock<Table> = OnceLock::new();

/// What is done with an operator's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Floating ones are cast to the region's dtype.
    Lower,
    /// They are cast to `float32`.
    Fp32,
    /// A dtype argument that is absent becomes `float32` where the first operand is floating.
    Fp32Dtype,
    /// The first operand is cast to `float32`.
    Fp32Append,
    /// They are cast to `float32` if one is of it, else to the region's dtype.
    Promote,
    /// The operator is refused.
    Banned,
    /// The operator is made of others that are treated, so that only the record tells the result's dtype.
    Recorded,
}

/// The table by device type.
#[derive(Default)]
struct Table {
    defaults: FxHashMap<&'static str, Dtype>,
    policies: FxHashMap<&'static str, FxHashMap<&'static str, Policy>>,
}

impl Table {
    fn global() -> &'static Table {
        TABLE.get_or_init(|| {
            let mut table = Table::default();
            TEXT.lines().filter(|line| !line.starts_with('#')).for_each(|line| table.read(line));
            table
        })
    }

    fn read(&mut self, line: &'static str) {
        let mut words = line.split(' ');
        let (Some(policy), Some(of)) = (words.next(), words.next()) else { return };
        for device in words {
            if let ("default", Some(dtype)) = (policy, Dtype::from_name(of)) {
                self.defaults.insert(device, dtype);
            } else if let Some(policy) = Policy::from_name(policy) {
                self.policies.entry(device).or_default().insert(of, policy);
            }
        }
    }
}

impl Policy {
    fn from_name(name: &str) -> Option<Policy> {
        Some(match name {
            "lower" => Policy::Lower,
            "fp32" => Policy::Fp32,
            "fp32_dtype" => Policy::Fp32Dtype,
            "fp32_append" => Policy::Fp32Append,
            "promote" => Policy::Promote,
            "banned" => Policy::Banned,
            "recorded" => Policy::Recorded,
            _ => return None,
        })
    }
}

/// The dtype of a region that names none, by the type of its device.
pub(super) fn default_dtype(device: &str) -> Option<Dtype> {
    Table::global().defaults.get(device).copied()
}

/// Whether torch itself says what is done for this type of device; for others a package outside of it does.
pub fn is_listed(device: &str) -> bool {
    Table::global().policies.contains_key(device)
}

/// What is done with an overload's operands, named as in `aten.mm.default`; none if they stay as they are.
pub fn find(device: &str, op: &str) -> Option<Policy> {
    Table::global().policies.get(device)?.get(op).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let mut table = Table::default();
            table.read(line);
            let devices = line.split(' ').count() - 2;
            assert!(devices > 0, "{line}");
            let read = table.defaults.len() + table.policies.len();
            assert_eq!(read, devices, "{line}");
        }
    }

    #[test]
    fn policies_are_those_of_the_device() {
        for (device, op, policy) in [
            ("cpu", "aten.mm.default", Some(Policy::Lower)),
            ("cuda", "aten.mm.default", Some(Policy::Lower)),
            ("cpu", "aten.cat.default", Some(Policy::Promote)),
            ("cuda", "aten.cat.default", None),
            ("cpu", "aten.exp.default", None),
            ("cuda", "aten.exp.default", Some(Policy::Fp32)),
            ("cuda", "aten.sum.default", Some(Policy::Fp32Dtype)),
            ("mps", "aten.sum.default", Some(Policy::Fp32)),
            ("cuda", "aten.norm.Scalar", Some(Policy::Fp32Append)),
            ("cuda", "aten.binary_cross_entropy.default", Some(Policy::Banned)),
            ("cpu", "aten.binary_cross_entropy.default", Some(Policy::Fp32)),
            ("cpu", "aten.einsum.default", Some(Policy::Recorded)),
            ("cpu", "aten.relu.default", None),
            ("xla", "aten.mm.default", None),
        ] {
            assert_eq!(find(device, op), policy, "{op} on {device}");
        }
        assert_eq!(default_dtype("cpu"), Some(Dtype::Bfloat16));
        assert_eq!(default_dtype("cuda"), Some(Dtype::Float16));
        assert!(is_listed("cuda") && !is_listed("xla"));
    }
}
