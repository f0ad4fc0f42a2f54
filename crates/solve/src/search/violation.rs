//! How far an assignment is from satisfying a condition.
use super::super::program::Program;
use sizewise_expr::{Expr, Func, Pool};

/// A condition over the registers of a program.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// The register is to be 0.
    Zero(usize),
    /// The register is to be anything but 0.
    Nonzero(usize),
    /// The register is to be 0 or less.
    NotPositive(usize),
    /// All are to hold.
    All(Vec<Constraint>),
    /// One is to hold.
    Any(Vec<Constraint>),
}

impl Constraint {
    /// The condition `e`, whose parts have been compiled.
    pub fn of(pool: &Pool, program: &Program, e: Expr) -> Constraint {
        let plain = || program.register(e).map_or(Constraint::All(Vec::new()), Constraint::Nonzero);
        let of = |a: Expr| Constraint::of(pool, program, a);
        match pool.as_call(e) {
            Some((Func::IsZero, args)) => program.register(args[0]).map_or_else(plain, Constraint::Zero),
            Some((Func::NotPositive, args)) => {
                program.register(args[0]).map_or_else(plain, Constraint::NotPositive)
            }
            Some((Func::And, args)) => Constraint::All(args.iter().map(|&a| of(a)).collect()),
            Some((Func::Or, args)) => Constraint::Any(args.iter().map(|&a| of(a)).collect()),
            _ => plain(),
        }
    }

    /// 0 when the constraint holds, else a number that grows with the logarithm of the distance.
    pub fn distance(&self, regs: &[i128]) -> u32 {
        let bits = |v: i128| 2 + (128 - v.unsigned_abs().leading_zeros());
        match self {
            Constraint::Zero(r) if regs[*r] == 0 => 0,
            Constraint::Zero(r) => bits(regs[*r]),
            Constraint::Nonzero(r) => u32::from(regs[*r] == 0) * 2,
            Constraint::NotPositive(r) if regs[*r] <= 0 => 0,
            Constraint::NotPositive(r) => bits(regs[*r]),
            Constraint::All(parts) => parts.iter().map(|p| p.distance(regs)).sum(),
            Constraint::Any(parts) => parts.iter().map(|p| p.distance(regs)).min().unwrap_or(1),
        }
    }

    /// The registers that violate the constraint, and have to become 0 or at most 0.
    pub fn violated_registers(&self, regs: &[i128], out: &mut Vec<usize>) {
        match self {
            _ if self.distance(regs) == 0 => {}
            Constraint::Zero(r) | Constraint::NotPositive(r) => out.push(*r),
            Constraint::Nonzero(_) => {}
            Constraint::All(parts) | Constraint::Any(parts) => {
                parts.iter().for_each(|p| p.violated_registers(regs, out))
            }
        }
    }
}
