//! Equality saturation.
//!
//! A [`Graph`] holds expressions and facts, those of an environment or, saturated by rules, of one query. Equal
//! expressions share a class, rules ([`RuleSet`]) add further equal expressions, equations are solved so that classes
//! have normal forms, and a table of domains is updated with the classes. What does not follow stays open:
//! [`Graph::truth`] has three answers.
mod classes;
mod condition;
mod extract;
mod form;
mod graph;
mod language;
mod matching;
mod pattern;
mod quotient;
mod reading;
mod root;
mod rule;
mod rule_file;
mod rule_set;
mod saturate;
mod solve;

#[cfg(test)]
mod matching_tests;
#[cfg(test)]
mod parts_tests;

pub use condition::Condition;
pub use extract::Cost;
pub use graph::{Contradiction, Graph, Join, Why};
pub use pattern::{Bindings, Operation, Pattern};
pub(crate) use quotient::of_monomials;
pub use reading::Reading;
pub use rule::Rule;
pub use rule_file::RuleError;
pub use rule_set::RuleSet;
pub use saturate::{Limits, Saturation, Stop};
