//! Names of files: of specs that do not fit or are not there, of programs in any encoding, of fixes.
use super::folder::Folder;
use super::{AREA, WIDE, has};
use std::fs;

#[test]
fn a_folder_of_specs_has_to_be_there() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[]);
    let ran = folder.check(&[".", "--specs", "spcs"]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    has(&ran.err, &["--specs: spcs is no folder"]);
}

#[test]
fn a_baseline_knows_no_specs_that_do_not_fit() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("a.spec.json", "{\"z\": null}")]);
    assert_eq!(folder.check(&[".", "--write-baseline", "known.json"]).status, 2);
    assert_eq!(folder.check(&[".", "--baseline", "known.json"]).status, 2);
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_unicode_is_a_name() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new(&[("a.pt2", AREA)], &[]);
    let name = std::ffi::OsStr::from_bytes(b"bad\xff.pt2");
    fs::copy(folder.path().join("a.pt2"), folder.path().join(name)).expect("a copy");
    let ran = folder.check(&["."]);
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
    has(&ran.out, &["2 programs: 2 ok"]);
}

#[test]
fn a_fix_does_not_replace_the_program() {
    let folder = Folder::new(&[("a.pt2", AREA)], &[("b.json", WIDE)]);
    let before = fs::read(folder.path().join("a.pt2")).expect("a file");
    let ran = folder.check(&["a.pt2", "--spec", "b.json", "--fix", "a.pt2"]);
    assert_eq!(ran.status, 2, "{}", ran.out);
    has(&ran.err, &["--fix would replace the program itself"]);
    assert_eq!(fs::read(folder.path().join("a.pt2")).expect("a file"), before);
}
