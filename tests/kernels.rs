//! Tables of operator calls and what they return, one file a family in `tests/kernels/`.
//!
//! A line is `operator(arguments) -> results`, in the notation that `notation.rs` describes; lines that begin with
//! `#` say what the lines below them show.
pub(crate) mod notation;

use crate::command;
use sizewise::env::ShapeEnv;
use sizewise::expr::text::print;
use sizewise::ir::schema::SchemaTable;
use sizewise::kernels::{Backend, Cx, KernelError, Registry, bind};
use std::fs;
use std::path::Path;

/// What a call gives on a backend, in the notation of the tables.
fn outcome(call: &str, backend: Backend) -> Result<String, String> {
    let mut env = ShapeEnv::new();
    let call = notation::read_call(&mut env, call)?;
    let schema = SchemaTable::global().get(call.op).ok_or_else(|| format!("no operator `{}`", call.op))?;
    let Some(kernel) = Registry::builtin().resolve(call.op) else { return Ok("unsupported".into()) };
    let args = match bind(&mut env.pool, schema, call.positional, call.keywords) {
        Ok(args) => args,
        Err(error) => return Ok(format!("invalid ({error})")),
    };
    let result = kernel.call(&mut Cx::on(&mut env, backend), &args);
    Ok(match result {
        Ok(values) => {
            let mut text = notation::print_results(&mut env, &values);
            let guards: Vec<String> =
                env.guards().iter().map(|g| print::expression(&env.pool, g.condition)).collect();
            if !guards.is_empty() {
                text.push_str(" if ");
                text.push_str(&guards.join(" and "));
            }
            text
        }
        Err(KernelError::Invalid { clause, message, .. }) => format!("invalid {clause} ({message})"),
        Err(KernelError::Unsupported(_)) => "unsupported".into(),
        Err(KernelError::DataDependent { message, .. }) => format!("data-dependent ({message})"),
    })
}

/// Whether an outcome is what a line states: an error may leave out its clause, and never states the message.
fn agrees(stated: &str, outcome: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let bare = outcome.split(" (").next().unwrap_or_default();
    match stated {
        "invalid" | "data-dependent" => bare.starts_with(stated),
        _ if stated.starts_with("invalid") => bare == stated,
        _ => squeeze(stated) == squeeze(outcome),
    }
}

#[test]
fn every_call_gives_what_its_line_states() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the tables")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    let (mut lines, mut wrong) = (0, Vec::new());
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a table");
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            lines += 1;
            let place = format!("{name}:{}: {line}", number + 1);
            let Some((call, stated)) = line.split_once(" -> ") else {
                wrong.push(format!("{place}\n    is no `call -> results`"));
                continue;
            };
            match outcome(call, Backend::Cpu) {
                Ok(outcome) if agrees(stated.trim(), &outcome) => {}
                Ok(outcome) => wrong.push(format!("{place}\n    gives {outcome}")),
                Err(error) => wrong.push(format!("{place}\n    cannot be read: {error}")),
            }
        }
    }
    assert!(lines > 0, "there are tables");
    assert!(wrong.is_empty(), "{} of {lines} lines are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_wrong_line_is_seen() {
    let given = outcome("aten.relu.default(f32[2,3])", Backend::Cpu).expect("a call");
    assert_eq!(given, "f32[2, 3]");
    for stated in
        ["f32[3,2]", "f64[2,3]", "f32[2,3](1,2)", "f32[2,3], f32[2]", "invalid", "none", "unsupported"]
    {
        assert!(!agrees(stated, &given), "{stated}");
    }
    let refused = outcome("aten.mm.default(f32[2,3], f32[2,3])", Backend::Cpu).expect("a call");
    assert!(
        agrees("invalid", &refused) && !agrees("invalid no.C9", &refused) && !agrees("f32[2,3]", &refused)
    );
}

/// Calls of which backends ask for different things: what they give on the CPU, with CUDA, and on any backend.
const BACKENDS: &[(&str, [&str; 3])] = &[
    // The laws of shapes hold everywhere.
    ("aten.mm.default(f32[2,3], f32[4,5])", ["invalid mm.C2"; 3]),
    ("aten.conv2d.default(f32[1,4,2,2], f32[5,4,3,3])", ["invalid convolution.C6"; 3]),
    ("aten.conv2d.default(f32[n:2,4,8,8], f32[5,4,3,3])", ["f32[n,5,6,6]"; 3]),
    // Which dtypes a kernel is compiled for depends on the backend.
    ("aten.ceil.default(c64[2])", ["invalid", "c64[2]", "c64[2]"]),
    ("aten.topk.default(c64[4], 2)", ["invalid topk.C3", "c64[2], i64[2]", "c64[2], i64[2]"]),
    ("aten.mm.default(b8[2,3], b8[3,4])", ["invalid mm.C3", "b8[2,4]", "b8[2,4]"]),
    ("aten.avg_pool3d.default(f16[1,4,4,4], [2])", ["invalid pool.C6", "f16[1,2,2,2]", "f16[1,2,2,2]"]),
    (
        "aten.upsample_nearest2d.default(i64[1,1,2,2], [4,4])",
        ["invalid upsample.C5", "i64[1,1,4,4]", "i64[1,1,4,4]"],
    ),
    ("aten.cdist.default(f16[n:4,3], f16[5,3], 1.0)", ["invalid cdist.C4", "f16[n,5]", "f16[n,5]"]),
    ("aten.pdist.default(f16[4,3])", ["invalid pdist.C2", "f16[6]", "f16[6]"]),
    ("aten.conv2d.default(c64[1,5,5,5], c64[3,5,3,3])", ["c64[1,3,3,3]"; 3]),
    (
        "aten.conv3d.default(i32[1,1,4,4,4], i32[1,1,2,2,2], None, [1], [0], [2])",
        ["invalid convolution.C9", "i32[1,1,2,2,2]", "i32[1,1,2,2,2]"],
    ),
    // oneDNN alone takes a dilation of 0, and alone refuses a bias of another dtype.
    (
        "aten.conv_transpose2d.input(f32[2,4,7,8], f32[4,2,1,1], f32[8], [1,1], [0,0], [0,0], 4, [0,1])",
        ["f32[2,8,7,8]", "invalid convolution.C2", "invalid convolution.C2"],
    ),
    (
        "aten.convolution.default(f32[2,4,7,8], f32[4,4,1,1], f64[4], [1,1], [0,0], [1,1], False, [0,0], 1)",
        ["invalid convolution.C9", "f32[2,4,7,8]", "f32[2,4,7,8]"],
    ),
    (
        "aten.convolution.default(f32[n:1,4,m:7,8], f32[4,4,1,1], f64[4], [1,1], [0,0], [1,1], False, [0,0], 1)",
        [
            "f32[n,4,m,8] if m >= 1 and (m*n <= 640) & (n <= 1)",
            "f32[n,4,m,8] if m >= 1",
            "f32[n,4,m,8] if m >= 1",
        ],
    ),
    // In 3 spatial dimensions oneDNN and cuDNN keep channels last, the CPU's own kernels do not.
    // In float64 cuDNN never does.
    (
        "aten.conv3d.default(f32[1,2,2,2,2](16,1,8,4,2), f32[3,2,1,1,1])",
        ["f32[1,3,2,2,2]", "f32[1,3,2,2,2](24,1,12,6,3)", "f32[1,3,2,2,2](24,1,12,6,3)"],
    ),
    ("aten.conv3d.default(f32[2,2,2,2,2](16,1,8,4,2), f32[3,2,1,1,1])", ["f32[2,3,2,2,2](24,1,12,6,3)"; 3]),
    (
        "aten.conv2d.default(f64[2,2,2,2](8,1,4,2), f64[3,2,1,1])",
        ["f64[2,3,2,2](12,1,6,3)", "f64[2,3,2,2]", "f64[2,3,2,2](12,1,6,3)"],
    ),
    // oneDNN takes states and weights of an LSTM on trust.
    (
        "aten.lstm.input(f32[5,3,10], {f32[1,3,20], f32[1,3,20]}, {f32[80,11], f32[80,20]}, \
         False, 1, 0.0, False, False, False)",
        ["f32[5,3,20], f32[1,3,20], f32[1,3,20]", "invalid", "invalid"],
    ),
    // Attention: only the CPU's fused kernel minds a negative dropout; key and value have one length everywhere.
    (
        "aten.scaled_dot_product_attention.default(f32[2,4,8,16], f32[2,4,8,16], f32[2,4,8,16], None, -0.5)",
        ["invalid sdpa.C7", "f32[2,4,8,16]", "f32[2,4,8,16]"],
    ),
    (
        "aten.scaled_dot_product_attention.default(f32[2,4,8,16], f32[2,4,8,16], f32[2,4,7,16])",
        ["invalid sdpa.C4"; 3],
    ),
    // Linear algebra: the CPU always pivots, and chooses the driver.
    (
        "aten.linalg_lu_factor.default(f32[3,3], pivot=False)",
        ["invalid lu.C3", "f32[3,3](1,3), i32[3]", "f32[3,3](1,3), i32[3]"],
    ),
    // Softmax in half precision.
    ("aten._softmax.default(f16[2,3], 1, True)", ["invalid softmax.C3", "f32[2,3]", "f32[2,3]"]),
    ("aten._softmax.default(f64[2,3], 1, True)", ["invalid softmax.C3"; 3]),
    (
        "aten._softmax_backward_data.default(f32[2,3], f32[2,3], 1, f16)",
        ["invalid softmax_backward.C3", "f16[2,3]", "f16[2,3]"],
    ),
    // An empty tensor is copied as it is by the CPU.
    ("aten.pixel_unshuffle.default(f32[0,4,4], 2)", ["f32[0,4,4]", "f32[0,2,2]", "f32[0,2,2]"]),
    // Operators that the CPU has no kernel for.
    (
        "aten.cudnn_grid_sampler.default(f32[1,1,2,2], f32[1,2,2,2])",
        ["invalid other_devices.C1", "unsupported", "unsupported"],
    ),
    ("aten.cudnn_is_acceptable.default(f32[2])", ["False", "unsupported", "unsupported"]),
];

#[test]
fn each_backend_requires_its_own_conditions() {
    let mut wrong = Vec::new();
    for (call, stated) in BACKENDS {
        for (stated, (name, backend)) in stated.iter().zip(Backend::ALL) {
            let outcome = outcome(call, backend);
            if !outcome.as_ref().is_ok_and(|outcome| agrees(stated, outcome)) {
                wrong.push(format!("{call} on {name} is stated to give {stated}, gives {outcome:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The dtypes that [`DTYPES`] speaks of.
const EVERY_DTYPE: &str = "b8 u8 i32 i64 f16 bf16 f32 f64 c64 c128";

/// Calls with `?` for a dtype: which dtypes the CPU accepts, and which the definition does. The latter are those that
/// the CPU accepts or that torch 2.15 accepts for tensors of the device `meta`, which have no kernels.
const DTYPES: &[(&str, &str, &str)] = &[
    // The definition takes what the CPU computes in.
    ("aten._is_all_true.default(?[2])", "b8", "b8"),
    ("aten.embedding_bag.default(?[5,3], i64[4], i64[2])", "f16 bf16 f32 f64", "f16 bf16 f32 f64"),
    ("aten.exponential.default(?[3])", "f16 bf16 f32 f64", "f16 bf16 f32 f64"),
    ("aten.geometric.default(?[3], 0.5)", "u8 i32 i64 f16 bf16 f32 f64", "u8 i32 i64 f16 bf16 f32 f64"),
    ("aten.isin.Tensor_Tensor(?[3], ?[2])", "u8 i32 i64 f16 bf16 f32 f64", "u8 i32 i64 f16 bf16 f32 f64"),
    ("aten.layer_norm.default(?[1,2], [2])", "f16 bf16 f32 f64", "f16 bf16 f32 f64"),
    ("aten.linalg_inv_ex.default(?[3,3])", "f32 f64 c64 c128", "f32 f64 c64 c128"),
    ("aten.mean.default(?[2])", "f16 bf16 f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    ("aten.quantile.scalar(?[3], 0.5)", "f32 f64", "f32 f64"),
    ("aten.randn_like.default(?[2])", "f16 bf16 f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    // The meta function of `var` takes integers, which ATen refuses before the dispatch to a device.
    ("aten.var.correction(?[3])", "f16 bf16 f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    // It takes more.
    ("aten.linalg_cholesky.default(?[3,3])", "f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    ("aten.linalg_det.default(?[3,3])", "f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    ("aten.linalg_svd.default(?[3,3])", "f32 f64 c64 c128", "f16 bf16 f32 f64 c64 c128"),
    ("aten.group_norm.default(?[2,4], 2)", "f16 bf16 f32 f64", "f16 bf16 f32 f64 c64 c128"),
    ("aten.selu.default(?[2])", "f16 bf16 f32 f64", "f16 bf16 f32 f64 c64 c128"),
    ("aten.logaddexp2.default(?[2], ?[2])", "f16 bf16 f32 f64", "u8 i32 i64 f16 bf16 f32 f64"),
    ("aten.isposinf.default(?[2])", "b8 u8 i32 i64 f16 bf16 f32 f64", "b8 u8 i32 i64 f16 bf16 f32 f64"),
    (
        "aten.scaled_dot_product_attention.default(?[2,4,8,16], ?[2,4,8,16], ?[2,4,8,16])",
        "f16 bf16 f32 f64",
        "f16 bf16 f32 f64 c64 c128",
    ),
    // It takes any.
    ("aten.topk.default(?[4], 2)", "u8 i32 i64 f16 bf16 f32 f64", EVERY_DTYPE),
    ("aten.ceil.default(?[2])", "u8 i32 i64 f16 bf16 f32 f64", EVERY_DTYPE),
    ("aten.bitwise_left_shift.Tensor(?[2], ?[2])", "u8 i32 i64", EVERY_DTYPE),
    ("aten.__lshift__.Tensor(?[2], ?[2])", "u8 i32 i64", "u8 i32 i64"),
];

#[test]
fn a_definition_refuses_dtypes_on_every_backend() {
    let mut wrong = Vec::new();
    for (call, on_cpu, by_definition) in DTYPES {
        for (stated, (name, backend)) in [on_cpu, by_definition, by_definition].iter().zip(Backend::ALL) {
            let accepts = |dtype: &&str| {
                let outcome = outcome(&call.replace('?', dtype), backend).expect("a call");
                !outcome.starts_with("invalid")
            };
            let accepted: Vec<&str> = EVERY_DTYPE.split(' ').filter(accepts).collect();
            if accepted.join(" ") != **stated {
                wrong.push(format!("{call} on {name} is stated to accept {stated}, accepts {accepted:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The operators of which the CPU accepts calls that other backends refuse: oneDNN does not look at a dilation of 0, nor
/// the fused attention at the lengths of key and value.
const ACCEPTED_BY_CPU_ALONE: &[&str] =
    &["aten.conv_transpose2d.input", "aten.scaled_dot_product_attention.default"];

#[test]
fn what_the_cpu_accepts_other_backends_accept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the tables") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        for line in fs::read_to_string(&path).expect("a table").lines().filter(|line| !line.starts_with('#'))
        {
            let Some((call, stated)) = line.split_once(" -> ") else { continue };
            let refused =
                ["invalid", "data-dependent", "unsupported"].iter().any(|word| stated.starts_with(word));
            for backend in [Backend::Cuda, Backend::Any].iter().filter(|_| !refused) {
                let outcome = outcome(call, *backend).expect("a call");
                let op = call.split('(').next().unwrap_or_default();
                if outcome.starts_with("invalid") && !ACCEPTED_BY_CPU_ALONE.contains(&op) {
                    found.push(format!("{call} on {backend}: {outcome}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn commands_take_a_backend() {
    let call = r#"{"op": "aten.ceil.default", "args": [{"tensor": {"shape": [2], "dtype": "complex64"}}]}"#;
    let returns = |backend: &str| {
        let (_, answer, _) = command::with_input(&["infer", "--backend", backend], call);
        answer.contains("returns")
    };
    assert_eq!(["cpu", "cuda", "any"].map(returns), [false, true, true]);
    for command in ["check", "eval", "explain", "guards", "spec init", "spec widen"] {
        let words: Vec<&str> = command.split(' ').chain(["no.pt2", "--backend", "tpu"]).collect();
        let (code, _, complaint) = command::with_input(&words, "");
        assert!(code == 2 && complaint.contains("possible values: cpu, cuda, any"), "{command}: {complaint}");
    }
}
