//! Layer 8: the pipeline. Read, bind the spec, propagate, gather what is to be proved, decide it, report.
mod checker;
mod error;
mod evaluate;
mod examine;
mod excluded;
mod explain;
mod fix;
mod guard_set;
mod ledger;
mod minimal;
mod obligation;
mod outline;
mod overflow;
mod parallel;
mod pipeline;
mod prove;
mod repair;
mod runtime;
mod session;
mod strides;
mod summary;

pub use checker::{Checker, Progress, Watch};
pub use error::CheckError;
pub use evaluate::{Evaluation, Evaluator, Refused, Shapes};
pub use explain::Dimension;
pub use outline::outline;
pub use session::Session;
