//! Custom operators declared in a text file: a schema, conditions, and what the operator returns.
//!
//! The file is TOML, one `[[operator]]` an overload:
//!
//! ```toml
//! [[operator]]
//! schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
//! requires = [
//!     "dets.rank == 2", "dets.shape[1] == 4", "scores.shape[0] == dets.shape[0]", "dets.dtype == scores.dtype",
//! ]
//! fresh = { kept = { min = 0, max = "dets.shape[0]" } }
//! returns = [{ shape = ["kept"], dtype = "int64" }]
//! ```
//!
//! `docs/operators.md` describes every key. A declaration is checked against its schema when it is read, so that a
//! wrong name is an error with its line and column ([`DeclarationError`]) and not a surprise in a report; what it
//! says is evaluated by the same [`Cx`](super::Cx) that the crate's own kernels use, on concrete and symbolic sizes
//! alike.
//!
//! ```
//! use sizewise_kernels::Operators;
//!
//! let mut operators = Operators::new();
//! operators.declare("my_ops.toml", r#"
//!     [[operator]]
//!     schema = "my::halve(Tensor x) -> Tensor"
//!     requires = ["x.rank >= 1", "x.shape[0] % 2 == 0"]
//!     returns = [{ shape = ["x.shape[0]//2", "*x.shape[1:]"], dtype = "x.dtype" }]
//! "#).unwrap();
//! assert!(operators.find("my.halve.default").is_some());
//!
//! let error = operators.declare("wrong.toml", r#"
//!     [[operator]]
//!     schema = "my::twice(Tensor x) -> Tensor"
//!     returns = [{ shape = ["2*y.shape[0]"], dtype = "x.dtype" }]
//! "#).unwrap_err();
//! assert_eq!(error.to_string(), "wrong.toml:4:30: there is no argument, `let` or `fresh` called `y`");
//! ```
mod call;
mod declaration;
mod error;
mod evaluate;
mod formula;
mod invocation;
mod names;
mod read;
mod read_returns;
mod shape;
mod shipped;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use call::CLAUSES;
pub use error::DeclarationError;
pub(super) use shipped::find as find_shipped;
pub use shipped::{Library, libraries};

use super::operators::Operators;
use table::Source;

/// A file of declarations is at most this long, in bytes.
const MAX_TEXT: usize = 1 << 20;

impl Operators {
    /// Adds the operators that a text in TOML declares; `file` names it in messages. Returns how many there are.
    ///
    /// # Errors
    /// The first place where the text declares nothing that could be understood; nothing is added then.
    pub fn declare(&mut self, file: &str, text: &str) -> Result<usize, DeclarationError> {
        let source = Source { file, text };
        if text.len() > MAX_TEXT {
            return Err(source.error(0, format!("the file is longer than {MAX_TEXT} bytes")));
        }
        let declared = read::operators(&source, &|name| self.is_custom(name))?;
        let count = declared.len();
        for (schema, operator) in declared {
            self.add(schema, operator);
        }
        Ok(count)
    }
}
