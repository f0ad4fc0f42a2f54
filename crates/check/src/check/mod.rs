//! Layer 8: the pipeline. Read, bind the spec, propagate, gather what is to be proved, decide it, report.
mod ahead;
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
mod pipeline;
mod prove;
mod repair;
mod run;
mod runtime;
mod session;
mod strides;
mod summary;

pub use evaluate::{Evaluation, Evaluator, Refused, Shapes};
pub use explain::Dimension;
pub use outline::outline;
pub use pipeline::{CheckError, Checker, Progress, Watch};
pub use session::Session;
