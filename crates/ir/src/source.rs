//! Sources of guard code: which input, and what of it, `L['x'].size()[0]` speaks of.

use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::FxBuildHasher;

use super::constant::Constant;
use super::graph::GraphInput;
use super::input::UserInput;
use super::meta::{Meta, Sym};
use super::program::Program;
use super::pytree::{PathStep, TreeKey};
use sizewise_expr::text::{Property, SourcePath, Step};

/// A number that guards may speak of, as the program records it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SourceValue {
    /// A size, a stride, an offset, or an input that is an integer.
    Int(Sym<i64>),
    /// An input that is a float.
    Float(Sym<f64>),
    /// An input that is a truth value.
    Bool(Sym<bool>),
}

/// Finds the inputs that sources name.
#[derive(Debug, Clone, Default)]
pub struct SourceTable {
    /// Place among the user's inputs; `None` where a name may be either of two inputs.
    inputs: IndexMap<(String, Vec<Step>), Option<usize>, FxBuildHasher>,
}

impl SourceTable {
    /// The table of these inputs. An input's own path goes before any other input's alias.
    pub fn new(inputs: &[UserInput]) -> SourceTable {
        let mut table = SourceTable::default();
        let own = inputs.iter().enumerate().map(|(index, input)| (index, &input.path));
        table.add(own);
        let mut aliases = SourceTable::default();
        aliases.add(
            inputs
                .iter()
                .enumerate()
                .flat_map(|(index, input)| input.aliases.iter().map(move |alias| (index, alias))),
        );
        for (key, index) in aliases.inputs {
            table.inputs.entry(key).or_insert(index);
        }
        table
    }

    fn add<'a>(&mut self, paths: impl Iterator<Item = (usize, &'a Vec<PathStep>)>) {
        for (index, path) in paths {
            if let Some(key) = key(path) {
                match self.inputs.entry(key) {
                    Entry::Vacant(entry) => drop(entry.insert(Some(index))),
                    Entry::Occupied(mut entry) if *entry.get() != Some(index) => drop(entry.insert(None)),
                    Entry::Occupied(_) => {}
                }
            }
        }
    }

    /// The place of the input at these steps from `root` among the user's inputs; `None` when there is none or
    /// when it is ambiguous.
    pub fn find(&self, root: &str, steps: &[Step]) -> Option<usize> {
        // The few steps of a source are cheaper to copy than a borrowed form of the key is to define.
        self.inputs.get(&(root.to_owned(), steps.to_vec())).copied().flatten()
    }
}

/// What a source must say to follow a path.
fn key(path: &[PathStep]) -> Option<(String, Vec<Step>)> {
    let (PathStep::Parameter(root), rest) = path.split_first()? else { return None };
    let step = |step: &PathStep| match step {
        PathStep::Parameter(name) | PathStep::Key(TreeKey::Str(name)) => Step::Key(name.to_string()),
        PathStep::Index(index) => Step::Index(i64::try_from(*index).unwrap_or(i64::MAX)),
        PathStep::Key(TreeKey::Int(key)) => Step::Index(*key),
        PathStep::Key(other) => Step::Literal(other.to_string()),
        PathStep::Field(name) => Step::Attribute(name.to_string()),
    };
    Some((root.to_string(), rest.iter().map(step).collect()))
}

impl Program {
    /// What the program records of a source; `inputs` are [`Program::user_inputs`] and `table` is theirs. `None`
    /// when no input or no dimension of it is meant.
    pub fn source_value(
        &self,
        source: &SourcePath,
        inputs: &[UserInput],
        table: &SourceTable,
    ) -> Option<SourceValue> {
        let input = inputs.get(table.find(&source.root, &source.steps)?)?;
        let value = match self.graph.inputs().get(input.index)? {
            GraphInput::Value(value) => *value,
            GraphInput::Constant(constant) => return constant_value(constant, source.property),
        };
        match (self.graph.meta(value), source.property) {
            (Meta::Tensor(meta), Some(property)) => {
                let value = match property {
                    Property::Size(dim) => element(&meta.sizes, dim)?,
                    Property::Stride(dim) => element(&meta.strides, dim)?,
                    Property::StorageOffset => meta.storage_offset,
                };
                Some(SourceValue::Int(value))
            }
            (Meta::SymInt(value), None) => Some(SourceValue::Int(*value)),
            (Meta::SymFloat(value), None) => Some(SourceValue::Float(*value)),
            (Meta::SymBool(value), None) => Some(SourceValue::Bool(*value)),
            _ => None,
        }
    }
}

fn constant_value(constant: &Constant, property: Option<Property>) -> Option<SourceValue> {
    match (constant, property) {
        (Constant::Int(value), None) => Some(SourceValue::Int(Sym::Literal(*value))),
        (Constant::Float(value), None) => Some(SourceValue::Float(Sym::Literal(*value))),
        (Constant::Bool(value), None) => Some(SourceValue::Bool(Sym::Literal(*value))),
        _ => None,
    }
}

/// The element at `dim`, which counts from the end when negative.
fn element<T: Copy>(list: &[T], dim: i64) -> Option<T> {
    let from_end = if dim < 0 { i64::try_from(list.len()).ok()? } else { 0 };
    list.get(usize::try_from(dim.checked_add(from_end)?).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt2::{ReadOptions, read};

    fn look(
        program: &Program,
        root: &str,
        steps: &[Step],
        property: Option<Property>,
    ) -> Option<SourceValue> {
        let inputs = program.user_inputs().expect("inputs");
        let source = SourcePath { root: root.into(), steps: steps.to_vec(), property };
        program.source_value(&source, &inputs, &SourceTable::new(&inputs))
    }

    #[test]
    fn sources_find_sizes_strides_and_scalars() {
        let bytes = include_bytes!("../../../tests/data/programs/pt_dict.pt2");
        let program = read(bytes, &ReadOptions::default()).expect("a program");
        let a = [Step::Key("a".into())];
        let literal = |value| Some(SourceValue::Int(Sym::Literal(value)));
        for (property, value) in [
            (Property::Size(1), literal(3)),
            (Property::Size(-1), literal(3)),
            (Property::Stride(0), literal(3)),
            (Property::StorageOffset, literal(0)),
            (Property::Size(2), None),
            (Property::Size(-3), None),
            (Property::Size(i64::MIN), None),
        ] {
            assert_eq!(look(&program, "inp", &a, Some(property)), value, "{property:?}");
        }
        assert!(matches!(
            look(&program, "inp", &a, Some(Property::Size(0))),
            Some(SourceValue::Int(Sym::Expr(_)))
        ));
        assert_eq!(look(&program, "inp", &a, None), None);
        assert_eq!(look(&program, "inp", &[], Some(Property::Size(0))), None);
        assert_eq!(look(&program, "flat_args", &[Step::Index(1)], Some(Property::Size(1))), literal(3));

        let bytes = include_bytes!("../../../tests/data/programs/const_inputs.pt2");
        let program = read(bytes, &ReadOptions::default()).expect("a program");
        assert_eq!(look(&program, "scale", &[], None), Some(SourceValue::Float(Sym::Literal(2.0))));
        assert_eq!(look(&program, "mode", &[], None), None);
    }

    #[test]
    fn a_name_that_may_be_either_of_two_inputs_is_neither() {
        let name = |name: &str| vec![PathStep::Parameter(name.into())];
        let input = |path: &str, aliases: &[&str]| UserInput {
            placeholder: path.into(),
            index: 0,
            path: name(path),
            aliases: aliases.iter().map(|alias| name(alias)).collect(),
            call_path: String::new(),
            keyword: None,
        };
        let table = SourceTable::new(&[input("x", &["both", "y"]), input("y", &["both", "z"])]);
        for (root, index) in [("x", Some(0)), ("y", Some(1)), ("z", Some(1)), ("both", None), ("w", None)] {
            assert_eq!(table.find(root, &[]), index, "{root}");
        }
    }
}
