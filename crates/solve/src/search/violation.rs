//! How far an assignment is from satisfying a condition.
use super::super::program::Program;
use sizewise_expr::{Expr, Func, Pool};

/// A condition over the registers of a program.
#[derive(Clone, Debug)]
pub enum Wish {
    /// The register is to be 0.
    Zero(usize),
    /// The register is to be anything but 0.
    Nonzero(usize),
    /// The register is to be 0 or less.
    NotPositive(usize),
    /// All are to hold.
    All(Vec<Wish>),
    /// One is to hold.
    Any(Vec<Wish>),
}

impl Wish {
    /// The condition `e`, whose parts have been compiled.
    pub fn of(pool: &Pool, program: &Program, e: Expr) -> Wish {
        let plain = || program.register(e).map_or(Wish::All(Vec::new()), Wish::Nonzero);
        let of = |a: Expr| Wish::of(pool, program, a);
        match pool.as_call(e) {
            Some((Func::IsZero, args)) => program.register(args[0]).map_or_else(plain, Wish::Zero),
            Some((Func::NotPositive, args)) => {
                program.register(args[0]).map_or_else(plain, Wish::NotPositive)
            }
            Some((Func::And, args)) => Wish::All(args.iter().map(|&a| of(a)).collect()),
            Some((Func::Or, args)) => Wish::Any(args.iter().map(|&a| of(a)).collect()),
            _ => plain(),
        }
    }

    /// 0 when the wish is met, else a number that grows with the logarithm of the distance.
    pub fn distance(&self, regs: &[i128]) -> u32 {
        let bits = |v: i128| 2 + (128 - v.unsigned_abs().leading_zeros());
        match self {
            Wish::Zero(r) if regs[*r] == 0 => 0,
            Wish::Zero(r) => bits(regs[*r]),
            Wish::Nonzero(r) => u32::from(regs[*r] == 0) * 2,
            Wish::NotPositive(r) if regs[*r] <= 0 => 0,
            Wish::NotPositive(r) => bits(regs[*r]),
            Wish::All(parts) => parts.iter().map(|p| p.distance(regs)).sum(),
            Wish::Any(parts) => parts.iter().map(|p| p.distance(regs)).min().unwrap_or(1),
        }
    }

    /// The registers whose value stands in the way, with what they are to become (0, or at most 0).
    pub fn obstacles(&self, regs: &[i128], out: &mut Vec<usize>) {
        match self {
            _ if self.distance(regs) == 0 => {}
            Wish::Zero(r) | Wish::NotPositive(r) => out.push(*r),
            Wish::Nonzero(_) => {}
            Wish::All(parts) | Wish::Any(parts) => parts.iter().for_each(|p| p.obstacles(regs, out)),
        }
    }
}
