//! The dtype combinations of Edge operators: `data/edge_dtypes.txt`.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::ir::Dtype;

static TEXT: &str = include_str!("../../data/edge_dtypes.txt");
static TABLE: OnceLock<FxHashMap<&'static str, Combinations>> = OnceLock::new();

const LETTERS: &[(u8, Dtype)] = &[
    (b'b', Dtype::Bool),
    (b'B', Dtype::Uint8),
    (b'c', Dtype::Int8),
    (b's', Dtype::Int16),
    (b'i', Dtype::Int32),
    (b'l', Dtype::Int64),
    (b'S', Dtype::Uint16),
    (b'h', Dtype::Float16),
    (b'H', Dtype::Bfloat16),
    (b'f', Dtype::Float32),
    (b'd', Dtype::Float64),
    (b'F', Dtype::Complex64),
    (b'D', Dtype::Complex128),
];

/// The combinations of one operator.
#[derive(Debug)]
pub(super) struct Combinations {
    /// The tensors, by the name of the argument or result.
    tensors: Vec<&'static str>,
    /// Dtypes by alias.
    aliases: FxHashMap<u8, &'static str>,
    /// An alias for each tensor.
    rows: Vec<&'static [u8]>,
}

/// The combinations of an operator, named `aten::add.Tensor`; `None` for one that takes any.
pub(super) fn find(op: &str) -> Option<&'static Combinations> {
    TABLE.get_or_init(|| TEXT.lines().filter_map(parse).collect()).get(op)
}

fn parse(line: &'static str) -> Option<(&'static str, Combinations)> {
    let mut parts = line.split("; ");
    let op = parts.next().filter(|op| !op.starts_with('#'))?;
    let tensors = parts.next()?.split(' ').collect();
    let aliases = parts.next()?.split(' ').filter_map(|alias| {
        let (letter, dtypes) = alias.split_at_checked(1)?;
        Some((letter.as_bytes()[0], dtypes))
    });
    let aliases = aliases.collect();
    let rows = parts.next()?.split(' ').map(str::as_bytes).collect();
    Some((op, Combinations { tensors, aliases, rows }))
}

/// Why a combination is none of an operator's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// The operator has no tensor of this name.
    UnknownTensor(String),
    /// This tensor may not have its dtype in any combination.
    Dtype {
        /// The tensor.
        tensor: String,
        /// Its dtype.
        found: Dtype,
        /// The dtypes it may have.
        allowed: Vec<Dtype>,
    },
    /// Each tensor's dtype is allowed, but not all of them together.
    Joint,
}

impl Combinations {
    /// Whether some combination has these dtypes, by the tensors' names. Tensors that are absent have any dtype.
    pub fn check(&self, dtypes: &[(String, Dtype)]) -> Result<(), Mismatch> {
        let mut columns = Vec::new();
        for (name, dtype) in dtypes {
            let Some(column) = self.tensors.iter().position(|tensor| tensor == name) else {
                return Err(Mismatch::UnknownTensor(name.clone()));
            };
            columns.push((column, *dtype));
        }
        if self.rows.iter().any(|row| self.matches(row, &columns)) {
            return Ok(());
        }
        for ((column, dtype), (name, _)) in columns.iter().zip(dtypes) {
            let mut allowed: Vec<Dtype> =
                self.rows.iter().flat_map(|row| self.dtypes(row, *column)).collect();
            allowed.sort_unstable();
            allowed.dedup();
            if !allowed.contains(dtype) {
                return Err(Mismatch::Dtype { tensor: name.clone(), found: *dtype, allowed });
            }
        }
        Err(Mismatch::Joint)
    }

    fn dtypes(&self, row: &[u8], column: usize) -> impl Iterator<Item = Dtype> {
        let letters = row.get(column).and_then(|alias| self.aliases.get(alias)).copied().unwrap_or_default();
        letters
            .bytes()
            .filter_map(|letter| LETTERS.iter().find(|entry| entry.0 == letter).map(|entry| entry.1))
    }

    fn matches(&self, row: &[u8], columns: &[(usize, Dtype)]) -> bool {
        let mut chosen: FxHashMap<u8, Dtype> = FxHashMap::default();
        columns.iter().all(|(column, dtype)| {
            let Some(alias) = row.get(*column) else { return false };
            self.dtypes(row, *column).any(|allowed| allowed == *dtype)
                && *chosen.entry(*alias).or_insert(*dtype) == *dtype
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(op: &str, dtypes: &[(&str, Dtype)]) -> Result<(), Mismatch> {
        let dtypes: Vec<_> = dtypes.iter().map(|(name, dtype)| ((*name).to_owned(), *dtype)).collect();
        find(op).expect(op).check(&dtypes)
    }

    #[test]
    fn rows_are_joint_combinations() {
        let (f32, f64, i64, bool) = (Dtype::Float32, Dtype::Float64, Dtype::Int64, Dtype::Bool);
        assert_eq!(check("aten::abs", &[("self", f32), ("__ret_0", f32)]), Ok(()));
        assert_eq!(check("aten::abs", &[("self", f32), ("__ret_0", f64)]), Err(Mismatch::Joint));
        assert!(matches!(check("aten::abs", &[("self", bool)]), Err(Mismatch::Dtype { .. })));
        let add = |a, b, c| check("aten::add.Tensor", &[("self", a), ("other", b), ("__ret_0", c)]);
        assert_eq!(add(i64, f32, f32), Ok(()));
        assert_eq!(add(i64, f32, i64), Err(Mismatch::Joint));
        assert!(matches!(check("aten::abs", &[("x", f32)]), Err(Mismatch::UnknownTensor(_))));
    }

    #[test]
    fn every_line_is_understood() {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        assert!(lines > 100);
        assert_eq!(TEXT.lines().filter_map(parse).count(), lines);
        for (op, entry) in TEXT.lines().filter_map(parse) {
            assert!(entry.rows.iter().all(|row| row.len() == entry.tensors.len()), "{op}");
            assert!(
                entry.rows.iter().all(|row| (0..row.len()).all(|i| entry.dtypes(row, i).next().is_some())),
                "{op}"
            );
        }
    }
}
