//! A condition with the numbers of a counterexample.
use crate::spec::Assumptions;
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::{Expr, Pool};

/// Conditions longer than this are not repeated with numbers.
pub(super) const MAX_INSTANCE: usize = 60;

/// `, and `33 % 2 == 0` is false` for `w % 2 == 0`; nothing for long conditions.
pub(super) fn instance(
    assumptions: &Assumptions,
    pool: &Pool,
    condition: Expr,
    sizes: &IndexMap<String, Json>,
    shown: &str,
) -> String {
    let mut names: Vec<(&str, String)> = Vec::new();
    for s in pool.free_symbols(&[condition]) {
        let Some(size) = sizes.get(pool.symbol_name(s)) else { return String::new() };
        let name = assumptions.names.get(&s).map_or_else(|| pool.symbol_name(s), String::as_str);
        names.push((name, size.to_string()));
    }
    if shown.len() > MAX_INSTANCE || names.is_empty() {
        return String::new();
    }
    // Of names that begin alike, the longest first.
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    let (mut text, mut rest, mut last) = (String::new(), shown, None);
    while let Some(c) = rest.chars().next() {
        let is_word = |c: Option<char>| c.is_some_and(|c: char| c.is_alphanumeric() || c == '_');
        let ends = |name: &str| !is_word(rest[name.len()..].chars().next());
        let found = names.iter().find(|(name, _)| !is_word(last) && rest.starts_with(name) && ends(name));
        let taken = match found {
            Some((name, size)) => {
                text.push_str(size);
                name.len()
            }
            None => {
                text.push(c);
                c.len_utf8()
            }
        };
        last = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    format!(", and `{text}` is false")
}
