//! Conditions compiled to straight-line code over 128-bit integers, so that many assignments can be tried quickly.
//!
//! The code is only a filter: what it cannot compute (floats, overflow) it reports as such, and whatever it
//! finds is replayed by the exact evaluator before anybody hears of it.
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Sort, Symbol};

/// A register: the position of an instruction's result.
type Reg = u32;

#[derive(Clone, Debug)]
enum Op {
    Const(i128),
    /// The value of the symbol in a slot.
    Slot(u32),
    /// `constant + Σ coefficient · register`, the terms from `start` to `end` of the pool of terms.
    Sum(i128, u32, u32),
    /// `Π register ^ power`.
    Product(u32, u32),
    FloorDiv(Reg, Reg),
    Mod(Reg, Reg),
    Min(u32, u32),
    Max(u32, u32),
    Abs(Reg),
    Pow(Reg, Reg),
    Ite(Reg, Reg, Reg),
    IsZero(Reg),
    NotPositive(Reg),
    Not(Reg),
    And(u32, u32),
    Or(u32, u32),
    /// Excludes the assignment when the register, a divisor, is zero.
    Nonzero(Reg),
    /// Fails the check of this number unless the register, a condition, is nonzero.
    Check(Reg, u32),
    /// Something this code cannot compute.
    Opaque,
}

/// The result of running a program to its end, or up to its first failing check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {
    /// Every check passed.
    Passed,
    /// The check with this number, in the order in which they were added, failed.
    Failed(u32),
    /// A divisor is zero: the assignment is outside the query.
    Excluded,
    /// A value does not fit, or the code cannot compute it.
    Beyond,
}

/// Compiled conditions.
#[derive(Clone, Debug, Default)]
pub struct Program {
    code: Vec<Op>,
    terms: Vec<(Reg, i128)>,
    known: FxHashMap<Expr, Reg>,
    /// The compiled expressions, in order, so that a mark can be returned to.
    order: Vec<Expr>,
    slots: FxHashMap<Symbol, u32>,
    symbols: Vec<Symbol>,
    checks: u32,
}

/// A state of a program to return to.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    code: usize,
    terms: usize,
    order: usize,
    checks: u32,
}

impl Mark {
    /// The number of instructions at the mark.
    pub fn code(self) -> usize {
        self.code
    }
}

impl Program {
    /// The symbols in the order of their slots.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The slot of a symbol, made if there is none.
    pub fn slot(&mut self, symbol: Symbol) -> u32 {
        let next = self.symbols.len() as u32;
        let slot = *self.slots.entry(symbol).or_insert(next);
        if slot == next {
            self.symbols.push(symbol);
        }
        slot
    }

    /// The slot of a symbol that has one.
    pub fn known_slot(&self, symbol: Symbol) -> Option<u32> {
        self.slots.get(&symbol).copied()
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// The present length of the code.
    pub fn mark(&self) -> Mark {
        Mark { code: self.code.len(), terms: self.terms.len(), order: self.order.len(), checks: self.checks }
    }

    /// Forgets what was compiled after `mark`; slots stay.
    pub fn reset(&mut self, mark: Mark) {
        self.code.truncate(mark.code);
        self.terms.truncate(mark.terms);
        for e in self.order.drain(mark.order..) {
            self.known.remove(&e);
        }
        self.checks = mark.checks;
    }

    /// The register of an expression that has been compiled.
    pub fn register(&self, e: Expr) -> Option<usize> {
        self.known.get(&e).map(|&r| r as usize)
    }

    /// Adds the check that `condition` holds and that no divisor in it is zero.
    pub fn check(&mut self, pool: &Pool, condition: Expr) {
        let reg = self.compile(pool, condition);
        self.code.push(Op::Check(reg, self.checks));
        self.checks += 1;
    }

    /// Excludes assignments at which `divisor` is zero.
    pub fn exclude_zero(&mut self, pool: &Pool, divisor: Expr) {
        let reg = self.compile(pool, divisor);
        self.code.push(Op::Nonzero(reg));
    }

    /// Compiles `e` and returns the register of its value.
    pub fn compile(&mut self, pool: &Pool, e: Expr) -> Reg {
        if let Some(&reg) = self.known.get(&e) {
            return reg;
        }
        // Children before parents, so that every operand is known when its parent is reached.
        let mut stack = vec![(e, false)];
        while let Some((e, ready)) = stack.pop() {
            if self.known.contains_key(&e) {
                continue;
            }
            if ready || e.as_inline().is_some() {
                self.emit(pool, e);
            } else {
                stack.push((e, true));
                pool.for_each_child(e, |child| stack.push((child, false)));
            }
        }
        self.known[&e]
    }

    fn emit(&mut self, pool: &Pool, e: Expr) {
        let start = self.terms.len() as u32;
        let op = match pool.node(e) {
            None => e.as_inline().map_or(Op::Opaque, |v| Op::Const(i128::from(v))),
            Some(Node::Int(v)) => to_i128(v).map_or(Op::Opaque, Op::Const),
            Some(Node::Bool(b)) => Op::Const(i128::from(*b)),
            Some(Node::Float(_)) => Op::Opaque,
            Some(Node::Symbol(s)) => {
                let s = *s;
                Op::Slot(self.slot(s))
            }
            Some(Node::Sum { constant, terms }) => {
                let mut fits = to_i128(constant);
                for (monomial, c) in terms {
                    match to_i128(c) {
                        Some(c) => self.terms.push((self.known[monomial], c)),
                        None => fits = None,
                    }
                }
                fits.map_or(Op::Opaque, |c| Op::Sum(c, start, self.terms.len() as u32))
            }
            Some(Node::Product(factors)) => {
                for (atom, power) in factors {
                    self.terms.push((self.known[atom], i128::from(*power)));
                }
                Op::Product(start, self.terms.len() as u32)
            }
            Some(Node::Call(func, args)) => {
                let reg = |i: usize| self.known[&args[i]];
                let spread = |terms: &mut Vec<(Reg, i128)>, known: &FxHashMap<Expr, Reg>| {
                    terms.extend(args.iter().map(|a| (known[a], 1)));
                    terms.len() as u32
                };
                match func {
                    // A divisor counts even where its quotient is not used: checked at once.
                    Func::FloorDiv => Op::FloorDiv(reg(0), reg(1)),
                    Func::Mod => Op::Mod(reg(0), reg(1)),
                    Func::Abs => Op::Abs(reg(0)),
                    Func::Pow => Op::Pow(reg(0), reg(1)),
                    Func::Ite => Op::Ite(reg(0), reg(1), reg(2)),
                    Func::IsZero => Op::IsZero(reg(0)),
                    Func::NotPositive => Op::NotPositive(reg(0)),
                    Func::Not => Op::Not(reg(0)),
                    Func::Min => Op::Min(start, spread(&mut self.terms, &self.known)),
                    Func::Max => Op::Max(start, spread(&mut self.terms, &self.known)),
                    Func::And => Op::And(start, spread(&mut self.terms, &self.known)),
                    Func::Or => Op::Or(start, spread(&mut self.terms, &self.known)),
                    _ => Op::Opaque,
                }
            }
        };
        self.known.insert(e, self.code.len() as Reg);
        self.order.push(e);
        self.code.push(op);
    }

    /// Runs the code from instruction `from` on, at an assignment of the slots, up to the first check that
    /// fails. `regs` has the results of the instructions before `from`.
    pub fn run(&self, from: usize, slots: &[i128], regs: &mut Vec<i128>) -> Checked {
        regs.resize(self.code.len(), 0);
        for pc in from..self.code.len() {
            regs[pc] = match self.code[pc] {
                Op::Nonzero(reg) if regs[reg as usize] == 0 => return Checked::Excluded,
                Op::Check(reg, number) if regs[reg as usize] == 0 => return Checked::Failed(number),
                Op::Nonzero(_) | Op::Check(..) => 0,
                ref op => match self.step(op, slots, regs) {
                    Some(value) => value,
                    None => return self.stopped(op, regs),
                },
            };
        }
        Checked::Passed
    }

    /// As [`Program::run`], past failing checks; [`Checked::Failed`] gives how many failed.
    pub fn run_all(&self, slots: &[i128], regs: &mut Vec<i128>) -> Checked {
        regs.resize(self.code.len(), 0);
        let mut failed = 0;
        for pc in 0..self.code.len() {
            regs[pc] = match self.code[pc] {
                Op::Nonzero(reg) if regs[reg as usize] == 0 => return Checked::Excluded,
                Op::Check(reg, _) => {
                    failed += u32::from(regs[reg as usize] == 0);
                    0
                }
                Op::Nonzero(_) => 0,
                ref op => match self.step(op, slots, regs) {
                    Some(value) => value,
                    None => return self.stopped(op, regs),
                },
            };
        }
        if failed == 0 { Checked::Passed } else { Checked::Failed(failed) }
    }

    fn stopped(&self, op: &Op, regs: &[i128]) -> Checked {
        match *op {
            Op::FloorDiv(_, d) | Op::Mod(_, d) if regs[d as usize] == 0 => Checked::Excluded,
            _ => Checked::Beyond,
        }
    }

    fn step(&self, op: &Op, slots: &[i128], regs: &[i128]) -> Option<i128> {
        let at = |r: Reg| regs[r as usize];
        let range = |start: u32, end: u32| &self.terms[start as usize..end as usize];
        Some(match *op {
            Op::Const(v) => v,
            Op::Slot(s) => slots[s as usize],
            Op::Sum(constant, start, end) => {
                let mut total = constant;
                for &(r, c) in range(start, end) {
                    total = total.checked_add(multiply(at(r), c)?)?;
                }
                total
            }
            Op::Product(start, end) => {
                let mut total = 1i128;
                for &(r, power) in range(start, end) {
                    let base = at(r);
                    let factor =
                        if power == 1 { base } else { base.checked_pow(u32::try_from(power).ok()?)? };
                    total = multiply(total, factor)?;
                }
                total
            }
            Op::FloorDiv(a, b) => floor_div(at(a), at(b))?,
            Op::Mod(a, b) => modulo(at(a), at(b))?,
            Op::Min(start, end) => range(start, end).iter().map(|t| at(t.0)).min()?,
            Op::Max(start, end) => range(start, end).iter().map(|t| at(t.0)).max()?,
            Op::Abs(a) => at(a).checked_abs()?,
            Op::Pow(a, n) => at(a).checked_pow(u32::try_from(at(n)).ok()?)?,
            Op::Ite(c, p, q) => at(if at(c) != 0 { p } else { q }),
            Op::IsZero(a) => i128::from(at(a) == 0),
            Op::NotPositive(a) => i128::from(at(a) <= 0),
            Op::Not(a) => i128::from(at(a) == 0),
            Op::And(start, end) => i128::from(range(start, end).iter().all(|t| at(t.0) != 0)),
            Op::Or(start, end) => i128::from(range(start, end).iter().any(|t| at(t.0) != 0)),
            Op::Nonzero(_) | Op::Check(..) | Op::Opaque => return None,
        })
    }
}

/// Whether there is an instruction for the operation at the top of `e`.
pub fn computes(pool: &Pool, e: Expr) -> bool {
    use Func::*;
    match pool.node(e) {
        Some(Node::Float(_)) => false,
        Some(Node::Call(func, _)) => {
            pool.sort(e) != Sort::Float
                && matches!(
                    func,
                    FloorDiv | Mod | Abs | Pow | Ite | IsZero | NotPositive | Not | Min | Max | And | Or
                )
        }
        _ => true,
    }
}

/// Whether compiled code cannot compute some of these.
pub fn is_beyond_code(pool: &Pool, roots: &[Expr]) -> bool {
    (pool.has_floats() || pool.has_bits()) && pool.reachable(roots).into_iter().any(|e| !computes(pool, e))
}

/// Whether there is a constant of which a product may overflow: no instruction computes with more than 128 bits.
pub fn has_wide_constant(pool: &Pool, roots: &[Expr]) -> bool {
    let is_wide = |v: &Int| v.bits() > u64::from(u64::BITS);
    pool.reachable(roots).into_iter().any(|e| match pool.node(e) {
        Some(Node::Int(v)) => is_wide(v),
        Some(Node::Sum { constant, terms }) => is_wide(constant) || terms.iter().any(|(_, c)| is_wide(c)),
        _ => false,
    })
}

/// The value as an `i128`, if it fits.
pub fn to_i128(v: &Int) -> Option<i128> {
    match v {
        Int::Small(v) => Some(i128::from(*v)),
        Int::Big(v) => i128::try_from(v.as_ref()).ok(),
    }
}

/// The product, if it fits; 64-bit operands take the short way.
fn multiply(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(x), Ok(y)) => Some(i128::from(x) * i128::from(y)),
        _ => a.checked_mul(b),
    }
}

/// The quotient rounded towards minus infinity.
pub fn floor_div(a: i128, b: i128) -> Option<i128> {
    if let (Ok(x), Ok(y)) = (i64::try_from(a), i64::try_from(b))
        && y != 0
        && !(x == i64::MIN && y == -1)
    {
        return Some(i128::from(num_integer::Integer::div_floor(&x, &y)));
    }
    let quotient = a.checked_div(b)?;
    let exact = quotient * b == a;
    Some(if !exact && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The remainder with the divisor's sign.
pub fn modulo(a: i128, b: i128) -> Option<i128> {
    if let (Ok(x), Ok(y)) = (i64::try_from(a), i64::try_from(b))
        && y != 0
        && y != -1
    {
        return Some(i128::from(num_integer::Integer::mod_floor(&x, &y)));
    }
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}
