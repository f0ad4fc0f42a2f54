//! All solutions of a linear equation over the integers, in a short basis.
//!
//! The rows `(e_i, C*a_i)` are reduced by the algorithm of Lenstra, Lenstra and Lovász in its integral form
//! (H. Cohen, "A Course in Computational Algebraic Number Theory", 2.6.7). For a large `C`, all reduced rows
//! but the last are short solutions of `a·x == 0`, and the last one solves `a·x == gcd(a)`.
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

/// The most exchanges of rows.
const MAX_SWAPS: u32 = 3_000;

/// A solution of `a·x == target`, and a basis of the solutions of `a·x == 0`. `None` when there is no
/// solution, or none was found.
pub fn solve(a: &[BigInt], target: &BigInt) -> Option<(Vec<BigInt>, Vec<Vec<BigInt>>)> {
    let n = a.len();
    let bits = a.iter().map(BigInt::bits).max()?;
    let scale = BigInt::one() << (bits + 2 * n as u64 + 4);
    let mut rows: Vec<Vec<BigInt>> = (0..n)
        .map(|i| {
            let mut row = vec![BigInt::zero(); n + 1];
            row[i] = BigInt::one();
            row[n] = &a[i] * &scale;
            row
        })
        .collect();
    reduce(&mut rows)?;
    let mut last = rows.pop()?;
    let (gcd, rest) = last[n].div_rem(&scale);
    let (factor, open) = target.div_rem(&gcd);
    if !rest.is_zero() || !open.is_zero() || rows.iter().any(|r| !r[n].is_zero()) {
        return None;
    }
    last.truncate(n);
    rows.iter_mut().for_each(|r| r.truncate(n));
    let mut start: Vec<BigInt> = last.iter().map(|v| v * &factor).collect();
    // A shorter start: nearest multiples of the basis are taken off, the longest vector first.
    for row in rows.iter().rev() {
        let (along, length) = (dot(&start, row), dot(row, row));
        let q = nearest(&along, &length);
        if !q.is_zero() {
            start.iter_mut().zip(row).for_each(|(s, r)| *s -= &q * r);
        }
    }
    Some((start, rows))
}

fn dot(a: &[BigInt], b: &[BigInt]) -> BigInt {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The integer nearest to `n / d` for `d > 0`.
fn nearest(n: &BigInt, d: &BigInt) -> BigInt {
    let two = BigInt::from(2);
    (n * &two + d).div_floor(&(d * two))
}

/// Reduces linearly independent rows.
fn reduce(b: &mut [Vec<BigInt>]) -> Option<()> {
    let n = b.len();
    // d[i + 1] is the determinant of the first i + 1 rows, and l[k][j] the scaled coefficient of row k along row j.
    let mut d = vec![BigInt::one(); n + 1];
    let mut l = vec![vec![BigInt::zero(); n]; n];
    d[1] = dot(&b[0], &b[0]);
    let (mut k, mut known, mut swaps) = (1, 0, 0);
    while k < n {
        if k > known {
            known = k;
            for j in 0..=k {
                let mut u = dot(&b[k], &b[j]);
                for i in 0..j {
                    u = (&d[i + 1] * u - &l[k][i] * &l[j][i]) / &d[i];
                }
                if j < k {
                    l[k][j] = u;
                } else if u.is_zero() {
                    return None;
                } else {
                    d[k + 1] = u;
                }
            }
        }
        shorten(b, &mut l, &d, k, k - 1);
        let four = BigInt::from(4);
        let left = &d[k + 1] * &d[k - 1] * &four;
        let right = &d[k] * &d[k] * BigInt::from(3) - &l[k][k - 1] * &l[k][k - 1] * &four;
        if left < right {
            swaps += 1;
            if swaps > MAX_SWAPS {
                return None;
            }
            exchange(b, &mut l, &mut d, k, known);
            k = (k - 1).max(1);
        } else {
            for j in (0..k).rev() {
                shorten(b, &mut l, &d, k, j);
            }
            k += 1;
        }
    }
    Some(())
}

/// Takes the nearest multiple of row `j` off row `k`.
fn shorten(b: &mut [Vec<BigInt>], l: &mut [Vec<BigInt>], d: &[BigInt], k: usize, j: usize) {
    if l[k][j].abs() * 2 <= d[j + 1] {
        return;
    }
    let q = nearest(&l[k][j], &d[j + 1]);
    let (head, tail) = b.split_at_mut(k);
    tail[0].iter_mut().zip(&head[j]).for_each(|(x, y)| *x -= &q * y);
    l[k][j] -= &q * &d[j + 1];
    let (head, tail) = l.split_at_mut(k);
    tail[0].iter_mut().zip(&head[j]).take(j).for_each(|(x, y)| *x -= &q * y);
}

/// Exchanges the rows `k` and `k - 1`.
fn exchange(b: &mut [Vec<BigInt>], l: &mut [Vec<BigInt>], d: &mut [BigInt], k: usize, known: usize) {
    b.swap(k, k - 1);
    let (head, tail) = l.split_at_mut(k);
    head[k - 1][..k - 1].swap_with_slice(&mut tail[0][..k - 1]);
    let along = l[k][k - 1].clone();
    let new = (&d[k - 1] * &d[k + 1] + &along * &along) / &d[k];
    for row in l.iter_mut().take(known + 1).skip(k + 1) {
        let t = row[k].clone();
        row[k] = (&d[k + 1] * &row[k - 1] - &along * &t) / &d[k];
        row[k - 1] = (&new * &t + &along * &row[k]) / &d[k + 1];
    }
    d[k] = new;
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;

    #[test]
    fn solutions_solve_and_are_short() {
        for (a, target) in [
            (vec![3i128, 5], 7i128),
            (vec![6, 10, 15], 1),
            (vec![-694_119, -1_409_911_489, 109_933_799], 642_348_926),
            (vec![1 << 60, (1 << 61) - 1, 12_345_678_901, -987_654_321], 17),
        ] {
            let a: Vec<BigInt> = a.into_iter().map(BigInt::from).collect();
            let (start, basis) = solve(&a, &BigInt::from(target)).expect("there is a solution");
            assert_eq!(dot(&a, &start), BigInt::from(target));
            assert_eq!(basis.len(), a.len() - 1);
            for row in &basis {
                assert!(dot(&a, row).is_zero());
                assert!(row.iter().all(|v| v.bits() <= a.iter().map(BigInt::bits).max().unwrap_or(0)));
            }
        }
    }

    #[test]
    fn bases_are_reduced() {
        let table: [(&[i64], i64); 6] = [
            (&[3, 5], 7),
            (&[6, 10, 15], 1),
            (&[12, 18, 27, 8], 5),
            (&[101, 103, 107, 109], 1),
            (&[1_000_003, 999_983, 1_000_033], 12_345),
            (&[7, -11, 13, -17, 19], 100),
        ];
        let half = BigRational::new(1.into(), 2.into());
        let enough = BigRational::new(3.into(), 4.into());
        for (a, target) in table {
            let a: Vec<BigInt> = a.iter().copied().map(BigInt::from).collect();
            let (start, basis) = solve(&a, &BigInt::from(target)).expect("there is a solution");
            assert_eq!(dot(&a, &start), BigInt::from(target));
            // What Lovász demands of the rows without what lies along those before.
            let projected = projections(&basis);
            for k in 1..basis.len() {
                let row: Vec<BigRational> = basis[k].iter().cloned().map(BigRational::from).collect();
                let along = |j: usize| inner(&row, &projected[j]) / inner(&projected[j], &projected[j]);
                assert!((0..k).all(|j| along(j).abs() <= half), "{basis:?} is not short");
                let before = inner(&projected[k - 1], &projected[k - 1]);
                let least = (&enough - along(k - 1) * along(k - 1)) * before;
                assert!(inner(&projected[k], &projected[k]) >= least, "{basis:?} is not reduced");
            }
        }
    }

    fn inner(a: &[BigRational], b: &[BigRational]) -> BigRational {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    /// The rows without what lies along those before.
    fn projections(rows: &[Vec<BigInt>]) -> Vec<Vec<BigRational>> {
        let mut found: Vec<Vec<BigRational>> = Vec::new();
        for row in rows {
            let row: Vec<BigRational> = row.iter().cloned().map(BigRational::from).collect();
            let mut rest = row.clone();
            for earlier in &found {
                let factor = inner(&row, earlier) / inner(earlier, earlier);
                rest.iter_mut().zip(earlier).for_each(|(x, y)| *x -= &factor * y);
            }
            found.push(rest);
        }
        found
    }

    #[test]
    fn no_solution_without_the_divisor() {
        let a: Vec<BigInt> = [6, 10].into_iter().map(BigInt::from).collect();
        assert_eq!(solve(&a, &BigInt::from(3)), None);
    }
}
