//! ShapesSpecs of programs: what a program records, and Dim specs of it, in that language.
use super::bind_shapes::ARGS;
use super::change::dimension_name;
use super::contract::{Contract, bound_conditions};
use super::dim::Entry;
use super::error::SpecError;
use super::initial::Width;
use super::inputs::{InputKind, ProgramInput};
use super::locate::places;
use super::parse::Spec;
use super::shapes::{Node, Shapes, Variable, identifier, in_python};
use crate::records::range;
use indexmap::IndexMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_ir::PathStep;
use sizewise_solve::{Budget, without_redundant};
use std::sync::Arc;

/// torch's languages for specs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `Dim`: ranges, shared and derived dimensions.
    Dims,
    /// `ShapesSpec`: variables, and any condition on them.
    Shapes,
}

impl Contract<'_> {
    /// The language that the program was exported in: sizes without an example and without guards are those of a
    /// ShapesSpec.
    pub fn language(&self) -> Language {
        let is_shapes = self.program.guards_code.is_empty() && !self.has_example();
        if is_shapes { Language::Shapes } else { Language::Dims }
    }
}

/// The variables of a spec that is being made.
#[derive(Default)]
struct Variables {
    names: Vec<(Symbol, String)>,
    variables: IndexMap<String, Variable>,
}

impl Variables {
    /// The expression over the variables that a recorded size is; `None` if it has other symbols.
    fn text(&self, pool: &Pool, e: Expr) -> Option<String> {
        let known = |s: &Symbol| self.names.iter().any(|(known, _)| known == s);
        if !pool.free_symbols(&[e]).iter().all(known) {
            return None;
        }
        let name = |s: Symbol| self.names.iter().find(|(known, _)| *known == s).map(|(_, name)| name.clone());
        let name = |s: Symbol| name(s).unwrap_or_default();
        in_python(pool, e, &name, false)
    }

    fn add(&mut self, wanted: &str, variable: Variable) -> String {
        let key = identifier(wanted, |key| self.variables.contains_key(key));
        self.variables.insert(key.clone(), variable);
        key
    }
}

fn variable(bounds: &ValueRange, is_size: bool) -> Variable {
    let min =
        bounds.lower().filter(|min| !is_size || !min.is_negative()).or_else(|| is_size.then_some(Int::ZERO));
    Variable { name: None, min, max: bounds.upper(), hint: None, is_size: Some(is_size) }
}

impl Spec {
    /// The ShapesSpec of a program: a variable for each size that is a symbol, and what is computed from it elsewhere; as
    /// recorded with the program's conditions as assumptions, else any sizes.
    pub fn initial_shapes(contract: &Contract, width: Width) -> Spec {
        let mut found = Variables::default();
        let ranges = |symbol: Symbol, is_size: bool| match width {
            Width::Recorded => variable(&range(contract.bounds(symbol)), is_size),
            Width::Demanded | Width::Any => variable(&ValueRange::all(), is_size),
        };
        let pool = &contract.env.pool;
        for (input, sizes) in contract.inputs.iter().map(|input| (input, sizes(input))) {
            for (dim, &size) in sizes.iter().enumerate() {
                let Some(symbol) = pool.as_symbol(size) else { continue };
                if found.names.iter().all(|(known, _)| *known != symbol) && is_integer(pool, size) {
                    let is_size = matches!(input.kind, InputKind::Tensor { .. });
                    let key = found.add(&place_name(input, dim), ranges(symbol, is_size));
                    found.names.push((symbol, key));
                }
            }
        }
        let mut params = Node::Dict(IndexMap::new());
        for input in &contract.inputs {
            let leaves = sizes(input).iter().enumerate().map(|(dim, &size)| {
                if pool.is_constant(size) || !is_integer(pool, size) {
                    return Node::Static;
                }
                let text = found.text(pool, size);
                Node::Expr(text.unwrap_or_else(|| {
                    found.add(&place_name(input, dim), variable(&ValueRange::all(), true))
                }))
            });
            let leaves: Vec<Node> = leaves.collect();
            place_node(&mut params, &call_path(input), leaf(input, leaves));
        }
        let assumptions =
            if width == Width::Recorded { recorded_conditions(contract, &found) } else { Vec::new() };
        Spec::of_shapes(Shapes { variables: found.variables, params, assumptions })
    }

    /// A ShapesSpec with containers of the classes that the program's inputs have, where it does not say which they are.
    #[must_use]
    pub(crate) fn with_classes_of(&self, contract: &Contract) -> Spec {
        let Some(shapes) = self.shapes() else { return self.clone() };
        let known = Spec::initial_shapes(contract, Width::Any);
        let known = known.shapes().map(|known| known.params.clone()).unwrap_or_default();
        let params = shapes.params.clone().with_classes_of(&known);
        Spec::of_shapes(Shapes { params, ..shapes.clone() })
    }

    /// The spec as a ShapesSpec of a program: sizes that it leaves to the program are variables of their own.
    ///
    /// # Errors
    /// When it does not fit the program.
    pub fn to_shapes(&self, contract: &Contract) -> Result<Spec, SpecError> {
        if self.shapes.is_some() {
            return Ok(self.clone());
        }
        let spec = self.resolved(contract)?;
        let places = places(contract, &spec)?;
        let mut variables: IndexMap<String, Variable> = IndexMap::new();
        let mut assumptions = Vec::new();
        let dim = |min: &Int, max: &Option<Int>| Variable {
            min: Some(min.clone()),
            max: max.clone(),
            is_size: Some(true),
            ..Variable::default()
        };
        for place in &places {
            if let Entry::Dim(named) = &place.entry {
                variables.entry(named.name.clone()).or_insert_with(|| dim(&named.min, &named.max));
            }
        }
        let mut params = Node::Dict(IndexMap::new());
        let mut at = places.iter().peekable();
        for (index, input) in contract.inputs.iter().enumerate() {
            let mut leaves = Vec::new();
            let is_tensor = matches!(input.kind, InputKind::Tensor { .. });
            while let Some(place) = at.next_if(|place| place.input == index) {
                let wanted = place_name(input, leaves.len());
                let own = |variable: Variable, variables: &mut IndexMap<String, Variable>| {
                    let key = identifier(&wanted, |key| variables.contains_key(key));
                    variables.insert(key.clone(), variable);
                    key
                };
                leaves.push(match &place.entry {
                    Entry::Static => Node::Static,
                    Entry::Size(size) => Node::Size(size.clone()),
                    Entry::Dim(named) => Node::Expr(named.name.clone()),
                    Entry::Inferred { min, max, .. } => {
                        let recorded =
                            contract.env.pool.as_symbol(place.recorded).map(|s| range(contract.bounds(s)));
                        let mut made = recorded.map_or_else(
                            || variable(&ValueRange::all(), is_tensor),
                            |r| variable(&r, is_tensor),
                        );
                        made.min = min.clone().or(made.min);
                        made.max = max.clone().or(made.max);
                        Node::Expr(own(made, &mut variables))
                    }
                    Entry::Derived { expression, root } if variables.contains_key(&root.name) => {
                        Node::Expr(expression.clone())
                    }
                    // torch takes no variable that is no size.
                    Entry::Derived { expression, root } => {
                        let key = own(variable(&ValueRange::all(), true), &mut variables);
                        assumptions.extend(multiples(expression, root.min.clone(), root.max.clone(), &key));
                        Node::Expr(key)
                    }
                    Entry::Sum { expression, .. } | Entry::Formula(expression) => {
                        Node::Expr(expression.clone())
                    }
                });
            }
            place_node(&mut params, &call_path(input), leaf(input, leaves));
        }
        Shapes { variables, params, assumptions }.checked().map(Spec::of_shapes)
    }
}

/// What `factor*root + offset` in a range says of the variable that it is.
fn multiples(expression: &str, min: Int, max: Option<Int>, key: &str) -> Vec<String> {
    let mut pool = Pool::new();
    let Ok(read) = sizewise_expr::text::read::closed(&mut pool, expression) else { return Vec::new() };
    let poly = pool.poly(read.expr);
    let [(_, factor)] = poly.terms.as_slice() else { return Vec::new() };
    let at = |root: &Int| &(factor * root) + &poly.constant;
    let mut all =
        vec![format!("({key} - ({})) % {factor} == 0", poly.constant), format!("{key} >= {}", at(&min))];
    all.extend(max.map(|max| format!("{key} <= {}", at(&max))));
    all
}

/// The sizes of a tensor, or a number.
fn sizes(input: &ProgramInput) -> &[Expr] {
    match &input.kind {
        InputKind::Tensor { sizes, .. } => sizes,
        InputKind::Scalar(value) => std::slice::from_ref(value),
        InputKind::Constant(_) | InputKind::Other => &[],
    }
}

fn is_integer(pool: &Pool, e: Expr) -> bool {
    pool.sort(e) == sizewise_expr::Sort::Int
}

fn place_name(input: &ProgramInput, dim: usize) -> String {
    match input.kind {
        InputKind::Tensor { .. } => dimension_name(&input.path(), dim),
        _ => input.path(),
    }
}

/// What stands for an input.
fn leaf(input: &ProgramInput, mut leaves: Vec<Node>) -> Node {
    match input.kind {
        InputKind::Tensor { .. } if leaves.iter().all(|leaf| *leaf == Node::Static) => Node::Static,
        InputKind::Tensor { .. } => Node::Tensor(leaves),
        _ => leaves.pop().unwrap_or_default(),
    }
}

/// The way to an input by the names that a ParamsSpec has: it gives what `*args` takes in a list, and arguments of
/// `**kwargs` by their own names.
fn call_path(ProgramInput { input, .. }: &ProgramInput) -> Vec<PathStep> {
    if let Some((nth, rest)) = input.of_varargs() {
        return [&[PathStep::Parameter(ARGS.into()), PathStep::Index(nth)], rest].concat();
    }
    match (&input.keyword, input.path.as_slice()) {
        (Some(keyword), [PathStep::Parameter(name), _, rest @ ..]) if name != keyword => {
            [&[PathStep::Parameter(Arc::clone(keyword))], rest].concat()
        }
        (_, path) => path.to_vec(),
    }
}

/// Puts a part at the end of a path of containers, which are made on the way.
fn place_node(tree: &mut Node, path: &[PathStep], part: Node) {
    let mut at = tree;
    for step in path {
        let made = |node: &Node| !matches!(node, Node::Static);
        at = match step {
            PathStep::Index(i) => {
                if !made(at) {
                    *at = Node::Seq(Vec::new());
                }
                let Node::Seq(items) = at else { return };
                if items.len() <= *i {
                    items.resize(i + 1, Node::Static);
                }
                &mut items[*i]
            }
            PathStep::Parameter(name) | PathStep::Field(name) => {
                if !made(at) {
                    *at = Node::Object(IndexMap::new());
                }
                let (Node::Object(fields) | Node::Dict(fields)) = at else { return };
                fields.entry(name.to_string()).or_default()
            }
            PathStep::Key(key) => {
                if !made(at) {
                    *at = Node::Dict(IndexMap::new());
                }
                let (Node::Object(fields) | Node::Dict(fields)) = at else { return };
                fields.entry(key.name()).or_default()
            }
        };
    }
    *at = part;
}

/// The conditions of a program's contract over the variables, without those that follow from others.
fn recorded_conditions(contract: &Contract, found: &Variables) -> Vec<String> {
    let mut env = contract.env.with_own_pool();
    let mut conditions: Vec<Expr> = contract.guards.iter().map(|guard| guard.condition).collect();
    for (e, bounds) in &contract.ranges {
        if env.pool.as_symbol(*e).is_none() {
            conditions.extend(bound_conditions(&mut env.pool, *e, *bounds));
        }
    }
    conditions.retain(|&e| found.text(&env.pool, e).is_some());
    let ranges: Vec<(Symbol, ValueRange)> = found
        .names
        .iter()
        .map(|(symbol, key)| {
            let variable = &found.variables[key];
            let range = ValueRange::between_options(variable.min.clone(), variable.max.clone());
            (*symbol, range.unwrap_or_else(ValueRange::all))
        })
        .collect();
    let kept = without_redundant(&mut env.pool, &ranges, &conditions, &Budget::small());
    kept.into_iter().filter_map(|e| found.text(&env.pool, e)).collect()
}
