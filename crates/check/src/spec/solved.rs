//! Symbols that no size is by itself, as people read them.
use super::change::dimension_name;
use super::contract::Contract;
use super::inputs::InputKind;
use sizewise_expr::{Int, Symbol};

/// A size of an input that is `factor*symbol + offset`.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The size, by the placeholder of its input: `xs_0.shape[1]`.
    pub source: String,
    /// A name for a symbol that stands for the size.
    pub name: String,
    /// The factor.
    pub factor: Int,
    /// What is added.
    pub offset: Int,
}

impl Contract<'_> {
    /// Every size of an input that is a symbol by itself, by the input's placeholder: `xs_0.shape[1]`.
    pub fn places(&self) -> Vec<(Symbol, String)> {
        let mut places = Vec::new();
        for input in &self.inputs {
            let InputKind::Tensor { sizes, .. } = &input.kind else { continue };
            for (dim, &size) in sizes.iter().enumerate() {
                let symbol = self.env.pool.as_symbol(size);
                places.extend(symbol.map(|s| (s, format!("{}.shape[{dim}]", input.input.placeholder))));
            }
        }
        places
    }

    /// A size of an input that determines a symbol; one that the symbol is by itself, if there is one.
    pub fn solved_for(&self, symbol: Symbol) -> Option<Solved> {
        let pool = &self.env.pool;
        let solved = self.inputs.iter().flat_map(|input| {
            let sizes =
                if let InputKind::Tensor { sizes, .. } = &input.kind { sizes.as_slice() } else { &[] };
            sizes.iter().enumerate().filter_map(|(dim, &size)| {
                let poly = pool.poly(size);
                let [(monomial, factor)] = poly.terms.as_slice() else { return None };
                let placeholder = &input.input.placeholder;
                (pool.as_symbol(*monomial) == Some(symbol)).then(|| Solved {
                    source: format!("{placeholder}.shape[{dim}]"),
                    name: dimension_name(placeholder, dim),
                    factor: factor.clone(),
                    offset: poly.constant.clone(),
                })
            })
        });
        solved.min_by_key(|solved| !(solved.factor.is_one() && solved.offset.is_zero()))
    }
}
