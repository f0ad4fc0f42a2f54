//! The sizes of a model's inputs as symbols.
use super::existing::can_exist;
use super::limits::{Allowed, Bounds, LEAST, Limits};
use super::names;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::print;
use sizewise_expr::{Evaluator, Expr, Int, Pool, Symbol, Value as Number};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Dtype, Value};
use sizewise_onnx_model::walk::{Given, Input, inputs, value};

/// A symbol that stands for sizes of inputs.
#[derive(Debug, Clone)]
pub struct SizeSymbol {
    /// Its name in expressions.
    pub name: String,
    /// An input and a dimension that has the size; none for a name that stands within expressions alone.
    pub source: Option<(String, usize)>,
    /// The name that the model or the spec gives it.
    pub declared: Option<String>,
    /// Its size in the example.
    pub hint: Option<i64>,
    /// The least size.
    pub min: i64,
    /// The greatest size, if there is one.
    pub max: Option<i64>,
}

/// A size that a spec lets vary and the model declares as a number.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    /// That the size is the number.
    pub condition: Expr,
    /// The input and the dimension.
    pub place: (String, usize),
}

/// The inputs of a model with symbols for their sizes.
#[derive(Clone)]
pub(super) struct Symbolic {
    pub env: ShapeEnv,
    pub symbols: Vec<(Symbol, SizeSymbol)>,
    /// The sizes of each input, as the walk sees them.
    pub sizes: Vec<(Input, Vec<Expr>)>,
    /// What the names that the model gives sizes stand for.
    pub names: FxHashMap<String, Expr>,
    /// Numbers of the model that the spec does not imply.
    pub demands: Vec<Demand>,
    /// Sizes that may be given, by input and dimension, where the walk sees the number that the model declares.
    varied: FxHashMap<(usize, usize), Expr>,
    /// What is assumed of sizes beside their ranges.
    assumed: Vec<Expr>,
    /// Names that the model or the spec gives to sizes, which no other size may get.
    taken: FxHashSet<String>,
    /// The number of the next name that is made.
    made: usize,
    /// Whether a spec gives the sizes.
    pub has_spec: bool,
}

/// Which of the texts that inputs declare are read as expressions.
fn expressions(inputs: &[Input]) -> impl Fn(&str) -> bool + use<> {
    let texts =
        inputs.iter().filter_map(|input| input.shape.as_ref()).flatten().filter_map(|given| match given {
            Given::Name(name) => Some(name.clone()),
            _ => None,
        });
    let alone: FxHashSet<String> = texts.filter(|text| !names::has_operator(text)).collect();
    move |text| {
        let all_known = || names::words(text).into_iter().all(|word| alone.contains(&text[word]));
        names::has_operator(text) && (names::is_unambiguous(text) || all_known())
    }
}

/// The named dimensions of a spec that have symbols.
type Dims<'l> = FxHashMap<&'l str, Expr>;

/// The range of sizes of which nothing is said.
fn usual() -> Bounds {
    (Int::from(LEAST), None)
}

/// A hint within the range of its symbol.
fn within(hint: i64, least: i64, most: Option<i64>) -> i64 {
    hint.min(most.unwrap_or(i64::MAX)).max(least)
}

/// The hint of a symbol by its number.
type Hints<'h> = &'h dyn Fn(usize) -> i64;

impl Symbolic {
    /// Symbols for the sizes of a model's inputs, within what a spec allows, with these hints by their order.
    pub fn new(model: &Model, limits: Option<&Limits>, hint: Hints) -> Symbolic {
        let mut symbolic = Symbolic {
            env: ShapeEnv::new(),
            symbols: Vec::new(),
            sizes: Vec::new(),
            names: FxHashMap::default(),
            demands: Vec::new(),
            varied: FxHashMap::default(),
            assumed: Vec::new(),
            taken: model.numbered_names().iter().cloned().collect(),
            made: 0,
            has_spec: limits.is_some(),
        };
        symbolic.taken.extend(limits.iter().flat_map(|limits| limits.dims.keys().cloned()));
        let inputs = match limits {
            None => inputs(model),
            Some(limits) => limits.inputs.iter().map(|(input, _)| input.clone()).collect(),
        };
        let is_expression = expressions(&inputs);
        let mut by_spec = limits.map_or_else(Vec::new, |limits| symbolic.by_spec(limits, hint)).into_iter();
        let mut later = Vec::new();
        for input in inputs {
            let mut sizes = Vec::new();
            let mut by_spec = by_spec.next().unwrap_or_default().into_iter();
            for (at, given) in input.shape.iter().flatten().enumerate() {
                let source = Some((input.name.clone(), at));
                let (allowed, bounds) = by_spec.next().unwrap_or_default();
                let size = match (allowed, given) {
                    (Some(size), _) => size,
                    (None, Given::Size(size)) => symbolic.env.pool.int(*size),
                    // Names come first.
                    (None, Given::Name(name)) if is_expression(name) => {
                        later.push((symbolic.sizes.len(), at, name.clone()));
                        Expr::ZERO
                    }
                    (None, Given::Name(name)) => {
                        let size = symbolic.by_name(name, source, limits, hint);
                        if let Some((min, max)) = bounds {
                            symbolic.restrict(size, &min, max.as_ref());
                        }
                        size
                    }
                    (None, Given::Open) => {
                        symbolic.declare(source, None, &bounds.unwrap_or_else(usual), hint)
                    }
                };
                sizes.push(size);
            }
            symbolic.sizes.push((input, sizes));
        }
        for (input, at, text) in later {
            let source = (symbolic.sizes[input].0.name.clone(), at);
            symbolic.sizes[input].1[at] = symbolic.derived(&text, source, limits, hint);
        }
        symbolic.tighten();
        symbolic
    }

    /// Gives names that stand within expressions alone the least values with which these are sizes: 1 for `4*h`.
    fn tighten(&mut self) {
        for (symbol, named) in self.symbols.iter_mut().filter(|(_, named)| named.source.is_none()) {
            let e = self.env.pool.symbol_expr(*symbol);
            let least = self.env.bounds(e).0.and_then(|least| least.to_i64());
            named.min = named.min.max(least.unwrap_or(named.min));
        }
    }

    /// The size of a name that stands alone.
    fn by_name(
        &mut self,
        name: &str,
        source: Option<(String, usize)>,
        limits: Option<&Limits>,
        hint: Hints,
    ) -> Expr {
        if let Some(&size) = self.names.get(name) {
            return size;
        }
        let bounds = limits.and_then(|limits| limits.names.get(name).cloned()).unwrap_or_else(usual);
        let size = self.declare(source, Some(name), &bounds, hint);
        self.names.insert(name.to_owned(), size);
        size
    }

    /// What a spec makes of the sizes: those that it gives, and the ranges of others.
    fn by_spec(&mut self, limits: &Limits, hint: Hints) -> Vec<Vec<(Option<Expr>, Option<Bounds>)>> {
        let mut dims = Dims::default();
        let mut conflicts: FxHashSet<&String> = FxHashSet::default();
        let mut found = Vec::new();
        for (at_input, (input, allowed)) in limits.inputs.iter().enumerate() {
            let mut sizes = Vec::new();
            for (at, (allowed, given)) in allowed.iter().zip(input.shape.iter().flatten()).enumerate() {
                let place = (input.name.clone(), at);
                let size = match (allowed, given) {
                    (Allowed::AsDeclared(bounds), _) => {
                        sizes.push((None, bounds.clone()));
                        continue;
                    }
                    (Allowed::Varies(bounds), Given::Size(number)) => {
                        self.declare(Some(place.clone()), None, bounds, &|_| *number)
                    }
                    (Allowed::Varies(bounds), _) => self.declare(Some(place.clone()), None, bounds, hint),
                    (Allowed::Sum(terms, offset), _) => {
                        self.sum((terms, offset), &place, (limits, &mut dims), hint)
                    }
                };
                let seen = match given {
                    Given::Size(number) => {
                        // What other sizes lead to does not matter: the model refuses them at once.
                        let number = self.env.pool.int(*number);
                        let condition = self.env.pool.eq(size, number);
                        self.demands.push(Demand { condition, place });
                        self.varied.insert((at_input, at), size);
                        number
                    }
                    _ => size,
                };
                if let Given::Name(name) = given
                    && *self.names.entry(name.clone()).or_insert(size) != size
                {
                    conflicts.insert(name);
                }
                sizes.push((Some(seen), None));
            }
            found.push(sizes);
        }
        // A name of the model for which the spec has several sizes says nothing any more.
        self.names.retain(|name, _| !conflicts.contains(name));
        for (name, size) in dims {
            self.names.entry(name.to_owned()).or_insert(size);
        }
        found
    }

    /// The size that a spec computes from named dimensions.
    fn sum<'l>(
        &mut self,
        (terms, offset): (&'l [(String, Int)], &Int),
        place: &(String, usize),
        (limits, dims): (&'l Limits, &mut Dims<'l>),
        hint: Hints,
    ) -> Expr {
        let is_alone = matches!(terms, [(_, factor)] if factor.is_one()) && offset.is_zero();
        let mut size = self.env.pool.int(offset.clone());
        for (root, factor) in terms {
            let root = self.dim(root, is_alone.then(|| place.clone()), (limits, dims), hint);
            let factor = self.env.pool.int(factor.clone());
            let product = self.env.pool.mul(factor, root);
            size = self.env.pool.add(size, product);
        }
        if !is_alone && !terms.is_empty() {
            self.restrict(size, &Int::ZERO, None);
        }
        size
    }

    /// The symbol of a named dimension of the spec.
    fn dim<'l>(
        &mut self,
        name: &'l str,
        place: Option<(String, usize)>,
        (limits, dims): (&'l Limits, &mut Dims<'l>),
        hint: Hints,
    ) -> Expr {
        if let Some(&known) = dims.get(name) {
            let symbol = self.env.pool.as_symbol(known);
            let named = self.symbols.iter_mut().find(|(other, _)| Some(*other) == symbol);
            if let (Some((_, named)), Some(place)) = (named, place) {
                named.source.get_or_insert(place);
            }
            return known;
        }
        let known = limits.dims.get(name);
        let bounds = known.map_or_else(usual, |known| known.bounds.clone());
        let number = known.and_then(|known| known.number);
        let size = self.declare(place, Some(name), &bounds, &|at| number.unwrap_or_else(|| hint(at)));
        dims.insert(name, size);
        size
    }

    /// Assumes that a size is within a range.
    fn restrict(&mut self, size: Expr, min: &Int, max: Option<&Int>) {
        let least = self.env.pool.int(min.clone());
        let mut conditions = vec![self.env.pool.ge(size, least)];
        if let Some(max) = max {
            let most = self.env.pool.int(max.clone());
            conditions.push(self.env.pool.le(size, most));
        }
        for condition in conditions {
            self.env.assume(condition);
            self.assumed.push(condition);
        }
    }

    /// The size of which an expression is declared; that of a name if it does not read as one.
    fn derived(&mut self, text: &str, source: (String, usize), limits: Option<&Limits>, hint: Hints) -> Expr {
        if let Some(&size) = self.names.get(text) {
            return size;
        }
        let bounds = limits.and_then(|limits| limits.names.get(text).cloned()).unwrap_or_else(usual);
        // Sizes that the model has nowhere alone may be 0.
        let (env, symbols) = (self.env.clone(), self.symbols.len());
        for word in names::words(text) {
            let word = &text[word];
            if !self.names.contains_key(word) {
                let size = self.declare(None, Some(word), &(Int::ZERO, None), hint);
                self.names.insert(word.to_owned(), size);
            }
        }
        let names = &self.names;
        let written = |pool: &Pool, name: &str| {
            let symbol = pool.as_symbol(*names.get(name)?)?;
            Some(pool.symbol_name(symbol).to_owned())
        };
        let pool = self.env.pool.clone();
        let found = names::expression(&mut self.env.pool, text, &|name| written(&pool, name));
        if let Some(size) = found {
            self.restrict(size, &bounds.0, bounds.1.as_ref());
            return size;
        }
        // What was declared for it is not needed.
        let unneeded: Vec<String> =
            self.symbols.drain(symbols..).filter_map(|(_, named)| named.declared).collect();
        self.names.retain(|name, _| !unneeded.contains(name));
        self.env = env;
        let size = self.declare(Some(source), Some(text), &bounds, hint);
        self.names.insert(text.to_owned(), size);
        size
    }

    fn declare(
        &mut self,
        source: Option<(String, usize)>,
        declared: Option<&str>,
        (min, max): &Bounds,
        hint: Hints,
    ) -> Expr {
        let name = self.name(declared);
        let least = min.to_i64().unwrap_or(i64::MAX);
        let most = max.as_ref().and_then(Int::to_i64);
        let example = within(hint(self.symbols.len()), least, most);
        let place = source.as_ref().map(|(input, at)| format!("{input}[{at}]").into());
        let info = SymbolInfo { hint: Some(Number::Int(Int::from(example))), source: place };
        let range = ValueRange::between_options(Some(min.clone()), max.clone());
        let e = self.env.declare(&name, range.unwrap_or_else(|| ValueRange::at_least(min.clone())), info);
        if let Some(symbol) = self.env.pool.as_symbol(e) {
            let declared = declared.map(str::to_owned);
            self.symbols
                .push((symbol, SizeSymbol { name, source, declared, hint: None, min: least, max: most }));
        }
        e
    }

    /// The name of a new symbol: the declared one, or one that no other size has.
    fn name(&mut self, declared: Option<&str>) -> String {
        let is_new = |name: &&str| self.symbols.iter().all(|(_, known)| known.name != **name);
        if let Some(name) = declared.filter(|name| names::usable(name)).filter(is_new) {
            return name.to_owned();
        }
        self.made = self.made.max(self.symbols.len());
        loop {
            let name = format!("s{}", self.made);
            self.made += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// The values of the inputs.
    pub fn values(&self) -> Vec<(String, Value)> {
        let of = |(input, sizes): &(Input, Vec<Expr>)| {
            let value = if input.is_tensor && input.shape.is_none() {
                let dtype = input.dtype.unwrap_or(Dtype::F32);
                sizewise_onnx_model::shape::Tensor::unranked(dtype).into()
            } else {
                value(input, sizes.clone())
            };
            (input.name.clone(), value)
        };
        self.sizes.iter().map(of).collect()
    }

    /// The sizes of the inputs at an assignment of the symbols; `None` where that is not allowed, or takes more memory than
    /// there is.
    pub fn at(&self, assigned: impl Fn(Symbol) -> Option<i64>) -> Option<FxHashMap<String, Vec<i64>>> {
        for (symbol, named) in &self.symbols {
            let value = assigned(*symbol)?;
            if value < named.min || named.max.is_some_and(|max| value > max) {
                return None;
            }
        }
        let mut evaluator = self.evaluator(&assigned);
        if !self.assumed.iter().all(|&condition| evaluator.truth(condition) == Ok(true)) {
            return None;
        }
        let size = |e: Expr| match (e.as_inline(), self.env.pool.as_symbol(e)) {
            (Some(size), _) => Some(size),
            (_, Some(symbol)) => assigned(symbol),
            _ => self.value(e, &assigned),
        };
        let of = |(at_input, (input, sizes)): (usize, &(Input, Vec<Expr>))| {
            let given =
                |(at, &e): (usize, &Expr)| size(self.varied.get(&(at_input, at)).copied().unwrap_or(e));
            let sizes = sizes.iter().enumerate().map(given).collect::<Option<Vec<i64>>>()?;
            can_exist(input, &sizes).then(|| (input.name.clone(), sizes))
        };
        self.sizes.iter().enumerate().filter(|(_, (input, _))| input.shape.is_some()).map(of).collect()
    }

    /// The ranges of the symbols, as conditions of a pool.
    pub fn ranges(&self, pool: &mut Pool) -> Vec<Expr> {
        let mut conditions = Vec::new();
        for (symbol, SizeSymbol { min, max, .. }) in &self.symbols {
            let (size, least) = (pool.symbol_expr(*symbol), pool.int(*min));
            conditions.push(pool.ge(size, least));
            if let Some(max) = max {
                let most = pool.int(*max);
                conditions.push(pool.le(size, most));
            }
        }
        conditions
    }

    /// What is assumed of the sizes, as conditions: their ranges, and those of sizes that are expressions.
    pub fn conditions(&self) -> Vec<Expr> {
        // A clone is a handle of the same pool.
        let mut conditions = self.ranges(&mut self.env.pool.clone());
        conditions.extend(&self.assumed);
        conditions
    }

    /// The size that may be given where the walk sees the number which the model declares.
    pub fn varied(&self, input: usize, dim: usize) -> Option<Expr> {
        self.varied.get(&(input, dim)).copied()
    }

    /// The value of an expression at an assignment of the symbols.
    pub fn value(&self, e: Expr, assigned: &impl Fn(Symbol) -> Option<i64>) -> Option<i64> {
        self.evaluator(assigned).value(e).ok()?.as_int()?.to_i64()
    }

    /// What evaluates expressions at an assignment of the symbols.
    pub fn evaluator<'e>(
        &'e self,
        assigned: impl Fn(Symbol) -> Option<i64> + 'e,
    ) -> Evaluator<'e, impl Fn(Symbol) -> Option<Number>> {
        Evaluator::new(&self.env.pool, move |symbol| assigned(symbol).map(|size| Number::Int(size.into())))
    }

    /// An expression of a pool in texts for people.
    pub fn shown(&self, pool: &Pool, e: Expr) -> String {
        print::python(pool, e, &|symbol| self.shown_name(pool, symbol))
    }

    /// What a symbol of a pool is called in texts for people: by the name that the model gives it, or by a place.
    pub fn shown_name(&self, pool: &Pool, symbol: Symbol) -> String {
        match self.named(symbol) {
            Some(SizeSymbol { name, declared, source: Some((input, dim)), .. })
                if declared.as_ref() != Some(name) || names::is_numbered(name) =>
            {
                format!("{input}.shape[{dim}]")
            }
            Some(named) => named.name.clone(),
            None => pool.symbol_name(symbol).to_owned(),
        }
    }

    /// The number of a symbol, by the order in which they were made.
    pub fn position(&self, symbol: Symbol) -> Option<usize> {
        self.symbols.iter().position(|(known, _)| *known == symbol)
    }

    /// What is known of a symbol.
    pub fn named(&self, symbol: Symbol) -> Option<&SizeSymbol> {
        self.position(symbol).map(|at| &self.symbols[at].1)
    }

    /// What the hint of a symbol is with other hints, where no spec gives the sizes that inputs declare as numbers.
    pub fn hint_by(&self, symbol: Symbol, hint: Hints) -> Option<i64> {
        let at = self.position(symbol)?;
        let named = &self.symbols[at].1;
        Some(within(hint(at), named.min, named.max))
    }

    /// The hint of a symbol.
    pub fn hint(&self, symbol: Symbol) -> Option<i64> {
        hint_in(&self.env, symbol)
    }
}

/// The hint of a symbol of an environment.
pub(super) fn hint_in(env: &ShapeEnv, symbol: Symbol) -> Option<i64> {
    match env.symbol(symbol)?.hint.as_ref()? {
        Number::Int(value) => value.to_i64(),
        _ => None,
    }
}
