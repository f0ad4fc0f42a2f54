//! A ShapesSpec as torch writes it with `to_jsonable()`.
//!
//! A variable stands there by its name and range wherever it is a size, and by name and number (`b#7`) in expressions.
//! So two variables of one name cannot always be told apart; variables without a name never are one.
use super::own::integer;
use super::{Node, Shapes, Variable, identifier};
use crate::spec::SpecError;
use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

/// What torch calls a variable that has no name.
const ANONYMOUS: &str = "anon";

/// Whether an object is such a spec.
pub(in crate::spec) fn is_torch(fields: &Map<String, Json>) -> bool {
    let class = fields.get("type").and_then(Json::as_str);
    matches!(class, Some("ShapesSpec" | "ParamsSpec")) && fields.contains_key("params")
}

/// The variables of a spec, as far as they are found.
#[derive(Default)]
struct FoundVariables {
    variables: IndexMap<String, Variable>,
    /// The names here of the variables of each of torch's names.
    keys: IndexMap<String, Vec<String>>,
    /// The names here of the variables of torch's names and numbers.
    numbered: IndexMap<(String, String), String>,
}

impl Shapes {
    /// Reads a spec that torch has written.
    ///
    /// # Errors
    /// When it is none, or when expressions do not say which variable they are of.
    pub(in crate::spec) fn of_torch(fields: &Map<String, Json>) -> Result<Shapes, SpecError> {
        let mut found = FoundVariables::default();
        let is_params = fields.get("type").and_then(Json::as_str) == Some("ParamsSpec");
        let params = match (is_params, fields.get("params")) {
            (true, _) => Some(fields),
            (false, None | Some(Json::Null)) => None,
            (false, Some(Json::Object(params))) => Some(params),
            (false, Some(_)) => return Err(SpecError::new("params", "expected a ParamsSpec")),
        };
        let entries = params.and_then(|params| params.get("params"));
        let entries = match entries {
            None | Some(Json::Null) => Map::new(),
            Some(Json::Object(entries)) => entries.clone(),
            Some(_) => return Err(SpecError::new("params", "expected an object by parameter name")),
        };
        // Variables first: expressions stand before some of those that they are of.
        entries.iter().try_for_each(|(key, value)| found.collect(value, &format!("params.{key}")))?;
        let mut nodes = IndexMap::new();
        for (key, value) in &entries {
            nodes.insert(key.clone(), found.node(value, &format!("params.{key}"))?);
        }
        let mut assumptions = Vec::new();
        if let Some(Json::Array(items)) = fields.get("assumptions") {
            for (i, item) in items.iter().enumerate() {
                let path = format!("assumptions[{i}]");
                let text =
                    item.as_str().ok_or_else(|| SpecError::new(&path, "expected the text of a condition"))?;
                assumptions.push(found.expression(text, &path)?);
            }
        }
        Shapes { variables: found.variables, params: Node::Dict(nodes), assumptions }.checked()
    }
}

impl FoundVariables {
    /// Finds the variables that are sizes.
    fn collect(&mut self, json: &Json, path: &str) -> Result<(), SpecError> {
        match json {
            Json::Array(items) => {
                items.iter().enumerate().try_for_each(|(i, item)| self.collect(item, &format!("{path}[{i}]")))
            }
            Json::Object(fields) if is_variable(fields) => self.key(fields, path).map(drop),
            Json::Object(fields) => fields.iter().try_for_each(|(key, value)| {
                if key == "type" { Ok(()) } else { self.collect(value, &format!("{path}.{key}")) }
            }),
            _ => Ok(()),
        }
    }

    /// The name here of a variable that is a size.
    fn key(&mut self, fields: &Map<String, Json>, path: &str) -> Result<String, SpecError> {
        let given = fields.get("name").and_then(Json::as_str).unwrap_or(ANONYMOUS);
        let variable = Variable {
            name: None,
            min: integer(fields.get("min"), &format!("{path}.min"))?,
            max: integer(fields.get("max"), &format!("{path}.max"))?,
            hint: integer(fields.get("optimization_hint"), &format!("{path}.optimization_hint"))?,
            is_size: Some(fields.get("type").and_then(Json::as_str) == Some("ShapeVar")),
        };
        let known = self.keys.get(given).into_iter().flatten();
        let same = |key: &&String| {
            self.variables.get(*key).is_some_and(|known| Variable { name: None, ..known.clone() } == variable)
        };
        match known.clone().find(same).filter(|_| given != ANONYMOUS) {
            Some(key) => Ok(key.clone()),
            None => Ok(self.add(given, variable)),
        }
    }

    fn add(&mut self, given: &str, variable: Variable) -> String {
        let key = identifier(given, |key| self.variables.contains_key(key));
        let name = (key != given).then(|| given.to_owned());
        self.variables.insert(key.clone(), Variable { name, ..variable });
        self.keys.entry(given.to_owned()).or_default().push(key.clone());
        key
    }

    fn node(&mut self, json: &Json, path: &str) -> Result<Node, SpecError> {
        let wrong = |message: &str| Err(SpecError::new(path, message));
        match json {
            Json::Null => Ok(Node::Static),
            Json::Number(_) => Ok(integer(Some(json), path)?.map_or(Node::Static, Node::Size)),
            Json::String(text) => Ok(Node::Expr(self.expression(text, path)?)),
            Json::Array(items) => Ok(Node::Seq(self.items(items, path)?)),
            Json::Object(fields) if is_variable(fields) => self.variable_again(fields, path).map(Node::Expr),
            Json::Object(fields) => {
                let class = fields.get("type").and_then(Json::as_str);
                let list = |key: &str| fields.get(key).and_then(Json::as_array);
                let object = |key: &str| fields.get(key).and_then(Json::as_object);
                match (class, list("dims"), list("entries"), object("entries"), object("fields")) {
                    (Some("TensorSpec"), Some(dims), ..) => Ok(Node::Tensor(self.items(dims, path)?)),
                    (Some("SeqSpec"), _, Some(entries), ..) => Ok(Node::Seq(self.items(entries, path)?)),
                    (Some("DictSpec"), _, _, Some(entries), _) => {
                        Ok(Node::Dict(self.members(entries, path)?))
                    }
                    (Some("ObjectSpec"), .., Some(fields)) => Ok(Node::Object(self.members(fields, path)?)),
                    // The values of `**kwargs`.
                    (None, ..) => Ok(Node::Dict(self.members(fields, path)?)),
                    _ => wrong("expected a part of a ShapesSpec, as `to_jsonable()` writes it"),
                }
            }
            Json::Bool(_) => wrong("expected a part of a ShapesSpec, as `to_jsonable()` writes it"),
        }
    }

    /// The variable that is met for the second time; those without a name in the order in which they were found.
    fn variable_again(&mut self, fields: &Map<String, Json>, path: &str) -> Result<String, SpecError> {
        let given = fields.get("name").and_then(Json::as_str).unwrap_or(ANONYMOUS);
        if given != ANONYMOUS {
            return self.key(fields, path);
        }
        let keys = self.keys.get_mut(ANONYMOUS).filter(|keys| !keys.is_empty());
        Ok(keys.map_or_else(
            || ANONYMOUS.to_owned(),
            |keys| {
                // Each stands once.
                let key = keys[0].clone();
                keys.rotate_left(1);
                key
            },
        ))
    }

    fn items(&mut self, items: &[Json], path: &str) -> Result<Vec<Node>, SpecError> {
        items.iter().enumerate().map(|(i, item)| self.node(item, &format!("{path}[{i}]"))).collect()
    }

    fn members(
        &mut self,
        fields: &Map<String, Json>,
        path: &str,
    ) -> Result<IndexMap<String, Node>, SpecError> {
        let member =
            |(key, value): (&String, &Json)| Ok((key.clone(), self.node(value, &format!("{path}.{key}"))?));
        fields.iter().map(member).collect()
    }

    /// An expression with the names of variables in place of names with numbers.
    fn expression(&mut self, text: &str, path: &str) -> Result<String, SpecError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(mark) = rest.find('#') {
            let digits =
                rest[mark + 1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - mark - 1);
            let before = &rest[..mark];
            let known =
                self.keys.keys().filter(|name| before.ends_with(name.as_str())).max_by_key(|name| name.len());
            let start = before.rfind(|c: char| c != '_' && !c.is_alphanumeric());
            let word = start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
            let name = known.map_or_else(|| before[word..].to_owned(), Clone::clone);
            out.push_str(&before[..before.len() - name.len()]);
            let number = rest[mark + 1..mark + 1 + digits].to_owned();
            out.push_str(&self.numbered(name, number, path)?);
            rest = &rest[mark + 1 + digits..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The name here of a variable with a number.
    fn numbered(&mut self, name: String, number: String, path: &str) -> Result<String, SpecError> {
        if let Some(key) = self.numbered.get(&(name.clone(), number.clone())) {
            return Ok(key.clone());
        }
        let others = self.numbered.keys().any(|(known, _)| *known == name);
        let of_sizes = self.numbered.values().collect::<Vec<_>>();
        let own: Vec<String> = self.keys.get(&name).into_iter().flatten().cloned().collect();
        let key = match own.as_slice() {
            // It is no size anywhere: its range is not written.
            [] => self.add(&name, Variable::default()),
            keys if others && keys.iter().all(|key| of_sizes.contains(&key)) && self.is_unwritten(&name) => {
                self.add(&name, Variable::default())
            }
            [key] if !others => key.clone(),
            _ => {
                let message = format!(
                    "`{name}#{number}` is one of several variables called {name}: the JSON that torch writes does not \
                     say which sizes they are; give the spec as Python"
                );
                return Err(SpecError::new(path, message));
            }
        };
        self.numbered.insert((name, number), key.clone());
        Ok(key)
    }

    /// Whether no variable of a name is a size anywhere.
    fn is_unwritten(&self, name: &str) -> bool {
        let keys = self.keys.get(name).into_iter().flatten();
        keys.clone().all(|key| self.variables.get(key).is_some_and(|variable| variable.is_size.is_none()))
    }
}

fn is_variable(fields: &Map<String, Json>) -> bool {
    matches!(fields.get("type").and_then(Json::as_str), Some("ShapeVar" | "IntVar"))
}
