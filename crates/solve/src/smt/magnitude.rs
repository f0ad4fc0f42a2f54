//! An estimate of how large the numbers of a question may get, made before Z3 is called: its resource counter
//! counts operations, not the length of their operands. The estimate includes products but not the carries of
//! sums, as a few bits do not matter.
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Node, Pool, Symbol};

/// The size assumed for a symbol without a known range: Z3 begins with small values.
const FREE_BITS: u64 = 8;
/// Conditions are looked at this often: each time, the bound of a symbol can reach the next one.
const MAX_ROUNDS: usize = 64;

/// Lengths in bits.
pub(super) struct Magnitudes<'a> {
    pool: &'a Pool,
    bits: FxHashMap<Expr, u64>,
    /// The most bits that ranges allow.
    most: FxHashMap<Symbol, u64>,
    limit: u64,
}

/// The greatest length in bits, up to `limit`, of the numbers that conditions force on their subexpressions.
/// If one of them is compared with a sum of others, it may be as large as these, and so on from condition to
/// condition.
pub(super) fn estimate(
    pool: &Pool,
    ranges: &[(Symbol, Option<Int>, Option<Int>)],
    conditions: &[Expr],
    limit: u64,
) -> u64 {
    let bounded = |(s, low, high): &(Symbol, Option<Int>, Option<Int>)| {
        Some((*s, low.as_ref()?.bits().max(high.as_ref()?.bits())))
    };
    let most: FxHashMap<Symbol, u64> = ranges.iter().filter_map(bounded).collect();
    let mut magnitudes = Magnitudes { pool, bits: FxHashMap::default(), most, limit };
    for (symbol, low, high) in ranges {
        let bits = [low, high].into_iter().flatten().map(Int::bits).max().unwrap_or(0);
        magnitudes.start(*symbol, bits.max(FREE_BITS));
    }
    let parts = pool.reachable(conditions);
    for _ in 0..MAX_ROUNDS {
        magnitudes.upwards(&parts);
        if magnitudes.greatest() >= limit || !magnitudes.across(&parts) {
            break;
        }
    }
    magnitudes.greatest()
}

impl Magnitudes<'_> {
    fn start(&mut self, symbol: Symbol, bits: u64) {
        if let Some(e) = self.pool.known_symbol_expr(symbol) {
            let bits = self.most.get(&symbol).map_or(bits, |&most| bits.min(most));
            self.bits.insert(e, bits);
        }
    }

    fn greatest(&self) -> u64 {
        self.bits.values().copied().max().unwrap_or(0)
    }

    fn of(&self, e: Expr) -> u64 {
        match e.as_inline() {
            Some(v) => Int::from(v).bits(),
            None => self.bits.get(&e).copied().unwrap_or(FREE_BITS),
        }
    }

    fn of_monomial(&self, e: Expr) -> u64 {
        match self.pool.node(e) {
            Some(Node::Product(factors)) => factors.iter().fold(0u64, |sum, (atom, power)| {
                sum.saturating_add(self.of(*atom).saturating_mul((*power).into()))
            }),
            _ => self.of(e),
        }
    }

    /// From operands to their results; children come first.
    fn upwards(&mut self, parts: &[Expr]) {
        for &e in parts {
            let bits = match self.pool.node(e) {
                Some(Node::Int(v)) => v.bits(),
                Some(Node::Sum { constant, terms }) => {
                    let term = |(m, c): &(Expr, Int)| self.of_monomial(*m).saturating_add(c.bits());
                    terms.iter().map(term).fold(constant.bits(), u64::max)
                }
                Some(Node::Product(_)) => self.of_monomial(e),
                Some(Node::Call(func, args)) => self.of_call(*func, args),
                _ => continue,
            };
            let known = self.bits.entry(e).or_default();
            *known = bits.max(*known).min(self.limit);
        }
    }

    fn of_call(&self, func: Func, args: &[Expr]) -> u64 {
        let operand = |i: usize| args.get(i).map_or(0, |&a| self.of(a));
        match func {
            Func::FloorDiv => operand(0),
            Func::Mod => operand(1),
            Func::Pow => {
                operand(0).saturating_mul(1u64.checked_shl(operand(1).min(63) as u32).unwrap_or(u64::MAX))
            }
            Func::IsZero | Func::NotPositive | Func::Not | Func::And | Func::Or => 1,
            _ => args.iter().map(|&a| self.of(a)).max().unwrap_or(0),
        }
    }

    /// From one side of a comparison to the other; whether anything became larger.
    fn across(&mut self, parts: &[Expr]) -> bool {
        let mut raised = false;
        for &e in parts {
            let Some((Func::IsZero | Func::NotPositive, &[p])) = self.pool.as_call(e) else { continue };
            let Some(Node::Sum { constant, terms }) = self.pool.node(p) else { continue };
            for (i, (monomial, coefficient)) in terms.iter().enumerate() {
                // Another term with the same atom grows with it, and does not force it to be larger.
                if terms.iter().enumerate().any(|(j, (m, _))| j != i && self.shares_atom(*m, *monomial)) {
                    continue;
                }
                let others = terms.iter().enumerate().filter(|(j, _)| *j != i);
                let bits = others.map(|(_, (m, c))| self.of_monomial(*m).saturating_add(c.bits()));
                let bits = bits.fold(constant.bits(), u64::max);
                raised |= self.raise_monomial(*monomial, bits.saturating_sub(coefficient.bits() - 1));
            }
        }
        raised
    }

    fn shares_atom(&self, a: Expr, b: Expr) -> bool {
        let (a, b) = (self.pool.monomial(a), self.pool.monomial(b));
        a.iter().any(|(atom, _)| b.iter().any(|(other, _)| atom == other))
    }

    /// Lets a monomial be as large as `bits`: an atom has to be, if all other factors have few values.
    fn raise_monomial(&mut self, monomial: Expr, bits: u64) -> bool {
        match self.pool.node(monomial) {
            Some(Node::Product(factors)) => {
                let bounded = |e: Expr| self.pool.as_symbol(e).is_some_and(|s| self.most.contains_key(&s));
                let mut free = factors.iter().filter(|(atom, _)| !bounded(*atom));
                match (free.next(), free.next()) {
                    (Some(&(atom, power)), None) => self.raise(atom, bits / u64::from(power)),
                    _ => false,
                }
            }
            _ => self.raise(monomial, bits),
        }
    }

    /// Lets an atom be as large as `bits`, and so what it is computed of.
    fn raise(&mut self, e: Expr, bits: u64) -> bool {
        let mut pending = vec![(e, bits)];
        let mut raised = false;
        while let Some((e, bits)) = pending.pop() {
            let most = self.pool.as_symbol(e).and_then(|s| self.most.get(&s)).copied().unwrap_or(self.limit);
            let bits = bits.min(most);
            if e.as_inline().is_some() || self.of(e) >= bits {
                continue;
            }
            raised = true;
            self.bits.insert(e, bits);
            match self.pool.node(e) {
                Some(Node::Call(Func::FloorDiv, args)) => {
                    pending.push((args[0], bits));
                }
                Some(Node::Call(Func::Mod, args)) => pending.extend([(args[0], bits), (args[1], bits)]),
                Some(Node::Call(Func::Min | Func::Max | Func::Abs | Func::Ite, args)) => {
                    pending.extend(args.iter().map(|&a| (a, bits)));
                }
                Some(Node::Sum { terms, .. }) => {
                    for (monomial, _) in terms {
                        if !matches!(self.pool.node(*monomial), Some(Node::Product(_))) {
                            pending.push((*monomial, bits));
                        }
                    }
                }
                _ => {}
            }
        }
        raised
    }
}
