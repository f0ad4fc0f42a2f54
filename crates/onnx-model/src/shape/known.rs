//! What onnxruntime knows of values when it loads a model, before a run gives sizes: an abstract domain of three values.
//!
//! The inference of shapes refuses what it sees. What is not surely known is not surely unknown: where a refusal depends
//! on what is [`Known::Maybe`] known, the answer is open.

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
