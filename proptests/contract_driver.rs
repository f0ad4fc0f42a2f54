//! Asks contracts about calls, both of the file that `contracts.rs` writes; a line for each call: 1 if it is accepted.
use sizewise_contract::{Contract, Input};

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let data = std::fs::read(path).expect("the file");
    let mut at = 0;
    let mut number = || {
        at += 8;
        i64::from_le_bytes(data[at - 8..at].try_into().expect("8 bytes"))
    };
    let contracts = number();
    let mut start = 16 + number() as usize;
    let mut answers = String::new();
    for _ in 0..contracts {
        let (length, calls, inputs) = (number() as usize, number(), number());
        let contract = Contract::read(&data[start..start + length]).expect("a contract");
        start += length;
        for _ in 0..calls {
            let given: Vec<Result<Vec<i64>, i64>> = (0..inputs)
                .map(|_| match number() {
                    rank if rank < 0 => Err(number()),
                    rank => Ok((0..rank).map(|_| number()).collect()),
                })
                .collect();
            let inputs: Vec<Input> = given
                .iter()
                .map(|given| match given {
                    Ok(sizes) => Input::Tensor(sizes),
                    Err(value) => Input::Integer(*value),
                })
                .collect();
            answers.push_str(if contract.check(&inputs).is_ok() { "1\n" } else { "0\n" });
        }
    }
    print!("{answers}");
}
