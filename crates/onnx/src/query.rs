//! Requests about models, as of `sizewise eval`.
use crate::check::{Filled, ShownSize, evaluate_fully};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_check::query::{Fields, Refusal, only};
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::Dtype;
use sizewise_onnx_model::walk::{Input, inputs};
use std::sync::Arc;

/// Requires as many values of an input as it has elements.
fn fits(name: &str, count: usize, sizes: &[i64]) -> Result<(), Refusal> {
    let elements = sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
    if elements.is_some_and(|elements| usize::try_from(elements) == Ok(count)) {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{count} values are given for `{name}`, which has the sizes {sizes:?}")))
}

/// A list of sizes.
fn sizes_in(json: &Json) -> Option<Vec<i64>> {
    json.as_array()?.iter().map(Json::as_i64).collect()
}

/// Requires that the model has an input of this name, with an initializer or without.
fn is_known(model: &Model, name: &str) -> Result<(), Refusal> {
    let mut names = model.graph.input.iter().map(|input| input.name.as_str());
    if names.any(|known| known == name) {
        return Ok(());
    }
    let needed = inputs(model).into_iter().map(|input| input.name).collect::<Vec<_>>().join(", ");
    Err(Refusal::invalid(format!("no input is named `{name}`; there are {needed}")))
}

/// The sizes that are given, by input.
type SizesGiven = FxHashMap<String, Vec<i64>>;
/// What else is given of inputs.
type FilledGiven = FxHashMap<String, Filled>;

fn wrong(what: &str) -> Refusal {
    Refusal::invalid(format!("expected {what}"))
}

/// The sizes of inputs, and of the tensors of sequences.
fn shapes_of(model: &Model, own: &[Input], request: &Fields) -> Result<(SizesGiven, FilledGiven), Refusal> {
    let given = request.get("shapes").and_then(Json::as_object);
    let given = given.ok_or_else(|| wrong("`shapes`, an object of lists of sizes"))?;
    let (mut sizes, mut filled): (SizesGiven, FilledGiven) = Default::default();
    for (name, json) in given {
        is_known(model, name)?;
        let input = own.iter().find(|input| input.name == *name);
        let input = input.map(|input| input.held.as_deref().filter(|_| !json.is_null()).unwrap_or(input));
        match input {
            Some(input) if input.held.is_some() => filled.insert(name.clone(), Filled::Nothing),
            Some(input) if input.is_sequence => {
                let lists = json.as_array().and_then(|items| items.iter().map(sizes_in).collect());
                let lists = lists.ok_or_else(|| {
                    let what = "a list of lists, the sizes of the tensors of each sequence";
                    Refusal::invalid(format!("expected {what}, not {json} for `{name}`"))
                })?;
                filled.insert(name.clone(), Filled::Items(lists))
            }
            _ => {
                let list = sizes_in(json).ok_or_else(|| wrong("a list of sizes for each input"))?;
                sizes.insert(name.clone(), list);
                None
            }
        };
    }
    Ok((sizes, filled))
}

/// The values of inputs; those without dimensions have no sizes to give.
fn values_of(
    model: &Model,
    own: &[Input],
    request: &Fields,
    (sizes, filled): (&mut SizesGiven, &mut FilledGiven),
) -> Result<(), Refusal> {
    let number = |json: &Json| json.as_f64().or_else(|| json.as_bool().map(|b| f64::from(u8::from(b))));
    let values = |field: &str| request.get(field).and_then(Json::as_object).into_iter().flatten();
    for (name, value) in values("scalars") {
        is_known(model, name)?;
        sizes.insert(name.clone(), Vec::new());
        // An empty text, `x=` on the command line, is any value.
        if value.as_str() != Some("") {
            let value = number(value).ok_or_else(|| wrong("a number as the value of a model's input"))?;
            filled.insert(name.clone(), Filled::All(value));
        }
    }
    for (name, value) in values("values") {
        let text = |json: &Json| json.as_str().map(Arc::from);
        let is_text = own.iter().any(|input| input.name == *name && input.dtype == Some(Dtype::Str));
        let value = match value {
            Json::Array(items) if is_text => items.iter().map(text).collect::<Option<_>>().map(Filled::Texts),
            value if is_text => text(value).map(|text| Filled::Texts(vec![text])),
            Json::Array(items) => items.iter().map(number).collect::<Option<_>>().map(Filled::List),
            Json::String(text) if text == "zeros" => Some(Filled::All(0.0)),
            value => number(value).map(Filled::All),
        };
        let value =
            value.ok_or_else(|| wrong("numbers as `values`, or texts where these are the elements"))?;
        let is_list = request["values"][name].is_array();
        let count = match &value {
            Filled::List(list) => list.len(),
            Filled::Texts(list) => list.len(),
            _ => 0,
        };
        if let Some(sizes) = sizes.get(name).filter(|_| is_list) {
            fits(name, count, sizes)?;
        }
        filled.insert(name.clone(), value);
    }
    Ok(())
}

/// Answers a request of `sizewise eval`: what happens to inputs of given sizes, with values where they are given. `scalars`
/// are values of inputs without dimensions, which have no sizes to give.
///
/// # Errors
/// When the request is malformed.
pub fn answer(model: &Model, request: &Fields) -> Result<Fields, Refusal> {
    only(request, &["id", "shapes", "values", "scalars"])?;
    let own = inputs(model);
    let (mut sizes, mut filled) = shapes_of(model, &own, request)?;
    values_of(model, &own, request, (&mut sizes, &mut filled))?;
    let is_missing = |input: &&Input| {
        let takes_more = input.is_sequence || input.held.is_some();
        !sizes.contains_key(&input.name)
            && (input.is_tensor || takes_more && !filled.contains_key(&input.name))
    };
    if let Some(input) = own.iter().find(is_missing) {
        return Err(Refusal::invalid(format!("no sizes are given for the input `{}`", input.name)));
    }
    let mut fields = Fields::new();
    match evaluate_fully(model, &sizes, &filled) {
        Ok(evaluated) => {
            fields.insert("ok".into(), true.into());
            fields.insert(
                "outputs".into(),
                evaluated
                    .outputs
                    .iter()
                    .map(|sizes| {
                        sizes.as_ref().map(|s| s.iter().map(ShownSize::known_json).collect::<Json>())
                    })
                    .collect(),
            );
            if !evaluated.left.is_empty() {
                fields.insert("runtime_asserts".into(), evaluated.left.into());
            }
        }
        Err(refused) => {
            fields.insert("ok".into(), false.into());
            if refused.is_unsupported {
                fields.insert("error_kind".into(), "unsupported".into());
            }
            fields.insert("error".into(), refused.message.into());
            fields.insert("node".into(), refused.node.into());
            fields.insert("expr".into(), refused.expr.into());
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answered(request: Json) -> Result<Json, String> {
        let text = "<ir_version: 8, opset_import: [\"\" : 17]>\n\
                    g (float[n] s, float[m] b) => (float[1, c] y) { i = NonZero(s) y = Gather(b, i) }";
        let model = Model::read(text.as_bytes().to_vec()).expect(text);
        let Json::Object(request) = request else { panic!("an object") };
        answer(&model, &request).map(Json::Object).map_err(|refusal| refusal.message)
    }

    #[test]
    fn what_is_not_followed_is_named() {
        let found = answered(json!({"shapes": {"s": [5000], "b": [2]}}));
        let left = json!(["every index in `i` lies within a dimension of size 2, at y"]);
        assert_eq!(found, Ok(json!({"ok": true, "outputs": [[1, 5000]], "runtime_asserts": left})));
        let found = answered(json!({"shapes": {"s": [5], "b": [5]}}));
        assert_eq!(found, Ok(json!({"ok": true, "outputs": [[1, 5]]})));
    }

    #[test]
    fn inputs_are_known_and_given() {
        for request in [json!({"shapes": {"t": [3]}}), json!({"shapes": {}, "scalars": {"t": 3}})] {
            assert_eq!(answered(request), Err("no input is named `t`; there are s, b".to_owned()));
        }
        let message = "no sizes are given for the input `b`";
        assert_eq!(answered(json!({"shapes": {"s": [3]}})), Err(message.to_owned()));
    }

    #[test]
    fn there_are_as_many_values_as_elements() {
        let request = |values: Json| json!({"shapes": {"s": [3], "b": [3]}, "values": {"s": values}});
        assert_eq!(answered(request(json!([1, 0, 1]))), Ok(json!({"ok": true, "outputs": [[1, 2]]})));
        let message = "2 values are given for `s`, which has the sizes [3]";
        assert_eq!(answered(request(json!([1, 0]))), Err(message.to_owned()));
    }

    fn asked(graph: &str, request: Json) -> Result<Json, String> {
        let text = format!("<ir_version: 8, opset_import: [\"\" : 18]>\ng {graph}");
        let model = Model::read(text.into_bytes()).expect(graph);
        let Json::Object(request) = request else { panic!("an object") };
        answer(&model, &request).map(Json::Object).map_err(|refusal| refusal.message)
    }

    #[test]
    fn sequences_are_given_by_the_sizes_of_their_tensors() {
        let graph = "(seq(float[N, 3]) s) => (float[M, 3] y) { y = ConcatFromSequence<axis = 0>(s) }";
        let found = asked(graph, json!({"shapes": {"s": [[2, 3], [4, 3]]}}));
        assert_eq!(found, Ok(json!({"ok": true, "outputs": [[6, 3]]})));
        let found = asked(graph, json!({"shapes": {"s": [[2, 3], [4, 5]]}})).expect("an answer");
        assert_eq!(found["ok"], json!(false));
        let message = "expected a list of lists, the sizes of the tensors of each sequence, not [2] for `s`";
        assert_eq!(asked(graph, json!({"shapes": {"s": [2]}})), Err(message.to_owned()));
        let message = "no sizes are given for the input `s`";
        assert_eq!(asked(graph, json!({"shapes": {}})), Err(message.to_owned()));
    }

    #[test]
    fn optional_inputs_hold_a_value_or_nothing() {
        let graph = "(optional(float[N, 3]) s) => (float[N, 3] y, bool[] h) \
                     { y = OptionalGetElement(s) h = OptionalHasElement(s) }";
        let found = asked(graph, json!({"shapes": {"s": [2, 3]}}));
        assert_eq!(found, Ok(json!({"ok": true, "outputs": [[2, 3], []]})));
        let found = asked(graph, json!({"shapes": {"s": null}})).expect("an answer");
        assert_eq!(found["ok"], json!(false), "{found}");
        let message = "no sizes are given for the input `s`";
        assert_eq!(asked(graph, json!({"shapes": {}})), Err(message.to_owned()));
    }

    #[test]
    fn texts_are_values() {
        let graph = "(string[n] s) => (double[n] y) { y = Cast<to = 11>(s) }";
        let request = |values: Json| json!({"shapes": {"s": [2]}, "values": {"s": values}});
        for (values, runs) in [(json!(["1", "2.5"]), true), (json!("7"), true), (json!(["1", "x"]), false)] {
            let found = asked(graph, request(values.clone())).expect("an answer");
            assert_eq!(found["ok"], json!(runs), "{values}: {found}");
        }
        let message = "1 values are given for `s`, which has the sizes [2]";
        assert_eq!(asked(graph, request(json!(["1"]))), Err(message.to_owned()));
        let message = "expected numbers as `values`, or texts where these are the elements";
        assert_eq!(asked(graph, request(json!([1, 2]))), Err(message.to_owned()));
    }
}
