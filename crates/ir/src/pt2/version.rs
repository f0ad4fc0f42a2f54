//! Which versions and dialects are read.

use super::ReadOptions;
use super::json::{ExportedProgram, Int, SchemaVersion, Text};
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::program::Dialect;

/// The major version of the schema that is read. A newer minor version only adds fields.
const MAJOR: i64 = 8;

/// Refuses a schema of another major version. 0.0, which programs without a version carry, is read.
pub(super) fn check_schema(version: SchemaVersion) -> ReadResult<()> {
    let (Int(major), Int(minor)) = (version.major, version.minor);
    if major == MAJOR || (major, minor) == (0, 0) {
        return Ok(());
    }
    let message = format!("schema version {major}.{minor}; expected {MAJOR}.<minor>");
    Err(ReadError::new(ReadErrorKind::Version, message).under(|| "schema_version".to_owned()))
}

/// The dialect that the program was checked against: the strictest of those recorded, ATen when none is.
pub(super) fn dialect(program: &ExportedProgram<'_>, options: &ReadOptions<'_>) -> ReadResult<Dialect> {
    let mut strictest = None;
    for (index, name) in program.verifiers.iter().enumerate() {
        let dialect =
            one_dialect(name, options).map_err(|error| error.under(|| format!("verifiers[{index}]")))?;
        strictest = strictest.max(Some(dialect));
    }
    Ok(strictest.unwrap_or(Dialect::Aten))
}

fn one_dialect(name: &Text<'_>, options: &ReadOptions<'_>) -> ReadResult<Dialect> {
    let refuse = |message: String| Err(ReadError::new(ReadErrorKind::Verifier, message));
    match Dialect::from_verifier(name) {
        Some(Dialect::Edge) if !options.edge => refuse(
            "the program is in the EDGE dialect, which is only read on request; expected ATEN or TRAINING"
                .into(),
        ),
        Some(dialect) => Ok(dialect),
        None => {
            let name: String = name.chars().take(60).collect();
            refuse(format!("unknown verifier `{name}`; expected ATEN, TRAINING or EDGE"))
        }
    }
}
