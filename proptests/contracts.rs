//! The laws of contracts: the checkers in Rust, C, C++ and Python say the same of every call, and accept exactly the
//! sizes at which the conditions hold, as the exact evaluator finds; for programs, as `eval` finds.
use crate::campaign::{cases, config, count, seed};
use crate::guard_code::{Case, compile, drawn, expected, output};

use proptest::test_runner::TestRunner;
use sizewise::Operators;
use sizewise::check::{Checker, Shapes};
use sizewise::contract::{self, Input};
use sizewise::expr::{Expr, Int, Symbol, Value};
use sizewise::report::guard_code::{Contract, GuardSet, GuardedInput};
use sizewise::spec::Shape;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Contracts that are asked together.
const BATCH: usize = 100;

/// The sizes of the tensors of a call, and its integers: the inputs in order.
#[derive(Clone, Debug)]
enum Given {
    Tensor(Vec<i64>),
    Integer(i64),
}

/// A contract, and the calls that it is asked about.
struct Asked {
    contract: Contract,
    calls: Vec<Vec<Given>>,
}

fn in_rust(asked: &[Asked]) -> Vec<bool> {
    let mut answers = Vec::new();
    for Asked { contract: asked, calls } in asked {
        let contract = contract::Contract::read(&asked.bytes).expect("a contract");
        answers.extend(calls.iter().map(|call| {
            let inputs: Vec<Input> = call
                .iter()
                .map(|given| match given {
                    Given::Tensor(sizes) => Input::Tensor(sizes),
                    Given::Integer(value) => Input::Integer(*value),
                })
                .collect();
            contract.check(&inputs).is_ok()
        }));
    }
    answers
}

/// Writes contracts and calls for `contract_driver.c` and `contract_driver.py`.
fn written(asked: &[Asked], folder: &Path) -> PathBuf {
    let mut out = Vec::new();
    let mut number = |value: i64| out.extend(value.to_le_bytes());
    let mut blobs: Vec<u8> = Vec::new();
    for Asked { contract, calls } in asked {
        number(contract.bytes.len() as i64);
        number(calls.len() as i64);
        number(calls[0].len() as i64);
        for given in calls.iter().flatten() {
            match given {
                Given::Tensor(sizes) => {
                    number(sizes.len() as i64);
                    sizes.iter().for_each(|&size| number(size));
                }
                Given::Integer(value) => {
                    number(-1);
                    number(*value);
                }
            }
        }
        blobs.extend(&contract.bytes);
    }
    let path = folder.join("calls");
    let mut file = (asked.len() as i64).to_le_bytes().to_vec();
    file.extend((out.len() as i64).to_le_bytes());
    file.extend(out);
    file.extend(blobs);
    std::fs::write(&path, file).expect("a file");
    path
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn in_c(calls: &Path, compiler: &str, flags: &[&str]) -> Vec<bool> {
    let program = calls.with_file_name(compiler);
    let trap = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    compile(
        Command::new(compiler)
            .args(flags)
            .args(["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .args(trap)
            .arg("-I")
            .arg(root().join("crates/contract/include"))
            .arg(root().join("proptests/contract_driver.c"))
            .arg("-o")
            .arg(&program),
    );
    output(Command::new(program).arg(calls))
}

/// What all checkers say of the calls.
fn answers(asked: &[Asked]) -> Vec<bool> {
    let folder = tempfile::tempdir().expect("a folder");
    let calls = written(asked, folder.path());
    let answers = in_rust(asked);
    assert_eq!(answers, in_c(&calls, "cc", &["-std=c99"]), "C");
    let cpp = ["-x", "c++", "-std=c++17", "-fno-exceptions", "-fno-rtti"];
    assert_eq!(answers, in_c(&calls, "c++", &cpp), "C++");
    let mut python = Command::new("python3");
    let checker = root().join("python/sizewise/_contract.py");
    python.arg(root().join("proptests/contract_driver.py")).arg(checker).arg(&calls);
    assert_eq!(answers, output(&mut python), "Python");
    answers
}

#[test]
fn contracts_say_what_the_evaluator_says() {
    let mut runner = TestRunner::new(config(1));
    let (mut accepted, mut refused, mut able) = (0, 0, 0);
    for _ in 0..cases(1) {
        let drawn: Vec<Case> = (0..BATCH).map(|_| drawn(&mut runner)).collect();
        let written: Vec<(&Case, Contract)> = drawn
            .iter()
            .filter(|case| !case.calls.is_empty())
            .filter_map(|case| Some((case, Contract::new(&case.set, &[], &[]).ok()?)))
            .collect();
        able += written.len();
        let given =
            |&(sizes, number): &([i64; 4], i64)| vec![Given::Tensor(sizes.to_vec()), Given::Integer(number)];
        let asked: Vec<Asked> = written
            .iter()
            .map(|(case, contract)| Asked {
                contract: contract.clone(),
                calls: case.calls.iter().map(given).collect(),
            })
            .collect();
        let calls = written.iter().flat_map(|(case, _)| case.calls.iter().map(move |call| (case, call)));
        for ((case, call), accepts) in calls.zip(answers(&asked)) {
            let verdict = expected(&case.set, call);
            // No tensor has a negative size.
            let holds = verdict.holds && call.0.iter().all(|&size| size >= 0);
            count(1);
            *(if holds { &mut accepted } else { &mut refused }) += 1;
            let agrees = accepts == holds || (!accepts && (verdict.undefined || verdict.large));
            assert!(agrees, "{call:?}: {accepts}, where the evaluator finds {holds}");
        }
    }
    assert!(able > BATCH / 2, "{able} contracts are written");
    assert!(accepted > 20 && refused > 20, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_contracts_are_read_within_their_bytes() {
    let mut runner = TestRunner::new(config(1));
    let mut draw = Draw(seed() | 1);
    let mut asked = Vec::new();
    while asked.len() < 20 * cases(BATCH as u32) as usize {
        let case = drawn(&mut runner);
        let Ok(contract) = Contract::new(&case.set, &[], &[]) else { continue };
        let Some(&(sizes, number)) = case.calls.first() else { continue };
        for _ in 0..20 {
            let mut contract = contract.clone();
            // The head stays, so that the rest is read.
            let at = 4 + draw.below(contract.bytes.len() as i64 - 4) as usize;
            match draw.below(3) {
                0 => contract.bytes.truncate(at),
                1 => contract.bytes[at] = draw.below(256) as u8,
                _ => contract.bytes[at] ^= 1 << draw.below(8),
            }
            let sizes = sizes.iter().map(|size| size.saturating_abs()).collect();
            asked.push(Asked { contract, calls: vec![vec![Given::Tensor(sizes), Given::Integer(number)]] });
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(in_rust(&asked), in_c(&written(&asked, folder.path()), "cc", &["-std=c99"]));
    count(asked.len());
}

/// The exported programs below a folder.
fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pt2") {
            found.push(path);
        }
    }
}

/// Numbers in no order, from a seed (xorshift64*).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: i64) -> i64 {
        for shift in [-12i32, 25, -27] {
            self.0 ^= if shift < 0 { self.0 >> -shift } else { self.0 << shift };
        }
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as i64) % end
    }
}

/// Inputs whose symbols have sizes near those of the trace, equal ones, small ones, multiples, and some that are far
/// off; one size in some calls is wrong by one.
fn sized(draw: &mut Draw, set: &GuardSet, hint: impl Fn(Symbol) -> Option<i64>) -> Option<Vec<Given>> {
    let common = [1, 2, 3, 4, 8][draw.below(5) as usize] * draw.below(12);
    let values: Vec<(Symbol, i64)> = set
        .variables
        .iter()
        .map(|v| {
            let hint = hint(v.symbol).unwrap_or(common);
            let value = match draw.below(9) {
                0..=2 => hint,
                3 | 4 => common,
                5 => draw.below(4),
                6 => hint + draw.below(5) - 2,
                7 => hint * draw.below(4),
                _ => 1 << draw.below(40),
            };
            (v.symbol, value)
        })
        .collect();
    let of = |e: Expr| {
        let value = |symbol| Some(Value::Int(Int::from(values.iter().find(|v| v.0 == symbol)?.1)));
        set.pool.eval(e, value).ok()?.as_int()?.to_i64()
    };
    let mut given = Vec::new();
    for input in &set.inputs {
        given.push(match input {
            GuardedInput::Tensor { sizes, .. } => {
                let mut sizes = sizes.iter().map(|&size| of(size)).collect::<Option<Vec<i64>>>()?;
                if !sizes.is_empty() && draw.below(9) == 0 {
                    let at = draw.below(sizes.len() as i64) as usize;
                    sizes[at] += 1;
                }
                if sizes.iter().any(|&size| size < 0) {
                    return None;
                }
                Given::Tensor(sizes)
            }
            GuardedInput::Number { value, .. } => Given::Integer(of(*value)?),
            GuardedInput::Constant { .. } => return None,
        });
    }
    Some(given)
}

/// The programs of the tests, and those below the folder that `SIZEWISE_PROGRAMS` names.
fn all_programs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["tests/data/users", "tests/data/contracts", "tests/data/programs", "examples"] {
        programs(&root().join(folder), &mut found);
    }
    if let Some(folder) = std::env::var_os("SIZEWISE_PROGRAMS") {
        programs(Path::new(&folder), &mut found);
    }
    found
}

/// The contract of a program, calls, and what `eval` says of each; `None` for programs without a contract or sizes.
fn of_program(path: &Path, calls: usize) -> Option<(Asked, Vec<bool>)> {
    let name = path.to_string_lossy();
    let checker = Checker::read(&name, &std::fs::read(path).ok()?).ok()?;
    let operators = Operators::new();
    let session = checker.session(&operators).ok()?;
    let set = session.guard_set().ok()?;
    let contract = Contract::new(&set, &[], &[]).ok()?;
    if set.variables.is_empty() || !set.left_open.is_empty() || set.not_followed > 0 {
        return None;
    }
    let mut draw = Draw(seed() ^ (calls as u64) << 32 ^ name.len() as u64 | 1);
    let hint = |symbol| {
        let e = set.pool.known_symbol_expr(symbol)?;
        session.contract().example_int(e)?.to_i64()
    };
    let drawn: Vec<Vec<Given>> =
        (0..2 * calls).filter_map(|_| sized(&mut draw, &set, hint)).take(calls).collect();
    let mut asked = Vec::new();
    let mut expected = Vec::new();
    for call in drawn {
        let inputs = set.inputs.iter().zip(&call).map(|(input, given)| {
            let shape = match given {
                Given::Tensor(sizes) => Shape::Tensor(sizes.iter().map(|&size| Int::from(size)).collect()),
                Given::Integer(value) => Shape::Scalar(Value::Int(Int::from(*value))),
            };
            (input.name().into(), shape)
        });
        let found = session.evaluator().evaluate(&inputs.collect::<Shapes>());
        // Contracts say nothing of results that no memory holds.
        if found.as_ref().err().is_some_and(|refused| refused.expr.as_deref() == Some("int64 element count"))
        {
            continue;
        }
        expected.push(found.is_ok());
        asked.push(call);
    }
    (!asked.is_empty()).then_some((Asked { contract, calls: asked }, expected))
}

#[test]
fn contracts_of_programs_say_what_eval_says() {
    let calls = cases(50) as usize;
    let found: Vec<(PathBuf, Asked, Vec<bool>)> = all_programs()
        .into_iter()
        .filter_map(|path| {
            let (asked, expected) = of_program(&path, calls)?;
            Some((path, asked, expected))
        })
        .collect();
    let (programs, asked, expected) = found.into_iter().fold(
        (Vec::new(), Vec::new(), Vec::new()),
        |(mut programs, mut all, mut answers), (path, asked, expected)| {
            programs.extend(asked.calls.iter().map(|_| path.clone()));
            all.push(asked);
            answers.extend(expected);
            (programs, all, answers)
        },
    );
    let (mut accepted, mut refused, mut cautious) = (0, 0, 0);
    let calls: Vec<&Vec<Given>> = asked.iter().flat_map(|asked| &asked.calls).collect();
    for (((path, call), accepts), runs) in programs.iter().zip(calls).zip(answers(&asked)).zip(expected) {
        count(1);
        *(if runs { &mut accepted } else { &mut refused }) += 1;
        let is_small = |given: &Given| matches!(given, Given::Tensor(sizes) if sizes.iter().any(|&s| s < 2));
        let is_large = |given: &Given| match given {
            Given::Tensor(sizes) => sizes.iter().any(|&size| size > 1 << 12),
            Given::Integer(value) => value.unsigned_abs() > 1 << 12,
        };
        // Sizes 0 and 1 may be served although no proof covers them, and numbers may not fit 64 bits.
        let is_cautious = !accepts && runs && call.iter().any(|given| is_small(given) || is_large(given));
        cautious += usize::from(is_cautious);
        assert!(accepts == runs || is_cautious, "{}: {call:?}: {accepts}, eval {runs}", path.display());
    }
    let programs = asked.len();
    eprintln!("{programs} programs, {accepted} accepted, {refused} refused, {cautious} with caution");
    assert!(programs > 10 && accepted > 200 && refused > 200, "{programs} {accepted} {refused}");
}
