//! Buckets: shapes to which inputs are padded, so that few shapes serve all allowed ones.
use super::at::{At, at_json, at_text};
use super::{Sizing, SizingError, named};
use serde_json::{Value as Json, json};
use sizewise_check::report::int_json;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int};
use sizewise_solve::{Budget, Verdict, Witness, bounds_from, decide};
use std::fmt::Write;

/// The most buckets.
const MAX_BUCKETS: usize = 256;
/// The most dimensions that vary by themselves.
const MAX_DIMENSIONS: usize = 4;
/// Paddings are counted in parts of a million.
const PARTS: i64 = 1_000_000;
/// The greatest padding that is tried, in parts: a thousandfold.
const MOST_PADDING: i64 = 1_000 * PARTS;

/// What limits buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Serving {
    /// At most so many.
    Count(usize),
    /// At most so much padding: 0.25 where padded sizes, multiplied, are at most 1.25 times what they were.
    Padding(f64),
}

/// A bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// The shapes to which inputs are padded.
    pub at: At,
    /// The sizes that it serves: dimension, least and greatest.
    pub serves: Vec<(String, Int, Int)>,
}

/// Buckets that serve all allowed sizes.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The buckets, from the smallest sizes on.
    pub buckets: Vec<Bucket>,
    /// How much larger the sizes of a bucket get at most, multiplied, than those that it serves: 0.25 for a quarter.
    pub padding: f64,
    /// Whether no fewer buckets serve all sizes within that padding.
    pub is_minimal: bool,
    /// Why a bucket may not be taken.
    pub reasons: Vec<String>,
}

/// A run of sizes of one dimension: padded to the greatest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    least: Int,
    most: Int,
}

impl Sizing<'_> {
    /// The fewest buckets that serve all allowed sizes. Each one's shapes are allowed.
    ///
    /// # Errors
    /// When a size has no bound, too many dimensions vary, or a bucket's shapes would not be allowed.
    pub fn buckets(&mut self, serving: Serving) -> Result<Buckets, SizingError> {
        let dims = self.dimensions()?;
        let parts = match serving {
            Serving::Padding(padding) if padding.is_finite() && (0.0..=1_000.0).contains(&padding) => {
                (padding * PARTS as f64).round() as i64
            }
            Serving::Count(count) if (1..=MAX_BUCKETS).contains(&count) => self.least_padding(&dims, count)?,
            _ => {
                let message = "the padding is from 0% to 100000%, and buckets are from 1 to 256".to_owned();
                return Err(SizingError::Question(message));
            }
        };
        let Some(runs) = self.runs(&dims, parts, MAX_BUCKETS)? else {
            return Err(SizingError::Unanswered(format!("more than {MAX_BUCKETS} buckets would be needed: allow more padding")));
        };
        self.served(&dims, &runs)
    }

    /// The sizes that vary by themselves, each with what determines it.
    fn dimensions(&mut self) -> Result<Vec<Expr>, SizingError> {
        let mut dims: Vec<Expr> = Vec::new();
        let mut sizes = self.input_sizes();
        // What is a symbol by itself comes first: other sizes are computed from it.
        sizes.sort_by_key(|&e| self.env.pool.as_symbol(e).is_none());
        for size in sizes {
            let symbols = self.env.pool.free_symbols(&[size]);
            if self.env.pool.free_symbols(&dims).iter().filter(|s| symbols.contains(s)).count() < symbols.len() {
                dims.push(size);
            }
        }
        let mut needs = Vec::new();
        for &dim in &dims {
            if self.ends(dim).max.value.is_none() {
                needs.extend(named::endless(self, dim));
            }
        }
        if !needs.is_empty() {
            return Err(SizingError::Unanswered(named::no_bound("a size", &needs)));
        }
        if dims.len() > MAX_DIMENSIONS {
            let message = format!("{} sizes vary by themselves, and at most {MAX_DIMENSIONS} are put in buckets", dims.len());
            return Err(SizingError::Unanswered(message));
        }
        Ok(dims)
    }

    /// The least padding with which so many buckets are enough.
    fn least_padding(&mut self, dims: &[Expr], count: usize) -> Result<i64, SizingError> {
        let (mut low, mut high) = (-1, MOST_PADDING);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let is_enough = self.runs(dims, middle, count)?.is_some();
            if is_enough { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// For each dimension the runs of sizes that are padded to one, with so much padding; `None` where there would be more
    /// buckets than `most`.
    fn runs(&mut self, dims: &[Expr], parts: i64, most: usize) -> Result<Option<Vec<Vec<Run>>>, SizingError> {
        let mut all = Vec::new();
        let mut count = 1_usize;
        for &dim in dims {
            let Some(runs) = self.runs_of(dim, parts, dims.len() as u32, most)? else { return Ok(None) };
            count = count.saturating_mul(runs.len());
            if count > most {
                return Ok(None);
            }
            all.push(runs);
        }
        Ok(Some(all))
    }

    /// The fewest runs of one dimension: from the greatest size down, each as long as it may be.
    fn runs_of(
        &mut self,
        dim: Expr,
        parts: i64,
        degree: u32,
        most: usize,
    ) -> Result<Option<Vec<Run>>, SizingError> {
        let mut runs = Vec::new();
        let mut top = self.ends(dim).max.value.clone();
        while let Some(greatest) = top {
            if runs.len() == most {
                return Ok(None);
            }
            let end = lowest(&greatest, parts, degree);
            let Some(least) = self.size_from(dim, &end)? else {
                return Err(SizingError::Unanswered("the allowed sizes were not found".to_owned()));
            };
            top = self.size_below(dim, &least)?;
            runs.push(Run { least, most: greatest });
        }
        runs.reverse();
        Ok(Some(runs))
    }

    /// The least allowed size that is at least this one.
    fn size_from(&mut self, dim: Expr, least: &Int) -> Result<Option<Int>, SizingError> {
        self.end_within(dim, Some(least), None, true)
    }

    /// The greatest allowed size that is less than this one.
    fn size_below(&mut self, dim: Expr, most: &Int) -> Result<Option<Int>, SizingError> {
        self.end_within(dim, None, Some(most), false)
    }

    fn end_within(
        &mut self,
        dim: Expr,
        least: Option<&Int>,
        below: Option<&Int>,
        is_least: bool,
    ) -> Result<Option<Int>, SizingError> {
        let mut env = self.env.clone();
        let low = least.map(|least| {
            let least = env.pool.int(least.clone());
            env.pool.ge(dim, least)
        });
        let high = below.map(|below| {
            let below = env.pool.int(below.clone());
            env.pool.lt(dim, below)
        });
        for condition in low.into_iter().chain(high) {
            if env.pool.as_bool(condition) == Some(false) {
                return Ok(None);
            }
            env.assume(condition);
        }
        let starts = self.starts().to_vec();
        let (pool, facts) = env.facts();
        let found = bounds_from(pool, facts, dim, &starts, &Budget::default());
        let (end, at) = if is_least { (found.min, found.min_at) } else { (found.max, found.max_at) };
        match (end, at) {
            (Some(end), Some(_)) => Ok(Some(end)),
            _ if is_impossible(&mut env) => Ok(None),
            _ => Err(SizingError::Unanswered("which sizes are allowed was not decided".to_owned())),
        }
    }

    /// The buckets of all combinations of runs that some allowed input has.
    fn served(&mut self, dims: &[Expr], runs: &[Vec<Run>]) -> Result<Buckets, SizingError> {
        let (mut buckets, mut reasons, mut padding) = (Vec::new(), self.reasons.clone(), 1.0_f64);
        let mut places = vec![0_usize; dims.len()];
        loop {
            let cell: Vec<&Run> = places.iter().zip(runs).map(|(&at, runs)| &runs[at]).collect();
            if let Some((witness, least)) = self.bucket(dims, &cell)? {
                let at = self.inputs_at(&witness);
                let at = at.ok_or_else(|| SizingError::Unanswered("shapes cannot be computed".to_owned()))?;
                if !(self.replay)(&at) {
                    reasons.push(format!("the program refuses {}, which the spec allows", at_text(&at)));
                }
                let ratio = |(run, least): (&&Run, &Int)| run.most.to_f64() / least.to_f64().max(1.0);
                padding = padding.max(cell.iter().zip(&least).map(ratio).product());
                let serves = dims.iter().zip(&cell).map(|(&dim, run)| {
                    (self.shown(dim), run.least.clone(), run.most.clone())
                });
                buckets.push(Bucket { at, serves: serves.collect() });
            }
            // The next combination.
            let Some(next) = (0..places.len()).rev().find(|&at| places[at] + 1 < runs[at].len()) else { break };
            places[next] += 1;
            places[next + 1..].fill(0);
        }
        let is_minimal = dims.len() <= 1;
        Ok(Buckets { buckets, padding: padding - 1.0, is_minimal, reasons })
    }

    /// The allowed input of the greatest sizes of a combination of runs, and the least sizes; `None` where no allowed
    /// input has one.
    fn bucket(&mut self, dims: &[Expr], cell: &[&Run]) -> Result<Option<(Witness, Vec<Int>)>, SizingError> {
        let mut env = self.env.clone();
        let mut tops = Vec::new();
        for (&dim, run) in dims.iter().zip(cell) {
            let (least, most) = (env.pool.int(run.least.clone()), env.pool.int(run.most.clone()));
            let (low, high) = (env.pool.ge(dim, least), env.pool.le(dim, most));
            env.assume(low);
            env.assume(high);
            tops.push(env.pool.eq(dim, most));
        }
        let is_top = env.pool.and(&tops);
        let not_top = env.pool.not(is_top);
        let (pool, facts) = env.facts();
        match decide(pool, facts, not_top, &Budget::default()).verdict {
            Verdict::Refuted { witness } => {
                let least = cell.iter().map(|run| run.least.clone()).collect();
                Ok(Some((witness, least)))
            }
            Verdict::Inconsistent { .. } => Ok(None),
            Verdict::Implied { .. } if is_impossible(&mut env) => Ok(None),
            Verdict::Implied { .. } => {
                let sizes: Vec<String> =
                    dims.iter().zip(cell).map(|(&dim, run)| format!("{} = {}", self.shown(dim), run.most)).collect();
                Err(SizingError::Unanswered(format!("no allowed input has {}, to which others would be padded", sizes.join(", "))))
            }
            Verdict::Unknown { reason } => {
                Err(SizingError::Unanswered(format!("whether a bucket is allowed was not decided: {reason}")))
            }
        }
    }
}

fn is_impossible(env: &mut ShapeEnv) -> bool {
    let never = env.pool.bool(false);
    let (pool, facts) = env.facts();
    matches!(
        decide(pool, facts, never, &Budget::default()).verdict,
        Verdict::Inconsistent { .. } | Verdict::Implied { .. }
    )
}

/// The least size that may be padded to another one: its power of this degree, times one and the padding, is no less than
/// that of the other one.
fn lowest(size: &Int, parts: i64, degree: u32) -> Int {
    let power = |value: &Int| (0..degree).fold(Int::ONE, |product, _| &product * value);
    let enough = |value: &Int| {
        &power(value) * &Int::from(PARTS.saturating_add(parts)) >= &power(size) * &Int::from(PARTS)
    };
    let (mut low, mut high) = (Int::from(-1), size.clone().max(Int::ZERO));
    while let Some(middle) = (&low + &high).floor_div(&Int::from(2)).filter(|middle| *middle > low && *middle < high) {
        if enough(&middle) { high = middle } else { low = middle }
    }
    high
}

impl Buckets {
    /// As JSON.
    pub fn json(&self) -> Json {
        let bucket = |bucket: &Bucket| {
            let serves: serde_json::Map<String, Json> = bucket
                .serves
                .iter()
                .map(|(name, least, most)| (name.clone(), json!([int_json(least), int_json(most)])))
                .collect();
            json!({"shapes": at_json(&bucket.at), "serves": serves})
        };
        json!({
            "buckets": self.buckets.iter().map(bucket).collect::<Vec<_>>(),
            "padding": self.padding,
            "minimal": self.is_minimal,
            "exact": self.reasons.is_empty(),
            "reasons": self.reasons,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let number = self.buckets.len();
        let least = if self.is_minimal { ", no fewer do" } else { "" };
        _ = writeln!(out, "{number} buckets, at most {:.1}% padding{least}", self.padding * 100.0);
        for bucket in &self.buckets {
            let serves: Vec<String> =
                bucket.serves.iter().map(|(name, least, most)| format!("{name} from {least} to {most}")).collect();
            _ = writeln!(out, "  {}  serves {}", at_text(&bucket.at), serves.join(", "));
        }
        if !self.reasons.is_empty() {
            out.push_str("\nnot exact:\n");
            self.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
        }
        out
    }
}
