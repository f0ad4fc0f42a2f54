//! Lists of paths on standard input.
use crate::onnx::subject::Kind;
use std::path::{Path, PathBuf};

/// The most lines of what begins as a program does that are looked up.
const MAX_LINES: usize = 100_000;
/// No path is longer.
const MAX_PATH: usize = 4096;

/// A list of paths: a line each, or with a NUL after each.
pub struct List<'b> {
    bytes: &'b [u8],
    separator: u8,
}

impl<'b> List<'b> {
    /// The list that these bytes are; `None` if they are a program. What begins as a program does is a list if it names a
    /// file that is there.
    pub fn of(bytes: &'b [u8]) -> Option<List<'b>> {
        let has_nul = bytes.contains(&0);
        let list = List { bytes, separator: if has_nul { 0 } else { b'\n' } };
        let is_archive = bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06");
        let is_control = |byte: &u8| (*byte < b' ' && !b"\n\r\t\0".contains(byte)) || *byte == 0x7f;
        if is_archive || bytes.trim_ascii().is_empty() || bytes.iter().any(is_control) {
            return None;
        }
        let is_text = !has_nul && std::str::from_utf8(bytes).is_ok() && Kind::by_bytes(bytes).is_none();
        (is_text || list.names_a_file()).then_some(list)
    }

    fn names_a_file(&self) -> bool {
        self.items().take(MAX_LINES).any(|item| item.len() <= MAX_PATH && path_of(item).exists())
    }

    fn items(&self) -> impl Iterator<Item = &'b [u8]> {
        let (separator, bytes) = (self.separator, self.bytes);
        let is_line = separator == b'\n';
        let items = bytes.split(move |byte| *byte == separator);
        let items = items.map(move |item| item.strip_suffix(b"\r").filter(|_| is_line).unwrap_or(item));
        items.filter(|item| !item.is_empty())
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.items().map(path_of)
    }
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes)).to_path_buf()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(&*String::from_utf8_lossy(bytes)).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn bytes_say_whether_standard_input_is_a_program_or_a_list() {
        for (bytes, expected) in [
            (&b"a.pt2\nb/c.onnx\n"[..], Some(2)),
            (b"models/a b.pt2", Some(1)),
            (b"\nmodels\n", Some(1)),
            // Tests run in the folder of the crate.
            (b"Cargo.toml\0src\0", Some(2)),
            (b"{none}.pt2\nCargo.toml\n", Some(2)),
            (b"PKG/a.pt2\r\nCargo.toml\r\n", Some(2)),
            (b"\xff.pt2\nCargo.toml", Some(2)),
            (b"PK\x03\x04\nCargo.toml\n", None),
            (b"PKG/a.pt2", None),
            (b" {\"graph_module\": {}}", None),
            (b"graph():\n", None),
            (b"ExportedProgram:\n", None),
            (b"<ir_version: 8> g () => () {}", None),
            (&[8, 8, 58, 0], None),
            (b"a\x00b", None),
            (b"\x08\nCargo.toml\n", None),
            (b"\xff\xfe", None),
            (b"", None),
            (b" \n", None),
        ] {
            let found = List::of(bytes).map(|list| list.paths().count());
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
