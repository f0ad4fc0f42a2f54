//! The spec of a fix as lines to be pasted.
use crate::report::Fix;

/// Specs of more lines are not shown whole as the text of a fix.
const MAX_LINES: usize = 12;
/// The longest tree of a spec that is written in one line, in characters.
const MAX_LINE: usize = 100;

/// The lines of a fix's spec that are to be pasted, if they are few.
pub(super) fn shown_whole(fix: &Fix) -> Option<String> {
    let whole = to_be_pasted(fix.code.as_deref().unwrap_or_default());
    (1..=MAX_LINES).contains(&whole.len()).then(|| whole.join("\n"))
}

/// The lines of a spec in Python without its imports, its tree in one line if that is short.
pub fn to_be_pasted(python: &str) -> Vec<String> {
    let whole = python.lines().skip_while(|line| !line.contains(" = "));
    let mut whole: Vec<String> = whole.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if let Some(at) = whole.iter().position(|line| line.starts_with("dynamic_shapes = ")) {
        let tree: Vec<&str> = whole[at..].iter().map(|line| line.trim()).collect();
        let tree =
            tree.join(" ").replace("{ ", "{").replace(", }", "}").replace("[ ", "[").replace(", ]", "]");
        if tree.chars().count() <= MAX_LINE {
            whole.truncate(at);
            whole.push(tree);
        }
    }
    whole
}
