//! A ShapesSpec from the values of a text: the variables that it uses get their names, and formulas the names of them.
use super::dims::{Declared, Formula, Kind, MARK, PyValue, ShapesPart};
use super::token::{TextPlace, Wrong};
use crate::spec::shapes::{Node, Shapes, Variable, identifier};
use indexmap::IndexMap;

type Result<T> = std::result::Result<T, Wrong>;

/// Whether a value is, or has, a part of a ShapesSpec.
pub(super) fn has_parts(value: &PyValue) -> bool {
    match value {
        PyValue::Part(_) | PyValue::Formula(_) => true,
        PyValue::List(items) | PyValue::Tuple(items) => items.iter().any(has_parts),
        PyValue::Dict(fields) => fields.iter().any(|(_, value)| has_parts(value)),
        _ => false,
    }
}

/// The ShapesSpec of a text that ends at `end`.
pub(super) fn shapes(value: &PyValue, declared: &[Declared], end: TextPlace) -> Result<Shapes> {
    let mut names = Names { declared, given: IndexMap::new() };
    let (params, assumptions): (&[(String, PyValue)], &[_]) = match value {
        PyValue::Dict(fields) => (fields, &[]),
        PyValue::Part(part) => match &**part {
            ShapesPart::Shapes { params, assumptions } => (params, assumptions),
            ShapesPart::Params(params) => (params, &[]),
            other => return Err(end.error(expected(other.class()))),
        },
        other => return Err(end.error(expected(other.class()))),
    };
    let mut fields = IndexMap::new();
    for (key, value) in params {
        let place = format!("shapes_spec['{key}']");
        let node = match (key.as_str(), value) {
            ("*args", PyValue::List(items)) => {
                let items = items.iter().enumerate();
                let items = items.map(|(i, item)| node(item, &format!("{place}[{i}]"), end, &mut names));
                Node::Seq(items.collect::<Result<_>>()?)
            }
            ("**kwargs", PyValue::Dict(fields)) => Node::Dict(members(fields, &place, end, &mut names)?),
            _ => node(value, &place, end, &mut names)?,
        };
        fields.insert(key.clone(), node);
    }
    let assumptions = assumptions.iter().map(|formula| names.text(formula)).collect();
    let variables = names.given.into_iter().map(|(number, name)| {
        let Declared { name: given, min, max, hint, is_size, .. } = declared[number].clone();
        let given = given.filter(|given| *given != name);
        (name, Variable { name: given, min, max, hint, is_size: Some(is_size) })
    });
    Ok(Shapes { variables: variables.collect(), params: Node::Dict(fields), assumptions })
}

fn expected(found: &str) -> String {
    format!("dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got {found}")
}

/// The names of the variables, in the order in which they are used.
struct Names<'d> {
    declared: &'d [Declared],
    given: IndexMap<usize, String>,
}

impl Names<'_> {
    fn name(&mut self, number: usize) -> String {
        if let Some(name) = self.given.get(&number) {
            return name.clone();
        }
        let variable = &self.declared[number];
        let wanted = variable.assigned.as_deref().or(variable.name.as_deref()).unwrap_or("v");
        let name = identifier(wanted, |name| self.given.values().any(|known| known == name));
        self.given.insert(number, name.clone());
        name
    }

    /// The text of a formula with the names of its variables.
    fn text(&mut self, formula: &Formula) -> String {
        let mut parts = formula.text.split(MARK);
        let mut text = parts.next().unwrap_or_default().to_owned();
        while let (Some(number), Some(rest)) = (parts.next(), parts.next()) {
            text.push_str(&self.name(number.parse().unwrap_or_default()));
            text.push_str(rest);
        }
        text
    }
}

fn members(
    fields: &[(String, PyValue)],
    place: &str,
    end: TextPlace,
    names: &mut Names,
) -> Result<IndexMap<String, Node>> {
    let member = |(key, value): &(String, PyValue)| {
        Ok((key.clone(), node(value, &format!("{place}['{key}']"), end, names)?))
    };
    fields.iter().map(member).collect()
}

/// The part of a spec that a value is; containers nest as deep as the text does, which is bounded.
fn node(value: &PyValue, place: &str, end: TextPlace, names: &mut Names) -> Result<Node> {
    let items = |items: &[PyValue], names: &mut Names| {
        let item = |(i, item): (usize, &PyValue)| node(item, &format!("{place}[{i}]"), end, names);
        items.iter().enumerate().map(item).collect::<Result<Vec<Node>>>()
    };
    match value {
        PyValue::None => Ok(Node::Static),
        PyValue::Int(size) => Ok(Node::Size(size.clone())),
        PyValue::Bool(value) => Ok(Node::Size(i64::from(*value).into())),
        PyValue::Formula(formula) if formula.kind == Kind::Int => Ok(Node::Expr(names.text(formula))),
        PyValue::Part(part) => match &**part {
            ShapesPart::Tensor(dims) => Ok(Node::Tensor(items(dims, names)?)),
            ShapesPart::Seq(entries) => Ok(Node::Seq(items(entries, names)?)),
            ShapesPart::Dict(fields) => Ok(Node::Dict(members(fields, place, end, names)?)),
            ShapesPart::Object(fields) => Ok(Node::Object(members(fields, place, end, names)?)),
            other => Err(end.error(format!("{place}: unexpected leaf spec type {}", other.class()))),
        },
        other => Err(end.error(format!("{place}: unexpected leaf spec type {}", other.class()))),
    }
}
