//! Rewrite rules.
use super::condition::Condition;
use super::form::Form;
use super::pattern::Pattern;
use sizewise_expr::Sort;

/// A rewrite rule. Wherever the left side is defined and the conditions hold, the right side is defined and
/// equal to it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name by which reports cite the rule; unique in its set.
    pub name: String,
    /// The comment above the rule: the equation in mathematical notation and why it holds.
    pub equation: String,
    /// The side that is looked for.
    pub left: Pattern,
    /// The side that it is equal to.
    pub right: Pattern,
    /// The side conditions; one that is not known to hold keeps the rule from firing.
    pub conditions: Vec<Condition>,
    /// The names of the variables, without `?`.
    pub variables: Vec<String>,
    /// The sort of each variable.
    pub sorts: Vec<Sort>,
    /// Why the suite proves the rule by enumeration only, where that is so.
    pub enumeration_only: Option<String>,
    /// The file, for messages.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The left side as the matcher uses it.
    pub(super) form: Form,
    /// The functions that must occur below the root ([`Form::needs`]).
    pub(super) needs: u64,
}
