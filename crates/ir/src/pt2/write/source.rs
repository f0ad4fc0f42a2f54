//! What an archive holds beside its program: weights, constants, samples of the inputs and the user's own files. They
//! are copied from the archive that a program was read from, entry by entry, and never unpacked in memory.
//!
//! Source: torch 2.15, `torch/export/pt2_archive/_package.py` (`_load_exported_programs`, `_load_state_dict`,
//! `_load_constants`), and `torch/export/__init__.py` (`load`) for archives of torch 2.7 and before.

use std::io::{Read, Seek, Write};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::{ArchiveWriter, WriteError};
use crate::pt2::Limits;
use crate::pt2::archive::{self, Archive, WITHOUT_WEIGHTS};

/// The name of the one program of an archive that is written: `torch.export.load` gives the program of this name.
pub(super) const MODEL: &str = "model";
/// Small texts compress to almost nothing; a ratio is only telling above this size.
const RATIO_MATTERS_ABOVE: u64 = 1 << 20;

/// The list of an archive's weights or constants: by name, where and how each is kept.
pub(super) type Payloads = IndexMap<String, Value>;

#[derive(Deserialize)]
struct PayloadList {
    config: Payloads,
}

/// An archive from which a program was read, for what is copied from it.
pub struct SourceArchive<'a> {
    archive: Archive<'a>,
    bytes: u64,
    layout: ArchiveLayout,
    limits: Limits,
}

/// Where an archive keeps its entries.
enum ArchiveLayout {
    /// In a folder of any name, by the name of the program.
    Folder { root: String, model: String },
    /// At the top: torch 2.7 and before.
    Top,
}

/// An entry of the archive and what it is called in the one that is written.
struct Copied {
    from: String,
    to: String,
}

/// What is written beside the program.
#[derive(Default)]
pub(super) struct State {
    /// Weights by name; `None` where one pickle holds all of them.
    pub weights: Option<Payloads>,
    /// Constants by name; `None` where one pickle holds all of them.
    pub constants: Option<Payloads>,
    /// Whether the source says that it left weights out.
    pub without_weights: bool,
    copied: Vec<Copied>,
    has_samples: bool,
}

impl State {
    /// That of a program that was not read from an archive.
    pub fn nothing() -> State {
        State { weights: Some(Payloads::new()), constants: Some(Payloads::new()), ..State::default() }
    }
}

fn failed(entry: &str, error: &dyn std::fmt::Display) -> WriteError {
    WriteError::new(format!("`{}` of the source archive", entry.escape_debug()), error.to_string())
}

impl<'a> SourceArchive<'a> {
    /// Opens the archive from which the program called `model` was read; without a name that is the one called
    /// `model`, or the only one.
    ///
    /// # Errors
    /// When it is no archive of a program.
    pub fn open(
        bytes: &'a [u8],
        model: Option<&str>,
        limits: &Limits,
    ) -> Result<SourceArchive<'a>, WriteError> {
        let unreadable =
            |error: &dyn std::fmt::Display| WriteError::new("the source archive", error.to_string());
        let archive = archive::open(bytes).map_err(|error| unreadable(&error))?;
        let bytes = bytes.len() as u64;
        if archive.len() > limits.entries {
            return Err(unreadable(&format!(
                "{} entries; at most {} are allowed",
                archive.len(),
                limits.entries
            )));
        }
        let names: Vec<String> = names(&archive);
        let layout = match names.iter().find_map(|name| name.strip_suffix("archive_format")) {
            Some(root) if root.ends_with('/') => {
                let folder = format!("{root}models/");
                let models =
                    names.iter().filter_map(|name| name.strip_prefix(&folder)?.strip_suffix(".json"));
                let mut models: Vec<&str> = models.filter(|name| !name.contains('/')).collect();
                models.sort_by_key(|name| *name != model.unwrap_or(MODEL));
                let found = models.first().filter(|name| model.is_none_or(|model| **name == model));
                let found = found.ok_or_else(|| unreadable(&"it holds no program of this name"))?;
                ArchiveLayout::Folder { root: root.to_owned(), model: (*found).to_owned() }
            }
            _ => ArchiveLayout::Top,
        };
        Ok(SourceArchive { archive, bytes, layout, limits: *limits })
    }

    /// What is to be copied.
    pub(super) fn state(&mut self) -> Result<State, WriteError> {
        let names = names(&self.archive);
        let mut state = State::default();
        let (root, model) = match &self.layout {
            ArchiveLayout::Folder { root, model } => (root.clone(), model.clone()),
            ArchiveLayout::Top => {
                self.top(&names, &mut state);
                return Ok(state);
            }
        };
        state.without_weights = names.contains(&format!("{root}{WITHOUT_WEIGHTS}"));
        state.weights = self.payloads(&root, &model, "weights", &mut state.copied)?;
        state.constants = self.payloads(&root, &model, "constants", &mut state.copied)?;
        let samples = format!("{root}data/sample_inputs/{model}.pt");
        state.has_samples = names.contains(&samples);
        if state.has_samples {
            state.copied.push(Copied { from: samples, to: samples_entry() });
        }
        let extra = format!("{root}extra/");
        for name in &names {
            let Some(rest) = name.strip_prefix(&root) else { continue };
            if name.starts_with(&extra) && rest != WITHOUT_WEIGHTS && !name.ends_with('/') {
                state.copied.push(Copied { from: name.clone(), to: rest.to_owned() });
            }
        }
        Ok(state)
    }

    /// The layout of torch 2.7: pickles, which later versions still read under other names.
    fn top(&self, names: &[String], state: &mut State) {
        let renamed = [
            ("serialized_state_dict.pt", format!("data/weights/{MODEL}.pt")),
            ("serialized_state_dict.json", format!("data/weights/{MODEL}.pt")),
            ("serialized_constants.pt", format!("data/constants/{MODEL}.pt")),
            ("serialized_constants.json", format!("data/constants/{MODEL}.pt")),
            ("serialized_example_inputs.pt", samples_entry()),
        ];
        for (from, to) in renamed {
            if names.iter().any(|name| name == from) && !state.copied.iter().any(|copied| copied.to == to) {
                state.copied.push(Copied { from: from.to_owned(), to });
            }
        }
        let has = |state: &State, to: &str| state.copied.iter().any(|copied| copied.to.starts_with(to));
        state.weights = (!has(state, "data/weights/")).then(Payloads::new);
        state.constants = (!has(state, "data/constants/")).then(Payloads::new);
        state.has_samples = has(state, "data/sample_inputs/");
        for name in names {
            if let Some(rest) = name.strip_prefix("extra_files/").filter(|rest| !rest.is_empty()) {
                state.copied.push(Copied { from: name.clone(), to: format!("extra/{rest}") });
            }
        }
    }

    /// The list of weights or constants, with the entries that it names.
    fn payloads(
        &mut self,
        root: &str,
        model: &str,
        kind: &str,
        copied: &mut Vec<Copied>,
    ) -> Result<Option<Payloads>, WriteError> {
        let folder = format!("{root}data/{kind}/");
        let pickle = format!("{folder}{model}.pt");
        if self.archive.index_for_name(&pickle).is_some() {
            copied.push(Copied { from: pickle, to: format!("data/{kind}/{MODEL}.pt") });
            return Ok(None);
        }
        let list = format!("{folder}{model}_{kind}_config.json");
        if self.archive.index_for_name(&list).is_none() {
            return Ok(Some(Payloads::new()));
        }
        let bytes = self.small(&list)?;
        let mut list: PayloadList = serde_json::from_slice(&bytes).map_err(|error| failed(&list, &error))?;
        // Archives that were made smaller list values that they do not hold: these are states without a source.
        list.config.retain(|_, payload| {
            let path = payload.get("path_name").and_then(Value::as_str);
            path.is_none_or(|path| self.archive.index_for_name(&format!("{folder}{path}")).is_some())
        });
        let mut told = rustc_hash::FxHashSet::default();
        for (name, payload) in &list.config {
            let Some(path) = payload.get("path_name").and_then(Value::as_str) else {
                return Err(failed(&folder, &format!("`{}` has no `path_name`", name.escape_debug())));
            };
            if told.insert(path) {
                let to = format!("data/{kind}/{path}");
                copied.push(Copied { from: format!("{folder}{path}"), to });
            }
        }
        Ok(Some(list.config))
    }

    /// A small entry.
    fn small(&mut self, name: &str) -> Result<Vec<u8>, WriteError> {
        let limit = self.limits.model_bytes;
        let entry = self.archive.by_name(name).map_err(|error| failed(name, &error))?;
        let mut bytes = Vec::new();
        entry.take(limit).read_to_end(&mut bytes).map_err(|error| failed(name, &error))?;
        Ok(bytes)
    }

    /// Copies what [`SourceArchive::state`] says.
    pub(super) fn copy<W: Write + Seek>(
        &mut self,
        state: &State,
        writer: &mut ArchiveWriter<W>,
    ) -> Result<(), WriteError> {
        let mut packed_bytes = 0_u64;
        for Copied { from, to } in &state.copied {
            let mut entry = self.archive.by_name(from).map_err(|error| failed(from, &error))?;
            let (size, packed) = (entry.size(), entry.compressed_size());
            if size > RATIO_MATTERS_ABOVE && size / packed.max(1) > self.limits.compression_ratio {
                let message = format!("{packed} bytes that unpack to {size}");
                return Err(failed(from, &message));
            }
            // Entries that overlap could make much of little.
            packed_bytes = packed_bytes.saturating_add(packed);
            if packed_bytes > self.bytes {
                return Err(failed(from, &"it overlaps others"));
            }
            writer.begin(to, size)?;
            let written = std::io::copy(&mut entry.by_ref().take(size), writer.inner());
            match written {
                Ok(written) if written == size => {}
                Ok(written) => return Err(failed(from, &format!("{written} bytes of {size}"))),
                Err(error) => return Err(failed(from, &error)),
            }
        }
        Ok(())
    }
}

/// The entry of the samples of inputs.
fn samples_entry() -> String {
    format!("data/sample_inputs/{MODEL}.pt")
}

/// Writes that there are no samples, where none are copied: torch wants the entry.
pub(super) fn write_without_samples<W: Write + Seek>(
    state: &State,
    writer: &mut ArchiveWriter<W>,
) -> Result<(), WriteError> {
    if state.has_samples { Ok(()) } else { writer.entry(&samples_entry(), "") }
}

fn names(archive: &Archive<'_>) -> Vec<String> {
    archive.file_names().filter_map(Result::ok).map(std::borrow::Cow::into_owned).collect()
}
