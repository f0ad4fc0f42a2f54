//! What a program holds that is newer than this reader: passed over, and named.

use indexmap::IndexSet;

use super::json::{ExportedProgram, erased};

/// The newest minor version of the schema that is known, of major version 8: torch 2.15 writes it.
const KNOWN: (i64, i64) = (8, 20);
/// So many fields are named.
const MAX_NAMED: usize = 20;

/// Names the fields of a document that are read over. Documents of known versions have none that matter.
pub(super) fn warnings(bytes: &[u8], version: (i64, i64)) -> Vec<String> {
    if version <= KNOWN {
        return Vec::new();
    }
    let (major, minor) = version;
    let mut fields: IndexSet<String> = IndexSet::new();
    let mut note = |path: serde_ignored::Path<'_>| {
        let path = general(&path.to_string());
        // What nodes carry along for people is open to anything.
        if fields.len() < MAX_NAMED && !path.contains(".metadata.") {
            fields.insert(path);
        }
    };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let _ = erased::<ExportedProgram<'_>>(serde_ignored::Deserializer::new(&mut reader, &mut note));
    let newer = |field: String| {
        format!("`{field}` is newer than this reader (schema version {major}.{minor}): it is passed over")
    };
    fields.into_iter().map(newer).collect()
}

/// A path with the positions in lists left out: `graph_module.graph.nodes[].colour`.
fn general(path: &str) -> String {
    let mut text = String::new();
    for part in path.split('.') {
        if part.parse::<usize>().is_ok() {
            text.push_str("[]");
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(part);
        }
    }
    text
}
