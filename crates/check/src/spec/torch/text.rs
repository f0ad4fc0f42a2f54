//! Dimensions as Python writes them.
use sizewise_expr::escape::{is_python_keyword, python_string};
use std::fmt::Write;

/// Names that the text of a spec needs itself.
const TAKEN: [&str; 3] = ["Dim", "dynamic_shapes", "torch"];

/// The name of a variable for a dimension: another one for each.
pub(in crate::spec) fn variable(name: &str) -> String {
    let stem = name.trim_end_matches('_');
    if TAKEN.contains(&stem) || is_python_keyword(stem) { format!("{name}_") } else { name.to_owned() }
}

/// `Dim('b', min=2, max=8)`; a missing bound is left out.
pub(in crate::spec) fn dim(name: &str, min: i64, max: Option<i64>) -> String {
    let bounds: String = bounds(min, max).iter().map(|bound| format!(", {bound}")).collect();
    format!("Dim({}{bounds})", python_string(name))
}

/// `Dim.AUTO(max=8)`; a missing bound is left out.
pub(in crate::spec) fn auto(min: i64, max: Option<i64>) -> String {
    match bounds(min, max) {
        bounds if bounds.is_empty() => "Dim.AUTO".to_owned(),
        bounds => format!("Dim.AUTO({})", bounds.join(", ")),
    }
}

fn bounds(min: i64, max: Option<i64>) -> Vec<String> {
    let min = Some(min).filter(|&min| min > 0).map(|min| format!("min={min}"));
    min.into_iter().chain(max.map(|max| format!("max={max}"))).collect()
}

/// `2*root + 1`.
pub fn linear(root: &str, factor: i64, offset: i64) -> String {
    let mut text = if factor == 1 { root.to_owned() } else { format!("{factor}*{root}") };
    match offset {
        0 => {}
        o if o > 0 => drop(write!(text, " + {o}")),
        o => drop(write!(text, " - {}", -o)),
    }
    text
}
