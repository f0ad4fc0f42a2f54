//! Sources of guard code: which input, and what of it, `L['x'].size()[0]` speaks of.

use super::constant::Constant;
use super::graph::GraphInput;
use super::input::UserInput;
use super::meta::{Meta, Sym};
use super::program::Program;
use super::source_table::SourceTable;
use sizewise_expr::text::{Property, SourcePath};

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
    use sizewise_expr::text::SourceStep;

    fn look(
        program: &Program,
        root: &str,
        steps: &[SourceStep],
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
        let a = [SourceStep::Key("a".into())];
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
        assert_eq!(look(&program, "flat_args", &[SourceStep::Index(1)], Some(Property::Size(1))), literal(3));

        let bytes = include_bytes!("../../../tests/data/programs/const_inputs.pt2");
        let program = read(bytes, &ReadOptions::default()).expect("a program");
        assert_eq!(look(&program, "scale", &[], None), Some(SourceValue::Float(Sym::Literal(2.0))));
        assert_eq!(look(&program, "mode", &[], None), None);
    }
}
