//! What onnxruntime knows of values when it loads a model, before a run gives sizes: an abstract domain of three values.
//!
//! The inference of shapes refuses what it sees. What is not surely known is not surely unknown: where a refusal depends
//! on what [`Known::Maybe`] is known, the answer is open.
use super::call::{Call, Checked, refused};
use super::value::{Tensor, Value};
use sizewise_kernels::{Cx, KernelError};

/// Whether onnxruntime knows something when it loads a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// That is not sure.
    #[default]
    Maybe,
}

impl Known {
    /// Whether both are known.
    pub fn and(self, other: Known) -> Known {
        match (self, other) {
            (Known::No, _) | (_, Known::No) => Known::No,
            (Known::Yes, Known::Yes) => Known::Yes,
            _ => Known::Maybe,
        }
    }
}

impl std::ops::Not for Known {
    type Output = Known;

    fn not(self) -> Known {
        match self {
            Known::Yes => Known::No,
            Known::No => Known::Yes,
            Known::Maybe => Known::Maybe,
        }
    }
}

/// What onnxruntime knows of a tensor when it loads a model. The default is that nothing is sure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtLoad {
    /// Whether it knows the rank.
    pub rank: Known,
    /// Whether the file has the elements, so that the inference of shapes reads them.
    pub elements: Known,
    /// A bit for each of the first dimensions of which it knows the size as a number.
    known: u32,
    /// A bit for each of them of which it does not.
    unknown: u32,
}

impl AtLoad {
    /// That of an initializer.
    pub const IN_FILE: AtLoad = AtLoad { elements: Known::Yes, ..AtLoad::SIZED };
    /// All sizes are known.
    pub const SIZED: AtLoad =
        AtLoad { rank: Known::Yes, elements: Known::Maybe, known: u32::MAX, unknown: 0 };
    /// The rank is known.
    pub const RANKED: AtLoad = AtLoad { known: 0, ..AtLoad::SIZED };
    /// Neither the rank nor a size is known.
    pub const UNRANKED: AtLoad =
        AtLoad { rank: Known::No, elements: Known::Maybe, known: 0, unknown: u32::MAX };
    /// The rank is known, and nothing else.
    pub const OPEN: AtLoad = AtLoad { rank: Known::Yes, elements: Known::No, ..AtLoad::UNRANKED };

    /// Whether a size is known as a number.
    pub fn size(self, dim: usize) -> Known {
        let has =
            |bits: u32| u32::try_from(dim).ok().and_then(|dim| bits.checked_shr(dim)).unwrap_or(0) & 1 == 1;
        match (has(self.known), has(self.unknown)) {
            (true, _) => Known::Yes,
            (_, true) => Known::No,
            _ => Known::Maybe,
        }
    }

    /// The same with another answer for a size.
    pub fn with_size(mut self, dim: usize, known: Known) -> AtLoad {
        let bit = u32::try_from(dim).ok().and_then(|dim| 1u32.checked_shl(dim)).unwrap_or(0);
        (self.known, self.unknown) = (self.known & !bit, self.unknown & !bit);
        match known {
            Known::Yes => self.known |= bit,
            Known::No => self.unknown |= bit,
            Known::Maybe => {}
        }
        self
    }

    /// The same without what is known of elements.
    pub fn without_elements(self) -> AtLoad {
        AtLoad { elements: Known::Maybe, ..self }
    }

    /// The same without what is known of sizes and elements.
    pub fn without_sizes(self) -> AtLoad {
        AtLoad { rank: self.rank, ..AtLoad::default() }
    }
}

impl Tensor {
    /// Whether onnxruntime is sure to know all its sizes as numbers when it loads the model.
    pub fn is_sized_at_load(&self) -> bool {
        let sizes = self.shape.as_ref().map(|shape| 0..shape.len());
        sizes.is_some_and(|mut dims| dims.all(|dim| self.at_load.size(dim) == Known::Yes))
    }
}

impl Value {
    /// As [`Tensor::is_sized_at_load`], of a tensor.
    pub fn is_sized_at_load(&self) -> bool {
        self.tensor().is_some_and(Tensor::is_sized_at_load)
    }

    /// Whether onnxruntime is sure to know the rank of a tensor when it loads the model.
    pub fn is_ranked_at_load(&self) -> bool {
        self.tensor().is_some_and(|tensor| tensor.at_load.rank == Known::Yes)
    }
}

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
        clause: &'static str,
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
