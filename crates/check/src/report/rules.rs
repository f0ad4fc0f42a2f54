//! The kinds of findings, for formats that tools read: one a kind of condition, and what else a report says.
use super::codes::meaning;
use super::model::{ConditionKind, GuardReport, Level};

/// A kind of finding.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Rule {
    /// A stable name. What stands before a `/` is the code that the text of a report shows.
    pub id: &'static str,
    /// How serious it is: `error`, `warning` or `note`, as SARIF calls them.
    pub level: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// How it comes about, and what to do.
    pub help: &'static str,
}

impl Rule {
    /// The code that the text of a report shows.
    pub fn code(&self) -> &'static str {
        self.id.split('/').next().unwrap_or(self.id)
    }

    /// What the code means and what to do about a finding of this kind.
    pub fn long_help(&self) -> String {
        match meaning(self.code()) {
            Some(meaning) => format!("{} {meaning}", self.help),
            None => self.help.to_string(),
        }
    }
}

/// A rule for violated conditions of one kind.
const fn broken(id: &'static str, meaning: &'static str, help: &'static str) -> Rule {
    Rule { id, level: "error", meaning, help }
}

const GUARD: Rule = broken(
    "guard-not-implied/guard",
    "Your spec allows shapes that break a guard of the program.",
    "A guard is a branch on sizes that was taken when the program was traced, in your code or in an operator's. \
     The exported module refuses inputs that would take the other branch.",
);
const PRECONDITION: Rule = broken(
    "guard-not-implied/precondition",
    "Your spec allows shapes that an operator refuses.",
    "The operator raises an error for such operands, in eager mode too.",
);
const ASSERTION: Rule = broken(
    "guard-not-implied/assertion",
    "Your spec allows shapes that break an assertion of the program.",
    "The program asserts the condition: torch._check in your code, or an assertion that torch.export \
         put into the graph.",
);
const CONTRACT: Rule = broken(
    "guard-not-implied/contract",
    "Your spec allows sizes that the program does not record.",
    "The program records a size or a range of its inputs, or of a value that it computes. A size is static where \
     the code read it as a number, or where the example had the size 0 or 1.",
);
const OVERFLOW: Rule = broken(
    "guard-not-implied/overflow",
    "Your spec allows sizes that 64 bits do not hold.",
    "Sizes, strides and element counts have 64 bits. Give the dimension a smaller maximum.",
);
const RUNTIME: Rule = broken(
    "guard-not-implied/runtime",
    "Your spec allows shapes at which no data passes the program's assertions.",
    "An assertion on data-dependent sizes fails for these shapes whatever the tensors hold.",
);
/// A rule for what an ONNX file cannot say: it is violated, and no declaration of the model mends it.
pub(super) const UNDECLARABLE: Rule = Rule {
    id: "guard-not-implied/undeclarable",
    level: "warning",
    meaning: "The model needs a least or a greatest size, which an ONNX file cannot declare.",
    help: "An ONNX file has names and numbers for sizes, and no ranges. Give the range in a spec (check --fix SPEC.json \
         writes one, which is found beside the model), or leave such findings out: --fail-on unknown.",
};
pub(super) const MISMATCH: Rule = Rule {
    id: "shape-mismatch",
    level: "error",
    meaning: "A recorded shape is not what the operator gives.",
    help: "Export the program again.",
};
pub(super) const UNDECIDED: Rule = Rule {
    id: "guard-undecided",
    level: "warning",
    meaning: "A condition was neither proved nor refuted.",
    help: "Check again with a larger budget (--budget 10), or with narrower ranges for the dimensions in \
         the condition.",
};
pub(super) const UNSUPPORTED: Rule = Rule {
    id: "unsupported-operator",
    level: "warning",
    meaning: "An operator has no fake kernel; its recorded shapes are trusted.",
    help: "Declare the operator.",
};
const DIAGNOSTIC_ERROR: Rule = Rule {
    id: "program-or-spec",
    level: "error",
    meaning: "The program or the spec cannot be used as it is.",
    help: "The message begins with a code; `sizewise explain CODE` says what it means and what to do.",
};
const DIAGNOSTIC_WARNING: Rule = Rule {
    id: "caveat",
    level: "warning",
    meaning: "The answer holds under a caveat.",
    help: "The message begins with a code; `sizewise explain CODE` says what it means and what to do.",
};
pub(super) const DIAGNOSTIC_NOTE: Rule = Rule {
    id: "remark",
    level: "note",
    meaning: "Something worth knowing.",
    help: "Where the message begins with a code, `sizewise explain CODE` says what it means.",
};

/// Every kind of finding.
pub(super) const RULES: [&Rule; 13] = [
    &GUARD,
    &PRECONDITION,
    &ASSERTION,
    &CONTRACT,
    &OVERFLOW,
    &RUNTIME,
    &UNDECLARABLE,
    &MISMATCH,
    &UNDECIDED,
    &UNSUPPORTED,
    &DIAGNOSTIC_ERROR,
    &DIAGNOSTIC_WARNING,
    &DIAGNOSTIC_NOTE,
];

/// What a code means: that of a diagnostic, or a kind of finding, which has a `/`.
pub fn explained(code: &str) -> Option<String> {
    let kind = || {
        RULES.iter().find(|rule| rule.id == code).map(|rule| format!("{} {}", rule.meaning, rule.long_help()))
    };
    meaning(code).map(str::to_owned).or_else(kind)
}

/// The rule that a violated condition breaks.
pub(super) fn violated(guard: &GuardReport) -> &'static Rule {
    match guard.kind {
        _ if guard.undeclarable => &UNDECLARABLE,
        ConditionKind::Guard => &GUARD,
        ConditionKind::Precondition => &PRECONDITION,
        ConditionKind::Assertion => &ASSERTION,
        ConditionKind::Contract => &CONTRACT,
        ConditionKind::Overflow => &OVERFLOW,
        ConditionKind::Runtime => &RUNTIME,
    }
}

/// The rule of a diagnostic.
pub(super) fn diagnostic(level: Level) -> &'static Rule {
    match level {
        Level::Error => &DIAGNOSTIC_ERROR,
        Level::Warning => &DIAGNOSTIC_WARNING,
        Level::Note => &DIAGNOSTIC_NOTE,
    }
}

#[cfg(test)]
mod tests {
    use super::{RULES, explained, meaning};

    #[test]
    fn codes_of_conditions_and_records_have_a_meaning() {
        for rule in &RULES[..10] {
            assert!(meaning(rule.code()).is_some(), "{}", rule.id);
        }
        assert_eq!(meaning("no-such-code"), None);
        for rule in RULES {
            let text = explained(rule.id).expect("a text");
            assert!(text.contains(rule.meaning) || meaning(rule.id).is_some(), "{}", rule.id);
        }
        assert_eq!(explained("guard-not-implied/no-such-kind"), None);
    }
}
