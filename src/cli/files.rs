//! Reading and writing files; `-` is standard input or output.
use crate::escape;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The most bytes read of one file.
const MAX_BYTES: u64 = 4 << 30;

/// The name of a file in messages.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_string() } else { path.display().to_string() }
}

/// The name of a file in messages, on one line.
pub fn shown(path: &Path) -> String {
    escape::visible(&name(path)).into_owned()
}

/// Writes a message to standard error.
pub fn complain(text: &str) {
    eprintln!("sizewise: {}", escape::message(text));
}

/// The bytes of a file.
///
/// # Errors
/// A message that names the file.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", shown(path));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        let known = file.metadata().ok();
        if known.as_ref().is_some_and(|m| m.is_dir()) {
            return Err(format!("{}: a folder; expected a file", shown(path)));
        }
        // Room for all of it at once, with a byte more to see the end in: what grows is copied. Where there is no such room, it grows.
        let room = known.map_or(0, |m| m.len().min(MAX_BYTES) + 1);
        let _ = bytes.try_reserve_exact(usize::try_from(room).unwrap_or(0));
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    }
    Ok(bytes)
}

/// Writes a text to a file, or to standard output.
///
/// # Errors
/// A message that names the file.
pub fn write(path: Option<&Path>, text: &str) -> Result<(), String> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes to a file, or to standard output.
///
/// # Errors
/// A message that names the file.
pub fn write_bytes(path: Option<&Path>, bytes: &[u8]) -> Result<(), String> {
    match path {
        Some(path) if path.as_os_str() != "-" => {
            std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", shown(path)))
        }
        _ => match std::io::stdout().lock().write_all(bytes) {
            // Whoever reads the output has seen enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| format!("standard output: {error}")),
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

/// Writes to a file, or to standard output, what is made piece by piece. A file is there as a whole or not at all, and may be the one that
/// is read meanwhile.
///
/// # Errors
/// A message that names the file, or says why `write` failed.
pub fn write_anew<E: std::fmt::Display>(
    path: Option<&Path>,
    write: impl FnOnce(Out<'_>) -> Result<(), E>,
) -> Result<(), String> {
    let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
        let out: Box<dyn Write> = Box::new(std::io::stdout().lock());
        return write(Out::Stream(BufWriter::new(out))).map_err(|error| format!("standard output: {error}"));
    };
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", shown(path));
    // A pipe or a device stays what it is.
    if path.metadata().is_ok_and(|known| !known.is_file()) {
        let file = std::fs::OpenOptions::new().write(true).open(path).map_err(|error| failed(&error))?;
        return write(Out::Stream(BufWriter::new(Box::new(file)))).map_err(|error| failed(&error));
    }
    let beside = beside(path);
    let mut file = std::fs::File::create_new(&beside).map_err(|error| failed(&error))?;
    let written = write(Out::File(BufWriter::new(&mut file))).map_err(|error| failed(&error));
    let done = written.and_then(|()| std::fs::rename(&beside, path).map_err(|error| failed(&error)));
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done
}

/// A file beside another, for what is not finished.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}
