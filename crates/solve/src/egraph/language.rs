//! The e-graph's language: one e-node a pool expression.
//!
//! Sums and products are single nodes whose children are the monomials and atoms and whose operation holds constant,
//! coefficients and powers. As every node comes from the pool's canonical construction, no rule for commutativity or
//! associativity is needed; when classes merge, the expressions above are built again ([`super::solve`]).
use egg::{DidMerge, EGraph, Id};
use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxBuildHasher;
use sizewise_expr::{Expr, Func, Int, Node, Pool};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// An e-node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ENode {
    /// The number of the operation in [`Operations`].
    operation: u32,
    children: SmallVec<[Id; 2]>,
}

impl egg::Language for ENode {
    type Discriminant = u32;

    fn discriminant(&self) -> u32 {
        self.operation
    }

    fn matches(&self, other: &ENode) -> bool {
        self.operation == other.operation && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// The operation of a node on its children.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Operation {
    /// A constant or symbol.
    Leaf(Expr),
    /// The constant and the coefficients of the children.
    Sum(Int, Box<[Int]>),
    /// The powers of the children.
    Product(Box<[u32]>),
    Call(Func),
}

impl Operation {
    fn of(pool: &Pool, e: Expr) -> Operation {
        match pool.node(e) {
            Some(Node::Sum { constant, terms }) => {
                Operation::Sum(constant.clone(), terms.iter().map(|(_, c)| c.clone()).collect())
            }
            Some(Node::Product(factors)) => Operation::Product(factors.iter().map(|(_, p)| *p).collect()),
            Some(Node::Call(func, _)) => Operation::Call(*func),
            _ => Operation::Leaf(e),
        }
    }
}

impl Hash for Operation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Operation::Leaf(e) => e.hash(state),
            Operation::Sum(constant, coefficients) => hash_sum(constant, coefficients.iter(), state),
            Operation::Product(powers) => powers.iter().for_each(|power| power.hash(state)),
            Operation::Call(func) => func.hash(state),
        }
    }
}

fn hash_sum<'a, H: Hasher>(constant: &Int, coefficients: impl Iterator<Item = &'a Int>, state: &mut H) {
    constant.hash(state);
    coefficients.for_each(|c| c.hash(state));
}

/// An expression, to look up its operation.
struct OperationOf<'a>(&'a Pool, Expr);

impl Hash for OperationOf<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.node(self.1) {
            Some(Node::Sum { constant, terms }) => hash_sum(constant, terms.iter().map(|(_, c)| c), state),
            Some(Node::Product(factors)) => factors.iter().for_each(|(_, power)| power.hash(state)),
            Some(Node::Call(func, _)) => func.hash(state),
            _ => self.1.hash(state),
        }
    }
}

impl Equivalent<Operation> for OperationOf<'_> {
    fn equivalent(&self, operation: &Operation) -> bool {
        match (operation, self.0.node(self.1)) {
            (Operation::Sum(c, coefficients), Some(Node::Sum { constant, terms })) => {
                c == constant && coefficients.iter().eq(terms.iter().map(|(_, c)| c))
            }
            (Operation::Product(powers), Some(Node::Product(factors))) => {
                powers.iter().eq(factors.iter().map(|(_, power)| power))
            }
            (Operation::Call(func), Some(Node::Call(other, _))) => func == other,
            (Operation::Leaf(e), _) => *e == self.1,
            _ => false,
        }
    }
}

/// The operations that occur, numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Operations(IndexSet<Operation, FxBuildHasher>);

impl Operations {
    /// The node of an expression whose children have the given classes.
    pub fn term(&mut self, pool: &Pool, e: Expr, class: impl Fn(Expr) -> Id) -> ENode {
        let known = self.0.get_index_of(&OperationOf(pool, e));
        let operation = known.unwrap_or_else(|| self.0.insert_full(Operation::of(pool, e)).0) as u32;
        let mut children = SmallVec::new();
        pool.for_each_child(e, |child| children.push(class(child)));
        ENode { operation, children }
    }
}

/// The expressions that a class holds, sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Members {
    list: SmallVec<[Expr; 2]>,
    /// The constant among them: that with the least handle, should there be several.
    constant: Option<Expr>,
}

impl Members {
    /// Adds an expression.
    pub fn insert(&mut self, e: Expr, is_constant: bool) {
        if let Err(position) = self.list.binary_search(&e) {
            self.list.insert(position, e);
        }
        if is_constant {
            self.constant = self.constant.min(Some(e)).or(Some(e));
        }
    }

    /// The constant among the members.
    pub fn constant(&self) -> Option<Expr> {
        self.constant
    }
}

impl Deref for Members {
    type Target = [Expr];

    fn deref(&self) -> &[Expr] {
        &self.list
    }
}

/// Collects the members of classes, and notes constants that turn out equal.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberAnalysis {
    /// The expression being added.
    pub adding: Option<Expr>,
    /// Whether it is a constant.
    pub adding_constant: bool,
    /// Distinct constants that ended up in one class.
    pub distinct_constants: Option<(Expr, Expr)>,
}

impl egg::Analysis<ENode> for MemberAnalysis {
    type Data = Members;

    fn make(egraph: &mut EGraph<ENode, MemberAnalysis>, _: &ENode, _: Id) -> Members {
        let mut members = Members::default();
        if let Some(e) = egraph.analysis.adding {
            members.insert(e, egraph.analysis.adding_constant);
        }
        members
    }

    fn merge(&mut self, to: &mut Members, mut from: Members) -> DidMerge {
        if let (Some(a), Some(b)) = (to.constant, from.constant)
            && a != b
        {
            self.distinct_constants.get_or_insert((a, b));
        }
        // The few go to the many: the class of `true` grows by one condition at a time.
        if from.len() > to.len() {
            std::mem::swap(to, &mut from);
        }
        let constant = from.constant;
        for e in from.list {
            to.insert(e, Some(e) == constant);
        }
        // Nothing above depends on the members, so nothing needs to be computed again.
        DidMerge(false, false)
    }
}
