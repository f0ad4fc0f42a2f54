//! Optimization profiles: the least, the usual and the greatest shapes of the inputs.
use super::at::{At, at_json, at_text};
use super::{Sizing, SizingError, named};
use serde_json::{Value as Json, json};
use sizewise_check::spec::Shape;
use sizewise_expr::{Expr, Int, Symbol, Value};
use sizewise_solve::{Budget, Witness, bounds_from, replays};
use std::fmt::Write;

/// Shapes of the inputs between which an engine is to work.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The least shapes.
    pub min: At,
    /// Those of the example, or near them.
    pub opt: At,
    /// The greatest shapes.
    pub max: At,
    /// The inputs whose shapes vary.
    pub dynamic: Vec<String>,
    /// Why allowed inputs may lie outside; empty where all of them lie between the least and the greatest.
    pub reasons: Vec<String>,
}

impl Sizing<'_> {
    /// The least, usual and greatest shapes of the inputs. Each of the three is allowed.
    ///
    /// # Errors
    /// When a size has no bound.
    pub fn profile(&mut self) -> Result<Profile, SizingError> {
        let sizes = self.input_sizes();
        let mut needs = Vec::new();
        for &size in &sizes {
            if self.ends(size).max.value.is_none() {
                let names = named::endless(self, size);
                needs.extend(if names.is_empty() { vec![self.shown(size)] } else { names });
            }
        }
        needs.sort();
        needs.dedup();
        if !needs.is_empty() {
            return Err(named::no_bound("a size", &needs));
        }
        let (least, most) = (self.corner(&sizes, true)?, self.corner(&sizes, false)?);
        let usual = self.usual(&least, &most);
        let mut reasons = self.left_outside(&sizes, &least, &most);
        let at = |witness: &Witness| {
            let at = self.inputs_at(witness);
            at.ok_or_else(|| SizingError::Unanswered("the shapes cannot be computed".to_owned()))
        };
        let (min, opt, max) = (at(&least)?, at(&usual)?, at(&most)?);
        for at in [&min, &opt, &max] {
            if !(self.replay)(at) {
                reasons.push(format!("the program refuses {}, which the spec allows", at_text(at)));
            }
        }
        let varies = |sizes: &[Expr]| sizes.iter().any(|&e| !self.env.pool.is_constant(e));
        let dynamic = self.inputs.iter().filter(|input| input.allowed.as_deref().is_some_and(varies));
        let dynamic = dynamic.map(|input| input.placeholder.to_string()).collect();
        Ok(Profile { min, opt, max, dynamic, reasons })
    }

    /// The sizes of inputs that vary, each once.
    pub(super) fn input_sizes(&self) -> Vec<Expr> {
        let mut sizes: Vec<Expr> = Vec::new();
        for &size in self.inputs.iter().flat_map(|input| input.allowed.iter().flatten()) {
            if !self.env.pool.is_constant(size) && !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        sizes
    }

    /// An allowed assignment of the least or the greatest sizes: of all of them where there is one, else of the least or
    /// greatest sum.
    fn corner(&mut self, sizes: &[Expr], is_least: bool) -> Result<Witness, SizingError> {
        let starts = self.starts().to_vec();
        let total = self.env.pool.sum(sizes.iter().copied());
        let (pool, facts) = self.env.facts();
        let found = bounds_from(pool, facts, total, &starts, &Budget::default());
        let at = if is_least { found.min_at } else { found.max_at };
        at.ok_or_else(|| {
            SizingError::Unanswered("the least and the greatest shapes were not found".to_owned())
        })
    }

    /// Why allowed inputs may lie outside of two corners.
    fn left_outside(&mut self, sizes: &[Expr], least: &Witness, most: &Witness) -> Vec<String> {
        let mut reasons = Vec::new();
        for &size in sizes {
            let ends = self.ends(size);
            for (end, corner, word) in [(&ends.min, least, "less"), (&ends.max, most, "more")] {
                if end.value.is_none() || self.value_at(size, corner) != end.value {
                    reasons.push(format!("{} may be {word} than it is here", self.shown(size)));
                }
            }
        }
        reasons
    }

    pub(super) fn value_at(&self, e: Expr, witness: &Witness) -> Option<Int> {
        let value = |symbol: Symbol| super::at::value_in(witness, symbol);
        self.env.pool.eval(e, value).ok()?.as_int()
    }

    /// The sizes of the example, moved between the corners; where that is not allowed, those of a corner.
    fn usual(&mut self, least: &Witness, most: &Witness) -> Witness {
        let end = |witness: &Witness, symbol: Symbol| {
            witness.iter().find(|(known, _)| *known == symbol).map(|(_, value)| value.clone())
        };
        let usual = |&(symbol, ref low): &(Symbol, Int)| {
            let high = end(most, symbol).unwrap_or_else(|| low.clone());
            let hint = match self.env.symbol(symbol).and_then(|info| info.hint.clone()) {
                Some(Value::Int(hint)) => hint,
                _ => low.clone(),
            };
            (symbol, hint.min(low.clone().max(high.clone())).max(low.clone().min(high)))
        };
        let moved: Witness = least.iter().map(usual).collect();
        let (pool, facts) = self.env.facts();
        if replays(pool, facts, None, &moved) { moved } else { most.clone() }
    }
}

impl Profile {
    /// The flags of `trtexec`.
    pub fn flags(&self) -> Vec<String> {
        let shapes = |at: &At| {
            let of = |(name, shape): &(std::sync::Arc<str>, Shape)| match shape {
                Shape::Tensor(sizes) if self.dynamic.iter().any(|known| **known == **name) => {
                    let sizes: Vec<String> = sizes.iter().map(Int::to_string).collect();
                    Some(format!("{name}:{}", sizes.join("x")))
                }
                _ => None,
            };
            at.iter().filter_map(of).collect::<Vec<_>>().join(",")
        };
        if self.dynamic.is_empty() {
            return Vec::new();
        }
        [("min", &self.min), ("opt", &self.opt), ("max", &self.max)]
            .map(|(name, at)| format!("--{name}Shapes={}", shapes(at)))
            .to_vec()
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        json!({
            "min": at_json(&self.min),
            "opt": at_json(&self.opt),
            "max": at_json(&self.max),
            "flags": self.flags(),
            "exact": self.reasons.is_empty(),
            "reasons": self.reasons,
        })
    }

    /// The flags, a line each, and what lies outside.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let flags = self.flags();
        if flags.is_empty() {
            out.push_str("no size varies\n");
        }
        flags.iter().for_each(|flag| _ = writeln!(out, "{flag}"));
        if !self.reasons.is_empty() {
            out.push_str("\nnot everything that the spec allows lies between these:\n");
            self.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
        }
        out
    }
}
