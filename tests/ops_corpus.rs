//! A sample of operator calls with what torch 2.15 makes of them, every overload of the corpus among them:
//! `tests/data/ops.jsonl.gz`.
//!
//! A line has `op`, `args`, `kwargs` and either `returns` or `rejected`. Sizes, dtypes and strides are compared,
//! strides of tensors with a dimension of size 0 or 1 aside (torch leaves them open), and those where torch's own two
//! kernels differ.
#![cfg(feature = "cli")]
use flate2::read::GzDecoder;
use serde_json::{Map, Value as Json};
use sizewise::env::ShapeEnv;
use sizewise::kernels::{Cx, KernelError, Operators, Value, bind};
use sizewise::query::argument::{read_value, write_value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Torch refuses these whatever the indices are; what is recorded leaves out what the values decide.
const EMPTY: &str = "positions in an empty dimension";
/// Why attention is refused where the recorded kernel accepts: it reads what lies behind the shorter of key and value.
const LENGTHS: &str = "key and value of different lengths, which no kernel compares";

/// The calls that come out differently: the beginning of their names, how many they are at most, and the reason.
const DIFFERENT: &[(&str, usize, &str)] = &[
    ("aten._unsafe_index.Tensor/", 1, EMPTY),
    ("aten._unsafe_index_put.default/", 2, EMPTY),
    ("aten.embedding_bag.padding_idx/", 1, EMPTY),
    ("aten.gather.default/", 2, EMPTY),
    ("aten.index.Tensor/", 2, EMPTY),
    ("aten.index_put.default/", 4, EMPTY),
    ("aten.index_select_backward.default/", 1, EMPTY),
    ("aten.scatter.reduce/", 1, EMPTY),
    ("aten.scatter.src/", 1, EMPTY),
    ("aten.scatter_add.default/", 1, EMPTY),
    ("aten._embedding_bag.default/", 2, "how a bag without members is counted, and an empty table"),
    (
        "aten._embedding_bag_forward_only.default/",
        3,
        "how a bag without members is counted, and an empty table",
    ),
    ("aten._fft_c2c.default/", 1, "a dimension that neither kernel checks"),
    ("aten._fused_sdp_choice.default/", 64, "private state of backends and of autograd"),
    ("aten._nested_from_padded.default/", 13, "nested tensors are not modelled"),
    ("aten._nested_tensor_from_mask_left_aligned.default/", 13, "nested tensors are not modelled"),
    ("aten._nnpack_available.default/", 1, "private state of backends and of autograd"),
    ("aten._remove_batch_dim.default/", 14, "levels of vmap are no part of exported programs"),
    ("aten._efficient_attention_forward.default/", 1, LENGTHS),
    ("aten._scaled_dot_product_cudnn_attention.default/", 2, LENGTHS),
    ("aten._scaled_dot_product_efficient_attention.default/", 5, LENGTHS),
    ("aten._scaled_dot_product_flash_attention.default/", 5, LENGTHS),
    ("aten._scaled_dot_product_flash_attention_backward.default/", 1, LENGTHS),
    ("aten._scaled_dot_product_flash_attention_for_cpu.default/", 5, LENGTHS),
    ("aten._scaled_dot_product_flash_attention_for_cpu_backward.default/", 10, LENGTHS),
    ("aten._version.default/", 8, "private state of backends and of autograd"),
    ("aten.binary_cross_entropy.default/", 1, "a weight that broadcasts over a target"),
    ("aten.broadcast_to.default/", 1, "sizes below 0 that neither kernel checks"),
    ("aten.convolution_backward.default/", 1, "a gradient of a larger batch, which neither kernel compares"),
    ("aten.embedding_bag.default/", 2, "how a bag without members is counted"),
    ("aten.fake_quantize_per_channel_affine.default/", 1, "zero points are values"),
    ("aten.fake_quantize_per_channel_affine_cachemask.default/", 1, "zero points are values"),
    ("aten.gather_backward.default/", 13, "sparse gradients are not modelled"),
    (
        "aten.grid_sampler_3d_backward.default/",
        5,
        "gradients of another size than the grid, which neither kernel compares",
    ),
    ("aten.is_leaf.default/", 8, "private state of backends and of autograd"),
    ("aten.is_set_to.default/", 1, "whether tensors share memory, their shapes do not tell"),
    ("aten.mkldnn_rnn_layer_backward.default/", 1, "layers of oneDNN in 16 bits"),
    ("aten.multilabel_margin_loss.default/", 3, "dtypes that it lets through where there is nothing to sum"),
    ("aten.nll_loss.default/", 1, "a reduction that has no name"),
    ("aten.output_nr.default/", 8, "private state of backends and of autograd"),
    ("aten.retains_grad.default/", 10, "private state of backends and of autograd"),
    ("aten.scaled_dot_product_attention.default/", 2, LENGTHS),
];

pub(crate) fn recorded_calls() -> impl Iterator<Item = Json> {
    let file = File::open("tests/data/ops.jsonl.gz").expect("the recorded calls");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("JSON"))
}

/// Arguments by position, and by name.
pub(crate) type Arguments<'c> = (Vec<Value>, Vec<(&'c str, Value)>);

/// The arguments of a recorded call, if they are of kinds that calls take.
pub(crate) fn arguments<'c>(env: &mut ShapeEnv, call: &'c Json) -> Result<Arguments<'c>, String> {
    let positional = call["args"].as_array().into_iter().flatten();
    let positional = positional.map(|arg| read_value(env, arg)).collect::<Result<_, _>>();
    let positional = positional.map_err(|error| format!("{error:?}"))?;
    let mut keywords: Vec<(&str, Value)> = Vec::new();
    for (name, arg) in call["kwargs"].as_object().into_iter().flatten() {
        keywords.push((name, read_value(env, arg).map_err(|error| format!("{error:?}"))?));
    }
    Ok((positional, keywords))
}

/// What a call gives: the results as JSON, or the clause by which it is rejected, which is empty where arguments have
/// the wrong type.
pub(crate) fn outcome(operators: &Operators, call: &Json) -> Result<Result<Vec<Json>, &'static str>, String> {
    let mut env = ShapeEnv::new();
    let op = call["op"].as_str().ok_or("no operator")?;
    let Ok((positional, keywords)) = arguments(&mut env, call) else { return Ok(Err("")) };
    let (schema, kernel) = operators.find(op).ok_or("there is no kernel")?;
    let Ok(args) = bind(&mut env.pool, schema, positional, keywords) else { return Ok(Err("")) };
    match kernel.call(&mut Cx::new(&mut env), &args) {
        Ok(values) => Ok(Ok(values.iter().map(|v| write_value(&env.pool, v)).collect())),
        Err(KernelError::Unsupported(reason)) => Err(format!("unsupported: {reason}")),
        Err(KernelError::Invalid { clause, .. }) => Ok(Err(clause.name())),
        Err(KernelError::DataDependent { .. }) => Ok(Err("")),
    }
}

/// The tensors and numbers of results, one after the other; absent ones are null.
fn flat(returns: &[Json]) -> Vec<&Json> {
    let mut items = Vec::new();
    for value in returns {
        match value.as_object().and_then(|o| o.iter().next()) {
            Some((kind, Json::Array(list))) if kind == "tensors" => items.extend(list),
            Some((kind, tensor)) if kind == "tensor" => items.push(tensor),
            Some((kind, _)) if kind == "none" => {}
            _ => items.push(value),
        }
    }
    items
}

fn numbers(json: &Json) -> Option<Vec<i64>> {
    json.as_array()?.iter().map(Json::as_i64).collect()
}

/// What differs first between results; empty where nothing does.
fn difference(found: &[Json], recorded: &[Json], call: &Json) -> String {
    let (found, recorded) = (flat(found), flat(recorded));
    if found.len() != recorded.len() {
        return format!("{} results, {} recorded", found.len(), recorded.len());
    }
    let at_run_time = call["run_time"] == true;
    for (found, recorded) in found.into_iter().zip(recorded) {
        let (Some(f), Some(r)) = (found.as_object(), recorded.as_object()) else {
            if found == recorded {
                continue;
            }
            return format!("{found} for {recorded}");
        };
        let same =
            if r.contains_key("shape") { same_tensor(f, r, at_run_time, call) } else { same_number(f, r) };
        if !same {
            return format!("{found} for {recorded}");
        }
    }
    String::new()
}

fn same_tensor(
    found: &Map<String, Json>,
    recorded: &Map<String, Json>,
    at_run_time: bool,
    call: &Json,
) -> bool {
    let field = |object: &Map<String, Json>, key: &str, default: &str| {
        object.get(key).and_then(Json::as_str).unwrap_or(default).to_owned()
    };
    let (Some(Json::Array(sizes)), Some(Json::Array(expected))) = (found.get("shape"), recorded.get("shape"))
    else {
        return false;
    };
    let same_size = |(size, expected): (&Json, &Json)| match (size, expected) {
        // Sizes known at run time only are called differently; in place of a number they stand where torch ran the
        // operator.
        (Json::String(size), Json::String(_)) => size.contains('u'),
        (Json::String(size), Json::Number(_)) => at_run_time && size.contains('u'),
        (size, expected) => size == expected,
    };
    let sizes_agree = sizes.len() == expected.len() && sizes.iter().zip(expected).all(same_size);
    let rest_agrees = [("dtype", ""), ("device", "cpu"), ("layout", "strided")]
        .iter()
        .all(|(key, default)| field(found, key, default) == field(recorded, key, default));
    if !sizes_agree || !rest_agrees {
        return false;
    }
    let Some(shape) = recorded.get("shape").and_then(numbers) else { return true };
    if call["other_strides"] == true
        || shape.iter().any(|&size| size <= 1)
        || numbers(&found["shape"]).is_none()
    {
        return true;
    }
    let contiguous = || {
        let mut strides = vec![1; shape.len()];
        for at in (1..shape.len()).rev() {
            strides[at - 1] = strides[at] * shape[at];
        }
        strides
    };
    let strides =
        |object: &Map<String, Json>| object.get("stride").map_or_else(|| Some(contiguous()), numbers);
    field(found, "layout", "strided") != "strided" || strides(found) == strides(recorded)
}

fn same_number(found: &Map<String, Json>, recorded: &Map<String, Json>) -> bool {
    let plain = |object: &Map<String, Json>| {
        let (kind, value) = object.iter().next().map(|(k, v)| (k.clone(), v.clone())).unwrap_or_default();
        (kind.strip_prefix("sym").map_or(kind.clone(), str::to_owned), value)
    };
    let ((kind, value), (expected_kind, expected)) = (plain(found), plain(recorded));
    let both_open = matches!((&value, &expected), (Json::String(_), Json::String(_))) && kind != "str";
    kind == expected_kind && (value == expected || both_open)
}

#[test]
fn recorded_calls_come_out_as_recorded() {
    let operators = Operators::new();
    let (mut count, mut wrong) = (0, Vec::new());
    let mut overloads: BTreeMap<String, u32> = BTreeMap::new();
    let mut seen = vec![0; DIFFERENT.len()];
    for call in recorded_calls() {
        count += 1;
        *overloads.entry(call["op"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        let found = outcome(&operators, &call);
        let problem = match (&found, call.get("returns")) {
            (Ok(Ok(found)), Some(recorded)) => {
                difference(found, recorded.as_array().map_or(&[], Vec::as_slice), &call)
            }
            (Ok(Err(_)), None) => String::new(),
            (Ok(Ok(_)), None) => "accepted".into(),
            (Ok(Err(_)), Some(_)) => "rejected".into(),
            (Err(reason), _) => reason.clone(),
        };
        if problem.is_empty() {
            continue;
        }
        let id = call["id"].as_str().unwrap_or_default();
        match DIFFERENT.iter().position(|(prefix, ..)| id.starts_with(prefix)) {
            Some(at) => seen[at] += 1,
            None => wrong.push(format!("{id}: {problem}")),
        }
    }
    assert!(count > 50_000 && overloads.len() > 1_400, "{count} calls of {} overloads", overloads.len());
    assert!(wrong.is_empty(), "{} of {count} calls:\n{}", wrong.len(), wrong.join("\n"));
    for ((prefix, most, reason), seen) in DIFFERENT.iter().zip(seen) {
        assert!(seen <= *most, "{prefix} ({reason}): {seen} calls come out differently, at most {most} did");
        assert!(seen > 0, "{prefix} ({reason}) comes out as recorded by now: take it off the list");
    }
}

/// The clauses of each overload, a line each, as `data/clauses.txt` has them: those that the tables state and those
/// by which recorded calls are rejected.
fn clauses() -> String {
    let mut clauses: BTreeMap<String, BTreeSet<(String, u32)>> = BTreeMap::new();
    let mut add = |op: &str, clause: &str| {
        let Some((name, number)) = clause.rsplit_once(".C") else { return };
        let number = number.parse().expect("the number of a clause");
        clauses.entry(op.to_owned()).or_default().insert((name.to_owned(), number));
    };
    let operators = Operators::new();
    for call in recorded_calls() {
        if let Ok(Err(clause)) = outcome(&operators, &call) {
            add(call["op"].as_str().unwrap_or_default(), clause);
        }
    }
    for table in std::fs::read_dir("tests/kernels").expect("the tables") {
        let path = table.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("a table");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let (Some((op, _)), Some((_, clause))) = (line.split_once('('), line.split_once("-> invalid "))
            {
                add(op.trim(), clause.trim());
            }
        }
    }
    let mut text = String::new();
    for (op, clauses) in clauses {
        text.push_str(&op);
        for (name, number) in clauses {
            text.push_str(&format!(" {name}.C{number}"));
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_list_of_clauses_is_what_kernels_refuse_by() {
    let found = clauses();
    if std::env::var_os("SIZEWISE_WRITE_CLAUSES").is_some() {
        std::fs::write("data/clauses.txt", &found).expect("the list is written");
    }
    let listed = std::fs::read_to_string("data/clauses.txt").expect("the list");
    let not_in = |text: &str, other: &str| -> Vec<String> {
        let other: BTreeSet<&str> = other.lines().collect();
        text.lines().filter(|line| !other.contains(line)).map(str::to_owned).collect()
    };
    let (new, old) = (not_in(&found, &listed), not_in(&listed, &found));
    assert!(
        found == listed,
        "data/clauses.txt is stale. It does not have {new:#?}, and has {old:#?} instead. Where that is meant, write it \
         anew with `SIZEWISE_WRITE_CLAUSES=1 cargo test --test tests ops_corpus`"
    );
}
