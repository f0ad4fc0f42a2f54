//! A spec as one of the two that are compared: the inputs that it allows of a program.
use super::program::input;
use super::side::{Input, Kind, Outcome, Side, Source};
use sizewise_check::check::{Acceptance, CheckError, Checker, Enforced, Enforcement, Shapes};
use sizewise_check::report::guard_code::{GuardSet, GuardedInput};
use sizewise_check::spec::{Assumptions, InputKind, Shape, Spec, SpecError, bind};
use sizewise_expr::{Evaluator, Expr, Int, Pool, Symbol, Value as Number};
use sizewise_ir::{Bounds, SymbolHints};
use sizewise_kernels::Operators;

/// Why a spec cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SpecSideError {
    /// The program cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The spec does not fit the program.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

/// The inputs that are allowed by conditions on their sizes.
pub struct Allowed {
    /// The inputs, the sizes that determine symbols, and the conditions.
    pub set: GuardSet,
    /// The same inputs.
    pub inputs: Vec<Input>,
}

impl<'c> Side<'c> {
    /// The inputs that a spec allows of a program, whether the program takes them or not.
    ///
    /// # Errors
    /// When the program's records cannot be read, or the spec does not fit it.
    pub fn of_spec(
        name: &str,
        spec: &Spec,
        checker: &'c Checker,
        operators: &'c Operators,
    ) -> Result<Side<'c>, SpecSideError> {
        let contract = checker.contract(operators)?;
        let assumptions = bind(&contract, spec)?;
        let mut inputs: Vec<Input> = contract.inputs.iter().map(input).collect();
        for (input, sizes) in inputs.iter_mut().zip(&assumptions.inputs) {
            match (&mut input.kind, &sizes.allowed, sizes.scalar) {
                (Kind::Tensor { sizes, .. }, Some(allowed), _) => sizes.clone_from(allowed),
                (Kind::Scalar(_) | Kind::Constant(_), _, Some(value)) => input.kind = Kind::Scalar(value),
                _ => {}
            }
        }
        let (mut allowed, mut determined) = Allowed::new(name, assumptions.env.pool.clone(), inputs);
        conditions(&mut allowed.set, &assumptions);
        if let Some(condition) = allowed.set.left_open.first() {
            determined = Err(format!("a variable of {condition} is the size of no input"));
        }
        let Allowed { set, inputs } = &allowed;
        let hints = hints(set, inputs, &|input, dim| {
            let program = &contract.inputs[input];
            let recorded = match (&program.kind, dim) {
                (InputKind::Tensor { sizes, .. }, Some(dim)) => *sizes.get(dim)?,
                (InputKind::Scalar(e), None) => *e,
                _ => program.burned_in?,
            };
            contract.example_int(recorded)
        });
        let range = |(_, min, max): (Symbol, Option<&Int>, Option<&Int>)| Bounds {
            min: min.and_then(Int::to_i64),
            max: max.and_then(Int::to_i64),
        };
        let ranges = assumptions.env.known_facts().ranges().map(range).collect();
        Ok(allowed.side(determined, hints, ranges))
    }
}

/// The sizes of inputs: the position of the input, the dimension, and the size.
pub(super) fn sizes(inputs: &[Input]) -> Vec<(usize, Option<usize>, Expr)> {
    let mut all = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        match &input.kind {
            Kind::Tensor { sizes, .. } => {
                all.extend(sizes.iter().enumerate().map(|(dim, &e)| (at, Some(dim), e)));
            }
            Kind::Scalar(e) => all.push((at, None, *e)),
            Kind::Constant(_) | Kind::Other => {}
        }
    }
    all
}

/// What the spec says of its symbols: ranges, and conditions.
fn conditions(set: &mut GuardSet, assumptions: &Assumptions) {
    let facts = assumptions.env.known_facts();
    let mut all = Vec::new();
    for (symbol, min, max) in facts.ranges() {
        let e = set.pool.symbol_expr(symbol);
        for (end, is_least) in [(min, true), (max, false)] {
            let Some(end) = end else { continue };
            let end = set.pool.int(end.clone());
            all.push(if is_least { set.pool.ge(e, end) } else { set.pool.le(e, end) });
        }
    }
    all.extend(facts.conditions().iter().chain(assumptions.env.left_out()));
    let symbols: Vec<Symbol> = set.variables.iter().map(|v| v.symbol).collect();
    for e in all {
        let free = set.pool.free_symbols(&[e]);
        let known = free.iter().filter(|s| symbols.contains(s)).count();
        match set.pool.as_bool(e) {
            Some(true) => {}
            _ if known == free.len() => set.conditions.push(e),
            // A variable that no size determines has some value in its range.
            _ if known == 0 && free.len() == 1 => {}
            _ => set.left_open.push(set.shown(e)),
        }
    }
}

/// The values of the symbols at the traced example, of which the size of an input in a dimension is known.
fn hints(
    set: &GuardSet,
    inputs: &[Input],
    example: &dyn Fn(usize, Option<usize>) -> Option<Int>,
) -> SymbolHints {
    let mut hints = SymbolHints::default();
    for v in set.variables.iter().filter(|v| v.input < inputs.len()) {
        if let Some(value) = example(v.input, v.dim).and_then(|size| (&size - &v.offset).floor_div(&v.factor))
        {
            hints.insert(v.symbol, Number::Int(value));
        }
    }
    hints
}

impl Source for Allowed {
    fn replay(&self, shapes: &Shapes) -> Outcome {
        match self.refusal(shapes) {
            Ok(()) if self.set.left_open.is_empty() => Outcome::Accepts(Vec::new()),
            Ok(()) => Outcome::Open,
            Err(Some(reason)) => Outcome::Refuses(reason),
            Err(None) => Outcome::Open,
        }
    }
}

impl Allowed {
    /// These inputs, without conditions. The second is an error if their sizes do not determine a symbol.
    pub fn new(name: &str, pool: Pool, inputs: Vec<Input>) -> (Allowed, Result<(), String>) {
        let guarded = |input: &Input| {
            let name = input.placeholder.to_string();
            match &input.kind {
                Kind::Tensor { sizes, .. } => GuardedInput::Tensor { name, sizes: sizes.clone() },
                Kind::Scalar(value) => GuardedInput::Number { name, value: *value },
                Kind::Constant(value) => GuardedInput::Constant { name, value: value.clone() },
                Kind::Other => GuardedInput::Tensor { name, sizes: Vec::new() },
            }
        };
        let mut set = GuardSet {
            program: name.to_owned(),
            pool,
            inputs: inputs.iter().map(guarded).collect(),
            variables: Vec::new(),
            fixed: Vec::new(),
            conditions: Vec::new(),
            left_open: Vec::new(),
            not_followed: 0,
        };
        let determined = set.determine(&sizes(&inputs));
        let determined = determined.map_err(|name| format!("no size of an input says what {name} is"));
        (Allowed { set, inputs }, determined)
    }

    /// What is compared, where nothing else than the conditions says what is accepted.
    pub fn side<'c>(
        self,
        determined: Result<(), String>,
        hints: SymbolHints,
        ranges: Vec<Bounds>,
    ) -> Side<'c> {
        let enforced = Enforced { by: Enforcement::AtEntry, line: None };
        let acceptance = determined.map(|()| Acceptance {
            demands: vec![enforced; self.set.conditions.len()],
            set: self.set.clone(),
            hints: hints.clone(),
            results: Vec::new(),
            results_are_derived: true,
        });
        Side {
            name: self.set.program.clone(),
            nodes: 0,
            inputs: self.inputs.clone(),
            pool: self.set.pool.clone(),
            hints,
            ranges,
            outputs: None,
            acceptance,
            results: Vec::new(),
            source: Box::new(self),
        }
    }

    /// A number among the inputs.
    fn number(&self, shapes: &Shapes, input: usize, dim: Option<usize>) -> Option<Number> {
        match (shapes.get(&self.inputs.get(input)?.placeholder)?, dim) {
            (Shape::Tensor(sizes), Some(dim)) => sizes.get(dim).cloned().map(Number::Int),
            (Shape::Scalar(number), None) => Some(number.clone()),
            _ => None,
        }
    }

    /// Whether these inputs are allowed.
    ///
    /// # Errors
    /// Why they are not; without a reason, where that is not known.
    pub fn refusal(&self, shapes: &Shapes) -> Result<(), Option<String>> {
        let pool = &self.set.pool;
        let mut values: Vec<(Symbol, Number)> = Vec::new();
        for v in &self.set.variables {
            let number = self.number(shapes, v.input, v.dim).ok_or(None)?;
            let is_plain = v.factor.is_one() && v.offset.is_zero();
            let value = match number.as_int() {
                _ if is_plain => number,
                Some(size) => Number::Int((&size - &v.offset).floor_div(&v.factor).ok_or(None)?),
                None => return Err(None),
            };
            values.push((v.symbol, value));
        }
        let value = |symbol: Symbol| {
            values.iter().find(|(known, _)| *known == symbol).map(|(_, value)| value.clone())
        };
        for (input, dim, size) in sizes(&self.inputs) {
            let given = self.number(shapes, input, dim).ok_or(None)?;
            let allowed = pool.eval(size, value).map_err(|_| None)?;
            if given != allowed {
                let path = &self.inputs[input].path;
                let place = dim.map_or_else(|| path.clone(), |dim| format!("{path}.shape[{dim}]"));
                return Err(Some(format!("{place} has to be {}", self.shown(size))));
            }
        }
        for input in &self.inputs {
            let Kind::Constant(constant) = &input.kind else { continue };
            let is_other = shapes
                .get(&input.placeholder)
                .is_some_and(|shape| *shape != super::side::constant_shape(constant));
            if is_other {
                return Err(Some(format!("{} has to be {constant}", input.path)));
            }
        }
        let mut evaluator = Evaluator::new(pool, value);
        for &condition in &self.set.conditions {
            match evaluator.truth(condition) {
                Ok(true) => {}
                // A condition without a value does not hold.
                Ok(false) | Err(_) => return Err(Some(format!("not {}", self.shown(condition)))),
            }
        }
        Ok(())
    }

    /// An expression over the sizes of inputs.
    fn shown(&self, e: Expr) -> String {
        self.set.shown(e)
    }
}
