//! Conditions of operators: what reports call them, and what they say.
use std::fmt;

/// A condition of an operator, declared by [`clauses!`](crate::clauses).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OpClause {
    /// What reports call it: `mm.C2`.
    pub code: &'static str,
    /// What it says, as a sentence.
    pub says: &'static str,
}

impl OpClause {
    /// Whether it requires nothing: by it an operator goes one way or another. Its sentence begins with "Whether".
    pub fn is_choice(&self) -> bool {
        self.says.starts_with("Whether ")
    }
}

impl fmt::Display for OpClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)
    }
}

/// The conditions of the operators in a file, operator by operator.
pub type Clauses = &'static [&'static [&'static OpClause]];

/// Declares the conditions of an operator: a module of its name with a constant for each, and `ALL` of them.
///
/// The code of a condition is the name of the module, a dot and the name of the constant. A text behind the name of the
/// module stands in its place.
///
/// ```
/// sizewise_env::clauses! { pairs {
///     C1 "The operand has a dimension."
///     C2 "The number of rows is even."
/// } }
/// sizewise_env::clauses! { where_ "where" {
///     C1 "The condition is of `bool`."
/// } }
///
/// assert_eq!(pairs::C2.code, "pairs.C2");
/// assert_eq!(pairs::C2.says, "The number of rows is even.");
/// assert_eq!(where_::ALL[0].code, "where.C1");
/// ```
#[macro_export]
macro_rules! clauses {
    ($name:ident { $($clause:ident $says:literal)+ }) => {
        $crate::clauses! { @ $name (stringify!($name)) { $($clause $says)+ } }
    };
    ($name:ident $called:literal { $($clause:ident $says:literal)+ }) => {
        $crate::clauses! { @ $name ($called) { $($clause $says)+ } }
    };
    (@ $name:ident ($called:expr) { $($clause:ident $says:literal)+ }) => {
        #[allow(non_snake_case, non_upper_case_globals, missing_docs)]
        pub mod $name {
            $(
                #[doc = $says]
                pub const $clause: &$crate::OpClause =
                    &$crate::OpClause { code: concat!($called, ".", stringify!($clause)), says: $says };
            )+
            /// All of them.
            pub const ALL: &[&$crate::OpClause] = &[$($clause),+];
        }
    };
}
