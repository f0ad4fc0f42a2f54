//! Files of lines with keys: `mixed-240: Eq(c, 2)`, sorted by key.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Tests run side by side and write lines of the same files.
static WRITING: Mutex<()> = Mutex::new(());

fn path(what: &str) -> PathBuf {
    super::folder().join(format!("recorded/{what}.txt"))
}

/// The lines of a file, by key.
pub fn read(what: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path(what)).expect("a record");
    let keyed = |line: &str| line.split_once(": ").map(|(key, text)| (key.to_owned(), text.to_owned()));
    text.lines().map(|line| keyed(line).expect("a key")).collect()
}

/// Replaces the lines of some keys. Lines of keys that no test asks for any more stay; empty the file to drop them.
pub fn write(what: &str, lines: &[(String, String)]) {
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = read(what);
    all.extend(lines.iter().cloned());
    let text: String = all.iter().map(|(key, text)| format!("{key}: {text}\n")).collect();
    // Renamed into place, as other tests read it meanwhile.
    let fresh = path(&format!("{what}.new"));
    std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path(what))).expect("it is written");
}
