//! Statements about shape functions: a call, and the values and guards that it gives.
//!
//! A call is `OP-VERSION` or `DOMAIN::OP-VERSION`, attributes as `name=value` (lists are `name=1,2`), and inputs as
//! `f32[s0,3]`, with elements behind an equals sign (two for an initializer), or `-` for one that is left out; `outs=2` asks for two
//! outputs. The symbols have the hints 4, 6, 8 and so on.
use super::*;
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::text::{print, read};
use sizewise_expr::{Expr, Int, Pool, Value as Number};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

fn expression(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).expect(text).expr
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|item| !item.is_empty())
}

fn tensor(pool: &mut Pool, text: &str) -> Tensor {
    let (dtype, rest) = text.split_once('[').expect(text);
    let (sizes, items) = rest.split_once(']').expect(text);
    let dtype = Dtype::from_name(dtype).expect(text);
    let tensor = Tensor::new(dtype, list(sizes).map(|size| expression(pool, size)).collect());
    let Some(items) = items.strip_prefix('=') else { return tensor.of_call(false) };
    let (items, constant) = items.strip_prefix('=').map_or((items, false), |items| (items, true));
    let items = list(items).map(|item| match dtype {
        Dtype::Bool => Element::Bool(pool.bool(item == "true")),
        Dtype::Str => Element::Text(Arc::from(item)),
        dtype if dtype.is_integer() => Element::Int(expression(pool, item)),
        _ => Element::Float(item.parse().expect(item)),
    });
    let items: Vec<_> = items.collect();
    tensor.with(items).of_call(constant)
}

fn attribute(text: &str) -> (&str, Attribute) {
    let (name, value) = text.split_once('=').expect(text);
    let value = match value.parse() {
        _ if value == "graph" => Attribute::Other('g'),
        Ok(value) => Attribute::Int(value),
        Err(_) if value.contains(',') && !value.starts_with(|c: char| c.is_alphabetic()) => {
            Attribute::Ints(list(value).map(|item| item.parse().expect(item)).collect())
        }
        Err(_) => Attribute::Text(value.to_owned()),
    };
    (name, value)
}

fn shown(pool: &Pool, value: &Tensor) -> String {
    let expressions = |list: &[Expr]| -> String {
        list.iter().map(|&e| print::expression(pool, e).replace(' ', "")).collect::<Vec<_>>().join(",")
    };
    let sizes = value.shape.as_deref().map_or_else(|| "?".to_owned(), expressions);
    let elements = match &value.elements {
        Some(Elements::List(list)) => {
            let items = list.iter().map(|element| match element {
                Element::Int(e) | Element::Bool(e) => print::expression(pool, *e).replace(' ', ""),
                Element::Float(value) => value.to_string(),
                Element::Quotient(e, divisor) => {
                    format!("{}/{divisor}.0", print::expression(pool, *e).replace(' ', ""))
                }
                Element::Text(text) => text.to_string(),
                Element::Open => "?".to_owned(),
            });
            format!("={}", items.collect::<Vec<_>>().join(","))
        }
        _ => String::new(),
    };
    format!("{}[{sizes}]{elements}", value.dtype.name())
}

/// What a call gives: its values, and behind `if` the guards; or the clause that refuses it.
pub(super) fn outcome(text: &str, mut outputs: usize) -> String {
    let mut env = ShapeEnv::new();
    for at in 0..6 {
        let hint = Some(Number::Int((4 + 2 * at).into()));
        env.declare(&format!("s{at}"), ValueRange::at_least(Int::ZERO), SymbolInfo { hint, source: None });
    }
    let mut words = text.split_whitespace();
    let (op, version) = words.next().and_then(|name| name.rsplit_once('-')).expect(text);
    let (mut attributes, mut inputs) = (Vec::new(), Vec::new());
    for word in words {
        match word.find(['=', '[']) {
            Some(4) if word.starts_with("outs=") => outputs = word[5..].parse().expect(word),
            None => inputs.push(None),
            Some(at) if word[at..].starts_with('=') => attributes.push(attribute(word)),
            Some(_) => inputs.push(Some(Value::from(tensor(&mut env.pool, word)))),
        }
    }
    let version = version.parse().expect(version);
    let (domain, op) = op.split_once("::").unwrap_or(("", op));
    let inputs: Vec<Option<&Value>> = inputs.iter().map(Option::as_ref).collect();
    let (inputs, outputs) = (inputs.as_slice(), vec![true; outputs]);
    let (attributes, outputs) = (attributes.as_slice(), outputs.as_slice());
    let call = Call {
        domain,
        op,
        version,
        attributes,
        inputs,
        outputs,
        is_run: true,
        found_at_load: &|_, _| Known::No,
        doubts: &RefCell::default(),
    };
    match infer(&mut Cx::new(&mut env), &call) {
        Err(KernelError::Invalid { clause, .. }) => format!("refused: {}", clause.name()),
        Err(KernelError::Unsupported(_)) => "unsupported".to_owned(),
        Err(KernelError::DataDependent { .. }) => "open".to_owned(),
        Ok(values) => {
            let values = values.iter().map(|value| match value {
                Some(Value::Tensor(tensor)) => shown(&env.pool, tensor),
                other => format!("{other:?}"),
            });
            let mut text = values.collect::<Vec<_>>().join(" ");
            let guards = env.guards().iter().map(|guard| print::expression(&env.pool, guard.condition));
            let guards: Vec<String> = guards.collect();
            if !guards.is_empty() {
                text = format!("{text} if {}", guards.join(" and "));
            }
            text
        }
    }
}

pub(super) fn expect(cases: &[(&str, &str)]) {
    for (call, expected) in cases {
        let pair = call.starts_with("Split-") || call.starts_with("TopK-");
        assert_eq!(&outcome(call, if pair { 2 } else { 1 }), expected, "{call}");
    }
}

#[test]
fn shapes_meet_by_broadcasting() {
    expect(&[
        ("Add-13 f32[s0,3] f32[3]", "f32[s0,3]"),
        ("Add-13 f32[s0] f32[s1]", "refused: Broadcast.C1"),
        ("Mul-13 f32[s0,1] f32[1,s1]", "f32[s0,s1]"),
        ("Equal-13 f32[2,3] i64[3]", "refused: schema.S2"),
        ("Sum-8 f32[2,1] f32[3] f32[]", "f32[2,3]"),
        ("Sum-7 f32[2,1] f32[3]", "refused: Broadcast.C2"),
        ("Clip-13 f32[s0] f32[1] f32[]", "f32[s0]"),
        ("Clip-13 f32[s0] f32[2]", "refused: Clip.C1"),
        ("Div-14 i64[2] i64[1]=0", "refused: Div.C3"),
        ("Div-14 i64[2] i64[1]=s0", "i64[2] if Ne(s0, 0)"),
        ("Where-16 bool[s0,1] f32[s1] f32[]", "f32[s0,s1]"),
    ]);
}

#[test]
fn elements_that_compute_shapes_are_followed() {
    expect(&[
        ("Shape-15 start=1 f32[s0,s1,3]", "i64[2]=s1,3"),
        ("Size-13 f32[s0,3]", "i64[]=3*s0"),
        ("Gather-13 i64[3]=s0,s1,3 i64[]=-1", "i64[]=3"),
        ("Slice-13 i64[3]=s0,s1,3 i64[1]=0 i64[1]=2", "i64[2]=s0,s1"),
        ("Slice-13 f32[s0] i64[1]=0 i64[1]=9223372036854775807", "f32[s0]"),
        ("Slice-13 f32[] i64[0]= i64[0]=", "refused: Slice.C4"),
        // With a negative step, an end of INT_MAX (32 or 64 bits) takes the first element too.
        ("Slice-13 f32[3] i64[1]=0 i64[1]=2147483647 i64[1]=0 i64[1]=-1", "f32[1]"),
        ("Slice-13 f32[3] i64[1]=-1 i64[1]=9223372036854775807 i64[1]=0 i64[1]=-1", "f32[3]"),
        ("Slice-13 f32[3] i64[1]=-1 i64[1]=2147483646 i64[1]=0 i64[1]=-1", "f32[0]"),
        ("Slice-13 i64[2,2]=1,2,3,4 i64[1]=-1 i64[1]=-3 i64[1]=0 i64[1]=-1", "i64[2,2]=3,4,1,2"),
        ("Concat-13 axis=0 i64[1]=s0 i64[1]=-1", "i64[2]=s0,-1"),
        ("Concat-13 axis=0 i64[1]=s0 i64[1]", "i64[2]=s0,?"),
        ("Concat-13 axis=1 i64[2,1]=1,2 i64[2,1]=3,4", "i64[2,2]=1,3,2,4"),
        ("Div-14 i64[1]=s0 i64[1]=2", "i64[1]=(s0//2)"),
        ("Mod-13 i64[1]=s0 i64[1]=2", "i64[1]=Mod(s0,2)"),
        ("Cast-13 to=6 i64[1]=s0", "i32[1]=s0"),
        ("Cast-13 to=3 i64[1]=300", "i8[1]=44"),
        // A power of floats is followed where it is the same however it is computed.
        ("Pow-13 f32[]=4.0 f32[]=0.5", "f32[]=2"),
        ("Pow-13 f32[]=3.0 f32[]=0.5", "f32[]=?"),
        ("Equal-13 i64[1]=-1 i64[1]=-1", "bool[1]=True"),
        ("Where-16 bool[2]=true,false i64[2]=s0,s1 i64[2]=1,2", "i64[2]=s0,2"),
        ("ReduceProd-18 keepdims=0 i64[2]=s0,s1", "i64[]=s0*s1"),
        ("ReduceMax-18 keepdims=0 i64[2,2]=1,2,4,3 i64[1]=1", "i64[2]=2,4"),
        ("CumSum-14 i64[3]=1,s0,2 i64[]=0", "i64[3]=1,s0+1,s0+3"),
        ("Range-11 i64[]=0 i64[]=3 i64[]=1", "i64[3]=0,1,2"),
        ("Range-11 i64[]=0 i64[]=s0 i64[]=2", "i64[-((-s0)//2)]"),
        ("Transpose-13 i64[2,3]=1,2,3,4,5,6", "i64[3,2]=1,4,2,5,3,6"),
        ("Tile-13 i64[2]=1,2 i64[1]=2", "i64[4]=1,2,1,2"),
        ("Expand-13 i64[2,1]=1,2 i64[2]=2,2", "i64[2,2]=1,1,2,2"),
        ("ScatterElements-18 i64[3]=1,2,3 i64[1]=1 i64[1]=s0", "i64[3]=1,s0,3"),
        ("ScatterND-18 i64[3]=1,2,3 i64[1,1]=2 i64[1]=s0", "i64[3]=1,2,s0"),
        ("GatherElements-13 i64[3]=1,2,3 i64[2]=2,0", "i64[2]=3,1"),
        ("NonZero-13 i64[3]=1,0,2", "i64[1,2]=0,2"),
        ("Pad-13 i64[2]=1,2 i64[2]=1,0 i64[]=7", "i64[3]=7,1,2"),
        ("Split-13 i64[2]=s0,s1", "i64[1]=s0 i64[1]=s1"),
    ]);
}

#[test]
fn arrangements_say_what_they_need() {
    expect(&[
        ("Reshape-14 f32[s0,3] i64[2]=0,-1", "f32[s0,3] if Ne(s0, 0)"),
        ("Reshape-14 allowzero=1 f32[s0,6] i64[3]=s0,-1,2", "f32[s0,3,2]"),
        ("Reshape-14 allowzero=1 f32[0,6] i64[3]=0,-1,2", "f32[0,3,2]"),
        ("Reshape-14 allowzero=1 f32[0,3] i64[2]=-1,4", "f32[0,4]"),
        ("Reshape-14 f32[2,3] i64[2]=4,-1", "refused: Reshape.C4"),
        ("Reshape-14 f32[4,0] i64[2]=-1,0", "refused: Reshape.C4"),
        ("Flatten-13 axis=2 f32[s0,s1,5]", "f32[s0*s1,5]"),
        ("Squeeze-13 f32[1,s0] i64[1]=0", "f32[s0]"),
        ("Squeeze-13 f32[1,s0] i64[]=0", "refused: Axes.C1"),
        ("Unsqueeze-13 f32[s0] i64[2]=0,-1", "f32[1,s0,1]"),
        ("Unsqueeze-13 f32[s0] i64[2]=0,-3", "refused: Unsqueeze.C1"),
        ("Concat-13 axis=1 f32[s0,2] f32[s0,s1]", "f32[s0,s1+2]"),
        ("Concat-13 axis=1 f32[2,2] f32[3,2]", "refused: Concat.C2"),
        ("Concat-13 axis=1 f32[1,0] f32[0,6]", "f32[1,6]"),
        (
            "Resize-18 axes=-1,2 keep_aspect_ratio_policy=not_larger f32[1,1,2,2] - - i64[2]==7,9",
            "f32[1,1,9,2]",
        ),
        (
            "Resize-18 axes=3,2 keep_aspect_ratio_policy=not_larger f32[1,1,2,2] - - i64[2]==7,9",
            "f32[1,1,7,7]",
        ),
        ("Split-18 num_outputs=2 f32[7]", "f32[4] f32[3]"),
        ("Split-18 num_outputs=2 f32[1]", "refused: Split.C3"),
        ("Split-13 f32[s0]", "f32[(s0//2)] f32[(s0//2)] if Eq(Mod(s0, 2), 0)"),
        ("DepthToSpace-13 blocksize=2 f32[s0,8,s1,s2]", "f32[s0,2,2*s1,2*s2]"),
        ("Pad-13 mode=reflect f32[3] i64[2]=3,0", "refused: Pad.C4"),
        // `reflect` needs an element after negative pads, also where nothing is added.
        ("Pad-13 mode=reflect f32[1] i64[2]=-1,0", "refused: Pad.C4"),
        ("Pad-13 mode=reflect f32[1,3] i64[4]=0,-1,0,-2", "refused: Pad.C4"),
        ("Pad-13 mode=edge f32[1] i64[2]=-1,0", "refused: Pad.C4"),
        ("Pad-13 mode=constant f32[1] i64[2]=-1,0", "f32[0]"),
        // An empty dimension has to stay empty.
        ("Pad-13 mode=reflect f32[0,3] i64[4]=2,2,-2,-2", "f32[0,3]"),
        ("Pad-13 mode=edge f32[2,0] i64[4]=0,2,0,-1", "refused: Pad.C4"),
        ("Expand-13 f32[s0,1] i64[2]=1,5", "f32[s0,5]"),
        ("ConstantOfShape-9 i64[2]=s0,-1", "refused: ConstantOfShape.C2"),
    ]);
}

#[test]
fn products_contract_sizes_that_agree() {
    expect(&[
        ("SwiGLU-28 f32[s0,3] f32[s0,3]", "f32[s0,3]"),
        ("SwiGLU-28 f32[0,3] f32[0,3]", "f32[0,3]"),
        ("SwiGLU-28 f32[2,3] f32[2,1]", "refused: SwiGLU.C1"),
        ("MatMul-13 f32[s0,3] f32[3,s1]", "f32[s0,s1]"),
        ("MatMul-13 f32[2,s0,3] f32[3]", "f32[2,s0] if s0 >= 1"),
        ("MatMul-13 f32[s0,3] f32[4,s1]", "refused: MatMul.C2"),
        ("Gemm-13 transB=1 f32[s0,3] f32[s1,3] f32[s1]", "f32[s0,s1]"),
        ("Gemm-13 f32[s0] f32[s1,3]", "refused: Gemm.C1"),
        ("Einsum-12 equation=bij,bjk->bik f32[2,s0,3] f32[2,3,s1]", "f32[2,s0,s1]"),
        ("Einsum-12 equation=ii->i f32[3,1]", "refused: Einsum.C6"),
        ("Einsum-12 equation=...i->i f32[2,3]", "refused: Einsum.C4"),
    ]);
}

#[test]
fn indices_lie_in_their_dimension() {
    expect(&[
        ("Gather-13 f32[s0,3] i64[2]=0,5", "refused: Gather.C2"),
        ("Gather-13 f32[s1,3] i64[2]=0,5", "f32[2,3] if s1 >= 6"),
        ("GatherND-12 f32[s0,3] i64[s1,2]", "f32[s1]"),
        ("GatherND-12 f32[3] i64[2,2]", "refused: GatherND.C2"),
        ("TopK-11 f32[3,s0] i64[1]=5", "refused: TopK.C3"),
        ("OneHot-11 i64[s0] i64[]=5 f32[2]", "f32[s0,5]"),
        ("Compress-11 axis=0 f32[s0,3] bool[3]=true,false,true", "f32[u0,3]"),
        ("ReverseSequence-10 f32[2,3] i64[3]=1,2,3", "refused: ReverseSequence.C3"),
    ]);
}

#[test]
fn reductions_follow_the_version() {
    expect(&[
        ("ReduceSum-13 f32[s0,s1] i64[1]=1", "f32[s0,1]"),
        ("ReduceSum-11 axes=0,1 keepdims=0 f32[s0,s1]", "f32[]"),
        ("ReduceSum-13 noop_with_empty_axes=1 f32[s0,s1]", "f32[s0,s1]"),
        ("ReduceMean-11 axes=0,4 f32[s0,s1]", "refused: Reduce.C1"),
        ("ArgMax-13 axis=0 keepdims=0 f32[s0,s1]", "i64[s1] if Ne(s0, 0) | Eq(s1, 0)"),
        ("Softmax-13 axis=2 f32[s0,s1]", "refused: Softmax.C1"),
    ]);
}

#[test]
fn schemas_are_kept() {
    expect(&[
        ("Add-13 f32[2]", "refused: schema.S1"),
        ("Relu-13 bool[2]", "refused: schema.S2"),
        ("Relu-13 slope=1 f32[2]", "refused: schema.S3"),
        ("Concat-13 f32[2]", "refused: schema.S3"),
        ("Einsum-7 equation=i->i f32[2]", "refused: schema.S0"),
        ("NoSuchOperator-13 f32[2]", "unsupported"),
        // onnxruntime's CPU provider has kernels for some types, and casts halves.
        ("Conv-11 f64[1,3,8] f64[4,3,3]", "refused: schema.S4"),
        ("Conv-11 f16[1,3,8] f16[4,3,3]", "f16[1,4,6]"),
        ("Conv-22 bf16[1,3,8] bf16[4,3,3]", "refused: schema.S4"),
        ("Relu-13 bf16[2]", "refused: schema.S4"),
        ("RoiAlign-22 f32[1,1,4,4] f32[1,4] i64[1]=0", "refused: schema.S4"),
        ("Mish-22 bf16[2]", "refused: schema.S4"),
    ]);
    let names: Vec<_> = operators().collect();
    assert!(names.iter().all(|(domain, op)| is_known(domain, op)));
}

#[test]
fn what_is_not_surely_known_at_load_is_not_surely_unknown() {
    use Known::{Maybe, No, Yes};
    for (a, b, both) in
        [(Yes, Yes, Yes), (Yes, Maybe, Maybe), (Maybe, Maybe, Maybe), (Maybe, No, No), (Yes, No, No)]
    {
        assert_eq!((a.and(b), b.and(a)), (both, both), "{a:?} {b:?}");
    }
    assert_eq!([!Yes, !No, !Maybe], [No, Yes, Maybe]);
    let known = AtLoad::RANKED.with_size(1, Yes).with_size(2, No);
    assert_eq!([0, 1, 2, 31].map(|dim| known.size(dim)), [Maybe, Yes, No, Maybe]);
    assert_eq!(known.with_size(1, Maybe).with_size(2, Yes).size(2), Yes);
    // Of more dimensions than there are bits nothing is said.
    for of_all in [AtLoad::SIZED, AtLoad::UNRANKED, AtLoad::IN_FILE.with_size(32, Yes)] {
        assert_eq!((of_all.size(32), of_all.size(usize::MAX)), (Maybe, Maybe));
    }
    assert_eq!(known.without_sizes(), AtLoad::RANKED.without_sizes());
    assert_eq!(AtLoad::default().rank, Maybe);
}

/// The operators that a walk carries out itself, or that stand for an initializer.
const WALKED: &[&str] = &["Constant", "If", "Loop", "Scan", "SequenceMap"];

/// The lines of a source file that are no tests and no comments.
fn code(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a file");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

#[test]
fn what_is_known_of_an_operator_stands_beside_its_shape_function() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open: Vec<_> =
        ["walk", "read", "shape", "../../onnx/src/check"].iter().map(|folder| source.join(folder)).collect();
    let (mut found, mut files) = (Vec::new(), 0);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let within =
                std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path());
            open.extend(within.filter(|path| !path.ends_with("shape/kernels")));
        } else if !path.to_string_lossy().ends_with("tests.rs") && !path.ends_with("check/names.rs") {
            files += 1;
            for line in code(&path) {
                let texts = line.split('"').skip(1).step_by(2);
                let named = |text: &&str| !WALKED.contains(text) && operators().any(|(_, op)| op == *text);
                found.extend(texts.filter(named).map(|op| format!("{}: {op}", path.display())));
            }
        }
    }
    // `check/names.rs` has the functions of expressions, of which some have names of operators.
    assert!(files > 50 && found.is_empty(), "{files} files, {found:?}");
}
