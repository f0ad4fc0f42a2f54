//! Laws of checks of ONNX models under specs.
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json, json};
use sizewise::Budget;
use sizewise::onnx::check::{declared_spec, evaluate, report, widen};
use sizewise::onnx_model::read::Model;
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::spec::Spec;
use std::collections::BTreeMap;

/// Numbers drawn from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }

    fn of<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len() as u64) as usize]
    }
}

/// What nodes make of `x` and `y`.
const BODIES: &[&str] = &[
    "out = Add(x, y)",
    "out = Concat<axis = 0>(x, y)",
    "out = Concat<axis = 1>(x, y)",
    "out = MatMul(x, y)",
    "c = Constant<value_ints = [-1, 6]>()  out = Reshape(x, c)",
    "c = Constant<value_ints = [2, -1]>()  r = Reshape(x, c)  out = Concat<axis = 0>(r, y)",
    "t = Transpose<perm = [1, 0]>(y)  out = Mul(x, t)",
    "t = Transpose<perm = [1, 0]>(y)  p = Add(x, t)  q = Concat<axis = 1>(p, x)  out = MatMul(q, q)",
    "a, b = Split<axis = 1, num_outputs = 2>(x)  out = Add(a, y)",
    "c = Constant<value_ints = [1]>()  u = Unsqueeze(x, c)  k = Constant<value = float[2, 1, 3] {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>()  out = Conv<strides = [2]>(u, k)",
    "c = Constant<value_ints = [1]>()  u = Unsqueeze(x, c)  out = MaxPool<kernel_shape = [4], pads = [1, 0]>(u)",
    "s = Shape(y)  out = Expand(x, s)",
    "s = Shape(y)  out = Reshape(x, s)",
    "i = Constant<value_ints = [3]>()  out = Gather<axis = 0>(x, i)",
    "s = Shape<start = 1, end = 2>(x)  n = Squeeze(s)  f = Cast<to = 1>(n)  z = Constant<value_float = 0.0>()  o = Constant<value_float = 1.0>()  r = Range(z, f, o)  out = Add(y, r)",
    "s = Shape<start = 1, end = 2>(x)  f = Cast<to = 1>(s)  o = Constant<value_floats = [2.0]>()  q = Div(f, o)  g = Ceil(q)  t = Cast<to = 7>(g)  c = Constant<value_ints = [-1]>()  d = Concat<axis = 0>(c, t)  r = Reshape(x, d)  out = Add(r, y)",
    "s = Shape<start = 0, end = 1>(x)  f = Cast<to = 1>(s)  o = Constant<value_floats = [0.25]>()  q = Mul(o, f)  g = Floor(q)  t = Cast<to = 7>(g)  c = Constant<value_ints = [-1]>()  d = Concat<axis = 0>(t, c)  out = Reshape(x, d)",
    "f = Constant<value_ints = [1, 0]>()  t = Constant<value_ints = [4, 2]>()  w = Slice(x, f, t)  out = Add(w, y)",
];

/// A model with two inputs, and what it declares of their sizes.
fn model(draw: &mut Draw) -> (Model, String) {
    let mut size = || (*draw.of(&["a", "b", "c", "n", "4", "6", "?", "1"])).to_owned();
    let sizes: Vec<String> = (0..4).map(|_| size()).collect();
    let output = *draw.of(&["out", "out", "out, float[a, b] x2", "out, float[b, 4] y2"]);
    let body = draw.of(BODIES);
    let declared = match draw.below(3) {
        0 => "float[a, b] out",
        1 => "float[k, l] out",
        _ => "float[k, b] out",
    };
    // Some nodes make three dimensions.
    let declared =
        if body.contains("Conv") || body.contains("MaxPool") { "float[k, l, m] out" } else { declared };
    let (more, outputs) = match output {
        "out" => ("", declared.to_owned()),
        "out, float[a, b] x2" => ("  x2 = Neg(x)", format!("{declared}, float[a, b] x2")),
        _ => ("  y2 = Neg(y)", format!("{declared}, float[b, 4] y2")),
    };
    let [p, q, r, s] = sizes.as_slice() else { unreachable!("four sizes") };
    let text = format!(
        "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[{p}, {q}] x, float[{r}, {s}] y) => ({outputs}) {{ {body}{more} }}"
    );
    (Model::read(text.clone().into_bytes()).expect("a model"), text)
}

/// A spec of the two inputs, or none that fits.
fn spec(draw: &mut Draw) -> Json {
    let ranges: BTreeMap<&str, (u64, Json)> = ["a", "d", "h"]
        .into_iter()
        .map(|name| {
            let min = draw.below(4);
            let max = if draw.below(2) == 0 { Json::Null } else { json!(min + draw.below(9)) };
            (name, (min, max))
        })
        .collect();
    let dim = |name: &str| {
        let (min, max) = &ranges[name];
        json!({"dim": name, "min": min, "max": max})
    };
    let mut entry = || match draw.below(9) {
        0 | 1 => Json::Null,
        2 => json!("AUTO"),
        3 => json!({"hint": "DYNAMIC", "min": 1 + draw.below(3), "max": 4 + draw.below(9)}),
        4 => json!(1 + draw.below(7)),
        5 => json!({"derived": "2*h", "root": dim("h")}),
        6 => json!({"derived": "3*d + 1", "root": dim("d")}),
        7 => dim("d"),
        _ => dim("a"),
    };
    json!({"x": [entry(), entry()], "y": [entry(), entry()]})
}

/// The names of dimensions and what they are.
type Named = FxHashMap<String, i64>;

/// Whether a spec allows a size, where the model declares `declared`; names get the size that they have first.
fn allows(entry: &Json, declared: &str, size: i64, named: &mut Named, place: &str) -> bool {
    let within = |fields: &Json, size: i64, least: i64| {
        size >= fields["min"].as_i64().unwrap_or(least)
            && fields["max"].as_i64().is_none_or(|max| size <= max)
    };
    let mut is_named = |name: String, size: i64| *named.entry(name).or_insert(size) == size;
    let of_model = |is_named: &mut dyn FnMut(String, i64) -> bool| match declared.parse::<i64>() {
        Ok(number) => size == number,
        Err(_) if declared == "?" => is_named(place.to_owned(), size),
        Err(_) => is_named(declared.to_owned(), size),
    };
    match entry {
        Json::Null => size >= 1 && of_model(&mut is_named),
        Json::Number(number) => Some(size) == number.as_i64(),
        Json::String(_) => size >= 1 && of_model(&mut is_named),
        fields if fields.get("dim").is_some() => {
            within(fields, size, 1) && is_named(fields["dim"].as_str().unwrap_or_default().to_owned(), size)
        }
        fields if fields.get("derived").is_some() => {
            let (factor, offset) = if fields["derived"] == "2*h" { (2, 0) } else { (3, 1) };
            let root = (size - offset) / factor;
            factor * root + offset == size
                && within(&fields["root"], root, 1)
                && is_named(fields["root"]["dim"].as_str().unwrap_or_default().to_owned(), root)
        }
        // DYNAMIC: also where the model declares a number.
        fields => within(fields, size, 1) && (declared.parse::<i64>().is_ok() || of_model(&mut is_named)),
    }
}

/// Whether an entry leaves a dimension of this declared size as the model declares it.
fn is_as_declared(entry: &Json, declared: &str) -> bool {
    let is_number = declared.parse::<i64>().is_ok();
    match entry {
        Json::Null | Json::String(_) => true,
        Json::Number(_) => is_number,
        fields => fields.get("hint").is_some() && !is_number,
    }
}

/// Whether a spec allows sizes of both inputs.
fn allowed(spec: &Json, declared: &[[String; 2]; 2], sizes: [[i64; 2]; 2]) -> bool {
    let places = || (0..2).flat_map(|at| (0..2).map(move |dim| (at, dim)));
    let entry = |at: usize, dim: usize| &spec[["x", "y"][at]][dim];
    let mut named = Named::default();
    places().all(|(at, dim)| {
        let (name, size) = (&declared[at][dim], sizes[at][dim]);
        // A name of the model for which the spec has one size is that size.
        let others = places().filter(|&(a, d)| declared[a][d] == *name && !is_as_declared(entry(a, d), name));
        let others: Vec<(usize, usize)> = others.collect();
        if let [(a, d), rest @ ..] = others.as_slice()
            && name != "?"
            && name.parse::<i64>().is_err()
            && is_as_declared(entry(at, dim), name)
            && rest.iter().all(|&(b, e)| entry(b, e) == entry(*a, *d))
        {
            let fields = entry(at, dim);
            let least = fields["min"].as_i64().unwrap_or(i64::from(!fields.is_null()));
            return size == sizes[*a][*d]
                && size >= least
                && fields["max"].as_i64().is_none_or(|max| size <= max);
        }
        let place = format!("{at} {dim}");
        // A name that the spec has, too, is in the range that the spec gives it.
        let is_of_spec = spec.to_string().contains(&format!("\"dim\":\"{name}\""));
        if entry(at, dim).is_null() && is_of_spec {
            return *named.entry(name.clone()).or_insert(size) == size;
        }
        allows(entry(at, dim), name, size, &mut named, &place)
    })
}

/// The sizes that a model's text declares.
fn declared(text: &str) -> [[String; 2]; 2] {
    let of = |input: &str| {
        let end = text.find(&format!("] {input}")).expect("the input");
        let start = text[..end].rfind('[').expect("its sizes");
        let mut sizes = text[start + 1..end].split(", ").map(str::to_owned);
        [sizes.next().expect("a size"), sizes.next().expect("a size")]
    };
    [of("x"), of("y")]
}

fn given(sizes: [[i64; 2]; 2]) -> FxHashMap<String, Vec<i64>> {
    ["x", "y"].into_iter().zip(sizes).map(|(name, sizes)| (name.to_owned(), sizes.to_vec())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Under a spec that is ok the model refuses nothing that the spec allows; the inputs of a violation are allowed and
    /// refused; a fix is ok.
    #[test]
    fn a_spec_that_is_ok_allows_no_sizes_that_a_model_refuses(seed in 1u64..) {
        let mut draw = Draw(seed);
        let (model, text) = model(&mut draw);
        let json = spec(&mut draw);
        let parsed = Spec::parse(json.to_string().as_bytes()).expect("a spec");
        let found = report(&model, "m", &[], Some(&parsed), &Budget::default());
        let declared = declared(&text);
        for violation in found.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
            let inputs = violation.inputs.as_ref().expect("inputs");
            let sizes = ["x", "y"].map(|input| [0, 1].map(|dim| inputs[input][dim].as_i64().expect("a size")));
            prop_assert!(allowed(&json, &declared, sizes), "{text}\n{json}\n{sizes:?} is not allowed");
            prop_assert!(evaluate(&model, &given(sizes), &FxHashMap::default()).is_err(), "{text}\n{json}\n{sizes:?}");
            // What is said to work does, and the spec allows it.
            let Some(works) = &violation.works else { continue };
            let sizes = ["x", "y"].map(|input| [0, 1].map(|dim| works[input][dim].as_i64().expect("a size")));
            prop_assert!(allowed(&json, &declared, sizes), "{text}\n{json}\n{sizes:?} is not allowed");
            let refused = evaluate(&model, &given(sizes), &FxHashMap::default()).err();
            prop_assert!(refused.is_none(), "{text}\n{json}\n{sizes:?}: {refused:?}");
        }
        if found.verdict == Outcome::Ok {
            for _ in 0..400 {
                let mut size = || draw.below(14) as i64;
                let sizes = [[size(), size()], [size(), size()]];
                if allowed(&json, &declared, sizes) {
                    let refused = evaluate(&model, &given(sizes), &FxHashMap::default()).err();
                    prop_assert!(refused.is_none(), "{text}\n{json}\n{sizes:?}: {refused:?}");
                }
            }
        }
        // What is undecided before a fix may stay so.
        let open = found.guards.iter().any(|guard| guard.verdict == GuardVerdict::Unknown);
        for fix in found.fixes.iter().filter_map(|fix| fix.spec.as_ref()) {
            let outcome = verdict(&model, fix);
            let fits = outcome == Some(Outcome::Ok) || open && outcome == Some(Outcome::Unknown);
            prop_assert!(fits, "{text}\n{json}\n{fix}: {outcome:?}");
        }
    }

    /// What `spec widen` finds is ok, and the declared sizes as a spec come to the verdict of the declaration, where the
    /// model calls no size by a name that is none in Python.
    #[test]
    fn the_widest_spec_is_ok(seed in 1u64..) {
        let mut draw = Draw(seed);
        let (model, text) = model(&mut draw);
        if let Some(spec) = widen(&model, &Budget::default()) {
            let spec = spec.to_json();
            prop_assert_eq!(verdict(&model, &spec), Some(Outcome::Ok), "{}\n{}", text, spec);
        }
        let alone = report(&model, "m", &[], None, &Budget::default()).verdict;
        prop_assert_eq!(verdict(&model, &declared_spec(&model).to_json()), Some(alone), "{}", text);
    }
}

/// The verdict under a spec, if it fits.
fn verdict(model: &Model, spec: &Json) -> Option<Outcome> {
    let parsed = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    let found = report(model, "m", &[], Some(&parsed), &Budget::default()).verdict;
    (found != Outcome::Invalid).then_some(found)
}

/// An input of a spec that the model does not have is refused.
#[test]
fn a_spec_of_other_inputs_does_not_fit() {
    let model = model(&mut Draw(1)).0;
    let mut spec = Map::new();
    spec.insert("z".to_owned(), json!([null, null]));
    assert_eq!(verdict(&model, &spec.into()), None);
}
