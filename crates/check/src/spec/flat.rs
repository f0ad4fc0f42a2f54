//! Specs of inputs that do not nest: what an ONNX model takes is a list of tensors with names.
use super::dim::Entry;
use super::error::SpecError;
use super::locate::dimensions;
use super::parse::Spec;
use serde_json::Value as Json;
use sizewise_expr::Int;
use sizewise_ir::keys;

/// An input as its model declares it.
#[derive(Clone, Copy, Debug)]
pub struct FlatInput<'n> {
    /// Its name.
    pub name: &'n str,
    /// The number of its dimensions; `None` if the model does not say it.
    pub rank: Option<usize>,
    /// Whether it has dimensions at all.
    pub is_tensor: bool,
}

impl Spec {
    /// What the spec says of each dimension of these inputs, by name or by position. `None` for an input whose rank
    /// neither the model nor the spec says, and for one that is no tensor. A size whose minimum is not written is at
    /// least `least`.
    ///
    /// ```
    /// use sizewise_check::spec::{Entry, FlatInput, Spec};
    ///
    /// let spec = Spec::parse(br#"{"x": [{"dim": "batch"}, null]}"#).unwrap();
    /// let x = FlatInput { name: "x", rank: Some(2), is_tensor: true };
    /// let entries = spec.of_flat(&[x], 1).unwrap();
    /// assert!(matches!(entries[0].as_deref(), Some([Entry::Dim(_), Entry::Static])));
    /// ```
    ///
    /// # Errors
    /// When the spec does not fit the inputs: an unknown name, another number of inputs or dimensions, an empty range,
    /// or what is no entry of a dimension.
    pub fn of_flat(&self, inputs: &[FlatInput], least: i64) -> Result<Vec<Option<Vec<Entry>>>, SpecError> {
        if self.shapes.is_some() {
            let message = "a ShapesSpec is for exported programs: write the dimensions of the model's inputs";
            return Err(SpecError::new("", message));
        }
        if self.examples.is_some() {
            let message = "example inputs are no spec here: write the dimensions that vary";
            return Err(SpecError::new("additional_inputs", message));
        }
        let null = Json::Null;
        let least = Int::from(least);
        let found: Vec<&Json> = match &self.tree {
            Json::Object(entries) => {
                if let Some(name) = entries.keys().find(|name| !inputs.iter().any(|i| i.name == **name)) {
                    let near = keys::nearest(name, inputs.iter().map(|input| input.name));
                    let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
                    return Err(SpecError::new(name, format!("the model has no input of this name{near}")));
                }
                inputs.iter().map(|input| entries.get(input.name).unwrap_or(&null)).collect()
            }
            Json::Array(entries) if entries.len() == inputs.len() => entries.iter().collect(),
            Json::Array(entries) => {
                let message = format!("the model has {} inputs, the spec {}", inputs.len(), entries.len());
                return Err(SpecError::new("", message));
            }
            _ => inputs.iter().map(|_| &null).collect(),
        };
        inputs.iter().zip(found).map(|(input, json)| self.of_input(input, json, &least)).collect()
    }

    fn of_input(&self, input: &FlatInput, json: &Json, least: &Int) -> Result<Option<Vec<Entry>>, SpecError> {
        let refuse = |message: String| Err(SpecError::new(input.name, message));
        if json.is_null() {
            return Ok(input.rank.map(|rank| vec![Entry::Static; rank]));
        }
        if !input.is_tensor {
            return refuse("the input is no tensor: expected null".to_owned());
        }
        let null = Json::Null;
        let entries: Vec<&Json> = match (json, input.rank) {
            (Json::Array(entries), rank) if rank.is_none_or(|rank| rank == entries.len()) => {
                entries.iter().collect()
            }
            (Json::Array(entries), Some(rank)) => {
                let (rank, count) = (dimensions(rank), entries.len());
                return refuse(format!("the tensor has {rank}, the spec {count}"));
            }
            (Json::Object(entries), Some(rank)) => {
                let numbers: Vec<String> = (0..rank).map(|dim| dim.to_string()).collect();
                if let Some(key) = entries.keys().find(|key| !numbers.contains(key)) {
                    let rank = dimensions(rank);
                    return refuse(format!("the tensor has {rank}: there is no dimension \"{key}\""));
                }
                numbers.iter().map(|dim| entries.get(dim).unwrap_or(&null)).collect()
            }
            (Json::Object(_), None) => {
                return refuse("the model does not say how many dimensions it has: write a list".to_owned());
            }
            _ => return refuse(format!("expected null or a list with one entry a dimension, not {json}")),
        };
        let entry = |(dim, json): (usize, &Json)| {
            self.entry_at_least(json, &format!("{}.shape[{dim}]", input.name), least)
        };
        entries.into_iter().enumerate().map(entry).collect::<Result<_, _>>().map(Some)
    }
}
