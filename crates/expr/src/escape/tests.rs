//! Escaping for each output.
use super::*;

/// A hostile name.
const EVIL: &str = "a\n::error file=x::b\r\u{1b}[31m\u{7}\"'`<\u{202e}\u{9b}\u{200b}\\";

#[test]
fn lines_for_people_hold_nothing_hidden() {
    for (text, shown) in [
        ("x.shape[0] == 2", "x.shape[0] == 2"),
        ("größe 形 é", "größe 形 é"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u{1b}[31m\u{9b}\u{7f}", "\\x1b[31m\\x9b\\x7f"),
        ("\u{202e}\u{200b}\u{feff}\u{2028}", "\\u202e\\u200b\\ufeff\\u2028"),
        ("\u{e0041}", "\\U000e0041"),
        ("::error::x", "\\x3a:error::x"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("a::b", "a::b"),
        ("x ##[error]y", "x ##\\x5berror]y"),
    ] {
        assert_eq!(visible(text), shown);
    }
    assert_eq!(lines("a\n\t::error\u{1b}\nb"), "a\n\t\\x3a:error\\x1b\nb");
    assert_eq!(message("a\nb\n  ::c\n   ^"), "a\\nb\n  \\x3a:c\n   ^");
    assert_eq!(message("a\n  b\n  c"), "a\\n  b\\n  c");
}

#[test]
fn colour_stays_and_other_sequences_do_not() {
    for (text, shown) in [
        ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
        ("\u{1b}[2Jx", "\\x1b[2Jx"),
        ("\u{1b}]0;t\u{7}", "\\x1b]0;t\\x07"),
        ("\u{1b}[", "\\x1b["),
        ("plain", "plain"),
    ] {
        assert_eq!(coloured_lines(text), shown);
    }
}

#[test]
fn literals_and_comments_cannot_be_left() {
    for (text, literal) in
        [("k", "'k'"), ("it's", "\"it's\""), ("a'\"b", "'a\\'\"b'"), ("a\\b\n", "'a\\\\b\\n'")]
    {
        assert_eq!(python_string(text), literal);
    }
    assert_eq!(python_string("a\"'\n\u{202e}\\"), "'a\"\\'\\n\\u202e\\\\'");
    assert_eq!(quoted("a\"b\\", '"'), "\"a\\\"b\\\\\"");
    assert_eq!(ascii_literal("é\"\\\n"), "\"\\\\xe9\\\"\\\\\\\\n\"");
    assert_eq!(c_literal("why??/ a?"), "\"why\\?\\?/ a\\?\"");
    assert_eq!(c_literal("a?"), "\"a?\"");
    assert_eq!(comment("a\nb*/\\"), "a/nb* //");
    assert!(!comment("a??/").contains("??/"));
    assert_eq!(docstring("\"\"\"\\"), "'''\\\\");
    assert_eq!(html("<a b='\"&\u{202e}"), "&lt;a b=&#39;&quot;&amp;\\u202e");
    assert_eq!(command_data("100%\nof a, b: c"), "100%25\\nof a, b: c");
    assert_eq!(command_property("a:b,c%"), "a%3Ab%2Cc%25");
}

#[test]
fn json_keeps_its_meaning_and_pages_show_what_is_hidden() {
    let value = serde_json::json!({"name": EVIL, "plain": "é\u{e0041}"});
    let text = json_text(value.to_string());
    assert!(!text.contains(is_hidden), "{text}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    let page = page_json(&value.to_string());
    assert!(!page.contains(is_hidden) && !page.contains('<'), "{page}");
    let shown: serde_json::Value = serde_json::from_str(&page).expect("JSON");
    assert_eq!(shown["name"], "a\n::error file=x::b\\r\\x1b[31m\\x07\"'`<\\u202e\\x9b\\u200b\\");
    assert_eq!(shown["plain"], "é\\U000e0041");
}

#[test]
fn names_that_are_no_identifiers_get_one_that_nothing_has() {
    let fit = |name: &str| is_identifier(name) && !is_python_keyword(name);
    let names = ["x", "x_1", "x y", "x-y", "", "lambda", "1", "x!", "\u{ff58}", "x_y_1"];
    let mut identifiers = Identifiers::new(names.into_iter(), fit);
    for (name, expected) in [
        ("x", "x"),
        ("x_1", "x_1"),
        ("x!", "x_2"),
        ("x y", "x_y_2"),
        ("x-y", "x_y_3"),
        ("x y", "x_y_2"),
        ("", "x_1_1"),
        ("lambda", "lambda_1"),
        ("1", "x_1_2"),
        ("\u{ff58}", "x_3"),
    ] {
        // The names are made up in the order in which they are asked for.
        let made = identifiers.of(name);
        assert!(fit(&made), "{name} becomes {made}");
        if !name.is_empty() && name != "1" && name != "\u{ff58}" {
            assert_eq!(made, expected);
        }
    }
    let made: std::collections::HashSet<String> = names.iter().map(|name| identifiers.of(name)).collect();
    assert_eq!(made.len(), names.len());
    assert_eq!(identifiers.renamed().next(), Some(("x!", "x_2")));
}
