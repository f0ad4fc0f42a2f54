//! The interpreter of graphs: its state, and why it stops.
use super::calls::CallCache;
use super::run::Run;
use super::step::{Derived, Failure, FailureKind, Scope};
use super::uses::Uses;
use crate::records::{RecordedError, Records};
use rustc_hash::FxHashSet;
use sizewise_env::{Clause, Origin, ShapeEnv};
use sizewise_expr::Expr;
use sizewise_ir::Program;
use sizewise_kernels::autocast::Regions;
use sizewise_kernels::{KernelError, Operators};

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Compare every value with the record, and go on with the record after a failure.
    Verify,
    /// Stop at the first failure; look at the record only where an operator is not supported.
    Evaluate,
}

/// Why a run stopped.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Stop {
    /// A step failed.
    #[error("{}", .0.message)]
    Failed(Box<Failure>),
    /// The program's records cannot be read.
    #[error(transparent)]
    Unreadable(#[from] RecordedError),
}

/// Runs a program on fake tensors.
pub struct Interpreter<'p> {
    /// The program.
    pub program: &'p Program,
    /// What it finds.
    pub run: Run<'p>,
    /// The program's records.
    pub records: Records<'p>,
    /// What is derived for each value and what is recorded; set it to an empty list to have it filled.
    pub derived: Option<Vec<Derived>>,
    /// Whether sizes that differ from the recorded ones go on as computed, and are not compared.
    pub(super) as_computed: bool,
    pub(super) counted: FxHashSet<Expr>,
    pub(super) mode: Mode,
    pub(super) operators: &'p Operators,
    pub(super) origin: Origin,
    pub(super) compared: FxHashSet<Expr>,
    /// The autocast regions around the current step.
    pub(super) autocast: Regions,
    /// The regions around those that `_enter_autocast` has begun.
    pub(super) entered: Vec<Regions>,
    /// Only the record tells the dtypes of the step's results.
    pub(super) dtypes_as_recorded: bool,
    pub(super) scope: Scope,
    pub(super) calls: CallCache<'p>,
    pub(super) uses: Uses,
    /// The step depends on the result of an unsupported operator.
    pub(super) untrusted: bool,
    /// Integers were written in place, so that what is known of where integers lie may not hold any more.
    pub(super) integers_written: bool,
}

impl<'p> Interpreter<'p> {
    /// An interpreter of `program` over an environment that knows its symbols.
    pub fn new(
        program: &'p Program,
        env: ShapeEnv,
        records: Records<'p>,
        operators: &'p Operators,
        mode: Mode,
    ) -> Self {
        Interpreter {
            program,
            run: Run::new(env, program.graph.nodes().len()),
            records,
            derived: None,
            as_computed: false,
            counted: FxHashSet::default(),
            mode,
            operators,
            origin: Origin::default(),
            compared: FxHashSet::default(),
            autocast: Regions::default(),
            entered: Vec::new(),
            dtypes_as_recorded: false,
            scope: Scope::default(),
            calls: CallCache::default(),
            uses: Uses::default(),
            untrusted: false,
            integers_written: false,
        }
    }

    pub(super) fn returned<T>(&mut self, result: Result<T, KernelError>) -> Result<T, CallError> {
        result.map_err(|error| match error {
            KernelError::Unsupported(reason) => CallError::Unsupported(reason),
            KernelError::Invalid { clause, message, condition } => {
                self.failure(FailureKind::Invalid, message, Some(clause), condition).into()
            }
            KernelError::DataDependent { condition, message } => {
                self.failure(FailureKind::DataDependent, message, None, Some(condition)).into()
            }
        })
    }

    /// The current step violates a clause that is not a condition on sizes.
    pub(super) fn invalid<E: From<Stop>>(&self, clause: impl Into<Clause>, message: String) -> E {
        self.failure(FailureKind::Invalid, message, Some(clause.into()), None).into()
    }

    /// The arguments of the current step do not fit its operator.
    pub(super) fn malformed<E: From<Stop>>(&self, message: impl Into<String>) -> E {
        self.failure(FailureKind::Malformed, message.into(), None, None).into()
    }

    /// A failure of the current step.
    fn failure(
        &self,
        kind: FailureKind,
        message: String,
        clause: Option<Clause>,
        condition: Option<Expr>,
    ) -> Stop {
        Stop::Failed(Box::new(Failure { origin: self.origin, kind, message, clause, condition }))
    }
}

/// Why a call has no results.
pub(super) enum CallError {
    /// No kernel.
    Unsupported(String),
    /// A failure.
    Stop(Stop),
}

impl From<Stop> for CallError {
    fn from(stop: Stop) -> CallError {
        CallError::Stop(stop)
    }
}
