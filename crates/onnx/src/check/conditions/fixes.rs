//! Declarations under which a model is right: equal sizes get one name, or a number.
use super::narrow::numbers_in;
use super::simple::without_common_factors;
use super::{Check, checked};
use crate::check::findings::{Fix, Verdict};
use crate::check::names;
use crate::check::symbolic::Named;
use crate::read::message::{Dimension, DimensionProto, TypeValue, ValueInfoProto};
use crate::walk::{Given, declared};
use rustc_hash::FxHashMap;
use sizewise_expr::escape::is_identifier;
use sizewise_expr::{Expr, Func, Node, Symbol};

/// What a size is to be declared as.
#[derive(Clone)]
enum Declared {
    Number(i64),
    Name(String),
}

/// A declaration that makes a condition hold.
struct Remedy {
    /// What stays.
    kept: Declared,
    /// The size that is declared anew.
    replaced: Symbol,
    /// Whether the condition holds at no other sizes.
    is_all: bool,
}

/// Which conditions declarations have to see to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All that are violated.
    All,
    /// Equations; a spec with narrower ranges sees to the others.
    Equations,
}

impl Check<'_> {
    /// Looks for other declarations, or for a narrower spec, under which the model is right.
    pub(super) fn fixes(&mut self, has_spec: bool) {
        // Under a spec it is the spec that is to change.
        let declared = if has_spec { None } else { self.fix(Scope::All) };
        let is_best = declared.as_ref().is_some_and(|fix| !fix.rejects);
        // If both reject shapes at which the model runs, a change of the model's own declarations is the simpler fix.
        let narrowed = if is_best { None } else { self.narrowed() };
        let narrowed = narrowed.filter(|narrowed| declared.is_none() || !narrowed.rejects);
        let both = match (&declared, &narrowed) {
            (None, None) => true,
            (None, Some(narrowed)) => narrowed.rejects,
            _ => false,
        };
        let both = if both && !has_spec { self.fix(Scope::Equations) } else { None };
        let narrowed = narrowed.map(|narrowed| Fix {
            changes: Vec::new(),
            before: self.written(),
            spec: Some(narrowed.spec),
            rejects: narrowed.rejects,
            is_proved: narrowed.is_proved,
        });
        let known = self.written().as_ref().map_or(0, numbers_in);
        let numbers = |fix: &Fix| {
            let declared = fix.changes.iter().filter(|(_, _, text)| text.parse::<i64>().is_ok()).count();
            declared + fix.spec.as_ref().map_or(0, |spec| numbers_in(spec).saturating_sub(known))
        };
        self.report.fixes = declared.into_iter().chain(both).chain(narrowed).collect();
        // Numbers come last: most sizes are lost there. Equal sizes lose more than ranges.
        self.report.fixes.sort_by_key(|fix| (fix.rejects, !fix.is_proved, numbers(fix), fix.changes.len()));
    }

    /// Declares sizes that have to be equal as equal, and checks the model that declares them so, under a narrower spec
    /// where that is asked for. `None` where other conditions are violated as well, or the check does not come out ok.
    fn fix(&self, scope: Scope) -> Option<Fix> {
        let own = self.broken.iter().filter(|(at, _)| !self.report.violations[*at].follows);
        let mut own: Vec<Expr> = own.map(|&(_, condition)| condition).collect();
        if own.is_empty() || !self.report.wrong_outputs.is_empty() {
            return None;
        }
        // What several sizes have to be together settles each of them.
        own.sort_by_key(|&condition| std::cmp::Reverse(self.walk.env.pool.free_symbols(&[condition]).len()));
        let mut changed: FxHashMap<Symbol, Declared> = FxHashMap::default();
        let mut rejects = false;
        for condition in own {
            let mut remedies = self.multiples(condition);
            if remedies.is_empty() && (scope == Scope::All || self.is_equation(condition)) {
                // A spec with ranges is wider than the number of the example.
                let is_wide = |remedy: &Remedy| remedy.is_all || !matches!(remedy.kept, Declared::Number(_));
                let remedy = self.remedy(condition);
                remedies.extend(remedy.filter(|remedy| scope == Scope::All || is_wide(remedy)));
            }
            if remedies.is_empty() && scope == Scope::All {
                return None;
            }
            for Remedy { kept, replaced, is_all } in remedies {
                rejects |= !is_all;
                changed.entry(replaced).or_insert(kept);
            }
        }
        if changed.is_empty() {
            return None;
        }
        let mut model = self.model.clone();
        let mut changes = Vec::new();
        for value in &mut model.graph.input {
            self.declare(value, &changed, &mut changes);
        }
        for value in &mut model.graph.output {
            self.declare(value, &changed, &mut Vec::new());
        }
        let check = checked(&model, None, &self.budget);
        match check.report.verdict {
            Verdict::Ok => Some(Fix { changes, before: None, spec: None, rejects, is_proved: true }),
            Verdict::Unknown if check.open_count() <= self.open_count() => {
                Some(Fix { changes, before: None, spec: None, rejects, is_proved: false })
            }
            Verdict::Violated if scope == Scope::Equations => {
                let narrowed = check.narrowed()?;
                let rejects = rejects || narrowed.rejects;
                let (before, is_proved) = (check.written(), narrowed.is_proved);
                Some(Fix { changes, before, spec: Some(narrowed.spec), rejects, is_proved })
            }
            _ => None,
        }
    }

    /// Whether a condition says what a size is, in one of its parts at least.
    fn is_equation(&self, condition: Expr) -> bool {
        match self.walk.env.pool.node(condition) {
            Some(Node::Call(Func::IsZero, _)) => true,
            Some(Node::Call(Func::Or, parts)) => parts.iter().any(|&part| self.is_equation(part)),
            _ => false,
        }
    }

    /// For each size of a condition on several the multiples that it may be where the others are those of the example:
    /// often any of them do together.
    fn multiples(&self, condition: Expr) -> Vec<Remedy> {
        let symbols = self.walk.env.pool.free_symbols(&[condition]);
        if symbols.len() < 2 || !self.is_equation(condition) {
            return Vec::new();
        }
        let multiple = |&symbol: &Symbol| {
            let (factor, offset) = self.recurring(condition, symbol)?;
            let kept = Declared::Name(self.multiple_of(symbol, factor, offset));
            Some(Remedy { kept, replaced: symbol, is_all: false })
        };
        symbols.iter().map(multiple).collect::<Option<_>>().unwrap_or_default()
    }

    /// The text of a size that is a multiple of a new name.
    fn multiple_of(&self, symbol: Symbol, factor: i64, offset: i64) -> String {
        let name = self.declared_name(symbol).filter(|name| is_identifier(name));
        let root = self.new_name(&name.unwrap_or_else(|| "k".to_owned()));
        let plus = if offset == 0 { String::new() } else { format!(" + {offset}") };
        format!("{factor}*{root}{plus}")
    }

    /// How a condition on one size or two may come to hold: by one name for two sizes, or by the number that a size has
    /// in the example.
    fn remedy(&self, condition: Expr) -> Option<Remedy> {
        let mut places = Vec::new();
        for symbol in &self.walk.env.pool.free_symbols(&[condition]) {
            places.push(self.symbolic.symbols.iter().position(|(known, _)| known == symbol)?);
        }
        places.sort_unstable();
        let symbols: Vec<Symbol> = places.iter().map(|&at| self.symbolic.symbols[at].0).collect();
        if let Some((text, replaced, is_all)) = self.expression(condition, &symbols) {
            return Some(Remedy { kept: Declared::Name(text), replaced, is_all });
        }
        // A clone is a handle of the same pool.
        let mut pool = self.walk.env.pool.clone();
        let (kept, value, replaced) = match *symbols.as_slice() {
            [first, second] if self.is_equation(condition) => {
                // One of them has a name; a new one might mean something elsewhere in the model.
                let named = |kept, replaced| Some((self.declared_name(kept)?, kept, replaced));
                let (name, kept, replaced) = named(first, second).or_else(|| named(second, first))?;
                (Declared::Name(name), pool.symbol_expr(kept), replaced)
            }
            [only] => {
                let number = self.symbolic.hint(only)?;
                (Declared::Number(number), pool.int(number), only)
            }
            _ => return None,
        };
        let size = pool.symbol_expr(replaced);
        Some(Remedy { kept, replaced, is_all: pool.eq(size, value) == condition })
    }

    /// The expression over names that a size has to be, `4*_h` or `past + q`, and whether the condition holds at no
    /// other sizes.
    fn expression(&self, condition: Expr, symbols: &[Symbol]) -> Option<(String, Symbol, bool)> {
        if let [only] = *symbols {
            let (factor, offset, is_all) = match self.regular(condition, only) {
                Some((factor, offset)) => (factor, offset, true),
                None => self.recurring(condition, only).map(|(factor, offset)| (factor, offset, false))?,
            };
            return Some((self.multiple_of(only, factor, offset), only, is_all));
        }
        match self.walk.env.pool.node(condition) {
            Some(Node::Call(Func::IsZero, args)) => {
                let (text, replaced) = self.solved(*args.first()?)?;
                Some((text, replaced, true))
            }
            Some(Node::Call(Func::Or, parts)) => {
                let solved = |&part: &Expr| match self.walk.env.pool.node(part) {
                    Some(Node::Call(Func::IsZero, args)) => self.solved(*args.first()?),
                    _ => None,
                };
                let (text, replaced) = parts.iter().find_map(solved)?;
                Some((text, replaced, false))
            }
            _ => None,
        }
    }

    /// What one symbol is by names of others, where a difference is 0: a sum of them.
    fn solved(&self, difference: Expr) -> Option<(String, Symbol)> {
        // A clone is a handle of the same pool.
        let mut pool = self.walk.env.pool.clone();
        let (poly, _) = without_common_factors(&mut pool, difference);
        let name = |symbol| self.declared_name(symbol).filter(|name| is_identifier(name));
        let solved = |at: usize| {
            let replaced = pool.as_symbol(poly.terms[at].0)?;
            let rest = poly.solved_for(at)?;
            let constant = rest.constant.to_i64().filter(|&constant| constant >= 0)?;
            // Two sizes that are equal get one name.
            let is_name = matches!(rest.terms.as_slice(), [(_, factor)] if factor.is_one());
            if rest.terms.is_empty() || constant == 0 && is_name {
                return None;
            }
            let mut parts = Vec::new();
            for (term, factor) in &rest.terms {
                let name = name(pool.as_symbol(*term)?)?;
                match factor.to_i64()? {
                    1 => parts.push(name),
                    factor if factor > 1 => parts.push(format!("{factor}*{name}")),
                    _ => return None,
                }
            }
            parts.extend((constant > 0).then(|| constant.to_string()));
            Some((parts.join(" + "), replaced))
        };
        // A size without a name is the first to get one.
        let mut found: Vec<_> = (0..poly.terms.len()).rev().filter_map(solved).collect();
        found.sort_by_key(|(_, replaced)| self.declared_name(*replaced).is_some());
        found.into_iter().next()
    }

    /// A name that nothing in the model has.
    fn new_name(&self, name: &str) -> String {
        let is_taken = |new: &str| {
            let named = &self.symbolic.symbols;
            let outputs = self.model.graph.output.iter();
            let mut outputs = outputs.filter_map(|value| declared(&value.name, value.r#type.as_ref()).shape);
            let says = |given: &Given| match given {
                Given::Name(text) => text == new || names::words(text).into_iter().any(|at| &text[at] == new),
                _ => false,
            };
            named.iter().any(|(_, named)| named.name == new || named.declared.as_deref() == Some(new))
                || outputs.any(|shape| shape.iter().any(says))
        };
        let mut new = format!("_{name}");
        while is_taken(&new) {
            new.insert(0, '_');
        }
        new
    }

    /// The name that the model declares for a size.
    fn declared_name(&self, symbol: Symbol) -> Option<String> {
        let (_, named) = self.symbolic.symbols.iter().find(|(known, _)| *known == symbol)?;
        named.declared.clone()
    }

    /// Changes the declaration of a value, and lists what was changed.
    fn declare(
        &self,
        value: &mut ValueInfoProto,
        changed: &FxHashMap<Symbol, Declared>,
        changes: &mut Vec<(String, usize, String)>,
    ) {
        let name = value.name.clone();
        let Some(TypeValue::Tensor(tensor)) = value.r#type.as_mut().and_then(|t| t.value.as_mut()) else {
            return;
        };
        for (at, dim) in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim).enumerate() {
            let Some(declared) = self.symbol_of(&name, at, dim).and_then(|symbol| changed.get(&symbol))
            else {
                continue;
            };
            let (value, text) = match declared {
                Declared::Number(number) => (Dimension::Size(*number), number.to_string()),
                Declared::Name(name) => (Dimension::Name(name.clone()), name.clone()),
            };
            dim.value = Some(value);
            changes.push((name.clone(), at, text));
        }
    }

    /// The symbol of a dimension that is declared by a name, or by nothing.
    fn symbol_of(&self, value: &str, at: usize, dim: &DimensionProto) -> Option<Symbol> {
        let is_it = |named: &Named| match &dim.value {
            Some(Dimension::Name(name)) if named.declared.is_some() => named.declared.as_ref() == Some(name),
            Some(Dimension::Size(size)) if *size >= 0 => false,
            _ => {
                named.declared.is_none() && named.source.as_ref().is_some_and(|(v, d)| v == value && *d == at)
            }
        };
        self.symbolic.symbols.iter().find(|(_, named)| is_it(named)).map(|(symbol, _)| *symbol)
    }
}
