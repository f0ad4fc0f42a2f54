//! Prime factors, and what finding them costs.
use super::factor::{divisors, factors, is_prime};

/// Products of large primes, squares and cubes of them, and strong pseudoprimes to small bases.
const HARD: [u64; 14] = [
    1_009 * 1_013,
    1_009 * 1_009,
    997 * 997,
    997 * 1_009,
    1_009 * 1_009 * 1_013,
    4_295_229_443,
    68_718_821_377,
    1_000_036_000_099,
    3_215_031_751,
    3_474_749_660_383,
    341_550_071_728_321,
    (1 << 61) - 1,
    u64::MAX,
    u64::MAX - 58,
];

#[test]
fn factors_multiply_to_the_number() {
    for n in (1..2_000).chain(HARD) {
        let found = factors(n, &mut 1_000_000).expect("steps enough");
        assert_eq!(found.iter().map(|&(p, k)| p.pow(k)).product::<u64>(), n);
        assert!(found.iter().all(|&(p, _)| is_prime(p)), "{n}: {found:?}");
        assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{n}: {found:?}");
    }
}

#[test]
fn primes_are_those_without_a_smaller_divisor() {
    for n in 0..5_000u64 {
        let wanted = n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0);
        assert_eq!(is_prime(n), wanted, "{n}");
    }
    let large = [(1u64 << 61) - 1, u64::MAX - 58, 1_000_000_007, 18_446_744_069_414_584_321];
    assert!(large.into_iter().all(is_prime));
    assert!(HARD[..11].iter().all(|n| !is_prime(*n)));
}

#[test]
fn divisors_are_all_there() {
    for n in 1..500u64 {
        let wanted: Vec<u64> = (1..=n).filter(|d| n % d == 0).collect();
        assert_eq!(divisors(n, &mut 10_000), Some(wanted));
    }
}

#[test]
fn up_to_400_divisors_are_listed() {
    // 2^k*3^4*5^4 has (k + 1)*25 divisors.
    let count = |k: u32| divisors(2u64.pow(k) * 81 * 625, &mut 1_000).map(|d| d.len());
    assert_eq!((count(14), count(15), count(16)), (Some(375), Some(400), None));
}

#[test]
fn small_factors_cost_nothing_and_large_ones_what_they_cost() {
    let cost = |n: u64| {
        let mut left = 100_000;
        factors(n, &mut left).map(|_| 100_000 - left)
    };
    // Whatever is divided away or is prime afterwards.
    for n in [1, 2, 997 * 997, 997 * 1_000_003, 2 * 3 * 5 * 7 * 11 * 13 * 1_000_000_007, (1 << 61) - 1] {
        assert_eq!(cost(n), Some(0), "{n}");
    }
    // Steps of the walk, recorded: fewer are better.
    assert_eq!(HARD.map(|n| cost(n).expect("found")), RECORDED);
    let steps = cost(68_718_821_377).expect("found");
    assert!(factors(68_718_821_377, &mut steps.clone()).is_some());
    assert_eq!(factors(68_718_821_377, &mut (steps - 1)), None);
}

const RECORDED: [u32; 14] = [17, 49, 0, 0, 66, 172, 254, 478, 0, 109, 4944, 0, 172, 0];
