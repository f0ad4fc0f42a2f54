//! Symbols: what is known of one, and how they are named.
use rustc_hash::FxHashSet;
use sha2::{Digest, Sha256};
use sizewise_expr::{Int, Value};

/// What is known of one symbol.
#[derive(Clone, Debug, Default)]
pub struct SymbolInfo {
    /// The example value of a backed symbol; none of an unbacked one.
    pub hint: Option<Value>,
    /// Where it comes from, as torch writes it (`L['x'].size()[0]`), if known.
    pub source: Option<Box<str>>,
}

/// Indices start below this number.
const INDICES: u32 = 100;

/// Which indices of symbols are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Of backed symbols, integers and doubles together.
    taken: FxHashSet<u32>,
    /// The next index of an unbacked integer (`u`).
    pub(super) integers: u32,
    /// The next index of an unbacked double (`zuf`).
    pub(super) floats: u32,
}

impl Names {
    /// The index of the symbol of a source, as torch 2.15 numbers them: the SHA-256 of the source's name modulo 100,
    /// counted on while it is taken (`ShapeEnv._generate_unique_id`).
    pub fn index(&mut self, source: &str) -> u32 {
        // A big-endian number modulo 100, digit by digit.
        let digest = Sha256::digest(source.as_bytes());
        let mut index = digest.iter().fold(0, |rest, &byte| (rest * 256 + u32::from(byte)) % INDICES);
        while !self.taken.insert(index) {
            index += 1;
        }
        index
    }
}

/// Whether a size is one that 0/1 specialisation makes constant.
pub(super) fn is_zero_or_one(size: &Int) -> bool {
    size.is_zero() || size.is_one()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_those_of_torch() {
        for (source, index) in [
            ("L['x'].size()[0]", 77),
            ("L['y'].size()[0]", 17),
            ("L['x'].size()[1]", 27),
            ("L['z'].size()[0]", 68),
            ("L['f']", 57),
        ] {
            assert_eq!(Names::default().index(source), index, "{source}");
        }
    }

    #[test]
    fn a_taken_index_is_counted_on() {
        let mut names = Names::default();
        assert_eq!((names.index("L['a0'].size()[1]"), names.index("L['a0'].size()[3]")), (75, 76));
        assert_eq!((names.index("L['x'].size()[0]"), names.index("L['x'].size()[0]")), (77, 78));
    }
}
