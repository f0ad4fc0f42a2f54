//! How large the values of a program get, over all inputs that a spec allows: bounds, memory plans, what fits, profiles.
//!
//! A [`Sizing`] has the sizes of a program's values as expressions, and what is known of the sizes of its inputs. All
//! questions are answered from it: the program is followed once, and each expression is bounded once.
mod arena;
mod ask;
mod at;
mod buckets;
mod error;
mod extremes;
mod fit;
mod frontier;
mod inside;
mod named;
mod plan;
mod profile;
mod program;
mod report;
mod runs;
mod values;
mod when;

pub use arena::{Arena, Block, arena, greedy, lower_bound, overlaps};
pub use ask::ALIGNMENT;
pub use at::{At, at_json, at_text};
pub use buckets::{Bucket, Buckets, Serving};
pub use error::SizingError;
pub use extremes::{End, Ends};
pub use fit::{Fit, Fitted, SizeStep, memory};
pub use frontier::Frontier;
pub use plan::{Plan, Planned};
pub use profile::Profile;
pub use program::sizing;
pub use values::{Sized, ValueBounds};
pub use when::When;

use crate::{Branches, Life};
use extremes::{Assignments, Known};
use inside::Inside;
use rustc_hash::FxHashMap;
use sizewise_check::spec::InputSizes;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use std::sync::Arc;

/// Runs a program, or a model, at sizes of its inputs: whether it takes them.
pub type Replay<'r> = Box<dyn Fn(&At) -> bool + 'r>;

/// A buffer: memory that a step makes.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The value that it holds first.
    pub value: Arc<str>,
    /// Its bytes.
    pub bytes: Expr,
    /// The step that makes it.
    pub from: usize,
    /// The last step that uses it.
    pub to: usize,
    /// The branches that it is made in: those that exclude each other share memory.
    pub branches: Branches,
}

impl Buffer {
    /// A buffer that is made and used so.
    pub fn new(value: Arc<str>, life: Life) -> Buffer {
        let Life { bytes, from, to, branches } = life;
        Buffer { value, bytes, from, to, branches }
    }
}

/// The memory that a run takes.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What is made.
    pub buffers: Vec<Buffer>,
    /// The bytes of it that are live together: the greatest of these.
    pub peak: Vec<Expr>,
    /// Floating point operations.
    pub flops: Option<Expr>,
    /// The bytes of all that is made.
    pub made: Option<Expr>,
    /// The bytes of the inputs.
    pub inputs: Option<Expr>,
    /// The bytes of parameters, buffers and constants.
    pub state: Option<Expr>,
    /// What is left out or guessed.
    pub reasons: Vec<String>,
}

/// The sizes of what a program takes and makes.
pub struct Sizing<'p> {
    /// What is known of the sizes of allowed inputs.
    pub(crate) env: ShapeEnv,
    /// What is known of sizes that data decide, too.
    pub(crate) open: Option<ShapeEnv>,
    pub(crate) inputs: Vec<InputSizes>,
    /// What the spec calls symbols.
    pub(crate) dims: FxHashMap<Symbol, String>,
    /// The values that the program makes, in its order.
    pub(crate) values: Vec<Sized>,
    pub(crate) memory: Memory,
    /// Why values may be other than is said.
    pub(crate) reasons: Vec<String>,
    pub(crate) replay: Replay<'p>,
    known: Known,
    assignments: Assignments,
    /// What is known of inputs that come to branches, by the conditions under which they do.
    branches: FxHashMap<Vec<Expr>, Box<Inside>>,
    /// Graphs of the program that no allowed input comes to.
    pub(crate) unreached: Vec<String>,
    /// The work that was done in branches.
    elsewhere: u64,
    /// Allowed sizes next to others: of a dimension the least one from a size on, or the greatest one below it.
    neighbours: FxHashMap<(Expr, Int, bool), Option<Int>>,
}

/// What a [`Sizing`] is made of.
pub struct Parts<'p> {
    /// What is known of the sizes of allowed inputs.
    pub env: ShapeEnv,
    /// What is known of sizes that data decide, too.
    pub open: Option<ShapeEnv>,
    /// The inputs.
    pub inputs: Vec<InputSizes>,
    /// What the spec calls symbols.
    pub dims: FxHashMap<Symbol, String>,
    /// The values that are made.
    pub values: Vec<Sized>,
    /// The memory that a run takes.
    pub memory: Memory,
    /// Why values may be other than is said.
    pub reasons: Vec<String>,
    /// Runs it.
    pub replay: Replay<'p>,
}

impl<'p> Sizing<'p> {
    /// A sizing of these parts.
    ///
    /// # Errors
    /// When no input is allowed, or none is found.
    pub fn new(parts: Parts<'p>) -> Result<Sizing<'p>, SizingError> {
        let Parts { mut env, open, inputs, dims, values, memory, reasons, replay } = parts;
        let known = Known::new(&mut env, &inputs)?;
        Ok(Sizing {
            env,
            open,
            inputs,
            dims,
            values,
            memory,
            reasons,
            replay,
            known,
            assignments: Assignments::default(),
            branches: FxHashMap::default(),
            unreached: Vec::new(),
            elsewhere: 0,
            neighbours: FxHashMap::default(),
        })
    }

    /// The expressions.
    pub fn pool(&self) -> &Pool {
        &self.env.pool
    }

    /// The bytes of buffers, in the order of a plan's.
    pub fn buffer_bytes(&self) -> Vec<Expr> {
        self.memory.buffers.iter().map(|buffer| buffer.bytes).collect()
    }

    /// An expression in the sizes of inputs: `2*x.shape[0]`.
    pub fn shown(&self, e: Expr) -> String {
        named::shown(self, e)
    }
}
