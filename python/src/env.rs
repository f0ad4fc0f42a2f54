//! Environments: facts about sizes, and questions under these facts.
use crate::convert::{from_bound, from_int, from_value, from_witness, to_bound, to_int};
use crate::door;
use crate::errors::{Kind, raise};
use crate::facts::State;
use crate::term::Term;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use sizewise::expr::{Expr, Sort, Value, is_cancelled};
use sizewise::solve::Budget;
use sizewise::spec::shapes::in_python;
use std::sync::{Mutex, PoisonError};

/// The answer of [`Env::implies`].
type Answer<'py> =
    (&'static str, Option<Bound<'py, PyDict>>, Vec<String>, &'static str, Option<String>, Option<String>);

/// The answer of [`Env::bounds`].
type Extent<'py> = (
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyDict>>,
    Option<Bound<'py, PyDict>>,
    bool,
);

/// The answer of [`Env::minimize`].
type Smaller = (Vec<String>, Vec<(usize, Vec<String>)>);

/// Facts about sizes. Expressions are numbers that the environment gives out.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Env {
    /// `None` after a panic.
    state: Mutex<Option<State>>,
}

impl Env {
    /// Does quick work on the state, on this thread.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, String> + Send,
    ) -> PyResult<T> {
        let result = match self.state.try_lock() {
            Ok(mut held) => within(&mut held, work),
            // Whoever holds it may be waiting for the GIL.
            Err(_) => {
                py.detach(|| within(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), work))
            }
        };
        settle(py, result)
    }

    /// Does work that may take long. If it is interrupted, the facts stay as they were.
    fn with_long<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, String> + Send,
    ) -> PyResult<T> {
        let result = door::run(py, || {
            let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = within(&mut held, work);
            if is_cancelled()
                && let Some(state) = held.as_mut()
            {
                state.rebuild();
            }
            result
        });
        settle(py, result.map_err(|stopped| stopped.into_error(py))?)
    }
}

/// Why there is no result.
enum Failure {
    Refused(String),
    Panicked(String),
    Lost,
}

fn within<T>(
    held: &mut Option<State>,
    work: impl FnOnce(&mut State) -> Result<T, String>,
) -> Result<T, Failure> {
    let Some(state) = held.as_mut() else { return Err(Failure::Lost) };
    match door::quietly(|| work(state)) {
        Ok(result) => result.map_err(Failure::Refused),
        Err(panic) => {
            *held = None;
            Err(Failure::Panicked(door::panic_message(&*panic)))
        }
    }
}

fn settle<T>(py: Python<'_>, result: Result<T, Failure>) -> PyResult<T> {
    result.map_err(|failure| match failure {
        Failure::Refused(message) => raise(py, Kind::Expression, message),
        Failure::Panicked(message) => door::bug(py, &message),
        Failure::Lost => raise(py, Kind::Internal, "the environment was lost to an earlier internal error"),
    })
}

/// The default budget of full answers, times a factor.
fn full(budget: f64) -> Budget {
    scaled(&Budget::default(), budget)
}

/// A budget times a factor.
pub fn scaled(budget: &Budget, factor: f64) -> Budget {
    if factor > 1.0 {
        return budget.times(factor.min(1e6) as u32);
    }
    budget.percent((factor * 100.0) as u32)
}

#[pymethods]
impl Env {
    /// With `verdicts`, conditions are reasoned with in a form in which more follows at once, as in a replay.
    #[new]
    #[pyo3(signature = (verdicts=false))]
    fn new(verdicts: bool) -> Env {
        let state = if verdicts { State::for_verdicts() } else { State::default() };
        Env { state: Mutex::new(Some(state)) }
    }

    /// A copy that goes on by itself.
    fn branch(&self, py: Python<'_>) -> PyResult<Env> {
        Ok(Env { state: Mutex::new(Some(self.with(py, |state| Ok(state.branch()))?)) })
    }

    /// A symbol: `kind` is `int`, `float` or `bool`; without it the name decides, as torch's names do.
    #[pyo3(signature = (name, kind=None))]
    fn symbol(&self, py: Python<'_>, name: &str, kind: Option<&str>) -> PyResult<usize> {
        let sort = match kind {
            None => None,
            Some("int") => Some(Sort::Int),
            Some("float") => Some(Sort::Float),
            Some("bool") => Some(Sort::Bool),
            Some(other) => {
                return Err(raise(py, Kind::Expression, format!("unknown kind {other:?} of a symbol")));
            }
        };
        let allowed = |c: char| c.is_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(raise(py, Kind::Expression, format!("{name:?} is not a valid name for a symbol")));
        }
        self.with(py, |state| {
            let e = match sort {
                None => state.pool.symbol(name),
                Some(sort) => state.pool.symbol_of_sort(name, sort),
            };
            if sort.is_some_and(|sort| sort != state.pool.sort(e)) {
                return Err(format!("the symbol {name} is of another kind already"));
            }
            Ok(state.keep(Term::plain(e)))
        })
    }

    /// An integer.
    fn integer(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let value = to_int(value)?;
        self.with(py, |state| {
            let e = state.pool.int(value);
            Ok(state.keep(Term::plain(e)))
        })
    }

    /// A double.
    fn double(&self, py: Python<'_>, value: f64) -> PyResult<usize> {
        self.with(py, |state| {
            let e = state.pool.float(value);
            Ok(state.keep(Term::plain(e)))
        })
    }

    /// A truth value.
    fn truth(&self, py: Python<'_>, value: bool) -> PyResult<usize> {
        self.with(py, |state| {
            let e = state.pool.bool(value);
            Ok(state.keep(Term::plain(e)))
        })
    }

    /// A function, as sympy, torch and Python name it, of expressions.
    fn call(&self, py: Python<'_>, name: &str, operands: Vec<usize>) -> PyResult<usize> {
        self.with(py, |state| state.apply(name, &operands))
    }

    /// The expression of a text.
    fn read(&self, py: Python<'_>, text: &str) -> PyResult<usize> {
        self.with(py, |state| {
            let term = Term::read(&mut state.pool, text)?;
            Ok(state.keep(term))
        })
    }

    /// Declares the range of a symbol and its value in the example.
    #[pyo3(signature = (symbol, min=None, max=None, hint=None))]
    fn declare(
        &self,
        py: Python<'_>,
        symbol: usize,
        min: Option<&Bound<'_, PyAny>>,
        max: Option<&Bound<'_, PyAny>>,
        hint: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (min, max, hint) = (to_bound(min)?, to_bound(max)?, to_bound(hint)?);
        self.with(py, |state| state.declare(symbol, min, max, hint))
    }

    /// Assumes a condition; `text` is how it is shown. Returns the number of assumptions before it.
    #[pyo3(signature = (condition, text=None))]
    fn assume(&self, py: Python<'_>, condition: usize, text: Option<String>) -> PyResult<usize> {
        self.with(py, |state| state.assume(condition, text))
    }

    /// What is known of a condition without reasoning: it was settled before, or its values settle it.
    fn known(&self, py: Python<'_>, condition: usize) -> PyResult<Option<bool>> {
        self.with(py, |state| state.known(condition))
    }

    /// Whether a condition is always true or always false, and what settled it: `store`, `ranges`, `reasoning`; `open`
    /// if nothing did. The budget counts work: 0.25 is that of a replay. Contradictory facts are not looked for.
    #[pyo3(signature = (condition, budget=0.25))]
    fn settle(
        &self,
        py: Python<'_>,
        condition: usize,
        budget: f64,
    ) -> PyResult<(Option<bool>, &'static str)> {
        let budget = scaled(&Budget::small(), budget);
        self.with(py, |state| state.settle(condition, &budget))
    }

    /// Whether the facts imply a condition: verdict, witness, because, rung, reason, and a certificate if it is asked for.
    #[pyo3(signature = (condition, budget=1.0, certificate=false))]
    fn implies<'py>(
        &self,
        py: Python<'py>,
        condition: usize,
        budget: f64,
        certificate: bool,
    ) -> PyResult<Answer<'py>> {
        let answer = self.with_long(py, |state| state.implies(condition, &full(budget), certificate))?;
        let witness = answer.witness.map(|witness| {
            let assignment = PyDict::new(py);
            for (name, value) in &witness {
                assignment.set_item(name, from_int(py, value)?)?;
            }
            PyResult::Ok(assignment)
        });
        let witness = witness.transpose()?;
        Ok((answer.verdict, witness, answer.because, answer.decided_by, answer.reason, answer.certificate))
    }

    /// The text of the smallest expression that is equal under the facts.
    #[pyo3(signature = (expr, text=None, budget=1.0))]
    fn simplify(&self, py: Python<'_>, expr: usize, text: Option<&str>, budget: f64) -> PyResult<String> {
        self.with_long(py, |state| state.simplify(expr, text, &full(budget)))
    }

    /// The least and the greatest value, where they are taken, and whether they are exact.
    #[pyo3(signature = (expr, budget=1.0))]
    fn bounds<'py>(&self, py: Python<'py>, expr: usize, budget: f64) -> PyResult<Extent<'py>> {
        let found = self.with_long(py, |state| state.bounds(expr, &full(budget)))?;
        let at = |witness: &Option<_>| {
            let pool = self.with(py, |state| Ok(state.pool.clone()))?;
            witness.as_ref().map(|witness| from_witness(py, &pool, witness)).transpose()
        };
        let (low, high) = (from_bound(py, found.min.as_ref())?, from_bound(py, found.max.as_ref())?);
        Ok((low, high, at(&found.min_at)?, at(&found.max_at)?, found.exact))
    }

    /// Guards, each with its text if it has one: the texts of those that are left, and the positions of the others
    /// with what they follow from.
    #[pyo3(signature = (guards, budget=1.0))]
    fn minimize(
        &self,
        py: Python<'_>,
        guards: Vec<(usize, Option<String>)>,
        budget: f64,
    ) -> PyResult<Smaller> {
        let smaller = self.with_long(py, |state| state.minimize(&guards, &full(budget)))?;
        Ok((smaller.kept, smaller.dropped))
    }

    /// The text of an expression, as torch prints it.
    fn text(&self, py: Python<'_>, expr: usize) -> PyResult<String> {
        self.with(py, |state| state.text(state.expr(expr)?))
    }

    /// The text of an expression as Python that torch's symbols take; `None` where torch has no operator for a part of it.
    fn python(&self, py: Python<'_>, expr: usize) -> PyResult<Option<String>> {
        self.with(py, |state| {
            let name = |symbol| state.pool.symbol_name(symbol).to_string();
            Ok(in_python(&state.pool, state.expr(expr)?, &name, false))
        })
    }

    /// The names of the symbols in an expression.
    fn symbols_of(&self, py: Python<'_>, expr: usize) -> PyResult<Vec<String>> {
        self.with(py, |state| {
            let symbols = state.pool.free_symbols(&[state.expr(expr)?]);
            Ok(symbols.into_iter().map(|s| state.pool.symbol_name(s).to_string()).collect())
        })
    }

    /// The value of an expression where all of its symbols have one and no division is by zero.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        expr: usize,
        values: &Bound<'py, PyDict>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut given = Vec::with_capacity(values.len());
        for (name, value) in values {
            given.push((name.cast::<PyString>()?.to_string(), Value::Int(to_int(&value)?)));
        }
        let value = self.with(py, |state| {
            let e: Expr = state.expr(expr)?;
            let of = |symbol| {
                let name = state.pool.symbol_name(symbol);
                given.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            Ok(state.pool.eval(e, of).ok())
        })?;
        value.map(|value| from_value(py, &value)).transpose()
    }

    /// How many expressions there are, how many assumptions, and the work counted so far.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, usize, u64)> {
        self.with(py, |state| {
            Ok((
                state.pool.len(),
                state.premises.assumed.len(),
                state.premises.facts.work().effort() + state.pool.work(),
            ))
        })
    }
}
