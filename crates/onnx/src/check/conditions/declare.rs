//! Models with other declarations of their inputs and outputs.
use super::Check;
use crate::check::declaration::written_size;
use crate::check::names;
use crate::check::symbolic::SizeSymbol;
use rustc_hash::FxHashMap;
use sizewise_expr::escape::is_identifier;
use sizewise_expr::text::print;
use sizewise_expr::{Pool, Symbol};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::{Dimension, DimensionProto, TypeValue, ValueInfoProto};

/// What sizes are to be declared as.
pub(super) type Changed = FxHashMap<Symbol, String>;

impl Check<'_> {
    /// Changes the declarations of sizes, also where outputs have them by name.
    pub(super) fn declare(&self, model: &mut Model, changed: &Changed) {
        for value in model.graph.input.iter_mut().chain(&mut model.graph.output) {
            self.declare_value(value, changed);
        }
    }

    fn declare_value(&self, value: &mut ValueInfoProto, changed: &Changed) {
        let name = value.name.clone();
        let Some(TypeValue::Tensor(tensor)) = value.r#type.as_mut().and_then(|t| t.value.as_mut()) else {
            return;
        };
        for (at, dim) in tensor.shape.iter_mut().flat_map(|shape| &mut shape.dim).enumerate() {
            if let Some(size) = self.symbol_of(&name, at, dim).and_then(|symbol| changed.get(&symbol)) {
                dim.value = Some(written_size(size));
            } else if let Some(Dimension::Name(text)) = &dim.value
                && let Some(text) = self.within(text, changed)
            {
                dim.value = Some(written_size(&text));
            }
        }
    }

    /// An expression with changed sizes in the place of their names; `None` where it has none of them.
    fn within(&self, text: &str, changed: &Changed) -> Option<String> {
        let words = names::words(text);
        let is_known = |word: &std::ops::Range<usize>| self.symbolic.names.contains_key(&text[word.clone()]);
        if self.symbolic.names.contains_key(text) || !names::has_operator(text) || !words.iter().all(is_known)
        {
            return None;
        }
        let new = |word: &str| {
            let is_it = |symbol: &Symbol| self.declared_name(*symbol).as_deref() == Some(word);
            changed.iter().find(|(symbol, _)| is_it(symbol)).map(|(_, size)| size)
        };
        let (mut written, mut end, mut is_changed) = (String::new(), 0, false);
        for word in words {
            written.push_str(&text[end..word.start]);
            match new(&text[word.clone()]) {
                Some(size) => {
                    is_changed = true;
                    written += &format!("({size})");
                }
                None => written.push_str(&text[word.clone()]),
            }
            end = word.end;
        }
        written.push_str(&text[end..]);
        is_changed.then(|| plain(&written).unwrap_or(written))
    }

    /// The symbol of a dimension that is declared by a name, or by nothing.
    fn symbol_of(&self, value: &str, at: usize, dim: &DimensionProto) -> Option<Symbol> {
        let is_it = |named: &SizeSymbol| match &dim.value {
            Some(Dimension::Name(name)) if named.declared.is_some() => named.declared.as_ref() == Some(name),
            Some(Dimension::Size(size)) if *size >= 0 => false,
            _ => {
                named.declared.is_none() && named.source.as_ref().is_some_and(|(v, d)| v == value && *d == at)
            }
        };
        self.symbolic.symbols.iter().find(|(_, named)| is_it(named)).map(|(symbol, _)| *symbol)
    }
}

/// The text of an expression over names in its usual form.
fn plain(text: &str) -> Option<String> {
    let mut pool = Pool::new();
    for word in names::words(text) {
        let word = &text[word];
        if !is_identifier(word) || !names::usable(word) {
            return None;
        }
        pool.symbol(word);
    }
    let e = names::expression(&mut pool, text, &|name| Some(name.to_owned()))?;
    Some(print::python(&pool, e, &|symbol| pool.symbol_name(symbol).to_owned()))
}
