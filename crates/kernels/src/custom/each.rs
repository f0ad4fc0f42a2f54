//! Going through lists in declarations: `t in xs`, `n in x.shape[1:]`, `n, k in zip(x.shape, sizes)`.
use super::evaluate::Scope;
use super::formula::Formula;
use super::names::Names;
use super::shape::Element;
use super::table::{Piece, Result};
use crate::context::Cx;
use crate::error::KernelError;
use crate::value::Value;
use sizewise_expr::Sort;
use sizewise_ir::schema::Type;

/// Names with their values.
pub(super) type Named = Vec<(Box<str>, Value)>;

/// The longest range.
const MAX_RANGE: i64 = 1024;

/// `x in xs`: for every tensor of a list or every size of a shape; `a, b in zip(xs, ys)`: for the elements of several
/// lists side by side.
#[derive(Debug)]
pub(super) struct Each {
    pub variables: Vec<(Box<str>, Type)>,
    lists: Vec<Over>,
    /// The line of the file it stands on.
    line: u32,
}

/// What is gone through.
#[derive(Debug)]
enum Over {
    /// The tensors of a list.
    Tensors(Box<str>),
    /// Sizes, or a list of integers.
    Sizes(Element),
    /// `range(n)`: the numbers from 0.
    Range(Formula),
}

impl Each {
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

impl Scope<'_> {
    /// The values that the names of `each` have, step after step. Tensors that are absent are left out.
    pub fn steps(&self, cx: &mut Cx, each: &Each) -> std::result::Result<Vec<Named>, KernelError> {
        let mut steps: Vec<Named> = Vec::new();
        for (at, (over, (name, _))) in each.lists.iter().zip(&each.variables).enumerate() {
            let values: Vec<Value> = match over {
                Over::Tensors(list) => match self.value(list) {
                    Value::Tensors(items) => items.into_iter().flatten().map(Value::Tensor).collect(),
                    _ => Vec::new(),
                },
                Over::Sizes(element) => {
                    let mut sizes = Default::default();
                    self.elements(cx, element, each.line, &mut sizes)?;
                    sizes.into_iter().map(Value::Int).collect()
                }
                Over::Range(formula) => {
                    let count = self.formula(cx, formula)?;
                    let count = cx.literal(count, self.clause)?;
                    if count > MAX_RANGE {
                        return Err(self.failed(each.line, format!("a range of {count} numbers")));
                    }
                    (0..count).map(|number| Value::Int(cx.int(number))).collect()
                }
            };
            if at == 0 {
                steps = values.iter().map(|_| Vec::with_capacity(each.lists.len())).collect();
            }
            if values.len() != steps.len() {
                let (few, many) = (values.len().min(steps.len()), values.len().max(steps.len()));
                return Err(self.failed(each.line, format!("{few} elements beside {many}")));
            }
            for (step, value) in steps.iter_mut().zip(values) {
                step.push((name.clone(), value));
            }
        }
        Ok(steps)
    }
}
