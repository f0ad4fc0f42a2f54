//! The text of the schemas, and where each operator stands in it. The compiler makes the index, so that a process that
//! asks for few operators reads few lines.

/// The schemas as text. Its first line says where they come from; sets of types follow, a line each, then the versions
/// of operators, a line each: those of an operator one after the other, oldest first.
const TEXT: &str = include_str!("../../../data/schemas.txt");
const BYTES: &[u8] = TEXT.as_bytes();

/// More than there are operators.
pub(super) const MOST_OPERATORS: usize = 512;
/// More than there are sets of types.
const MOST_SETS: usize = 256;
/// The size of the hash table: a power of two, with room between the operators.
const SLOTS: usize = 2 * MOST_OPERATORS;
const FREE: u16 = u16::MAX;

static INDEX: Index = Index::new();

struct Index {
    /// Where the lines of sets of types begin, by number; the first line is not one.
    sets: [u32; MOST_SETS],
    set_count: usize,
    /// Where the lines of each operator begin.
    operators: [u32; MOST_OPERATORS],
    operator_count: usize,
    /// The numbers of operators, each in the first free slot from that of its hash on.
    slots: [u16; SLOTS],
}

impl Index {
    const fn new() -> Index {
        let mut index = Index {
            sets: [0; MOST_SETS],
            set_count: 0,
            operators: [0; MOST_OPERATORS],
            operator_count: 0,
            slots: [FREE; SLOTS],
        };
        // Behind the first line.
        let mut at = next_line(0);
        let mut last: &[u8] = &[];
        while at < BYTES.len() {
            if BYTES[at] == b'#' {
                index.sets[index.set_count] = at as u32;
                index.set_count += 1;
            } else {
                let name = name_at(at);
                if !same(name, last) {
                    index.add(name, at);
                }
                last = name;
            }
            at = next_line(at);
        }
        index
    }

    const fn add(&mut self, name: &[u8], at: usize) {
        let mut hash = SEED;
        let mut letter = 0;
        while letter < name.len() {
            hash = hash_with(hash, name[letter]);
            letter += 1;
        }
        let mut slot = slot(hash);
        while self.slots[slot] != FREE {
            slot = (slot + 1) % SLOTS;
        }
        self.slots[slot] = self.operator_count as u16;
        self.operators[self.operator_count] = at as u32;
        self.operator_count += 1;
    }
}

/// The basis and the prime are those of FNV-1a (<https://www.rfc-editor.org/rfc/rfc9923>).
const SEED: u32 = 0x811c_9dc5;

const fn hash_with(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

const fn slot(hash: u32) -> usize {
    (hash ^ hash >> 16) as usize % SLOTS
}

const fn next_line(mut at: usize) -> usize {
    while at < BYTES.len() && BYTES[at] != b'\n' {
        at += 1;
    }
    at + 1
}

/// Domain and operator of the line that begins here, with the bars behind them.
const fn name_at(at: usize) -> &'static [u8] {
    let mut end = at;
    let mut bars = 0;
    while bars < 2 {
        bars += (BYTES[end] == b'|') as u8;
        end += 1;
    }
    BYTES.split_at(at).1.split_at(end - at).0
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The number of an operator.
pub(super) fn number(domain: &str, op: &str) -> Option<usize> {
    let letters = domain.bytes().chain([b'|']).chain(op.bytes()).chain([b'|']);
    let mut slot = slot(letters.fold(SEED, hash_with));
    loop {
        let number = INDEX.slots[slot];
        if number == FREE {
            return None;
        }
        let line = &TEXT[INDEX.operators[number as usize] as usize..];
        if behind_name(line, domain, op).is_some() {
            return Some(number as usize);
        }
        slot = (slot + 1) % SLOTS;
    }
}

fn behind_name(line: &'static str, domain: &str, op: &str) -> Option<&'static str> {
    line.strip_prefix(domain)?.strip_prefix('|')?.strip_prefix(op)?.strip_prefix('|')
}

/// The lines of an operator behind its name, oldest version first.
pub(super) fn versions<'n>(
    number: usize,
    domain: &'n str,
    op: &'n str,
) -> impl Iterator<Item = &'static str> + 'n {
    let lines = TEXT[INDEX.operators[number] as usize..].lines();
    lines.map_while(move |line| behind_name(line, domain, op))
}

/// Domain and name of each operator.
pub fn operators() -> impl Iterator<Item = (&'static str, &'static str)> {
    let starts = INDEX.operators[..INDEX.operator_count].iter();
    starts.filter_map(|&start| {
        let (domain, rest) = TEXT[start as usize..].split_once('|')?;
        Some((domain, rest.split_once('|')?.0))
    })
}

/// The types of a set, with commas between.
pub(super) fn set(number: usize) -> Option<&'static str> {
    let start = *INDEX.sets[..INDEX.set_count].get(number)?;
    Some(TEXT[start as usize..].lines().next()?.split_once(' ')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_by_the_name_of_its_operator() {
        let lines: Vec<&str> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
        let found: usize =
            operators().map(|(domain, op)| versions(number(domain, op).expect(op), domain, op).count()).sum();
        assert_eq!(found, lines.len());
        let last = TEXT.lines().rfind(|line| line.starts_with('#')).and_then(|line| line.split_once(' '));
        assert_eq!(set(INDEX.set_count - 1), last.map(|(_, names)| names));
        for (domain, op) in [("", ""), ("", "NoSuchOperator"), ("com.microsoft", "Relu"), ("|", "Abs")] {
            assert_eq!(number(domain, op), None, "{domain} {op}");
        }
    }
}
