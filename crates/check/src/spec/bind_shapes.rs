//! Binding a ShapesSpec: its variables, what is assumed of them, and the sizes that are computed from them.
use super::bind::{Binder, SpecDim};
use super::contract::Contract;
use super::dim::Entry;
use super::error::SpecError;
use super::inputs::{InputKind, ProgramInput};
use super::locate::InputPlace;
use super::parse::Spec;
use super::shapes::Shapes;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;
use sizewise_expr::text::read::{self, Read};
use sizewise_expr::{Expr, Int, Symbol, Value as Number};
use sizewise_ir::PathStep;
use sizewise_solve::requirements;

/// The names that a ParamsSpec has for `*args` and `**kwargs`.
pub(super) const ARGS: &str = "*args";
pub(super) const KWARGS: &str = "**kwargs";

impl Spec {
    /// The spec with the names of the inputs that `*args` takes.
    pub(super) fn with_parameter_names(&self, contract: &Contract) -> Spec {
        let mut named = self.clone();
        let Some(fields) = named.shapes.is_some().then(|| named.tree.as_object_mut()).flatten() else {
            return named;
        };
        if fields.get(KWARGS).and_then(Json::as_object).is_some_and(serde_json::Map::is_empty) {
            fields.remove(KWARGS);
        }
        let Some(Json::Array(items)) = fields.remove(ARGS) else { return named };
        // The values of `*args` are inputs of their own, `args_0` and `args_1`, or items of one parameter.
        let found = contract.inputs.iter().filter_map(|ProgramInput { input, .. }| {
            let (nth, rest) = input.of_varargs()?;
            let Some(PathStep::Parameter(name)) = input.path.first() else { return None };
            Some((nth, name.to_string(), input.path.len() == rest.len() + 2))
        });
        let found: Vec<(usize, String, bool)> = found.collect();
        let count = found.iter().map(|(nth, ..)| nth + 1).max().unwrap_or(0);
        for (i, item) in items.into_iter().enumerate() {
            match found.iter().find(|(nth, ..)| *nth == i) {
                Some((_, name, true)) => {
                    let list = fields.entry(name).or_insert_with(|| vec![Json::Null; count].into());
                    if let Some(slot) = list.get_mut(i) {
                        *slot = item;
                    }
                }
                Some((_, name, false)) => drop(fields.insert(name.clone(), item)),
                None => drop(fields.insert(format!("{ARGS}[{i}]"), item)),
            }
        }
        named
    }
}

impl Binder<'_, '_> {
    /// Takes up the variables of a spec, and their values in the example.
    pub(super) fn add_variables(&mut self, shapes: &Shapes, places: &[InputPlace]) -> Result<(), SpecError> {
        for (key, variable) in &shapes.variables {
            let bare = |place: &&InputPlace| matches!(&place.entry, Entry::Formula(text) if text == key);
            let bares = || places.iter().filter(bare);
            let is_size = bares().any(|place| self.is_size(place));
            let path = bares().next().map(|place| place.path.clone());
            let min = variable.min.clone().or_else(|| is_size.then_some(Int::ZERO));
            let named = SpecDim { min, max: variable.max.clone(), example: None, variable: None, path };
            self.dims.insert(key.clone(), named);
            for place in bares() {
                self.set_example(key, place.example.clone(), &place.path)?;
            }
        }
        self.refuse_unbound(shapes, places)?;
        for place in places {
            if let (Entry::Formula(text), Some(example)) = (&place.entry, &place.example) {
                let read = self.formula(text, &place.path)?;
                if self
                    .at_example(read.expr)
                    .and_then(|value| value.as_int())
                    .is_some_and(|value| value != *example)
                {
                    let message = format!("the traced example has {example}, which is not {text} there");
                    return Err(SpecError::new(&place.path, message));
                }
            }
        }
        for (i, text) in shapes.assumptions.iter().enumerate() {
            let path = format!("assumptions[{i}]");
            let read = self.formula(text, &path)?;
            if self.at_example(read.expr).is_some_and(|value| !value.as_bool()) {
                return Err(SpecError::new(&path, format!("`{text}` does not hold in the traced example")));
            }
        }
        Ok(())
    }

    /// torch takes a variable only if it is the whole size of some dimension, or the value of some number.
    fn refuse_unbound(&mut self, shapes: &Shapes, places: &[InputPlace]) -> Result<(), SpecError> {
        let bare: FxHashSet<&str> = places
            .iter()
            .filter_map(|place| match &place.entry {
                Entry::Formula(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let derived = places.iter().filter_map(|place| match &place.entry {
            Entry::Formula(text) => Some((text, place.path.clone())),
            _ => None,
        });
        let assumed =
            shapes.assumptions.iter().enumerate().map(|(i, text)| (text, format!("assumptions[{i}]")));
        for (text, path) in derived.chain(assumed) {
            let read = self.formula(text, &path)?;
            for symbol in self.env.pool.free_symbols(&[read.expr]) {
                let name = self.env.pool.symbol_name(symbol);
                if !bare.contains(name) {
                    let message = format!(
                        "`{text}` references the unbound variable {name}: every IntVar used in a derived expression or \
                         assumption must also appear as a bare-IntVar slot somewhere in the spec"
                    );
                    return Err(SpecError::new(&path, message));
                }
            }
        }
        Ok(())
    }

    fn is_size(&self, place: &InputPlace) -> bool {
        matches!(self.contract.inputs[place.input].kind, InputKind::Tensor { .. })
    }

    /// A formula over stand-ins that carry the variables' own names.
    pub(super) fn formula(&mut self, text: &str, path: &str) -> Result<Read, SpecError> {
        read::closed(&mut self.env.pool, text)
            .map_err(|error| SpecError::new(path, format!("in `{text}`: {error}")))
    }

    /// The value of a formula in the example, where the example has all of its variables.
    fn at_example(&self, e: Expr) -> Option<Number> {
        let example =
            |s: Symbol| self.dims.get(self.env.pool.symbol_name(s))?.example.clone().map(Number::Int);
        self.env.pool.eval(e, example).ok()
    }

    /// An expression over stand-ins, over the symbols of the variables.
    fn over_symbols(&mut self, e: Expr) -> Expr {
        let dims = &self.dims;
        let symbols = self.env.pool.free_symbols(&[e]);
        let variables: Vec<(Symbol, Expr)> = symbols
            .into_iter()
            .filter_map(|s| Some((s, dims.get(self.env.pool.symbol_name(s))?.variable?)))
            .collect();
        self.env
            .pool
            .substitute_symbols(e, |s| variables.iter().find(|(known, _)| *known == s).map(|(_, e)| *e))
    }

    /// The size that a formula stands for.
    pub(super) fn formula_size(&mut self, text: &str, path: &str) -> Result<Expr, SpecError> {
        let read = self.formula(text, path)?;
        self.require_value(&read);
        Ok(self.over_symbols(read.expr))
    }

    /// Where a formula has no value, the spec allows nothing.
    fn require_value(&mut self, read: &Read) {
        let mut required: Vec<Expr> =
            read.divisors.iter().map(|&divisor| self.env.pool.ne(divisor, Expr::ZERO)).collect();
        let operations: Vec<Expr> = read.dropped.iter().copied().chain([read.expr]).collect();
        required.extend(requirements(&mut self.env.pool, &operations));
        for condition in required {
            let condition = self.over_symbols(condition);
            self.env.assume(condition);
        }
    }

    /// Assumes what a spec assumes of its variables, and that sizes are no less than 0.
    pub(super) fn assume_spec(
        &mut self,
        shapes: &Shapes,
        places: &[InputPlace],
        allowed: &[Expr],
    ) -> Result<(), SpecError> {
        for (place, &size) in places.iter().zip(allowed) {
            if self.is_size(place) && matches!(place.entry, Entry::Formula(_)) {
                let natural = self.env.pool.ge(size, Expr::ZERO);
                self.env.assume(natural);
            }
        }
        for (i, text) in shapes.assumptions.iter().enumerate() {
            let read = self.formula(text, &format!("assumptions[{i}]"))?;
            self.require_value(&read);
            let condition = self.env.pool.truth(read.expr);
            let condition = self.over_symbols(condition);
            self.env.assume(condition);
        }
        Ok(())
    }
}
