//! What a program holds that is newer than this reader: passed over, and named.

use indexmap::IndexSet;

use super::json::{ExportedProgram, skipped_paths};

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
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    // What nodes carry along for people is open to anything.
    let paths =
        skipped_paths::<ExportedProgram<'_>>(text).into_iter().filter(|path| !path.contains(".metadata."));
    let fields: IndexSet<String> = paths.take(MAX_NAMED).collect();
    let newer = |field: String| {
        format!("`{field}` is newer than this reader (schema version {major}.{minor}): it is passed over")
    };
    fields.into_iter().map(newer).collect()
}
