//! What tells findings apart: names of files as URIs, and fingerprints.
use super::findings::Finding;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

/// The name and version of what [`fingerprint`] computes.
pub(super) const FINGERPRINT: &str = "sizewiseFinding/v1";

/// What tells a finding from others and stays the same where lines move: its kind, the program, what it speaks of, and
/// the file, the function and the text of its line. Those that agree in all that are counted.
pub(super) fn fingerprint(finding: &Finding, program: &str, seen: &mut FxHashMap<Vec<u8>, u32>) -> String {
    let mut hash = Sha256::new();
    let line = finding.line.map(|frame| [&frame.file, &frame.function, &frame.code]);
    for part in
        [finding.rule.id, program, &finding.about].into_iter().chain(line.into_iter().flatten().map(|s| &**s))
    {
        // Each part with its length, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let bytes = hash.finalize().to_vec();
    let hexadecimal = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    let count = seen.entry(bytes).and_modify(|count| *count += 1).or_insert(1);
    format!("{hexadecimal}:{count}")
}

/// A path as a URI reference (RFC 3986): what may not stand in one is percent-encoded.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::new();
    // A first segment with a colon would be read as a scheme.
    if !path.starts_with('/') && path.split('/').next().is_some_and(|first| first.contains(':')) {
        out.push_str("./");
    }
    out + &encoded(path)
}

fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' => {
                out.push(char::from(byte));
            }
            b'\\' => out.push('/'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// The path of a program as a URI reference. A byte of a name that is no Unicode is `\xff` there; another backslash is a
/// part of the name, but for Windows.
pub(super) fn program_uri(path: &str) -> String {
    if cfg!(windows) {
        return uri(path);
    }
    let mut parts = path.split('\\');
    let mut out = parts.next().map(uri).unwrap_or_default();
    for part in parts {
        let byte = part.strip_prefix('x').and_then(|rest| rest.get(..2));
        match byte.filter(|byte| byte.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            Some(byte) => out.push_str(&format!("%{}{}", byte.to_uppercase(), encoded(&part[3..]))),
            None => out.push_str(&format!("%5C{}", encoded(part))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[cfg(not(windows))]
    use super::program_uri;
    use super::uri;

    #[test]
    fn paths_become_uri_references() {
        for (path, expected) in [
            ("model.py", "model.py"),
            ("a b/ü.py", "a%20b/%C3%BC.py"),
            ("c:\\x.py", "./c:/x.py"),
            ("/tmp/x#1?.pt2", "/tmp/x%231%3F.pt2"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn names_of_programs_that_differ_have_uris_that_differ() {
        for (path, expected) in [
            ("m/a.pt2", "m/a.pt2"),
            ("m\\a.pt2", "m%5Ca.pt2"),
            ("m/\\xff.pt2", "m/%FF.pt2"),
            ("m/\\x5cxff.pt2", "m/%5Cxff.pt2"),
            ("\\x\u{fc}", "%5Cx%C3%BC"),
            ("a:b\\c", "./a:b%5Cc"),
        ] {
            assert_eq!(program_uri(path), expected);
        }
    }
}
