//! Formulas: what an operator means, written as Python would have it.
//!
//! A formula is `name = expression; ..; result, ..`. Names are the operator's parameters, `none`, `true`, `false`,
//! `inf` and `pi`; `a + b`, `a - b`, `a * b` and `a / b` are `add.Tensor` and so on, or arithmetic where both are
//! numbers; `f(x, k=v)` calls `aten.f.default`, `f.O(x)` another overload; `f(x)[1]` is a result other than the first.
//! `scalar(v, x)` is a tensor without dimensions, of the dtype and device of `x`; `cast(x, y)` is `x` in the dtype of
//! `y`, or in a dtype.
use super::Made;
use super::builder::Builder;
use super::call::{Call, refused};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};

/// What an operator means.
#[derive(Debug, Clone)]
pub struct Formula {
    bindings: Vec<(String, Expression)>,
    results: Vec<Expression>,
}

#[derive(Debug, Clone)]
enum Expression {
    Number(Argument),
    Text(String),
    Name(String),
    List(Vec<Expression>),
    Minus(Box<Expression>),
    Infix(char, Box<Expression>, Box<Expression>),
    Call { op: String, ordered: Vec<Expression>, named: Vec<(String, Expression)>, result: usize },
}

/// Reads a formula. Formulas nest no deeper than their author wrote them.
struct Reader<'t> {
    rest: &'t str,
}

impl Formula {
    /// The formula of a text, or where it goes wrong.
    pub fn read(text: &str) -> Result<Formula, String> {
        let (mut bindings, mut results) = (Vec::new(), Vec::new());
        let parts: Vec<&str> = text.split(';').collect();
        let Some((last, first)) = parts.split_last() else { return Err("nothing".to_owned()) };
        for part in first {
            let (name, value) = part.split_once('=').ok_or_else(|| part.to_string())?;
            let mut reader = Reader { rest: value.trim() };
            bindings.push((name.trim().to_owned(), reader.sum()?));
            reader.end()?;
        }
        let mut reader = Reader { rest: last.trim() };
        results.push(reader.sum()?);
        while reader.take(',') {
            results.push(reader.sum()?);
        }
        reader.end()?;
        Ok(Formula { bindings, results })
    }

    /// What the formula gives for a call's arguments.
    pub fn apply(&self, b: &mut Builder<'_, '_>, call: &Call<'_>, cast: &[(Proxy, Proxy)]) -> Made {
        let mut scope = Scope { call, cast, bound: Vec::new() };
        for (name, expression) in &self.bindings {
            let value = scope.value(b, expression)?;
            scope.bound.push((name, value));
        }
        let mut made = Vec::with_capacity(self.results.len());
        for result in &self.results {
            match scope.value(b, result)? {
                Argument::Tensor(id) => made.push(Proxy::tensor(id)),
                _ => return Err(refused("a result is no tensor")),
            }
        }
        Ok(made)
    }
}

impl Reader<'_> {
    fn take(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(wanted);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(format!("no `{wanted}` before `{}`", self.rest)) }
    }

    fn end(&mut self) -> Result<(), String> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(format!("more: `{}`", self.rest)) }
    }

    fn sum(&mut self) -> Result<Expression, String> {
        let mut left = self.term()?;
        loop {
            let sign = ['+', '-'].into_iter().find(|&sign| self.take(sign));
            let Some(sign) = sign else { return Ok(left) };
            left = Expression::Infix(sign, Box::new(left), Box::new(self.term()?));
        }
    }

    fn term(&mut self) -> Result<Expression, String> {
        let mut left = self.factor()?;
        loop {
            let sign = ['*', '/'].into_iter().find(|&sign| self.take(sign));
            let Some(sign) = sign else { return Ok(left) };
            left = Expression::Infix(sign, Box::new(left), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Expression, String> {
        if self.take('-') {
            return Ok(Expression::Minus(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(inner);
        }
        if self.take('[') {
            let mut items = Vec::new();
            while !self.take(']') {
                items.push(self.sum()?);
                self.take(',');
            }
            return Ok(Expression::List(items));
        }
        if self.take('"') {
            let (text, rest) = self.rest.split_once('"').ok_or("a text has no end")?;
            self.rest = rest;
            return Ok(Expression::Text(text.to_owned()));
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        self.name()
    }

    fn number(&mut self) -> Result<Expression, String> {
        let is_part = |(at, c): (usize, char)| {
            let exponent = at > 0 && self.rest[..at].ends_with('e');
            c.is_ascii_digit() || c == '.' || c == 'e' || (c == '-' && exponent)
        };
        let end = self.rest.char_indices().find(|&part| !is_part(part)).map_or(self.rest.len(), |(at, _)| at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let int = text.parse().map(Argument::Int);
        let number = int.or_else(|_| text.parse().map(Argument::Float));
        number.map(Expression::Number).map_err(|_| format!("`{text}` is no number"))
    }

    fn name(&mut self) -> Result<Expression, String> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(format!("nothing before `{rest}`"));
        }
        let name = name.to_owned();
        self.rest = rest;
        if !self.take('(') {
            return Ok(Expression::Name(name));
        }
        let (mut ordered, mut named) = (Vec::new(), Vec::new());
        while !self.take(')') {
            match self.sum()? {
                Expression::Name(key) if self.take('=') => named.push((key, self.sum()?)),
                value => ordered.push(value),
            }
            self.take(',');
        }
        let mut result = 0;
        if self.take('[') {
            match self.number()? {
                Expression::Number(Argument::Int(at)) => result = usize::try_from(at).unwrap_or(0),
                _ => return Err("a result is asked for that is no integer".to_owned()),
            }
            self.expect(']')?;
        }
        let op = if name.contains('.') { name } else { format!("{name}.default") };
        Ok(Expression::Call { op, ordered, named, result })
    }
}

/// The names of a formula.
struct Scope<'f, 'c, 's> {
    call: &'c Call<'s>,
    /// Operands with those that stand for them.
    cast: &'c [(Proxy, Proxy)],
    bound: Vec<(&'f str, Argument)>,
}

impl Scope<'_, '_, '_> {
    fn name(&self, name: &str) -> Result<Argument, TraceError> {
        if let Some((_, value)) = self.bound.iter().rev().find(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        if self.call.has(name) {
            let argument = self.call.argument(name);
            if let Argument::Tensor(id) = argument {
                let cast = self.cast.iter().find(|(before, _)| before.id() == id);
                return Ok(cast.map_or(argument, |(_, now)| (*now).into()));
            }
            return Ok(argument);
        }
        Ok(match name {
            "none" => Argument::None,
            "true" => Argument::Bool(true),
            "false" => Argument::Bool(false),
            "inf" => Argument::Float(f64::INFINITY),
            "nan" => Argument::Float(f64::NAN),
            "pi" => Argument::Float(std::f64::consts::PI),
            _ => return Err(refused(format!("nothing is called `{name}`"))),
        })
    }

    fn value(&self, b: &mut Builder<'_, '_>, expression: &Expression) -> Result<Argument, TraceError> {
        match expression {
            Expression::Number(number) => Ok(number.clone()),
            Expression::Text(text) => Ok(Argument::Str(text.as_str().into())),
            Expression::Name(name) => self.name(name),
            Expression::List(items) => {
                let items = items.iter().map(|item| self.value(b, item)).collect::<Result<Vec<_>, _>>()?;
                list(items)
            }
            Expression::Minus(inner) => match self.value(b, inner)? {
                Argument::Int(value) => Ok(Argument::Int(-value)),
                Argument::Float(value) => Ok(Argument::Float(-value)),
                value => b.one("neg.default", &[value]).map(Into::into),
            },
            Expression::Infix(sign, left, right) => {
                let (left, right) = (self.value(b, left)?, self.value(b, right)?);
                infix(b, *sign, left, right)
            }
            Expression::Call { op, ordered, named, result } => {
                let ordered =
                    ordered.iter().map(|item| self.value(b, item)).collect::<Result<Vec<_>, _>>()?;
                let mut by_name = Vec::with_capacity(named.len());
                for (name, value) in named {
                    by_name.push((name.as_str(), self.value(b, value)?));
                }
                called(b, op, (&ordered, &by_name), *result)
            }
        }
    }
}

fn list(items: Vec<Argument>) -> Result<Argument, TraceError> {
    let tensor = |item: &Argument| match item {
        Argument::Tensor(id) => Some(*id),
        _ => None,
    };
    if let Some(ids) = items.iter().map(tensor).collect::<Option<Vec<_>>>().filter(|ids| !ids.is_empty()) {
        return Ok(Argument::Tensors(ids));
    }
    let int = |item: &Argument| match item {
        Argument::Int(value) => Some(Operand::Literal(*value)),
        Argument::SymInt(operand) => Some(*operand),
        _ => None,
    };
    let ints: Option<Vec<_>> = items.iter().map(int).collect();
    ints.map(|ints| super::builder::sizes(&ints)).ok_or_else(|| refused("a list holds different things"))
}

fn called(
    b: &mut Builder<'_, '_>,
    op: &str,
    (ordered, named): (&[Argument], &[(&str, Argument)]),
    result: usize,
) -> Result<Argument, TraceError> {
    match (op, ordered) {
        ("scalar.default", [value, Argument::Tensor(like)]) => {
            let tensor = b.tensor(Proxy::tensor(*like))?;
            b.scalar(value.clone(), tensor.dtype, &tensor.device).map(Into::into)
        }
        ("cast.default", [Argument::Tensor(id), Argument::Tensor(like)]) => {
            let dtype = b.dtype(Proxy::tensor(*like))?;
            b.cast(Proxy::tensor(*id), dtype).map(Into::into)
        }
        ("cast.default", [Argument::Tensor(id), Argument::Dtype(dtype)]) => {
            b.cast(Proxy::tensor(*id), *dtype).map(Into::into)
        }
        ("cast.default", [tensor, Argument::None]) => Ok(tensor.clone()),
        _ => {
            let made = b.call_with(op, ordered, named)?;
            let made = made.get(result).copied();
            made.map(Into::into).ok_or_else(|| refused(format!("`{op}` has no result {result}")))
        }
    }
}

fn infix(
    b: &mut Builder<'_, '_>,
    sign: char,
    left: Argument,
    right: Argument,
) -> Result<Argument, TraceError> {
    let number = |argument: &Argument| match argument {
        Argument::Int(value) => Some(*value as f64),
        Argument::Float(value) => Some(*value),
        _ => None,
    };
    if let (Some(x), Some(y)) = (number(&left), number(&right)) {
        let value = match sign {
            '+' => x + y,
            '-' => x - y,
            '*' => x * y,
            _ => x / y,
        };
        let integers = matches!((&left, &right), (Argument::Int(_), Argument::Int(_))) && sign != '/';
        return Ok(if integers { Argument::Int(value as i64) } else { Argument::Float(value) });
    }
    let op = match sign {
        '+' => "add.Tensor",
        '-' => "sub.Tensor",
        '*' => "mul.Tensor",
        _ => "div.Tensor",
    };
    b.one(op, &[left, right]).map(Into::into)
}
