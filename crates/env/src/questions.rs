//! Facts about named sizes, and whether a condition follows from them: texts in, texts out.
use super::premises::{Premises, Requires, narrow};
use sizewise_expr::read::{self, ReadError};
use sizewise_expr::{Int, Pool};
use sizewise_solve::{self as solve, Budget, Premise, Rung, Verdict};
use std::fmt;

/// Sizes with ranges, and conditions that are assumed of them.
///
/// ```
/// use sizewise_env::Env;
/// use sizewise_solve::Budget;
///
/// let mut env = Env::new();
/// env.declare("batch", 2, Some(64)).declare("seq", 1, None);
/// env.assume("batch % 8 == 0")?;
/// env.assume("seq == 2*batch + 1")?;
///
/// let budget = Budget::default();
/// let answer = env.ask("seq >= 17", &budget)?;
/// assert!(answer.is_implied());
/// assert_eq!(answer.to_string(), "implied by range: batch % 8 == 0, seq == 2*batch + 1, batch >= 2");
///
/// let answer = env.ask("seq >= 18", &budget)?;
/// assert_eq!(answer.to_string(), "refuted: batch = 8, seq = 17");
/// # Ok::<(), sizewise_expr::read::ReadError>(())
/// ```
#[derive(Clone, Default)]
pub struct Env {
    pub(super) pool: Pool,
    pub(super) premises: Premises,
    /// How many expressions were stored when it was compacted.
    pub(super) began_with: usize,
}

/// What is answered, with everything by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// What settled it, or tried last.
    pub decided_by: Rung,
    /// The premises that an implication or a contradiction rests on, as texts.
    pub because: Vec<String>,
    /// Sizes that satisfy the facts and break the goal, by name.
    pub witness: Vec<(String, Int)>,
}

impl Decision {
    /// Whether the goal follows from the facts.
    pub fn is_implied(&self) -> bool {
        self.verdict.is_implied()
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = self.because.join(", ");
        match &self.verdict {
            Verdict::Implied { .. } if because.is_empty() => write!(f, "implied by {}", self.decided_by),
            Verdict::Implied { .. } => write!(f, "implied by {}: {because}", self.decided_by),
            Verdict::Refuted { .. } => {
                let sizes: Vec<String> =
                    self.witness.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(f, "refuted: {}", sizes.join(", "))
            }
            Verdict::Inconsistent { .. } => write!(f, "the facts contradict each other: {because}"),
            Verdict::Unknown { reason } => write!(f, "unknown: {reason}"),
        }
    }
}

impl Env {
    /// No facts.
    pub fn new() -> Env {
        Env::default()
    }

    /// Declares a size: an integer from `min` to `max`, or without an upper bound. Declared again, it has both
    /// ranges; if no integer is in them, the facts contradict each other, and every answer says so.
    pub fn declare(&mut self, name: &str, min: i64, max: Option<i64>) -> &mut Env {
        let symbol = self.pool.symbol(name);
        let (min, max) = (Some(min.into()), max.map(Int::from));
        match self.pool.as_symbol(symbol) {
            Some(symbol) => self.premises.declare(&mut self.pool, symbol, min, max),
            None => self.premises.never(&mut self.pool, format!("{name} is a size")),
        }
        self
    }

    /// How many expressions are stored, for facts and questions so far. It stays in proportion to the facts, however
    /// many questions are asked.
    pub fn stored(&self) -> usize {
        self.pool.len()
    }

    /// Assumes a condition, written as Python or sympy prints it. Its divisors are not 0. Sizes that are not declared
    /// are any integers.
    ///
    /// # Errors
    /// When the text is no expression, with line and column.
    pub fn assume(&mut self, condition: &str) -> Result<(), ReadError> {
        let read = read::closed(&mut self.pool, condition)?;
        Requires::of(&read).learn(&mut self.pool, &mut self.premises.facts);
        self.premises.assume(&mut self.pool, read.expr, Some(condition.to_owned()));
        Ok(())
    }

    /// Whether the facts imply a condition, for all sizes at which no divisor in it is 0.
    ///
    /// # Errors
    /// When the text is no expression, with line and column.
    pub fn ask(&mut self, goal: &str, budget: &Budget) -> Result<Decision, ReadError> {
        self.stay_small();
        let read = read::closed(&mut self.pool, goal)?;
        // What the goal's operations require holds for this question only.
        let requires = Requires::of(&read);
        let facts = (!requires.is_empty()).then(|| self.premises.facts.clone());
        let (pool, known) = (&mut self.pool, &mut self.premises.facts);
        requires.learn(pool, known);
        let goal = pool.truth(read.expr);
        solve::prepare(pool, known, budget);
        let mut answer = solve::decide(pool, known, goal, budget);
        narrow(pool, known, goal, budget, &mut answer);
        let because: &[Premise] = match &answer.verdict {
            Verdict::Implied { because } | Verdict::Inconsistent { because } => because,
            Verdict::Refuted { .. } | Verdict::Unknown { .. } => &[],
        };
        let because = because.iter().map(|premise| self.premises.shown(pool, premise)).collect();
        let witness = match &answer.verdict {
            Verdict::Refuted { witness } => {
                let named =
                    |(symbol, value): &(_, Int)| (self.pool.symbol_name(*symbol).to_owned(), value.clone());
                witness.iter().map(named).collect()
            }
            _ => Vec::new(),
        };
        if let Some(facts) = facts {
            self.premises.facts = facts;
        }
        Ok(Decision { verdict: answer.verdict, decided_by: answer.decided_by, because, witness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(facts: &[&str], goal: &str) -> String {
        let mut env = Env::new();
        env.declare("a", 1, Some(9)).declare("b", 2, None);
        for fact in facts {
            env.assume(fact).expect(fact);
        }
        env.ask(goal, &Budget::default()).expect(goal).to_string()
    }

    #[test]
    fn answers_name_sizes_and_premises() {
        for (facts, goal, expected) in [
            (&[][..], "a < 10", "implied by range: a <= 9"),
            (&["Eq(a, 3*b)"], "a % 3 == 0", "implied by range: Eq(a, 3*b)"),
            (&[], "b // a >= 0", "implied by range: a >= 1, b >= 2"),
            (&[], "a // b >= 0", "implied by range: a >= 1, b >= 2"),
            (&["a > 9"], "b == 7", "the facts contradict each other: a > 9, a <= 9"),
            (&[], "a*b != 6", "refuted: a = 3, b = 2"),
        ] {
            assert_eq!(answer(facts, goal), expected, "{facts:?} => {goal}");
        }
    }

    #[test]
    fn a_range_without_integers_contradicts_everything() {
        let mut env = Env::new();
        let answer = env.declare("a", 3, Some(2)).ask("a == a + 1", &Budget::default()).expect("a goal");
        assert_eq!(answer.to_string(), "the facts contradict each other: 3 <= a <= 2");
    }

    #[test]
    fn divisors_of_one_goal_are_not_assumed_for_the_next() {
        let mut env = Env::new();
        env.declare("d", 0, Some(4));
        assert!(env.ask("8 // d >= 0", &Budget::default()).expect("a goal").is_implied());
        assert_eq!(env.ask("Ne(d, 0)", &Budget::default()).expect("a goal").to_string(), "refuted: d = 0");
    }

    #[test]
    fn what_is_no_expression_is_refused_with_its_place() {
        let mut env = Env::new();
        let message = env.assume("a + ").expect_err("no expression").to_string();
        assert!(message.starts_with("line 1, column 5:"), "{message}");
        assert!(env.ask("a >", &Budget::default()).is_err());
    }
}
