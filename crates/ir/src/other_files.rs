//! What stands where a program or a model was expected, as far as its first bytes say.

/// What gzipped files begin with.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// What a pointer of Git LFS begins with.
const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";
/// What pages begin with, in any case of the letters.
const PAGES: [&[u8]; 2] = [b"<!doctype html", b"<html"];

/// What a file is that is neither a program nor a model, and what helps; `None` where its first bytes do not say.
///
/// ```
/// let page = b"<!DOCTYPE html>\n<title>404</title>";
/// assert!(sizewise_ir::other_file(page).is_some_and(|what| what.contains("HTML")));
/// assert_eq!(sizewise_ir::other_file(b"PK\x03\x04"), None);
/// ```
pub fn other_file(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(GZIP) {
        return Some("it is compressed with gzip; unpack it first");
    }
    if bytes.starts_with(LFS) {
        return Some("it is a pointer of Git LFS to the file; `git lfs pull` gets the file");
    }
    let text = bytes.trim_ascii_start();
    let is_page = |begin: &&[u8]| text.get(..begin.len()).is_some_and(|own| own.eq_ignore_ascii_case(begin));
    PAGES.iter().any(is_page).then_some("it is an HTML page, perhaps of an error; download the file again")
}
