//! What onnxruntime infers when it loads a model, and what shape functions ask of that.
use super::call::{Call, Checked, refused};
use super::value::{Tensor, Value};
use sizewise_env::OpClause;
use sizewise_kernels::{Cx, KernelError};

pub use super::known::{AtLoad, Known};

/// What onnxruntime infers, when it loads a model, of a result of this rank. See the functions of this module.
pub type Infers = fn(&Call, usize) -> AtLoad;

/// Whether the file has the elements of all inputs from one on.
pub fn are_in_file(call: &Call, from: usize) -> bool {
    call.tensors(from).all(|tensor| tensor.is_some_and(|tensor| tensor.at_load.elements == Known::Yes))
}

/// Whether the rank of all inputs is known.
fn are_ranked(call: &Call) -> bool {
    call.tensors(0).all(|tensor| tensor.is_some_and(|tensor| tensor.at_load.rank == Known::Yes))
}

/// Nothing is sure to be inferred.
pub fn nothing(_: &Call, _: usize) -> AtLoad {
    AtLoad::default()
}

/// The rank is inferred from inputs of known rank.
pub fn rank(call: &Call, _: usize) -> AtLoad {
    if are_ranked(call) { AtLoad::RANKED } else { AtLoad::default() }
}

/// As [`rank`]; where all inputs have known sizes, the result has.
pub fn all(call: &Call, rank: usize) -> AtLoad {
    let are_sized = call.tensors(0).all(|tensor| tensor.is_some_and(Tensor::is_sized_at_load));
    if are_sized { AtLoad::SIZED } else { self::rank(call, rank) }
}

/// As [`rank`]; the sizes are those of input 0.
pub fn same(call: &Call, rank: usize) -> AtLoad {
    let found = self::rank(call, rank);
    match call.tensor(0).filter(|x| x.shape.as_ref().is_some_and(|shape| shape.len() == rank)) {
        Some(x) => (0..rank).fold(found, |found, dim| found.with_size(dim, x.at_load.size(dim))),
        None => found,
    }
}

/// As [`rank`]; where input 0 has known sizes, the result has.
pub fn sized_by_first(call: &Call, rank: usize) -> AtLoad {
    match call.tensor(0) {
        Some(x) if x.is_sized_at_load() => AtLoad::SIZED,
        _ => self::rank(call, rank),
    }
}

/// The rank is inferred where the file has the elements of the inputs behind the first, and so are sizes from sizes.
pub fn read(call: &Call, rank: usize) -> AtLoad {
    match are_in_file(call, 1) {
        true => sized_by_first(call, rank),
        false => AtLoad::default(),
    }
}

/// As [`read`]; from version 13 on, the rank is that of the first input.
pub fn read_sizes(call: &Call, rank: usize) -> AtLoad {
    match call.version >= 13 && !are_in_file(call, 1) {
        true => self::rank(call, rank),
        false => read(call, rank),
    }
}

/// As [`rank`] from a version on, where the number of elements of the last input is known.
pub fn counted(call: &Call, since: i64, rank: usize) -> AtLoad {
    let is_counted = call.inputs.last().copied().flatten().is_some_and(Value::is_sized_at_load);
    if call.version >= since && is_counted { self::rank(call, rank) } else { AtLoad::default() }
}

/// The sizes are known where the file has the elements of all inputs, else the rank as [`rank`] says.
pub fn read_all(call: &Call, rank: usize) -> AtLoad {
    if are_in_file(call, 0) { AtLoad::SIZED } else { self::rank(call, rank) }
}

/// Of a transposed convolution, as [`rank`] where the sizes of the kernel are known and `output_shape` is not given; before
/// version 11 also only without dilations and `auto_pad`.
pub fn transposed(call: &Call, rank: usize) -> AtLoad {
    let has = |name: &str| call.attributes.iter().any(|(known, _)| *known == name);
    let has_kernel = || {
        let size = |dim| call.tensor(1).map_or(Known::Maybe, |weight| weight.at_load.size(dim));
        has("kernel_shape") || (2..rank).all(|dim| size(dim) == Known::Yes)
    };
    let is_left_out = has("output_shape") || call.version < 11 && (has("dilations") || has("auto_pad"));
    match call.tensor(0) {
        Some(x) if has_kernel() && !is_left_out => self::rank(call, rank).with_size(0, x.at_load.size(0)),
        _ => AtLoad::default(),
    }
}

impl Checked<'_, '_> {
    /// Whether the rank of an input is known when the model loads.
    pub fn rank_at_load(&self, at: usize) -> Known {
        self.tensor(at).map_or(Known::Maybe, |tensor| tensor.at_load.rank)
    }

    /// Whether a size of an input is known as a number when the model loads.
    pub fn size_at_load(&self, at: usize, dim: usize) -> Known {
        match self.tensor(at).map_or(Known::Maybe, |tensor| tensor.at_load.size(dim)) {
            Known::Maybe => (self.call.found_at_load)(at, dim),
            known => known,
        }
    }

    /// Whether all sizes of an input are known as numbers when the model loads.
    pub fn sizes_at_load(&self, at: usize) -> Known {
        let rank = self.tensor(at).and_then(|tensor| tensor.shape.as_ref()).map_or(0, Vec::len);
        (0..rank).fold(Known::Yes, |known, dim| known.and(self.size_at_load(at, dim)))
    }

    /// Whether the rank of an input is known when the model loads.
    ///
    /// # Errors
    /// Where that is not sure.
    pub fn infers_rank(&self, at: usize) -> Result<bool, KernelError> {
        match self.rank_at_load(at) {
            Known::Maybe => {
                let message =
                    format!("{}: whether the rank is known when the model loads is not known", self.op());
                Err(KernelError::Unsupported(message))
            }
            known => Ok(known == Known::Yes),
        }
    }

    /// Whether the file is sure to have the elements of an input, so that the inference of shapes reads them.
    pub fn is_in_file(&self, at: usize) -> bool {
        self.tensor(at).is_some_and(|tensor| tensor.at_load.elements == Known::Yes)
    }

    /// Refuses what the inference of shapes refuses where it knows something.
    ///
    /// # Errors
    /// [`KernelError::Unsupported`] where it is not sure whether it knows that.
    pub fn refused_where(
        &self,
        known: Known,
        clause: &'static OpClause,
        message: impl FnOnce() -> String,
    ) -> Result<(), KernelError> {
        let op = self.op();
        match known {
            Known::No => Ok(()),
            Known::Yes => Err(refused(clause, format!("{op}: {}", message()))),
            Known::Maybe => Err(KernelError::Unsupported(format!(
                "{op}: whether onnxruntime sees this when it loads the model is not known: {}",
                message()
            ))),
        }
    }

    /// Notes that it is not known what becomes of the call in onnxruntime, though its shapes are.
    pub fn doubt(&self, message: &str) {
        let (mut doubts, message) = (self.call.doubts.borrow_mut(), format!("{}: {message}", self.op()));
        if !doubts.iter().any(|known| matches!(known, KernelError::Unsupported(known) if *known == message)) {
            doubts.push(KernelError::Unsupported(message));
        }
    }

    /// Notes that the inference of shapes finds another shape, when the model loads, than the kernel makes. What becomes
    /// of such a model is not known: nodes behind may be refused, or write into a buffer of another size.
    pub fn misinferred(&self, cx: &Cx) {
        if cx.on_cpu() {
            self.doubt("onnxruntime infers another shape of its result than it makes");
        }
    }
}
