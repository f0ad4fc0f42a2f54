//! What a schema says: arguments, their types and defaults, and results.
use super::OperatorName;

/// The signature of one operator overload.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// `aten`, `prims` or a custom operator's library.
    pub namespace: String,
    /// The operator, such as `add` or `relu_`.
    pub name: String,
    /// The overload, such as `Tensor`; `default` where the schema text names none.
    pub overload: String,
    /// The arguments in order; keyword-only ones come last.
    pub args: Vec<ArgSpec>,
    /// The results in order; none for an operator that returns nothing.
    pub returns: Vec<RetSpec>,
    /// Whether some argument is written.
    pub mutable: bool,
}

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgSpec {
    /// Its name, unique within the schema.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// What it is when a call leaves it out; `None` when a call must give it.
    pub default: Option<DefaultValue>,
    /// Whether it can be given by name only (it stands after `*`).
    pub kw_only: bool,
    /// Which memory it stands for, where the schema says so.
    pub alias: Option<Alias>,
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct RetSpec {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
    /// Which memory it shares with arguments, where the schema says so.
    pub alias: Option<Alias>,
}

/// The memory that an argument or a result stands for: `(a)`, `(a!)`, `(a|b)`, `(a -> *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The alias sets; `*` is "any memory".
    pub set: Vec<String>,
    /// Whether the operator writes that memory (`!`).
    pub write: bool,
    /// The alias sets after the call, where they differ (`-> *`: put into a container).
    pub after: Option<Vec<String>>,
}

/// The type of an argument or a result.
///
/// `SymInt`, `SymFloat` and `SymBool` bind as `int`, `float` and `bool` do; `symbolic` remembers which was written.
/// The wrappers nest as the text does, innermost first: `Tensor?[]` is a list of optional tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `Tensor`.
    Tensor,
    /// `int` or `SymInt`.
    Int {
        /// Written `SymInt`.
        symbolic: bool,
    },
    /// `float` or `SymFloat`.
    Float {
        /// Written `SymFloat`.
        symbolic: bool,
    },
    /// `bool` or `SymBool`.
    Bool {
        /// Written `SymBool`.
        symbolic: bool,
    },
    /// `str`.
    Str,
    /// `complex`.
    Complex,
    /// `Scalar`: an int, float, bool or complex number.
    Scalar,
    /// `ScalarType`: a dtype.
    ScalarType,
    /// `Layout`.
    Layout,
    /// `Device`.
    Device,
    /// `MemoryFormat`.
    MemoryFormat,
    /// `Generator`: the state of a random number generator.
    Generator,
    /// `T?`.
    Optional(Box<Type>),
    /// `T[]`, or `T[n]` of a fixed length, to which a single `T` is broadcast: `int[2]` takes `3` for `[3, 3]`.
    List(Box<Type>, Option<u32>),
    /// `Dict(K, V)`.
    Dict(Box<(Type, Type)>),
    /// `(T, U)`.
    Tuple(Vec<Type>),
    /// Any other type by its text: `Storage`, `Dimname`, `__torch__.torch.classes.…`, `Future(t)`, a type variable.
    Other(String),
}

impl Type {
    /// The type without its outer `?`, and whether there was one.
    pub fn strip_optional(&self) -> (&Type, bool) {
        match self {
            Type::Optional(inner) => (inner, true),
            ty => (ty, false),
        }
    }

    /// The element type and fixed length of a list, looking through an outer `?`.
    pub fn as_list(&self) -> Option<(&Type, Option<u32>)> {
        match self.strip_optional().0 {
            Type::List(element, length) => Some((element, *length)),
            _ => None,
        }
    }

    /// Whether a tensor may stand in it: `Tensor`, `Tensor?`, `Tensor[]`, `Dict(str, Tensor)`, …
    pub fn holds_tensors(&self) -> bool {
        match self {
            Type::Tensor => true,
            Type::Optional(inner) | Type::List(inner, _) => inner.holds_tensors(),
            Type::Dict(pair) => pair.0.holds_tensors() || pair.1.holds_tensors(),
            Type::Tuple(items) => items.iter().any(Type::holds_tensors),
            _ => false,
        }
    }
}

/// The default of an argument, already of the argument's type.
///
/// A single default of a fixed-length list is broadcast (`int[2] x=1` is `[1, 1]`), an integer default of a `float` is
/// a float, a reduction (`Mean`, `Sum`) is its number (1, 2), and a memory format given by number is named.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// `None`, of an optional type.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float; `inf`, `-inf` and `nan` are among them.
    Float(f64),
    /// A string.
    Str(String),
    /// A list.
    List(Vec<DefaultValue>),
    /// A dtype (`long`), a layout (`strided`), a memory format (`contiguous_format`) or a device (`cpu`) by name.
    Name(String),
}

impl ArgSpec {
    /// Whether a call must give it.
    pub fn is_required(&self) -> bool {
        self.default.is_none()
    }

    /// Whether the operator writes it.
    pub fn is_written(&self) -> bool {
        self.alias.as_ref().is_some_and(|alias| alias.write)
    }
}

impl Schema {
    /// Namespace, operator and overload; it prints as `aten.add.Tensor`.
    pub fn qualified(&self) -> OperatorName<'_> {
        OperatorName { namespace: &self.namespace, name: &self.name, overload: &self.overload }
    }

    /// The arguments that a call may give by position.
    pub fn positional(&self) -> &[ArgSpec] {
        let count = self.args.iter().take_while(|arg| !arg.kw_only).count();
        &self.args[..count]
    }

    /// The index of the argument called `name`.
    pub fn arg_index(&self, name: &str) -> Option<usize> {
        self.args.iter().position(|arg| arg.name == name)
    }

    /// The parameter that an argument of a call is for: by its name, or, where the call gives none, by its place
    /// among the arguments without a name.
    pub fn parameter(&self, name: &str, unnamed_before: usize) -> Option<usize> {
        if name.is_empty() {
            (unnamed_before < self.positional().len()).then_some(unnamed_before)
        } else {
            self.arg_index(name)
        }
    }

    /// Whether a result is a view of an argument: it shares an argument's memory, and that is not written.
    pub fn is_view(&self) -> bool {
        self.args.first().and_then(|argument| argument.alias.as_ref()).is_some_and(|alias| !alias.write)
    }

    /// The argument whose memory result `index` shares: its index among the arguments, and whether it was written.
    /// `None` where the result shares no memory, or with no single argument.
    pub fn aliased_arg(&self, index: usize) -> Option<(usize, bool)> {
        let set = &self.returns.get(index)?.alias.as_ref()?.set;
        let mut found = None;
        for (at, arg) in self.args.iter().enumerate() {
            let Some(alias) = &arg.alias else { continue };
            if alias.set.iter().any(|name| name != "*" && set.contains(name)) {
                if found.is_some() {
                    return None;
                }
                found = Some((at, alias.write));
            }
        }
        found
    }
}
