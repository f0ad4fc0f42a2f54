//! What is declared of an operator beside its shape function: all that is known of it stands there, once. What is not
//! said is open, so that a declaration which leaves something out makes answers less sure, not wrong.
use super::at_load::{self, AtLoad, Infers};
use super::call::{Call, Checked, Outcome};
use super::dtype::Dtype;
use super::run_time::{Rule, RunTime, left};
use super::spans::{self, SpanOf};
use super::value::Value;
use sizewise_kernels::Cx;

/// A shape function.
pub type Kernel = fn(&mut Cx, &Checked) -> Outcome;

/// Which elements of inputs decide a shape or a condition of the operator itself. Others at most decide elements of its
/// results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Those of all inputs but so many first ones.
    Behind(usize),
    /// Those of no input.
    Nothing,
    /// Divisors that are integers: they are not 0.
    Divisors,
    /// Texts: those that become numbers begin with one.
    Texts,
    /// None, and they decide nothing of the results either.
    Ignores,
}

/// What an operator does with the elements of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It computes elements of its results from them; they decide no shape and no condition.
    Passes,
    /// They may decide a shape or a condition.
    Reads,
    /// It has no use for them.
    Ignores,
}

/// Whether an operator draws numbers at random.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draws {
    Never,
    Always,
    /// Where it is given this input.
    With(usize),
}

/// What decides how many items the sequence has that an operator makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The value itself, for all that is known.
    Open,
    /// Nothing but the node.
    Node,
    /// The number of items of input 0.
    Items,
    /// The elements of this input.
    Elements(usize),
}

/// An operator.
pub struct Op {
    pub(super) name: &'static str,
    pub(super) kernel: Kernel,
    reads: Reads,
    draws: Draws,
    infers: Infers,
    pub(super) run_time: &'static [Rule],
    span: Option<SpanOf>,
    is_settled_by_spans: bool,
    follows: Option<fn(&Call) -> bool>,
    pub(super) runs_deprecated: bool,
    /// Whether the integers among its results are sizes, or integers of its inputs.
    pub moves_integers: bool,
    /// What decides how many items its result has.
    pub counts: Counts,
    made_of: Option<(usize, usize)>,
    /// Whether its results hold what an attribute says, of which nothing else depends.
    pub fills: bool,
}

/// An operator of which nothing but the shape function is said.
pub const fn op(name: &'static str, kernel: Kernel) -> Op {
    Op {
        name,
        kernel,
        reads: Reads::Behind(0),
        draws: Draws::Never,
        infers: at_load::nothing,
        run_time: &[],
        span: None,
        is_settled_by_spans: false,
        follows: None,
        runs_deprecated: false,
        moves_integers: false,
        counts: Counts::Open,
        made_of: None,
        fills: false,
    }
}

impl Op {
    /// Which elements it reads: those of all inputs if nothing is said.
    pub const fn reads(self, reads: Reads) -> Op {
        Op { reads, ..self }
    }

    /// It reads the elements of no input.
    pub const fn passes(self) -> Op {
        self.reads(Reads::Nothing)
    }

    /// What onnxruntime infers of its results when it loads a model: nothing that is sure if nothing is said.
    pub const fn infers(self, infers: Infers) -> Op {
        Op { infers, ..self }
    }

    /// The conditions on elements that it checks when it runs.
    pub const fn at_run(self, run_time: &'static [Rule]) -> Op {
        Op { run_time, ..self }
    }

    /// Where the integers of its first result lie.
    pub const fn span(self, span: SpanOf) -> Op {
        Op { span: Some(span), ..self }
    }

    /// Its integers are sizes, or those of its inputs.
    pub const fn moves_integers(self) -> Op {
        Op { moves_integers: true, ..self }
    }

    /// Its shape function requires of indices, in input 1, all that has to hold where it is known where they lie.
    pub const fn is_settled_by_spans(self) -> Op {
        Op { is_settled_by_spans: true, ..self }
    }

    /// Of these calls its shape function follows floats that are quotients of sizes, and nothing else decides their shapes.
    pub const fn follows(self, follows: fn(&Call) -> bool) -> Op {
        Op { follows: Some(follows), ..self }
    }

    /// onnxruntime runs its body in versions that say it is gone.
    pub const fn runs_deprecated(self) -> Op {
        Op { runs_deprecated: true, ..self }
    }

    /// It draws numbers at random.
    pub const fn draws(self) -> Op {
        Op { draws: Draws::Always, ..self }
    }

    /// It draws numbers at random where it is given this input.
    pub const fn draws_with(self, input: usize) -> Op {
        Op { draws: Draws::With(input), ..self }
    }

    /// What decides how many items its result has.
    pub const fn counts(self, counts: Counts) -> Op {
        Op { counts, ..self }
    }

    /// An output depends on the elements of one input alone.
    pub const fn makes_of(self, output: usize, input: usize) -> Op {
        Op { made_of: Some((output, input)), ..self }
    }

    /// What onnxruntime infers of its results when it loads a model.
    pub fn inferred(&self, call: &Call, rank: usize) -> AtLoad {
        (self.infers)(call, rank)
    }

    /// Its results hold what an attribute says.
    pub const fn fills(self) -> Op {
        Op { fills: true, ..self }
    }

    /// What it does with the elements of an input of this type.
    pub fn used(&self, at: usize, dtype: Option<Dtype>) -> Use {
        let passes = match self.reads {
            Reads::Ignores => return Use::Ignores,
            Reads::Nothing => true,
            Reads::Behind(count) => at < count,
            Reads::Divisors => at == 0 || dtype.is_some_and(Dtype::is_float),
            Reads::Texts => dtype.is_some_and(|dtype| dtype != Dtype::Str),
        };
        if passes { Use::Passes } else { Use::Reads }
    }

    /// Whether its results are made of sizes alone.
    pub fn reads_sizes(&self) -> bool {
        self.reads == Reads::Ignores && self.draws == Draws::Never
    }

    /// Whether no element of an input decides its results.
    pub fn ignores_elements(&self) -> bool {
        self.reads == Reads::Ignores
    }

    /// Whether an output depends on the elements of an input.
    pub fn depends(&self, output: Option<usize>, input: usize) -> bool {
        !self.ignores_elements() && self.made_of.is_none_or(|(of, by)| output != Some(of) || input == by)
    }

    /// Whether it draws numbers at random, where it is given these inputs.
    pub fn draws_given(&self, has: impl Fn(usize) -> bool) -> bool {
        match self.draws {
            Draws::Never => false,
            Draws::Always => true,
            Draws::With(input) => has(input),
        }
    }

    /// Whether a call needs no more of the elements of its indices than what is known of where they lie.
    pub fn is_settled(&self, cx: &mut Cx, call: &Call) -> bool {
        let in_tuples = self.run_time.iter().any(Rule::is_about_tuples);
        self.follows.is_some_and(|follows| follows(call))
            || self.is_settled_by_spans && spans::are_settled(cx, call, in_tuples)
    }

    /// The conditions on elements that a call leaves to run time.
    pub fn left_to_run_time(&self, cx: &mut Cx, call: &Call) -> Vec<RunTime> {
        let left: Vec<RunTime> = self.run_time.iter().filter_map(|rule| left(cx, call, rule)).collect();
        if !left.is_empty() && self.is_settled(cx, call) { Vec::new() } else { left }
    }

    /// Notes where the integers of results lie.
    pub fn mark_spans(&self, cx: &mut Cx, call: &Call, values: &mut [Option<Value>]) {
        if let Some(span_of) = self.span {
            spans::mark_spans(cx, call, span_of, values);
        }
    }

    /// Whether an index out of range is refused when the operator runs.
    pub fn looks_up(&self) -> bool {
        self.run_time.iter().any(Rule::is_about_indices)
    }
}
