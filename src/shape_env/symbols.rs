//! What is known of one symbol.
use crate::expr::Value;

/// A symbol's source and example value.
#[derive(Clone, Debug, Default)]
pub struct SymbolInfo {
    /// The example value of a backed symbol; none of an unbacked one.
    pub hint: Option<Value>,
    /// Where it comes from, as torch writes it (`L['x'].size()[0]`), if known.
    pub source: Option<Box<str>>,
}
