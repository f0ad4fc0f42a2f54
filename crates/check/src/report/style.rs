//! Colour on terminals.

/// How text is decorated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether escape sequences for colour are written.
    pub colour: bool,
}

impl Style {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// An error's headline.
    pub fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// A warning's headline.
    pub fn warning(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// Success.
    pub fn good(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    /// Emphasis.
    pub fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Less important text.
    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }
}
