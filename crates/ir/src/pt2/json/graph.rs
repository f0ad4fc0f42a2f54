//! Graphs, nodes and tensor metadata of the schema.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{
    Argument, CustomObjArgument, Device, Escaped, Int, LayoutNumber, Ordered, ScalarType, SymBool, SymFloat,
    SymInt, Text,
};

/// A graph: nodes in order of execution and what is known of each value they make.
#[derive(Debug, Clone, Default, Deserialize)]
pub(in crate::pt2) struct Graph<'a> {
    #[serde(borrow)]
    pub inputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub outputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub nodes: Vec<Node<'a>>,
    #[serde(borrow)]
    pub tensor_values: Ordered<'a, TensorMeta<'a>>,
    #[serde(borrow)]
    pub sym_int_values: Ordered<'a, SymInt<'a>>,
    #[serde(borrow)]
    pub sym_bool_values: Ordered<'a, SymBool<'a>>,
    #[serde(default)]
    pub is_single_tensor_return: bool,
    #[serde(borrow, default)]
    pub custom_obj_values: Ordered<'a, CustomObjArgument<'a>>,
    #[serde(borrow, default)]
    pub sym_float_values: Ordered<'a, SymFloat<'a>>,
}

/// A call.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct Node<'a> {
    #[serde(borrow)]
    pub target: Text<'a>,
    #[serde(borrow)]
    pub inputs: Vec<NamedArgument<'a>>,
    #[serde(borrow)]
    pub outputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub metadata: NodeMetadata<'a>,
    #[serde(default)]
    pub is_hop_single_tensor_return: Option<bool>,
    #[serde(borrow, default)]
    pub name: Option<Text<'a>>,
}

/// The part of a node's metadata that is kept; the rest, `from_node` above all, is long and not needed.
#[derive(Debug, Clone, Default)]
pub(in crate::pt2) struct NodeMetadata<'a> {
    pub stack_trace: Option<Escaped<'a>>,
    pub nn_module_stack: Option<Escaped<'a>>,
    pub torch_fn: Option<Escaped<'a>>,
    pub source_fn_stack: Option<Escaped<'a>>,
    pub custom: Option<Escaped<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for NodeMetadata<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetadataVisitor;
        impl<'de> Visitor<'de> for MetadataVisitor {
            type Value = NodeMetadata<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut metadata = NodeMetadata::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    let slot = match &*key {
                        "stack_trace" => &mut metadata.stack_trace,
                        "nn_module_stack" => &mut metadata.nn_module_stack,
                        "torch_fn" => &mut metadata.torch_fn,
                        "source_fn_stack" => &mut metadata.source_fn_stack,
                        "custom" => &mut metadata.custom,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *slot = Some(map.next_value()?);
                }
                Ok(metadata)
            }
        }
        deserializer.deserialize_map(MetadataVisitor)
    }
}

/// An argument and the parameter it is for.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct NamedArgument<'a> {
    #[serde(borrow)]
    pub name: Text<'a>,
    #[serde(borrow)]
    pub arg: Argument<'a>,
    #[serde(default)]
    pub kind: Option<ArgumentKind>,
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy)]
pub(in crate::pt2) enum ArgumentKind {
    Unknown,
    Positional,
    Keyword,
}

impl<'de> Deserialize<'de> for ArgumentKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Int::deserialize(deserializer)? {
            Int(0) => Ok(ArgumentKind::Unknown),
            Int(1) => Ok(ArgumentKind::Positional),
            Int(2) => Ok(ArgumentKind::Keyword),
            Int(number) => Err(serde::de::Error::custom(format!("no ArgumentKind has the number {number}"))),
        }
    }
}

/// What is known of a tensor.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::pt2) struct TensorMeta<'a> {
    pub dtype: ScalarType,
    #[serde(borrow)]
    pub sizes: Vec<SymInt<'a>>,
    pub requires_grad: bool,
    #[serde(borrow)]
    pub device: Device<'a>,
    #[serde(borrow)]
    pub strides: Vec<SymInt<'a>>,
    #[serde(borrow)]
    pub storage_offset: SymInt<'a>,
    pub layout: LayoutNumber,
}
