//! What a model does with some data: the branches that data choose, and the sizes that data decide.
//!
//! A condition that speaks of elements, such as that an index is within its dimension, is left to run time. A node that
//! data merely choose to run, and that refuses the sizes whatever its data are, is a violation. So is an output that
//! has another size than declared: data that make it so are as good as any.
use super::{Check, Given as Sizes, Outcome};
use crate::check::ShownSize;
use crate::check::evaluate::{
    Evaluated, Filled, Refused, evaluate, evaluate_along, evaluate_and_trace, evaluate_for_any_data,
};
use crate::check::examples::{SAMPLES, sampled};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::ValueInfoProto;
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::walk::{Given, declared, inputs};

/// The most samples that are tried for sizes that a model accepts with some data.
const MAX_SAMPLES: usize = 3;

const ALL_DATA: [Data; 2] = [Data::Usual, Data::Zeros];

/// Elements of all inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Those of `eval`: 1, 0.5, true and "a".
    Usual,
    /// 0 and false.
    Zeros,
}

impl Data {
    /// What every element of each input is, as `values` of `eval`; nothing of types that have the same elements anyway.
    pub fn elements(self, model: &Model) -> IndexMap<String, Json> {
        let element = |dtype: Dtype| match self {
            _ if dtype == Dtype::Bool => Some(Json::from(self == Data::Usual)),
            Data::Usual if dtype.is_float() => Some(Json::from(0.5)),
            _ if dtype.is_float() || dtype.is_integer() => Some(Json::from(i64::from(self == Data::Usual))),
            _ => None,
        };
        let tensors = inputs(model).into_iter().filter(|input| input.is_tensor);
        tensors.filter_map(|input| Some((input.name, element(input.dtype?)?))).collect()
    }
}

fn is_refusal(refused: &Refused) -> bool {
    !refused.is_unsupported
}

impl Check<'_> {
    pub(super) fn filled(&self, data: Data) -> FxHashMap<String, Filled> {
        let inputs = self.symbolic.sizes.iter().map(|(input, _)| input.name.clone());
        match data {
            Data::Usual => FxHashMap::default(),
            Data::Zeros => inputs.map(|name| (name, Filled::All(0.0))).collect(),
        }
    }

    /// The model's refusal of sizes, if it does refuse them: whatever the data are, or all data that take the branches
    /// which these data take.
    pub(super) fn refusal(&self, sizes: &Sizes) -> Option<(Refused, Option<Data>)> {
        // Most sizes that are accepted with all data are accepted with the data of `eval`.
        let (given, branches) = evaluate_and_trace(self.model, sizes, &FxHashMap::default());
        if given.err().filter(is_refusal).is_some()
            && let Some(refused) = evaluate_for_any_data(self.model, sizes).err().filter(is_refusal)
        {
            return Some((refused, None));
        }
        if branches.is_empty() {
            return None;
        }
        let (refused, data) = self.refusal_on_a_branch(sizes)?;
        Some((refused, Some(data)))
    }

    /// The refusal of sizes by a branch that some data take, with these data.
    pub(super) fn refusal_on_a_branch(&self, sizes: &Sizes) -> Option<(Refused, Data)> {
        ALL_DATA.into_iter().find_map(|data| {
            let (found, branches) = evaluate_and_trace(self.model, sizes, &self.filled(data));
            found.err().filter(is_refusal)?;
            let refused = evaluate_along(self.model, sizes, branches).err().filter(is_refusal)?;
            Some((refused, data))
        })
    }

    /// Sizes that the model accepts with these data, or those of the example with the data of `eval`.
    pub(super) fn works_with(&self, data: Data) -> Option<(Sizes, Option<Data>)> {
        let filled = self.filled(data);
        let samples = SAMPLES.iter().skip_while(|(first, _)| *first == 1).take(MAX_SAMPLES);
        let samples =
            samples.filter_map(|&sample| self.symbolic.at(|symbol| sampled(&self.symbolic, sample, symbol)));
        let mut tried = self.example().into_iter().chain(samples);
        let works = tried.find(|sizes| evaluate(self.model, sizes, &filled).is_ok());
        match works {
            Some(sizes) => Some((sizes, Some(data))),
            None => self.works.clone().map(|sizes| (sizes, Some(Data::Usual))),
        }
    }

    /// Whether data decide a size or the rank of an output of which something is declared.
    pub(super) fn data_decide_outputs(&self, made: &Evaluated) -> bool {
        let is_open = |(message, made): (&ValueInfoProto, &Option<Vec<ShownSize>>)| {
            let stated = declared(&message.name, message.r#type.as_ref()).shape;
            stated.is_some_and(|stated| match made {
                None => true,
                Some(made) => {
                    let mut pairs = stated.iter().zip(made);
                    pairs.any(|(stated, made)| *stated != Given::Open && made.number().is_none())
                }
            })
        };
        self.model.graph.output.iter().zip(&made.outputs).any(is_open)
    }

    /// Compares the outputs with what is declared of them for some data, at sizes and with the sizes of names.
    pub(super) fn as_declared_for_data(&mut self, samples: &[(Sizes, FxHashMap<String, i64>)]) {
        for (data, (sizes, named)) in ALL_DATA.iter().flat_map(|&data| samples.iter().map(move |s| (data, s)))
        {
            if self.verdict == Outcome::Violated {
                return;
            }
            if let Ok(evaluated) = evaluate(self.model, sizes, &self.filled(data)) {
                self.as_declared((sizes, Some(data)), named, &evaluated);
            }
        }
    }
}
