//! Tables of operator calls and what they return, one file a family in `tests/kernels/`.
//!
//! A line is `operator(arguments) -> results`, in the notation that `notation.rs` describes; lines that begin with `#` say what the
//! lines below them show.
pub(crate) mod notation;

use sizewise::expr::text::print;
use sizewise::fake::{Cx, KernelError, Registry, bind};
use sizewise::ir::schema::SchemaTable;
use sizewise::shape_env::ShapeEnv;
use std::fs;
use std::path::Path;

/// What a call gives, in the notation of the tables.
fn outcome(call: &str) -> Result<String, String> {
    let mut env = ShapeEnv::new();
    let call = notation::read_call(&mut env, call)?;
    let schema = SchemaTable::global().get(call.op).ok_or_else(|| format!("no operator `{}`", call.op))?;
    let Some(kernel) = Registry::builtin().resolve(call.op) else { return Ok("unsupported".into()) };
    let args = match bind(&mut env.pool, schema, call.positional, call.keywords) {
        Ok(args) => args,
        Err(error) => return Ok(format!("invalid ({error})")),
    };
    let result = kernel.call(&mut Cx::new(&mut env), &args);
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
            match outcome(call) {
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
    let given = outcome("aten.relu.default(f32[2,3])").expect("a call");
    assert_eq!(given, "f32[2, 3]");
    for stated in
        ["f32[3,2]", "f64[2,3]", "f32[2,3](1,2)", "f32[2,3], f32[2]", "invalid", "none", "unsupported"]
    {
        assert!(!agrees(stated, &given), "{stated}");
    }
    let refused = outcome("aten.mm.default(f32[2,3], f32[2,3])").expect("a call");
    assert!(
        agrees("invalid", &refused) && !agrees("invalid no.C9", &refused) && !agrees("f32[2,3]", &refused)
    );
}
