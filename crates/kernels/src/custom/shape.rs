//! Shapes and dtypes as declarations write them, and what they go through: `t in xs`, `n in x.shape[1:]`,
//! `n, k in zip(x.shape, sizes)`.
use super::formula::Formula;
use super::names::Names;
use super::table::{Item, Piece, Result};
use sizewise_expr::Sort;
use sizewise_expr::escape::clipped;
use sizewise_ir::dtype::Dtype;
use sizewise_ir::schema::Type;

/// A tensor: an argument, or an element of a list of tensors.
#[derive(Clone, Debug)]
pub(super) struct TensorRef {
    pub name: Box<str>,
    pub at: Option<i64>,
}

/// A part of a shape.
#[derive(Debug)]
pub(super) enum Element {
    /// One size.
    Size(Formula),
    /// `*x.shape[a:b]`: sizes of a tensor, all of them without the brackets.
    Shape { tensor: TensorRef, from: Option<Formula>, to: Option<Formula> },
    /// `*sizes[a:b]`: elements of a list of integers.
    Ints { name: Box<str>, from: Option<Formula>, to: Option<Formula> },
    /// `*broadcast(x, y)`: the shape in which tensors meet.
    Broadcast(Vec<TensorRef>),
    /// `*[n//2 for n in x.shape if n > 1]`: a size for each element, or for those of which a condition holds.
    Each { each: Each, size: Formula, only: Option<Formula> },
}

/// `x in xs`: for every tensor of a list or every size of a shape; `a, b in zip(xs, ys)`: for the elements of several
/// lists side by side.
#[derive(Debug)]
pub(super) struct Each {
    pub variables: Vec<(Box<str>, Type)>,
    pub lists: Vec<Over>,
    /// The line of the file it stands on.
    pub line: u32,
}

/// What is gone through.
#[derive(Debug)]
pub(super) enum Over {
    /// The tensors of a list.
    Tensors(Box<str>),
    /// Sizes, or a list of integers.
    Sizes(Element),
    /// `range(n)`: the numbers from 0.
    Range(Formula),
}

/// Alternatives, of which the first that is given counts.
#[derive(Debug)]
pub(super) struct DtypeRule {
    pub alternatives: Vec<DtypeOf>,
    pub line: u32,
}

#[derive(Debug)]
pub(super) enum DtypeOf {
    Constant(Dtype),
    Tensor(TensorRef),
    Argument(Box<str>),
    /// `promote(x, y, n)`: where tensors and numbers meet.
    Promote(Vec<TensorRef>),
}

impl TensorRef {
    /// Reads `x` or `xs[0]`; numbers are let through where `numbers` says so.
    pub fn new(piece: Piece, names: &Names, numbers: bool) -> Result<TensorRef> {
        let (name, at) = match piece.text.split_once('[') {
            None => (piece.text, None),
            Some((name, rest)) => {
                let index = rest.strip_suffix(']').and_then(|digits| digits.trim().parse::<i64>().ok());
                let Some(index) = index else {
                    return Err(piece.error(name.len(), "expected the number of an element, as in `xs[0]`"));
                };
                (name.trim_end(), Some(index))
            }
        };
        let Some(ty) = names.get(name) else { return Err(piece.error(0, names.unknown(name))) };
        let (inner, _) = ty.strip_optional();
        let number =
            matches!(inner, Type::Scalar | Type::Int { .. } | Type::Float { .. } | Type::Bool { .. });
        let fits = match (inner, at) {
            (Type::Tensor, None) => true,
            (Type::List(element, _), Some(_)) => *element.strip_optional().0 == Type::Tensor,
            (_, None) => numbers && number,
            _ => false,
        };
        if !fits {
            return Err(piece.error(0, format!("expected a tensor; `{}` is of type {ty}", clipped(name))));
        }
        Ok(TensorRef { name: name.into(), at })
    }

    /// Reads `x, y, xs[0]`.
    fn several(piece: Piece, names: &Names, numbers: bool) -> Result<Vec<TensorRef>> {
        piece.text.split(',').map(|part| TensorRef::new(piece.part(part), names, numbers)).collect()
    }
}

/// What stands in the brackets of `function(…)`.
fn arguments_of<'t>(piece: Piece<'t>, function: &str) -> Option<Piece<'t>> {
    let rest = piece.text.strip_prefix(function)?.trim_start();
    Some(piece.part(rest.strip_prefix('(')?.strip_suffix(')')?))
}

impl Element {
    /// Reads a part of a shape.
    pub fn new(piece: Piece, names: &Names) -> Result<Element> {
        let Some(spread) = piece.text.trim_start().strip_prefix('*') else {
            let size = Formula::new(piece, names, Sort::Int)?;
            if let Some(path) = size.dtype_source(names) {
                return Err(piece.error(0, format!("{path} is a dtype and no size")));
            }
            return Ok(Element::Size(size));
        };
        let spread = piece.part(spread);
        if let Some(inside) = arguments_of(spread, "broadcast") {
            return Ok(Element::Broadcast(TensorRef::several(inside, names, false)?));
        }
        if let Some(inside) = spread.text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            let Some((size, each)) = inside.split_once(" for ") else {
                return Err(spread.error(0, "expected `*[SIZE for n in x.shape]`"));
            };
            let (each, only) = match each.split_once(" if ") {
                Some((each, only)) => (each, Some(only)),
                None => (each, None),
            };
            let each = Each::new(spread.part(each), names)?;
            let inner = names.with(&each.variables);
            let size = Formula::new(spread.part(size), &inner, Sort::Int)?;
            let only = only.map(|only| Formula::new(spread.part(only), &inner, Sort::Bool)).transpose()?;
            return Ok(Element::Each { each, size, only });
        }
        Element::sizes(spread, names)
    }

    /// Reads `x.shape[a:b]` or `sizes[a:b]`.
    pub fn sizes(spread: Piece, names: &Names) -> Result<Element> {
        let (base, from, to) = slice(spread, names)?;
        if let Some(tensor) = base.text.strip_suffix(".shape") {
            let tensor = TensorRef::new(base.part(tensor), names, false)?;
            return Ok(Element::Shape { tensor, from, to });
        }
        match names.get(base.text).map(|ty| ty.strip_optional().0) {
            Some(Type::List(element, _)) if matches!(**element, Type::Int { .. }) => {
                Ok(Element::Ints { name: base.text.into(), from, to })
            }
            Some(ty) => Err(base.error(
                0,
                format!(
                    "expected `*x.shape`, `*broadcast(x, y)` or a list of integers; found one of type {ty}"
                ),
            )),
            None => Err(base.error(0, names.unknown(base.text))),
        }
    }
}

/// Splits `base[from:to]`.
fn slice<'t>(piece: Piece<'t>, names: &Names) -> Result<(Piece<'t>, Option<Formula>, Option<Formula>)> {
    let inside = piece.text.strip_suffix(']').and_then(|text| {
        let open = matching_bracket(text)?;
        let (from, to) = text[open + 1..].split_once(':')?;
        Some((&text[..open], from, to))
    });
    let Some((base, from, to)) = inside else { return Ok((piece, None, None)) };
    let bound = |text: &'t str| match text.trim() {
        "" => Ok(None),
        _ => Formula::new(piece.part(text), names, Sort::Int).map(Some),
    };
    Ok((piece.part(base), bound(from)?, bound(to)?))
}

/// Where the bracket stands that a `]` after the text would close.
fn matching_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

impl Each {
    /// Reads the entry `each`.
    pub fn read(item: &Item, names: &Names) -> Result<Each> {
        Each::new(item.piece("\"x in xs\"")?, names)
    }

    /// Reads `x in xs`.
    pub fn new(piece: Piece, names: &Names) -> Result<Each> {
        let Some((variables, list)) = piece.text.split_once(" in ") else {
            return Err(piece.error(0, "expected `x in xs`, `xs` being a list of tensors or sizes"));
        };
        let list = piece.part(list);
        let several = list.text.strip_prefix("zip(").and_then(|text| text.strip_suffix(')'));
        let lists = match several {
            Some(inside) => {
                inside.split(',').map(|part| Over::new(list.part(part), names)).collect::<Result<_>>()?
            }
            None => vec![Over::new(list, names)?],
        };
        let words: Vec<Piece> = variables.split(',').map(|word| piece.part(word)).collect();
        if words.len() != lists.len() {
            return Err(piece.error(0, format!("{} names for {} lists", words.len(), lists.len())));
        }
        let mut variables: Vec<(Box<str>, Type)> = Vec::with_capacity(words.len());
        for (word, over) in words.iter().zip(&lists) {
            names.is_new(word.text).map_err(|message| word.error(0, message))?;
            if variables.iter().any(|(name, _)| **name == *word.text) {
                return Err(word.error(0, format!("`{}` is named twice", word.text)));
            }
            variables.push((word.text.into(), over.element()));
        }
        Ok(Each { variables, lists, line: piece.line() })
    }
}

impl Over {
    fn new(piece: Piece, names: &Names) -> Result<Over> {
        if let Some(inside) = piece.text.strip_prefix("range(").and_then(|text| text.strip_suffix(')')) {
            return Formula::new(piece.part(inside), names, Sort::Int).map(Over::Range);
        }
        match names.get(piece.text).map(|ty| ty.strip_optional().0) {
            Some(Type::List(element, _)) if *element.strip_optional().0 == Type::Tensor => {
                Ok(Over::Tensors(piece.text.into()))
            }
            Some(ty) if !matches!(ty, Type::List(..)) => {
                let message =
                    format!("expected a list of tensors or sizes; `{}` is of type {ty}", piece.text);
                Err(piece.error(0, message))
            }
            _ => Element::sizes(piece, names).map(Over::Sizes),
        }
    }

    /// The type of what a name stands for.
    fn element(&self) -> Type {
        match self {
            Over::Tensors(_) => Type::Tensor,
            Over::Sizes(_) | Over::Range(_) => Type::Int { symbolic: true },
        }
    }
}

impl DtypeRule {
    /// Reads `float32`, `x.dtype`, `dtype or x.dtype`, `promote(x, y)`.
    pub fn new(piece: Piece, names: &Names) -> Result<DtypeRule> {
        let mut alternatives = Vec::new();
        for part in piece.text.split(" or ") {
            alternatives.push(DtypeOf::new(piece.part(part), names)?);
        }
        Ok(DtypeRule { alternatives, line: piece.line() })
    }
}

impl DtypeOf {
    fn new(piece: Piece, names: &Names) -> Result<DtypeOf> {
        if let Some(inside) = arguments_of(piece, "promote") {
            return Ok(DtypeOf::Promote(TensorRef::several(inside, names, true)?));
        }
        if let Some(tensor) = piece.text.strip_suffix(".dtype") {
            return Ok(DtypeOf::Tensor(TensorRef::new(piece.part(tensor), names, false)?));
        }
        match names.get(piece.text).map(|ty| ty.strip_optional().0) {
            Some(Type::ScalarType) => return Ok(DtypeOf::Argument(piece.text.into())),
            Some(ty) => {
                let message = format!("`{}` is of type {ty}: expected a dtype", clipped(piece.text));
                return Err(piece.error(0, message));
            }
            None => {}
        }
        Dtype::from_name(piece.text).map(DtypeOf::Constant).ok_or_else(|| {
            let message = format!(
                "unknown dtype `{}`; expected one such as `float32`, `x.dtype`, `promote(x, y)` or an argument \
                 of type ScalarType",
                clipped(piece.text)
            );
            piece.error(0, message)
        })
    }
}
