//! Flattening nested values to the leaves of a structure, and putting leaves together again.

use std::fmt;

use super::pytree::{PathStep, TreeKey, TreeKind, TreeSpec};

/// A nested value.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<T> {
    /// A value that is no container.
    Leaf(T),
    /// A tuple, a list, a deque, a named tuple or another container with elements in order.
    Sequence(Vec<Tree<T>>),
    /// A dictionary.
    Mapping(Vec<(TreeKey, Tree<T>)>),
}

/// A value that does not have the structure that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {}: {message}", Path(.path))]
pub struct StructureError {
    /// The way from the whole to the part at fault.
    pub path: Vec<PathStep>,
    /// What is wrong there. No full stop at the end.
    pub message: String,
}

struct Path<'p>(&'p [PathStep]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the top");
        }
        self.0.iter().try_for_each(|step| write!(f, "{step}"))
    }
}

impl<T> Tree<T> {
    fn kind_name(&self) -> &'static str {
        match self {
            Tree::Leaf(_) => "a value",
            Tree::Sequence(_) => "a sequence",
            Tree::Mapping(_) => "a dictionary",
        }
    }
}

impl TreeSpec {
    /// The leaves of a value of this structure, in order. A dictionary's elements may stand in another order.
    ///
    /// # Errors
    /// When the value has another structure: the path of the first part that differs.
    pub fn flatten<'v, T>(
        &self,
        value: &'v Tree<T>,
        prefix: &[PathStep],
    ) -> Result<Vec<&'v T>, StructureError> {
        let mut leaves = Vec::new();
        self.collect(value, &mut prefix.to_vec(), &mut leaves)?;
        Ok(leaves)
    }

    fn collect<'v, T>(
        &self,
        value: &'v Tree<T>,
        path: &mut Vec<PathStep>,
        leaves: &mut Vec<&'v T>,
    ) -> Result<(), StructureError> {
        let fail = |path: &[PathStep], message: String| Err(StructureError { path: path.to_vec(), message });
        match (&self.kind, value) {
            (TreeKind::Leaf, Tree::Leaf(leaf)) => leaves.push(leaf),
            (TreeKind::Leaf, other) => {
                return fail(path, format!("expected a value, found {}", other.kind_name()));
            }
            (TreeKind::Dict(keys), Tree::Mapping(entries)) => {
                if let Some((extra, _)) = entries.iter().find(|(key, _)| !keys.contains(key)) {
                    return fail(
                        path,
                        format!("there is no element {} in the structure", PathStep::Key(extra.clone())),
                    );
                }
                for (key, child) in keys.iter().zip(&self.children) {
                    path.push(PathStep::Key(key.clone()));
                    let Some((_, element)) = entries.iter().find(|(found, _)| found == key) else {
                        return fail(path, "the element is missing".to_owned());
                    };
                    child.collect(element, path, leaves)?;
                    path.pop();
                }
            }
            (TreeKind::Dict(_), other) => {
                return fail(path, format!("expected a dictionary, found {}", other.kind_name()));
            }
            (_, Tree::Sequence(elements)) => {
                let (expected, found) = (self.children.len(), elements.len());
                if expected != found {
                    return fail(path, format!("expected {expected} elements, found {found}"));
                }
                for (index, (child, element)) in self.children.iter().zip(elements).enumerate() {
                    path.push(self.step(index));
                    child.collect(element, path, leaves)?;
                    path.pop();
                }
            }
            (_, other) => return fail(path, format!("expected a sequence, found {}", other.kind_name())),
        }
        Ok(())
    }

    /// The value of this structure with these leaves.
    ///
    /// # Errors
    /// When there are too few leaves, with the path of the first that is missing, or too many.
    pub fn unflatten<T>(
        &self,
        leaves: impl IntoIterator<Item = T>,
        prefix: &[PathStep],
    ) -> Result<Tree<T>, StructureError> {
        let mut leaves = leaves.into_iter();
        let tree = self.build(&mut leaves, &mut prefix.to_vec())?;
        match leaves.count() {
            0 => Ok(tree),
            extra => {
                let message = format!("{} values are expected, {extra} more are given", self.leaf_count());
                Err(StructureError { path: prefix.to_vec(), message })
            }
        }
    }

    fn build<T>(
        &self,
        leaves: &mut dyn Iterator<Item = T>,
        path: &mut Vec<PathStep>,
    ) -> Result<Tree<T>, StructureError> {
        if self.kind == TreeKind::Leaf {
            let missing =
                || StructureError { path: path.clone(), message: "the value is missing".to_owned() };
            return leaves.next().map(Tree::Leaf).ok_or_else(missing);
        }
        let mut elements = Vec::with_capacity(self.children.len());
        for (index, child) in self.children.iter().enumerate() {
            path.push(self.step(index));
            elements.push(child.build(leaves, path)?);
            path.pop();
        }
        Ok(match &self.kind {
            TreeKind::Dict(keys) => Tree::Mapping(keys.iter().cloned().zip(elements).collect()),
            _ => Tree::Sequence(elements),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pytree::NamedTupleFields;

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    /// `(x, {"a": [y], "b": z})`.
    fn spec() -> TreeSpec {
        let list = format!(r#"{{"type": "builtins.list", "context": "null", "children_spec": [{LEAF}]}}"#);
        let dict = format!(
            r#"{{"type": "collections.OrderedDict", "context": "[\"a\", \"b\"]", "children_spec": [{list}, {LEAF}]}}"#
        );
        let text = format!(
            r#"[1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{LEAF}, {dict}]}}]"#
        );
        let spec = TreeSpec::parse(&text, &NamedTupleFields::new()).expect("a structure");
        assert_eq!(spec.to_json(), text);
        spec
    }

    fn key(name: &str) -> TreeKey {
        TreeKey::Str(name.into())
    }

    fn leaf(value: i32) -> Tree<i32> {
        Tree::Leaf(value)
    }

    #[test]
    fn what_is_put_together_comes_apart_again() {
        let spec = spec();
        let tree = spec.unflatten([1, 2, 3], &[]).expect("three leaves");
        let list = Tree::Sequence(vec![leaf(2)]);
        let expected =
            Tree::Sequence(vec![leaf(1), Tree::Mapping(vec![(key("a"), list.clone()), (key("b"), leaf(3))])]);
        assert_eq!(tree, expected);
        assert_eq!(spec.flatten(&tree, &[]), Ok(vec![&1, &2, &3]));
        let other_order =
            Tree::Sequence(vec![leaf(1), Tree::Mapping(vec![(key("b"), leaf(3)), (key("a"), list)])]);
        assert_eq!(spec.flatten(&other_order, &[]), Ok(vec![&1, &2, &3]));
    }

    #[test]
    fn errors_name_the_path() {
        let spec = spec();
        let whole = |second: Tree<i32>| Tree::Sequence(vec![leaf(1), second]);
        let mapping = |a: Tree<i32>| Tree::Mapping(vec![(key("a"), a), (key("b"), leaf(3))]);
        for (value, message) in [
            (leaf(1), "at args: expected a sequence, found a value"),
            (Tree::Sequence(vec![leaf(1)]), "at args: expected 2 elements, found 1"),
            (whole(leaf(2)), "at args[1]: expected a dictionary, found a value"),
            (whole(mapping(leaf(2))), "at args[1]['a']: expected a sequence, found a value"),
            (whole(mapping(Tree::Sequence(vec![]))), "at args[1]['a']: expected 1 elements, found 0"),
            (
                whole(mapping(Tree::Sequence(vec![Tree::Sequence(vec![])]))),
                "at args[1]['a'][0]: expected a value, found a sequence",
            ),
            (whole(Tree::Mapping(vec![(key("b"), leaf(3))])), "at args[1]['a']: the element is missing"),
            (
                whole(Tree::Mapping(vec![(key("c"), leaf(3))])),
                "at args[1]: there is no element ['c'] in the structure",
            ),
        ] {
            let error = spec.flatten(&value, &[PathStep::Parameter("args".into())]).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
        let missing = spec.unflatten([1, 2], &[]).expect_err("a missing leaf");
        assert_eq!(missing.to_string(), "at [1]['b']: the value is missing");
        let extra = spec.unflatten([1, 2, 3, 4, 5], &[]).expect_err("more leaves");
        assert_eq!(extra.to_string(), "at the top: 3 values are expected, 2 more are given");
    }
}
