//! A static memory plan: one arena, with a place in it for every buffer, that is valid at all allowed sizes.
use super::arena::{Block, arena, greedy, lower_bound, overlaps};
use super::named;
use super::{Sizing, SizingError};
use crate::Branches;
use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;

/// The most bytes of an arena.
const MAX_BYTES: u64 = 1 << 60;

/// A buffer with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The value that it holds first.
    pub value: Arc<str>,
    /// Where it begins.
    pub offset: u64,
    /// The most bytes that it has.
    pub bytes: u64,
    /// The step that makes it.
    pub from: usize,
    /// The last step that uses it.
    pub to: usize,
    /// The branches that it is made in.
    pub branches: Branches,
}

/// A memory plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The bytes of the arena.
    pub arena_bytes: u64,
    /// The most bytes that are in use together, each buffer being as large as it gets: no plan takes less.
    pub lower_bound: u64,
    /// What placing the largest buffers first would take.
    pub greedy_bytes: u64,
    /// What offsets are multiples of.
    pub alignment: u64,
    /// The buffers, in the order in which they are made.
    pub buffers: Vec<Planned>,
    /// What the plan leaves out or guesses.
    pub reasons: Vec<String>,
}

impl Sizing<'_> {
    /// A memory plan. Every buffer begins at a multiple of `alignment`.
    ///
    /// # Errors
    /// When a buffer has no bound, or the whole is too large.
    pub fn plan(&mut self, alignment: u64) -> Result<Plan, SizingError> {
        if !alignment.is_power_of_two() || alignment > 1 << 20 {
            let message = format!("the alignment is a power of two of at most 1048576, not {alignment}");
            return Err(SizingError::Question(message));
        }
        let buffers = self.memory.buffers.clone();
        let (mut blocks, mut needs, mut open) = (Vec::with_capacity(buffers.len()), Vec::new(), Vec::new());
        for buffer in &buffers {
            let Some(most) = self.ends(buffer.bytes).max.value.clone() else {
                let names = named::endless(self, buffer.bytes);
                if names.is_empty() {
                    open.push(format!("`{}`", buffer.value));
                }
                needs.extend(names);
                continue;
            };
            let bytes = most.to_i64().and_then(|bytes| u64::try_from(bytes.max(0)).ok());
            let bytes =
                bytes.filter(|&bytes| bytes < MAX_BYTES).map(|bytes| bytes.next_multiple_of(alignment));
            let Some(bytes) = bytes else {
                return Err(SizingError::Unanswered(format!("`{}` may have {most} bytes", buffer.value)));
            };
            let branches = buffer.branches.clone();
            blocks.push(Block { bytes, from: buffer.from, to: buffer.to, branches });
        }
        needs.sort();
        needs.dedup();
        if !needs.is_empty() {
            return Err(named::no_bound("the memory", &needs));
        }
        if let Some(value) = open.first() {
            return Err(named::no_bound(&format!("the bytes of {value}"), &[]));
        }
        if blocks
            .iter()
            .try_fold(0_u64, |sum, block| sum.checked_add(block.bytes))
            .is_none_or(|sum| sum > MAX_BYTES)
        {
            return Err(SizingError::Unanswered(
                "the buffers take more bytes than any memory has".to_owned(),
            ));
        }
        let (found, simple) = (arena(&blocks), greedy(&blocks));
        // What is given out is checked.
        let found = if overlaps(&blocks, &found.offsets).is_none() { found } else { simple.clone() };
        if overlaps(&blocks, &found.offsets).is_some() {
            return Err(SizingError::Unanswered("no plan was found".to_owned()));
        }
        let planned =
            buffers.into_iter().zip(&blocks).zip(&found.offsets).map(|((buffer, block), &offset)| Planned {
                value: buffer.value,
                offset,
                bytes: block.bytes,
                from: block.from,
                to: block.to,
                branches: buffer.branches,
            });
        let mut reasons = self.reasons.clone();
        reasons.extend(self.memory.reasons.iter().filter(|reason| !self.reasons.contains(reason)).cloned());
        Ok(Plan {
            arena_bytes: found.bytes,
            lower_bound: lower_bound(&blocks),
            greedy_bytes: simple.bytes,
            alignment,
            buffers: planned.collect(),
            reasons,
        })
    }
}

impl Plan {
    /// As JSON.
    pub fn json(&self) -> Json {
        let buffer = |b: &Planned| {
            let mut fields =
                json!({"value": &*b.value, "offset": b.offset, "bytes": b.bytes, "from": b.from, "to": b.to});
            if !b.branches.list().is_empty() {
                fields["branches"] = json!(b.branches.list());
            }
            fields
        };
        json!({
            "arena_bytes": self.arena_bytes,
            "lower_bound": self.lower_bound,
            "greedy_bytes": self.greedy_bytes,
            "alignment": self.alignment,
            "exact": self.reasons.is_empty(),
            "reasons": self.reasons,
            "buffers": self.buffers.iter().map(buffer).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (what, bytes) in [
            ("arena", self.arena_bytes),
            ("in use together", self.lower_bound),
            ("largest first", self.greedy_bytes),
        ] {
            _ = writeln!(out, "  {what:18}{bytes} bytes");
        }
        _ = writeln!(out, "\n  {:>12} {:>12} {:>13}  value", "offset", "bytes", "steps");
        for b in &self.buffers {
            let steps = format!("{}..{}", b.from, b.to);
            _ = writeln!(out, "  {:>12} {:>12} {steps:>13}  {}", b.offset, b.bytes, b.value);
        }
        if !self.reasons.is_empty() {
            out.push_str("\nnot exact:\n");
            self.reasons.iter().for_each(|reason| _ = writeln!(out, "  {reason}"));
        }
        out
    }
}
