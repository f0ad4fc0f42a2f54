//! Pieces of text that reports are made of.
use super::change::Fix;
use super::model::{Assumed, MismatchReport, Report};
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::escape::visible;
use std::borrow::Cow;

/// What allows the shapes that break a condition: `your spec allows`, or `the model declares`.
pub(super) fn allows(report: &Report) -> &'static str {
    match report.assumed {
        Assumed::Declaration => "the model declares",
        Assumed::Spec => "your spec allows",
        Assumed::Contract => "the ranges and guards recorded at export allow",
        Assumed::Assertions => "the ranges and assertions recorded at export allow",
    }
}

/// What conditions are undecided under: `under what the model declares`, or `under this spec`.
pub(super) fn assumed(report: &Report) -> &'static str {
    match report.assumed {
        Assumed::Declaration => "under what the model declares",
        Assumed::Spec => "under this spec",
        Assumed::Contract => "under the ranges and guards recorded at export",
        Assumed::Assertions => "under the ranges and assertions recorded at export",
    }
}

/// The most inputs whose elements a sentence gives.
const MAX_ELEMENTS: usize = 8;

/// A sentence as a part of another one: without its full stop, and with a small letter unless it begins with a name.
pub fn within(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut letters = sentence.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(sentence.chars().skip(1)).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// What the elements of inputs are: `, every element being: c true, x 0.5`. Of many inputs, flags are named first and
/// floats last, as these seldom choose what a model does.
pub fn every_element(values: &IndexMap<String, Json>) -> String {
    let mut named: Vec<(&String, &Json)> = values.iter().collect();
    let is_cut = named.len() > MAX_ELEMENTS;
    if is_cut {
        named.sort_by_key(|(_, value)| (!value.is_boolean(), value.is_f64()));
    }
    let shown = named.iter().take(MAX_ELEMENTS).map(|(name, value)| format!("{name} {value}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    format!(", every element being: {shown}{}", if is_cut { ", ..." } else { "" })
}

/// The longest condition that is shown whole, in characters.
const MAX_SHOWN: usize = 100;

/// A condition cut to a readable length; the JSON report has all of it.
pub(super) fn short(text: &str) -> Cow<'_, str> {
    if text.chars().count() <= MAX_SHOWN {
        return visible(text);
    }
    let start: String = text.chars().take(MAX_SHOWN).collect();
    Cow::Owned(format!("{} ...", visible(&start)))
}

/// What is said of conditions that hold wherever those of the errors do, before they are listed.
pub(super) fn settled_too(errors: usize, follow: usize) -> String {
    let these = if errors == 1 { "this is" } else { "these are" };
    format!("once {these} fixed, {} as well", plural(follow, "more condition holds", "more conditions hold"))
}

pub(super) fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The inputs with their shapes: `x: f32[2, 8], y: i64[3]`.
pub(super) fn shapes(report: &Report, inputs: &IndexMap<String, Json>) -> String {
    let mut parts = Vec::new();
    for (name, shape) in inputs {
        let dtype = report.inputs.iter().find(|i| i.name == *name).map_or("", |i| i.dtype.as_str());
        let dtype = sizewise_ir::Dtype::from_name(dtype).map_or(dtype, |d| d.short_name());
        parts.push(match shape {
            Json::Array(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                format!("{name}: {dtype}[{}]", sizes.join(", "))
            }
            value => format!("{name} = {value}"),
        });
    }
    visible(&parts.join(", ")).into_owned()
}

/// What is said of a fix: whether a check with it came out ok, or what it left open.
pub(super) fn standing(report: &Report, fix: &Fix) -> &'static str {
    match fix.proved {
        true => "proved",
        false if !report.unsupported.is_empty() => "proved but for the skipped nodes",
        false => "proved but for what is undecided",
    }
}

/// Whether the first fix settles what is undecided, too. That of an exported program leaves open skipped nodes alone.
pub(super) fn fix_settles(report: &Report) -> bool {
    report.fixes.first().is_some_and(|fix| fix.proved || report.program.onnx.is_none())
}

/// What stands before the size that is computed, where another is recorded: a number may be that of some inputs only.
pub(super) fn computed_as(mismatch: &MismatchReport) -> &'static str {
    let is_number = mismatch.derived.bytes().all(|byte| byte.is_ascii_digit());
    if mismatch.inputs.is_some() && is_number { "some inputs make it" } else { "computed as" }
}

/// Whether a name stands in an expression as a word of its own.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name)
        .any(|(at, _)| !part(text[..at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
}

/// A path relative to the packages' folder, or as it is if it is relative; else the name of the file.
pub(super) fn shown_file(file: &str) -> &str {
    for folder in ["site-packages/", "dist-packages/"] {
        if let Some((_, below)) = file.split_once(folder) {
            return below;
        }
    }
    if file.starts_with('/') || file.contains('\\') {
        return file.rsplit(['/', '\\']).next().unwrap_or(file);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_name_at_the_beginning_keeps_its_letters() {
        for (sentence, part) in [
            ("The shapes broadcast.", "the shapes broadcast"),
            ("A mask has 2 dimensions.", "a mask has 2 dimensions"),
            ("`A` has 2 dimensions.", "`A` has 2 dimensions"),
            ("LAPACK computes in the dtype.", "LAPACK computes in the dtype"),
            ("X.", "X"),
            ("", ""),
        ] {
            assert_eq!(within(sentence), part);
        }
    }
}
