//! Binding a spec to a program: which symbols stand for which dimensions, what is assumed about them, and what
//! remains to be proved.
use super::assumptions::{Assumptions, Demand, DemandKind, InputSizes};
use super::contract::{Contract, UNCHECKED_MINIMUM, bound_conditions, solve_linear};
use super::dim::{DimSpec, Entry, Hint, computed};
use super::error::SpecError;
use super::inputs::InputKind;
use super::locate::{InputPlace, places};
use super::parse::Spec;
use crate::records::{Records, range};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol, Value as Number};
use sizewise_ir::Bounds;

/// Binds a spec to a program's contract.
///
/// A program symbol whose dimension the spec names stands for that named dimension; on `AUTO` and `DYNAMIC`
/// dimensions the program's own ranges, and the guards that concern such dimensions or bound one of them, are assumed.
/// Everything else that the program records of its inputs becomes a demand.
///
/// # Errors
/// When the spec does not fit the program: an input that does not exist, a wrong rank, contradictory ranges
/// for one name, an example that the spec excludes.
pub fn bind<'p>(contract: &Contract<'p>, spec: &Spec) -> Result<Assumptions<'p>, SpecError> {
    let spec = &spec.resolved(contract)?;
    let places = places(contract, spec)?;
    let mut binder = Binder {
        contract,
        env: contract.env.with_own_pool(),
        records: contract.records.clone(),
        dims: IndexMap::new(),
        bound: FxHashSet::default(),
        computed: FxHashSet::default(),
        assumed: Vec::new(),
        demands: Vec::new(),
        dim_names: FxHashMap::default(),
    };
    binder.collect_dims(&places)?;
    if let Some(shapes) = spec.shapes() {
        binder.add_variables(shapes, &places)?;
    }
    binder.claim_symbols(&places);
    let mut allowed = Vec::with_capacity(places.len());
    for place in &places {
        allowed.push(binder.allowed(place)?);
    }
    binder.bind_symbols(&places, &allowed);
    binder.bind_computed(&places, &mut allowed);
    binder.declare_free();
    if let Some(shapes) = spec.shapes() {
        binder.assume_spec(shapes, &places, &allowed)?;
    }
    binder.demand_sizes(&places, &allowed);
    binder.demand_contract();
    Ok(binder.finish(&places, &allowed))
}

/// A named dimension of the spec, or a variable.
pub(super) struct SpecDim {
    /// The least value, if there is one.
    pub min: Option<Int>,
    /// The greatest value, if there is one.
    pub max: Option<Int>,
    /// Its size in the example, once an input or a derived dimension determines it.
    pub example: Option<Int>,
    /// The symbol that stands for it, once there is one.
    pub variable: Option<Expr>,
    /// Its first occurrence: `x.shape[0]`.
    pub path: Option<String>,
}

pub(super) struct Binder<'c, 'p> {
    pub contract: &'c Contract<'p>,
    pub env: ShapeEnv,
    pub records: Records<'p>,
    pub dims: IndexMap<String, SpecDim>,
    /// Program symbols that the spec determines.
    pub bound: FxHashSet<Symbol>,
    /// Those of them that the spec leaves to the program, and that the program's guards hold to sizes of the spec.
    pub computed: FxHashSet<Symbol>,
    assumed: Vec<Expr>,
    pub demands: Vec<Demand>,
    dim_names: FxHashMap<Symbol, String>,
}

impl<'p> Binder<'_, 'p> {
    /// Gathers the named dimensions, their ranges and their sizes at the example.
    fn collect_dims(&mut self, places: &[InputPlace]) -> Result<(), SpecError> {
        for place in places {
            match &place.entry {
                Entry::Dim(dim) => {
                    self.add_dim(dim, &place.path)?;
                    if let Some(named) = self.dims.get_mut(&dim.name) {
                        named.path.get_or_insert_with(|| place.path.clone());
                    }
                    self.set_example(&dim.name, place.example.clone(), &place.path)?;
                }
                Entry::Derived { root, .. } => self.add_dim(root, &place.path)?,
                Entry::Inferred { min, max, .. } => {
                    let Some(example) = &place.example else { continue };
                    if min.as_ref().is_some_and(|min| example < min)
                        || max.as_ref().is_some_and(|max| example > max)
                    {
                        let message =
                            format!("the traced example has {example}, outside the range of the hint");
                        return Err(SpecError::new(&place.path, message));
                    }
                }
                Entry::Size(size) if place.example.as_ref().is_some_and(|e| e != size) => {
                    let example = place.example.clone().unwrap_or_default();
                    let message = format!("the spec says {size}, the program was traced with {example}");
                    return Err(SpecError::new(&place.path, message));
                }
                _ => {}
            }
        }
        for place in places {
            if let Entry::Derived { expression, root } = &place.entry {
                let e = self.derived(expression, root, &place.path)?;
                let Some(example) = &place.example else { continue };
                let symbol = self.env.pool.free_symbols(&[e]).into_iter().next();
                let (Some((_, value)), Some(_)) = (solve_linear(&self.env, e, example, |_| false), symbol)
                else {
                    let message = format!("no {} makes {expression} the traced size {example}", root.name);
                    return Err(SpecError::new(&place.path, message));
                };
                self.set_example(&root.name, Some(value), &place.path)?;
            }
        }
        Ok(())
    }

    fn add_dim(&mut self, dim: &DimSpec, path: &str) -> Result<(), SpecError> {
        match self.dims.get(&dim.name) {
            None => {
                let (min, max) = (Some(dim.min.clone()), dim.max.clone());
                let named = SpecDim { min, max, example: None, variable: None, path: None };
                self.dims.insert(dim.name.clone(), named);
                Ok(())
            }
            Some(known) => dim
                .agrees(known.min.as_ref(), known.max.as_ref())
                .map_err(|message| SpecError::new(path, message)),
        }
    }

    pub(super) fn set_example(
        &mut self,
        name: &str,
        example: Option<Int>,
        path: &str,
    ) -> Result<(), SpecError> {
        let (Some(named), Some(example)) = (self.dims.get_mut(name), example) else { return Ok(()) };
        if let Some(known) = &named.example
            && *known != example
        {
            let message = format!("{name} is {example} in the traced example here and {known} before");
            return Err(SpecError::new(path, message));
        }
        let is_less = named.min.as_ref().is_some_and(|min| example < *min);
        if is_less || named.max.as_ref().is_some_and(|max| example > *max) {
            let message = format!("the traced example has {name} = {example}, outside the range of {name}");
            return Err(SpecError::new(path, message));
        }
        named.example = Some(example);
        Ok(())
    }

    /// A derived dimension's expression over a stand-in symbol that carries the root's own name.
    fn derived(&mut self, expression: &str, root: &DimSpec, path: &str) -> Result<Expr, SpecError> {
        computed(&mut self.env.pool, expression, &[&root.name])
            .map_err(|message| SpecError::new(path, message))
    }

    /// Lets a program's symbol stand for a named dimension where it is recorded as the size of that dimension.
    fn claim_symbols(&mut self, places: &[InputPlace]) {
        for place in places {
            let (name, symbol) = match &place.entry {
                Entry::Dim(dim) => (dim.name.clone(), self.env.pool.as_symbol(place.recorded)),
                // A phantom root: `2*_b` recorded as `2*s0` makes s0 the root.
                Entry::Derived { expression, root } => {
                    let Ok(e) = self.derived(expression, root, &place.path) else { continue };
                    let (ours, theirs) = (self.env.pool.poly(e), self.env.pool.poly(place.recorded));
                    let matching = match (ours.terms.as_slice(), theirs.terms.as_slice()) {
                        ([(_, a)], [(s, b)]) if a == b && ours.constant == theirs.constant => {
                            self.env.pool.as_symbol(*s)
                        }
                        _ => None,
                    };
                    (root.name.clone(), matching)
                }
                Entry::Formula(text) => (text.clone(), self.env.pool.as_symbol(place.recorded)),
                _ => continue,
            };
            let Some(symbol) = symbol.filter(|s| !self.bound.contains(s)) else { continue };
            if let Some(named) = self.dims.get_mut(&name)
                && named.variable.is_none()
            {
                named.variable = Some(self.env.pool.symbol_expr(symbol));
                self.bound.insert(symbol);
            }
        }
        let names: Vec<String> = self.dims.keys().cloned().collect();
        for name in names {
            let variable = match self.dims[&name].variable {
                Some(variable) => variable,
                None => self.fresh(&name),
            };
            self.declare_dim(&name, variable);
        }
    }

    /// A symbol of a name that the program does not use.
    fn fresh(&mut self, name: &str) -> Expr {
        let mut free = name.to_string();
        while self.env.pool.find_symbol(&free).is_some_and(|s| self.bound.contains(&s) || self.is_programs(s))
        {
            free.push('_');
        }
        self.env.pool.symbol(&free)
    }

    fn is_programs(&self, symbol: Symbol) -> bool {
        self.contract.env.pool.find_symbol(self.env.pool.symbol_name(symbol)).is_some()
    }

    fn declare_dim(&mut self, name: &str, variable: Expr) {
        let Some(named) = self.dims.get_mut(name) else { return };
        named.variable = Some(variable);
        let range = ValueRange::between_options(named.min.clone(), named.max.clone());
        let hint = named.example.clone().map(Number::Int);
        let path = named.path.clone();
        let Some(symbol) = self.env.pool.as_symbol(variable) else { return };
        let symbol_name = self.env.pool.symbol_name(symbol).to_string();
        let info = SymbolInfo { hint, source: self.contract.source(symbol).or_else(|| path.map(Into::into)) };
        self.env.declare(&symbol_name, range.unwrap_or_else(ValueRange::all), info);
        self.dim_names.insert(symbol, name.to_string());
    }

    /// The size that the spec allows for a place.
    fn allowed(&mut self, place: &InputPlace) -> Result<Expr, SpecError> {
        let recorded_is_static = self.env.pool.is_constant(place.recorded);
        Ok(match &place.entry {
            Entry::Static | Entry::Size(_) => match (&place.example, &place.entry) {
                (Some(example), _) => self.env.pool.int(example.clone()),
                (None, Entry::Size(size)) => self.env.pool.int(size.clone()),
                (None, _) => place.recorded,
            },
            Entry::Dim(dim) => self.dims.get(&dim.name).and_then(|d| d.variable).unwrap_or(place.recorded),
            Entry::Sum { .. } => place.recorded,
            Entry::Formula(text) => self.formula_size(text, &place.path)?,
            Entry::Derived { expression, root } => {
                let e = self.derived(expression, root, &place.path)?;
                let variable = self.dims.get(&root.name).and_then(|d| d.variable).unwrap_or(e);
                self.env.pool.substitute_symbols(e, |_| Some(variable))
            }
            // The program made it static although the spec forbids that: any size is allowed.
            Entry::Inferred { hint: Hint::Dynamic, min, max }
                if recorded_is_static || self.leaves_one_size(place.recorded, min.as_ref(), max.as_ref()) =>
            {
                let name = place.symbol_name();
                let variable = self.fresh(&name);
                let is_size = matches!(self.contract.inputs[place.input].kind, InputKind::Tensor { .. });
                let least = min.clone().or_else(|| is_size.then_some(Int::ZERO));
                let range = ValueRange::between_options(least, max.clone());
                let name =
                    self.env.pool.as_symbol(variable).map(|s| self.env.pool.symbol_name(s).to_string());
                let info = SymbolInfo { hint: place.example.clone().map(Number::Int), source: None };
                self.env.declare(&name.unwrap_or_default(), range.unwrap_or_else(ValueRange::all), info);
                variable
            }
            Entry::Inferred { min, max, .. } => {
                if let Some(min) = min.clone() {
                    let min = self.env.pool.int(min);
                    self.assumed.push(self.env.pool.ge(place.recorded, min));
                }
                if let Some(max) = max.clone() {
                    let max = self.env.pool.int(max);
                    self.assumed.push(self.env.pool.le(place.recorded, max));
                }
                place.recorded
            }
        })
    }

    /// Whether the program's own range of a symbol and the bounds that the spec gives have one size in common.
    fn leaves_one_size(&self, recorded: Expr, min: Option<&Int>, max: Option<&Int>) -> bool {
        let Some(symbol) = self.env.pool.as_symbol(recorded) else { return false };
        let own = range(self.contract.bounds(symbol));
        let given = ValueRange::between_options(min.cloned(), max.cloned());
        given.and_then(|given| given.meet(&own)).is_some_and(|both| both.as_point().is_some())
    }

    /// Binds program symbols to what the spec makes of the sizes that determine them.
    fn bind_symbols(&mut self, places: &[InputPlace], allowed: &[Expr]) {
        // Plain symbols first, then those to be solved for.
        for plain in [true, false] {
            for (place, &size) in places.iter().zip(allowed) {
                if size == place.recorded {
                    continue;
                }
                let poly = self.env.pool.poly(place.recorded);
                let [(monomial, coefficient)] = poly.terms.as_slice() else { continue };
                let Some(symbol) = self.env.pool.as_symbol(*monomial) else { continue };
                let is_plain = place.recorded == *monomial;
                if is_plain != plain || self.bound.contains(&symbol) {
                    continue;
                }
                let constant = self.env.pool.int(poly.constant.clone());
                let factor = self.env.pool.int(coefficient.clone());
                let rest = self.env.pool.sub(size, constant);
                let solved = self.env.pool.floor_div(rest, factor);
                self.records.bind(symbol, solved);
                self.bound.insert(symbol);
            }
        }
    }

    /// Declares the program's symbols that the spec leaves to the program, as it records them.
    fn declare_free(&mut self) {
        for symbol in self.contract.input_symbols() {
            if self.bound.contains(&symbol) {
                continue;
            }
            let name = self.env.pool.symbol_name(symbol).to_string();
            let info = SymbolInfo {
                hint: self.contract.hints.get(&symbol).cloned(),
                source: self.contract.source(symbol),
            };
            if self.env.is_float(symbol) {
                self.env.declare_float(&name, info);
            } else {
                self.env.declare(&name, range(self.contract.bounds(symbol)), info);
            }
        }
        for condition in std::mem::take(&mut self.assumed) {
            // There is an input for all named sizes only if the size that they determine is in the range that the spec gives.
            let is_computed =
                self.env.pool.free_symbols(&[condition]).iter().any(|s| self.computed.contains(s));
            let text = sizewise_expr::text::print::expression(&self.env.pool, condition);
            let condition = self.records.translate(&mut self.env, condition);
            match is_computed {
                true => self.demand(condition, DemandKind::Contract, text),
                false => self.env.assume(condition),
            }
        }
    }

    /// Demands that each recorded size is the allowed one.
    fn demand_sizes(&mut self, places: &[InputPlace], allowed: &[Expr]) {
        for (place, &size) in places.iter().zip(allowed) {
            // Its range is demanded in place of this.
            if self.env.pool.as_symbol(place.recorded).is_some_and(|symbol| self.computed.contains(&symbol))
                && matches!(place.entry, Entry::Inferred { .. })
            {
                continue;
            }
            let recorded = self.records.translate(&mut self.env, place.recorded);
            let condition = self.env.pool.eq(recorded, size);
            let text = sizewise_expr::text::print::expression(&self.contract.env.pool, place.recorded);
            self.demand(condition, DemandKind::Contract, format!("{} == {text}", place.path));
        }
    }

    /// Demands the program's ranges and guards, or assumes those that concern free symbols alone.
    fn demand_contract(&mut self) {
        let of_inputs = self.contract.input_symbols();
        for (e, bounds) in &self.contract.ranges {
            let symbols = self.env.pool.free_symbols(&[*e]);
            // Unbacked symbols are met on the way, not at the inputs.
            if symbols.is_empty() || !symbols.iter().all(|s| of_inputs.contains(s)) {
                continue;
            }
            let free = symbols.iter().all(|s| !self.bound.contains(s));
            let checked =
                Bounds { min: bounds.min.filter(|&min| free || min > UNCHECKED_MINIMUM), ..*bounds };
            for condition in bound_conditions(&mut self.env.pool, *e, checked) {
                let text = sizewise_expr::text::print::expression(&self.env.pool, condition);
                let condition = self.records.translate(&mut self.env, condition);
                if free {
                    self.env.assume(condition);
                } else {
                    self.demand(condition, DemandKind::Contract, text);
                }
            }
        }
        self.demand_guards();
    }

    pub(super) fn demand(&mut self, condition: Expr, kind: DemandKind, text: String) {
        if self.env.pool.as_bool(condition) != Some(true)
            && !self.demands.iter().any(|d| d.condition == condition)
        {
            self.demands.push(Demand { condition, kind, text });
        }
    }

    fn finish(self, places: &[InputPlace], allowed: &[Expr]) -> Assumptions<'p> {
        let mut sizes = places.iter().zip(allowed).peekable();
        let mut inputs = Vec::with_capacity(self.contract.inputs.len());
        for (at, input) in self.contract.inputs.iter().enumerate() {
            let mut mine = Vec::new();
            while let Some((_, &size)) = sizes.next_if(|(place, _)| place.input == at) {
                mine.push(size);
            }
            // A constant input gets a symbol only if the spec makes it dynamic.
            let scalar = match input.kind {
                InputKind::Scalar(_) => mine.first().copied(),
                InputKind::Constant(_) => mine.first().copied().filter(|&e| !self.env.pool.is_constant(e)),
                _ => None,
            };
            inputs.push(InputSizes {
                placeholder: input.input.placeholder.clone(),
                index: input.input.index,
                path: input.path(),
                allowed: matches!(input.kind, InputKind::Tensor { .. }).then_some(mine),
                scalar,
                contiguous: self.contract.is_contiguous(input),
            });
        }
        let mut assumptions = Assumptions::new(self.env, self.records, inputs);
        assumptions.demands = self.demands;
        assumptions.dims = self.dim_names;
        assumptions.name_sources();
        assumptions
    }
}
