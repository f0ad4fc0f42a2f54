//! Every rule of every verifier with a program that keeps it and one that breaks it: `tests/verify/rules.json`.
#[cfg(feature = "cli")]
use crate::command;
use crate::verify_programs;

use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::ir::schema::Schema;
use sizewise::ir::text;
use sizewise::kernels::Operators;
use sizewise::recorded_values;
use sizewise::verify::{
    KnownOperators, Level, Options, Profile, Rule, Violation, markdown, verify_outline, verify_program,
};
use std::path::Path;
use verify_programs::{Case, Fixtures};

/// The crate's operators, without the kernel of one.
struct Kernels {
    operators: Operators,
    without: Option<String>,
}

impl KnownOperators for Kernels {
    fn declared(&self, _: &str) -> Option<&Schema> {
        None
    }

    fn has_kernel(&self, op: &str) -> bool {
        self.without.as_deref() != Some(op) && self.operators.find(op).is_some()
    }
}

fn profile(name: &str) -> Profile {
    Profile::ALL.into_iter().find(|profile| profile.name() == name).expect("a dialect")
}

fn findings(
    bytes: &[u8],
    dialect: Option<&str>,
    options: &Options,
    without: Option<String>,
) -> Vec<Violation> {
    let reading = ReadOptions { edge: true, ..ReadOptions::default() };
    let mut found = verify_outline(&pt2::outline(bytes, &reading).expect("an outline"));
    let operators = Kernels { operators: Operators::new(), without };
    match pt2::read(bytes, &reading) {
        Ok(program) => {
            let profile = dialect.map_or(program.dialect.into(), profile);
            found.extend(verify_program(&program, profile, &operators, options));
        }
        Err(error) => assert!(!found.is_empty(), "unreadable, yet nothing is found: {error}"),
    }
    found
}

/// The values of a program of which something else is recorded than operators give.
fn recorded(bytes: &[u8]) -> Vec<Violation> {
    let program = pt2::read(bytes, &ReadOptions { edge: true, ..ReadOptions::default() });
    program.map_or_else(|_| Vec::new(), |program| recorded_values(&program, &Operators::new()))
}

fn listed(found: &[Violation]) -> String {
    found.iter().map(|violation| format!("  {violation}\n")).collect()
}

/// The findings of a case's program before and after it is broken.
fn run(fixtures: &Fixtures, case: &Case) -> (Vec<Violation>, Vec<Violation>) {
    let options = |formats: bool| Options { dim_order: !formats, ..Options::default() };
    let base = fixtures.archive(&case.base, None);
    let base_dialect = case.base_dialect.as_deref();
    let mut before = findings(&base, base_dialect, &options(case.base_memory_formats), None);
    let broken = fixtures.archive(&case.base, Some(case));
    let mut after = findings(
        &broken,
        case.dialect.as_deref(),
        &options(case.memory_formats),
        case.without_kernel.clone(),
    );
    if case.rule == Rule::RecordedValue.code() {
        before.extend(recorded(&base));
        after.extend(recorded(&broken));
    }
    (before, after)
}

/// Whether a finding is the one that a case is about.
fn is_expected(case: &Case, violation: &Violation) -> bool {
    let place = violation.node.as_ref().map(|node| match violation.graph.as_str() {
        "" => node.clone(),
        graph => format!("{graph}.{node}"),
    });
    violation.rule.code() == case.rule && violation.message.contains(&case.says) && place == case.at
}

#[test]
fn every_fixture_keeps_the_rules_until_it_is_broken() {
    let fixtures = Fixtures::load();
    let mut wrong = Vec::new();
    for case in &fixtures.cases {
        let name = format!("{} on {}: {}", case.rule, case.base, case.says);
        let (before, after) = run(&fixtures, case);
        if !before.is_empty() {
            wrong.push(format!("{name}: before it is broken:\n{}", listed(&before)));
        }
        if !after.iter().any(|violation| is_expected(case, violation)) {
            wrong.push(format!("{name}: found\n{}", listed(&after)));
        }
        let allowed = |code: &str| code == case.rule || case.also.iter().any(|also| also == code);
        for other in after.iter().filter(|violation| !allowed(violation.rule.code())) {
            wrong.push(format!("{name}: found as well\n  {other}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_fixture() {
    let fixtures = Fixtures::load();
    for rule in Rule::ALL {
        let in_text = matches!(rule, Rule::PlaceholdersFirst | Rule::OutputLast | Rule::NodeKind);
        let covered = fixtures.cases.iter().any(|case| case.rule == rule.code());
        assert!(covered || in_text, "`{rule}` has no fixture");
    }
}

#[test]
fn inputs_come_first_and_one_output_last() {
    let input = |name: &str| format!("    %{name} : [num_users=1] = placeholder[target={name}]\n");
    let add = "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1), kwargs = {})\n";
    let (x, y, out) = (input("x"), input("y"), "    return x\n");
    for (steps, rule, message) in [
        ([&x, &y, add, out], None, ""),
        ([&x, add, &y, out], Some(Rule::PlaceholdersFirst), "`y` stands behind other nodes"),
        ([&x, &y, out, add], Some(Rule::OutputLast), "`add` stands behind the output node"),
        ([&x, add, out, out], Some(Rule::OutputLast), "a second output node"),
        ([&x, &y, add, ""], Some(Rule::OutputLast), "no output node"),
    ] {
        let text = format!("graph():\n{}", steps.concat());
        let found = verify_outline(&text::outline(&text).expect("an outline"));
        assert_eq!(found.first().map(|violation| violation.rule), rule, "{text}");
        assert!(found.len() < 2 && found.iter().all(|violation| violation.message.contains(message)));
        assert_eq!(text::read(&text).is_ok(), rule.is_none(), "{text}");
    }
}

#[test]
fn methods_modules_and_tensors_of_plain_fx_are_reported() {
    for (node, message) in [
        ("call_method[target=abs](args = (%x,), kwargs = {})", "the node calls a method"),
        ("call_module[target=linear](args = (%x,), kwargs = {})", "the node calls a module"),
        ("get_attr[target=weight]", "the node fetches an attribute that is no graph"),
    ] {
        let text = format!(
            "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=1] = {node}\n    return y\n"
        );
        let found = verify_outline(&text::outline(&text).expect("an outline"));
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, [format!("y: node-kind: {message}")], "{node}");
        assert!(text::read(&text).is_err(), "{node}");
    }
    let function = "call_function[target=torch.ops.aten.abs.default](args = (%x,), kwargs = {})";
    let text = format!(
        "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=1] = {function}\n    return y\n"
    );
    assert_eq!(verify_outline(&text::outline(&text).expect("an outline")), []);
}

#[test]
fn exported_programs_keep_the_rules_of_their_dialects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the programs") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a program");
        let found = findings(&bytes, None, &Options::default(), None);
        let wrong: Vec<Violation> =
            found.into_iter().filter(|violation| violation.rule.level() == Level::Error).collect();
        assert!(wrong.is_empty(), "{}:\n{}", path.display(), listed(&wrong));
        count += 1;
    }
    assert!(count > 100, "{count} programs");
}

#[test]
fn the_documented_table_is_that_of_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/verifier.md");
    let table = markdown();
    if std::env::var_os("SIZEWISE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &table).expect("a writable folder");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, table,
        "docs/verifier.md is stale: SIZEWISE_WRITE_DOCS=1 cargo test --test tests verify"
    );
}

/// Exit status, standard output and standard error of a command.
#[cfg(feature = "cli")]
fn sizewise(arguments: &[&str]) -> (i32, String, String) {
    command::with_input(arguments, "")
}

#[cfg(feature = "cli")]
#[test]
fn the_command_says_what_it_found_in_its_exit_status() {
    let program = |name: &str| format!("tests/data/programs/{name}.pt2");
    for (name, dialect, status, verdict) in [
        ("pt_dict", None, 0, "ok"),
        ("op_inplace", Some("aten"), 1, "violated"),
        ("cop_half_add", None, 4, "unknown"),
        ("spec_min_only__core", Some("core"), 0, "ok"),
        ("spec_min_only__core", Some("edge"), 1, "violated"),
    ] {
        let path = program(name);
        let mut arguments = vec!["verify", &path, "--format", "json"];
        arguments.extend(dialect.iter().flat_map(|dialect| ["--dialect", dialect]));
        let (code, output, _) = sizewise(&arguments);
        assert_eq!(code, status, "{name}");
        let report: serde_json::Value = serde_json::from_str(&output).expect("JSON");
        assert_eq!(report["verdict"], verdict, "{name}");
        let findings = report["findings"].as_array().expect("findings");
        let grave = findings.iter().any(|finding| finding["level"] != "warning");
        assert_eq!(grave, status != 0, "{name}");
    }
    let (code, output, _) = sizewise(&["verify", &program("op_inplace"), "--dialect", "aten"]);
    assert_eq!(code, 1);
    assert!(output.contains("error[functional]: `aten."), "{output}");
    let (code, _, error) = sizewise(&["verify", "no/such/file.pt2"]);
    assert!(code == 3 && error.contains("no/such/file.pt2"), "{code} {error}");
}

#[cfg(feature = "cli")]
#[test]
fn edge_programs_are_verified_though_other_commands_refuse_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("edge.pt2");
    std::fs::write(&path, Fixtures::load().archive("edge", None)).expect("a writable folder");
    let path = path.display().to_string();
    assert_eq!(sizewise(&["verify", &path]).0, 0);
    let (code, _, error) = sizewise(&["check", &path]);
    assert!(code == 3 && error.contains("EDGE dialect"), "{code} {error}");
}

#[cfg(feature = "cli")]
#[test]
fn text_is_verified_like_archives() {
    let (code, shown, _) = sizewise(&["show", "tests/data/programs/op_inplace.pt2", "--full"]);
    assert_eq!(code, 0);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("inplace.txt").display().to_string();
    std::fs::write(&path, &shown).expect("a writable folder");
    assert_eq!(sizewise(&["verify", &path, "--dialect", "training"]).0, 0);
    assert_eq!(sizewise(&["verify", &path, "--dialect", "aten"]).0, 1);
    let broken = shown.replacen("(torch.nn.Module)", "", 1);
    std::fs::write(&path, broken).expect("a writable folder");
    let (code, _, error) = sizewise(&["verify", &path]);
    assert!(code == 3 && error.contains("line 2 column 5"), "{code} {error}");
}
