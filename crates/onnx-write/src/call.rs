//! A call under translation: its arguments as tensors of the model, and short ways to add nodes.

use super::attribute;
use super::body::Body;
use super::types::element_type;
use super::value::Val;
use sizewise_ir::{Argument, Constant, Dtype, Meta, Node, Operand, TensorMeta, ValueId};
use sizewise_kernels::{Category, ResultType};
use sizewise_onnx_model::read::message::{AttributeProto, TensorProto};

/// The dtype in which onnxruntime computes what torch computes in another.
pub(super) fn work(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::Float16 | Dtype::Bfloat16 => Dtype::Float32,
        Dtype::Int8 | Dtype::Uint8 | Dtype::Int16 | Dtype::Uint16 => Dtype::Int32,
        Dtype::Uint32 => Dtype::Int64,
        other => other,
    }
}

/// Operators that move elements and that onnxruntime runs for some dtypes only (tried with 1.32, CPU): which operands
/// are data, and the dtype in which they are moved instead. Every value is the same there and back.
fn carrier(op: &str, dtype: Dtype) -> Option<(&'static [usize], Dtype)> {
    use Dtype::{Bfloat16, Bool, Float32, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    let wide = match dtype {
        Bfloat16 => Float32,
        Uint32 | Uint64 => Int64,
        Bool => Uint8,
        _ => Int32,
    };
    match (op, dtype) {
        ("Trilu", Int8 | Uint8 | Int16 | Uint16 | Uint32 | Uint64 | Bfloat16) => Some((&[0], wide)),
        ("Where", Bool | Int16 | Uint16 | Uint64 | Bfloat16) => Some((&[1, 2], wide)),
        ("Pad", Int16 | Uint16) => Some((&[0, 2], wide)),
        ("Expand" | "Tile", Bfloat16) => Some((&[0], wide)),
        ("DepthToSpace" | "SpaceToDepth", Bool | Bfloat16) => Some((&[0], wide)),
        ("DepthToSpace" | "SpaceToDepth", Int16 | Uint16) => Some((&[0], Float32)),
        ("DepthToSpace" | "SpaceToDepth", Int32 | Uint32) => Some((&[0], Float64)),
        _ => None,
    }
}

/// The places of dimensions, counted from the front.
pub(super) fn axis(dim: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank.max(1)).ok()?;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then(|| usize::try_from(dim).ok()).flatten()
}

/// A call under translation.
pub(super) struct Call<'c, 'b, 'p> {
    pub body: &'c mut Body<'b, 'p>,
    pub node: &'p Node,
}

impl<'p> Call<'_, '_, 'p> {
    /// The argument for a parameter, `None` counting as not given.
    pub fn arg(&self, name: &str) -> Option<&'p Argument> {
        let node: &'p Node = self.node;
        node.argument(name).filter(|arg| !matches!(arg, Argument::None | Argument::OptionalTensor(None)))
    }

    /// The argument at a place.
    pub fn nth(&self, index: usize) -> Option<&'p Argument> {
        let node: &'p Node = self.node;
        node.inputs.get(index).map(|input| &input.arg)
    }

    /// Whether something is passed.
    pub fn has(&self, name: &str) -> bool {
        self.arg(name).is_some()
    }

    /// The tensor or number that an argument is.
    pub fn number(&mut self, argument: &Argument) -> Option<Val> {
        if let Some(id) = argument.value() {
            return self.body.value(id);
        }
        let constant = attribute::literal(argument)?;
        let dtype = match constant {
            Constant::Int(_) => Dtype::Int64,
            Constant::Float(_) => Dtype::Float64,
            Constant::Bool(_) => Dtype::Bool,
            Constant::None | Constant::Str(_) => return None,
        };
        Some(Val { name: self.body.constant(&constant), dtype, rank: 0 })
    }

    /// The tensor that is passed.
    pub fn tensor(&self, name: &str) -> Option<Val> {
        self.body.value(self.arg(name)?.value()?)
    }

    /// The tensors of a list that is passed.
    pub fn tensors(&self, name: &str) -> Option<Vec<Val>> {
        match self.arg(name)? {
            Argument::Tensors(ids) => ids.iter().map(|&id| self.body.value(id)).collect(),
            Argument::List(items) => items.iter().map(|item| self.body.value(item.value()?)).collect(),
            _ => None,
        }
    }

    /// A tensor or number in a dtype; literals are constants of it.
    pub fn operand(&mut self, name: &str, dtype: Dtype) -> Option<Val> {
        self.in_dtype(self.arg(name)?, dtype)
    }

    /// As [`Call::operand`], for an argument at hand.
    pub fn in_dtype(&mut self, argument: &Argument, dtype: Dtype) -> Option<Val> {
        match attribute::literal(argument) {
            Some(Constant::Int(value)) if dtype.is_float() => Some(self.float(value as f64, dtype)),
            Some(Constant::Int(value)) => Some(self.integer(value, dtype)),
            Some(Constant::Float(value)) if dtype.is_float() => Some(self.float(value, dtype)),
            Some(Constant::Bool(value)) if !dtype.is_bool() => Some(self.integer(value.into(), dtype)),
            _ => {
                let value = self.number(argument)?;
                Some(self.body.cast(&value, dtype))
            }
        }
    }

    /// A literal integer, or what it is where nothing is passed.
    pub fn int(&self, name: &str, default: i64) -> Option<i64> {
        match self.arg(name) {
            None => Some(default),
            Some(argument) => match attribute::literal(argument)? {
                Constant::Int(value) => Some(value),
                Constant::Bool(value) => Some(value.into()),
                _ => None,
            },
        }
    }

    /// A literal number, or what it is where nothing is passed.
    pub fn real(&self, name: &str, default: f64) -> Option<f64> {
        match self.arg(name) {
            None => Some(default),
            Some(argument) => match attribute::literal(argument)? {
                Constant::Int(value) => Some(value as f64),
                Constant::Float(value) => Some(value),
                Constant::Bool(value) => Some(f64::from(u8::from(value))),
                _ => None,
            },
        }
    }

    /// A truth value, or what it is where nothing is passed.
    pub fn flag(&self, name: &str, default: bool) -> Option<bool> {
        match self.arg(name) {
            None => Some(default),
            Some(argument) => match attribute::literal(argument)? {
                Constant::Bool(value) => Some(value),
                Constant::Int(value) => Some(value != 0),
                _ => None,
            },
        }
    }

    /// A text.
    pub fn text(&self, name: &str, default: &'p str) -> Option<&'p str> {
        match self.arg(name) {
            None => Some(default),
            Some(Argument::Str(text)) => Some(text),
            _ => None,
        }
    }

    /// A list of literal integers; a single one counts as a list. Empty where nothing is passed.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.arg(name) {
            None => Some(Vec::new()),
            Some(Argument::Ints(list)) => Some(list.clone()),
            Some(Argument::SymInts(list)) => {
                list.iter().map(|item| if let Operand::Literal(v) = item { Some(*v) } else { None }).collect()
            }
            Some(argument) => match attribute::literal(argument)? {
                Constant::Int(value) => Some(vec![value]),
                _ => None,
            },
        }
    }

    /// The elements of a list of integers.
    pub fn elements(&self, name: &str) -> Option<Vec<Operand<i64>>> {
        match self.arg(name)? {
            Argument::Ints(list) => Some(list.iter().map(|&value| Operand::Literal(value)).collect()),
            Argument::SymInts(list) => Some(list.clone()),
            Argument::Int(value) => Some(vec![Operand::Literal(*value)]),
            Argument::SymInt(operand) => Some(vec![*operand]),
            _ => None,
        }
    }

    /// A vector of integers, of which some may be values.
    pub fn vector(&mut self, elements: &[Operand<i64>]) -> Option<Val> {
        let literals: Option<Vec<i64>> = elements
            .iter()
            .map(|item| if let Operand::Literal(v) = item { Some(*v) } else { None })
            .collect();
        if let Some(literals) = literals {
            return Some(self.constant_vector(&literals));
        }
        let mut parts: Vec<Val> = Vec::with_capacity(elements.len());
        for element in elements {
            parts.push(match element {
                Operand::Literal(value) => self.constant_vector(&[*value]),
                Operand::Value(id) => {
                    let value = self.body.value(*id)?;
                    let value = self.body.cast(&value, Dtype::Int64);
                    let minus = self.constant_vector(&[-1]);
                    self.put("Reshape", &[&value, &minus], Vec::new(), (Dtype::Int64, 1))
                }
            });
        }
        if let [part] = parts.as_slice() {
            return Some(part.clone());
        }
        let parts: Vec<&Val> = parts.iter().collect();
        Some(self.put("Concat", &parts, vec![attribute::int("axis", 0)], (Dtype::Int64, 1)))
    }

    /// The value that a result is.
    pub fn result(&self, index: usize) -> Option<ValueId> {
        super::items::made(self.node).get(index).copied().flatten()
    }

    /// What is recorded of a result that is a tensor.
    pub fn out(&self, index: usize) -> Option<&'p TensorMeta> {
        let graph = self.body.graph;
        graph.meta(self.result(index)?).tensor()
    }

    /// The dtype of the first result.
    pub fn out_dtype(&self) -> Option<Dtype> {
        match self.body.graph.meta(self.result(0)?) {
            Meta::Tensor(tensor) => Some(tensor.dtype),
            Meta::SymInt(_) => Some(Dtype::Int64),
            Meta::SymFloat(_) => Some(Dtype::Float64),
            Meta::SymBool(_) => Some(Dtype::Bool),
            _ => None,
        }
    }

    /// The rank of the first result.
    pub fn out_rank(&self) -> usize {
        self.out(0).map_or(0, |tensor| tensor.sizes.len())
    }

    /// What is recorded of a tensor that is passed.
    pub fn recorded(&self, name: &str) -> Option<&'p TensorMeta> {
        let graph = self.body.graph;
        graph.meta(self.arg(name)?.value()?).tensor()
    }

    /// Whether anything uses a result.
    pub fn is_used(&self, index: usize) -> bool {
        self.result(index).is_some_and(|id| super::live::is_used(self.body.graph, id))
    }

    /// The dtype in which tensors and numbers meet.
    pub fn common(&self, names: &[&str]) -> Option<Dtype> {
        let mut result = ResultType::default();
        for name in names {
            let argument = self.arg(name)?;
            let id = argument.value();
            result = match (attribute::literal(argument), id) {
                (Some(Constant::Int(_)), _) => result.with_category(Category::Int),
                (Some(Constant::Float(_)), _) => result.with_category(Category::Float),
                (Some(Constant::Bool(_)), _) => result.with_category(Category::Bool),
                (_, Some(id)) => match self.body.graph.meta(id) {
                    Meta::Tensor(tensor) => {
                        let dtype = self.body.value(id)?.dtype;
                        result.with_dtype(dtype, tensor.sizes.len())
                    }
                    Meta::SymInt(_) => result.with_category(Category::Int),
                    Meta::SymFloat(_) => result.with_category(Category::Float),
                    Meta::SymBool(_) => result.with_category(Category::Bool),
                    _ => return None,
                },
                _ => return None,
            };
        }
        result.dtype().ok()
    }

    /// Adds a node with one result. Where onnxruntime has no kernel for the dtype that is moved, it moves another and
    /// casts back.
    pub fn put(
        &mut self,
        op: &str,
        inputs: &[&Val],
        attributes: Vec<AttributeProto>,
        (dtype, rank): (Dtype, usize),
    ) -> Val {
        let Some((data, wide)) = carrier(op, dtype) else {
            let names: Vec<&str> = inputs.iter().map(|value| value.name.as_str()).collect();
            let name = self.body.emit(op, &names, attributes, 1).remove(0);
            return Val { name, dtype, rank };
        };
        let mut operands: Vec<Val> = inputs.iter().map(|&value| value.clone()).collect();
        for &at in data {
            if let Some(operand) = operands.get_mut(at) {
                *operand = self.cast(operand, wide);
            }
        }
        let operands: Vec<&Val> = operands.iter().collect();
        let moved = self.put(op, &operands, attributes, (wide, rank));
        self.cast(&moved, dtype)
    }

    /// Adds an element-wise node; the result has the dtype of the last operand and the greatest rank.
    pub fn map(&mut self, op: &str, inputs: &[&Val]) -> Val {
        let dtype = inputs.last().map_or(Dtype::Float32, |value| value.dtype);
        let rank = inputs.iter().map(|value| value.rank).max().unwrap_or(0);
        self.put(op, inputs, Vec::new(), (dtype, rank))
    }

    /// Adds an element-wise comparison.
    pub fn test(&mut self, op: &str, inputs: &[&Val]) -> Val {
        Val { dtype: Dtype::Bool, ..self.map(op, inputs) }
    }

    /// The value in another dtype.
    pub fn cast(&mut self, value: &Val, dtype: Dtype) -> Val {
        self.body.cast(value, dtype)
    }

    /// A number of a dtype with fractions, or of any other.
    pub fn float(&mut self, value: f64, dtype: Dtype) -> Val {
        let raw = match dtype {
            Dtype::Float32 => (value as f32).to_le_bytes().to_vec(),
            Dtype::Float64 => value.to_le_bytes().to_vec(),
            _ => {
                let wide = self.float(value, Dtype::Float32);
                return self.cast(&wide, dtype);
            }
        };
        self.literal(dtype, Vec::new(), raw)
    }

    /// An integer of a dtype.
    pub fn integer(&mut self, value: i64, dtype: Dtype) -> Val {
        match dtype {
            Dtype::Int64 => self.literal(dtype, Vec::new(), value.to_le_bytes().to_vec()),
            // Numbers that do not fit wrap, as casts do.
            Dtype::Int32 => self.literal(dtype, Vec::new(), (value as i32).to_le_bytes().to_vec()),
            Dtype::Bool => self.literal(dtype, Vec::new(), vec![u8::from(value != 0)]),
            Dtype::Float32 | Dtype::Float64 => self.float(value as f64, dtype),
            _ => {
                let wide = self.integer(value, Dtype::Int64);
                self.cast(&wide, dtype)
            }
        }
    }

    /// A vector of literal integers.
    pub fn constant_vector(&mut self, values: &[i64]) -> Val {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.literal(Dtype::Int64, vec![i64::try_from(values.len()).unwrap_or(0)], raw)
    }

    fn literal(&mut self, dtype: Dtype, dims: Vec<i64>, raw: Vec<u8>) -> Val {
        let rank = dims.len();
        let tensor = TensorProto {
            dims,
            data_type: element_type(dtype).unwrap_or_default(),
            raw_data: raw.into(),
            ..TensorProto::default()
        };
        Val { name: self.body.fixed(tensor), dtype, rank }
    }

    /// The sizes of a tensor as a vector.
    pub fn shape(&mut self, value: &Val) -> Val {
        self.put("Shape", &[value], Vec::new(), (Dtype::Int64, 1))
    }

    /// One size of a tensor as a vector of one.
    pub fn size(&mut self, value: &Val, dim: usize) -> Val {
        let dim = i64::try_from(dim).unwrap_or(0);
        let range = vec![attribute::int("start", dim), attribute::int("end", dim + 1)];
        self.put("Shape", &[value], range, (Dtype::Int64, 1))
    }

    /// The value with other sizes, a vector.
    pub fn reshape(&mut self, value: &Val, sizes: &Val, rank: usize) -> Val {
        self.put("Reshape", &[value, sizes], vec![attribute::int("allowzero", 1)], (value.dtype, rank))
    }

    /// The value as a vector.
    pub fn flat(&mut self, value: &Val) -> Val {
        let sizes = self.constant_vector(&[-1]);
        self.put("Reshape", &[value, &sizes], Vec::new(), (value.dtype, 1))
    }

    /// The value without its only element's dimensions.
    pub fn scalar(&mut self, value: &Val) -> Val {
        if value.rank == 0 {
            return value.clone();
        }
        let sizes = self.constant_vector(&[]);
        self.put("Reshape", &[value, &sizes], Vec::new(), (value.dtype, 0))
    }

    /// The value with dimensions of 1 at these places of the result.
    pub fn unsqueeze(&mut self, value: &Val, dims: &[i64]) -> Val {
        let axes = self.constant_vector(dims);
        self.put("Unsqueeze", &[value, &axes], Vec::new(), (value.dtype, value.rank + dims.len()))
    }

    /// The value without these dimensions of 1.
    pub fn squeeze(&mut self, value: &Val, dims: &[i64]) -> Val {
        let axes = self.constant_vector(dims);
        let rank = value.rank.saturating_sub(dims.len());
        self.put("Squeeze", &[value, &axes], Vec::new(), (value.dtype, rank))
    }

    /// The value with its dimensions in another order.
    pub fn permute(&mut self, value: &Val, order: &[usize]) -> Val {
        if order.iter().copied().eq(0..value.rank) {
            return value.clone();
        }
        let order = order.iter().filter_map(|&dim| i64::try_from(dim).ok()).collect();
        self.put("Transpose", &[value], vec![attribute::ints("perm", order)], (value.dtype, value.rank))
    }

    /// Part of a dimension.
    pub fn slice(&mut self, value: &Val, [start, end, axis, step]: [&Val; 4]) -> Val {
        self.put("Slice", &[value, start, end, axis, step], Vec::new(), (value.dtype, value.rank))
    }

    /// A reduction over literal dimensions, all where there are none.
    pub fn reduce(&mut self, op: &str, value: &Val, dims: &[i64], keep: bool) -> Val {
        let keepdims = vec![attribute::int("keepdims", keep.into())];
        let rank = match (keep, dims.is_empty()) {
            (true, _) => value.rank,
            (false, true) => 0,
            (false, false) => value.rank.saturating_sub(dims.len()),
        };
        if dims.is_empty() || value.rank == 0 {
            return self.put(op, &[value], keepdims, (value.dtype, if value.rank == 0 { 0 } else { rank }));
        }
        let axes = self.constant_vector(dims);
        self.put(op, &[value, &axes], keepdims, (value.dtype, rank))
    }
}
