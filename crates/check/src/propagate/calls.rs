//! The cache of operator calls.
//!
//! A call with the same arguments gives the same results if no facts were added in between and the first call
//! recorded nothing. So a program with many equal layers runs the kernels of one or two of them.
use super::frame::Frame;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::StrideNotes;
use sizewise_expr::Expr;
use sizewise_ir::schema::Schema;
use sizewise_ir::{Argument, Node, Operand, Target, TargetKind, ValueId};
use sizewise_kernels::{FakeKernel, Operators, Tensor, Value, Values};
use std::sync::Arc;

/// What a target names.
#[derive(Clone)]
pub(super) struct Callee<'p> {
    /// The target's index, in order of first use.
    number: u32,
    /// Its name: `aten.add.Tensor`.
    pub op: Arc<str>,
    /// Its schema and kernel, if it is an operator that has them.
    pub kernel: Option<(&'p Schema, &'p dyn FakeKernel)>,
    /// Whether its results depend on nothing but arguments and facts.
    repeatable: bool,
    /// Whether it has been called: the first call is not cached, as most operators are called once.
    called_before: bool,
}

/// The modules of functions whose calls have side effects on the interpreter.
const STATEFUL_MODULES: [&str; 2] = ["torch._functorch.predispatch", "torch.amp.autocast_mode"];

/// A call in the cache.
struct CachedCall {
    /// The revision of the facts in which it was made; see [`ShapeEnv::revision`](sizewise_env::ShapeEnv::revision).
    revision: u64,
    results: Values,
    /// Whether the results were as recorded.
    as_recorded: bool,
    /// Its notes about strides.
    notes: StrideNotes,
}

/// The operators that a program calls, and the calls so far.
#[derive(Default)]
pub(super) struct CallCache<'p> {
    /// By the address of the target, which lives as long as the program.
    callees: FxHashMap<usize, Callee<'p>>,
    /// Each distinct tensor once, so that equal tensors have the same address.
    tensors: FxHashSet<Arc<Tensor>>,
    cached: FxHashMap<Box<[u64]>, CachedCall>,
    /// The key of the current call; empty if the call cannot be cached.
    key: Vec<u64>,
}

impl<'p> CallCache<'p> {
    /// What a target names.
    pub fn callee(&mut self, target: &'p Target, operators: &'p Operators) -> &mut Callee<'p> {
        let address = std::ptr::from_ref(target.kind()).addr();
        let number = self.callees.len() as u32;
        self.callees.entry(address).or_insert_with(|| {
            let op: Arc<str> = match target.op() {
                Some((namespace, op, overload)) => [namespace, op, overload].join(".").into(),
                None => target.to_string().into(),
            };
            let (kernel, repeatable) = match target.kind() {
                // CallCache of vmap keep track of levels, those of autocast of regions.
                TargetKind::Python { module, .. } => (None, !STATEFUL_MODULES.contains(&&**module)),
                TargetKind::HigherOrder(_) => (None, false),
                // A custom operator's kernel may depend on anything.
                _ => (operators.find(&op), !operators.is_custom(&op)),
            };
            Callee { number, op, kernel, repeatable, called_before: false }
        })
    }

    /// A value with each tensor replaced by the first equal one.
    pub fn share(&mut self, value: Value) -> Value {
        match value {
            Value::Tensor(tensor) => Value::Tensor(match self.tensors.get(&*tensor) {
                Some(known) => known.clone(),
                None => {
                    self.tensors.insert(tensor.clone());
                    tensor
                }
            }),
            other => other,
        }
    }

    /// Begins the call of a node; `regions` identifies the autocast regions around it.
    pub fn begin(&mut self, frame: &Frame, node: &'p Node, operators: &'p Operators, regions: &[u64]) {
        self.key.clear();
        let mut key = std::mem::take(&mut self.key);
        let callee = self.callee(&node.target, operators);
        key.push(u64::from(callee.number));
        key.extend_from_slice(regions);
        let called_before = std::mem::replace(&mut callee.called_before, true);
        let schema = callee.kernel.map(|(schema, _)| schema);
        if !called_before || !callee.repeatable || !write_arguments(frame, node, schema, &mut key) {
            key.clear();
        }
        self.key = key;
    }

    /// Does not cache the current call.
    pub fn discard(&mut self) {
        self.key.clear();
    }

    /// The cached results of the current call, whether they were as recorded, and its notes about strides.
    pub fn lookup(&self, revision: u64) -> Option<(&Values, bool, &StrideNotes)> {
        if self.key.is_empty() {
            return None;
        }
        let call = self.cached.get(self.key.as_slice()).filter(|call| call.revision == revision)?;
        Some((&call.results, call.as_recorded, &call.notes))
    }

    /// Caches the results of the current call, if possible.
    pub fn store(&mut self, revision: u64, results: &mut Values, as_recorded: bool, notes: StrideNotes) {
        if self.key.is_empty() {
            return;
        }
        for value in results.iter_mut() {
            *value = self.share(std::mem::replace(value, Value::None));
        }
        let call = CachedCall { revision, results: results.clone(), as_recorded, notes };
        self.cached.insert(self.key.as_slice().into(), call);
    }
}

/// What the following words of a key describe.
#[derive(Clone, Copy)]
enum Tag {
    None,
    Opaque,
    Tensor,
    Tensors,
    Int,
    Float,
    Bool,
    Number,
    Numbers,
    Double,
    Doubles,
    Truth,
    Truths,
    Complex,
    Sizes,
    Text,
    Dtype,
    Layout,
    Device,
    MemoryFormat,
}

fn head(key: &mut Vec<u64>, tag: Tag, count: usize) {
    key.push((count as u64) << 8 | tag as u64);
}

/// Writes the arguments of a node into a key, different ones differently; `false` if that is not possible.
fn write_arguments(frame: &Frame, node: &Node, schema: Option<&Schema>, key: &mut Vec<u64>) -> bool {
    let mut unnamed = 0;
    node.inputs.iter().all(|input| {
        let at = match schema {
            Some(schema) if !input.name.is_empty() => {
                schema.args.iter().position(|arg| arg.name == *input.name)
            }
            _ => {
                unnamed += 1;
                Some(unnamed - 1)
            }
        };
        let Some(at) = at else { return false };
        key.push(at as u64);
        write_argument(frame, &input.arg, key)
    })
}

fn write_argument(frame: &Frame, argument: &Argument, key: &mut Vec<u64>) -> bool {
    match argument {
        Argument::None | Argument::OptionalTensor(None) => head(key, Tag::None, 0),
        Argument::Tensor(id) | Argument::OptionalTensor(Some(id)) | Argument::CustomObj(id) => {
            return write_value(frame.value(*id), key);
        }
        Argument::Tensors(ids) => {
            head(key, Tag::Tensors, ids.len());
            key.extend(ids.iter().map(|id| address(frame, Some(*id))));
        }
        Argument::OptionalTensors(ids) => {
            head(key, Tag::Tensors, ids.len());
            key.extend(ids.iter().map(|id| address(frame, *id)));
        }
        Argument::Int(v) => write_number(*v, key),
        Argument::Ints(list) => {
            head(key, Tag::Numbers, list.len());
            key.extend(list.iter().map(|&v| v as u64));
        }
        Argument::Float(v) => {
            head(key, Tag::Double, 1);
            key.push(v.to_bits());
        }
        Argument::Floats(list) => {
            head(key, Tag::Doubles, list.len());
            key.extend(list.iter().map(|v| v.to_bits()));
        }
        Argument::Str(text) => write_text(text, key),
        Argument::Bool(b) => head(key, Tag::Truth, usize::from(*b)),
        Argument::Bools(list) => {
            head(key, Tag::Truths, list.len());
            key.extend(list.iter().map(|&b| u64::from(b)));
        }
        Argument::Complex(re, im) => {
            head(key, Tag::Complex, 1);
            key.extend([re.to_bits(), im.to_bits()]);
        }
        Argument::SymInt(Operand::Literal(v)) => write_number(*v, key),
        Argument::SymInt(Operand::Value(id))
        | Argument::SymFloat(Operand::Value(id))
        | Argument::SymBool(Operand::Value(id)) => return write_value(frame.value(*id), key),
        Argument::SymInts(list) => {
            head(key, Tag::Sizes, list.len());
            return list.iter().all(|operand| {
                let size = match operand {
                    Operand::Literal(v) => Expr::inline(*v),
                    Operand::Value(id) => match frame.value(*id) {
                        Value::Int(e) | Value::Float(e) | Value::Bool(e) => Some(*e),
                        _ => None,
                    },
                };
                key.extend(size.map(Expr::id));
                size.is_some()
            });
        }
        Argument::Dtype(dtype) => head(key, Tag::Dtype, *dtype as usize),
        Argument::Layout(layout) => head(key, Tag::Layout, *layout as usize),
        Argument::MemoryFormat(format) => head(key, Tag::MemoryFormat, *format as usize),
        Argument::Device(device) => {
            head(key, Tag::Device, device.index.map_or(0, |index| usize::from(index) + 1));
            write_text(&device.kind, key);
        }
        // Rare arguments are not cached.
        _ => return false,
    }
    true
}

fn write_value(value: &Value, key: &mut Vec<u64>) -> bool {
    let (tag, word) = match value {
        Value::None => (Tag::None, None),
        Value::Opaque => (Tag::Opaque, None),
        Value::Tensor(tensor) => (Tag::Tensor, Some(Arc::as_ptr(tensor).addr() as u64)),
        Value::Int(e) => (Tag::Int, Some(e.id())),
        Value::Float(e) => (Tag::Float, Some(e.id())),
        Value::Bool(e) => (Tag::Bool, Some(e.id())),
        _ => return false,
    };
    head(key, tag, 0);
    key.extend(word);
    true
}

fn write_number(value: i64, key: &mut Vec<u64>) {
    head(key, Tag::Number, 1);
    key.push(value as u64);
}

pub(super) fn write_text(text: &str, key: &mut Vec<u64>) {
    head(key, Tag::Text, text.len());
    key.extend(text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
}

/// The address of a tensor, 0 where there is none.
fn address(frame: &Frame, id: Option<ValueId>) -> u64 {
    match id.map(|id| frame.value(id)) {
        Some(Value::Tensor(tensor)) => Arc::as_ptr(tensor).addr() as u64,
        _ => 0,
    }
}
