//! What names in declarations stand for, as far as the schema says it.
use sizewise_expr::escape::clipped;
use sizewise_expr::text::{Property, SourcePath, SourceStep};
use sizewise_expr::{Expr, Pool, Sort};
use sizewise_ir::dtype::Dtype;
use sizewise_ir::schema::{Schema, Type};

/// The properties of a tensor that formulas can ask for beside sizes and strides.
const ATTRIBUTES: &str = "`rank`, `numel`, `shape[i]`, `stride()[i]`, `dtype`, `given`, `is_floating`, \
                          `is_complex`, `is_integral` or `is_bool`";

/// The names in scope with their types.
pub(super) struct Names<'s> {
    pub schema: &'s Schema,
    /// What `let`, `fresh` and `each` have named, in order.
    pub locals: Vec<(Box<str>, Type)>,
    /// Tensors whose number of dimensions a condition fixes.
    pub ranks: Vec<(Box<str>, usize)>,
}

impl Names<'_> {
    /// The type of a name.
    pub fn get(&self, name: &str) -> Option<&Type> {
        let local = self.locals.iter().rev().find(|(local, _)| **local == *name);
        local.map(|(_, ty)| ty).or_else(|| self.argument(name))
    }

    /// The names in scope together with more.
    pub fn with(&self, variables: &[(Box<str>, Type)]) -> Names<'_> {
        let locals = self.locals.iter().chain(variables).cloned().collect();
        Names { schema: self.schema, locals, ranks: self.ranks.clone() }
    }

    /// What `read` reads while more names are in scope.
    pub fn with_also<T>(&mut self, variables: &[(Box<str>, Type)], read: impl FnOnce(&Names) -> T) -> T {
        let count = self.locals.len();
        self.locals.extend_from_slice(variables);
        let result = read(self);
        self.locals.truncate(count);
        result
    }

    /// That a word can be a name and is none yet; else a message.
    pub fn is_new(&self, name: &str) -> Result<(), String> {
        let word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !word {
            return Err(format!("`{}` is no name", clipped(name)));
        }
        match self.get(name) {
            Some(_) => Err(format!("there is an argument or a name `{}` already", clipped(name))),
            None => Ok(()),
        }
    }

    fn argument(&self, name: &str) -> Option<&Type> {
        self.schema.args.iter().find(|arg| arg.name == name).map(|arg| &arg.ty)
    }

    /// The message about a name that nothing has.
    pub fn unknown(&self, name: &str) -> String {
        format!("there is no argument, `let` or `fresh` called `{}`", clipped(name))
    }

    /// A symbol of the right sort for what a source in a formula asks, or why there is none.
    pub fn resolve(&self, pool: &mut Pool, path: &SourcePath) -> Result<Expr, String> {
        let Some(ty) = self.get(&path.root) else {
            return match Dtype::from_name(&path.root) {
                Some(_) if path.steps.is_empty() && path.property.is_none() => {
                    Ok(pool.symbol_of_sort(&path.to_string(), Sort::Int))
                }
                _ => Err(self.unknown(&path.root)),
            };
        };
        let (inner, optional) = ty.strip_optional();
        let sort = match (inner, path.steps.as_slice(), path.property) {
            (_, [SourceStep::Attribute(given)], None) if given == "given" && optional => Sort::Bool,
            (_, [SourceStep::Attribute(given)], None) if given == "given" => {
                return Err(format!("`{}` is always given: its type is {ty}", path.root));
            }
            (Type::Tensor, steps, property) => self.tensor(&path.root, None, steps, property)?,
            (Type::List(..), [SourceStep::Attribute(name)], None) if name == "length" => Sort::Int,
            (Type::List(element, length), [SourceStep::Index(at), rest @ ..], property) => {
                if let Some(length) = length
                    && !(-i64::from(*length)..i64::from(*length)).contains(at)
                {
                    return Err(format!("`{}` has {length} elements: {at} is out of range", path.root));
                }
                match (element.strip_optional().0, rest, property) {
                    (Type::Tensor, rest, property) => self.tensor(&path.root, Some(*at), rest, property)?,
                    (Type::Int { .. }, [], None) => Sort::Int,
                    (Type::Bool { .. }, [], None) => Sort::Bool,
                    (Type::Float { .. }, [], None) => Sort::Float,
                    (element, _, _) => {
                        return Err(format!("{} of type {element} is no number", shown(path)));
                    }
                }
            }
            (Type::List(..), _, _) => {
                return Err(format!(
                    "`{0}` is a list: expected an element, such as `{0}[0]`, or `{0}.length`",
                    path.root
                ));
            }
            (Type::Int { .. }, [], None) => Sort::Int,
            (Type::Bool { .. }, [], None) => Sort::Bool,
            (Type::Float { .. }, [], None) => Sort::Float,
            (Type::ScalarType, [], None) => Sort::Int,
            _ => return Err(format!("`{}` of type {ty} is no number and has no sizes", path.root)),
        };
        Ok(pool.symbol_of_sort(&path.to_string(), sort))
    }

    fn tensor(
        &self,
        name: &str,
        at: Option<i64>,
        steps: &[SourceStep],
        property: Option<Property>,
    ) -> Result<Sort, String> {
        let shown = at.map_or(name.to_owned(), |at| format!("{name}[{at}]"));
        match (steps, property) {
            ([], Some(Property::Size(d) | Property::Stride(d))) => {
                if at.is_none()
                    && let Some((_, rank)) = self.ranks.iter().find(|(ranked, _)| **ranked == *name)
                    && !(-(*rank as i64)..*rank as i64).contains(&d)
                {
                    return Err(format!(
                        "`{shown}` has {rank} dimensions by a condition above: {d} is out of range"
                    ));
                }
                Ok(Sort::Int)
            }
            ([SourceStep::Attribute(attribute)], None) => match attribute.as_str() {
                "rank" | "ndim" | "numel" | "dtype" => Ok(Sort::Int),
                "is_floating" | "is_complex" | "is_integral" | "is_bool" => Ok(Sort::Bool),
                other => Err(format!("a tensor has no `{}` here; expected {ATTRIBUTES}", clipped(other))),
            },
            ([SourceStep::Attribute(other), ..], _) => {
                Err(format!("a tensor has no `{}` here; expected {ATTRIBUTES}", clipped(other)))
            }
            _ => Err(format!("`{shown}` is a tensor; expected {ATTRIBUTES} of it")),
        }
    }
}

/// A source as a formula writes it.
pub(super) fn shown(path: &SourcePath) -> String {
    let text = path.to_string();
    let bare = text.replacen(&format!("L[{:?}]", path.root), &path.root, 1);
    format!("`{}`", clipped(&bare.replace(".size()", ".shape")))
}
