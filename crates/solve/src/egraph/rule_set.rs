//! Sets of rules.
use super::rule::Rule;
use super::rule_file::{self, RuleError};
use std::sync::OnceLock;

/// Rules in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
}

/// The rule files that are part of the program; the last one is for simplification only.
const FILES: [(&str, &str); 8] = [
    ("floor_division.rules", include_str!("../../rules/floor_division.rules")),
    ("modulo.rules", include_str!("../../rules/modulo.rules")),
    ("minmax.rules", include_str!("../../rules/minmax.rules")),
    ("compare.rules", include_str!("../../rules/compare.rules")),
    ("product.rules", include_str!("../../rules/product.rules")),
    ("boolean.rules", include_str!("../../rules/boolean.rules")),
    ("conditional.rules", include_str!("../../rules/conditional.rules")),
    ("simplification.rules", include_str!("../../rules/simplification.rules")),
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
