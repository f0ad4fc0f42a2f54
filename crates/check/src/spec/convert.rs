//! Specs in torch's other language, where that does not depend on a program.
use super::bind_shapes::{ARGS, KWARGS};
use super::dim::{DimSpec, Entry};
use super::error::SpecError;
use super::initial_shapes::Language;
use super::parse::Spec;
use super::shapes::{Node, Shapes, Variable};
use indexmap::IndexMap;
use serde_json::{Map, Value as Json, json};
use sizewise_expr::text::read;
use sizewise_expr::{Int, Pool};

impl Spec {
    /// The spec in a language.
    ///
    /// ```
    /// use sizewise_check::spec::{Language, Spec};
    ///
    /// let spec = Spec::parse(br#"{"x": [{"dim": "b", "min": 2}, null], "y": [{"dim": "b", "min": 2}]}"#).unwrap();
    /// let shapes = spec.in_language(Language::Shapes).unwrap();
    /// assert_eq!(shapes.to_json()["params"], serde_json::json!({"x": ["b", null], "y": ["b"]}));
    /// assert_eq!(shapes.in_language(Language::Dims).unwrap().to_json()["x"][0]["dim"], "b");
    /// ```
    ///
    /// # Errors
    /// The first place that the language cannot say, or that means something only for a program.
    pub fn in_language(&self, language: Language) -> Result<Spec, SpecError> {
        match (language, self.shapes()) {
            (Language::Dims, None) | (Language::Shapes, Some(_)) => Ok(self.clone()),
            (Language::Dims, Some(shapes)) => InDims::of(shapes),
            (Language::Shapes, None) => self.in_shapes(),
        }
    }

    fn in_shapes(&self) -> Result<Spec, SpecError> {
        let Json::Object(inputs) = &self.tree else {
            return Err(SpecError::new(
                "",
                "it gives inputs by position, a ShapesSpec by the names of parameters: give the program",
            ));
        };
        let mut found = ShapesParts { spec: self, variables: IndexMap::new(), roots: Vec::new() };
        let params = inputs.iter().map(|(name, json)| Ok((name.clone(), found.node(json, name)?)));
        let params = params.collect::<Result<IndexMap<String, Node>, SpecError>>()?;
        let ShapesParts { variables, roots, .. } = found;
        if let Some((root, path)) = roots.iter().find(|(root, _)| !variables.contains_key(root)) {
            let message = format!(
                "it is computed from `{root}`, which is the size of no dimension: a ShapesSpec has no such variable"
            );
            return Err(SpecError::new(path, message));
        }
        let shapes = Shapes { variables, params: Node::Dict(params), assumptions: Vec::new() };
        shapes.checked().map(Spec::of_shapes)
    }
}

/// What a ShapesSpec is made of, found in a spec of `Dim`s.
struct ShapesParts<'s> {
    spec: &'s Spec,
    variables: IndexMap<String, Variable>,
    /// The names that sizes are computed from, with the places.
    roots: Vec<(String, String)>,
}

impl ShapesParts<'_> {
    /// The part that mirrors an entry; serde_json bounds how deep it nests.
    fn node(&mut self, json: &Json, path: &str) -> Result<Node, SpecError> {
        match json {
            Json::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(i, item)| self.node(item, &format!("{path}[{i}]")));
                Ok(Node::List(items.collect::<Result<_, _>>()?))
            }
            Json::Object(fields) if !is_entry(fields) => {
                if !fields.is_empty() && fields.keys().all(|key| key.bytes().all(|b| b.is_ascii_digit())) {
                    let message = "it gives dimensions by their numbers, a ShapesSpec gives all of a tensor: give the \
                                   program, or a list";
                    return Err(SpecError::new(path, message));
                }
                let fields = fields.iter();
                let fields =
                    fields.map(|(key, item)| Ok((key.clone(), self.node(item, &format!("{path}.{key}"))?)));
                Ok(Node::Dict(fields.collect::<Result<_, SpecError>>()?))
            }
            _ => self.leaf(json, path),
        }
    }

    fn leaf(&mut self, json: &Json, path: &str) -> Result<Node, SpecError> {
        Ok(match self.spec.entry(json, path)? {
            Entry::Static => Node::Static,
            Entry::Size(size) => Node::Size(size),
            Entry::Inferred { .. } => {
                let message =
                    "what Dim.AUTO or Dim.DYNAMIC leaves to the program depends on it: give the program";
                return Err(SpecError::new(path, message));
            }
            Entry::Dim(DimSpec { name, min, max }) => {
                let variable = Variable { min: Some(min), max, is_size: Some(true), ..Variable::default() };
                self.variables.entry(name.clone()).or_insert(variable);
                Node::Expr(name)
            }
            Entry::Derived { expression, root } => {
                self.roots.push((root.name, path.to_owned()));
                Node::Expr(expression)
            }
            Entry::Sum { expression, roots } => {
                self.roots.extend(roots.into_iter().map(|root| (root.name, path.to_owned())));
                Node::Expr(expression)
            }
            Entry::Formula(text) => Node::Expr(text),
        })
    }
}

fn is_entry(fields: &Map<String, Json>) -> bool {
    ["dim", "derived", "hint"].iter().any(|kind| fields.contains_key(*kind))
}

/// A ShapesSpec that is to be said with `Dim`s.
struct InDims<'s> {
    shapes: &'s Shapes,
    pool: Pool,
}

impl InDims<'_> {
    fn of(shapes: &Shapes) -> Result<Spec, SpecError> {
        let folded = shapes.folded();
        if let Some(text) = folded.assumptions.first() {
            let at = shapes.assumptions.iter().position(|known| known == text).unwrap_or(0);
            let message = format!("Dims cannot say `{text}`: --as shapes or --as shapes-json");
            return Err(SpecError::new(&format!("assumptions[{at}]"), message));
        }
        let (Node::Dict(params) | Node::Object(params) | Node::Map(params)) = &folded.params else {
            return Ok(Spec::of_tree(Json::Object(Map::new())));
        };
        let mut dims = InDims { shapes: &folded, pool: Pool::new() };
        let mut tree = Map::new();
        for (name, node) in params {
            if name == ARGS || name == KWARGS {
                let message = "Dims go by the names of parameters, and a ShapesSpec does not say this one's";
                return Err(SpecError::new(name, message));
            }
            tree.insert(name.clone(), dims.entry(node, name, false)?);
        }
        Ok(Spec::of_tree(Json::Object(tree)))
    }

    /// The entry for a part; parts nest as deep as the spec does, which is bounded.
    fn entry(&mut self, node: &Node, path: &str, in_tensor: bool) -> Result<Json, SpecError> {
        match node {
            Node::Static => Ok(Json::Null),
            Node::Size(size) => Ok(size.to_i64().map_or(Json::Null, Json::from)),
            Node::Expr(_) if !in_tensor => {
                let message = "Dims are sizes of tensors: none is the value of a number";
                Err(SpecError::new(path, message))
            }
            Node::Expr(text) => self.size(text, path),
            Node::Tensor(items) | Node::Seq(items) | Node::List(items) => {
                let is_tensor = match node {
                    Node::List(_) => items.iter().all(Node::is_leaf),
                    node => matches!(node, Node::Tensor(_)),
                };
                let items = items.iter().enumerate();
                items.map(|(i, item)| self.entry(item, &format!("{path}[{i}]"), is_tensor)).collect()
            }
            Node::Dict(fields) | Node::Object(fields) | Node::Map(fields) => {
                let fields = fields.iter();
                let fields = fields
                    .map(|(key, item)| Ok((key.clone(), self.entry(item, &format!("{path}.{key}"), false)?)));
                fields.collect::<Result<Map<String, Json>, SpecError>>().map(Json::Object)
            }
        }
    }

    /// A dimension, or `factor*dimension + number`.
    fn size(&mut self, text: &str, path: &str) -> Result<Json, SpecError> {
        let cannot =
            || SpecError::new(path, format!("Dims cannot say `{text}`: --as shapes or --as shapes-json"));
        let read = read::closed(&mut self.pool, text).map_err(|_| cannot())?;
        let poly = self.pool.poly(read.expr);
        let [(term, factor)] = poly.terms.as_slice() else { return Err(cannot()) };
        let symbol = self.pool.as_symbol(*term).ok_or_else(cannot)?;
        let name = self.pool.symbol_name(symbol);
        let variable = self.shapes.variables.get(name).ok_or_else(cannot)?;
        let number = |end: &Option<Int>| end.as_ref().and_then(Int::to_i64).map_or(Json::Null, Json::from);
        let min = variable.min.clone().map_or(Int::ZERO, |min| min.max(Int::ZERO));
        let dim = json!({"dim": name, "min": number(&Some(min)), "max": number(&variable.max)});
        let is_plain = factor.is_one() && poly.constant.is_zero();
        match is_plain {
            true => Ok(dim),
            false if !factor.is_positive() || !read.divisors.is_empty() => Err(cannot()),
            false => Ok(json!({"derived": format!("{factor}*{name} + {}", poly.constant), "root": dim})),
        }
    }
}
