//! A program propagated once and checked under spec after spec says the same as a check from the beginning.
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::{GuardVerdict, Report};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the programs").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The inputs of the counterexamples.
fn counterexamples(report: &Report) -> usize {
    report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && g.inputs.is_some()).count()
}

#[test]
fn a_session_comes_to_the_verdicts_of_whole_checks() {
    let (operators, budget) = (Operators::new(), Budget::default());
    let (mut checks, mut wrong) = (0, Vec::new());
    for path in programs() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let checker = Checker::read(&name, &std::fs::read(&path).expect("the program")).expect("a program");
        let session = checker.session(&operators).expect("a session");
        let own = session.recheck(None, &budget).expect("a report");
        // The program's own spec, that with every size allowed, and the first again: nothing is left over from the
        // one before. Without a spec it is asked first and last.
        let contract = sizewise::spec::Contract::load(checker.program()).expect("a contract");
        let recorded = Spec::initial(&contract, sizewise::spec::Width::Recorded);
        let any = Spec::initial(&contract, sizewise::spec::Width::Any);
        let specs = [None, Some(&recorded), Some(&any)];
        let whole = specs.map(|spec| checker.check(spec, &operators, &budget).expect("a report"));
        for at in [1, 2, 1] {
            checks += 1;
            let (spec, whole) = (specs[at], &whole[at]);
            let again = session.recheck(spec, &budget).expect("a report");
            if whole.verdict != again.verdict
                || (counterexamples(whole) == 0) != (counterexamples(&again) == 0)
            {
                wrong.push(format!(
                    "{name}: {:?} as a whole, {:?} in a session",
                    whole.verdict, again.verdict
                ));
            }
        }
        assert_eq!(own.verdict, whole[0].verdict, "{name}");
        assert_eq!(own.verdict, session.check(None, &budget).expect("a report").verdict, "{name}");
    }
    assert!(checks > 300, "{checks} checks");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
