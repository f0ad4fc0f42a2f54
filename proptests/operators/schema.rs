//! Calls made from nothing but an operator's schema: types, lengths of lists and the names of arguments.
use super::choices::Choices;
use super::law::{Call, NAMES};
use serde_json::{Map, Value as Json, json};
use sizewise::ir::schema::{ArgSpec, Schema, Type};

const DTYPES: [&str; 11] = [
    "float32",
    "int64",
    "bool",
    "float64",
    "complex64",
    "int32",
    "uint8",
    "float16",
    "bfloat16",
    "int8",
    "float32",
];
/// What operators take as a choice among words.
const WORDS: [&str; 14] = [
    "constant",
    "mean",
    "sum",
    "none",
    "reflect",
    "replicate",
    "circular",
    "ij",
    "linear",
    "nearest",
    "ij,jk->ik",
    "fro",
    "left",
    "reduced",
];

struct Maker<'a, 'c> {
    choices: &'a mut Choices<'c>,
    hints: Vec<i64>,
    base: Vec<Json>,
    dtype: &'static str,
}

impl Maker<'_, '_> {
    fn size(&mut self) -> Json {
        let i = self.choices.below(self.hints.len());
        let name = NAMES[i];
        match self.choices.below(16) {
            0..=11 => name.into(),
            12 => 1.into(),
            13 => self.hints[i].into(),
            14 => format!("{name} + {}", 1 + self.choices.below(3)).into(),
            _ => format!("{}*{name}", 2 + self.choices.below(3)).into(),
        }
    }

    fn sizes(&mut self, rank: usize) -> Vec<Json> {
        (0..rank).map(|_| self.size()).collect()
    }

    fn shape(&mut self) -> Vec<Json> {
        let base = self.base.clone();
        let rank = base.len();
        match self.choices.below(10) {
            0..=3 => base,
            4 => base.into_iter().rev().collect(),
            5 => base[rank - self.choices.below(rank + 1)..].to_vec(),
            6 => base[..self.choices.below(rank + 1)].to_vec(),
            7 => {
                let mut sizes = base;
                if rank > 0 {
                    let at = self.choices.below(rank);
                    sizes[at] = if self.choices.below(2) == 0 { 1.into() } else { self.size() };
                }
                sizes
            }
            8 => {
                let rank = self.choices.below(5);
                self.sizes(rank)
            }
            _ => {
                let mut sizes = base;
                sizes.insert(self.choices.below(rank + 1), self.base.first().cloned().unwrap_or(1.into()));
                sizes
            }
        }
    }

    fn tensor(&mut self, name: &str) -> Json {
        let indexes = ["ind", "target", "offset", "length"].iter().any(|part| name.contains(part));
        let dtype = match self.choices.below(12) {
            0..=8 if indexes => "int64",
            0..=8 if name.contains("mask") => "bool",
            0..=9 => self.dtype,
            _ => self.choices.one(&DTYPES),
        };
        json!({"shape": self.shape(), "dtype": dtype})
    }

    fn dim(&mut self) -> Json {
        let rank = self.base.len().max(1) as i64;
        let dim = self.choices.below(rank as usize) as i64;
        (if self.choices.rarely(1, 3) { dim - rank } else { dim }).into()
    }

    fn int(&mut self, name: &str, symbolic: bool) -> Json {
        if name.contains("dim") || name == "axis" {
            return self.dim();
        }
        match self.choices.below(8) {
            0..=2 => 1.into(),
            3 => 2.into(),
            4 => self.choices.one(&[0, 3, -1, 4]).into(),
            _ if symbolic => self.size(),
            _ => self.choices.one(&[1, 0, 2, -1, 3, 8]).into(),
        }
    }

    fn ints(&mut self, name: &str, length: Option<u32>, symbolic: bool) -> Json {
        if name.contains("size") || name.contains("shape") {
            return match self.choices.below(3) {
                0 => self.base.clone().into(),
                _ => self.shape().into(),
            };
        }
        if name.contains("dim") {
            let rank = self.base.len().max(1);
            let count = length.map_or_else(|| self.choices.below(rank + 1), |n| n as usize);
            let first = self.choices.below(rank);
            return (0..count).map(|i| Json::from((first + i) % rank)).collect();
        }
        let count = match length {
            Some(length) => length as usize,
            None => self.choices.one(&[self.base.len(), 1, 2, 3, 4, 0]),
        };
        (0..count).map(|_| self.int("", symbolic)).collect()
    }

    fn value(&mut self, name: &str, ty: &Type) -> Option<Json> {
        Some(match ty {
            Type::Tensor => json!({"tensor": self.tensor(name)}),
            Type::Int { symbolic } => json!({"int": self.int(name, *symbolic)}),
            Type::Float { .. } => json!({"float": self.choices.one(&[0.5, 1.0, 0.0, 2.0, -1.5])}),
            Type::Bool { .. } => json!({"bool": self.choices.below(2) == 1}),
            Type::Str => json!({"str": self.choices.one(&WORDS)}),
            Type::Complex => json!({"complex": [1.0, 2.0]}),
            Type::Scalar => match self.choices.below(4) {
                0 | 1 => json!({"int": self.int("", false)}),
                2 => json!({"float": 1.5}),
                _ => json!({"bool": true}),
            },
            Type::ScalarType => json!({"dtype": self.choices.one(&DTYPES)}),
            Type::Layout => json!({"layout": "strided"}),
            Type::Device => json!({"device": "cpu"}),
            Type::MemoryFormat => {
                json!({"memory_format": self.choices.one(&["contiguous_format", "preserve_format", "channels_last"])})
            }
            Type::Generator => json!({"none": true}),
            Type::Optional(inner) => {
                if self.choices.rarely(1, 2) {
                    self.value(name, inner)?
                } else {
                    json!({"none": true})
                }
            }
            Type::List(element, length) => {
                let symbolic = matches!(**element, Type::Int { symbolic: true });
                let count = length.map_or_else(|| 1 + self.choices.below(3), |n| n as usize);
                match element.strip_optional().0 {
                    Type::Int { .. } => json!({"ints": self.ints(name, *length, symbolic)}),
                    Type::Tensor => {
                        let items: Vec<Json> = (0..count).map(|_| self.tensor(name)).collect();
                        json!({"tensors": items})
                    }
                    Type::Float { .. } => json!({"floats": vec![1.5; count]}),
                    Type::Bool { .. } => {
                        let items: Vec<bool> = (0..count).map(|_| self.choices.below(2) == 1).collect();
                        json!({"bools": items})
                    }
                    Type::Scalar => json!({"scalars": vec![1; count]}),
                    _ => return None,
                }
            }
            Type::Dict(_) | Type::Tuple(_) | Type::Other(_) => return None,
        })
    }

    fn is_given(&mut self, arg: &ArgSpec) -> bool {
        arg.is_required() || self.choices.rarely(1, 3)
    }
}

/// A call of an operator; none when its schema has types that no call can give.
pub fn call(op: &str, schema: &Schema, choices: &mut Choices) -> Option<Call> {
    let hints: Vec<i64> = (0..1 + choices.below(4)).map(|_| choices.one(&[2, 3, 4, 5, 6, 8, 1, 0])).collect();
    let dtype = if choices.rarely(1, 3) { choices.one(&DTYPES) } else { "float32" };
    let mut maker = Maker { choices, hints, base: Vec::new(), dtype };
    let rank = maker.choices.one(&[2, 1, 3, 4, 0, 5]);
    maker.base = maker.sizes(rank);
    let (mut args, mut kwargs) = (Vec::new(), Map::new());
    let mut by_position = true;
    for arg in &schema.args {
        if !maker.is_given(arg) {
            by_position = false;
            continue;
        }
        let value = maker.value(&arg.name, &arg.ty)?;
        if by_position && !arg.kw_only {
            args.push(value);
        } else {
            kwargs.insert(arg.name.clone(), value);
        }
    }
    Some(Call { op: op.to_string(), args, kwargs, hints: maker.hints })
}
