//! What a file says of an operator, checked against its schema.
use super::formula::Formula;
use super::invocation::Invocation;
use super::shape::{DtypeRule, Each, Element, TensorRef};

/// The declared shape function of an operator.
#[derive(Debug)]
pub(super) struct Operator {
    /// The file, for messages.
    pub file: Box<str>,
    /// What is done before the cases are told apart.
    pub first: Vec<DeclaredStep>,
    /// The ways in which the operator can go; the first whose condition holds is taken.
    pub cases: Vec<Case>,
}

/// One way in which an operator can go.
#[derive(Debug)]
pub(super) struct Case {
    /// When the operator goes this way; always where nothing is said.
    pub when: Option<When>,
    pub steps: Vec<DeclaredStep>,
    pub returns: Returns,
}

/// When a case applies.
#[derive(Debug)]
pub(super) enum When {
    Holds(Formula),
    /// A text that is passed is this one.
    Text {
        argument: Box<str>,
        is: Box<str>,
    },
}

/// What is done before results are made, in this order.
#[derive(Debug)]
pub(super) enum DeclaredStep {
    /// A condition on the arguments.
    Require(Require),
    /// A name for a value.
    Let { name: Box<str>, value: Definition },
    /// A size that only the run decides.
    Fresh { name: Box<str>, min: Option<Formula>, max: Option<Formula> },
}

#[derive(Debug)]
pub(super) struct Require {
    pub when: Option<Formula>,
    pub each: Option<Each>,
    pub holds: Formula,
    pub message: Option<Box<str>>,
    /// Which of the operator's conditions this is, from 0.
    pub number: usize,
}

#[derive(Debug)]
pub(super) enum Definition {
    Formula(Formula),
    Fold { fold: Fold, formula: Formula, each: Each },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Product,
    Min,
    Max,
}

#[derive(Debug)]
pub(super) enum Returns {
    /// What another operator returns.
    All(Invocation),
    Listed(Vec<Return>),
}

#[derive(Debug)]
pub(super) enum Return {
    Tensor(Made),
    /// An argument itself.
    Same(Box<str>),
    /// The first result of another operator.
    Call(Invocation),
    Tensors(Vec<Made>),
    /// A tensor for each tensor of a list.
    Each(Each, Made),
    Int(Formula),
    Float(Formula),
    Bool(Formula),
    None,
}

/// A tensor that is made.
#[derive(Debug)]
pub(super) struct Made {
    pub like: Option<TensorRef>,
    pub shape: Option<Vec<Element>>,
    pub dtype: Option<DtypeRule>,
    pub strides: Strides,
    pub device: Option<TensorRef>,
    /// The line of the file it stands on.
    pub line: u32,
}

#[derive(Debug)]
pub(super) enum Strides {
    Contiguous,
    ChannelsLast,
    Like(TensorRef),
    /// Dense, with the dimensions in the order that a list of integers gives, the outermost first.
    Order(Box<str>),
    Listed(Vec<Element>),
}
