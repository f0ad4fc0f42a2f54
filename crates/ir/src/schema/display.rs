//! Schemas as text: parsing what is printed gives the schema back.
use super::name::is_identifier;
use super::{Alias, ArgSpec, DefaultValue, RetSpec, Schema, Type};
use std::fmt;

/// Writes `items` with `separator` between them.
fn join<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.namespace, self.name)?;
        if self.overload != "default" {
            write!(f, ".{}", self.overload)?;
        }
        f.write_str("(")?;
        let positional = self.positional().len();
        join(f, &self.args[..positional], ", ")?;
        if positional < self.args.len() {
            f.write_str(if positional > 0 { ", *, " } else { "*, " })?;
            join(f, &self.args[positional..], ", ")?;
        }
        f.write_str(") -> ")?;
        match self.returns.as_slice() {
            // A lone tuple needs the parentheses of the list of results, or it would be that list.
            [one] if !matches!(one.ty.innermost(), Type::Tuple(_)) => write!(f, "{one}"),
            many => {
                f.write_str("(")?;
                join(f, many, ", ")?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for ArgSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, &self.ty, self.alias.as_ref())?;
        write!(f, " {}", self.name)?;
        match &self.default {
            Some(default) => write!(f, "={default}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for RetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, &self.ty, self.alias.as_ref())?;
        match &self.name {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

impl Type {
    /// The type under all `?` and `[]`.
    fn innermost(&self) -> &Type {
        match self {
            Type::Optional(inner) | Type::List(inner, _) => inner.innermost(),
            ty => ty,
        }
    }
}

/// Writes `ty` with the annotation where it is usual: behind the innermost type, before `?` and `[]`.
fn write_type(f: &mut fmt::Formatter<'_>, ty: &Type, alias: Option<&Alias>) -> fmt::Result {
    match ty {
        Type::Optional(inner) => {
            write_type(f, inner, alias)?;
            return f.write_str("?");
        }
        Type::List(inner, length) => {
            write_type(f, inner, alias)?;
            return match length {
                Some(length) => write!(f, "[{length}]"),
                None => f.write_str("[]"),
            };
        }
        Type::Tensor => f.write_str("Tensor")?,
        Type::Int { symbolic } => f.write_str(if *symbolic { "SymInt" } else { "int" })?,
        Type::Float { symbolic } => f.write_str(if *symbolic { "SymFloat" } else { "float" })?,
        Type::Bool { symbolic } => f.write_str(if *symbolic { "SymBool" } else { "bool" })?,
        Type::Str => f.write_str("str")?,
        Type::Complex => f.write_str("complex")?,
        Type::Scalar => f.write_str("Scalar")?,
        Type::ScalarType => f.write_str("ScalarType")?,
        Type::Layout => f.write_str("Layout")?,
        Type::Device => f.write_str("Device")?,
        Type::MemoryFormat => f.write_str("MemoryFormat")?,
        Type::Generator => f.write_str("Generator")?,
        Type::Dict(pair) => write!(f, "Dict({}, {})", pair.0, pair.1)?,
        Type::Tuple(items) => {
            f.write_str("(")?;
            join(f, items, ", ")?;
            f.write_str(")")?;
        }
        Type::Other(text) => f.write_str(text)?,
    }
    match alias {
        Some(alias) => write!(f, "{alias}"),
        None => Ok(()),
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, self, None)
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        join(f, &self.set, "|")?;
        if self.write {
            f.write_str("!")?;
        }
        if let Some(after) = &self.after {
            f.write_str(" -> ")?;
            join(f, after, "|")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefaultValue::None => f.write_str("None"),
            DefaultValue::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            DefaultValue::Int(value) => write!(f, "{value}"),
            DefaultValue::Float(value) if value.is_nan() => f.write_str("nan"),
            // Rust writes the shortest digits that read back as the same double, and `inf`.
            DefaultValue::Float(value) => write!(f, "{value:?}"),
            // A device with an index, `cuda:0`, is no identifier.
            DefaultValue::Name(name) if !is_identifier(name) => write_string(f, name),
            DefaultValue::Name(name) => f.write_str(name),
            DefaultValue::List(items) => {
                f.write_str("[")?;
                join(f, items, ", ")?;
                f.write_str("]")
            }
            DefaultValue::Str(text) => write_string(f, text),
        }
    }
}

/// Writes `text` in double quotes with the escapes that the parser reads.
fn write_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}
