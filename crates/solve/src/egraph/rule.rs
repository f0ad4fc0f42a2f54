//! Rules and sets of rules.
use super::condition::Condition;
use super::form::Form;
use super::pattern::Pattern;
use super::rule_file::{self, RuleError};
use sizewise_expr::Sort;
use std::sync::OnceLock;

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

/// Rules in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// The rule files that are part of the program; the last one is for simplification only.
const FILES: [(&str, &str); 8] = [
    ("floor_division.rules", include_str!("../../../../rules/floor_division.rules")),
    ("modulo.rules", include_str!("../../../../rules/modulo.rules")),
    ("minmax.rules", include_str!("../../../../rules/minmax.rules")),
    ("compare.rules", include_str!("../../../../rules/compare.rules")),
    ("product.rules", include_str!("../../../../rules/product.rules")),
    ("boolean.rules", include_str!("../../../../rules/boolean.rules")),
    ("conditional.rules", include_str!("../../../../rules/conditional.rules")),
    ("simplification.rules", include_str!("../../../../rules/simplification.rules")),
];

impl RuleSet {
    /// The rules for proofs: those of `rules/*.rules` but for `simplification.rules`, read once.
    ///
    /// Tests exclude that a file cannot be read. Should that happen, its rules are left out, because a
    /// missing rule never makes an answer wrong.
    pub fn builtin() -> &'static RuleSet {
        static BUILTIN: OnceLock<RuleSet> = OnceLock::new();
        BUILTIN.get_or_init(|| RuleSet::of_files(&FILES[..FILES.len() - 1]))
    }

    /// All rules of `rules/*.rules`, read once: also those that only help to find small forms.
    pub fn simplifying() -> &'static RuleSet {
        static SIMPLIFYING: OnceLock<RuleSet> = OnceLock::new();
        SIMPLIFYING.get_or_init(|| RuleSet::of_files(&FILES))
    }

    fn of_files(files: &[(&str, &str)]) -> RuleSet {
        let sets = files.iter().filter_map(|(file, text)| RuleSet::parse(text, file).ok());
        RuleSet { rules: sets.flat_map(|set| set.rules).collect() }
    }

    /// The names and contents of the rule files that are part of the program.
    pub fn builtin_files() -> &'static [(&'static str, &'static str)] {
        &FILES
    }

    /// Reads rules; `file` is the name used in messages.
    pub fn parse(text: &str, file: &str) -> Result<RuleSet, RuleError> {
        Ok(RuleSet { rules: rule_file::parse(text, file)? })
    }

    /// The rules in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of a name.
    pub fn find(&self, name: &str) -> Option<&Rule> {
        self.rules.iter().find(|r| r.name == name)
    }
}
