//! What a ShapesSpec is made of, in Python: `ShapeVar(...)`, `TensorSpec([...])` and the rest of
//! `torch.fx.experimental.dynamic_spec`, with the errors that torch has for them.
use super::dims::{Binding, Declared, Formula, Kind, MARK, PyValue, ShapesPart};
use super::formula::called;
use super::read::{PythonReader, Result, SPEC};
use super::token::{TextPlace, Token, Wrong};
use sizewise_expr::Int;
use std::rc::Rc;

/// A text has at most this many variables.
const MAX_VARIABLES: usize = 10_000;

/// The functions of torch and Python that take sizes.
pub(super) const FUNCTIONS: [&str; 11] =
    ["sym_max", "sym_min", "sym_not", "sym_ite", "abs", "max", "min", "int", "float", "bool", "range"];
/// The classes that a ShapesSpec is made of.
pub(super) const CLASSES: [&str; 8] =
    ["ShapeVar", "IntVar", "TensorSpec", "DictSpec", "ObjectSpec", "SeqSpec", "ParamsSpec", "ShapesSpec"];

/// The arguments of a call, with the places of their values.
#[derive(Default)]
struct Arguments {
    positional: Vec<(PyValue, TextPlace)>,
    named: Vec<(String, PyValue, TextPlace)>,
}

/// An argument where it is given.
type Given = Option<(PyValue, TextPlace)>;

impl Arguments {
    /// The arguments by these names, the first `positional` of which may go without.
    fn into<const N: usize>(
        self,
        class: &str,
        names: [&str; N],
        positional: usize,
        place: TextPlace,
    ) -> Result<[Given; N]> {
        let mut found: [Given; N] = std::array::from_fn(|_| None);
        let least = usize::from(["TensorSpec", "SeqSpec"].contains(&class));
        if self.positional.len() > positional {
            let (from, to, given) = (1 + least, 1 + positional, self.positional.len() + 1);
            let takes = if from == to { format!("takes {to}") } else { format!("takes from {from} to {to}") };
            let message = format!("{class}.__init__() {takes} positional arguments but {given} were given");
            return Err(place.error(message));
        }
        for (slot, given) in found.iter_mut().zip(self.positional) {
            *slot = Some(given);
        }
        for (name, value, place) in self.named {
            let Some(at) = names.iter().position(|known| *known == name) else {
                let message = format!("{class}.__init__() got an unexpected keyword argument '{name}'");
                return Err(place.error(message));
            };
            if found[at].replace((value, place)).is_some() {
                let message = format!("{class}.__init__() got multiple values for argument '{name}'");
                return Err(place.error(message));
            }
        }
        if least == 1 && found[0].is_none() {
            let message =
                format!("{class}.__init__() missing 1 required positional argument: '{}'", names[0]);
            return Err(place.error(message));
        }
        Ok(found)
    }
}

impl PythonReader<'_> {
    /// What a function of sizes gives, its name read before.
    pub(super) fn function(&mut self, name: &str, place: TextPlace) -> Result<PyValue> {
        let arguments = self.arguments()?;
        let values: Vec<PyValue> = arguments.positional.into_iter().map(|(value, _)| value).collect();
        called(name, &values, place)
    }

    /// `ShapeVar(...)`, `TensorSpec(...)` and the like, the name read before.
    pub(super) fn part(&mut self, class: &str, place: TextPlace) -> Result<PyValue> {
        self.begins_dict_spec = class == "DictSpec";
        let arguments = self.arguments();
        self.begins_dict_spec = false;
        let arguments = arguments?;
        match class {
            "ShapeVar" | "IntVar" => self.variable(class, arguments, place),
            "TensorSpec" => {
                let [dims] = arguments.into(class, ["dims"], 1, place)?;
                let dims = sequence(dims, place)?;
                for (i, dim) in dims.iter().enumerate() {
                    let is_leaf = match dim {
                        PyValue::None | PyValue::Int(_) | PyValue::Bool(_) => true,
                        PyValue::Formula(formula) => formula.kind == Kind::Int,
                        _ => false,
                    };
                    if !is_leaf {
                        let message = format!("TensorSpec dim {i}: expected LeafIntSpec, got {}", dim.got());
                        return Err(place.error(message));
                    }
                }
                Ok(part(ShapesPart::Tensor(dims)))
            }
            "SeqSpec" => {
                let [entries] = arguments.into(class, ["entries"], 1, place)?;
                Ok(part(ShapesPart::Seq(sequence(entries, place)?)))
            }
            "DictSpec" => {
                let [entries] = arguments.into(class, ["entries"], 1, place)?;
                Ok(part(ShapesPart::Dict(fields(entries)?)))
            }
            "ObjectSpec" => {
                let [found] = arguments.into(class, ["fields"], 1, place)?;
                Ok(part(ShapesPart::Object(fields(found)?)))
            }
            "ParamsSpec" => {
                let [params] = arguments.into(class, ["params"], 1, place)?;
                Ok(part(ShapesPart::Params(checked_params(params)?)))
            }
            _ => self.shapes(arguments, place),
        }
    }

    fn shapes(&mut self, arguments: Arguments, place: TextPlace) -> Result<PyValue> {
        let [params, globals, assumptions] =
            arguments.into("ShapesSpec", ["params", "globals", "assumptions"], 1, place)?;
        if let Some((value, at)) = globals
            && !matches!(value, PyValue::None)
        {
            return Err(at.error("ShapesSpec.globals is not supported yet"));
        }
        let params = match params {
            Some((PyValue::Part(found), at)) => match &*found {
                ShapesPart::Params(params) => params.clone(),
                other => return Err(wrong_params(other.class(), at)),
            },
            None | Some((PyValue::None | PyValue::Dict(_), _)) => checked_params(params)?,
            Some((other, at)) => return Err(wrong_params(other.class(), at)),
        };
        let found = match assumptions {
            None | Some((PyValue::None, _)) => Vec::new(),
            Some((PyValue::List(items) | PyValue::Tuple(items), at)) => {
                let one = |(i, value): (usize, &PyValue)| match value {
                    PyValue::Formula(formula) if formula.kind == Kind::Bool => Ok(formula.clone()),
                    other => Err(at.error(format!(
                        "ShapesSpec.assumptions[{i}]: expected SymBool, got {}",
                        other.got()
                    ))),
                };
                items.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?
            }
            Some((other, at)) => {
                return Err(at.error(format!("'{}' object is not iterable", other.class())));
            }
        };
        Ok(part(ShapesPart::Shapes { params, assumptions: found }))
    }

    fn variable(&mut self, class: &str, arguments: Arguments, place: TextPlace) -> Result<PyValue> {
        let names = ["name", "min", "max", "optimization_hint"];
        let [name, min, max, hint] = arguments.into(class, names, 1, place)?;
        let name = match name {
            None | Some((PyValue::None, _)) => None,
            Some((PyValue::Text(name), _)) => Some(name.to_string()),
            Some((other, at)) => {
                return Err(at.error(format!("expected a variable's name, found {}", other.kind())));
            }
        };
        let is_size = class == "ShapeVar";
        if let (true, Some((PyValue::None, at))) = (is_size, &min) {
            return Err(at.error("'<' not supported between instances of 'NoneType' and 'int'"));
        }
        let [mut min, max, hint] = [integer(min)?, integer(max)?, integer(hint)?];
        if is_size {
            let least = min.get_or_insert(Int::ZERO);
            if least.is_negative() {
                return Err(place.error(format!(
                    "ShapeVar requires min >= 0 (a shape dim is non-negative); got min={least}. Use IntVar(...) for \
                     unrestricted scalars"
                )));
            }
        }
        if let (Some(min), Some(max)) = (&min, &max)
            && max < min
        {
            return Err(place.error(format!("Invalid ranges [{min}:{max}]")));
        }
        let number = self.variables.len();
        if number >= MAX_VARIABLES {
            return Err(place.error(format!("more than {MAX_VARIABLES} variables")));
        }
        self.variables.push(Declared { name, assigned: None, min, max, hint, is_size });
        let class = if is_size { "ShapeVar" } else { "IntVar" };
        let text = format!("{MARK}{number}{MARK}");
        let (kind, binding) = (Kind::Int, Binding::Atom);
        Ok(PyValue::Formula(Rc::new(Formula { text, kind, binding, variable: Some((number, class)) })))
    }

    /// torch refuses a flag of Dim specs beside a ShapesSpec.
    pub(super) fn refuse_deferring(&self) -> Result<()> {
        const FLAG: &str = "prefer_deferred_runtime_asserts_over_guards";
        let is_set = |at: &usize| {
            let mut tokens = self.tokens_from(*at);
            let mut next_is = |wanted: &Token| tokens.next() == Some(wanted);
            next_is(&Token::Name(FLAG.to_owned()))
                && next_is(&Token::Op("="))
                && next_is(&Token::Name("True".to_owned()))
        };
        match (0..self.tokens_from(0).count()).find(is_set) {
            None => Ok(()),
            Some(at) => Err(self.place_of(at).error(format!(
                "`{FLAG}=True` cannot be combined with `dynamic_shapes=ShapesSpec(...)`. ShapesSpec currently uses \
                 unbacked symbols only, which already emit runtime assertions; the flag has no effect"
            ))),
        }
    }

    /// The spec that `@dynamic_spec(...)` attaches to a function, wherever in the text it stands.
    pub(super) fn decorated(&mut self) -> Result<Option<PyValue>> {
        let mut found = None;
        for at in 0..self.tokens_from(0).count() {
            let mut tokens = self.tokens_from(at);
            if tokens.next() != Some(&Token::Op("@")) {
                continue;
            }
            let path: Vec<&Token> = tokens.take_while(|token| **token != Token::Op("(")).collect();
            if !matches!(path.last(), Some(Token::Name(name)) if name == "dynamic_spec") {
                continue;
            }
            let place = self.place_of(at);
            if let Some((_, first)) = found {
                return Err(place.error(self.second_decorator(first, at)));
            }
            if self.names.contains_key(SPEC) {
                return Err(place.error(format!(
                    "Both `@dynamic_spec(...)` is attached to the function/forward AND a `{SPEC}=` argument was passed. \
                     Provide only one"
                )));
            }
            self.at = at + path.len() + 2;
            self.depth = 0;
            if self.is(")") {
                return Err(place.error("dynamic_spec() missing 1 required positional argument: 'spec'"));
            }
            let given = self.expression()?;
            found = Some((attached(given, place)?, at));
        }
        Ok(found.map(|(value, _)| value))
    }

    /// What is wrong with the second one of two decorators.
    fn second_decorator(&self, first: usize, second: usize) -> String {
        let is_def = |token: &&Token| matches!(token, Token::Name(word) if word == "def");
        if self.tokens_from(first).take(second - first).any(|token| is_def(&token)) {
            return "a second @dynamic_spec(...); the text has one spec".to_owned();
        }
        let of = self.tokens_from(second).skip_while(|token| !is_def(token)).nth(1);
        let name = of.map_or_else(String::new, Token::shown);
        format!(
            "@dynamic_spec(...) is already attached to {name}. Stacking multiple @dynamic_spec decorators on the same \
             function is not allowed; merge them into a single spec"
        )
    }

    /// What stands in round brackets after a name.
    fn arguments(&mut self) -> Result<Arguments> {
        self.require("(")?;
        let mut found = Arguments::default();
        while !self.is(")") {
            let place = self.place();
            let next = self.tokens_from(self.at).nth(1).cloned();
            if let (Token::Name(name), Some(Token::Op("="))) = (self.token().clone(), next) {
                self.advance();
                self.advance();
                let at = self.place();
                let value = self.expression()?;
                found.named.push((name, value, at));
            } else if found.named.is_empty() {
                found.positional.push((self.expression()?, place));
            } else {
                return Err(place.error("positional argument follows keyword argument"));
            }
            if !self.take(",") {
                break;
            }
        }
        self.require(")")?;
        Ok(found)
    }
}

/// What `@dynamic_spec(...)` makes of a value.
fn attached(given: PyValue, place: TextPlace) -> Result<PyValue> {
    match &given {
        PyValue::None => {
            let message = "dynamic_spec(): `spec` must be a dict, ParamsSpec, or ShapesSpec, got NoneType";
            return Err(place.error(message));
        }
        PyValue::Part(found) if matches!(**found, ShapesPart::Params(_) | ShapesPart::Shapes { .. }) => {
            return Ok(given);
        }
        PyValue::Dict(_) => {}
        other => {
            let class = other.class();
            let message = format!("dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got {class}");
            return Err(place.error(message));
        }
    }
    Ok(part(ShapesPart::Params(checked_params(Some((given, place)))?)))
}

fn part(part: ShapesPart) -> PyValue {
    PyValue::Part(Rc::new(part))
}

fn wrong_params(found: &str, place: TextPlace) -> Wrong {
    place.error(format!("shapes_spec must be ParamsSpec, dict, or None, got {found}"))
}

/// A list or a tuple.
fn sequence(given: Given, place: TextPlace) -> Result<Vec<PyValue>> {
    match given {
        Some((PyValue::List(items) | PyValue::Tuple(items), _)) => Ok(items.to_vec()),
        Some((other, at)) => Err(at.error(format!("'{}' object is not iterable", other.class()))),
        None => Err(place.error("expected a list")),
    }
}

/// A dictionary; nothing for `None`.
fn fields(given: Given) -> Result<Vec<(String, PyValue)>> {
    match given {
        None | Some((PyValue::None, _)) => Ok(Vec::new()),
        Some((PyValue::Dict(fields), _)) => Ok(fields.to_vec()),
        Some((other @ (PyValue::List(_) | PyValue::Tuple(_) | PyValue::Text(_)), at)) => {
            Err(at.error(format!("expected a dictionary, found {}", other.kind())))
        }
        Some((other, at)) => Err(at.error(format!("'{}' object is not iterable", other.class()))),
    }
}

/// The dictionary of a ParamsSpec.
fn checked_params(given: Given) -> Result<Vec<(String, PyValue)>> {
    let place = given.as_ref().map(|(_, place)| *place);
    if let Some((other, at)) = &given
        && !matches!(other, PyValue::None | PyValue::Dict(_))
    {
        return Err(at.error(format!("'{}' object has no attribute 'items'", other.class())));
    }
    let fields = fields(given)?;
    let Some(place) = place else { return Ok(fields) };
    for (key, value) in &fields {
        let class = value.class();
        let message = match (key.as_str(), value) {
            ("*args", PyValue::List(_)) | ("**kwargs", PyValue::Dict(_)) => continue,
            ("*args", _) => format!("ParamsSpec '*args' value must be a list of leaf specs, got {class}"),
            ("**kwargs", _) => {
                format!("ParamsSpec '**kwargs' value must be a dict of leaf specs, got {class}")
            }
            (key, _) if key.starts_with('*') => format!(
                "Unknown sentinel key '{key}' in ParamsSpec; only '*args' and '**kwargs' are reserved"
            ),
            _ => continue,
        };
        return Err(place.error(message));
    }
    Ok(fields)
}

fn integer(given: Given) -> Result<Option<Int>> {
    match given {
        None | Some((PyValue::None, _)) => Ok(None),
        Some((PyValue::Int(value), _)) => Ok(Some(value)),
        Some((other, at)) => Err(at.error(format!("expected an integer or None, found {}", other.kind()))),
    }
}
