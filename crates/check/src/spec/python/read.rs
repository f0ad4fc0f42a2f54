//! Reading a spec in the form of Python.
use super::assemble::{has_parts, shapes};
use super::dims::{Declared, MAX_BITS, PyValue, added, multiplied};
use super::formula::{combined, negated};
use super::token::{TextPlace, Token, Wrong, tokens};
use crate::spec::SpecError;
use crate::spec::shapes::Shapes;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_expr::Int;
use sizewise_expr::escape::excerpt;
use sizewise_ir::keys;
use std::rc::Rc;

pub(super) type Result<T> = std::result::Result<T, Wrong>;

/// Brackets nest at most this deep.
pub(super) const MAX_DEPTH: usize = 64;
/// A spec has at most this many entries, names written out.
pub(super) const MAX_ENTRIES: usize = 200_000;
/// A dictionary has at most this many keys.
const MAX_KEYS: usize = 10_000;
/// The name that a spec is assigned to.
pub(super) const SPEC: &str = "dynamic_shapes";

/// Reads a spec.
///
/// # Errors
/// The first place that is no such text, and what was expected there.
pub(in crate::spec) fn read(text: &str) -> std::result::Result<PythonSpec, SpecError> {
    read_tokens(text).map_err(|Wrong { place: TextPlace { line, column }, message }| SpecError {
        path: format!("line {line}, column {column}"),
        message,
        excerpt: excerpt(text, line, column),
    })
}

/// A spec, in one of torch's languages.
pub(in crate::spec) enum PythonSpec {
    /// Of dimensions: the tree as JSON has it.
    Dims(Json),
    /// A ShapesSpec.
    Shapes(Box<Shapes>),
}

fn read_tokens(text: &str) -> Result<PythonSpec> {
    let tokens = tokens(text);
    let mut reader = PythonReader {
        tokens: &tokens,
        at: 0,
        depth: 0,
        names: FxHashMap::default(),
        aliases: FxHashMap::default(),
        unread: FxHashMap::default(),
        spec: None,
        wrong: None,
        in_block: None,
        is_passed: false,
        variables: Vec::new(),
        begins_dict_spec: false,
    };
    let end = reader.statements()?;
    if let Some(wrong) = reader.unread.remove(SPEC) {
        return Err(reader.in_block.unwrap_or(wrong));
    }
    let decorated = reader.decorated()?;
    let Some(spec) = reader.names.remove(SPEC).or_else(|| reader.spec.take()).or(decorated) else {
        if let Some(wrong) = reader.in_block {
            return Err(wrong);
        }
        // Perhaps what was not understood was to be the spec.
        if let Some(wrong) = reader.wrong {
            return Err(wrong);
        }
        let near = keys::similar(SPEC, reader.names.keys().map(String::as_str));
        let near = near.map(|near| format!("; `{near}` is assigned")).unwrap_or_default();
        let message = "or a dictionary, list or tuple that mirrors the inputs";
        return Err(end.error(format!("expected `{SPEC} = ...`, {message}{near}")));
    };
    if spec.size(MAX_ENTRIES + 1) > MAX_ENTRIES {
        return Err(end.error(format!("the spec has more than {MAX_ENTRIES} entries")));
    }
    if has_parts(&spec) {
        reader.refuse_deferring()?;
        return shapes(&spec, &reader.variables, end).map(|shapes| PythonSpec::Shapes(Box::new(shapes)));
    }
    match spec {
        PyValue::List(_) | PyValue::Tuple(_) | PyValue::Dict(_) | PyValue::None => {
            Ok(PythonSpec::Dims(spec.to_json()))
        }
        other => Err(end.error(format!(
            "expected a dictionary, list or tuple that mirrors the inputs, found {}",
            other.kind()
        ))),
    }
}

/// The sum or difference of two values.
fn added_up(op: &'static str, left: PyValue, right: PyValue, place: TextPlace) -> Result<PyValue> {
    match (&left, &right) {
        (PyValue::Formula(_), _) | (_, PyValue::Formula(_)) => combined(op, &left, &right, place),
        _ => added(left, right, op == "-", place),
    }
}

pub(super) struct PythonReader<'t> {
    tokens: &'t [(Token, TextPlace)],
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) names: FxHashMap<String, PyValue>,
    /// Names of modules and functions, with what they stand for: `te` for `torch.export`.
    pub(super) aliases: FxHashMap<String, Vec<String>>,
    /// Names whose value was not understood, and why. It matters where the spec uses one.
    pub(super) unread: FxHashMap<String, Wrong>,
    /// The expression that stands as a statement of its own.
    pub(super) spec: Option<PyValue>,
    /// The first statement that was not understood.
    pub(super) wrong: Option<Wrong>,
    /// That the first spec within a block is not read.
    pub(super) in_block: Option<Wrong>,
    /// Whether the spec is an argument of a call.
    pub(super) is_passed: bool,
    /// The variables of a ShapesSpec, by their numbers.
    pub(super) variables: Vec<Declared>,
    /// Whether the next dictionary is that of a `DictSpec`.
    pub(super) begins_dict_spec: bool,
}

impl PythonReader<'_> {
    pub(super) fn token(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn place(&self) -> TextPlace {
        self.tokens[self.at].1
    }

    pub(super) fn tokens_from(&self, at: usize) -> impl Iterator<Item = &Token> {
        self.tokens[at..].iter().map(|(token, _)| token)
    }

    pub(super) fn place_of(&self, at: usize) -> TextPlace {
        self.tokens[at].1
    }

    pub(super) fn advance(&mut self) {
        // The last token is the end, which nothing goes beyond.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn is(&self, op: &str) -> bool {
        matches!(self.token(), Token::Op(found) if *found == op)
    }

    pub(super) fn take(&mut self, op: &str) -> bool {
        let found = self.is(op);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn require(&mut self, op: &str) -> Result<()> {
        if self.take(op) { Ok(()) } else { Err(self.expected(&format!("`{op}`"))) }
    }

    pub(super) fn expected(&self, what: &str) -> Wrong {
        match self.token() {
            Token::Unread(why) => self.place().error(why.as_str()),
            token => self.place().error(format!("expected {what}, found {}", token.shown())),
        }
    }

    /// An expression, or several with commas between: a tuple.
    pub(super) fn value(&mut self) -> Result<PyValue> {
        let first = self.expression()?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(",") {
            if matches!(self.token(), Token::Newline | Token::End) {
                break;
            }
            items.push(self.expression()?);
        }
        Ok(PyValue::Tuple(Rc::new(items)))
    }

    /// A sum, of which dimensions and formulas are made.
    pub(super) fn sum(&mut self) -> Result<PyValue> {
        if self.depth >= MAX_DEPTH {
            return Err(self.place().error(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let mut left = self.product()?;
        loop {
            let place = self.place();
            left = if self.take("+") {
                let right = self.product()?;
                added_up("+", left, right, place)?
            } else if self.take("-") {
                let right = self.product()?;
                added_up("-", left, right, place)?
            } else {
                self.depth -= 1;
                return Ok(left);
            };
        }
    }

    fn product(&mut self) -> Result<PyValue> {
        let mut left = self.signed()?;
        loop {
            let place = self.place();
            let op = if self.is("*") { Some("*") } else { self.factor_operator(&left) };
            let Some(op) = op else { return Ok(left) };
            self.advance();
            let right = self.signed()?;
            left = match (&left, &right) {
                (PyValue::Formula(_), _) | (_, PyValue::Formula(_)) => combined(op, &left, &right, place)?,
                _ if op == "*" => multiplied(left, right, place)?,
                _ => combined(op, &left, &right, place)?,
            };
        }
    }

    /// An operand with its sign, and its power.
    fn signed(&mut self) -> Result<PyValue> {
        let place = self.place();
        if self.take("-") {
            return match self.power()? {
                PyValue::Formula(formula) => negated(&formula, place),
                value => multiplied(PyValue::Int(Int::from(-1)), value, place),
            };
        }
        if self.take("~") {
            let value = self.atom()?;
            return Err(place.error(format!("bad operand type for unary ~: '{}'", value.class())));
        }
        self.power()
    }

    /// An operand with its power.
    fn power(&mut self) -> Result<PyValue> {
        let base = self.atom()?;
        let place = self.place();
        if !self.take("**") {
            return Ok(base);
        }
        match (base, self.atom()?) {
            (PyValue::Int(base), PyValue::Int(exponent)) => {
                let exponent = exponent.to_i64().and_then(|e| u32::try_from(e).ok());
                let power = exponent.and_then(|exponent| base.pow(exponent, MAX_BITS));
                power.map(PyValue::Int).ok_or_else(|| place.error("the number is too large for a size"))
            }
            (base @ PyValue::Formula(_), exponent) | (base, exponent @ PyValue::Formula(_)) => {
                combined("**", &base, &exponent, place)
            }
            (base, _) => {
                Err(place.error(format!("a power of {}; only integers have powers here", base.kind())))
            }
        }
    }

    fn atom(&mut self) -> Result<PyValue> {
        let place = self.place();
        let token = self.token().clone();
        match token {
            Token::Int(value) => {
                self.advance();
                Ok(PyValue::Int(value))
            }
            Token::Text(text) => {
                self.advance();
                Ok(PyValue::Text(text.into()))
            }
            Token::Op("(") => {
                self.advance();
                self.items(")", true)
            }
            Token::Op("[") => {
                self.advance();
                self.items("]", false)
            }
            Token::Op("{") => {
                self.advance();
                self.dictionary()
            }
            Token::Name(name) => {
                self.advance();
                self.named(&name, place)
            }
            _ => Err(self.expected("a value")),
        }
    }

    /// What stands in brackets, of which the first is taken: a list or tuple, or the one value of `(value)`.
    fn items(&mut self, close: &str, round: bool) -> Result<PyValue> {
        let mut items = Vec::new();
        let mut commas = false;
        while !self.is(close) {
            items.push(self.expression()?);
            if let Token::Name(word) = self.token()
                && word == "for"
            {
                return Err(self.place().error("the text is parsed and not run: write the list out"));
            }
            if !self.take(",") {
                break;
            }
            commas = true;
        }
        self.require(close)?;
        if round
            && !commas
            && let Some(only) = items.pop()
        {
            return Ok(only);
        }
        Ok(if round { PyValue::Tuple(Rc::new(items)) } else { PyValue::List(Rc::new(items)) })
    }

    fn dictionary(&mut self) -> Result<PyValue> {
        let mut items = Entries::default();
        let is_dict_spec = std::mem::take(&mut self.begins_dict_spec);
        while !self.is("}") {
            let place = self.place();
            let key = match self.expression()? {
                PyValue::Text(text) => text.to_string(),
                PyValue::Int(index) => index.to_string(),
                other if is_dict_spec => {
                    let message = format!("DictSpec entries must have str or int keys, got {}", other.got());
                    return Err(place.error(message));
                }
                other => {
                    return Err(place.error(format!(
                        "expected a parameter's name or a dimension's number, found {}",
                        other.kind()
                    )));
                }
            };
            self.require(":")?;
            let value = self.expression()?;
            items.add(key, value, place)?;
            if !self.take(",") {
                break;
            }
        }
        self.require("}")?;
        Ok(items.dictionary())
    }
}

/// The entries of a dictionary, with the places of their keys.
#[derive(Default)]
pub(super) struct Entries {
    items: Vec<(String, PyValue)>,
    places: FxHashMap<String, TextPlace>,
}

impl Entries {
    /// Adds an entry whose key stands at `place`.
    pub(super) fn add(&mut self, key: String, value: PyValue, place: TextPlace) -> Result<()> {
        if self.items.len() >= MAX_KEYS {
            return Err(place.error(format!("more than {MAX_KEYS} keys")));
        }
        if let Some(first) = self.places.insert(key.clone(), place) {
            let (line, column) = (first.line, first.column);
            return Err(
                place.error(format!("the key `{key}` is given twice; first in line {line}, column {column}"))
            );
        }
        self.items.push((key, value));
        Ok(())
    }

    /// The dictionary.
    pub(super) fn dictionary(self) -> PyValue {
        PyValue::Dict(Rc::new(self.items))
    }
}
