//! The dtypes of the tensors that Edge operators take and give: `data/edge_dtypes.txt`, or an edge.yaml of one's own;
//! any other operator takes and gives every dtype that ExecuTorch has.
//!
//! Source: ExecuTorch, `exir/dialects/edge/_ops.py` (`FunctionDtypeConstraint`, `EdgeDialectFunctionSchema`).
use rustc_hash::FxHashMap;
use sizewise_ir::Dtype;
use sizewise_ir::schema::{Schema, Type};
use std::borrow::Cow;
use std::sync::OnceLock;

static TEXT: &str = include_str!("../data/edge_dtypes.txt");
static SHIPPED: OnceLock<EdgeDtypes> = OnceLock::new();

/// The dtypes that ExecuTorch has: the letter in the shipped table, the name in edge.yaml.
pub(super) const DTYPES: &[(u8, &str, Dtype)] = &[
    (b'b', "Bool", Dtype::Bool),
    (b'B', "Byte", Dtype::Uint8),
    (b'c', "Char", Dtype::Int8),
    (b's', "Short", Dtype::Int16),
    (b'i', "Int", Dtype::Int32),
    (b'l', "Long", Dtype::Int64),
    (b'S', "UInt16", Dtype::Uint16),
    (b'h', "Half", Dtype::Float16),
    (b'H', "BFloat16", Dtype::Bfloat16),
    (b'f', "Float", Dtype::Float32),
    (b'd', "Double", Dtype::Float64),
    (b'F', "ComplexFloat", Dtype::Complex64),
    (b'D', "ComplexDouble", Dtype::Complex128),
];

/// The dtypes that Edge operators take and give, by operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EdgeDtypes {
    pub(super) operators: FxHashMap<String, Combinations>,
}

/// The combinations of dtypes of one operator's tensors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Combinations {
    /// The tensors, by the name of the argument or result; a result without a name is `__ret_0`.
    pub tensors: Vec<String>,
    /// Sets of dtypes. Tensors that one combination gives the same set have the same dtype of it.
    pub sets: Vec<Vec<Dtype>>,
    /// The combinations: for each tensor the index of its set.
    pub rows: Vec<Vec<usize>>,
}

impl EdgeDtypes {
    /// What ExecuTorch's own edge.yaml says.
    pub fn shipped() -> &'static EdgeDtypes {
        SHIPPED.get_or_init(|| EdgeDtypes { operators: TEXT.lines().filter_map(parse).collect() })
    }

    /// Whether the operator is listed.
    pub fn lists(&self, schema: &Schema) -> bool {
        self.operators.contains_key(&key(schema))
    }

    /// The combinations of an operator: as listed, else every dtype of ExecuTorch for each tensor.
    pub fn of(&self, schema: &Schema) -> Cow<'_, Combinations> {
        match self.operators.get(&key(schema)) {
            Some(listed) => Cow::Borrowed(listed),
            None => Cow::Owned(Combinations::any(schema)),
        }
    }
}

/// The name in edge.yaml: `aten::add.Tensor`.
fn key(schema: &Schema) -> String {
    let overload = if schema.overload == "default" { String::new() } else { format!(".{}", schema.overload) };
    format!("{}::{}{overload}", schema.namespace, schema.name)
}

/// How a parameter takes tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// One tensor.
    Tensor,
    /// A tensor or nothing.
    Optional,
    /// A list of tensors.
    List,
}

/// How a type holds tensors; `None` for one of which ExecuTorch checks no dtype.
pub(super) fn takes(ty: &Type) -> Option<Takes> {
    match ty {
        Type::Tensor => Some(Takes::Tensor),
        Type::Optional(inner) if **inner == Type::Tensor => Some(Takes::Optional),
        Type::List(inner, _) if **inner == Type::Tensor => Some(Takes::List),
        _ => None,
    }
}

/// The names of the results that are tensors, each with its index among the results.
pub(super) fn result_names(schema: &Schema) -> Vec<(usize, String)> {
    let tensors = schema.returns.iter().enumerate().filter(|(_, result)| takes(&result.ty).is_some());
    let named = tensors.enumerate().map(|(number, (index, result))| {
        (index, result.name.clone().unwrap_or_else(|| format!("__ret_{number}")))
    });
    named.collect()
}

fn parse(line: &str) -> Option<(String, Combinations)> {
    let mut parts = line.split("; ");
    let op = parts.next().filter(|op| !op.starts_with('#'))?;
    let tensors = parts.next()?.split(' ').map(str::to_owned).collect();
    let (mut letters, mut sets) = (Vec::new(), Vec::new());
    for alias in parts.next()?.split(' ') {
        let (letter, dtypes) = alias.split_at_checked(1)?;
        letters.push(letter.as_bytes()[0]);
        let dtype = |letter: u8| DTYPES.iter().find(|entry| entry.0 == letter).map(|entry| entry.2);
        sets.push(dtypes.bytes().map(dtype).collect::<Option<Vec<Dtype>>>()?);
    }
    let set = |letter: u8| letters.iter().position(|known| *known == letter);
    let rows = parts.next()?.split(' ').map(|row| row.bytes().map(set).collect::<Option<Vec<usize>>>());
    Some((op.to_owned(), Combinations { tensors, sets, rows: rows.collect::<Option<_>>()? }))
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
    /// Every dtype that ExecuTorch has for each tensor of an operator.
    fn any(schema: &Schema) -> Combinations {
        let taken = schema.args.iter().filter(|spec| takes(&spec.ty).is_some()).map(|spec| spec.name.clone());
        let given = result_names(schema).into_iter().map(|(_, name)| name);
        let tensors: Vec<String> = taken.chain(given).collect();
        let all: Vec<Dtype> = DTYPES.iter().map(|entry| entry.2).collect();
        // A set for each tensor, so that their dtypes do not depend on each other.
        let rows = vec![(0..tensors.len()).collect()];
        Combinations { sets: vec![all; tensors.len()], tensors, rows }
    }

    /// Whether some combination has these dtypes, by the tensors' names. Tensors that are absent have any dtype.
    pub(super) fn check(&self, dtypes: &[(String, Dtype)]) -> Result<(), Mismatch> {
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
            let allowed = self.allowed(*column);
            if !allowed.contains(dtype) {
                return Err(Mismatch::Dtype { tensor: name.clone(), found: *dtype, allowed });
            }
        }
        Err(Mismatch::Joint)
    }

    /// The dtypes that a tensor has in some combination, by the tensor's index.
    pub fn allowed(&self, tensor: usize) -> Vec<Dtype> {
        let mut allowed: Vec<Dtype> =
            self.rows.iter().flat_map(|row| self.set(row, tensor)).copied().collect();
        allowed.sort_unstable();
        allowed.dedup();
        allowed
    }

    /// The dtypes that a combination allows for a tensor.
    fn set(&self, row: &[usize], tensor: usize) -> &[Dtype] {
        row.get(tensor).and_then(|set| self.sets.get(*set)).map_or(&[], Vec::as_slice)
    }

    fn matches(&self, row: &[usize], columns: &[(usize, Dtype)]) -> bool {
        let mut chosen: FxHashMap<usize, Dtype> = FxHashMap::default();
        columns.iter().all(|(column, dtype)| {
            let Some(set) = row.get(*column) else { return false };
            self.set(row, *column).contains(dtype) && *chosen.entry(*set).or_insert(*dtype) == *dtype
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_ir::schema::SchemaTable;

    fn schema(op: &str) -> &'static Schema {
        SchemaTable::global().get(op).expect(op)
    }

    fn check(op: &str, dtypes: &[(&str, Dtype)]) -> Result<(), Mismatch> {
        let dtypes: Vec<_> = dtypes.iter().map(|(name, dtype)| ((*name).to_owned(), *dtype)).collect();
        EdgeDtypes::shipped().of(schema(op)).check(&dtypes)
    }

    #[test]
    fn rows_are_joint_combinations() {
        let (f32, f64, i64, bool) = (Dtype::Float32, Dtype::Float64, Dtype::Int64, Dtype::Bool);
        assert_eq!(check("aten.abs.default", &[("self", f32), ("__ret_0", f32)]), Ok(()));
        assert_eq!(check("aten.abs.default", &[("self", f32), ("__ret_0", f64)]), Err(Mismatch::Joint));
        assert!(matches!(check("aten.abs.default", &[("self", bool)]), Err(Mismatch::Dtype { .. })));
        let add = |a, b, c| check("aten.add.Tensor", &[("self", a), ("other", b), ("__ret_0", c)]);
        assert_eq!(add(i64, f32, f32), Ok(()));
        assert_eq!(add(i64, f32, i64), Err(Mismatch::Joint));
        assert!(matches!(check("aten.abs.default", &[("x", f32)]), Err(Mismatch::UnknownTensor(_))));
    }

    #[test]
    fn operators_that_are_not_listed_take_every_dtype_of_executorch_in_any_combination() {
        let op = "aten.gather.default";
        assert!(!EdgeDtypes::shipped().lists(schema(op)));
        assert_eq!(check(op, &[("self", Dtype::Float32), ("__ret_0", Dtype::Bool)]), Ok(()));
        for refused in [Dtype::Uint32, Dtype::Uint64, Dtype::Complex32, Dtype::Float8E4m3fn] {
            let found = check(op, &[("self", refused)]);
            assert!(matches!(found, Err(Mismatch::Dtype { .. })), "{refused}: {found:?}");
        }
    }

    #[test]
    fn every_line_is_understood() {
        let lines = TEXT.lines().filter(|line| !line.starts_with('#')).count();
        assert!(lines > 100);
        assert_eq!(EdgeDtypes::shipped().operators.len(), lines);
        for (op, entry) in TEXT.lines().filter_map(parse) {
            assert!(entry.rows.iter().all(|row| row.len() == entry.tensors.len()), "{op}");
            assert!(entry.sets.iter().all(|set| !set.is_empty()), "{op}");
        }
    }
}
