//! What programs cost at all sizes that they allow: floating point operations, and bytes.
//!
//! The figures are expressions in the sizes of inputs. They follow what the program records: every node is a step, in its
//! order; what a node makes that no tensor before has is a new storage, of as many bytes as its elements take; a storage
//! is live from the step that makes it to the last one that takes a tensor of it. Operations are those of
//! `torch.utils.flop_counter`.
mod figures;
mod growth;
mod limits;
mod storages;
mod tally;
mod walk;

pub mod sizing;

pub use figures::{Numbers, Sizes};
pub use growth::Growth;
pub use limits::Limits;
pub use storages::{Branches, Life, StorageId, Storages, bytes};
pub use tally::{Given, Place, Tally};

use indexmap::IndexMap;
use sizewise_check::spec::{Assumptions, Contract, ContractError, Solved};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Symbol};
use sizewise_ir::{Node, Program, ValueId};
use sizewise_kernels::Operators;
use walk::Walk;

/// What a part of a program costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Floating point operations.
    pub flops: Expr,
    /// The bytes of what it makes.
    pub bytes: Expr,
}

impl Default for Share {
    fn default() -> Share {
        Share { flops: Expr::ZERO, bytes: Expr::ZERO }
    }
}

/// What a program costs.
pub struct Cost {
    /// The expressions, and what is known of the symbols.
    pub env: ShapeEnv,
    /// The symbols that figures may depend on, each with the size that it is: `x.shape[0]`, or
    /// `xs_0.shape[1]` where the graph calls a part of an input so.
    pub symbols: Vec<(Symbol, String)>,
    /// Every size of an input that is one of the symbols.
    pub(crate) places: Vec<(Symbol, String)>,
    /// What sizes of inputs have to satisfy.
    pub(crate) limits: Limits,
    /// Floating point operations.
    pub flops: Expr,
    /// The bytes of all that is made.
    pub activation_bytes: Expr,
    /// The bytes that are live together, of what is made: the greatest of these.
    pub peak_bytes: Vec<Expr>,
    /// The bytes of the inputs that the user passes.
    pub input_bytes: Expr,
    /// The bytes of parameters.
    pub parameter_bytes: Expr,
    /// The bytes of buffers.
    pub buffer_bytes: Expr,
    /// The bytes of constant tensors.
    pub constant_bytes: Expr,
    /// The bytes that are made and that outputs show.
    pub output_bytes: Expr,
    /// What the figures leave out or guess; they are exact where this is empty.
    pub reasons: Vec<String>,
    /// By operator: `aten.linear.default`.
    pub by_op: IndexMap<String, Share>,
    /// By the innermost module: `encoder.layers.0`.
    pub by_module: IndexMap<String, Share>,
    /// By the line of the user's code: `model.py:8`.
    pub by_line: IndexMap<String, Share>,
}

/// What a program costs.
///
/// # Errors
/// When its inputs or its records cannot be read.
pub fn cost(program: &Program, operators: &Operators) -> Result<Cost, ContractError> {
    let contract = Contract::load(program)?;
    let assumed = contract.assumed();
    let (mut cost, _) = follow(program, Walk::new(operators, assumed.env, assumed.records))?;
    cost.name_symbols(&contract);
    Ok(cost)
}

/// Memory that a program makes.
pub(crate) struct Lived<'p> {
    /// The node that makes it.
    pub node: &'p Node,
    /// The result that shows it first.
    pub value: ValueId,
    /// Its bytes, and how long it is in use.
    pub life: Life,
}

/// What a program costs under assumptions, in their symbols, and the memory that it makes. The graphs of `cond` are
/// followed, too: one after the other, so that what they make is never in use together.
pub(crate) fn followed<'p>(
    program: &'p Program,
    operators: &'p Operators,
    assumed: Assumptions<'p>,
) -> Result<(Cost, Vec<Lived<'p>>), ContractError> {
    follow(program, Walk::new(operators, assumed.env, assumed.records).with_branches())
}

fn follow<'p>(program: &'p Program, mut walk: Walk<'p>) -> Result<(Cost, Vec<Lived<'p>>), ContractError> {
    let inputs = walk.inputs(program)?;
    let outputs = walk.graph(&program.graph, inputs)?;
    let lived = walk.lived(&outputs);
    Ok((walk.finish(&outputs), lived))
}

impl Cost {
    /// Says which sizes the symbols are. Of a symbol that no size is by itself, but that a size is computed from, this
    /// size becomes a symbol of its own in its place: `s0` of `2*s0` is half of it.
    fn name_symbols(&mut self, contract: &Contract) {
        self.places = contract.places();
        self.limits = Limits::of(contract, &mut self.env);
        let mut replaced: Vec<(Symbol, Expr)> = Vec::new();
        for symbol in contract.input_symbols() {
            let Some(solved) = contract.solved_for(symbol) else { continue };
            let Solved { source, name, factor, offset } = solved.clone();
            if factor.is_one() && offset.is_zero() {
                self.symbols.push((symbol, source));
            } else {
                let size = self.env.pool.symbol(&name);
                let offset = self.env.pool.int(offset);
                let factor = self.env.pool.int(factor);
                let rest = self.env.pool.sub(size, offset);
                let value = self.env.pool.floor_div(rest, factor);
                replaced.push((symbol, value));
                if let Some(size) = self.env.pool.as_symbol(size) {
                    self.places.push((size, source.clone()));
                    self.symbols.push((size, source));
                    self.limits.example_of(size, symbol, &solved);
                }
            }
        }
        if replaced.is_empty() {
            return;
        }
        let pool = &mut self.env.pool;
        let mut renamed = |e: &mut Expr| {
            *e = pool.substitute_symbols(*e, |s| {
                replaced.iter().find(|(known, _)| *known == s).map(|(_, value)| *value)
            });
        };
        let totals = [&mut self.flops, &mut self.activation_bytes, &mut self.input_bytes];
        let totals = totals.into_iter().chain([&mut self.parameter_bytes, &mut self.buffer_bytes]);
        totals.chain([&mut self.constant_bytes, &mut self.output_bytes]).for_each(&mut renamed);
        self.peak_bytes.iter_mut().for_each(&mut renamed);
        self.limits.expressions().for_each(&mut renamed);
        for shares in [&mut self.by_op, &mut self.by_module, &mut self.by_line] {
            for share in shares.values_mut() {
                renamed(&mut share.flops);
                renamed(&mut share.bytes);
            }
        }
    }
}
