//! The bytes of a contract.

/// The bytes are no contract of this version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "this is no contract of version {}", crate::format::VERSION)
    }
}

impl core::error::Error for Malformed {}

/// What is left to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1)?.first().copied().ok_or(Malformed)
    }

    /// Seven bits a byte, the least first; the high bit says that more follow.
    pub fn unsigned(&mut self) -> Result<u64, Malformed> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift >= 64 || shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// As [`Reader::unsigned`], with the sign in the lowest bit.
    pub fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn count(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.unsigned()?).map_err(|_| Malformed)
    }

    pub fn double(&mut self) -> Result<f64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(f64::from_le_bytes(bytes))
    }

    /// A count, and so many bytes.
    pub fn block(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.count()?;
        self.take(count)
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        core::str::from_utf8(self.block()?).map_err(|_| Malformed)
    }
}
