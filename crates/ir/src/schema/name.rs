//! Names of operators as programs and schemas write them.
use std::fmt;

/// Namespace, operator and overload of one operator overload, borrowed from text. It prints as `aten.add.Tensor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorName<'a> {
    /// `aten`, `prims` or a custom operator's library.
    pub namespace: &'a str,
    /// The operator.
    pub name: &'a str,
    /// The overload; `default` where the text names none.
    pub overload: &'a str,
}

impl<'a> OperatorName<'a> {
    /// Splits `torch.ops.aten.add.Tensor`, `aten.add.Tensor` or `aten::add.Tensor`; without an overload it is
    /// `default`. `None` for text of another form (`_operator.add` has this form, and is a name in no table).
    pub fn split(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("torch.ops.").unwrap_or(text);
        let (namespace, rest) = text.split_once("::").or_else(|| text.split_once('.'))?;
        let (name, overload) = rest.split_once('.').unwrap_or((rest, "default"));
        let parts = [namespace, name, overload];
        parts.iter().all(|part| is_identifier(part)).then_some(OperatorName { namespace, name, overload })
    }
}

impl fmt::Display for OperatorName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.namespace, self.name, self.overload)
    }
}

/// Whether `text` is an ASCII identifier. Python would allow more; the dispatcher does not.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b == b'_' || b.is_ascii_alphabetic())
        && bytes.all(|b| b == b'_' || b.is_ascii_alphanumeric())
}
