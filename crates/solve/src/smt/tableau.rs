//! How large the tableau of a question gets, which Z3's resource counter does not see.
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Node, Pool};

/// Sums of fewer terms are bounds and differences, which do not fill a tableau.
const LEAST_TERMS: usize = 3;

/// About how much work it is to solve the sums in these conditions as linear constraints: the terms in rows, times the square
/// of the columns, times the bits of the largest coefficient. A solution takes about as many pivots as there are columns, each
/// touches all rows, and rows fill up as numbers grow; measured times are below a few microseconds per unit.
pub fn size(pool: &Pool, conditions: &[Expr]) -> u64 {
    let mut columns: FxHashSet<Expr> = FxHashSet::default();
    let (mut entries, mut bits) = (0u64, 1u64);
    for e in pool.reachable(conditions) {
        let Some(Node::Sum { terms, .. }) = pool.node(e) else { continue };
        if terms.len() < LEAST_TERMS {
            continue;
        }
        entries += terms.len() as u64;
        for (monomial, coefficient) in terms {
            columns.insert(*monomial);
            bits = bits.max(coefficient.bits());
        }
    }
    let columns = columns.len() as u64;
    [columns, columns, bits].into_iter().fold(entries, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_TABLEAU, Procedure, Question, Response, check_by};
    use super::*;
    use sizewise_expr::{Int, read};

    /// A sequence of numbers that look random.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
    }

    /// Inequalities of `terms` terms over 30 symbols that hold where all of these are 8, and the symbols with their ranges.
    fn dense(pool: &mut Pool, rows: usize, terms: usize, bounded: bool) -> Question<'static> {
        let mut numbers = Numbers(terms as u64);
        let mut conditions = Vec::new();
        for _ in 0..rows {
            let mut names: Vec<u64> = (0..30).collect();
            let (mut text, mut sum) = (String::from("0"), 0);
            for _ in 0..terms {
                let name = names.swap_remove(numbers.below(names.len() as u64) as usize);
                let coefficient = numbers.below(11) as i64 - 5;
                text += &format!(" + {coefficient}*s{name}");
                sum += 8 * coefficient;
            }
            text += &format!(" <= {}", sum + 100 + numbers.below(300) as i64);
            conditions.push(read::closed(pool, &text).expect("a condition").expr);
        }
        let high = bounded.then(|| Int::from(64));
        let symbols = pool.free_symbols(&conditions);
        let ranges: Vec<_> = symbols.into_iter().map(|s| (s, Some(Int::from(2)), high.clone())).collect();
        Question { ranges: ranges.leak(), conditions: conditions.leak(), nonzero: &[], rlimit: 20_000 }
    }

    #[test]
    fn what_z3_may_take_for_a_dense_set_is_bounded_and_counted() {
        for bounded in [true, false] {
            for terms in 1..=8 {
                for rows in [10, 40, 300] {
                    let mut pool = Pool::new();
                    let question = dense(&mut pool, rows, terms, bounded);
                    let (response, work) = check_by(Procedure::Counted, &pool, &question);
                    let size = size(&pool, question.conditions);
                    let refused = matches!(&response, Response::Unknown(why) if why.contains("tableau"));
                    assert_eq!(refused, size > MAX_TABLEAU, "{rows} rows of {terms}: {size}, {response:?}");
                    assert_eq!(work == 0, refused, "{rows} rows of {terms}: {response:?}");
                    assert!(
                        work <= MAX_TABLEAU + u64::from(question.rlimit),
                        "{rows} rows of {terms}: {work}"
                    );
                }
            }
        }
    }

    #[test]
    fn bounds_and_differences_fill_no_tableau() {
        let mut pool = Pool::new();
        for (text, expected) in [
            ("s0 <= 9", 0),
            ("s0 + 3*s1 <= 9", 0),
            ("s0 + 3*s1 - s2 <= 9", 3 * 3 * 3 * 2),
            ("s0 + 3*s1 - 8*s2*s3 <= 9", 3 * 3 * 3 * 4),
            ("Max(s0 + s1 - s2, s3) <= s4 + s5 + s6", (3 + 4) * 7 * 7),
        ] {
            let condition = read::closed(&mut pool, text).expect("a condition").expr;
            assert_eq!(size(&pool, &[condition]), expected, "{text}");
        }
    }
}
