//! Buckets: shapes to which inputs are padded, so that few shapes serve all allowed ones.
use super::at::{At, at_json, at_text};
use super::runs::{Cuts, Run};
use super::{Sizing, SizingError, named};
use serde_json::{Value as Json, json};
use sizewise_check::report::int_json;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int};
use sizewise_solve::{Budget, Verdict, Witness, bounds_from, decide};
use std::fmt::Write;

/// The most buckets.
const MAX_BUCKETS: usize = 4096;
/// The most dimensions that vary by themselves.
const MAX_DIMENSIONS: usize = 4;
/// The greatest padding that may be asked for: a thousandfold.
const MOST_PADDING: f64 = 1_000.0;

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

impl Sizing<'_> {
    /// The fewest buckets that serve all allowed sizes. Each one's shapes are allowed.
    ///
    /// # Errors
    /// When a size has no bound, too many dimensions vary, or a bucket's shapes would not be allowed.
    pub fn buckets(&mut self, serving: Serving) -> Result<Buckets, SizingError> {
        let is_possible = match serving {
            Serving::Padding(padding) => padding.is_finite() && (0.0..=MOST_PADDING).contains(&padding),
            Serving::Count(count) => (1..=MAX_BUCKETS).contains(&count),
        };
        if !is_possible {
            let message =
                format!("the padding is from 0% to 100000%, and buckets are from 1 to {MAX_BUCKETS}");
            return Err(SizingError::Question(message));
        }
        let dims = self.dimensions()?;
        match serving {
            Serving::Padding(padding) => {
                let runs = Cuts::new(self).with_ratio(&dims, 1.0 + padding, MAX_BUCKETS)?;
                self.served(&dims, &runs.ok_or_else(too_many)?)
            }
            Serving::Count(count) => self.with_count(&dims, count),
        }
    }

    /// At most so many buckets, with the least padding that runs of each size have.
    fn with_count(&mut self, dims: &[Expr], count: usize) -> Result<Buckets, SizingError> {
        let mut runs = count;
        loop {
            let (_, grid) = Cuts::new(self).with_count(dims, runs)?;
            let found = self.served(dims, &grid)?;
            // Combinations whose greatest sizes are not allowed together are divided.
            let more = found.buckets.len().saturating_sub(count);
            match (more, runs.checked_sub(more)) {
                (0, _) => return Ok(found),
                (_, Some(fewer)) if fewer > 0 => runs = fewer,
                _ => {
                    let number = found.buckets.len();
                    let message = format!(
                        "the greatest sizes are not allowed together, so that no {count} shapes were found that serve all sizes: {number} do"
                    );
                    return Err(SizingError::Unanswered(message));
                }
            }
        }
    }

    /// The sizes that vary by themselves, each with what determines it.
    fn dimensions(&mut self) -> Result<Vec<Expr>, SizingError> {
        let mut dims: Vec<Expr> = Vec::new();
        let mut sizes = self.input_sizes();
        // What is a symbol by itself comes first: other sizes are computed from it.
        sizes.sort_by_key(|&e| self.env.pool.as_symbol(e).is_none());
        for size in sizes {
            let symbols = self.env.pool.free_symbols(&[size]);
            if self.env.pool.free_symbols(&dims).iter().filter(|s| symbols.contains(s)).count()
                < symbols.len()
            {
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
            return Err(named::no_bound("a size", &needs));
        }
        if dims.len() > MAX_DIMENSIONS {
            let message = format!(
                "{} sizes vary by themselves, and at most {MAX_DIMENSIONS} are put in buckets",
                dims.len()
            );
            return Err(SizingError::Unanswered(message));
        }
        Ok(dims)
    }

    /// The least allowed size that is at least this one.
    pub(super) fn size_from(&mut self, dim: Expr, least: &Int) -> Result<Option<Int>, SizingError> {
        self.neighbour(dim, least, true)
    }

    /// The greatest allowed size that is less than this one.
    pub(super) fn size_below(&mut self, dim: Expr, most: &Int) -> Result<Option<Int>, SizingError> {
        self.neighbour(dim, most, false)
    }

    /// The allowed size nearest to this one: from it on, or below it. Each is found once.
    fn neighbour(&mut self, dim: Expr, size: &Int, from: bool) -> Result<Option<Int>, SizingError> {
        let key = (dim, size.clone(), from);
        if let Some(known) = self.neighbours.get(&key) {
            return Ok(known.clone());
        }
        let mut env = self.env.clone();
        let size = env.pool.int(size.clone());
        let side = if from { env.pool.ge(dim, size) } else { env.pool.lt(dim, size) };
        let found = match env.pool.as_bool(side) {
            Some(false) => None,
            _ => self.nearest_end(env, dim, side, from)?,
        };
        self.neighbours.insert(key, found.clone());
        Ok(found)
    }

    fn nearest_end(
        &mut self,
        mut env: ShapeEnv,
        dim: Expr,
        side: Expr,
        from: bool,
    ) -> Result<Option<Int>, SizingError> {
        env.assume(side);
        let starts = self.starts().to_vec();
        let (pool, facts) = env.facts();
        let found = bounds_from(pool, facts, dim, &starts, &Budget::default());
        let (end, at) = if from { (found.min, found.min_at) } else { (found.max, found.max_at) };
        match (end, at) {
            (Some(end), Some(_)) => Ok(Some(end)),
            _ if is_impossible(&mut env) => Ok(None),
            _ => Err(SizingError::Unanswered("which sizes are allowed was not decided".to_owned())),
        }
    }

    /// The buckets of all combinations of runs that some allowed input has. A combination whose greatest sizes are not
    /// allowed together is divided.
    fn served(&mut self, dims: &[Expr], runs: &[Vec<Run>]) -> Result<Buckets, SizingError> {
        let (mut buckets, mut reasons, mut padding) = (Vec::new(), self.reasons.clone(), 1.0_f64);
        let mut cells: Vec<Vec<Run>> = vec![Vec::new()];
        for runs in runs.iter().rev() {
            let longer = |cell: &Vec<Run>| {
                let of = |run: &Run| [std::slice::from_ref(run), cell].concat();
                runs.iter().map(of).collect::<Vec<_>>()
            };
            cells = cells.iter().flat_map(longer).collect();
        }
        cells.sort_by(|a, b| {
            let least = |cell: &[Run]| cell.iter().map(|run| run.least.clone()).collect::<Vec<Int>>();
            least(b).cmp(&least(a))
        });
        while let Some(cell) = cells.pop() {
            match self.top(dims, &cell)? {
                Top::Empty => continue,
                Top::Divided(parts) => cells.extend(parts),
                Top::At(witness) => {
                    let at = self.inputs_at(&witness);
                    let at =
                        at.ok_or_else(|| SizingError::Unanswered("shapes cannot be computed".to_owned()))?;
                    if !(self.replay)(&at) {
                        reasons.push(format!("the program refuses {}, which the spec allows", at_text(&at)));
                    }
                    padding = padding.max(cell.iter().map(Run::ratio).product());
                    let serves =
                        |(&dim, run): (&Expr, &Run)| (self.shown(dim), run.least.clone(), run.most.clone());
                    buckets.push(Bucket { at, serves: dims.iter().zip(&cell).map(serves).collect() });
                }
            }
            if buckets.len() + cells.len() > 2 * MAX_BUCKETS {
                return Err(too_many());
            }
        }
        let is_minimal = dims.len() <= 1;
        Ok(Buckets { buckets, padding: padding - 1.0, is_minimal, reasons })
    }

    /// The allowed input of the greatest sizes of a combination of runs.
    fn top(&mut self, dims: &[Expr], cell: &[Run]) -> Result<Top, SizingError> {
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
            Verdict::Refuted { witness } => Ok(Top::At(witness)),
            Verdict::Inconsistent { .. } => Ok(Top::Empty),
            Verdict::Implied { .. } if is_impossible(&mut env) => Ok(Top::Empty),
            Verdict::Implied { .. } => self.divided(dims, cell),
            Verdict::Unknown { reason } => {
                Err(SizingError::Unanswered(format!("whether a bucket is allowed was not decided: {reason}")))
            }
        }
    }

    /// A combination whose longest run is two.
    fn divided(&mut self, dims: &[Expr], cell: &[Run]) -> Result<Top, SizingError> {
        let longest = (0..cell.len())
            .filter(|&at| cell[at].least < cell[at].most)
            .max_by(|&a, &b| cell[a].ratio().total_cmp(&cell[b].ratio()));
        let undecided =
            || SizingError::Unanswered("which sizes are allowed together was not decided".to_owned());
        let at = longest.ok_or_else(undecided)?;
        let Run { least, most } = &cell[at];
        let middle = (least + most).floor_div(&Int::from(2)).ok_or_else(undecided)?;
        let above = self.size_from(dims[at], &(&middle + &Int::ONE))?.ok_or_else(undecided)?;
        let below = self.size_below(dims[at], &above)?.ok_or_else(undecided)?;
        let with = |run: Run| {
            let mut part = cell.to_vec();
            part[at] = run;
            part
        };
        let upper = with(Run { least: above, most: most.clone() });
        Ok(Top::Divided([upper, with(Run { least: least.clone(), most: below })]))
    }
}

/// What is known of the greatest sizes of a combination of runs.
enum Top {
    /// An allowed input has them.
    At(Witness),
    /// No allowed input is in the combination.
    Empty,
    /// Some inputs are, but none has them: the combination in two.
    Divided([Vec<Run>; 2]),
}

fn too_many() -> SizingError {
    SizingError::Unanswered(format!("no set of at most {MAX_BUCKETS} buckets was found: allow more padding"))
}

fn is_impossible(env: &mut ShapeEnv) -> bool {
    let never = env.pool.bool(false);
    let (pool, facts) = env.facts();
    matches!(
        decide(pool, facts, never, &Budget::default()).verdict,
        Verdict::Inconsistent { .. } | Verdict::Implied { .. }
    )
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
            let serves: Vec<String> = bucket
                .serves
                .iter()
                .map(|(name, least, most)| format!("{name} from {least} to {most}"))
                .collect();
            _ = writeln!(out, "  {}  serves {}", at_text(&bucket.at), serves.join(", "));
        }
        if !self.reasons.is_empty() {
            out.push_str("\nnot exact:\n");
            self.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
        }
        out
    }
}
