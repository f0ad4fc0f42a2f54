//! Reading, verifying, propagating and checking exported programs: the examples, and the large programs if a folder
//! of them is named by `SIZEWISE_PROGRAMS` (one folder a program, each with a `program.pt2`).
use criterion::{Criterion, criterion_group, criterion_main};
use sizewise::check::Checker;
use sizewise::ir::pt2::{ReadOptions, read_both};
use sizewise::ir::schema::Schema;
use sizewise::kernels::Operators;
use sizewise::report::to_json;
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use sizewise::verify::{KnownOperators, Options, Profile, verify_outline, verify_program};
use std::hint::black_box;
use std::path::{Path, PathBuf};

fn examples() -> Vec<(String, PathBuf, Option<Spec>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut found = Vec::new();
    for name in ["branch", "area", "thirds", "masked", "bert"] {
        let spec = std::fs::read(folder.join(format!("{name}.json"))).expect("a spec");
        let spec = Spec::parse(&spec).expect("a spec");
        found.push((name.to_string(), folder.join(format!("{name}.pt2")), Some(spec)));
    }
    if let Ok(folder) = std::env::var("SIZEWISE_PROGRAMS") {
        let mut folders: Vec<PathBuf> =
            std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
        folders.sort();
        for path in folders {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let program = path.join("program.pt2");
            if (name.starts_with("large_") || name.starts_with("many_syms")) && program.exists() {
                found.push((name, program, None));
            }
        }
    }
    found
}

fn programs(criterion: &mut Criterion) {
    let operators = Operators::new();
    let budget = Budget::default();
    for (name, path, spec) in examples() {
        let bytes = std::fs::read(&path).expect("a program");
        let mut group = criterion.benchmark_group(&name);
        group.bench_function("read", |b| {
            b.iter(|| Checker::read(&name, black_box(&bytes)).expect("a program"))
        });
        let checker = Checker::read(&name, &bytes).expect("a program");
        group.bench_function("verify", |b| {
            b.iter(|| {
                let (outline, program) =
                    read_both(black_box(&bytes), &ReadOptions::default()).expect("a program");
                let mut found = verify_outline(&outline).len();
                if let Ok(program) = program {
                    found +=
                        verify_program(&program, Profile::Training, &Known(&operators), &Options::default())
                            .len();
                }
                found
            });
        });
        group.bench_function("propagate", |b| b.iter(|| checker.session(&operators).expect("a trace")));
        group.bench_function("check", |b| {
            b.iter(|| checker.check(black_box(spec.as_ref()), &operators, &budget).expect("a report"));
        });
        group.bench_function("whole", |b| {
            b.iter(|| {
                let checker = Checker::read(&name, black_box(&bytes)).expect("a program");
                to_json(&checker.check(spec.as_ref(), &operators, &budget).expect("a report"))
            });
        });
        group.finish();
    }
}

/// The operators that come with the crate.
struct Known<'o>(&'o Operators);

impl KnownOperators for Known<'_> {
    fn declared(&self, _: &str) -> Option<&Schema> {
        None
    }

    fn has_kernel(&self, op: &str) -> bool {
        self.0.find(op).is_some()
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2));
    targets = programs
}
criterion_main!(benches);
