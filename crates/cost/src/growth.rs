//! How figures grow with each size.
use super::Cost;
use indexmap::IndexMap;
use sizewise_expr::{Evaluator, Expr, Int, Symbol, Value};

/// By how many powers of 2 a size is made larger, to see how figures grow.
const FAR: u32 = 32;
/// The greatest power that is looked for.
const MAX_POWER: u32 = 12;
/// Figures agree with a power where they differ by less than one part in so many.
const CLOSE: i64 = 1000;
/// A size of which no example is known.
const USUAL: i64 = 8;

/// The power of a size with which each figure grows, other sizes being those of the example: 0 where it does not depend
/// on it in the end, 1 where it doubles with it. `None` where it grows in another way, or with sizes that
/// data or branches decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Of floating point operations.
    pub flops: Option<u32>,
    /// Of the bytes of all that is made.
    pub activation_bytes: Option<u32>,
    /// Of the most bytes that are live together.
    pub peak_bytes: Option<u32>,
}

impl Growth {
    /// A power in words.
    pub fn word(power: Option<u32>) -> String {
        match power {
            Some(0) => "constant".to_owned(),
            Some(1) => "linear".to_owned(),
            Some(2) => "quadratic".to_owned(),
            Some(3) => "cubic".to_owned(),
            Some(power) => format!("to the power {power}"),
            None => "not known".to_owned(),
        }
    }
}

impl Cost {
    /// How the figures grow with each size, by the size: `x.shape[0]`.
    pub fn growth(&self) -> IndexMap<String, Growth> {
        let of = |symbol: Symbol| {
            let power = |figure: &[Expr]| {
                // How a size that data or branches decide grows is not known.
                let is_size = |symbol: &Symbol| self.symbols.iter().any(|(known, _)| known == symbol);
                let is_of_sizes = self.env.pool.free_symbols(figure).iter().all(is_size);
                let ends = is_of_sizes
                    .then(|| Some((self.far(figure, symbol, FAR)?, self.far(figure, symbol, FAR + 1)?)));
                ends.flatten().and_then(|(at, twice)| power(&at, &twice))
            };
            Growth {
                flops: power(&[self.flops]),
                activation_bytes: power(&[self.activation_bytes]),
                peak_bytes: power(&self.peak_bytes),
            }
        };
        self.symbols.iter().map(|(symbol, source)| (source.clone(), of(*symbol))).collect()
    }

    /// The greatest of some expressions where a size is so many powers of 2 larger than in the example.
    fn far(&self, figure: &[Expr], size: Symbol, powers: u32) -> Option<Int> {
        let value = |symbol: Symbol| {
            let known = self.limits.example.get(&symbol).and_then(Int::to_i64).filter(|&size| size > 0);
            let value = i128::from(known.unwrap_or(USUAL)) << if symbol == size { powers } else { 0 };
            Some(Value::Int(Int::from(value)))
        };
        let mut known = Evaluator::new(&self.env.pool, value);
        let values: Option<Vec<Int>> = figure.iter().map(|&e| known.int(e).ok()).collect();
        values?.into_iter().max()
    }
}

/// The power of a size with which something grows that has these values at a large size, and at twice that.
fn power(at: &Int, twice: &Int) -> Option<u32> {
    let mut grown = at.clone();
    for power in 0..=MAX_POWER {
        let apart = if *twice < grown { &grown - twice } else { twice - &grown };
        if &apart * &Int::from(CLOSE) <= *twice {
            return Some(power);
        }
        grown = &grown * &Int::from(2);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::power;
    use sizewise_expr::Int;

    #[test]
    fn figures_grow_with_a_power_of_a_size() {
        for (at, twice, expected) in [
            (0, 0, Some(0)),
            (7, 7, Some(0)),
            (1_000_000_007, 2_000_000_007, Some(1)),
            (1_i64 << 40, 1_i64 << 42, Some(2)),
            (1_i64 << 20, 1_i64 << 33, None),
            (100, 150, None),
            (100, 10, None),
        ] {
            assert_eq!(power(&Int::from(at), &Int::from(twice)), expected, "{at} {twice}");
        }
    }
}
