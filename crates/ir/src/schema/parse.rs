//! The parser of schema text.
//!
//! ```text
//! schema  = [namespace "::"] name ["." overload] "(" [arg {"," arg}] ")" "->" results
//! arg     = "*" | type name ["=" default]
//! results = "()" | type [name] | "(" type [name] {"," type [name]} ")"
//! type    = base {"?" | "[" [length] "]" | alias}
//! base    = name | "Dict(" type "," type ")" | "(" type {"," type} ")"
//! alias   = "(" set ["!"] ["->" set] ")"
//! set     = name {"|" name} | "*"
//! ```
//! Everything after `*` is keyword-only. Spaces are free between tokens.
use super::error::{SchemaError, SchemaErrorKind};
use super::limits::{MAX_ARGUMENTS, MAX_DEPTH, MAX_LENGTH, MAX_LIST};
use super::scan::Scanner;
use super::{Alias, ArgSpec, DefaultValue, RetSpec, Schema, Type};

/// Types that nothing binds to, kept by name.
const OTHER_TYPES: &[&str] = &[
    "Any",
    "AnyEnumType",
    "DeviceIndex",
    "DimVector",
    "Dimname",
    "GraphModule",
    "QScheme",
    "Storage",
    "Stream",
    "t",
    "tVal",
];
/// TorchScript types with an argument, kept by text.
const GENERIC_TYPES: &[&str] = &["Future", "RRef"];

impl Schema {
    /// Parses one schema; without a namespace it is one of `aten`.
    ///
    /// # Errors
    /// The first place where the text is not a schema, as a column and what was expected there.
    pub fn parse(text: &str) -> Result<Schema, SchemaError> {
        if text.len() > MAX_LENGTH {
            return Err(SchemaError { column: 1, kind: SchemaErrorKind::TooLong });
        }
        Parser { scan: Scanner::new(text) }.schema(false)
    }

    /// Parses the schema of a custom operator, which must name its namespace: `my_library::half(Tensor x) -> Tensor`.
    ///
    /// # Errors
    /// As for [`Schema::parse`], and where the namespace is missing.
    pub fn parse_custom(text: &str) -> Result<Schema, SchemaError> {
        if text.len() > MAX_LENGTH {
            return Err(SchemaError { column: 1, kind: SchemaErrorKind::TooLong });
        }
        Parser { scan: Scanner::new(text) }.schema(true)
    }
}

struct Parser<'a> {
    scan: Scanner<'a>,
}

impl<'a> Parser<'a> {
    fn schema(mut self, needs_namespace: bool) -> Result<Schema, SchemaError> {
        let mut namespace = "aten";
        let mut name = self.name("the name of an operator")?;
        if self.scan.eat("::") {
            namespace = name;
            name = self.name("the name of an operator")?;
        } else if needs_namespace {
            return Err(self.scan.expected("`::` after the namespace"));
        }
        let overload = if self.scan.eat(".") { self.name("the name of an overload")? } else { "default" };
        self.scan.expect("(", "`(`")?;
        let args = self.arguments()?;
        self.scan.expect("->", "`->`")?;
        let returns = self.results()?;
        if self.scan.peek().is_some() {
            return Err(self.scan.expected("the end"));
        }
        Ok(Schema {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            overload: overload.to_owned(),
            mutable: args.iter().any(ArgSpec::is_written),
            args,
            returns,
        })
    }

    fn name(&mut self, expected: &'static str) -> Result<&'a str, SchemaError> {
        match self.scan.identifier() {
            Some(name) => Ok(name),
            None => Err(self.scan.expected(expected)),
        }
    }

    /// The arguments and their closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<ArgSpec>, SchemaError> {
        let mut args: Vec<ArgSpec> = Vec::new();
        let mut kw_only = false;
        if self.scan.eat(")") {
            return Ok(args);
        }
        loop {
            let at = self.scan.mark();
            if args.len() == MAX_ARGUMENTS {
                return Err(self.scan.error_at(at, SchemaErrorKind::TooManyArguments));
            }
            if self.scan.eat("*") {
                if kw_only {
                    return Err(self.scan.error_at(at, SchemaErrorKind::SecondStar));
                }
                kw_only = true;
                self.scan.expect(",", "`,` and a keyword-only argument")?;
                continue;
            }
            args.push(self.argument(kw_only, &args)?);
            if self.scan.eat(")") {
                return Ok(args);
            }
            self.scan.expect(",", "`,`, `)` or `=`")?;
        }
    }

    fn argument(&mut self, kw_only: bool, before: &[ArgSpec]) -> Result<ArgSpec, SchemaError> {
        let (ty, alias) = self.annotated_type("the type of an argument")?;
        let at = self.scan.mark();
        let name = self.name("the name of the argument")?.to_owned();
        if before.iter().any(|arg| arg.name == name) {
            return Err(self.scan.error_at(at, SchemaErrorKind::DuplicateArgument(name)));
        }
        let default = if self.scan.eat("=") { Some(self.default(&ty)?) } else { None };
        Ok(ArgSpec { name, ty, default, kw_only, alias })
    }

    fn results(&mut self) -> Result<Vec<RetSpec>, SchemaError> {
        if !self.scan.eat("(") {
            return Ok(vec![self.result()?]);
        }
        let mut returns = Vec::new();
        if self.scan.eat(")") {
            return Ok(returns);
        }
        loop {
            let at = self.scan.mark();
            if returns.len() == MAX_ARGUMENTS {
                return Err(self.scan.error_at(at, SchemaErrorKind::TooManyArguments));
            }
            returns.push(self.result()?);
            if self.scan.eat(")") {
                return Ok(returns);
            }
            self.scan.expect(",", "`,` or `)`")?;
        }
    }

    fn result(&mut self) -> Result<RetSpec, SchemaError> {
        let (ty, alias) = self.annotated_type("the type of a result")?;
        let name = self.scan.identifier().map(str::to_owned);
        Ok(RetSpec { name, ty, alias })
    }

    fn annotated_type(&mut self, expected: &'static str) -> Result<(Type, Option<Alias>), SchemaError> {
        let mut alias = None;
        let ty = self.ty(expected, 0, Some(&mut alias))?;
        Ok((ty, alias))
    }

    /// A type `depth` levels down; alias annotations are taken where `alias` is there to receive one.
    fn ty(
        &mut self,
        expected: &'static str,
        depth: usize,
        mut alias: Option<&mut Option<Alias>>,
    ) -> Result<Type, SchemaError> {
        let mut ty = self.base_type(expected, depth)?;
        let mut suffixes = depth;
        loop {
            let at = self.scan.mark();
            if self.scan.eat("[") {
                let length = self.list_length()?;
                ty = Type::List(Box::new(ty), length);
            } else if !matches!(ty, Type::Optional(_)) && self.scan.eat("?") {
                ty = Type::Optional(Box::new(ty));
            } else if let Some(alias) = alias.as_deref_mut()
                && self.scan.eat("(")
            {
                if alias.is_some() {
                    return Err(self.scan.error_at(at, SchemaErrorKind::SecondAlias));
                }
                *alias = Some(self.alias()?);
                continue;
            } else {
                return Ok(ty);
            }
            suffixes += 1;
            if suffixes > MAX_DEPTH {
                return Err(self.scan.error_at(at, SchemaErrorKind::TooDeep));
            }
        }
    }

    /// A type without its suffixes.
    fn base_type(&mut self, expected: &'static str, depth: usize) -> Result<Type, SchemaError> {
        let at = self.scan.mark();
        if depth > MAX_DEPTH {
            return Err(self.scan.error_at(at, SchemaErrorKind::TooDeep));
        }
        if self.scan.eat("...") {
            return Err(self.scan.error_at(at, SchemaErrorKind::Variadic));
        }
        if self.scan.eat("(") {
            let mut items = vec![self.ty("a type", depth + 1, None)?];
            while self.scan.eat(",") {
                if items.len() == MAX_ARGUMENTS {
                    return Err(self.scan.error_at(at, SchemaErrorKind::TooManyArguments));
                }
                items.push(self.ty("a type", depth + 1, None)?);
            }
            self.scan.expect(")", "`,` or `)`")?;
            return Ok(Type::Tuple(items));
        }
        let name = self.scan.identifier();
        Ok(match name {
            None => return Err(self.scan.expected(expected)),
            Some("Tensor") => Type::Tensor,
            Some(name @ ("int" | "SymInt")) => Type::Int { symbolic: name == "SymInt" },
            Some(name @ ("float" | "SymFloat")) => Type::Float { symbolic: name == "SymFloat" },
            Some(name @ ("bool" | "SymBool")) => Type::Bool { symbolic: name == "SymBool" },
            Some("str") => Type::Str,
            Some("complex") => Type::Complex,
            Some("Scalar") => Type::Scalar,
            Some("ScalarType") => Type::ScalarType,
            Some("Layout") => Type::Layout,
            Some("Device") => Type::Device,
            Some("MemoryFormat") => Type::MemoryFormat,
            Some("Generator") => Type::Generator,
            Some("Dict") => {
                self.scan.expect("(", "`(` after `Dict`")?;
                let key = self.ty("the type of the keys", depth + 1, None)?;
                self.scan.expect(",", "`,`")?;
                let value = self.ty("the type of the values", depth + 1, None)?;
                self.scan.expect(")", "`)`")?;
                Type::Dict(Box::new((key, value)))
            }
            Some(name) if GENERIC_TYPES.contains(&name) => {
                self.scan.expect("(", "`(` and a type")?;
                let inner = self.ty("a type", depth + 1, None)?;
                self.scan.expect(")", "`)`")?;
                Type::Other(format!("{name}({inner})"))
            }
            Some("__torch__") => {
                while self.scan.eat_adjacent(".") {
                    if self.scan.adjacent_identifier().is_none() {
                        return Err(self.scan.expected("the rest of the name of a class"));
                    }
                }
                Type::Other(self.scan.since(at).to_owned())
            }
            Some(name) if OTHER_TYPES.contains(&name) || is_type_variable(name) => {
                Type::Other(name.to_owned())
            }
            Some(name) => return Err(self.scan.error_at(at, SchemaErrorKind::UnknownType(name.to_owned()))),
        })
    }

    /// What follows `[` of a list type: `]`, or a length and `]`.
    fn list_length(&mut self) -> Result<Option<u32>, SchemaError> {
        let at = self.scan.mark();
        let length = match self.scan.length() {
            None => None,
            Some(Some(length @ 1..)) if length as usize <= MAX_LIST => Some(length),
            Some(Some(0)) => {
                let found = "`0`".to_owned();
                let kind = SchemaErrorKind::Expected { expected: "a length of at least 1", found };
                return Err(self.scan.error_at(at, kind));
            }
            Some(_) => return Err(self.scan.error_at(at, SchemaErrorKind::ListTooLong)),
        };
        self.scan.expect("]", if length.is_none() { "a length or `]`" } else { "`]`" })?;
        Ok(length)
    }

    /// What follows `(` of an alias annotation.
    fn alias(&mut self) -> Result<Alias, SchemaError> {
        let set = self.alias_set()?;
        let write = self.scan.eat("!");
        let after = if self.scan.eat("->") { Some(self.alias_set()?) } else { None };
        self.scan.expect(")", "`)` after the alias set")?;
        Ok(Alias { set, write, after })
    }

    fn alias_set(&mut self) -> Result<Vec<String>, SchemaError> {
        if self.scan.eat("*") {
            return Ok(vec!["*".to_owned()]);
        }
        let mut set = vec![self.name("an alias set")?.to_owned()];
        while self.scan.eat("|") {
            set.push(self.name("an alias set")?.to_owned());
        }
        Ok(set)
    }

    /// The default of an argument of type `ty`.
    fn default(&mut self, ty: &Type) -> Result<DefaultValue, SchemaError> {
        let at = self.scan.mark();
        let value = self.value(0)?;
        let text = value.to_string();
        fit(value, ty).ok_or_else(|| {
            // A long list or string would drown the message.
            let value = text.chars().take(60).collect();
            self.scan.error_at(at, SchemaErrorKind::DefaultType { value, ty: ty.to_string() })
        })
    }

    fn value(&mut self, depth: usize) -> Result<DefaultValue, SchemaError> {
        let at = self.scan.mark();
        if depth > MAX_DEPTH {
            return Err(self.scan.error_at(at, SchemaErrorKind::TooDeep));
        }
        match self.scan.peek() {
            Some(b'[') => self.list(depth),
            Some(b'"' | b'\'') => self.scan.string().map(DefaultValue::Str),
            Some(b'0'..=b'9' | b'-' | b'.') => self.scan.number(),
            _ => match self.scan.identifier() {
                None => Err(self.scan.expected("a default")),
                Some("None") => Ok(DefaultValue::None),
                Some("True") => Ok(DefaultValue::Bool(true)),
                Some("False") => Ok(DefaultValue::Bool(false)),
                Some("inf") => Ok(DefaultValue::Float(f64::INFINITY)),
                Some("nan") => Ok(DefaultValue::Float(f64::NAN)),
                Some(name) => Ok(DefaultValue::Name(name.to_owned())),
            },
        }
    }

    fn list(&mut self, depth: usize) -> Result<DefaultValue, SchemaError> {
        self.scan.expect("[", "`[`")?;
        let mut items = Vec::new();
        if self.scan.eat("]") {
            return Ok(DefaultValue::List(items));
        }
        loop {
            let at = self.scan.mark();
            if items.len() == MAX_LIST {
                return Err(self.scan.error_at(at, SchemaErrorKind::ListTooLong));
            }
            items.push(self.value(depth + 1)?);
            if self.scan.eat("]") {
                return Ok(DefaultValue::List(items));
            }
            self.scan.expect(",", "`,` or `]`")?;
        }
    }
}

/// `t1`, `t2`, …: the type variables of TorchScript builtins.
fn is_type_variable(name: &str) -> bool {
    name.strip_prefix('t').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `value` as a value of type `ty`, or `None` where it is not one.
fn fit(value: DefaultValue, ty: &Type) -> Option<DefaultValue> {
    use DefaultValue as D;
    Some(match (ty, value) {
        (Type::Optional(_), D::None) => D::None,
        (Type::Optional(inner), value) => fit(value, inner)?,
        (Type::List(element, _), D::List(items)) => {
            D::List(items.into_iter().map(|item| fit_element(item, element)).collect::<Option<_>>()?)
        }
        // Broadcasting in every level of a nested list would grow as a power of its length.
        (Type::List(element, Some(length)), value) if element.as_list().is_none() => {
            D::List(vec![fit(value, element)?; *length as usize])
        }
        (Type::Int { .. }, D::Name(name)) => match name.as_str() {
            "Mean" => D::Int(1),
            "Sum" => D::Int(2),
            _ => return None,
        },
        (Type::Float { .. } | Type::Complex, D::Int(value)) => D::Float(value as f64),
        (Type::MemoryFormat, D::Int(value)) => {
            let names = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"];
            D::Name((*names.get(usize::try_from(value).ok()?)?).to_owned())
        }
        (Type::Device, D::Str(name)) => D::Name(name),
        (Type::Int { .. } | Type::Scalar | Type::ScalarType | Type::Layout, value @ D::Int(_)) => value,
        (Type::Float { .. } | Type::Scalar | Type::Complex, value @ D::Float(_)) => value,
        (Type::Bool { .. } | Type::Scalar, value @ D::Bool(_)) => value,
        (Type::Str, value @ D::Str(_)) => value,
        (Type::ScalarType | Type::Layout | Type::MemoryFormat | Type::Device, value @ D::Name(_)) => value,
        _ => return None,
    })
}

/// `value` as an element of a list: not broadcast, so that a default is no longer than its text says.
fn fit_element(value: DefaultValue, ty: &Type) -> Option<DefaultValue> {
    match (ty.as_list(), &value) {
        (Some(_), DefaultValue::List(_) | DefaultValue::None) | (None, _) => fit(value, ty),
        (Some(_), _) => None,
    }
}
