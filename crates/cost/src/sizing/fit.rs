//! The largest size that fits in a memory.
use super::at::{at_json, at_text, value_in};
use super::{At, Sizing, SizingError, named};
use serde_json::{Value as Json, json};
use sizewise_check::report::int_json;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Evaluator, Expr, Int, Symbol};
use sizewise_solve::{Bounds, Budget, Witness, bounds_from, replays};
use std::fmt::Write;

/// The most steps of a search for a size to begin from.
const MAX_STEPS: usize = 200;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The bytes that there are.
    pub memory: Int,
    /// The dimension to be as large as possible: `x.0`, or its name. Without one it is the only one that varies and is not
    /// given.
    pub maximize: Option<String>,
    /// Sizes that are given.
    pub given: Vec<(String, Int)>,
}

/// A size of the dimension, with the bytes that it takes.
#[derive(Clone, Debug)]
pub struct SizeStep {
    /// The size.
    pub size: Int,
    /// The bytes of parameters and inputs, and the most of what is made that are live together.
    pub bytes: Int,
    /// The inputs.
    pub at: At,
}

/// What fits.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The dimension.
    pub maximize: String,
    /// The largest size that fits; `None` if none does.
    pub fits: Option<SizeStep>,
    /// The next allowed size, which does not fit; `None` where there is none.
    pub breaks: Option<SizeStep>,
    /// Whether all larger sizes fit, and there is no largest.
    pub is_unlimited: bool,
    /// Why the answer may be wrong.
    pub reasons: Vec<String>,
}

/// A question in terms of symbols.
struct Asked {
    env: ShapeEnv,
    /// The dimension.
    size: Expr,
    /// The bytes: the greatest of these.
    totals: Vec<Expr>,
    memory: Int,
    start: Witness,
}

impl Sizing<'_> {
    /// The bytes of parameters, inputs and what is made: the greatest of these.
    pub(super) fn totals(&mut self) -> Result<Vec<Expr>, SizingError> {
        let (Some(inputs), Some(state)) = (self.memory.inputs, self.memory.state) else {
            return Err(SizingError::Unanswered("the bytes of the inputs are not known".to_owned()));
        };
        let peak = self.memory.peak.clone();
        Ok(peak.into_iter().map(|peak| self.env.pool.sum([peak, inputs, state])).collect())
    }

    /// The largest size that fits.
    ///
    /// # Errors
    /// When there is no such dimension, the bytes depend on a size that is not given, or nothing was decided.
    pub fn fit(&mut self, fit: &Fit) -> Result<Fitted, SizingError> {
        let maximize = self.maximized(fit)?;
        let mut asked = self.asked(fit, &maximize)?;
        let mut reasons = self.reasons.clone();
        reasons.extend(self.memory.reasons.iter().filter(|reason| !self.reasons.contains(reason)).cloned());
        let fits = match asked.largest()? {
            Largest::Of(step) => Some(step),
            Largest::None => None,
            Largest::Unlimited => {
                return Ok(Fitted { maximize, fits: None, breaks: None, is_unlimited: true, reasons });
            }
        };
        let fits = fits.map(|(size, witness)| self.step(&asked, size, &witness)).transpose()?;
        let breaks = asked.next(fits.as_ref().map(|step| &step.size))?;
        let breaks = breaks.map(|(size, witness)| self.step(&asked, size, &witness)).transpose()?;
        for step in fits.iter().chain(&breaks) {
            if !(self.replay)(&step.at) {
                reasons.push(format!("the program refuses {}, which the spec allows", at_text(&step.at)));
            }
        }
        Ok(Fitted { maximize, fits, breaks, is_unlimited: false, reasons })
    }

    fn step(&self, asked: &Asked, size: Int, witness: &Witness) -> Result<SizeStep, SizingError> {
        let at = self.inputs_at(witness);
        match (at, asked.bytes(witness)) {
            (Some(at), Some(bytes)) => Ok(SizeStep { size, bytes, at }),
            _ => Err(SizingError::Unanswered("the bytes cannot be computed".to_owned())),
        }
    }

    /// The name of the dimension that is to be as large as possible.
    pub(super) fn maximized(&mut self, fit: &Fit) -> Result<String, SizingError> {
        if let Some(name) = &fit.maximize {
            return Ok(name.clone());
        }
        let given = fit.given.iter().map(|(name, _)| named::dimension(self, name));
        let given: Vec<Expr> = given.collect::<Result<_, _>>()?;
        let given = self.env.pool.free_symbols(&given);
        let symbols = self.env.pool.free_symbols(&self.input_sizes());
        let left = symbols.into_iter().filter(|symbol| !given.contains(symbol));
        let left: Vec<String> = left.map(|symbol| named::of_symbol(self, symbol)).collect();
        match left.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(SizingError::Question("no size varies that is not given".to_owned())),
            several => {
                let message = format!("several sizes vary: say which of {} to maximize", several.join(", "));
                Err(SizingError::Question(message))
            }
        }
    }

    fn asked(&mut self, fit: &Fit, maximize: &str) -> Result<Asked, SizingError> {
        let size = named::dimension(self, maximize)?;
        let totals = self.totals()?;
        let mut env = self.env.clone();
        for (name, value) in &fit.given {
            let e = named::dimension(self, name)?;
            if e == size {
                return Err(SizingError::Question(format!("{name} is to be maximized, and is given")));
            }
            let value = env.pool.int(value.clone());
            let condition = env.pool.eq(e, value);
            env.assume(condition);
        }
        if env.pool.is_constant(size) {
            return Err(SizingError::Question(format!("{maximize} does not vary")));
        }
        let (pool, facts) = env.facts();
        let found = bounds_from(pool, facts, size, self.starts(), &Budget::default());
        let Some(start) = found.min_at.or(found.max_at) else {
            self.within_limits(&fit.given)?;
            let given: Vec<String> =
                fit.given.iter().map(|(name, value)| format!("{name}={value}")).collect();
            return Err(SizingError::Unanswered(format!(
                "no allowed input was found with {}",
                given.join(", ")
            )));
        };
        let own = env.pool.free_symbols(&[size]);
        for symbol in env.pool.free_symbols(&totals) {
            let e = env.pool.symbol_expr(symbol);
            if self.is_open(e) {
                return Err(SizingError::Unanswered("data decide how much memory is taken".to_owned()));
            }
            let (low, high) = env.bounds(e);
            if !own.contains(&symbol) && (low.is_none() || low != high) {
                let name = named::of_symbol(self, symbol);
                let message =
                    format!("the memory depends on {name}, too: give its size (--given {name}=SIZE)");
                return Err(SizingError::Question(message));
            }
        }
        Ok(Asked { env, size, totals, memory: fit.memory.clone(), start })
    }
}

impl Sizing<'_> {
    /// Refuses sizes that are beyond what is allowed of their dimensions.
    fn within_limits(&mut self, given: &[(String, Int)]) -> Result<(), SizingError> {
        for (name, size) in given {
            let e = named::dimension(self, name)?;
            let ends = self.ends(e);
            let limit = match (&ends.min.value, &ends.max.value) {
                (Some(least), _) if size < least => format!("at least {least}"),
                (_, Some(most)) if size > most => format!("at most {most}"),
                _ => continue,
            };
            return Err(SizingError::Question(format!("{name}={size} is not allowed: {name} is {limit}")));
        }
        Ok(())
    }
}

enum Largest {
    Of((Int, Witness)),
    None,
    Unlimited,
}

impl Asked {
    /// The bytes at an assignment.
    fn bytes(&self, witness: &Witness) -> Option<Int> {
        let mut evaluator = Evaluator::new(&self.env.pool, |symbol| value_in(witness, symbol));
        self.totals.iter().map(|&e| evaluator.int(e).ok()).collect::<Option<Vec<Int>>>()?.into_iter().max()
    }

    /// The ends of the dimension under more conditions.
    fn ends(&mut self, conditions: &[Expr], starts: &[Witness]) -> Bounds {
        let mut env = self.env.clone();
        conditions.iter().for_each(|&condition| env.assume(condition));
        let (pool, facts) = env.facts();
        bounds_from(pool, facts, self.size, starts, &Budget::default())
    }

    /// The conditions that an input fits.
    fn fitting(&mut self) -> Vec<Expr> {
        let memory = self.env.pool.int(self.memory.clone());
        self.totals.clone().into_iter().map(|total| self.env.pool.le(total, memory)).collect()
    }

    fn largest(&mut self) -> Result<Largest, SizingError> {
        let conditions = self.fitting();
        let starts: Vec<Witness> = self.near().into_iter().collect();
        let found = self.ends(&conditions, &starts);
        match (found.max, found.max_at) {
            (Some(size), Some(at)) => Ok(Largest::Of((size, at))),
            (None, _) if found.exact && found.min_at.is_some() => Ok(Largest::Unlimited),
            _ if starts.is_empty() && found.min_at.is_none() && self.is_too_much(&conditions) => {
                Ok(Largest::None)
            }
            _ => Err(SizingError::Unanswered("the largest size that fits was not found".to_owned())),
        }
    }

    /// Whether no allowed input fits.
    fn is_too_much(&mut self, conditions: &[Expr]) -> bool {
        let mut env = self.env.clone();
        let fits = env.pool.and(conditions);
        let never = env.pool.not(fits);
        let (pool, facts) = env.facts();
        sizewise_solve::decide(pool, facts, never, &Budget::default()).verdict.is_implied()
    }

    /// The next size after one, or the least size.
    fn next(&mut self, after: Option<&Int>) -> Result<Option<(Int, Witness)>, SizingError> {
        let conditions: Vec<Expr> = match after {
            Some(size) => {
                let size = self.env.pool.int(size.clone());
                vec![self.env.pool.gt(self.size, size)]
            }
            None => Vec::new(),
        };
        let found = self.ends(&conditions, &[]);
        match (found.min, found.min_at) {
            (Some(size), Some(at)) => Ok(Some((size, at))),
            _ if after.is_some() && self.is_too_much(&conditions) => Ok(None),
            _ => Err(SizingError::Unanswered("the next allowed size was not found".to_owned())),
        }
    }

    /// A large assignment that fits, to begin from: the bytes are taken to grow with the size.
    fn near(&mut self) -> Option<Witness> {
        let [symbol] = self.env.pool.free_symbols(&[self.size])[..] else { return None };
        let e = self.env.pool.symbol_expr(symbol);
        let domain = {
            let (pool, facts) = self.env.facts();
            facts.domain(pool, e)
        };
        let with = |value: &Int| -> Witness {
            let of = |(s, v): &(Symbol, Int)| (*s, if *s == symbol { value.clone() } else { v.clone() });
            self.start.iter().map(of).collect()
        };
        let fits = |value: &Int| self.bytes(&with(value)).is_some_and(|bytes| bytes <= self.memory);
        let mut low = domain.range.lower()?;
        if !fits(&low) {
            return None;
        }
        let most = domain.range.upper();
        let mut step = Int::ONE;
        let mut high = loop {
            let next = &low + &step;
            match &most {
                Some(most) if next > *most => break most + &Int::ONE,
                _ if step.bits() > 62 => return None,
                _ if !fits(&next) => break next,
                _ => low = next,
            }
            step = &step + &step;
        };
        for _ in 0..MAX_STEPS {
            let middle = (&low + &high).floor_div(&Int::from(2))?;
            if middle == low {
                break;
            }
            if fits(&middle) { low = middle } else { high = middle }
        }
        let witness = with(&domain.congruence.previous(&low));
        let (pool, facts) = self.env.facts();
        replays(pool, facts, None, &witness).then_some(witness)
    }
}

impl Fitted {
    /// As JSON.
    pub fn json(&self) -> Json {
        let step = |step: &Option<SizeStep>| match step {
            Some(SizeStep { size, bytes, at }) => {
                json!({"size": int_json(size), "bytes": int_json(bytes), "at": at_json(at)})
            }
            None => Json::Null,
        };
        json!({
            "maximize": self.maximize,
            "fits": step(&self.fits),
            "breaks": step(&self.breaks),
            "unlimited": self.is_unlimited,
            "exact": self.reasons.is_empty(),
            "reasons": self.reasons,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let (mut out, name) = (String::new(), &self.maximize);
        let line = |step: &SizeStep| {
            format!("{name} = {} takes {} bytes: {}", step.size, step.bytes, at_text(&step.at))
        };
        match &self.fits {
            _ if self.is_unlimited => _ = writeln!(out, "  every allowed {name} fits"),
            Some(step) => _ = writeln!(out, "  fits       {}", line(step)),
            None => out.push_str("  no allowed size fits\n"),
        }
        match &self.breaks {
            Some(step) => _ = writeln!(out, "  too large  {}", line(step)),
            None if self.fits.is_some() => out.push_str("  no larger size is allowed\n"),
            None => {}
        }
        if !self.reasons.is_empty() {
            out.push_str("\nnot exact:\n");
            self.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
        }
        out
    }
}

/// The bytes that a text names: `24GB`, `512MiB`, `1000`. GB is a thousand million, GiB is 2^30.
///
/// # Errors
/// When it is no amount.
pub fn memory(text: &str) -> Result<Int, SizingError> {
    let wrong = || {
        let message = format!("expected an amount of memory such as 24GB, 512MiB or 1000000, not {text:?}");
        SizingError::Question(message)
    };
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit: i64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() > 18 || part.len() > 9 || part.contains('.') {
        return Err(wrong());
    }
    let digits: i64 = whole.parse().map_err(|_| wrong())?;
    let mut bytes = &Int::from(digits) * &Int::from(unit);
    if !part.is_empty() {
        let (numerator, denominator) =
            (part.parse::<i64>().map_err(|_| wrong())?, 10_i64.pow(part.len() as u32));
        let more = (&Int::from(numerator) * &Int::from(unit)).floor_div(&Int::from(denominator));
        bytes = &bytes + &more.ok_or_else(wrong)?;
    }
    Ok(bytes)
}
