//! Why a dimension is static, or what it has to satisfy.
//!
//! The dimension is replaced by a fresh symbol, whatever the program records for it, and the program is
//! propagated again. Operators and guards then yield conditions on that symbol. The reasons are the sets of
//! these conditions that force the recorded size. Guards are recorded but not assumed, so that every step that
//! needs a condition is found, not only the first.
use super::checker::Checker;
use super::error::CheckError;
use super::excluded::excluded;
use super::minimal::declared_ranges;
use super::obligation::{Obligation, Source};
use super::summary;
use crate::propagate::{Interpreter, Mode, Step, Stop, recorded};
use crate::report::{Condition, Explanation};
use crate::spec::{Assumptions, Contract, DemandKind, InputKind, bound_conditions};
use indexmap::IndexMap;
use sizewise_env::{GuardKind, Origin};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number};
use sizewise_ir::Constant;
use sizewise_kernels::{Cx, Operators, Tensor, Value};
use sizewise_solve::{Budget, Facts, Premise, Verdict, decide};
use std::sync::Arc;

/// The most reasons that are given.
const MAX_REASONS: usize = 4;
/// The most conditions among which reasons are sought.
const MAX_CONDITIONS: usize = 200;

/// One dimension of an input, or a constant input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// The input's position among the contract's inputs.
    pub input: usize,
    /// The dimension; `None` for a constant input.
    pub dim: Option<usize>,
    /// As users write it: `x.shape[0]`, `y`.
    pub name: String,
}

/// The result of a run with the freed dimension.
struct FreedRun<'p> {
    pool: Pool,
    /// Everything that operators, guards and ranges need, each condition once.
    conditions: Vec<Needed>,
    steps: Arc<Vec<Step<'p>>>,
    /// The node where the run stopped early.
    stopped_at: Option<String>,
}

/// A condition with the steps that need it.
pub(super) struct Needed {
    pub condition: Expr,
    pub obligation: Obligation,
    pub nodes: usize,
}

impl Checker {
    /// The dimensions of the program's inputs, and the constant inputs.
    ///
    /// # Errors
    /// When the inputs cannot be determined.
    pub fn dimensions(&self) -> Result<Vec<Dimension>, CheckError> {
        let contract = Contract::load(self.program())?;
        let mut dimensions = Vec::new();
        for (input, given) in contract.inputs.iter().enumerate() {
            let path = given.path();
            match &given.kind {
                InputKind::Tensor { sizes, .. } => dimensions.extend((0..sizes.len()).map(|dim| Dimension {
                    input,
                    dim: Some(dim),
                    name: format!("{path}.shape[{dim}]"),
                })),
                InputKind::Constant(_) => dimensions.push(Dimension { input, dim: None, name: path }),
                InputKind::Scalar(_) | InputKind::Other => {}
            }
        }
        Ok(dimensions)
    }

    /// The dimension that a user's text names: `x.shape[0]` or `x.0`, `x` being a path or a placeholder's name.
    ///
    /// # Errors
    /// When there is none; the message lists what there is.
    pub fn dimension(&self, text: &str) -> Result<Dimension, CheckError> {
        let contract = Contract::load(self.program())?;
        let dimensions = self.dimensions()?;
        let (root, dim) = match text.strip_suffix(']').and_then(|t| t.rsplit_once(".shape[")) {
            Some(parts) => parts,
            None => text.rsplit_once('.').unwrap_or((text, "")),
        };
        let dim = dim.parse::<usize>().ok();
        let found = dimensions.iter().find(|d| {
            let input = &contract.inputs[d.input];
            let is_called = |name: &str| input.path() == name || *input.input.placeholder == *name;
            match d.dim {
                Some(own) => dim == Some(own) && is_called(root),
                None => is_called(text),
            }
        });
        found.cloned().ok_or_else(|| {
            let known: Vec<&str> = dimensions.iter().take(20).map(|d| d.name.as_str()).collect();
            CheckError::NoDimension(text.to_string(), known.join(", "))
        })
    }

    /// Why a dimension is what the program records.
    ///
    /// # Errors
    /// When the program's records cannot be read.
    pub fn explain(
        &self,
        dimension: &Dimension,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Explanation, CheckError> {
        let Some(dim) = dimension.dim else { return self.explain_constant(dimension) };
        let freed = Contract::load_freed(self.program(), dimension.input, dim)?;
        let Some((contract, free, recorded)) = freed else {
            return Err(CheckError::NoDimension(dimension.name.clone(), "no sizes there".to_string()));
        };
        let assumptions = contract.unconstrained();
        let needs = self.needs(&contract, &assumptions, operators)?;
        let FreedRun { mut pool, conditions: needed, steps, stopped_at } = needs;
        let ranges = declared_ranges(assumptions.env.known_facts());
        let recorded = only_size(&contract, &mut pool, (free, recorded), &needed, &ranges);
        let is_static = pool.is_constant(recorded);
        let own = contract.places_of(recorded) == Some(0);
        let goal = pool.eq(free, recorded);
        let describe = |pool: &Pool, item: &Needed| describe(&assumptions, &steps, pool, item);
        let mut explanation = Explanation {
            dim: dimension.name.clone(),
            recorded: summary::shown_in(&assumptions, &pool, recorded),
            is_static,
            specialized: None,
            reasons: Vec::new(),
            restrictions: Vec::new(),
            also_taken: None,
            stopped_at,
            unreadable: contract.unreadable.clone(),
        };
        let follows = |pool: &mut Pool, chosen: &[usize]| {
            let mut facts = Facts::new();
            for (symbol, range) in &ranges {
                facts.declare(pool, *symbol, range.clone());
            }
            for &i in chosen {
                facts.assume(pool, needed[i].condition);
            }
            decide(pool, &mut facts, goal, budget).verdict
        };
        let mut used = vec![false; needed.len()];
        // A symbol that no other input shares has no reason outside itself.
        while !own && explanation.reasons.len() < MAX_REASONS {
            let open: Vec<usize> = (0..needed.len()).filter(|&i| !used[i]).take(MAX_CONDITIONS).collect();
            match follows(&mut pool, &open) {
                Verdict::Implied { because } => {
                    let core = minimal_core(&needed, &open, &because, |chosen| {
                        follows(&mut pool, chosen).is_implied()
                    });
                    if core.is_empty() {
                        break;
                    }
                    explanation.reasons.push(core.iter().map(|&i| describe(&pool, &needed[i])).collect());
                    for i in core {
                        used[i] = true;
                    }
                }
                Verdict::Refuted { witness } if explanation.reasons.is_empty() => {
                    let symbol = pool.as_symbol(free);
                    let size = symbol.and_then(|symbol| {
                        let near = taken_nearby(&contract, &pool, symbol, &needed);
                        near.or_else(|| witness.iter().find(|(s, _)| *s == symbol).map(|(_, v)| v.clone()))
                    });
                    let size = size.map(|size| size.to_string());
                    explanation.also_taken = size.filter(|_| explanation.stopped_at.is_none());
                    break;
                }
                _ => break,
            }
        }
        let restricting = needed.iter().enumerate().filter(|(i, item)| {
            !used[*i] && pool.free_symbols(&[item.condition]).iter().any(|&s| pool.as_symbol(free) == Some(s))
        });
        if explanation.reasons.is_empty() {
            explanation.restrictions =
                restricting.take(MAX_CONDITIONS).map(|(_, item)| describe(&pool, item)).collect();
        }
        Ok(explanation)
    }

    /// Why an input that is no tensor has one value.
    fn explain_constant(&self, dimension: &Dimension) -> Result<Explanation, CheckError> {
        let contract = Contract::load(self.program())?;
        let constant = match contract.inputs.get(dimension.input).map(|input| &input.kind) {
            Some(InputKind::Constant(constant)) => constant,
            _ => {
                return Err(CheckError::NoDimension(dimension.name.clone(), "no constant there".to_string()));
            }
        };
        let name = &dimension.name;
        let because = match constant {
            Constant::Int(_) => {
                "torch.export specializes on an integer unless its entry in dynamic_shapes is Dim.AUTO or Dim.DYNAMIC"
            }
            Constant::Bool(_) => {
                "torch.export specializes on every bool: export once for each value, or pass a tensor and \
                 choose with torch.cond or torch.where"
            }
            Constant::Float(_) => {
                "torch.export specializes on every float: pass a 0-dimensional tensor to let it vary"
            }
            Constant::Str(_) => "torch.export specializes on every string: export once for each value",
            Constant::None => {
                "torch.export specializes on every None: the module does not check what is passed in its place"
            }
        };
        Ok(Explanation {
            dim: name.clone(),
            recorded: constant.to_string(),
            is_static: true,
            specialized: Some(format!("`{name}` was specialized to {constant} because {because}")),
            reasons: Vec::new(),
            restrictions: Vec::new(),
            also_taken: None,
            stopped_at: None,
            unreadable: contract.unreadable.clone(),
        })
    }

    /// Propagates with the freed dimension.
    fn needs<'s>(
        &'s self,
        contract: &Contract<'s>,
        assumptions: &Assumptions<'s>,
        operators: &'s Operators,
    ) -> Result<FreedRun<'s>, CheckError> {
        let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
        env.keep_asking();
        let program = self.program();
        let mut inputs = recorded::assumed_inputs(program, &assumptions.inputs, &mut records, &mut env)?;
        for input in &contract.inputs {
            let (InputKind::Tensor { sizes, strides, .. }, Some(Value::Tensor(tensor))) =
                (&input.kind, inputs.get(input.input.index).cloned())
            else {
                continue;
            };
            if tensor.sizes.as_slice() != sizes.as_slice() {
                let plain = contract.contiguous_example(sizes, strides);
                let strides =
                    if plain { Cx::new(&mut env).contiguous_strides(sizes) } else { tensor.strides.clone() };
                let freed = Tensor { sizes: sizes.as_slice().into(), strides, ..(*tensor).clone() };
                inputs[input.input.index] = freed.into();
            }
        }
        let mut interpreter = Interpreter::new(program, env, records, operators, Mode::Evaluate);
        let stopped_at = match interpreter.propagate(inputs) {
            Ok(_) => None,
            Err(Stop::Failed(failure)) => interpreter.run.step(failure.origin).map(|s| s.node()),
            Err(stop @ Stop::Unreadable(_)) => return Err(stop.into()),
        };
        let mut run = interpreter.run;
        let mut found: IndexMap<Expr, Needed> = IndexMap::new();
        let mut add = |condition: Expr, origin: Option<Origin>, source| {
            let obligation = Obligation { condition, source, origin };
            let item = found.entry(condition).or_insert(Needed { condition, obligation, nodes: 0 });
            item.nodes += 1;
        };
        for guard in run.env.guards() {
            add(guard.condition, Some(guard.origin), Source::Guard(guard.kind, guard.clause));
        }
        // Without an example, what operators need of the inputs is no guard.
        let of_inputs =
            |e| run.env.pool.free_symbols(&[e]).iter().all(|&s| assumptions.env.symbol(s).is_some());
        for assert in run.env.runtime_asserts().iter().filter(|assert| of_inputs(assert.condition)) {
            let source = Source::Guard(GuardKind::Precondition, assert.clause);
            add(assert.condition, Some(assert.origin), source);
        }
        for guard in &contract.guards {
            add(guard.condition, None, Source::Demand(DemandKind::Guard));
        }
        for (e, bounds) in &contract.ranges {
            for condition in bound_conditions(&mut run.env.pool, *e, *bounds) {
                add(condition, None, Source::Demand(DemandKind::Contract));
            }
        }
        let pool = run.env.pool;
        let conditions = found
            .into_values()
            .filter(|item| {
                pool.as_bool(item.condition).is_none() && !pool.free_symbols(&[item.condition]).is_empty()
            })
            .collect();
        Ok(FreedRun { pool, conditions, steps: run.steps, stopped_at })
    }
}

/// A minimal subset of the conditions that a proof used; `because` are indices into `open`.
fn minimal_core(
    needed: &[Needed],
    open: &[usize],
    because: &[Premise],
    mut follows: impl FnMut(&[usize]) -> bool,
) -> Vec<usize> {
    let used = because.iter().filter_map(|premise| match premise {
        Premise::Fact(id) => open.get(id.0 as usize).copied(),
        _ => None,
    });
    let mut core: Vec<usize> = used.collect();
    // Recorded ranges are removed first, so that the steps that need a condition are left.
    core.sort_by_key(|&i| (needed[i].obligation.origin.is_some(), i));
    for i in core.clone() {
        let without: Vec<usize> = core.iter().copied().filter(|&j| j != i).collect();
        if follows(&without) {
            core = without;
        }
    }
    core
}

/// What the program records of a size, or the size of the example where no other one satisfies everything.
fn only_size(
    contract: &Contract,
    pool: &mut Pool,
    (free, recorded): (Expr, Expr),
    needed: &[Needed],
    ranges: &[(Symbol, ValueRange)],
) -> Expr {
    let traced = pool.eval(recorded, |s| contract.hints.get(&s).cloned()).ok().and_then(|size| size.as_int());
    let (Some(traced), Some(symbol)) = (traced, pool.as_symbol(free)) else { return recorded };
    let is_known = pool.is_constant(recorded) || needed.len() > MAX_CONDITIONS;
    if is_known || taken_nearby(contract, pool, symbol, needed).is_some() {
        return recorded;
    }
    let mut facts = Facts::new();
    ranges.iter().for_each(|(symbol, range)| facts.declare(pool, *symbol, range.clone()));
    needed.iter().for_each(|needed| _ = facts.assume(pool, needed.condition));
    let traced = pool.int(traced);
    let is_traced = pool.eq(free, traced);
    let is_only = decide(pool, &mut facts, is_traced, &Budget::small()).verdict.is_implied();
    if is_only { traced } else { recorded }
}

/// A size near the traced one that satisfies everything, the other symbols being as traced.
fn taken_nearby(contract: &Contract, pool: &Pool, symbol: Symbol, needed: &[Needed]) -> Option<Int> {
    let traced = contract.hints.get(&symbol)?.as_int()?;
    let one = Int::from(1);
    [&traced + &one, &(&traced + &one) + &one, &traced + &traced, &traced - &one].into_iter().find(|size| {
        let value = |s: Symbol| match s == symbol {
            true => Some(Number::Int(size.clone())),
            false => contract.hints.get(&s).cloned(),
        };
        *size != traced
            && !size.is_negative()
            && needed.iter().all(|item| pool.eval(item.condition, value).is_ok_and(|v| v.as_bool()))
    })
}

pub(super) fn describe(assumptions: &Assumptions, steps: &[Step], pool: &Pool, item: &Needed) -> Condition {
    let step = item.obligation.origin.and_then(|origin| steps.get(origin.0 as usize));
    Condition {
        shown: summary::shown_in(assumptions, pool, item.condition),
        node: step.map(|s| s.node()),
        op: step.map(|s| s.op()),
        more_nodes: item.nodes.saturating_sub(1),
        clause: item.obligation.clause(),
        location: step.and_then(|s| s.location()),
        code: step.and_then(|s| s.code()),
        cause: item.obligation.cause(pool),
        excludes: excluded(pool, item.condition),
    }
}
