//! What the policies make of sizes: shared symbols, constants, and bounds.
use super::ShapeEnv;
use super::policy::{Artefact, Policies};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol, Value};
use sizewise_solve::{Budget, Facts, Verdict, decide};

impl ShapeEnv {
    /// The policies by which symbols are made.
    pub fn policies(&self) -> Policies {
        self.policies
    }

    /// What the policies have made of sizes so far, in order.
    ///
    /// ```
    /// use sizewise_env::{DimDynamic, Policies, Policy, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::with_policies(Policies::COMPILE);
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Duck, None)?;
    /// let y = env.create("L['y'].size()[0]", 6, DimDynamic::Duck, None)?;
    /// assert_eq!(x, y);
    /// let shared = &env.artefacts()[1];
    /// assert_eq!(shared.policy(), Policy::DuckSizing);
    /// assert_eq!(shared.to_string(), "L['y'].size()[0] == L['x'].size()[0]");
    /// # Ok(()) }
    /// ```
    pub fn artefacts(&self) -> &[Artefact] {
        &self.records.artefacts
    }

    /// The answers that rest on 0/1 specialisation of a symbol: conditions that were asked for, hold under the facts,
    /// and do not follow from them if the symbol may be 0 and 1 too. Where there is none, the policy's bound costs
    /// sizes for nothing.
    pub fn resting_on_two(&mut self, symbol: Symbol) -> Vec<Expr> {
        let mut bare = Facts::new();
        let ranges: Vec<_> =
            self.facts.ranges().map(|(s, low, high)| (s, low.cloned(), high.cloned())).collect();
        for (s, low, high) in ranges {
            let low = if s == symbol { Some(Int::ZERO) } else { low };
            bare.declare(
                &mut self.pool,
                s,
                ValueRange::between_options(low, high).unwrap_or_else(ValueRange::all),
            );
        }
        for condition in self.facts.conditions().to_vec() {
            bare.assume(&mut self.pool, condition);
        }
        let mut resting = Vec::new();
        for condition in self.answers.answered.clone() {
            let needs = self.pool.free_symbols(&[condition]).contains(&symbol)
                && !matches!(
                    decide(&mut self.pool, &mut bare, condition, &Budget::small()).verdict,
                    Verdict::Implied { .. }
                );
            if needs && !resting.contains(&condition) {
                resting.push(condition);
            }
        }
        resting
    }

    /// The symbol that duck sizing gives a size with this hint.
    pub(super) fn duck(&self, hint: &Int) -> Option<Symbol> {
        let of_hint = |symbol: &Symbol| {
            self.symbols.info.get(symbol).and_then(|info| info.hint.clone()) == Some(Value::Int(hint.clone()))
        };
        self.symbols.ducks.iter().copied().find(of_hint)
    }
}
