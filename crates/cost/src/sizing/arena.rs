//! Places for blocks of memory in one arena: blocks that are in use together do not overlap.
//!
//! Which places take the least memory is NP-hard to find. Several orders are tried, in each of which a block gets the
//! tightest gap between those that have their places; the best one is then varied, until the arena is as small as the
//! blocks that are in use together, or the work is spent.

use crate::Branches;
use std::collections::BTreeMap;

/// The work of a search: how many placed blocks are looked at.
const WORK: u64 = 60_000_000;
/// The most variations of one order.
const MAX_VARIATIONS: u64 = 4_000;

/// A block: so many bytes from one step to another, both included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its bytes.
    pub bytes: u64,
    /// The first step that uses it.
    pub from: usize,
    /// The last.
    pub to: usize,
    /// The branches in which it is used: no run uses blocks whose branches exclude each other.
    pub branches: Branches,
}

impl Block {
    fn is_with(&self, other: &Block) -> bool {
        self.bytes > 0
            && other.bytes > 0
            && self.from <= other.to
            && other.from <= self.to
            && !self.branches.exclude(&other.branches)
    }

    fn duration(&self) -> usize {
        self.to - self.from
    }
}

/// Places of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// Where each block begins.
    pub offsets: Vec<u64>,
    /// The bytes of the whole.
    pub bytes: u64,
}

/// The most bytes that are in use together: no arena is smaller.
pub fn lower_bound(blocks: &[Block]) -> u64 {
    loads(blocks).into_iter().max().unwrap_or(0)
}

/// The most bytes that are in use at each step.
fn loads(blocks: &[Block]) -> Vec<u64> {
    let steps = blocks.iter().map(|block| block.to + 1).max().unwrap_or(0);
    let (mut begins, mut ends) = (vec![0_u64; steps + 1], vec![0_u64; steps + 1]);
    let (outside, mut within): (Vec<&Block>, Vec<&Block>) =
        blocks.iter().partition(|block| block.branches.list().is_empty());
    for block in outside {
        begins[block.from] += block.bytes;
        ends[block.to + 1] += block.bytes;
    }
    let mut live = 0;
    let each = begins.iter().zip(&ends).map(|(begun, ended)| {
        live = live + begun - ended;
        live
    });
    let mut each: Vec<u64> = each.collect();
    within.sort_by_key(|block| block.from);
    let (mut next, mut live) = (within.into_iter().peekable(), Vec::new());
    for (step, load) in each.iter_mut().enumerate() {
        live.retain(|block: &&Block| block.to >= step);
        while let Some(block) = next.next_if(|block| block.from <= step) {
            live.push(block);
        }
        *load += taken(&live, 0);
    }
    each
}

/// The most bytes of some blocks that one run uses; all are within the same branches up to a depth.
fn taken(blocks: &[&Block], depth: usize) -> u64 {
    let (mut own, mut deeper) = (0, BTreeMap::<usize, BTreeMap<usize, Vec<&Block>>>::new());
    for &block in blocks {
        match block.branches.list().get(depth) {
            None => own += block.bytes,
            Some(&(cond, graph)) => deeper.entry(cond).or_default().entry(graph).or_default().push(block),
        }
    }
    let most = |graphs: &BTreeMap<usize, Vec<&Block>>| {
        graphs.values().map(|blocks| taken(blocks, depth + 1)).max().unwrap_or(0)
    };
    own + deeper.values().map(most).sum::<u64>()
}

/// Two blocks that are in use together and overlap, if there are such.
pub fn overlaps(blocks: &[Block], offsets: &[u64]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].bytes > 0).collect();
    order.sort_by_key(|&at| offsets[at]);
    for (place, &a) in order.iter().enumerate() {
        let end = offsets[a] + blocks[a].bytes;
        let near = order[place + 1..].iter().take_while(|&&b| offsets[b] < end);
        if let Some(&b) = near.into_iter().find(|&&b| blocks[a].is_with(&blocks[b])) {
            return Some((a, b));
        }
    }
    None
}

/// The arena of one greedy: the largest blocks first.
pub fn greedy(blocks: &[Block]) -> Arena {
    place(blocks, &by_size(blocks), &mut u64::MAX.clone())
}

/// The best arena that is found; never larger than that of [`greedy`].
pub fn arena(blocks: &[Block]) -> Arena {
    let least = lower_bound(blocks);
    let mut work = WORK;
    let orders = orders(blocks);
    let mut best: Option<(Arena, &Vec<usize>)> = None;
    for order in &orders {
        let found = place(blocks, order, &mut work);
        if best.as_ref().is_none_or(|(known, _)| found.bytes < known.bytes) {
            best = Some((found, order));
        }
        if best.as_ref().is_some_and(|(known, _)| known.bytes == least) || work == 0 {
            break;
        }
    }
    match best {
        Some((found, _)) if found.bytes == least || work == 0 => found,
        Some((found, order)) => varied(blocks, found, order.clone(), least, work),
        None => Arena { offsets: Vec::new(), bytes: 0 },
    }
}

fn by_size(blocks: &[Block]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(blocks[at].bytes), blocks[at].from));
    order
}

/// What blocks are ordered by: the greatest first.
type Key = (std::cmp::Reverse<u128>, std::cmp::Reverse<u128>);

/// Orders in which blocks get their places; that of [`greedy`] is the first.
fn orders(blocks: &[Block]) -> Vec<Vec<usize>> {
    use std::cmp::Reverse;
    let all = || (0..blocks.len()).collect::<Vec<usize>>();
    let mut orders = vec![by_size(blocks)];
    let mut add = |key: &dyn Fn(&Block) -> Key| {
        let mut order = all();
        order.sort_by_key(|&at| key(&blocks[at]));
        orders.push(order);
    };
    let wide = |number: usize| number as u128;
    add(&|b| (Reverse(u128::from(b.bytes)), Reverse(wide(b.duration()))));
    add(&|b| (Reverse(wide(b.duration())), Reverse(u128::from(b.bytes))));
    add(&|b| (Reverse(u128::from(b.bytes) * (wide(b.duration()) + 1)), Reverse(u128::from(b.bytes))));
    add(&|b| (Reverse(u128::MAX - wide(b.from)), Reverse(u128::from(b.bytes))));
    add(&|b| (Reverse(wide(b.to)), Reverse(u128::from(b.bytes))));
    // What is in use when the most is comes first: there is no gap to spare.
    let loads = loads(blocks);
    let most = |block: &Block| loads[block.from..=block.to].iter().copied().max().unwrap_or(0);
    for is_long_first in [true, false] {
        let mut order = all();
        order.sort_by_cached_key(|&at| {
            let block = &blocks[at];
            let (long, large) = (Reverse(block.duration() as u64), Reverse(block.bytes));
            (Reverse(most(block)), if is_long_first { (long, large) } else { (large, long) })
        });
        orders.push(order);
    }
    orders
}

/// Gives blocks their places in an order, each in the tightest gap. Looks at no more placed blocks than `work`; what is left
/// then goes to the end.
fn place(blocks: &[Block], order: &[usize], work: &mut u64) -> Arena {
    let mut offsets = vec![0; blocks.len()];
    // By offset.
    let mut placed: Vec<usize> = Vec::with_capacity(blocks.len());
    let mut bytes = 0;
    for &at in order {
        let block = &blocks[at];
        if block.bytes == 0 {
            continue;
        }
        *work = work.saturating_sub(placed.len() as u64);
        let offset = if *work == 0 { bytes } else { gap(blocks, &offsets, &placed, block) };
        offsets[at] = offset;
        bytes = bytes.max(offset + block.bytes);
        let place = placed.partition_point(|&other| offsets[other] <= offset);
        placed.insert(place, at);
    }
    Arena { offsets, bytes }
}

/// Where the tightest gap for a block is.
fn gap(blocks: &[Block], offsets: &[u64], placed: &[usize], block: &Block) -> u64 {
    let (mut end, mut best) = (0_u64, None);
    for &other in placed {
        if !block.is_with(&blocks[other]) {
            continue;
        }
        let offset = offsets[other];
        if offset >= end + block.bytes {
            let spare = offset - end - block.bytes;
            if best.is_none_or(|(known, _)| spare < known) {
                best = Some((spare, end));
            }
        }
        end = end.max(offset + blocks[other].bytes);
    }
    best.map_or(end, |(_, at)| at)
}

/// Numbers that look random, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Moves blocks in an order, above all those at the top of the arena to earlier places, as long as that does no harm.
fn varied(blocks: &[Block], mut best: Arena, mut order: Vec<usize>, least: u64, mut work: u64) -> Arena {
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut current = best.bytes;
    let mut offsets = best.offsets.clone();
    for _ in 0..MAX_VARIATIONS {
        if work == 0 || best.bytes == least || order.len() < 2 {
            break;
        }
        let mut tried = order.clone();
        let is_top = |&at: &usize| blocks[at].bytes > 0 && offsets[at] + blocks[at].bytes == current;
        let tops: Vec<usize> = (0..tried.len()).filter(|&place| is_top(&tried[place])).collect();
        let from = match tops.as_slice() {
            [] => numbers.below(tried.len()),
            tops if numbers.below(4) > 0 => tops[numbers.below(tops.len())],
            _ => numbers.below(tried.len()),
        };
        let moved = tried.remove(from);
        let to =
            if from > 0 && numbers.below(4) > 0 { numbers.below(from) } else { numbers.below(tried.len()) };
        tried.insert(to, moved);
        let found = place(blocks, &tried, &mut work);
        if work > 0 && found.bytes <= current {
            current = found.bytes;
            offsets.clone_from(&found.offsets);
            order = tried;
            if found.bytes < best.bytes {
                best = found;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &[(u64, usize, usize)]) -> Vec<Block> {
        list.iter().map(|&(bytes, from, to)| Block { bytes, from, to, ..Block::default() }).collect()
    }

    #[test]
    fn arenas_are_as_small_as_what_is_in_use_together() {
        for (list, greedy_bytes, bytes) in [
            (vec![], 0, 0),
            (vec![(8, 0, 0)], 8, 8),
            (vec![(8, 0, 1), (4, 1, 2), (8, 2, 3)], 12, 12),
            (vec![(8, 0, 1), (4, 1, 2), (8, 3, 3)], 12, 12),
            (vec![(0, 0, 9), (5, 0, 9)], 5, 5),
            // The largest first leaves a gap: 4 is live with both 6s, which are not live together with the 5s.
            (vec![(6, 0, 1), (4, 1, 3), (5, 2, 3), (1, 2, 4), (6, 4, 5), (3, 3, 4)], 14, 13),
        ] {
            let blocks = blocks(&list);
            let (simple, found) = (greedy(&blocks), arena(&blocks));
            assert_eq!((simple.bytes, found.bytes), (greedy_bytes, bytes), "{list:?}");
            assert_eq!(lower_bound(&blocks), bytes, "{list:?}");
            assert_eq!(overlaps(&blocks, &found.offsets), None, "{list:?}");
        }
    }

    #[test]
    fn branches_that_exclude_each_other_share_memory() {
        let none = Branches::default();
        let [then, other] = [0, 1].map(|graph| none.within(0, graph));
        let [inner, beside] = [0, 1].map(|graph| other.within(1, graph));
        let block = |(bytes, branches): &(u64, &Branches)| Block {
            bytes: *bytes,
            from: 0,
            to: 1,
            branches: (*branches).clone(),
        };
        for (list, bytes) in [
            (vec![(8, &none), (8, &then)], 16),
            (vec![(8, &then), (8, &then)], 16),
            (vec![(8, &then), (6, &other)], 8),
            (vec![(1, &none), (8, &then), (6, &other), (5, &inner), (4, &beside)], 12),
            (vec![(8, &then), (5, &inner), (4, &beside)], 8),
            (vec![(5, &inner), (4, &beside), (3, &beside)], 7),
        ] {
            let blocks: Vec<Block> = list.iter().map(block).collect();
            let found = arena(&blocks);
            assert_eq!((lower_bound(&blocks), found.bytes), (bytes, bytes), "{list:?}");
            assert_eq!(overlaps(&blocks, &found.offsets), None, "{list:?}");
        }
    }

    #[test]
    fn blocks_that_overlap_are_found() {
        let blocks = blocks(&[(8, 0, 1), (4, 1, 2), (8, 2, 3)]);
        for (offsets, found) in
            [([0, 8, 0], None), ([0, 4, 8], Some((0, 1))), ([0, 8, 8], Some((1, 2))), ([0, 9, 1], None)]
        {
            assert_eq!(overlaps(&blocks, &offsets), found, "{offsets:?}");
        }
    }
}
