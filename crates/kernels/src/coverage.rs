//! Which operators have a fake kernel.
use super::registry::Registry;
use rustc_hash::FxHashMap;
use sizewise_ir::schema::{Overload, SchemaTable, Tags};

/// How an overload is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// By a kernel of its own.
    Kernel,
    /// By the kernel of its functional form, whose result it writes into an argument.
    InPlace,
    /// Not at all: programs that call it are not decided.
    Missing,
}

/// One overload and how it is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The overload, named as in `aten.add.Tensor`.
    pub name: String,
    /// Whether it is in the core ATen operator set.
    pub core: bool,
    /// Whether it writes an argument.
    pub mutable: bool,
    /// How it is served.
    pub served: Served,
    /// The family of its kernel, which is the file of `crates/kernels/src/ops` that holds it.
    pub family: Option<&'static str>,
    /// The clauses by which its kernel is known to refuse calls, sorted: those that the tables of the tests state and
    /// those that recorded calls violate. A test compares the list, `data/clauses.txt`, with what the kernels do.
    pub clauses: Vec<&'static str>,
}

/// The codes of choices that kernels make by the sizes of their operands where the program's example decides. A test
/// compares the list with the sources.
pub const CHOICES: [&str; 6] = [
    "batch_norm.empty",
    "cdist_backward.empty",
    "custom.when",
    "layer_norm_backward.idle",
    "lstm.path",
    "sdpa.nothing",
];

/// Each overload with its clauses, one a line.
const CLAUSES: &str = include_str!("../data/clauses.txt");
/// What the conditions of operators say: a code and its text in each line.
const CONDITIONS: &str = include_str!("../data/conditions.txt");

/// What a condition of operators says, as a sentence; `None` for a code that is not known.
pub fn condition_text(code: &str) -> Option<&'static str> {
    if code.starts_with(OF_DECLARED) {
        return declared_text(code);
    }
    let mut lines = CONDITIONS.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(listed, _)| *listed == code).map(|(_, says)| says)
}

/// How the codes of conditions begin that declarations of operators make.
const OF_DECLARED: &str = "custom.";

/// What is said of the conditions of declared operators: their text is that of the declaration.
fn declared_text(code: &str) -> Option<&'static str> {
    match &code[OF_DECLARED.len()..] {
        "shape" => Some(
            "What a declared operator computes is a shape: no divisor is 0, no size is less than 0, and the dimensions that it names are \
             there.",
        ),
        "C17+" => Some("A condition of a declared operator behind the first 16 of its `requires`; the report has its file and line."),
        number => number.strip_prefix('C')?.parse().ok().filter(|n| (1..=16).contains(n)).map(|_: u32| {
            "A condition that the declaration of the operator makes (`requires`, see docs/operators.md): its number in the order of \
             the file. The report has its file and line."
        }),
    }
}

/// The clauses of each overload.
fn clauses() -> FxHashMap<&'static str, Vec<&'static str>> {
    let row = |line: &'static str| {
        let mut words = line.split(' ');
        Some((words.next()?, words.collect()))
    };
    CLAUSES.lines().filter_map(row).collect()
}

/// All overloads that exported programs can call, in the order of the schemas: those of the dispatcher, higher-order
/// operators aside.
pub fn coverage() -> Vec<Coverage> {
    let families: FxHashMap<&str, &'static str> = super::ops::FAMILIES
        .iter()
        .flat_map(|(family, kernels)| kernels.iter().map(|(overload, _)| (*overload, *family)))
        .collect();
    let clauses = clauses();
    let callable = |overload: &&Overload| {
        let tags = overload.tags();
        !tags.contains(Tags::TORCHSCRIPT_ONLY) && !tags.contains(Tags::HIGHER_ORDER)
    };
    let row = |overload: &Overload| {
        let name = overload.name().to_string();
        let family = families.get(name.as_str()).copied();
        let served = match family {
            Some(_) => Served::Kernel,
            None if Registry::builtin().resolve(&name).is_some() => Served::InPlace,
            None => Served::Missing,
        };
        let tags = overload.tags();
        Coverage {
            core: tags.contains(Tags::CORE),
            mutable: tags.contains(Tags::MUTABLE),
            served,
            family,
            clauses: clauses.get(name.as_str()).cloned().unwrap_or_default(),
            name,
        }
    };
    SchemaTable::global().overloads().iter().filter(callable).map(row).collect()
}
