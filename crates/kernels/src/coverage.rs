//! Which operators have a fake kernel.
use super::ops::FAMILIES;
use super::registry::Registry;
use super::{args, conv, custom, elementwise, inplace, policy, pool, product, scalar};
use rustc_hash::FxHashMap;
use sizewise_env::{Clauses, OpClause, STATED};
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

/// Each overload with its clauses, one a line.
const CLAUSES: &str = include_str!("../data/clauses.txt");
/// A call that each condition refuses, of an operator of torch or ONNX: a code and a call in each line. A test compares the
/// list with what operators do.
const REFUSALS: &str = include_str!("../data/refusals.txt");

/// A call that a condition refuses, by the code of the condition: `aten.roll.default(f32[0,3], [1,2], [0])`.
pub fn refused_call(code: &str) -> Option<&'static str> {
    let mut refusals = REFUSALS.lines().filter_map(|line| line.split_once(' '));
    refusals.find(|(refusing, _)| *refusing == code).map(|(_, call)| call)
}

/// The conditions that several families share.
const SHARED: &[Clauses] = &[
    args::CLAUSES,
    conv::CLAUSES,
    custom::CLAUSES,
    elementwise::CLAUSES,
    inplace::CLAUSES,
    pool::CLAUSES,
    policy::CLAUSES,
    product::CLAUSES,
    scalar::CLAUSES,
    STATED,
];

/// The conditions of all operators.
pub fn conditions() -> impl Iterator<Item = &'static OpClause> {
    let families = FAMILIES.iter().map(|family| family.clauses);
    families.chain(SHARED.iter().copied()).flatten().copied().flatten().copied()
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
    let families: FxHashMap<&str, &'static str> = FAMILIES
        .iter()
        .flat_map(|family| family.kernels.iter().map(|(overload, _)| (*overload, family.name)))
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
