//! Declarations under which a model is right: equal sizes get one name, or a number.
use super::{Check, checked};
use crate::check::findings::{Fix, Verdict};
use crate::check::symbolic::Named;
use crate::read::message::{Dimension, DimensionProto, TypeValue, ValueInfoProto};
use rustc_hash::FxHashMap;
use sizewise_expr::escape::is_identifier;
use sizewise_expr::{Expr, Func, Node, Poly, Pool, Symbol};

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

impl Check<'_> {
    /// Looks for other declarations, or for a narrower spec, under which the model is right.
    pub(super) fn fixes(&mut self, has_spec: bool) {
        // Under a spec it is the spec that is to change.
        let declared = if has_spec { None } else { self.fix() };
        let is_best = declared.as_ref().is_some_and(|fix| !fix.rejects);
        // If both reject shapes at which the model runs, a change of the model's own declarations is the simpler fix.
        let narrowed = if is_best { None } else { self.narrowed() };
        let narrowed = narrowed.filter(|narrowed| declared.is_none() || !narrowed.rejects);
        let narrowed = narrowed.map(|n| Fix { changes: Vec::new(), spec: Some(n.spec), rejects: n.rejects });
        if narrowed.is_some() {
            self.report.spec = self.written();
        }
        self.report.fixes = declared.into_iter().chain(narrowed).collect();
        self.report.fixes.sort_by_key(|fix| fix.rejects);
    }

    /// Declares sizes that have to be equal as equal, and checks the model that declares them so. `None` where other
    /// conditions are violated as well, or the check does not come out ok.
    fn fix(&self) -> Option<Fix> {
        let own = self.broken.iter().filter(|(at, _)| !self.report.violations[*at].follows);
        let own: Vec<Expr> = own.map(|&(_, condition)| condition).collect();
        if own.is_empty() || !self.report.wrong_outputs.is_empty() {
            return None;
        }
        let mut changed: FxHashMap<Symbol, Declared> = FxHashMap::default();
        let mut rejects = false;
        for condition in own {
            let Remedy { kept, replaced, is_all } = self.remedy(condition)?;
            rejects |= !is_all;
            // A name that is replaced itself would have to be followed.
            if changed.contains_key(&replaced) {
                return None;
            }
            changed.insert(replaced, kept);
        }
        let mut model = self.model.clone();
        let mut changes = Vec::new();
        for value in &mut model.graph.input {
            self.declare(value, &changed, &mut changes);
        }
        for value in &mut model.graph.output {
            self.declare(value, &changed, &mut Vec::new());
        }
        (checked(&model, None, &self.budget).report.verdict == Verdict::Ok).then_some(Fix {
            changes,
            spec: None,
            rejects,
        })
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
            [first, second] => {
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
        let name = |symbol| self.declared_name(symbol).filter(|name| is_identifier(name));
        let multiple = |symbol, factor, offset| {
            let root = self.new_name(&name(symbol).unwrap_or_else(|| "k".to_owned()));
            let plus = if offset == 0 { String::new() } else { format!(" + {offset}") };
            format!("{factor}*{root}{plus}")
        };
        if let [only] = *symbols {
            let (factor, offset) = self.regular(condition, only)?;
            return Some((multiple(only, factor, offset), only, true));
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
        let poly = without_common_factor(&mut pool, difference);
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
            named.iter().any(|(_, named)| named.name == new || named.declared.as_deref() == Some(new))
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

/// A difference that is 0 where this one is, at sizes of at least 1: without the sizes that all its terms have.
fn without_common_factor(pool: &mut Pool, difference: Expr) -> Poly {
    let mut poly = pool.poly(difference);
    while poly.constant.is_zero() && poly.terms.len() > 1 {
        let monomials: Vec<_> = poly.terms.iter().map(|(term, _)| pool.monomial(*term)).collect();
        let has = |factor: Expr| monomials.iter().all(|m| m.iter().any(|(own, _)| *own == factor));
        let common = monomials[0].iter().map(|(factor, _)| *factor);
        let Some(common) = common.into_iter().find(|&factor| pool.as_symbol(factor).is_some() && has(factor))
        else {
            break;
        };
        let mut terms = Vec::new();
        for (monomial, (_, coefficient)) in monomials.iter().zip(&poly.terms) {
            let left = monomial.iter().map(|&(own, power)| (own, power - u32::from(own == common)));
            let left: Vec<(Expr, u32)> = left.filter(|(_, power)| *power > 0).collect();
            let (term, coefficient) = (pool.from_monomial(&left), pool.int(coefficient.clone()));
            terms.push(pool.mul(term, coefficient));
        }
        let sum = pool.sum(terms);
        poly = pool.poly(sum);
    }
    poly
}
