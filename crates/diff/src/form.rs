//! What a program accepts, over the sizes that both programs have.
use super::calls::Pairs;
use super::side::{Input, Kind, Side};
use sizewise_check::check::{Acceptance, Enforced, Enforcement, readable};
use sizewise_check::report::guard_code::GuardedInput;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value as Number, text};
use sizewise_ir::Constant;
use sizewise_solve::{Budget, Facts, implies, requirements};

/// A size, or a number, that both programs have.
pub(super) struct SharedSize {
    /// The positions among the inputs of OLD and of NEW.
    pub inputs: (usize, usize),
    /// The dimension; none for a number.
    pub dim: Option<usize>,
    /// The symbol that stands for it between the programs.
    pub symbol: String,
    /// What it is called: `x.shape[0]`.
    pub name: String,
}

/// The sizes and numbers of corresponding inputs; an input of other rank has none.
pub(super) fn places(old: &Side, new: &Side, pairs: &Pairs) -> Vec<SharedSize> {
    // No symbol of the programs may be taken for one of a place.
    let is_taken = |name: &str| [old, new].iter().any(|side| side.pool.find_symbol(name).is_some());
    let mut places = Vec::new();
    for &(i, j) in pairs {
        let (before, after) = (&old.inputs[i], &new.inputs[j]);
        let path = &after.path;
        let mut add = |dim: Option<usize>, name: String| {
            let mut symbol = dim.map_or(format!("in_{j}_"), |dim| format!("in_{j}_{dim}_"));
            while is_taken(&symbol) {
                symbol.push('_');
            }
            places.push(SharedSize { inputs: (i, j), dim, symbol, name });
        };
        match (&before.kind, &after.kind) {
            (Kind::Tensor { sizes, .. }, Kind::Tensor { sizes: others, .. })
                if sizes.len() == others.len() =>
            {
                (0..sizes.len()).for_each(|dim| add(Some(dim), format!("{path}.shape[{dim}]")));
            }
            // The interfaces agree in constants that are no numbers.
            (Kind::Constant(Constant::None | Constant::Str(_)), _) => {}
            (Kind::Scalar(_) | Kind::Constant(_), Kind::Scalar(_) | Kind::Constant(_)) => {
                add(None, path.clone());
            }
            _ => {}
        }
    }
    places
}

/// A condition of a program, over the places.
#[derive(Clone)]
pub(super) struct Goal {
    pub condition: Expr,
    pub enforced: Enforced,
    /// Whether it only says that another one has a value.
    pub is_requirement: bool,
}

/// A case: a place that has a value, or has not.
#[derive(Clone)]
pub(super) struct Case {
    /// The place.
    pub at: usize,
    pub value: Int,
    pub is_equal: bool,
}

/// What one program accepts.
pub(super) struct Form<'s> {
    pub acceptance: &'s Acceptance,
    pub pool: Pool,
    /// The places in the program's own symbols; none for what is no number.
    pub sizes: Vec<Option<Expr>>,
    /// The places as symbols of their own.
    symbols: Vec<Symbol>,
    /// The program's symbols in terms of the places.
    variables: Vec<(Symbol, Expr)>,
    /// What every call that the program accepts satisfies, over its own symbols.
    pub facts: Facts,
    /// Whether all calls that satisfy the facts are accepted.
    pub is_exact: bool,
    /// The conditions under which the program accepts a call, over the places.
    pub goals: Vec<Goal>,
}

impl<'s> Form<'s> {
    /// What the program accepts in all of the cases. `own` picks the side of a place.
    pub fn new(
        side: &Side,
        acceptance: &'s Acceptance,
        places: &[SharedSize],
        own: &dyn Fn(&SharedSize) -> usize,
        cases: &[Case],
    ) -> Form<'s> {
        let mut pool = acceptance.set.pool.clone();
        let sizes: Vec<Option<Expr>> =
            places.iter().map(|place| size(&mut pool, &side.inputs[own(place)], place.dim)).collect();
        let sort = |pool: &Pool, size: &Option<Expr>| match size.map(|e| pool.sort(e)) {
            Some(Sort::Float) => Sort::Float,
            _ => Sort::Int,
        };
        let mut symbols = Vec::with_capacity(places.len());
        for (place, size) in places.iter().zip(&sizes) {
            let sort = sort(&pool, size);
            let e = pool.symbol_of_sort(&place.symbol, sort);
            symbols.extend(pool.as_symbol(e));
        }
        let mut form = Form {
            acceptance,
            pool,
            sizes,
            symbols,
            variables: Vec::new(),
            facts: Facts::new(),
            is_exact: true,
            goals: Vec::new(),
        };
        form.determine(side, places, own);
        form.demand(places);
        form.assume(cases);
        form
    }

    /// Writes the program's symbols in terms of the places.
    fn determine(&mut self, side: &Side, places: &[SharedSize], own: &dyn Fn(&SharedSize) -> usize) {
        let set = &self.acceptance.set;
        for v in &set.variables {
            let name = set.inputs.get(v.input).map(GuardedInput::name);
            let is_here = |place: &SharedSize| {
                place.dim == v.dim && name == Some(&*side.inputs[own(place)].placeholder)
            };
            let Some(at) = places.iter().position(is_here) else { continue };
            let size = self.pool.symbol_expr(self.symbols[at]);
            let value = if v.factor.is_one() && v.offset.is_zero() {
                size
            } else {
                let (offset, factor) = (self.pool.int(v.offset.clone()), self.pool.int(v.factor.clone()));
                let rest = self.pool.sub(size, offset);
                self.pool.floor_div(rest, factor)
            };
            self.variables.push((v.symbol, value));
        }
    }

    /// An expression over the places.
    pub fn over_places(&mut self, e: Expr) -> Expr {
        let variables = &self.variables;
        let value = |s: Symbol| variables.iter().find(|(symbol, _)| *symbol == s).map(|(_, value)| *value);
        self.pool.substitute_symbols(e, value)
    }

    /// Gathers the conditions over the places: what recorded sizes say first.
    fn demand(&mut self, places: &[SharedSize]) {
        for at in 0..places.len() {
            let Some(recorded) = self.sizes[at] else { continue };
            let (value, size) = (self.over_places(recorded), self.pool.symbol_expr(self.symbols[at]));
            let condition = self.pool.eq(size, value);
            self.add_goal(condition, Enforced { by: Enforcement::AtEntry, line: None });
        }
        let demands = self.acceptance.set.conditions.iter().zip(&self.acceptance.demands);
        for (&condition, enforced) in demands {
            let condition = self.over_places(condition);
            self.add_goal(condition, enforced.clone());
        }
    }

    fn add_goal(&mut self, condition: Expr, enforced: Enforced) {
        for (e, is_requirement) in requirements(&mut self.pool, &[condition])
            .into_iter()
            .map(|e| (e, true))
            .chain([(condition, false)])
        {
            let is_known = self.goals.iter().any(|goal| goal.condition == e);
            if self.pool.as_bool(e) != Some(true) && !is_known {
                self.goals.push(Goal { condition: e, enforced: enforced.clone(), is_requirement });
            }
        }
    }

    /// Assumes what every call satisfies that the program accepts.
    fn assume(&mut self, cases: &[Case]) {
        let set = &self.acceptance.set;
        for v in &set.variables {
            let is_size = v.dim.is_some() && v.factor.is_one() && v.offset.is_zero();
            let range = if is_size { ValueRange::at_least(Int::ZERO) } else { ValueRange::all() };
            self.facts.declare(&mut self.pool, v.symbol, range);
            match self.acceptance.hints.get(&v.symbol) {
                Some(Number::Float(value)) => self.facts.hint_float(v.symbol, *value),
                Some(value) => {
                    if let Some(value) = value.as_int() {
                        self.facts.hint(v.symbol, value);
                    }
                }
                None => {}
            }
        }
        for input in &set.inputs {
            let GuardedInput::Tensor { sizes, .. } = input else { continue };
            for &size in sizes {
                if self.pool.as_symbol(size).is_some() {
                    continue;
                }
                let is_size = self.pool.ge(size, Expr::ZERO);
                self.facts.assume(&mut self.pool, is_size);
            }
        }
        for Case { at, value, is_equal } in cases {
            let Some(size) = self.sizes[*at] else { continue };
            let value = self.pool.int(value.clone());
            let condition = if *is_equal { self.pool.eq(size, value) } else { self.pool.ne(size, value) };
            self.facts.assume(&mut self.pool, condition);
        }
        let demands: Vec<(Expr, Enforcement)> =
            set.conditions.iter().copied().zip(self.acceptance.demands.iter().map(|d| d.by)).collect();
        let of = |by| demands.iter().filter(move |demand| demand.1 == by).map(|demand| demand.0);
        of(Enforcement::AtEntry).for_each(|condition| self.assume_defined(condition));
        let path: Vec<Expr> = of(Enforcement::Path).filter(|&e| !self.holds(e)).collect();
        self.is_exact = path.is_empty();
        let path = self.pool.and(&path);
        for condition in of(Enforcement::ByStep) {
            let condition = self.pool.implies(path, condition);
            self.assume_defined(condition);
        }
    }

    /// Assumes a condition, if it has a value wherever the facts hold: of others it is not known that a call that they
    /// are not defined for is refused.
    fn assume_defined(&mut self, condition: Expr) {
        if self.has_value(condition) {
            self.facts.assume(&mut self.pool, condition);
        } else {
            self.is_exact = false;
        }
    }

    /// Whether a condition has a value wherever the facts hold.
    fn has_value(&mut self, condition: Expr) -> bool {
        let required = requirements(&mut self.pool, &[condition]);
        required.into_iter().all(|e| self.follows(e))
    }

    /// Whether a condition has a value and is true wherever the facts hold.
    fn holds(&mut self, condition: Expr) -> bool {
        self.has_value(condition) && self.follows(condition)
    }

    /// Whether the facts imply a condition, where it has a value.
    fn follows(&mut self, condition: Expr) -> bool {
        implies(&mut self.pool, &mut self.facts, condition, &Budget::small())
    }

    /// An expression over the places of another form, in this program's symbols.
    pub fn taken(&mut self, other: &Form, e: Expr) -> Option<Expr> {
        let text = text::print::try_expression(&other.pool, e).ok()?;
        let read = text::read::closed(&mut self.pool, &text).ok()?.expr;
        let free = self.pool.free_symbols(&[read]);
        let known = |s: &Symbol| self.symbols.iter().position(|symbol| symbol == s);
        if !free.iter().all(|s| known(s).is_some_and(|at| self.sizes[at].is_some())) {
            return None;
        }
        let (symbols, sizes) = (&self.symbols, &self.sizes);
        let value = |s: Symbol| sizes[symbols.iter().position(|symbol| *symbol == s)?];
        Some(self.pool.substitute_symbols(read, value))
    }

    /// The places on which it depends which way the program goes.
    pub fn choosing(&self) -> Vec<usize> {
        let paths = self.goals.iter().filter(|goal| goal.enforced.by == Enforcement::Path);
        let paths: Vec<Expr> = paths.map(|goal| goal.condition).collect();
        let free = self.pool.free_symbols(&paths);
        (0..self.symbols.len()).filter(|&at| free.contains(&self.symbols[at])).collect()
    }

    /// A condition over the places as people read it.
    pub fn shown(&mut self, places: &[SharedSize], condition: Expr) -> String {
        let mut facts = Facts::new();
        for (place, &symbol) in places.iter().zip(&self.symbols) {
            if place.dim.is_some() {
                facts.declare(&mut self.pool, symbol, ValueRange::at_least(Int::ZERO));
            }
        }
        let condition = readable(&self.pool, &facts, condition);
        let name = |s: Symbol| match self.symbols.iter().position(|symbol| *symbol == s) {
            Some(at) => places[at].name.clone(),
            None => self.pool.symbol_name(s).to_owned(),
        };
        text::print::python(&self.pool, condition, &name)
    }
}

/// A size or number of an input, in the program's own symbols.
fn size(pool: &mut Pool, input: &Input, dim: Option<usize>) -> Option<Expr> {
    match (&input.kind, dim) {
        (Kind::Tensor { sizes, .. }, Some(dim)) => sizes.get(dim).copied(),
        (Kind::Scalar(e), None) => Some(*e).filter(|&e| pool.sort(e) != Sort::Bool),
        (Kind::Constant(Constant::Int(v)), None) => Some(pool.int(*v)),
        (Kind::Constant(Constant::Bool(v)), None) => Some(pool.int(i64::from(*v))),
        (Kind::Constant(Constant::Float(v)), None) => Some(pool.float(*v)),
        _ => None,
    }
}
