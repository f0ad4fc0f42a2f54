//! What an exported module itself checks of sizes that a spec leaves to torch (`Dim.AUTO`): the spec promises nothing of them.
use super::examine::Examination;
use super::readable::readable;
use super::simpler::{simpler, simplest};
use super::summary;
use crate::report::{Diagnostic, Level, Outcome};
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Symbol};
use sizewise_solve::Facts;

/// The most conditions that are named, the longest of them in characters, and the most that are looked at.
const MAX_NAMED: usize = 3;
const MAX_SHOWN: usize = 100;
const MAX_CONDITIONS: usize = 64;

impl Examination<'_, '_> {
    /// Notes what the module refuses although the spec is right, as it leaves sizes to torch.
    pub(super) fn note_left_to_module(&mut self) {
        if !self.has_spec || self.report.verdict != Outcome::Ok {
            return;
        }
        let mut pool = self.assumptions.env.pool.clone();
        let known = self.assumptions.env.known_facts();
        let sizes = self.assumptions.inputs.iter().flat_map(|i| i.allowed.iter().flatten().copied());
        let sizes: Vec<Expr> = sizes.collect();
        let mut facts = Facts::new();
        let symbols = pool.free_symbols(&sizes);
        for &symbol in &symbols {
            if let Some(range) = known.range(symbol) {
                facts.declare(&mut pool, symbol, range.clone());
            }
        }
        let is_left =
            |symbol: &Symbol| symbols.contains(symbol) && !self.assumptions.dims.contains_key(symbol);
        let of = |e: Expr| pool.free_symbols(&[e]);
        let conditions: Vec<Expr> = known
            .conditions()
            .iter()
            .copied()
            .filter(|&e| of(e).iter().any(is_left))
            .take(MAX_CONDITIONS)
            .collect();
        // What is said of one size alone is said together.
        let (alone, others): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|&e| of(e).len() == 1);
        let sizes: FxHashSet<Symbol> = alone.iter().flat_map(|&e| of(e)).collect();
        let mut said: Vec<Expr> = Vec::new();
        for &symbol in symbols.iter().filter(|symbol| sizes.contains(symbol)) {
            let own: Vec<Expr> =
                alone.iter().copied().filter(|&e| pool.free_symbols(&[e]) == [symbol]).collect();
            let all = pool.and(&own);
            said.push(simpler(&mut pool, &facts, &[], all).unwrap_or(all));
        }
        for &condition in &said {
            facts.assume(&mut pool, condition);
        }
        for condition in others {
            let simple = simplest(&mut pool, &mut facts, condition);
            facts.assume(&mut pool, condition);
            said.push(simple);
        }
        said.retain(|&e| pool.as_bool(e) != Some(true));
        let shown =
            said.iter().map(|&e| summary::shown_in(self.assumptions, &pool, readable(&pool, &facts, e)));
        let mut shown: Vec<String> = shown.filter(|text| text.chars().count() <= MAX_SHOWN).collect();
        shown.dedup();
        if shown.is_empty() {
            return;
        }
        let more = said.len().saturating_sub(shown.len().min(MAX_NAMED));
        shown.truncate(MAX_NAMED);
        let named: Vec<String> = shown.iter().map(|text| format!("`{text}`")).collect();
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let message = format!(
            "the spec leaves sizes to torch (Dim.AUTO), and the exported module refuses those that break {}{more}",
            named.join(", ")
        );
        self.report.diagnostics.push(Diagnostic::new("left-to-module", Level::Note, message));
    }
}
