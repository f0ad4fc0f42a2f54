//! `sizewise ops`: which operators have a fake kernel.
use super::args::OperatorFiles;
use super::failure::{Failure, Result};
use super::{files, operators, ops_edge, verify};
use crate::kernels::{Coverage, Served, coverage, libraries};
use clap::{Args, ValueEnum};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `ops`.
#[derive(Args, Debug)]
pub struct OpsOptions {
    /// List only operators without a kernel.
    #[arg(long)]
    pub missing: bool,
    /// The format of the list.
    #[arg(long, value_enum, default_value_t = CoverageFormat::Text)]
    pub format: CoverageFormat,
    /// A folder with tables of operator calls, to count the tests of each operator.
    #[arg(long, value_name = "FOLDER")]
    pub tables: Option<PathBuf>,
    /// Print the dtypes of the arguments and results of an Edge operator such as `aten.add.Tensor`.
    #[arg(long, value_name = "OP", conflicts_with_all = ["missing", "tables"])]
    pub edge: Option<String>,
    /// The dtypes of Edge operators, in the format of ExecuTorch's edge.yaml; ExecuTorch's own by default.
    #[arg(long, value_name = "FILE", requires = "edge")]
    pub edge_yaml: Option<PathBuf>,
    /// Custom operators.
    #[command(flatten)]
    pub operators: OperatorFiles,
}

/// The formats of the list of operators.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoverageFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For documents.
    Markdown,
}

/// Operators without a kernel because shapes do not determine their results, by reason.
pub const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "they ask for the state of a backend",
        &["aten._fused_sdp_choice.default", "aten._nnpack_available.default"],
    ),
    (
        "they ask for the state of autograd",
        &[
            "aten._version.default",
            "aten.is_leaf.default",
            "aten.output_nr.default",
            "aten.retains_grad.default",
        ],
    ),
    (
        "they make nested tensors, whose rows differ in length",
        &["aten._nested_from_padded.default", "aten._nested_tensor_from_mask_left_aligned.default"],
    ),
    ("it ends a level of `vmap`, which exported programs do not have", &["aten._remove_batch_dim.default"]),
];

/// The number of table lines for each overload.
type Lines = FxHashMap<String, usize>;

/// Runs the command.
pub fn run(options: &OpsOptions) -> Result<ExitCode> {
    let text = match &options.edge {
        Some(op) => {
            let known = operators::load(&options.operators)?;
            let table = verify::edge_dtypes(options.edge_yaml.as_deref())?;
            let as_json = options.format == CoverageFormat::Json;
            ops_edge::describe(op, &known, &table, as_json).map_err(Failure::usage)?
        }
        None => list(options)?,
    };
    files::write(None, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn list(options: &OpsOptions) -> Result<String> {
    let lines = options.tables.as_deref().map_or_else(|| Ok(Lines::default()), table_lines)?;
    let mut rows = coverage();
    if options.missing {
        rows.retain(|row| row.served == Served::Missing);
    }
    Ok(match options.format {
        CoverageFormat::Text => text(&rows, &lines),
        CoverageFormat::Json => json(&rows, &lines),
        CoverageFormat::Markdown => markdown(&rows, &lines),
    })
}

/// Counts the lines for each overload in the tables of a folder.
fn table_lines(folder: &Path) -> Result<Lines> {
    let failed = |error: std::io::Error| files::unusable(folder, error);
    let mut lines = Lines::default();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_none_or(|ending| ending != "txt") {
            continue;
        }
        let table = String::from_utf8_lossy(&files::read(&path).map_err(Failure::usage)?).into_owned();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            if let Some((overload, _)) = line.split_once('(') {
                *lines.entry(overload.trim().to_owned()).or_default() += 1;
            }
        }
    }
    Ok(lines)
}

/// Clauses with a shared name written once: `mm.C1 C2, view.C3`.
fn grouped(clauses: &[&str]) -> String {
    let mut text = String::new();
    let mut last = "";
    for clause in clauses {
        let (name, number) = clause.rsplit_once('.').unwrap_or((clause, ""));
        let separator = match (text.is_empty(), name == last) {
            (true, _) => "",
            (false, true) => " ",
            (false, false) => ", ",
        };
        let _ = match name == last {
            true => write!(text, "{separator}{number}"),
            false => write!(text, "{separator}{clause}"),
        };
        last = name;
    }
    text
}

fn served(row: &Coverage) -> &'static str {
    match row.served {
        Served::Kernel => "yes",
        Served::InPlace => "in-place",
        Served::Missing => "no",
    }
}

/// How many of the wanted overloads have a kernel, and how many there are.
fn share(rows: &[Coverage], wanted: impl Fn(&Coverage) -> bool) -> (usize, usize) {
    let all = rows.iter().filter(|row| wanted(row));
    let served = all.clone().filter(|row| row.served != Served::Missing).count();
    (served, all.count())
}

/// The groups of overloads that are counted.
fn shares(rows: &[Coverage]) -> [(&'static str, (usize, usize)); 4] {
    let writes_out = |row: &Coverage| row.mutable && !is_in_place(row);
    [
        ("core, functional", share(rows, |row| row.core && !row.mutable)),
        ("functional", share(rows, |row| !row.mutable)),
        ("in-place", share(rows, |row| row.mutable && is_in_place(row))),
        ("out= and others that write", share(rows, writes_out)),
    ]
}

/// Whether the name says that the first argument is written.
fn is_in_place(row: &Coverage) -> bool {
    row.name
        .rsplit_once('.')
        .is_some_and(|(operator, _)| operator.ends_with('_') || operator.contains(".__i"))
}

fn text(rows: &[Coverage], lines: &Lines) -> String {
    let mut out = String::new();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    for row in rows {
        let core = if row.core { "core" } else { "" };
        let family = row.family.unwrap_or_default();
        let mut line = format!("{:width$}  {core:4}  {:8}  {family:22}", row.name, served(row));
        if let Some(count) = lines.get(&row.name) {
            let _ = write!(line, "  {count} tests");
        }
        if !row.clauses.is_empty() {
            let _ = write!(line, "  {}", grouped(&row.clauses));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    for (part, (served, all)) in shares(rows) {
        let _ = writeln!(out, "{part}: {served} of {all}");
    }
    let missing_only = rows.iter().all(|row| row.served == Served::Missing);
    for library in libraries().iter().filter(|_| !missing_only) {
        let _ = writeln!(out, "\n{} {}, declared:", library.name, library.version);
        for overload in library.overloads() {
            let _ = writeln!(out, "{overload}");
        }
    }
    out
}

fn json(rows: &[Coverage], lines: &Lines) -> String {
    let operators: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "op": row.name, "core": row.core, "mutable": row.mutable, "kernel": served(row),
                "family": row.family, "clauses": row.clauses, "tests": lines.get(&row.name),
            })
        })
        .collect();
    let summary: serde_json::Map<_, _> = shares(rows)
        .into_iter()
        .map(|(part, (served, all))| (part.to_owned(), json!({"served": served, "all": all})))
        .collect();
    let libraries: Vec<_> = libraries()
        .iter()
        .map(|library| {
            let overloads: Vec<&str> = library.overloads().collect();
            json!({"library": library.name, "version": library.version, "operators": overloads})
        })
        .collect();
    let all = json!({"summary": summary, "operators": operators, "libraries": libraries});
    let mut text = serde_json::to_string_pretty(&all).unwrap_or_default();
    text.push('\n');
    text
}

fn markdown(rows: &[Coverage], lines: &Lines) -> String {
    let mut out = String::from(
        "# Operators with fake kernels\n\n\
         Written by `sizewise ops --format markdown --tables tests/kernels`; do not edit.\n\n\
         | part | served | all |\n| --- | ---: | ---: |\n",
    );
    for (part, (served, all)) in shares(rows) {
        let _ = writeln!(out, "| {part} | {served} | {all} |");
    }
    out.push_str(
        "\n*Family* is the file in `crates/kernels/src/ops`. *Clauses* are the numbered conditions by which the kernel \
         is known to refuse calls, from the tables and from recorded calls (a test compares them with what the kernels \
         do); what is wrong with the types of arguments has none. *Tests* is how many lines of the tables in \
         `tests/kernels` call the overload, recorded calls aside. An in-place overload is served by the kernel of its \
         functional form.\n\n## Functional operators\n\n\
         | overload | core | kernel | family | clauses | tests |\n| --- | --- | --- | --- | --- | ---: |\n",
    );
    for row in rows.iter().filter(|row| !row.mutable) {
        let core = if row.core { "core" } else { "" };
        let count = lines.get(&row.name).map_or_else(String::new, usize::to_string);
        let family = row.family.unwrap_or_default();
        let clauses = grouped(&row.clauses);
        let _ =
            writeln!(out, "| `{}` | {core} | {} | {family} | {clauses} | {count} |", row.name, served(row));
    }
    out.push_str("\n## Functional operators that are left without a kernel\n\n");
    for (reason, names) in LEFT_OUT {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "- {reason}: {}", names.join(", "));
    }
    out.push_str("\n`sizewise ops --missing` lists all that have none.\n");
    for (title, wanted) in
        [("In-place operators without a kernel", true), ("Others that write, with a kernel", false)]
    {
        let _ = writeln!(out, "\n## {title}\n");
        let names: Vec<String> = rows
            .iter()
            .filter(|row| {
                row.mutable && is_in_place(row) == wanted && (row.served == Served::Missing) == wanted
            })
            .map(|row| format!("`{}`", row.name))
            .collect();
        let _ = writeln!(out, "{}", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    }
    out.push_str(
        "\n## Operators of well-known libraries\n\n\
         Declared in `operators/`, compared with the kernels of these versions (`tests/library_operators`).\n\n\
         | library | version | overloads |\n| --- | --- | --- |\n",
    );
    for library in libraries() {
        let names: Vec<String> = library.overloads().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "| {} | {} | {} |", library.name, library.version, names.join(", "));
    }
    out
}
