//! What begins with a name: constants, assigned names, `Dim(...)` and the other calls that have a meaning.
use super::dims::{PyValue, dimension};
use super::read::{Entries, PythonReader, Result};
use super::token::{TextPlace, Token, Wrong};
use super::variables::{CLASSES, FUNCTIONS};
use sizewise_expr::Int;
use sizewise_ir::keys;
use std::rc::Rc;

/// What `Dim.` may be followed by.
const HINTS: [&str; 3] = ["AUTO", "DYNAMIC", "STATIC"];

impl PythonReader<'_> {
    /// What begins with a name: a constant, an assigned name, `Dim(...)`, `torch.export.Dim.AUTO`.
    pub(super) fn named(&mut self, name: &str, place: TextPlace) -> Result<PyValue> {
        if let Some(value) = self.names.get(name) {
            return Ok(value.clone());
        }
        if let Some(wrong) = self.unread.get(name) {
            return Err(wrong.clone());
        }
        let mut path = vec![name.to_owned()];
        let mut last = place;
        while self.take(".") {
            last = self.place();
            let Token::Name(part) = self.token().clone() else { return Err(self.expected("a name")) };
            self.advance();
            path.push(part);
        }
        let full = self.full(path.clone());
        let parts: Vec<&str> = full.iter().map(String::as_str).collect();
        let known = match parts.as_slice() {
            ["torch", "export", rest @ ..] | ["export", rest @ ..] => rest,
            ["torch", "fx", "experimental", "dynamic_spec", rest @ ..] | ["dynamic_spec", rest @ ..] => rest,
            all => all,
        };
        match known {
            ["None"] => Ok(PyValue::None),
            ["Dim", word @ ("AUTO" | "DYNAMIC" | "STATIC")] => self.hint(word),
            ["Dim", other] => {
                let near = keys::similar(other, HINTS).map(|near| format!("; did you mean `Dim.{near}`?"));
                let near = near.unwrap_or_else(|| "; it has AUTO, DYNAMIC and STATIC".to_owned());
                Err(last.error(format!("`Dim` has no `{other}`{near}")))
            }
            ["Dim"] => self.dim(),
            ["dims"] => self.dims(place),
            ["dict"] => self.dict(),
            ["True"] => Ok(PyValue::Bool(true)),
            ["False"] => Ok(PyValue::Bool(false)),
            ["STATIC"] => Ok(PyValue::None),
            [class] if CLASSES.contains(class) && self.is("(") => self.part(class, place),
            [.., name] if FUNCTIONS.contains(name) && known.len() <= 2 && self.is("(") => {
                self.function(name, place)
            }
            // A class that is imported: a named tuple, by its fields.
            _ if full != path && self.is("(") => self.dict(),
            _ => Err(self.unknown(&path.join("."), place)),
        }
    }

    /// A name that stands for nothing.
    fn unknown(&self, name: &str, place: TextPlace) -> Wrong {
        if self.is("(") {
            return place.error(format!(
                "`{name}(...)` is not called: the text is parsed and not run; known calls are Dim(...), \
                 dims(...), dict(...), ShapesSpec(...) and its parts"
            ));
        }
        let names = self.names.keys().map(String::as_str).chain(["Dim", "dims", "dict", "None"]);
        match keys::similar(name, names) {
            Some(near) => place.error(format!("`{name}` is not assigned above; did you mean `{near}`?")),
            None => {
                place.error(format!("`{name}` is not assigned above; known are Dim, dims, dict and None"))
            }
        }
    }

    /// `Dim.AUTO`, perhaps with `(min=2, max=64)`.
    fn hint(&mut self, word: &str) -> Result<PyValue> {
        let word = HINTS.into_iter().find(|known| *known == word).unwrap_or("AUTO");
        let (min, max) = if self.take("(") { self.ends()? } else { (None, None) };
        Ok(PyValue::Hint { word, min, max })
    }

    /// `Dim("batch", min=2, max=64)`, the name read before.
    fn dim(&mut self) -> Result<PyValue> {
        self.require("(")?;
        let name = self.dim_name()?;
        let (min, max) = if self.take(",") {
            self.ends()?
        } else {
            self.require(")")?;
            (None, None)
        };
        Ok(dimension(name, min, max))
    }

    /// `dims("batch", "seq", min=2)`: several dimensions in one range.
    fn dims(&mut self, place: TextPlace) -> Result<PyValue> {
        self.require("(")?;
        let mut names = Vec::new();
        let mut range = (None, None);
        loop {
            if let Token::Name(_) = self.token() {
                range = self.ends()?;
                break;
            }
            names.push(self.dim_name()?);
            if !self.take(",") {
                self.require(")")?;
                break;
            }
            if self.take(")") {
                break;
            }
        }
        if names.is_empty() {
            return Err(place.error("expected the names of dimensions: dims(\"batch\", \"seq\")"));
        }
        let (min, max) = range;
        let dimensions = names.into_iter().map(|name| dimension(name, min.clone(), max.clone()));
        Ok(PyValue::List(Rc::new(dimensions.collect())))
    }

    fn dim_name(&mut self) -> Result<String> {
        let Token::Text(name) = self.token().clone() else {
            return Err(self.expected("a dimension's name, such as \"batch\""));
        };
        self.advance();
        Ok(name)
    }

    /// `min=2, max=64)`, in any order.
    fn ends(&mut self) -> Result<(Option<Int>, Option<Int>)> {
        let mut ends: [Option<Option<Int>>; 2] = [None, None];
        while !self.is(")") {
            let place = self.place();
            let end = match self.token() {
                Token::Name(word) if word == "min" => 0,
                Token::Name(word) if word == "max" => 1,
                _ => return Err(self.expected("`min=` or `max=`")),
            };
            self.advance();
            self.require("=")?;
            let at = self.place();
            let value = match self.expression()? {
                PyValue::Int(value) => Some(value),
                PyValue::None => None,
                other => return Err(at.error(format!("expected an integer or None, found {}", other.kind()))),
            };
            if ends[end].replace(value).is_some() {
                return Err(place.error("the same end is given twice"));
            }
            if !self.take(",") {
                break;
            }
        }
        self.require(")")?;
        let [min, max] = ends;
        Ok((min.flatten(), max.flatten()))
    }

    /// `dict(x=..., y=...)`.
    fn dict(&mut self) -> Result<PyValue> {
        self.require("(")?;
        let mut items = Entries::default();
        while !self.is(")") {
            let place = self.place();
            let Token::Name(key) = self.token().clone() else { return Err(self.expected("`name=value`")) };
            self.advance();
            self.require("=")?;
            let value = self.expression()?;
            items.add(key, value, place)?;
            if !self.take(",") {
                break;
            }
        }
        self.require(")")?;
        Ok(items.dictionary())
    }
}
