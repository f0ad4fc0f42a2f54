//! The e-graph's language: one e-node a pool expression.
//!
//! Sums and products are single nodes whose children are the monomials and atoms and whose operation holds constant,
//! coefficients and powers. As every node comes from the pool's canonical construction, no rule for commutativity or
//! associativity is needed; when classes merge, the expressions above are built again ([`super::solve`]).
use crate::expr::{Expr, Func, Int, Node, Pool};
use egg::{DidMerge, EGraph, Id};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// An e-node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// The number of the operation in [`Operations`].
    operation: u32,
    children: SmallVec<[Id; 2]>,
}

impl egg::Language for Term {
    type Discriminant = u32;

    fn discriminant(&self) -> u32 {
        self.operation
    }

    fn matches(&self, other: &Term) -> bool {
        self.operation == other.operation && self.children.len() == other.children.len()
    }

    fn children(&self) -> &[Id] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

/// What a node does with its children.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Operation {
    /// A constant or symbol.
    Leaf(Expr),
    /// The constant and the coefficients of the children.
    Sum(Int, Box<[Int]>),
    /// The powers of the children.
    Product(Box<[u32]>),
    Call(Func),
}

/// The operations that occur, numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Operations(IndexSet<Operation, FxBuildHasher>);

impl Operations {
    /// The node of an expression whose children have the given classes.
    pub fn term(&mut self, pool: &Pool, e: Expr, class: impl Fn(Expr) -> Id) -> Term {
        let mut children = SmallVec::new();
        pool.for_each_child(e, |child| children.push(class(child)));
        let operation = match pool.node(e) {
            Some(Node::Sum { constant, terms }) => {
                Operation::Sum(constant.clone(), terms.iter().map(|(_, c)| c.clone()).collect())
            }
            Some(Node::Product(factors)) => Operation::Product(factors.iter().map(|(_, p)| *p).collect()),
            Some(Node::Call(func, _)) => Operation::Call(*func),
            _ => Operation::Leaf(e),
        };
        Term { operation: self.0.insert_full(operation).0 as u32, children }
    }
}

/// The expressions that a class holds.
pub(super) type Members = SmallVec<[Expr; 2]>;

/// Collects the members of classes, and notes constants that turn out equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Membership {
    /// The expression being added.
    pub adding: Option<Expr>,
    /// Distinct constants that ended up in one class.
    pub clash: Option<(Expr, Expr)>,
    /// Which expressions are constants, for every one added.
    pub constants: IndexSet<Expr, FxBuildHasher>,
}

impl egg::Analysis<Term> for Membership {
    type Data = Members;

    fn make(egraph: &mut EGraph<Term, Membership>, _: &Term, _: Id) -> Members {
        egraph.analysis.adding.into_iter().collect()
    }

    fn merge(&mut self, to: &mut Members, from: Members) -> DidMerge {
        let constant = |members: &Members| members.iter().copied().find(|e| self.constants.contains(e));
        if let (Some(a), Some(b)) = (constant(to), constant(&from))
            && a != b
        {
            self.clash.get_or_insert((a, b));
        }
        for e in from {
            if !to.contains(&e) {
                to.push(e);
            }
        }
        to.sort_unstable();
        // Nothing above depends on the members, so nothing needs to be computed again.
        DidMerge(false, false)
    }
}
