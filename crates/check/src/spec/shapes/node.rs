//! What a ShapesSpec says of the parameters: a tree that mirrors them.
use crate::spec::SpecError;
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::Int;

/// A part of the tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Node {
    /// As in the example.
    #[default]
    Static,
    /// This size, or this number.
    Size(Int),
    /// An expression over the variables.
    Expr(String),
    /// The dimensions of a tensor.
    Tensor(Vec<Node>),
    /// The items of a list or a tuple.
    Seq(Vec<Node>),
    /// The items of a list or a tuple, or the dimensions of a tensor: JSON does not say which.
    List(Vec<Node>),
    /// The entries of a dictionary.
    Dict(IndexMap<String, Node>),
    /// The attributes of an object.
    Object(IndexMap<String, Node>),
    /// The entries of a dictionary or the attributes of an object: JSON does not say which.
    Map(IndexMap<String, Node>),
}

impl Node {
    /// As JSON, which mirrors the inputs.
    pub fn to_json(&self) -> Json {
        match self {
            Node::Static => Json::Null,
            Node::Size(size) => super::int_json(size),
            Node::Expr(text) => text.as_str().into(),
            Node::Tensor(items) | Node::Seq(items) | Node::List(items) => {
                items.iter().map(Node::to_json).collect()
            }
            Node::Dict(fields) | Node::Object(fields) | Node::Map(fields) => {
                Json::Object(fields.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
            }
        }
    }

    /// Calls a function with each expression and its place.
    ///
    /// # Errors
    /// The first of the function's.
    pub(super) fn each_expression(
        &self,
        path: &str,
        visit: &mut dyn FnMut(&str, &str) -> Result<(), SpecError>,
    ) -> Result<(), SpecError> {
        match self {
            Node::Static | Node::Size(_) => Ok(()),
            Node::Expr(text) => visit(text, path),
            Node::Tensor(items) | Node::Seq(items) | Node::List(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(i, item)| item.each_expression(&format!("{path}[{i}]"), visit)),
            Node::Dict(fields) | Node::Object(fields) | Node::Map(fields) => {
                fields.iter().try_for_each(|(key, node)| {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    node.each_expression(&path, visit)
                })
            }
        }
    }

    /// The same tree with containers of the classes that another one has in their places, where JSON does not say which they
    /// are.
    #[must_use]
    pub(in crate::spec) fn with_classes_of(self, known: &Node) -> Node {
        let items = |items: Vec<Node>| {
            let (Node::Tensor(known) | Node::Seq(known) | Node::List(known)) = known else { return items };
            let known = known.iter().chain(std::iter::repeat(&Node::Static));
            items.into_iter().zip(known).map(|(item, known)| item.with_classes_of(known)).collect()
        };
        let fields = |fields: IndexMap<String, Node>| {
            let (Node::Dict(known) | Node::Object(known) | Node::Map(known)) = known else { return fields };
            let classed = |(key, node): (String, Node)| match known.get(&key) {
                Some(known) => (key, node.with_classes_of(known)),
                None => (key, node),
            };
            fields.into_iter().map(classed).collect()
        };
        match (self, known) {
            (Node::List(own), Node::Tensor(_)) => Node::Tensor(items(own)),
            (Node::List(own), Node::Seq(_)) => Node::Seq(items(own)),
            (Node::Map(own), Node::Dict(_)) => Node::Dict(fields(own)),
            (Node::Map(own), Node::Object(_)) => Node::Object(fields(own)),
            (Node::Tensor(own), _) => Node::Tensor(items(own)),
            (Node::Seq(own), _) => Node::Seq(items(own)),
            (Node::List(own), _) => Node::List(items(own)),
            (Node::Dict(own), _) => Node::Dict(fields(own)),
            (Node::Object(own), _) => Node::Object(fields(own)),
            (Node::Map(own), _) => Node::Map(fields(own)),
            (leaf, _) => leaf,
        }
    }

    /// Whether it is what one dimension or one number can have.
    pub(in crate::spec) fn is_leaf(&self) -> bool {
        matches!(self, Node::Static | Node::Size(_) | Node::Expr(_))
    }
}
