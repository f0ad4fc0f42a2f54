//! Folders of programs that are checked in one command.
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder of files.
pub struct Folder(TempDir);

/// What a command did.
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// A path of these bytes.
#[cfg(unix)]
pub fn path_of(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

impl Folder {
    /// A folder with these programs of `examples/`, by the names they get, and these texts.
    pub fn new(programs: &[(&str, &str)], texts: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        for (name, from) in programs {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(from);
            folder.write(name, &fs::read(from).expect("a program"));
        }
        texts.iter().for_each(|(name, text)| folder.write(name, text.as_bytes()));
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }

    /// `sizewise check` with these arguments in this folder.
    pub fn check(&self, arguments: &[&str]) -> Ran {
        self.check_with(arguments, "")
    }

    pub fn check_with(&self, arguments: &[&str], input: impl Into<Vec<u8>>) -> Ran {
        let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program");
        command.current_dir(self.path()).arg("check").args(arguments).write_stdin(input);
        let output = command.output().expect("a run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            status: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Ran {
    /// The reports of JSON lines.
    pub fn lines(&self) -> Vec<Json> {
        let read = |line: &str| serde_json::from_str(line).expect("a report");
        self.out.lines().map(read).collect()
    }

    /// The path and the verdict of each report in JSON lines.
    pub fn verdicts(&self) -> Vec<String> {
        let text = |line: &Json, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        self.lines().iter().map(|line| format!("{} {}", text(line, "path"), text(line, "verdict"))).collect()
    }
}
