//! Reading and writing files; `-` is standard input or output.
use super::failure::{Failure, Result};
use super::progress;
use crate::escape;
use crate::onnx::subject::Kind;
use std::fmt::Display;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes read of one file.
const MAX_BYTES: u64 = 4 << 30;
/// The most bytes read of an ONNX model: protobuf allows no more.
const MAX_MODEL_BYTES: u64 = i32::MAX as u64;
/// The most bytes read of a program or a model as text.
const MAX_TEXT_BYTES: u64 = 256 << 20;
/// How many bytes are looked at before the others are read.
const HEAD_BYTES: u64 = 4096;

/// The name of a file in messages.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_string() } else { text(path) }
}

/// A path as text. A byte that is no Unicode is `\xff`; so that nothing else is called so, a backslash before an `x` is
/// `\x5c`.
#[cfg(unix)]
pub fn text(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut out = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        out.push_str(&chunk.valid().replace("\\x", "\\x5cx"));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

/// A path as text.
#[cfg(not(unix))]
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The name of a file in messages, on one line.
pub fn shown(path: &Path) -> String {
    escape::visible(&name(path)).into_owned()
}

/// Writes a message to standard error.
pub fn complain(text: &str) {
    progress::clear();
    // Nobody may read it.
    let _ = writeln!(std::io::stderr(), "sizewise: {}", escape::message(text));
}

/// The bytes of a file. Of one that begins as no format does, with a zero, only the beginning is read.
///
/// # Errors
/// A message that names the file, also when it is too long.
pub fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", shown(path));
    let (mut bytes, mut length) = (Vec::new(), 0);
    let mut reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        let known = file.metadata().ok();
        if known.as_ref().is_some_and(|m| m.is_dir()) {
            return Err(format!("{}: a folder; expected a file", shown(path)));
        }
        length = known.map_or(0, |m| m.len());
        // Reserves the whole size, and a byte more to see the end in: a vector that grows copies its bytes. If that
        // fails, it grows.
        let _ = bytes.try_reserve_exact(usize::try_from(length.min(MAX_BYTES) + 1).unwrap_or(0));
        Box::new(file)
    };
    reader.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    let is_text = crate::onnx_model::read::is_text(&bytes) || crate::ir::text::is_text(&bytes);
    let (most, why) = match Kind::of(&name(path), &bytes) {
        _ if is_text => (MAX_TEXT_BYTES, "it is a text of more than 256 MiB, the most that is read"),
        Kind::Model => (MAX_MODEL_BYTES, "it is longer than 2 GiB, the most that protobuf allows"),
        Kind::Program | Kind::Text => (MAX_BYTES, "it is longer than 4 GiB, the most that is read"),
    };
    let is_short = |length: u64| match length <= most {
        true => Ok(()),
        false => Err(format!("{}: {why}", shown(path))),
    };
    is_short(length)?;
    if bytes.first() == Some(&0) {
        return Ok(bytes);
    }
    reader.take(most + 1 - bytes.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
    is_short(bytes.len() as u64)?;
    Ok(bytes)
}

/// The failure of a file that an option names.
pub fn unusable(path: &Path, error: impl Display) -> Failure {
    Failure::usage(format!("{}: {error}", shown(path)))
}

/// Makes a folder, if it is not there.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| unusable(path, error))
}

/// Writes a text to a file, or to standard output.
///
/// # Errors
/// A message that names the file.
pub fn write(path: Option<&Path>, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes to a file, or to standard output.
///
/// # Errors
/// A message that names the file.
pub fn write_bytes(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    progress::clear();
    match path {
        Some(path) if path.as_os_str() != "-" => {
            std::fs::write(path, bytes).map_err(|error| unusable(path, error))
        }
        _ => match std::io::stdout().lock().write_all(bytes) {
            // Whoever reads the output has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| Failure::usage(format!("standard output: {error}"))),
        },
    }
}

/// Where bytes go that are written piece by piece.
pub enum Out<'a> {
    /// A file, in which one can go back.
    File(BufWriter<&'a mut std::fs::File>),
    /// Standard output, a pipe or a device.
    Stream(BufWriter<Box<dyn Write + 'a>>),
}

impl<'a> Out<'a> {
    /// What takes the bytes one after another.
    pub fn writer(self) -> Box<dyn Write + 'a> {
        match self {
            Out::File(file) => Box::new(file),
            Out::Stream(stream) => Box::new(stream),
        }
    }
}

/// Writes to a file, or to standard output, piece by piece. The file is replaced at the end, or stays as it was: it may
/// be the one that is read meanwhile.
///
/// # Errors
/// A message that names the file, or says why `write` failed.
pub fn write_anew<E: Display>(
    path: Option<&Path>,
    write: impl FnOnce(Out<'_>) -> std::result::Result<(), E>,
) -> Result<()> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        let out: Box<dyn Write> = Box::new(std::io::stdout().lock());
        let written = write(Out::Stream(BufWriter::new(out)));
        return written.map_err(|error| Failure::program(format!("standard output: {error}")));
    };
    let failed = |error: E| Failure::program(format!("{}: {error}", shown(path)));
    // A pipe or a device stays what it is.
    if path.metadata().is_ok_and(|known| !known.is_file()) {
        let file =
            std::fs::OpenOptions::new().write(true).open(path).map_err(|error| unusable(path, error))?;
        let written = write(Out::Stream(BufWriter::new(Box::new(file))));
        return written.map_err(failed);
    }
    let part = part_file(path);
    let mut file = std::fs::File::create_new(&part).map_err(|error| unusable(path, error))?;
    let written = write(Out::File(BufWriter::new(&mut file))).map_err(failed);
    let done = written.and_then(|()| std::fs::rename(&part, path).map_err(|error| unusable(path, error)));
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// The name of a file until it is finished.
fn part_file(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}
