//! What a store keeps of an answer: the certificate under a checksum.
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The form of entries; others are not read.
const FORM: &[u8; 4] = b"szw1";
/// Bytes of the checksum.
const CHECKSUM: usize = 16;

/// An entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The answer with what is needed to check it again.
    pub certificate: Value,
}

impl Entry {
    /// The entry as bytes: the form, a checksum, JSON.
    pub fn write(&self) -> Vec<u8> {
        let text = self.certificate.to_string();
        let mut bytes = Vec::with_capacity(FORM.len() + CHECKSUM + text.len());
        bytes.extend_from_slice(FORM);
        bytes.extend_from_slice(&checksum(text.as_bytes()));
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    /// The entry that bytes hold; none when they are damaged or of another form.
    pub fn read(bytes: &[u8]) -> Option<Entry> {
        let rest = bytes.strip_prefix(FORM)?;
        let (sum, text) = rest.split_at_checked(CHECKSUM)?;
        if checksum(text) != sum {
            return None;
        }
        Some(Entry { certificate: serde_json::from_slice(text).ok()? })
    }
}

fn checksum(text: &[u8]) -> [u8; CHECKSUM] {
    let hash = Sha256::digest(text);
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&hash[..CHECKSUM]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_comes_back_and_a_changed_one_does_not() {
        let entry =
            Entry { certificate: json!({"implied": [{"fact": 0}], "model": {"s0": 8}, "by": "range"}) };
        let bytes = entry.write();
        assert_eq!(Entry::read(&bytes), Some(entry));
        for i in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[i] ^= 1;
            assert_eq!(Entry::read(&changed), None, "byte {i}");
        }
        assert_eq!(Entry::read(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Entry::read(b""), None);
    }
}
