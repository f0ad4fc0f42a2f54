//! Characters that are not visible themselves.
use std::fmt::Write;

/// Whether a character is a control character, reorders text, has no width, or ends a line.
///
/// These are C0 and C1, DEL, the line separators, the default-ignorable characters of Unicode (bidirectional
/// controls, joiners, variation selectors, tags, fillers), interlinear annotations, and U+FFFE and U+FFFF, which are no
/// characters and which XML refuses.
pub fn is_hidden(c: char) -> bool {
    if c <= '~' {
        return c < ' ';
    }
    matches!(c,
        '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Writes a character as Python escapes it: `\n`, `\x1b`, `\u202e`, `\U000e0001`.
pub(super) fn write_escape(c: char, out: &mut String) {
    let number = u32::from(c);
    // Writing to a string cannot fail.
    let _ = match c {
        '\n' => write!(out, "\\n"),
        '\r' => write!(out, "\\r"),
        '\t' => write!(out, "\\t"),
        _ if number < 0x100 => write!(out, "\\x{number:02x}"),
        _ if number < 0x1_0000 => write!(out, "\\u{number:04x}"),
        _ => write!(out, "\\U{number:08x}"),
    };
}
