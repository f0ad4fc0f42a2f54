use num_bigint::BigInt;
use serde_json::Value;
use sizewise_certificate::{Claim, Op, Term, check_text};
use sizewise_prove::{Hints, certify, text};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Instant;

fn claim(q: &Value) -> Option<Claim> {
    let mut claim = Claim::default();
    let empty = serde_json::Map::new();
    let symbols = q["symbols"].as_object().unwrap_or(&empty);
    for (name, range) in symbols {
        claim.symbols.push(name.clone());
        for (key, op) in [("min", Op::Ge), ("max", Op::Le)] {
            if let Value::String(n) = &range[key] {
                let n: BigInt = n.parse().ok()?;
                claim.premises.push(Term::Call(op, vec![Term::name(name), Term::Int(n)]));
            }
        }
    }
    let known = |n: &str| symbols.contains_key(n);
    for g in q["given"].as_array()? {
        claim.premises.push(text::formula(g.as_str()?, &known)?);
    }
    if q["verdict"] != "inconsistent" {
        claim.goal = Some(text::formula(q["goal"].as_str()?, &known)?);
    }
    Some(claim)
}

fn main() {
    std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap().join().unwrap();
}
fn run() {
    let failed = std::env::args().nth(1);
    let out = std::env::args().nth(2);
    let mut dump = out.map(|p| std::fs::File::create(p).unwrap());
    let mut tally: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut fails = String::new();
    let mut slow: Vec<(u128, String)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let q: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let verdict = q["verdict"].as_str().unwrap_or("?");
        let rung =
            format!("{} {}", q["file"].as_str().unwrap_or("?"), q["decided_by"].as_str().unwrap_or("?"));
        if verdict != "implied" && verdict != "inconsistent" {
            continue;
        }
        let start = Instant::now();
        let kind = match claim(&q) {
            None => "unread",
            Some(c) => {
                let because =
                    q["because"].as_array().map(|b| b.iter().filter_map(|s| s.as_str()).collect::<Vec<_>>());
                let hints = Hints {
                    because: because.map(|because| {
                        // ranges always; given whose text is named
                        let given = q["given"].as_array().unwrap();
                        let ranges = c.premises.len() - given.len();
                        let mut v: Vec<usize> = (0..ranges).collect();
                        v.extend(
                            given
                                .iter()
                                .enumerate()
                                .filter(|(_, g)| because.contains(&g.as_str().unwrap()))
                                .map(|(i, _)| i + ranges),
                        );
                        v
                    }),
                };
                match certify(&c, &hints) {
                    None => "no proof",
                    Some(certificate) => {
                        if let Some(d) = &mut dump {
                            use std::io::Write;
                            writeln!(
                                d,
                                "{}",
                                serde_json::json!({"id": q["id"], "certificate": certificate.text})
                            )
                            .unwrap();
                        }
                        match check_text(&certificate.text) {
                            Ok(_) => "ok",
                            Err(e) => {
                                fails += &format!("REJECTED {e}\n{}\n", certificate.text);
                                "rejected"
                            }
                        }
                    }
                }
            }
        };
        if start.elapsed().as_millis() > 2000 {
            eprintln!("{kind} {} {} ms", q["id"], start.elapsed().as_millis());
        }
        slow.push((start.elapsed().as_micros(), format!("{kind} {}", q["id"])));
        *tally.entry((rung, kind)).or_default() += 1;
        if kind != "ok" {
            fails += &format!(
                "{kind} {} {} {} {} => {}\n",
                q["id"], q["decided_by"], q["symbols"], q["given"], q["goal"]
            );
        }
    }
    for ((rung, kind), n) in &tally {
        println!("{rung:40} {kind:10} {n}");
    }
    slow.sort();
    let total: u128 = slow.iter().map(|s| s.0).sum();
    println!(
        "total {} ms of {}, median {} us, slowest {:?}",
        total / 1000,
        slow.len(),
        slow[slow.len() / 2].0,
        &slow[slow.len().saturating_sub(3)..]
    );
    if let Some(path) = failed {
        std::fs::write(path, fails).unwrap();
    }
}
