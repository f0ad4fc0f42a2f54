//! The zip archive: finds and unpacks the entry that holds the program's JSON, and nothing else.
//!
//! Two layouts are read. In the newer one all entries lie in a folder whose name varies, with
//! `archive_format`, `archive_version` and `models/<name>.json` in it; in the older one
//! `version` and `serialized_exported_program.json` lie at the top. Weights are not read, pickles never.

use std::io::{Cursor, ErrorKind, Read};

use indexmap::IndexMap;
use serde::Deserialize;
use zip::result::ZipError;

use super::Limits;
use super::start::archive_start;
use super::upgrade::upgraded;
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::outline::State;

/// A program's JSON text and the name of its entry.
#[derive(Debug)]
pub(super) struct ModelEntry {
    pub name: String,
    pub bytes: Vec<u8>,
    /// The version of the schema that the text was written in, where it is older than what was made of it.
    pub written: Option<(i64, i64)>,
}

/// The versions of the archive's container (not of the schema) that are read.
const ARCHIVE_VERSION: &str = "0";
/// The major versions of the schema that an old archive may state in its `version` entry; below the last one it is
/// older than the schema.
const OLD_LAYOUT_MAJORS: std::ops::RangeInclusive<i64> = 1..=8;
/// The entry of the program in the old layout.
const OLD_LAYOUT_MODEL: &str = "serialized_exported_program.json";
/// Entries that state a version or format hold a few bytes.
const MARKER_BYTES: u64 = 1024;
/// Small texts compress to almost nothing; a ratio is only telling above this size.
const RATIO_MATTERS_ABOVE: u64 = 1 << 20;

/// How the record of an entry begins.
const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
const INCOMPLETE: &str =
    "the zip archive is incomplete: the list of its entries, which stands at the end, is missing";

/// The entry by which an archive that sizewise wrote says that weights and constants were left out.
pub(super) const WITHOUT_WEIGHTS: &str = "extra/without_weights";

pub(super) type Archive<'a> = zip::ZipArchive<Cursor<&'a [u8]>>;

/// Opens an archive, at the beginning that its own records tell where they do. Where the file begins as an archive and
/// the records are those of another one inside, its own are missing.
pub(super) fn open(bytes: &[u8]) -> ReadResult<Archive<'_>> {
    let archive = opened(bytes)?;
    if archive.offset() > 0 && bytes.starts_with(LOCAL_HEADER) {
        return Err(ReadError::new(ReadErrorKind::DamagedArchive, INCOMPLETE));
    }
    Ok(archive)
}

fn opened(bytes: &[u8]) -> ReadResult<Archive<'_>> {
    if let Some(start) = archive_start(bytes) {
        let config = zip::read::Config { archive_offset: zip::read::ArchiveOffset::Known(start) };
        if let Ok(archive) = Archive::with_config(config, Cursor::new(bytes)) {
            return Ok(archive);
        }
    }
    Archive::new(Cursor::new(bytes)).map_err(|error| zip_error(&error))
}

/// The names of the programs in an archive, in its order. An archive of the old layout holds one without a name.
pub(super) fn models(bytes: &[u8], limits: &Limits) -> ReadResult<Vec<String>> {
    let (_, names) = listed(bytes, limits)?;
    let root = names.iter().find_map(|name| name.strip_suffix("archive_format")).unwrap_or_default();
    Ok(model_names(&names, &format!("{root}models/")).collect())
}

/// An archive and the names of its entries.
fn listed<'a>(bytes: &'a [u8], limits: &Limits) -> ReadResult<(Archive<'a>, Vec<String>)> {
    let archive = open(bytes)?;
    if archive.len() > limits.entries {
        let message = format!("{} entries; at most {} are allowed", archive.len(), limits.entries);
        return Err(ReadError::new(ReadErrorKind::LimitExceeded, message));
    }
    if archive.has_duplicate_names() {
        let message = "two entries of the archive have the same name; names are unique in a .pt2";
        return Err(ReadError::new(ReadErrorKind::DuplicateEntry, message));
    }
    let names = entry_names(&archive)?;
    Ok((archive, names))
}

/// Unpacks the JSON of the program called `wanted`, or of the one that is read where none is asked for.
pub(super) fn read_model(bytes: &[u8], limits: &Limits, wanted: Option<&str>) -> ReadResult<ModelEntry> {
    let (mut archive, names) = listed(bytes, limits)?;
    let Some(marker) = names.iter().find(|name| name.ends_with("/archive_format")) else {
        return match wanted {
            None => read_old_layout(&mut archive, &names, limits),
            Some(wanted) => Err(no_such_model(wanted, "its one program has no name")),
        };
    };
    let root = marker.strip_suffix("archive_format").unwrap_or_default().to_owned();
    expect_marker(&mut archive, marker, &["pt2"], ReadErrorKind::NotAProgram)?;
    let version = format!("{root}archive_version");
    if !names.contains(&version) {
        let message = format!("the archive has no `{version}`; expected one that holds {ARCHIVE_VERSION}");
        return Err(ReadError::new(ReadErrorKind::Version, message));
    }
    expect_marker(&mut archive, &version, &[ARCHIVE_VERSION], ReadErrorKind::Version)?;
    let model = choose_model(&names, &root, wanted)?;
    let bytes = read_entry(&mut archive, &model, limits.model_bytes, limits)?;
    Ok(ModelEntry { name: model, bytes, written: None })
}

/// What the archive records of the module's state, beside the model at `model`: the names, no values. `None` for the
/// old layout, which keeps them in pickles, and where they were left out.
pub(super) fn read_state(bytes: &[u8], model: &str, limits: &Limits) -> ReadResult<Option<State>> {
    let mut archive = open(bytes)?;
    let Some((root, name)) = model.rsplit_once("models/") else { return Ok(None) };
    if archive.index_for_name(&format!("{root}{WITHOUT_WEIGHTS}")).is_some() {
        return Ok(None);
    }
    let name = name.strip_suffix(".json").unwrap_or(name);
    let mut config = |kind: &str| -> ReadResult<Option<PayloadConfig>> {
        let entry = format!("{root}data/{kind}/{name}_{kind}_config.json");
        if archive.index_for_name(&entry).is_none() {
            return Ok(None);
        }
        let bytes = read_entry(&mut archive, &entry, limits.model_bytes, limits)?;
        super::json::parse(&bytes).map(Some).map_err(|error| error.in_entry(&entry))
    };
    let (Some(weights), Some(constants)) = (config("weights")?, config("constants")?) else {
        return Ok(None);
    };
    Ok(Some(State {
        weights: weights.config.into_iter().map(|(name, payload)| (name, payload.is_param)).collect(),
        constants: constants.config.into_keys().collect(),
    }))
}

/// The list of what an archive keeps of weights or constants.
#[derive(Deserialize)]
struct PayloadConfig {
    config: IndexMap<String, Payload>,
}

/// One entry of it.
#[derive(Deserialize)]
struct Payload {
    #[serde(default)]
    is_param: bool,
}

/// The names of all entries, none of which may lead out of the archive.
fn entry_names(archive: &Archive<'_>) -> ReadResult<Vec<String>> {
    let mut names = Vec::with_capacity(archive.len());
    for name in archive.file_names() {
        let name = name.map_err(|error| zip_error(&error))?.into_owned();
        let climbs = name.split(['/', '\\']).any(|part| part == "..");
        let absolute = name.starts_with(['/', '\\']) || name.as_bytes().get(1) == Some(&b':');
        if climbs || absolute || name.contains('\0') {
            let message =
                format!("the entry name `{}` is absolute or leads out of the archive", name.escape_debug());
            return Err(ReadError::new(ReadErrorKind::UnsafeEntryName, message));
        }
        names.push(name);
    }
    Ok(names)
}

fn read_old_layout(archive: &mut Archive<'_>, names: &[String], limits: &Limits) -> ReadResult<ModelEntry> {
    let has = |name: &str| names.iter().any(|known| known == name);
    if !has("version") || !has(OLD_LAYOUT_MODEL) {
        let message = "a zip archive that is no .pt2, or the rest of one that is cut off: it has neither \
                       `<folder>/archive_format` nor `version` with `serialized_exported_program.json`";
        return Err(ReadError::new(ReadErrorKind::NotAProgram, message));
    }
    let version = read_entry(archive, "version", MARKER_BYTES, limits)?;
    let version = String::from_utf8_lossy(&version);
    let newest = *OLD_LAYOUT_MAJORS.end();
    let (major, minor) = old_version(version.trim()).ok_or_else(|| {
        let message = format!("version `{}`; expected {newest}.<minor> or an older one", shown(&version));
        ReadError::new(ReadErrorKind::Version, message).in_entry("version")
    })?;
    let bytes = read_entry(archive, OLD_LAYOUT_MODEL, limits.model_bytes, limits)?;
    let name = OLD_LAYOUT_MODEL.to_owned();
    if major == newest {
        return Ok(ModelEntry { name, bytes, written: None });
    }
    let bytes = upgraded(&bytes).map_err(|error| error.in_entry(OLD_LAYOUT_MODEL))?;
    Ok(ModelEntry { name, bytes, written: Some((major, minor)) })
}

/// The version of the schema that an archive of the old layout states: `7.3`, or a major version alone before minor
/// ones were counted.
fn old_version(text: &str) -> Option<(i64, i64)> {
    let (major, minor) = match text.split_once('.') {
        Some((major, minor)) => (major.parse().ok()?, i64::from(minor.parse::<u32>().ok()?)),
        None => (text.parse().ok().filter(|major| major < OLD_LAYOUT_MAJORS.end())?, 0),
    };
    OLD_LAYOUT_MAJORS.contains(&major).then_some((major, minor))
}

/// The names of the programs in a folder.
fn model_names<'n>(names: &'n [String], folder: &'n str) -> impl Iterator<Item = String> + 'n {
    let model_name =
        move |entry: &String| entry.strip_prefix(folder)?.strip_suffix(".json").map(str::to_owned);
    names.iter().filter_map(model_name).filter(|name| !name.contains('/'))
}

/// The entry of the model called `wanted`; if none is wanted, of the one called `model`, or of the only one.
fn choose_model(names: &[String], root: &str, wanted: Option<&str>) -> ReadResult<String> {
    let folder = format!("{root}models/");
    let models: Vec<String> = model_names(names, &folder).collect();
    let listed = || models.iter().take(10).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    let chosen = match (models.as_slice(), wanted) {
        ([], _) => {
            let message = format!("the archive holds no program: there is no `{folder}<name>.json`");
            return Err(ReadError::new(ReadErrorKind::NoModel, message));
        }
        (several, Some(wanted)) => match several.iter().find(|name| *name == wanted) {
            Some(model) => model,
            None => return Err(no_such_model(wanted, &format!("there are {}", listed()))),
        },
        ([only], None) => only,
        (several, None) => match several.iter().find(|name| *name == "model") {
            Some(model) => model,
            None => {
                let message = format!(
                    "the archive holds {} programs ({}) and none is called `model`; name one of them",
                    several.len(),
                    listed()
                );
                return Err(ReadError::new(ReadErrorKind::SeveralModels, message));
            }
        },
    };
    Ok(format!("{folder}{chosen}.json"))
}

fn no_such_model(wanted: &str, instead: &str) -> ReadError {
    let message = format!("the archive holds no program called `{}`; {instead}", shown(wanted));
    ReadError::new(ReadErrorKind::NoModel, message)
}

/// Checks that a small entry holds one of the expected texts.
fn expect_marker(
    archive: &mut Archive<'_>,
    name: &str,
    expected: &[&str],
    kind: ReadErrorKind,
) -> ReadResult<()> {
    let bytes = read_entry(archive, name, MARKER_BYTES, &Limits::default())?;
    let text = String::from_utf8_lossy(&bytes);
    if expected.contains(&text.trim()) {
        return Ok(());
    }
    let message = format!("`{}`; expected `{}`", shown(&text), expected.join("` or `"));
    Err(ReadError::new(kind, message).in_entry(name))
}

/// Unpacks one entry of at most `max_bytes` and checks its checksum.
pub(super) fn read_entry(
    archive: &mut Archive<'_>,
    name: &str,
    max_bytes: u64,
    limits: &Limits,
) -> ReadResult<Vec<u8>> {
    let fail = |error: &ZipError| zip_error(error).in_entry(name);
    let exceeded = |message: String| ReadError::new(ReadErrorKind::LimitExceeded, message).in_entry(name);
    let mut entry = archive.by_name(name).map_err(|error| fail(&error))?;
    let (size, packed) = (entry.size(), entry.compressed_size());
    if size > max_bytes {
        return Err(exceeded(format!("{size} bytes when unpacked; at most {max_bytes} are allowed")));
    }
    if size > RATIO_MATTERS_ABOVE && size / packed.max(1) > limits.compression_ratio {
        let message = format!(
            "{packed} bytes that unpack to {size}; a ratio of at most {} is allowed",
            limits.compression_ratio
        );
        return Err(exceeded(message));
    }
    // The recorded size may lie, but memory that is nothing but zeros costs nothing until it is written, and no more
    // is read than allowed.
    let room = usize::try_from(size).ok().and_then(|size| size.checked_add(1));
    let mut bytes = vec![0; room.ok_or_else(|| exceeded(format!("{size} bytes when unpacked")))?];
    let mut filled = 0;
    while filled < bytes.len() {
        match entry.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let message = format!("damaged: {error}");
                return Err(ReadError::new(ReadErrorKind::DamagedArchive, message).in_entry(name));
            }
        }
    }
    bytes.truncate(filled);
    if bytes.len() as u64 != size {
        let message = format!("damaged: it holds not the {size} bytes that the archive records");
        return Err(ReadError::new(ReadErrorKind::DamagedArchive, message).in_entry(name));
    }
    Ok(bytes)
}

pub(super) fn zip_error(error: &ZipError) -> ReadError {
    let kind = match error {
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => {
            ReadErrorKind::NotAProgram
        }
        _ => ReadErrorKind::DamagedArchive,
    };
    // The end of the central directory is the last record of an archive.
    let message = match error {
        ZipError::InvalidArchive(what) if what.contains("EOCD") => INCOMPLETE.to_owned(),
        _ => format!("the zip archive cannot be read: {error}"),
    };
    ReadError::new(kind, message)
}

/// The beginning of a text, safe to print.
fn shown(text: &str) -> String {
    text.trim().chars().take(40).flat_map(char::escape_debug).collect()
}
