//! Prime factors of machine integers: trial division, then Pollard's rho (Brent's variant) with a
//! deterministic primality test.

/// Trial division goes up to this.
const SMALL: u64 = 1_000;
/// More divisors than this are not listed.
const MAX_DIVISORS: usize = 400;

/// The prime factors of `n > 0` with their powers, in order; `None` when `steps` does not suffice.
pub fn factors(n: u64, steps: &mut u32) -> Option<Vec<(u64, u32)>> {
    let mut found: Vec<(u64, u32)> = Vec::new();
    let mut rest = n;
    let mut p = 2;
    while p < SMALL && p * p <= rest {
        let mut power = 0;
        while rest.is_multiple_of(p) {
            rest /= p;
            power += 1;
        }
        if power > 0 {
            found.push((p, power));
        }
        p += if p == 2 { 1 } else { 2 };
    }
    let mut open = if rest > 1 { vec![rest] } else { Vec::new() };
    while let Some(m) = open.pop() {
        if m == 1 {
            continue;
        }
        if is_prime(m) {
            match found.iter_mut().find(|(q, _)| *q == m) {
                Some((_, power)) => *power += 1,
                None => found.push((m, 1)),
            }
            continue;
        }
        let d = divisor(m, steps)?;
        open.extend([d, m / d]);
    }
    found.sort_unstable();
    Some(found)
}

/// The positive divisors of `n > 0` in order; `None` when there are too many or `steps` does not suffice.
pub fn divisors(n: u64, steps: &mut u32) -> Option<Vec<u64>> {
    let mut found = vec![1u64];
    for (p, power) in factors(n, steps)? {
        let before = found.len();
        let mut scale = 1;
        for _ in 0..power {
            scale *= p;
            for i in 0..before {
                found.push(found[i] * scale);
            }
        }
        if found.len() > MAX_DIVISORS {
            return None;
        }
    }
    found.sort_unstable();
    Some(found)
}

fn times(a: u64, b: u64, m: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(m)) as u64
}

fn power(base: u64, exponent: u64, m: u64) -> u64 {
    let (mut result, mut base, mut exponent) = (1, base % m, exponent);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base, m);
        }
        base = times(base, base, m);
        exponent >>= 1;
    }
    result
}

/// Miller and Rabin's test with the first twelve primes as bases, which is right for every 64-bit integer.
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    if let Some(p) = BASES.iter().find(|&&p| n.is_multiple_of(p)) {
        return n == *p;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&base| {
        let mut x = power(base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = times(x, x, n);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

/// A divisor of a composite `n` other than 1 and `n`.
fn divisor(n: u64, steps: &mut u32) -> Option<u64> {
    if n.is_multiple_of(2) {
        return Some(2);
    }
    for c in 1u64.. {
        let next = |x: u64| ((u128::from(times(x, x, n)) + u128::from(c)) % u128::from(n)) as u64;
        let (mut slow, mut fast) = (2, 2);
        loop {
            *steps = steps.checked_sub(1)?;
            slow = next(slow);
            fast = next(next(fast));
            let d = num_integer::gcd(slow.abs_diff(fast), n);
            if d == n {
                break;
            }
            if d > 1 {
                return Some(d);
            }
        }
    }
    None
}
