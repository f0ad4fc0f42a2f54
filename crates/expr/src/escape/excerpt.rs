//! A line of a text with a caret below the place that a message speaks of.
use super::visible;
use std::fmt::Write;

/// The most characters that are shown before the place, and after it.
const MAX_BESIDE: usize = 50;

/// Two lines to follow a message: the line of a text, and a caret below the place. Line and column count from 1,
/// columns in characters; nothing where the text has no such line. Of long lines the part around the place is shown.
///
/// ```
/// use sizewise_expr::escape::excerpt;
///
/// assert_eq!(excerpt("a\ns0 %% 8", 2, 5), "\n  s0 %% 8\n      ^");
/// ```
pub fn excerpt(text: &str, line: usize, column: usize) -> String {
    let Some(line) = line.checked_sub(1).and_then(|line| text.lines().nth(line)) else {
        return String::new();
    };
    let place = column.saturating_sub(1);
    let cut = place.saturating_sub(MAX_BESIDE);
    let before: String = line.chars().skip(cut).take(place - cut).collect();
    let after: String = line.chars().skip(place).take(MAX_BESIDE).collect();
    let is_whole = line.chars().nth(place + MAX_BESIDE).is_none();
    let head = if cut > 0 { "... " } else { "" };
    let before = visible(before.trim_start());
    let mut out = format!("\n  {head}{before}{}", visible(&after));
    if !is_whole {
        out.push_str(" ...");
    }
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{:1$}^", "", 2 + head.len() + before.chars().count());
    out
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn a_caret_stands_below_the_place() {
        let long = format!("{}x{}", "a".repeat(80), "b".repeat(80));
        let cut = format!("\n  ... {}x{} ...\n{}^", "a".repeat(50), "b".repeat(49), " ".repeat(56));
        for (text, line, column, expected) in [
            ("s0 %% 8", 1, 5, "\n  s0 %% 8\n      ^"),
            ("s0 +", 1, 5, "\n  s0 +\n      ^"),
            ("a\n    b c\n", 2, 7, "\n  b c\n    ^"),
            ("\u{1b}[31m?", 1, 6, "\n  \\x1b[31m?\n          ^"),
            ("one", 2, 1, ""),
            ("one", 0, 1, ""),
            (&long, 1, 81, &cut),
        ] {
            assert_eq!(excerpt(text, line, column), expected, "{text:?}");
        }
    }
}
