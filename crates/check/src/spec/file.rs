//! What a file is that is given as a spec: JSON, Python, or something else.
use crate::spec::SpecError;
use serde_json::Value as Json;
use sizewise_expr::escape::excerpt;
use sizewise_ir::keys::unrepeated;

/// What to say of a program in the place of a spec.
pub(super) const PROGRAM_NOT_SPEC: &str = "this is an exported program, not a spec; `sizewise spec show PROGRAM` prints the spec \
                                that it was exported with";

/// The text of a file, if it can be that of a spec.
pub(super) fn spec_text(bytes: &[u8]) -> Result<&str, SpecError> {
    let expected = "expected JSON, or Python with `dynamic_shapes = ...`";
    if is_archive_or_text(bytes) {
        return Err(SpecError::new("", PROGRAM_NOT_SPEC));
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    match text.map(|text| text.strip_prefix('\u{feff}').unwrap_or(text)) {
        None => Err(SpecError::new("", format!("this is a binary file: {expected}"))),
        Some(text) if text.trim().is_empty() => {
            Err(SpecError::new("", format!("the file is empty: {expected}")))
        }
        Some(text) => Ok(text),
    }
}

/// Whether a file is an exported program: an archive, a text, or the JSON that an archive has.
pub fn is_program(bytes: &[u8]) -> bool {
    // Only what may be the JSON of a program is read as such.
    let object = bytes.trim_ascii_start().starts_with(b"{");
    let graph = || bytes.windows(GRAPH_KEY.len()).any(|window| window == GRAPH_KEY.as_bytes());
    let read = || serde_json::from_slice(bytes).is_ok_and(|tree| has_graph(&tree));
    is_archive_or_text(bytes) || object && graph() && read()
}

fn is_archive_or_text(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK") || sizewise_ir::text::is_text(bytes)
}

/// The field of a program's JSON that has the graph.
const GRAPH_KEY: &str = "graph_module";

/// Whether a document is that of an exported program.
pub(super) fn has_graph(tree: &Json) -> bool {
    let graph = tree.get(GRAPH_KEY).and_then(|module| module.get("graph"));
    graph.is_some_and(|graph| graph.get("nodes").is_some_and(Json::is_array))
}

pub(super) fn json(text: &str) -> Result<Json, SpecError> {
    let wrong = |error: serde_json::Error| {
        let excerpt = excerpt(text, error.line(), error.column());
        SpecError { excerpt, ..SpecError::new("", format!("not JSON: {error}")) }
    };
    let tree = serde_json::from_str(text).map_err(wrong)?;
    unrepeated(text.as_bytes()).map_err(|message| SpecError::new("", message))?;
    Ok(tree)
}
