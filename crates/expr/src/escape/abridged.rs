//! Texts of others as messages quote them: a message stays readable, however long they are.
use std::borrow::Cow;

/// The most characters of an expression that a message quotes.
const MAX_QUOTED: usize = 200;
/// The most characters of a name or number that a message quotes.
const MAX_WORD: usize = 40;

/// At most 200 characters of an expression, a guard or another text of a program.
///
/// ```
/// use sizewise_expr::escape::abridged;
///
/// assert_eq!(abridged("s0 + 1"), "s0 + 1");
/// assert_eq!(abridged(&"s".repeat(1000)), format!("{}...", "s".repeat(200)));
/// ```
pub fn abridged(text: &str) -> Cow<'_, str> {
    beginning(text, MAX_QUOTED)
}

/// At most forty characters of a name, a number or another word.
pub fn clipped(text: &str) -> Cow<'_, str> {
    beginning(text, MAX_WORD)
}

fn beginning(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
