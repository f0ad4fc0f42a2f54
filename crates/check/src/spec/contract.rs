//! What a program itself says of its inputs: recorded sizes, range constraints and guards.
use super::assumptions::{Assumptions, InputSizes};
pub use super::inputs::ContractError;
use super::inputs::{self, InputKind, ProgramInput, solved_text};
use crate::records::{Records, range};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::escape::{abridged, python_string};
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::{Property, SourcePath, read};
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number};
use sizewise_ir::{Bounds, PathStep, Program, SourceTable, SymbolHints, UserInput, symbol_hints};
use sizewise_solve::requirements;
use std::sync::OnceLock;

/// Lower bounds up to this one are not checked by exported modules, which take sizes of 0 and 1 although the
/// trace excluded some.
pub const UNCHECKED_MINIMUM: i64 = 2;

/// A condition on the inputs that the exported module checks.
#[derive(Clone, Debug)]
pub struct ContractGuard {
    /// The text that the module has for it.
    pub text: String,
    /// The condition.
    pub condition: Expr,
    /// Where the text has a value: where one of these is false, say because a divisor is zero, the module
    /// fails. Canonical construction may have cancelled the operation.
    pub requirements: Vec<Expr>,
    /// Whether it is an assertion in the graph, which sizes of inputs decide.
    pub is_asserted: bool,
}

/// The conditions under which a guard has a value.
fn guard_requirements(pool: &mut Pool, read: &read::Read) -> Vec<Expr> {
    let mut all: Vec<Expr> = read.divisors.iter().map(|&divisor| pool.ne(divisor, Expr::ZERO)).collect();
    let operations: Vec<Expr> = read.dropped.iter().copied().chain([read.expr]).collect();
    for requirement in requirements(pool, &operations) {
        if !all.contains(&requirement) {
            all.push(requirement);
        }
    }
    all.retain(|&e| pool.as_bool(e) != Some(true));
    all
}

/// A program's contract, in its own symbols.
#[derive(Clone)]
pub struct Contract<'p> {
    /// The program.
    pub program: &'p Program,
    /// An environment whose pool holds the expressions; nothing is declared or assumed in it.
    pub env: ShapeEnv,
    /// The program's records.
    pub records: Records<'p>,
    /// The inputs that the user passes.
    pub inputs: Vec<ProgramInput>,
    /// The values of symbols when the program was traced.
    pub hints: SymbolHints,
    /// Conditions on the inputs that the exported module checks.
    pub guards: Vec<ContractGuard>,
    /// Bounds of symbols and expressions.
    pub ranges: Vec<(Expr, Bounds)>,
    /// What could not be read, with the reason.
    pub unreadable: Vec<String>,
    /// Where symbols come from, once it is asked for.
    sources: OnceLock<FxHashMap<Symbol, Box<str>>>,
}

impl<'p> Contract<'p> {
    /// Reads a program's contract.
    ///
    /// # Errors
    /// When the inputs' structure or sizes cannot be read. Guards and ranges that cannot be read are listed instead.
    pub fn load(program: &'p Program) -> Result<Contract<'p>, ContractError> {
        let mut env = ShapeEnv::new();
        let mut records = Records::new(program);
        let inputs = inputs::load(program, &mut env, &mut records)?;
        let hints = hints(program, &mut env, &mut records)?;
        let (guards, ranges, unreadable) = (Vec::new(), Vec::new(), Vec::new());
        let sources = OnceLock::new();
        let mut contract =
            Contract { program, env, records, inputs, hints, guards, ranges, unreadable, sources };
        contract.read_guards();
        contract.read_ranges();
        Ok(contract)
    }

    /// As [`Contract::load`], with one size of one input replaced by a symbol of its own, whatever the
    /// program records of it: the symbol, and what is recorded. `None` if there is no such size.
    ///
    /// # Errors
    /// As [`Contract::load`].
    pub fn load_freed(
        program: &'p Program,
        input: usize,
        dim: usize,
    ) -> Result<Option<(Contract<'p>, Expr, Expr)>, ContractError> {
        let mut contract = Contract::load(program)?;
        let size = match contract.inputs.get(input).map(|input| (&input.kind, input.path())) {
            Some((InputKind::Tensor { sizes, .. }, path)) => sizes.get(dim).map(|&size| (size, path)),
            _ => None,
        };
        let Some((recorded, path)) = size else { return Ok(None) };
        let example = contract.example(recorded);
        let mut name: String = path.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        name = format!("{name}_{dim}");
        while contract.env.pool.find_symbol(&name).is_some() {
            name.push('_');
        }
        let free = contract.env.pool.symbol(&name);
        if let (Some(symbol), Some(example)) = (contract.env.pool.as_symbol(free), example) {
            contract.hints.insert(symbol, example);
        }
        if let Some(InputKind::Tensor { sizes, .. }) =
            contract.inputs.get_mut(input).map(|input| &mut input.kind)
        {
            sizes[dim] = free;
        }
        contract.sources = OnceLock::new();
        contract.guards.clear();
        contract.ranges.clear();
        contract.unreadable.clear();
        contract.read_guards();
        contract.read_ranges();
        Ok(Some((contract, free, recorded)))
    }

    fn read_guards(&mut self) {
        let users: Vec<UserInput> = self.inputs.iter().map(|input| input.input.clone()).collect();
        let table = SourceTable::new(&users);
        let inputs = &self.inputs;
        let mut find = |source: &SourcePath| resolve(inputs, &table, source);
        for text in &self.program.guards_code {
            match read::expression(&mut self.env.pool, text, &mut find) {
                Ok(read) => {
                    let condition = self.env.pool.truth(read.expr);
                    let requirements = guard_requirements(&mut self.env.pool, &read);
                    let text = text.to_string();
                    self.guards.push(ContractGuard { text, condition, requirements, is_asserted: false });
                }
                Err(error) => self.unreadable.push(format!("the guard `{}`: {error}", abridged(text))),
            }
        }
    }

    /// Adds a condition that the program asserts of its inputs.
    pub(crate) fn add_assertion(&mut self, text: &str) {
        let Ok(read) = read::closed(&mut self.env.pool, text) else { return };
        let condition = self.env.pool.truth(read.expr);
        if self.guards.iter().any(|guard| guard.condition == condition) {
            return;
        }
        let requirements = guard_requirements(&mut self.env.pool, &read);
        self.guards.push(ContractGuard { text: text.to_owned(), condition, requirements, is_asserted: true });
    }

    /// Whether an example of every size is known, so that it shows how the program goes.
    pub fn has_example(&self) -> bool {
        self.input_symbols().iter().all(|symbol| self.hints.contains_key(symbol))
    }

    fn read_ranges(&mut self) {
        for (text, bounds) in &self.program.range_constraints {
            match read::closed(&mut self.env.pool, text) {
                Ok(read) => self.ranges.push((read.expr, *bounds)),
                Err(error) => {
                    self.unreadable.push(format!("the range constraint on `{}`: {error}", abridged(text)))
                }
            }
        }
    }

    /// The symbols that inputs determine, in the order in which they occur.
    pub fn input_symbols(&self) -> Vec<Symbol> {
        let mut sizes = Vec::new();
        for input in &self.inputs {
            match &input.kind {
                InputKind::Tensor { sizes: s, .. } => sizes.extend_from_slice(s),
                InputKind::Scalar(e) => sizes.push(*e),
                InputKind::Constant(_) | InputKind::Other => {}
            }
        }
        let mut seen = FxHashSet::default();
        let mut symbols = Vec::new();
        for size in sizes {
            symbols.extend(self.env.pool.free_symbols(&[size]).into_iter().filter(|s| seen.insert(*s)));
        }
        symbols
    }

    /// The guards that could not be read, as the module has them.
    pub fn unreadable_guards(&self) -> impl Iterator<Item = &str> {
        let read = |text: &str| self.guards.iter().any(|guard| guard.text == text);
        self.program.guards_code.iter().map(|text| &**text).filter(move |text| !read(text))
    }

    /// A guard of what `**kwargs` takes, with the name of that parameter. The module that torch 2.15 makes of such a
    /// program does not find the argument (`_convert_guards_code_to_fn` in `torch/export/_unlift.py`).
    pub fn guard_of_keywords(&self) -> Option<(&str, &str)> {
        self.inputs.iter().find_map(|ProgramInput { input, .. }| {
            let (Some(keyword), Some(PathStep::Parameter(container))) = (&input.keyword, input.path.first())
            else {
                return None;
            };
            let source = format!("L[{}][", python_string(container));
            let guard = self.program.guards_code.iter().find(|guard| guard.contains(&source))?;
            (keyword != container).then_some((&**container, &**guard))
        })
    }

    /// The value of a recorded expression at the traced example.
    pub fn example(&self, e: Expr) -> Option<Number> {
        self.env.pool.eval(e, |s| self.hints.get(&s).cloned()).ok()
    }

    /// The integer value of a recorded expression at the traced example.
    pub fn example_int(&self, e: Expr) -> Option<Int> {
        self.example(e)?.as_int()
    }

    /// The range that the program gives a symbol.
    pub fn bounds(&self, symbol: Symbol) -> Bounds {
        self.program.range_constraints.get(self.env.pool.symbol_name(symbol)).copied().unwrap_or_default()
    }

    /// The assumptions under the program's own contract: ranges and guards hold.
    pub fn assumed(&self) -> Assumptions<'p> {
        let mut env = self.declared(|symbol| range(self.bounds(symbol)));
        let of_inputs = self.input_symbols();
        for (e, bounds) in &self.ranges {
            // A symbol was declared with its range, unless that holds nothing.
            let symbol = env.pool.as_symbol(*e);
            let holds_nothing = |s| bounds.is_empty() && of_inputs.contains(&s);
            if symbol.is_none_or(holds_nothing) {
                for condition in bound_conditions(&mut env.pool, *e, *bounds) {
                    env.assume(condition);
                }
            }
        }
        for guard in &self.guards {
            guard.requirements.iter().filter(|_| guard.is_asserted).for_each(|&e| env.assume(e));
            env.assume(guard.condition);
        }
        self.with_inputs(env)
    }

    /// Assumptions that every call satisfies: sizes are not negative.
    pub fn unconstrained(&self) -> Assumptions<'p> {
        let scalars: Vec<Expr> = self
            .inputs
            .iter()
            .filter_map(|input| match &input.kind {
                InputKind::Scalar(e) => Some(*e),
                _ => None,
            })
            .collect();
        let scalars: FxHashSet<Symbol> = self.env.pool.free_symbols(&scalars).into_iter().collect();
        let env = self.declared(|symbol| {
            let least = (!scalars.contains(&symbol)).then_some(Int::ZERO);
            ValueRange::between_options(least, None).unwrap_or_else(ValueRange::all)
        });
        self.with_inputs(env)
    }

    /// The environment with the symbols of the inputs declared.
    fn declared(&self, range: impl Fn(Symbol) -> ValueRange) -> ShapeEnv {
        let mut env = self.env.with_own_pool();
        for symbol in self.input_symbols() {
            let name = env.pool.symbol_name(symbol).to_string();
            let info = SymbolInfo { hint: self.hints.get(&symbol).cloned(), source: self.source(symbol) };
            if env.is_float(symbol) {
                env.declare_float(&name, info);
            } else {
                env.declare(&name, range(symbol), info);
            }
        }
        env
    }

    fn with_inputs(&self, env: ShapeEnv) -> Assumptions<'p> {
        let inputs = self
            .inputs
            .iter()
            .map(|input| InputSizes {
                placeholder: input.input.placeholder.clone(),
                index: input.input.index,
                path: input.path(),
                allowed: match &input.kind {
                    InputKind::Tensor { sizes, .. } => Some(sizes.clone()),
                    _ => None,
                },
                scalar: match &input.kind {
                    InputKind::Scalar(e) => Some(*e),
                    _ => None,
                },
                contiguous: self.is_contiguous(input),
            })
            .collect();
        let mut assumptions = Assumptions::new(env, self.records.clone(), inputs);
        assumptions.name_sources();
        assumptions
    }

    /// Where a symbol comes from, as the user writes it: `x.shape[0]`.
    pub(super) fn source(&self, symbol: Symbol) -> Option<Box<str>> {
        self.sources.get_or_init(|| sources(&self.env.pool, &self.inputs)).get(&symbol).cloned()
    }
}

impl Contract<'_> {
    /// Where a symbol comes from, as the user writes it: `x.shape[0]`.
    pub fn source_of(&self, symbol: Symbol) -> Option<String> {
        self.source(symbol).map(Into::into)
    }

    /// What reports call a symbol: where it comes from, if need be computed from a size: `(x.shape[0]//32)`.
    pub fn name_of(&self, symbol: Symbol) -> String {
        if let Some(source) = self.source_of(symbol) {
            return source;
        }
        let pool = &self.env.pool;
        let sizes = self.inputs.iter().flat_map(|input| match &input.kind {
            InputKind::Tensor { sizes, .. } => sizes.iter().map(|&e| (input.path(), e)).enumerate().collect(),
            _ => Vec::new(),
        });
        let mut solved = sizes.filter_map(|(i, (path, e))| {
            let (name, text) = solved_text(pool, e, &format!("{path}.shape[{i}]"))?;
            (name == symbol).then_some(text)
        });
        solved.next().unwrap_or_else(|| pool.symbol_name(symbol).to_string())
    }

    /// How many sizes of inputs are one symbol; `None` for what is no symbol.
    pub fn places_of(&self, size: Expr) -> Option<usize> {
        self.env.pool.as_symbol(size)?;
        let sizes = self.inputs.iter().flat_map(|input| match &input.kind {
            InputKind::Tensor { sizes, .. } => sizes.as_slice(),
            InputKind::Scalar(value) => std::slice::from_ref(value),
            InputKind::Constant(_) | InputKind::Other => &[],
        });
        Some(sizes.filter(|&&other| other == size).count())
    }

    /// Whether an input is a tensor that was contiguous at the traced example.
    pub(super) fn is_contiguous(&self, input: &ProgramInput) -> bool {
        match &input.kind {
            InputKind::Tensor { sizes, strides, .. } => self.contiguous_example(sizes, strides),
            _ => false,
        }
    }

    /// Whether a tensor of these recorded sizes and strides was contiguous at the traced example.
    pub fn contiguous_example(&self, sizes: &[Expr], strides: &[Expr]) -> bool {
        let mut expected = Int::ONE;
        for (&size, &stride) in sizes.iter().zip(strides).rev() {
            let (Some(size), Some(stride)) = (self.example_int(size), self.example_int(stride)) else {
                return false;
            };
            if !size.is_one() && stride != expected {
                return false;
            }
            expected = &expected * &size;
        }
        true
    }
}

/// The conditions that bounds put on an expression.
pub(crate) fn bound_conditions(pool: &mut Pool, e: Expr, bounds: Bounds) -> Vec<Expr> {
    let least = bounds.min.map(|min| {
        let min = pool.int(min);
        pool.ge(e, min)
    });
    let most = bounds.max.map(|max| {
        let max = pool.int(max);
        pool.le(e, max)
    });
    least.into_iter().chain(most).collect()
}

/// Where the symbols of inputs come from; the first place counts.
fn sources(pool: &Pool, inputs: &[ProgramInput]) -> FxHashMap<Symbol, Box<str>> {
    let mut sources = FxHashMap::default();
    for input in inputs {
        match &input.kind {
            InputKind::Tensor { sizes, .. } => {
                for (i, &size) in sizes.iter().enumerate() {
                    if let Some(symbol) = pool.as_symbol(size) {
                        sources
                            .entry(symbol)
                            .or_insert_with(|| format!("{}.shape[{i}]", input.path()).into());
                    }
                }
            }
            InputKind::Scalar(value) => {
                if let Some(symbol) = pool.as_symbol(*value) {
                    sources.entry(symbol).or_insert_with(|| input.path().into());
                }
            }
            InputKind::Constant(_) | InputKind::Other => {}
        }
    }
    sources
}

/// An entry of a list, from its end if the place is negative.
pub(super) fn at(list: &[Expr], place: i64) -> Option<Expr> {
    let index = if place < 0 { place + list.len() as i64 } else { place };
    usize::try_from(index).ok().and_then(|i| list.get(i)).copied()
}

/// What a source of guard code refers to.
pub(super) fn resolve(inputs: &[ProgramInput], table: &SourceTable, source: &SourcePath) -> Option<Expr> {
    let input = inputs.get(table.find(&source.root, &source.steps)?)?;
    match (&input.kind, source.property) {
        (InputKind::Tensor { sizes, .. }, Some(Property::Size(d))) => at(sizes, d),
        (InputKind::Tensor { strides, .. }, Some(Property::Stride(d))) => at(strides, d),
        (InputKind::Tensor { offset, .. }, Some(Property::StorageOffset)) => Some(*offset),
        (InputKind::Scalar(e), None) => Some(*e),
        _ => None,
    }
}

/// The values of symbols at the traced example: recorded for plain symbols, else solved from a linear expression.
fn hints(program: &Program, env: &mut ShapeEnv, records: &mut Records) -> Result<SymbolHints, ContractError> {
    let mut table = Vec::new();
    for (_, _, value) in program.graph.values() {
        collect_exprs(&value.meta, &mut table);
    }
    table.sort_unstable();
    table.dedup();
    let mut known = Vec::with_capacity(table.len());
    for expr in table {
        let e = records.raw(env, expr)?;
        known.extend(program.exprs.get(expr).and_then(|recorded| recorded.hint).map(|hint| (e, hint)));
    }
    Ok(symbol_hints(&env.pool, &known))
}

fn collect_exprs(meta: &sizewise_ir::Meta, table: &mut Vec<sizewise_ir::ExprRef>) {
    use sizewise_ir::{Meta, Sym};
    match meta {
        Meta::Tensor(t) => {
            table.extend(t.sizes.iter().filter_map(|s| if let Sym::Expr(e) = s { Some(*e) } else { None }));
        }
        Meta::SymInt(Sym::Expr(e)) | Meta::SymFloat(Sym::Expr(e)) | Meta::SymBool(Sym::Expr(e)) => {
            table.push(*e)
        }
        _ => {}
    }
}

/// The one unknown symbol of `a*s + b == value` and its value, when that is an integer.
pub(super) fn solve_linear(
    env: &ShapeEnv,
    e: Expr,
    value: &Int,
    known: impl Fn(Symbol) -> bool,
) -> Option<(Symbol, Int)> {
    let poly = env.pool.poly(e);
    let [(monomial, coefficient)] = poly.terms.as_slice() else { return None };
    let symbol = env.pool.as_symbol(*monomial).filter(|&s| !known(s))?;
    let rest = value - &poly.constant;
    if !rest.is_multiple_of(coefficient) {
        return None;
    }
    Some((symbol, rest.floor_div(coefficient)?))
}
