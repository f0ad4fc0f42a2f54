//! Where a zip archive begins within its bytes.
//!
//! torch writes the records of the zip64 format into every archive, and ordinary ones after them that suffice by
//! themselves. Readers that take the end of the directory for the place of the last record misjudge the beginning by
//! the 76 bytes of the zip64 records; a header of an entry with a name of 30 characters happens to stand there. So
//! the beginning is computed from what the records say of themselves.

/// The signature of the record that ends an archive, and its bytes without a comment.
const END: (&[u8], usize) = (b"PK\x05\x06", 22);
/// The signature of the locator of the zip64 record, and its bytes.
const LOCATOR: (&[u8], usize) = (b"PK\x06\x07", 20);
/// The signature of the zip64 record, and its bytes without extensions.
const END64: (&[u8], usize) = (b"PK\x06\x06", 56);
/// The signature of an entry in the directory.
const ENTRY: &[u8] = b"PK\x01\x02";
/// A comment is at most so long.
const MAX_COMMENT: usize = 65_535;

/// How many bytes precede the archive; `None` where its records do not tell.
pub(super) fn archive_start(bytes: &[u8]) -> Option<u64> {
    let lowest = bytes.len().saturating_sub(END.1 + MAX_COMMENT);
    let mut upper = bytes.len().checked_sub(END.1)? + END.0.len();
    loop {
        let end = lowest + memchr::memmem::rfind(bytes.get(lowest..upper)?, END.0)?;
        // A comment that holds such a signature is not the record: the record's comment ends where the file does.
        if end + END.1 + usize::from(u16_at(bytes, end + 20)?) == bytes.len() {
            return start_before(bytes, end);
        }
        upper = end + END.0.len() - 1;
    }
}

/// The beginning of the archive whose last record stands at `end`.
fn start_before(bytes: &[u8], end: usize) -> Option<u64> {
    let locator = end.checked_sub(LOCATOR.1).filter(|&at| bytes[at..].starts_with(LOCATOR.0));
    let (start, directory) = match locator {
        Some(locator) => {
            let record = locator.checked_sub(END64.1).filter(|&at| bytes[at..].starts_with(END64.0))?;
            let start = (record as u64).checked_sub(u64_at(bytes, locator + 8)?)?;
            (start, start.checked_add(u64_at(bytes, record + 48)?)?)
        }
        None => {
            let directory = (end as u64).checked_sub(u64::from(u32_at(bytes, end + 12)?))?;
            (directory.checked_sub(u64::from(u32_at(bytes, end + 16)?))?, directory)
        }
    };
    let at = usize::try_from(directory).ok()?;
    bytes.get(at..)?.starts_with(ENTRY).then_some(start)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
