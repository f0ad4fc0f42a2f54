//! Bearer tokens, known by a file of their hashes.
use axum::extract::Extension;
use sha2::{Digest, Sha256};
use std::path::Path;
use subtle::{Choice, ConstantTimeEq};

/// A hash of a token.
type Hash = [u8; 32];

/// The token of a request, by its hash: it stays the same when the file is reloaded. Environments belong to the holder
/// who created them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder(pub(super) Hash);

impl std::fmt::Debug for Holder {
    /// Shows enough to tell holders apart.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Holder({:02x}{:02x})", self.0[0], self.0[1])
    }
}

/// The extractor of the holder that makes a request.
pub type Owner = Extension<Option<Holder>>;

/// The known tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    hashes: Vec<Hash>,
}

/// A token file that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TokensError {
    /// The line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Tokens {
    /// Reads a file: on each line the SHA-256 hash of a token in hexadecimal; the rest of the line, and lines that
    /// begin with `#`, are comments.
    ///
    /// # Errors
    /// When a line holds no hash, or there is none at all.
    pub fn parse(text: &str) -> Result<Tokens, TokensError> {
        let mut hashes = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let Some(word) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let error = || TokensError {
                line: i + 1,
                message: "expected the SHA-256 hash of a token: 64 hexadecimal digits".to_string(),
            };
            hashes.push(hex(word).ok_or_else(error)?);
        }
        match hashes.is_empty() {
            true => Err(TokensError { line: 1, message: "the file holds no hash of a token".to_string() }),
            false => Ok(Tokens { hashes }),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or holds no hashes.
    pub fn load(path: &Path) -> Result<Tokens, String> {
        let failed = |error: String| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Tokens::parse(&text).map_err(|error| failed(error.to_string()))
    }

    /// The number of known tokens.
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// The holder of the token of an `Authorization` header, if it is known. Takes constant time.
    pub fn holder(&self, authorization: Option<&[u8]>) -> Option<Holder> {
        let header = authorization?;
        let (scheme, token) = header.split_at_checked(7)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") {
            return None;
        }
        let hash: Hash = Sha256::digest(token.trim_ascii()).into();
        let found = self.hashes.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&hash));
        bool::from(found).then_some(Holder(hash))
    }
}

fn hex(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(token: &str) -> String {
        Sha256::digest(token).iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn known_tokens_are_told_apart() {
        let text = format!("# tokens\n{}  ci\n\n{}\n", hash_of("one"), hash_of("two").to_uppercase());
        let tokens = Tokens::parse(&text).unwrap();
        let holder = |token: &str| Some(Holder(Sha256::digest(token).into()));
        for (header, holder) in [
            (Some("Bearer one"), holder("one")),
            (Some("bearer two"), holder("two")),
            (Some("Bearer three"), None),
            (Some("Bearer "), None),
            (Some("Basic one"), None),
            (Some("one"), None),
            (None, None),
        ] {
            assert_eq!(tokens.holder(header.map(str::as_bytes)), holder, "{header:?}");
        }
    }

    #[test]
    fn files_without_hashes_are_refused() {
        for (text, line) in [("", 1), ("# none\n", 1), ("secret\n", 1), ("\nxyz0\n", 2)] {
            assert_eq!(Tokens::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }
}
