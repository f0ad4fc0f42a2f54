//! Runs: how the allowed sizes of dimensions are cut, so that few shapes serve all of them with little padding.
//!
//! Each dimension is cut by itself, and every combination of runs is a bucket. The padding of buckets is then the product
//! of those of the dimensions, and what is best for so many runs of a dimension is best whatever the others are cut into.
use super::{Sizing, SizingError};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Int};

/// How often a dimension is cut in search of the fewest buckets.
const MAX_CUTS: usize = 400;
/// Ratios nearer to each other than this are the same: they are rounded.
const ROUNDING: f64 = 1e-12;
/// How near to the least ratio a search comes.
const PRECISION: f64 = 1e-9;

/// A run of sizes of one dimension: padded to the greatest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub least: Int,
    pub most: Int,
}

impl Run {
    /// How many times larger a size gets at most; 0 counts as 1.
    pub fn ratio(&self) -> f64 {
        ratio(&self.least, &self.most)
    }
}

fn ratio(least: &Int, most: &Int) -> f64 {
    most.to_f64() / least.to_f64().max(1.0)
}

/// How many times larger a size gets at most in one of the runs.
fn greatest_ratio(runs: &[Run]) -> f64 {
    runs.iter().map(Run::ratio).fold(1.0, f64::max)
}

/// The runs of each dimension.
type Grid = Vec<Vec<Run>>;

/// A search for cuts.
pub(super) struct Cuts<'a, 's> {
    sizing: &'a mut Sizing<'s>,
    /// The best cuts of a dimension into so many runs.
    known: FxHashMap<(Expr, usize), Vec<Run>>,
}

impl<'a, 's> Cuts<'a, 's> {
    pub fn new(sizing: &'a mut Sizing<'s>) -> Cuts<'a, 's> {
        Cuts { sizing, known: FxHashMap::default() }
    }

    /// Runs of at most so many combinations, with the least product of ratios.
    pub fn with_count(&mut self, dims: &[Expr], count: usize) -> Result<(f64, Grid), SizingError> {
        let Some((&first, rest)) = dims.split_first() else { return Ok((1.0, Vec::new())) };
        if rest.is_empty() {
            let runs = self.cut(first, count)?;
            return Ok((greatest_ratio(&runs), vec![runs]));
        }
        let mut best: Option<(f64, Grid)> = None;
        let mut most = 1;
        while most <= count {
            // Of all numbers of runs that leave as many to the others, the greatest.
            most = count / (count / most);
            let runs = self.cut(first, most)?;
            let (others, mut grid) = self.with_count(rest, count / runs.len().max(1))?;
            let total = greatest_ratio(&runs) * others;
            let is_last = runs.len() < most;
            if best.as_ref().is_none_or(|(least, _)| total < *least) {
                grid.insert(0, runs);
                best = Some((total, grid));
            }
            if is_last {
                break;
            }
            most += 1;
        }
        best.ok_or_else(not_found)
    }

    /// Runs whose ratios have at most this product, in the fewest combinations that are found; `None` where there would be
    /// more than `most`.
    pub fn with_ratio(
        &mut self,
        dims: &[Expr],
        ratio: f64,
        most: usize,
    ) -> Result<Option<Grid>, SizingError> {
        let Some((&first, rest)) = dims.split_first() else { return Ok(Some(Vec::new())) };
        let ratio = ratio * (1.0 + ROUNDING);
        let Some(longest) = self.runs(first, ratio, most)? else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some(vec![longest]));
        }
        let Some(others) = self.with_ratio(rest, ratio, most)? else { return Ok(None) };
        let of_others: usize = others.iter().map(Vec::len).product();
        let (mut most, mut count, mut best) = (most, longest.len(), None);
        while count * of_others <= most && self.known.len() < MAX_CUTS {
            let runs = self.cut(first, count)?;
            let (is_last, runs_len) = (runs.len() < count, runs.len().max(1));
            let left = ratio / greatest_ratio(&runs);
            if let Some(mut grid) = self.with_ratio(rest, left, most / runs_len)? {
                grid.insert(0, runs);
                let size: usize = grid.iter().map(Vec::len).product();
                best = Some(grid);
                most = size.saturating_sub(1);
            }
            if is_last {
                break;
            }
            count += 1;
        }
        Ok(best)
    }

    /// At most so many runs of one dimension, with the least ratio.
    fn cut(&mut self, dim: Expr, count: usize) -> Result<Vec<Run>, SizingError> {
        if let Some(known) = self.known.get(&(dim, count)) {
            return Ok(known.clone());
        }
        let best = match self.runs(dim, 1.0, count)? {
            Some(each) => each,
            None => self.search(dim, count)?,
        };
        self.known.insert((dim, count), best.clone());
        Ok(best)
    }

    fn search(&mut self, dim: Expr, count: usize) -> Result<Vec<Run>, SizingError> {
        let mut best = self.runs(dim, f64::INFINITY, count)?.ok_or_else(not_found)?;
        let (mut low, mut high) = (1.0, greatest_ratio(&best));
        while high > low * (1.0 + PRECISION) {
            let middle = f64::sqrt(low * high);
            match self.runs(dim, middle, count)? {
                Some(runs) => {
                    high = greatest_ratio(&runs);
                    best = runs;
                }
                None => low = middle,
            }
        }
        Ok(best)
    }

    /// The fewest runs of one dimension: from the greatest size down, each as long as it may be; `None` where there would
    /// be more than `most`.
    fn runs(&mut self, dim: Expr, ratio: f64, most: usize) -> Result<Option<Vec<Run>>, SizingError> {
        let mut runs = Vec::new();
        let mut top = self.sizing.ends(dim).max.value.clone();
        while let Some(greatest) = top {
            if runs.len() == most {
                return Ok(None);
            }
            let least = self.sizing.size_from(dim, &lowest(&greatest, ratio))?.ok_or_else(not_found)?;
            top = self.sizing.size_below(dim, &least)?;
            runs.push(Run { least, most: greatest });
        }
        runs.reverse();
        Ok(Some(runs))
    }
}

fn not_found() -> SizingError {
    SizingError::Unanswered("the allowed sizes were not found".to_owned())
}

/// The least size that may be padded to another one, which is at most so many times as large.
fn lowest(size: &Int, limit: f64) -> Int {
    let (mut low, mut high) = (Int::from(-1), size.clone().max(Int::ZERO));
    while let Some(middle) =
        (&low + &high).floor_div(&Int::from(2)).filter(|middle| *middle > low && *middle < high)
    {
        if ratio(&middle, size) <= limit { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::lowest;
    use sizewise_expr::Int;

    #[test]
    fn sizes_are_padded_as_far_as_the_ratio_allows() {
        for (size, ratio, least) in [
            (100, 1.0, 100),
            (100, 1.25, 80),
            (100, 2.0, 50),
            (101, 2.0, 51),
            (0, 2.0, 0),
            (1, 1_000.0, 0),
            (1_000, f64::INFINITY, 0),
        ] {
            assert_eq!(lowest(&Int::from(size), ratio), Int::from(least), "{size} {ratio}");
        }
    }
}
