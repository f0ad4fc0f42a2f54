//! Laws of `decide`, checked on random queries against enumeration with the exact evaluator.
use crate::campaign;

use campaign::{config, count};
use proptest::prelude::*;
use sizewise::expr::{Evaluator, Expr, Func, Int, Pool, Symbol, Value, read};
use sizewise::range::ValueRange;
use sizewise::solve::{self, Budget, Facts, Premise, Verdict};

const SYMBOLS: [&str; 3] = ["s0", "s1", "s2"];

/// Facts on doubles and bits about symbols that no query has, which some values satisfy.
const OTHER_FACTS: [&str; 5] = [
    "Eq(TruncToInt(ToFloat(th)*0.5), to)",
    "Eq(FloorToInt(ToFloat(th)*0.7), to)",
    "Eq(CeilToInt(IntTrueDiv(th, 3)), to)",
    "Eq(th & 7, to)",
    "Eq(th ^ 5, to)",
];

/// What holds of such symbols whatever their values are.
const OTHER_GOALS: [&str; 5] = [
    "ToFloat(th) <= ToFloat(th)",
    "Eq(th & 7, th % 8)",
    "Eq((th // 2) * 2 + th % 2, th)",
    "to % th <= Max(th, 0)",
    "Eq(TruncToInt(ToFloat(th % 100)), th % 100)",
];

/// How far an unbounded range is enumerated.
const WINDOW: i64 = 9;

/// One construction step: an operation, which of the expressions built so far it takes, and a constant.
type Step = (u8, usize, usize, i64);

/// Where a symbol's range begins, and how long it is (`None`: unbounded above).
type Range = (i64, Option<i64>);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..16u8, 0..100usize, 0..100usize, -6..7i64), 2..14)
}

/// Ranges of which one in `unbounded` has no upper end; 0 for none.
fn ranges(unbounded: u32) -> impl Strategy<Value = Vec<Range>> {
    let length = (0..6i64, 0..unbounded.max(1))
        .prop_map(move |(length, dice)| (unbounded == 0 || dice > 0).then_some(length));
    prop::collection::vec((-4..4i64, length), SYMBOLS.len())
}

struct Query {
    pool: Pool,
    symbols: Vec<(Symbol, ValueRange, Vec<i64>)>,
    integers: Vec<Expr>,
    given: Vec<Expr>,
    goal: Expr,
    /// Divisors as built, also where construction cancels them.
    divisors: Vec<Expr>,
}

fn query(steps: &[Step], ranges: &[Range], given: usize) -> Query {
    let mut pool = Pool::new();
    let mut symbols = Vec::new();
    let mut integers = Vec::new();
    for (name, &(low, length)) in SYMBOLS.iter().zip(ranges) {
        let e = pool.symbol(name);
        let range = match length {
            Some(length) => ValueRange::new(low, low + length).expect("not empty"),
            None => ValueRange::at_least(Int::from(low)),
        };
        let values = (low..=low + length.unwrap_or(WINDOW)).collect();
        symbols.push((pool.as_symbol(e).expect("a symbol"), range, values));
        integers.push(e);
    }
    let (mut conditions, mut divisors) = (Vec::new(), Vec::new());
    for &(op, i, j, k) in steps {
        let (a, b) = (integers[i % integers.len()], integers[j % integers.len()]);
        let constant = pool.int(k);
        let positive = pool.int(k.abs() + 1);
        match op {
            0 => integers.push(pool.add(a, b)),
            1 => integers.push(pool.sub(a, b)),
            2 => integers.push(pool.add(a, constant)),
            3 => integers.push(pool.mul(constant, a)),
            4 => integers.push(pool.mul(a, b)),
            5 => integers.push(pool.floor_div(a, positive)),
            6 => integers.push(pool.modulo(a, positive)),
            7 => {
                divisors.push(b);
                integers.push(pool.floor_div(a, b));
            }
            8 => {
                divisors.push(b);
                integers.push(pool.modulo(a, b));
            }
            9 => integers.push(pool.extremum(if k > 0 { Func::Min } else { Func::Max }, &[a, b])),
            10 => integers.push(pool.abs(a)),
            11 if !conditions.is_empty() => {
                let c = conditions[j % conditions.len()];
                integers.push(pool.ite(c, a, b));
            }
            12 => conditions.push(pool.eq(a, constant)),
            13 => conditions.push(pool.le(a, b)),
            14 if conditions.len() > 1 => {
                let (p, q) = (conditions[i % conditions.len()], conditions[j % conditions.len()]);
                conditions.push(if k > 0 { pool.or(&[p, q]) } else { pool.and(&[p, q]) });
            }
            15 if !conditions.is_empty() => {
                let p = conditions[i % conditions.len()];
                conditions.push(pool.not(p));
            }
            _ => conditions.push(pool.ne(a, b)),
        }
    }
    let newest = *integers.last().expect("there are symbols");
    let two = pool.int(2);
    let goal = conditions.pop().unwrap_or_else(|| pool.le(two, newest));
    let start = conditions.len().saturating_sub(given);
    let given = conditions.split_off(start);
    Query { pool, symbols, integers, given, goal, divisors }
}

impl Query {
    fn facts(&mut self) -> Facts {
        let mut facts = Facts::new();
        for (symbol, range, _) in &self.symbols {
            facts.declare(&mut self.pool, *symbol, range.clone());
        }
        for &d in &self.divisors {
            facts.exclude_zero(&mut self.pool, d);
        }
        for &c in &self.given {
            facts.assume(&mut self.pool, c);
        }
        facts
    }

    /// Every assignment of the (windowed) box.
    fn points(&self) -> Vec<Vec<(Symbol, Int)>> {
        let mut points = vec![Vec::new()];
        for (symbol, _, values) in &self.symbols {
            points = points
                .into_iter()
                .flat_map(|p: Vec<(Symbol, Int)>| {
                    values.iter().map(move |&v| {
                        let mut p = p.clone();
                        p.push((*symbol, Int::from(v)));
                        p
                    })
                })
                .collect();
        }
        points
    }

    /// The truth of conditions at an assignment; none where a divisor of the query is zero.
    fn at(&self, conditions: &[Expr], point: &[(Symbol, Int)]) -> Option<Vec<bool>> {
        count(1);
        let value = |s: Symbol| point.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
        let mut evaluator = Evaluator::new(&self.pool, value);
        for e in self.pool.reachable(&[&self.given[..], &[self.goal], conditions].concat()) {
            if let Some((Func::FloorDiv | Func::Mod, args)) = self.pool.as_call(e)
                && evaluator.int(args[1]).is_ok_and(|d| d.is_zero())
            {
                return None;
            }
        }
        if self.divisors.iter().any(|&d| !evaluator.int(d).is_ok_and(|v| !v.is_zero())) {
            return None;
        }
        conditions.iter().map(|&c| evaluator.truth(c).ok()).collect()
    }

    fn in_ranges(&self, point: &[(Symbol, Int)]) -> bool {
        self.symbols.iter().all(|(s, range, _)| point.iter().any(|(t, v)| s == t && range.contains(v)))
    }

    /// An assignment near 0 that satisfies premises, has no zero divisor in them or the goal, and falsifies the goal.
    fn counterexample(&self, premises: &[Premise]) -> Option<Vec<(Symbol, Int)>> {
        let used: Vec<Expr> = premises
            .iter()
            .filter_map(|p| match p {
                Premise::Fact(id) => self.given.get(id.0 as usize).copied(),
                _ => None,
            })
            .chain([self.goal])
            .collect();
        let near = || -WINDOW..=WINDOW;
        near().flat_map(|a| near().flat_map(move |b| near().map(move |c| [a, b, c]))).find_map(|values| {
            let point: Vec<(Symbol, Int)> =
                self.symbols.iter().zip(values).map(|((s, ..), v)| (*s, Int::from(v))).collect();
            let value = |s: Symbol| point.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
            let mut evaluator = Evaluator::new(&self.pool, value);
            let nonzero =
                |evaluator: &mut Evaluator<'_, _>, d: Expr| evaluator.int(d).is_ok_and(|d| !d.is_zero());
            for e in self.pool.reachable(&used) {
                if let Some((Func::FloorDiv | Func::Mod, args)) = self.pool.as_call(e)
                    && !nonzero(&mut evaluator, args[1])
                {
                    return None;
                }
            }
            let within = |s: &Symbol, upper: bool| {
                let (_, range, _) = self.symbols.iter().find(|(t, ..)| t == s)?;
                let (_, v) = point.iter().find(|(t, _)| t == s)?;
                Some(if upper {
                    range.upper().is_none_or(|h| *v <= h)
                } else {
                    range.lower().is_none_or(|l| *v >= l)
                })
            };
            let held = premises.iter().all(|p| match p {
                Premise::Fact(_) => true,
                Premise::Lower(s) => within(s, false) == Some(true),
                Premise::Upper(s) => within(s, true) == Some(true),
                Premise::Nonzero(e) => nonzero(&mut evaluator, *e),
            });
            let (goal, facts) = used.split_last()?;
            let held = held && facts.iter().all(|&c| evaluator.truth(c) == Ok(true));
            (held && evaluator.truth(*goal) == Ok(false)).then_some(point)
        })
    }

    /// Whether the given conditions hold at an assignment.
    fn allows(&self, point: &[(Symbol, Int)]) -> bool {
        self.at(&self.given, point).is_some_and(|held| held.into_iter().all(|h| h))
    }
}

fn budgets() -> Vec<(&'static str, Budget)> {
    let full = Budget { rlimit: 200_000, ..Budget::default() };
    vec![
        ("without Z3", Budget { rlimit: 0, ..full.clone() }),
        ("without search", Budget { points: 0, rlimit: 0, ..full.clone() }),
        (
            "Z3 without search and linear reasoning",
            Budget { points: 0, branches: 0, work: 0, iterations: 0, ..full },
        ),
    ]
}

/// Checks a verdict against enumeration.
fn check(steps: &[Step], ranges: &[Range], given: usize) -> Result<(), TestCaseError> {
    let bounded = ranges.iter().all(|(_, length)| length.is_some());
    let mut query = query(steps, ranges, given);
    let goal = query.goal;
    let allowed: Vec<_> = query.points().into_iter().filter(|p| query.allows(p)).collect();
    let failing = allowed.iter().find(|p| query.at(&[goal], p) == Some(vec![false])).cloned();
    for (name, budget) in budgets() {
        let mut facts = query.facts();
        let answer = solve::decide(&mut query.pool, &mut facts, goal, &budget);
        match &answer.verdict {
            Verdict::Implied { .. } => {
                prop_assert_eq!(&failing, &None, "{}: implied by {}", name, answer.decided_by);
                prop_assert!(!bounded || !allowed.is_empty(), "{}: implied by inconsistent facts", name);
            }
            Verdict::Refuted { witness } => {
                prop_assert!(query.in_ranges(witness) && query.allows(witness), "{}: {:?}", name, witness);
                prop_assert_eq!(query.at(&[goal], witness), Some(vec![false]), "{}", name);
            }
            Verdict::Inconsistent { .. } => {
                prop_assert!(allowed.is_empty(), "{}: inconsistent by {}", name, answer.decided_by);
            }
            Verdict::Unknown { .. } => {}
        }
        // Small boxes are enumerated, so with search nothing stays open.
        prop_assert!(!(bounded && budget.points > 0 && answer.verdict.is_unknown()), "{name}: {answer:?}");
        let mut facts = query.facts();
        if let (Some(value), Some(point)) =
            (solve::quickly(&mut query.pool, &mut facts, goal), allowed.first())
        {
            let held = query.at(&[goal], point);
            prop_assert!(held.is_none() || held == Some(vec![value]), "quickly says {value} at {point:?}");
        }
        if let Verdict::Implied { because } = &answer.verdict {
            let fewer = solve::narrow(&mut query.pool, &facts, Some(goal), because);
            prop_assert!(fewer.iter().all(|p| because.contains(p)));
            let point = query.counterexample(&fewer);
            prop_assert_eq!(point, None, "{:?} do not suffice, by {}", fewer, answer.decided_by);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn verdicts_agree_with_enumeration_of_small_boxes(s in steps(), r in ranges(0), given in 0..4usize) {
        check(&s, &r, given)?;
    }

    #[test]
    fn verdicts_on_unbounded_ranges_agree_with_a_window(s in steps(), r in ranges(1), given in 0..3usize) {
        check(&s, &r, given)?;
    }

    #[test]
    fn simplified_expressions_are_equal_wherever_the_facts_hold(s in steps(), r in ranges(2), given in 0..3usize) {
        let mut query = query(&s, &r, given);
        let e = *query.integers.last().expect("there are symbols");
        let mut facts = query.facts();
        let simple = solve::simplify(&mut query.pool, &mut facts, e, &Budget { rlimit: 0, ..Budget::default() });
        let same = query.pool.eq(e, simple);
        for point in query.points().into_iter().filter(|p| query.allows(p)) {
            // Where the original has a zero divisor nothing is claimed.
            if query.at(&[query.goal], &point).is_some() {
                prop_assert_ne!(query.at(&[same], &point), Some(vec![false]), "at {:?}", point);
            }
        }
    }

    #[test]
    fn conditions_are_shown_as_equal_ones(s in steps(), r in ranges(2), k in 0..9i64, i in 0..100usize) {
        let mut query = query(&s, &r, 0);
        let (goal, mut facts) = (query.goal, Facts::new());
        for (symbol, range, _) in &query.symbols {
            facts.declare(&mut query.pool, *symbol, range.clone());
        }
        let (pool, integers) = (&mut query.pool, &query.integers);
        let (a, b) = (*integers.last().expect("there are symbols"), integers[i % integers.len()]);
        let (limit, sum) = (pool.int(k), pool.add(a, b));
        let mut asked = vec![goal];
        for func in [Func::Min, Func::Max] {
            let [of_a, of_b, of_sum] = [a, b, sum].map(|e| pool.extremum(func, &[e, limit]));
            let moved = pool.add(of_a, b);
            let sides = [(a, of_a), (of_a, limit), (of_b, of_a), (of_sum, moved), (of_a, b), (a, b)];
            asked.extend(sides.map(|(x, y)| pool.eq(x, y)));
        }
        let pairs: Vec<Expr> = asked.windows(2).flat_map(|pair| [pool.or(pair), pool.and(pair)]).collect();
        asked.extend(pairs);
        query.divisors.clear();
        for condition in asked {
            let shown = sizewise::check::readable(&query.pool, &facts, condition);
            for point in query.points() {
                let (before, after) = (query.at(&[condition], &point), query.at(&[shown], &point));
                prop_assert!(before.is_none() || before == after, "{:?}: {:?} {:?}", point, before, after);
            }
        }
    }

    #[test]
    fn minimal_sets_hold_where_the_whole_sets_do(s in steps(), r in ranges(2)) {
        let mut query = query(&s, &r, 4);
        let guards = query.given.clone();
        let ranges: Vec<_> = query.symbols.iter().map(|(s, r, _)| (*s, r.clone())).collect();
        let budget = Budget { rlimit: 0, ..Budget::default() };
        let smaller = solve::minimize(&mut query.pool, &ranges, &guards, &budget);
        prop_assert!(smaller.kept.len() <= guards.len().max(1));
        query.divisors.clear();
        query.given.clear();
        query.goal = query.pool.bool(true);
        let all = |held: Option<Vec<bool>>| held.is_some_and(|h| h.into_iter().all(|h| h));
        for point in query.points() {
            let (before, after) = (query.at(&guards, &point), query.at(&smaller.kept, &point));
            prop_assert_eq!(all(before), all(after), "at {:?}: {:?}", point, smaller);
        }
    }

    #[test]
    fn bounds_are_those_of_enumeration(s in steps(), r in ranges(0), given in 0..3usize) {
        let mut query = query(&s, &r, given);
        let e = *query.integers.last().expect("there are symbols");
        let mut facts = query.facts();
        let found = solve::bounds(&mut query.pool, &mut facts, e, &Budget { rlimit: 0, ..Budget::default() });
        let zero = query.pool.ne(e, Expr::ZERO);
        let mut values: Vec<Int> = Vec::new();
        for point in query.points().into_iter().filter(|p| query.allows(p)) {
            if query.at(&[zero], &point).is_some() {
                let value = |s: Symbol| point.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
                values.extend(Evaluator::new(&query.pool, value).int(e));
            }
        }
        for (end, at) in [(&found.min, &found.min_at), (&found.max, &found.max_at)] {
            let Some(at) = at else { continue };
            prop_assert!(query.in_ranges(at) && query.allows(at), "{:?}", at);
            let value = |s: Symbol| at.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
            let reached = Evaluator::new(&query.pool, value).int(e).ok();
            prop_assert_eq!(end, &reached);
        }
        if found.exact {
            let ends = [(&found.min, &found.min_at), (&found.max, &found.max_at)];
            prop_assert!(values.is_empty() || ends.iter().all(|(_, at)| at.is_some()), "{:?}", found);
            prop_assert_eq!(found.min, values.iter().min().cloned());
            prop_assert_eq!(found.max, values.iter().max().cloned());
        } else {
            prop_assert!(values.iter().all(|v| found.min.as_ref().is_none_or(|m| m <= v)));
            prop_assert!(values.iter().all(|v| found.max.as_ref().is_none_or(|m| m >= v)));
        }
    }

    #[test]
    fn facts_about_other_symbols_change_nothing(s in steps(), r in ranges(1), given in 0..4usize) {
        let mut query = query(&s, &r, given);
        let budget = Budget { rlimit: 0, ..Budget::default() };
        let mut alone = query.facts();
        let before = solve::decide(&mut query.pool, &mut alone, query.goal, &budget);
        let mut among = query.facts();
        for i in 0..60 {
            let (a, b) = (query.pool.symbol(&format!("t{i}")), query.pool.symbol(&format!("t{}", i / 2)));
            let eight = query.pool.int(8);
            let sum = query.pool.add(a, b);
            let fact = query.pool.le(eight, sum);
            among.assume(&mut query.pool, fact);
        }
        let after = solve::decide(&mut query.pool, &mut among, query.goal, &budget);
        prop_assert_eq!(std::mem::discriminant(&before.verdict), std::mem::discriminant(&after.verdict));
        if let Verdict::Refuted { witness } = &after.verdict {
            let own: Vec<(Symbol, Int)> =
                witness.iter().filter(|(s, _)| query.symbols.iter().any(|(t, ..)| t == s)).cloned().collect();
            prop_assert!(query.in_ranges(&own) && query.allows(&own), "{:?}", own);
            prop_assert_eq!(query.at(&[query.goal], &own), Some(vec![false]));
            let value = |s: Symbol| witness.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
            let mut evaluator = Evaluator::new(&query.pool, value);
            prop_assert!(among.conditions().iter().all(|&c| evaluator.truth(c) == Ok(true)));
        }
    }

    #[test]
    fn a_fact_on_doubles_or_bits_beside_others_changes_nothing(
        s in steps(), r in ranges(1), given in 0..4usize, fact in 0..OTHER_FACTS.len(), others in 0..20usize,
    ) {
        let mut query = query(&s, &r, given);
        let budget = Budget { rlimit: 0, ..Budget::default() };
        let mut alone = query.facts();
        let before = solve::decide(&mut query.pool, &mut alone, query.goal, &budget);
        let mut among = query.facts();
        let plain = (0..others).map(|i| format!("t{i} + t{} >= 8", i / 2));
        for text in plain.chain([OTHER_FACTS[fact].to_string()]) {
            let fact = read::closed(&mut query.pool, &text).expect("a fact").expr;
            among.assume(&mut query.pool, fact);
        }
        let after = solve::decide(&mut query.pool, &mut among, query.goal, &budget);
        prop_assert_eq!(std::mem::discriminant(&before.verdict), std::mem::discriminant(&after.verdict));
    }

    #[test]
    fn a_conjunction_of_what_is_implied_is_implied(
        s in steps(), r in ranges(1), given in 0..4usize, other in 0..OTHER_GOALS.len(),
    ) {
        let mut query = query(&s, &r, given);
        let budget = Budget { rlimit: 0, ..Budget::default() };
        let mut facts = query.facts();
        if solve::decide(&mut query.pool, &mut facts, query.goal, &budget).verdict.is_implied() {
            let theorem = read::closed(&mut query.pool, OTHER_GOALS[other]).expect("a goal").expr;
            let both = query.pool.and(&[query.goal, theorem]);
            let mut facts = query.facts();
            let answer = solve::decide(&mut query.pool, &mut facts, both, &budget);
            prop_assert!(answer.verdict.is_implied(), "{:?}", answer);
        }
    }

    #[test]
    fn polynomial_congruences_are_settled_as_their_residues_are(
        modulus in 2..13i64,
        residue in 0..13i64,
        terms in prop::collection::vec((-4..5i64, 0..4u32, 0..3u32), 1..4),
    ) {
        let mut pool = Pool::new();
        let (x, y) = (pool.symbol("s0"), pool.symbol("s1"));
        let mut p = Expr::ZERO;
        for &(c, i, j) in &terms {
            let (a, b, c) = (pool.pow_literal(x, i), pool.pow_literal(y, j), pool.int(c));
            let term = pool.product([a, b, c]);
            p = pool.add(p, term);
        }
        let m = pool.int(modulus);
        let (remainder, residue) = (pool.modulo(p, m), pool.int(residue % modulus));
        let goal = pool.ne(remainder, residue);
        let power = |v: i64, k: u32| v.pow(k);
        let hit = (0..modulus).any(|a| (0..modulus).any(|b| {
            let value: i64 = terms.iter().map(|&(c, i, j)| c * power(a, i) * power(b, j)).sum();
            Some(value.rem_euclid(modulus)) == residue.as_inline()
        }));
        count((modulus * modulus) as usize);
        let answer = solve::decide(&mut pool, &mut Facts::new(), goal, &Budget { rlimit: 0, ..Budget::default() });
        match answer.verdict {
            Verdict::Implied { .. } => prop_assert!(!hit),
            Verdict::Refuted { .. } => prop_assert!(hit),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
