//! The parts of a shape environment: what each holds. What is done with them stands in the file of the topic.
use super::guard::{Guard, Origin, RuntimeAssert};
use super::hints::Hints;
use super::operations::Operation;
use super::policy::Artefact;
use super::symbols::{Names, SymbolInfo};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Symbol};

/// The symbols made so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    pub info: FxHashMap<Symbol, SymbolInfo>,
    pub hints: Hints,
    pub names: Names,
    /// The unbacked ones, in order.
    pub unbacked: Vec<Symbol>,
    /// How many conditions were assumed, and how many left out, when each of them was made: those on it came later.
    pub made_at: FxHashMap<Symbol, (usize, usize)>,
    /// Those that sizes with equal hints share.
    pub ducks: Vec<Symbol>,
    pub pending: Pending,
}

/// The records of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    pub guards: Vec<Guard>,
    pub asserts: Vec<RuntimeAssert>,
    /// Assertions of the program itself.
    pub stated: Vec<RuntimeAssert>,
    /// What the policies have made of sizes.
    pub artefacts: Vec<Artefact>,
    /// Assumptions beyond those that are reasoned with.
    pub left_out: Vec<Expr>,
    /// Equations of sizes that data decides by which the program's records have replaced some, and which no assertion
    /// states so far.
    pub equations: Vec<Expr>,
    /// The steps that look up indices of which it is not known where they lie.
    pub unchecked_indices: Vec<Origin>,
    /// For conditions that keep an operator's way at the example, all that it asks for.
    pub in_full: FxHashMap<Expr, Expr>,
    /// Whether no more guards may be recorded, and no more runtime assertions.
    pub frozen: (bool, bool),
    /// Guards that operators called for after the environment was frozen.
    pub refused: Vec<Guard>,
    /// The step that what is recorded next stems from.
    pub origin: Origin,
}

/// Answers so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Conditions settled or recorded before, with the truth value that the trace goes by.
    pub settled: FxHashMap<Expr, bool>,
    /// Conditions found to be open, with the revision in which they were.
    pub open: FxHashMap<Expr, u64>,
    /// Conditions that were asked for and that the facts answered, as they hold.
    pub answered: IndexSet<Expr, FxBuildHasher>,
    /// Whether guards are recorded without being learned from.
    pub keeps_asking: bool,
    /// Whether what the program asserts of numbers is taken to hold without being asked.
    pub leaves_assertions: bool,
    pub revision: u64,
    /// The revision since which nothing has become known.
    pub known_since: u64,
}

/// What is noted of strides in a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Strides {
    /// Choices of memory layout that followed the hints; see `ShapeEnv::layout_choice`.
    pub choices: Vec<(Expr, Origin)>,
    /// Steps whose operators depend on strides of their operands; see `ShapeEnv::need_strides`.
    pub needed: Vec<Origin>,
    /// Whether the call at hand depends on strides.
    pub asked: bool,
    /// The choices by condition. They are no facts: what is required later is not settled by them.
    pub chosen: FxHashMap<Expr, bool>,
}

/// What a call noted beside conditions: of strides, which follow the example without a guard, and of indices.
#[derive(Clone, Debug, Default)]
pub struct StrideNotes {
    /// The choices, as conditions that hold at the example.
    pub(super) choices: Vec<Expr>,
    /// Whether it depends on strides of its operands.
    pub(super) asked: bool,
    /// Whether it looks up indices of which it is not known whether they are in range.
    pub(super) unchecked: bool,
}

/// What was computed. A copy of an environment begins without.
#[derive(Default)]
pub(super) struct Computed(pub FxHashMap<(Operation, Expr, Expr), Expr>);

impl Clone for Computed {
    fn clone(&self) -> Computed {
        Computed::default()
    }
}

/// Unbacked symbols that no result binds yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    pub symbols: Vec<Symbol>,
    pub ignoring: bool,
}

impl Pending {
    pub fn add(&mut self, symbol: Symbol) {
        if !self.ignoring {
            self.symbols.push(symbol);
        }
    }
}

/// The branch that is being followed.
#[derive(Clone, Default)]
pub(super) struct Path {
    /// The conditions of the branches around, outermost first; constants are left out.
    pub conditions: Vec<Expr>,
    /// Whether one of them is false at the hints.
    pub off_example: bool,
    /// How many branches are around.
    pub depth: u32,
    /// Whether data alone decides if one of them is taken.
    pub chosen_by_data: bool,
    /// The symbols declared inside, with their ranges.
    pub declared: Vec<(Symbol, ValueRange)>,
}

impl Path {
    /// Whether the program comes this way whatever the data is, as far as the conditions of the branches around hold.
    pub fn is_certain(&self) -> bool {
        !self.chosen_by_data
    }
}

/// Symbols that known equalities determine.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacements {
    pub by: IndexMap<Symbol, Expr>,
    /// How many of the known conditions have been looked at.
    pub seen: usize,
}
