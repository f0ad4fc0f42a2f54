//! Which sizes a condition excludes.
use sizewise_expr::{Expr, Int, Pool, Value as Number};

/// Sizes up to this one are tried.
const LARGEST_TRIED: i64 = 64;
/// The most runs of sizes that are listed.
const MAX_RUNS: usize = 6;

/// The sizes that a condition on one symbol excludes, of those that are tried: `0, 1`, `above 16`, `1, 3, 5,
/// 7, ... (32 of the sizes 0 to 64)`. `None` for conditions on several symbols and those that exclude none of
/// them.
pub fn excluded(pool: &Pool, condition: Expr) -> Option<String> {
    let [symbol] = pool.free_symbols(&[condition])[..] else { return None };
    let holds = |size: i64| {
        let value = pool.eval(condition, |s| (s == symbol).then(|| Number::Int(Int::from(size))));
        value.is_ok_and(|v| v.as_bool())
    };
    let excluded: Vec<i64> = (0..=LARGEST_TRIED).filter(|&size| !holds(size)).collect();
    if excluded.is_empty() {
        return None;
    }
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &size in &excluded {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == size => *last = size,
            _ => runs.push((size, size)),
        }
    }
    if runs.len() > MAX_RUNS {
        let first: Vec<String> = excluded.iter().take(4).map(i64::to_string).collect();
        let n = excluded.len();
        return Some(format!("{}, ... ({n} of the sizes 0 to {LARGEST_TRIED})", first.join(", ")));
    }
    let texts: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| match (first, last) {
            (0, LARGEST_TRIED) => format!("all sizes up to {LARGEST_TRIED}"),
            (first, LARGEST_TRIED) => format!("above {}", first - 1),
            (first, last) if first == last => first.to_string(),
            (first, last) if first + 1 == last => format!("{first}, {last}"),
            (first, last) => format!("{first} to {last}"),
        })
        .collect();
    Some(texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::excluded;
    use sizewise_expr::Pool;
    use sizewise_expr::text::read;

    #[test]
    fn what_conditions_cost() {
        let table = [
            ("s0 >= 2", Some("0, 1")),
            ("s0 >= 6", Some("0 to 5")),
            ("s0 <= 16", Some("above 16")),
            ("Ne(s0, 1)", Some("1")),
            ("Eq(s0, 5)", Some("0 to 4, above 5")),
            ("Eq(Mod(s0, 2), 0)", Some("1, 3, 5, 7, ... (32 of the sizes 0 to 64)")),
            ("s0 < 0", Some("all sizes up to 64")),
            ("s0 >= 0", None),
            ("s0 >= s1", None),
        ];
        for (condition, cost) in table {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, condition).expect("a condition").expr;
            assert_eq!(excluded(&pool, e).as_deref(), cost, "{condition}");
        }
    }
}
