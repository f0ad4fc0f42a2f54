//! Checks input shapes against the contract of an exported program.
//!
//! A contract says which inputs a program serves. `sizewise guards PROGRAM --emit contract` writes it; this crate reads
//! its compact form and evaluates it, without the standard library, allocation, panics or unsafe code. The same checker
//! is written in C and C++ ([`HEADER`]) and in Python (`sizewise/_contract.py`). The format is described in
//! `docs/contract.md`.
//!
//! Integers have 64 bits. Where a result does not fit, or a divisor is 0, the condition has no value and the inputs are
//! refused: a checker never wraps.
//!
//! ```
//! use sizewise_contract::{Contract, Input, Refusal};
//!
//! // One tensor of two dimensions, the first of which is even.
//! let bytes = [
//!     b'S', b'Z', b'C', 1, 0, // the version, and no flags
//!     1, 0, 2, 6, // one input: a tensor of rank 2, of float32
//!     1, 0, 1, 2, 0, // one variable: (size 0 of input 0 - 0) / 1
//!     1, 6, 1, 0, 0, 4, 7, 16, // one check of 6 bytes: variable 0, the integer 2, MOD, IS_ZERO
//!     0, 0, // no outputs, no messages
//! ];
//! let contract = Contract::read(&bytes).expect("a contract");
//! assert_eq!(contract.check(&[Input::Tensor(&[4, 3])]), Ok(()));
//! assert_eq!(contract.check(&[Input::Tensor(&[5, 3])]), Err(Refusal::Check(0)));
//! assert_eq!(contract.check(&[Input::Tensor(&[4])]), Err(Refusal::Input(0)));
//! ```
#![no_std]
#![forbid(unsafe_code)]

pub mod kind;
pub mod op;

mod format;
mod input;
mod machine;
mod reader;

use machine::{Machine, Value, floor_div, size};
use reader::Reader;

pub use format::{INCOMPLETE, MAGIC, MAX_STACK, MAX_VARIABLES, VERSION};
pub use input::Input;
pub use reader::Malformed;

/// The same checker as a header for C99 and C++17.
pub const HEADER: &str = include_str!("../include/sizewise_contract.h");

/// Why inputs are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There are more or fewer inputs.
    Count,
    /// This input has another rank, kind or constant value.
    Input(usize),
    /// This check does not hold; [`Contract::message`] says it in words.
    Check(usize),
    /// The bytes of the contract are damaged.
    Malformed,
}

impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Refusal {
        Refusal::Malformed
    }
}

/// A contract in its compact form.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a> {
    bytes: &'a [u8],
}

impl<'a> Contract<'a> {
    /// A contract of these bytes.
    ///
    /// # Errors
    /// When they do not begin as one of this version. Damage further on is found by [`Contract::check`].
    pub fn read(bytes: &'a [u8]) -> Result<Contract<'a>, Malformed> {
        match bytes.split_at_checked(4) {
            Some((head, _)) if head[..3] == MAGIC && head[3] == VERSION => Ok(Contract { bytes }),
            _ => Err(Malformed),
        }
    }

    /// Whether it is all that the program needs. Otherwise data decide the rest, and an input that it accepts may be
    /// refused when the program runs.
    pub fn is_complete(&self) -> bool {
        self.bytes.get(4).is_some_and(|flags| flags & INCOMPLETE == 0)
    }

    /// Whether the program serves these inputs.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, inputs: &[Input<'_>]) -> Result<(), Refusal> {
        let mut reader = self.body();
        if reader.count()? != inputs.len() {
            return Err(Refusal::Count);
        }
        for (at, input) in inputs.iter().enumerate() {
            if !is_accepted(&mut reader, input)? {
                return Err(Refusal::Input(at));
            }
        }
        let mut variables = [None; MAX_VARIABLES];
        let count = reader.count()?;
        for variable in variables.get_mut(..count).ok_or(Malformed)? {
            *variable = determined(&mut reader, inputs)?;
        }
        let variables = variables.get(..count).ok_or(Malformed)?;
        let mut machine = Machine { inputs, variables, stack: [None; MAX_STACK], used: 0 };
        for at in 0..reader.count()? {
            if !machine.holds(reader.block()?)? {
                return Err(Refusal::Check(at));
            }
        }
        Ok(())
    }

    /// A check in words; `None` if the contract has no messages.
    pub fn message(&self, check: usize) -> Option<&'a str> {
        let mut reader = self.after_checks().ok()?;
        skip_outputs(&mut reader).ok()?;
        let count = reader.count().ok()?;
        for _ in 0..check.min(count) {
            reader.block().ok()?;
        }
        (check < count).then(|| reader.text().ok()).flatten()
    }

    fn body(&self) -> Reader<'a> {
        Reader { rest: self.bytes.get(5..).unwrap_or_default() }
    }

    fn after_checks(&self) -> Result<Reader<'a>, Malformed> {
        let mut reader = self.body();
        for _ in 0..reader.count()? {
            is_accepted(&mut reader, &Input::Other)?;
        }
        for _ in 0..reader.count()? {
            // The input, the dimension, the factor and the offset.
            for _ in 0..4 {
                reader.unsigned()?;
            }
        }
        for _ in 0..reader.count()? {
            reader.block()?;
        }
        Ok(reader)
    }
}

/// Reads what a contract says of an input: whether this one has the kind, and the rank or the value.
fn is_accepted(reader: &mut Reader, input: &Input) -> Result<bool, Malformed> {
    Ok(match reader.byte()? {
        kind::TENSOR => {
            let (rank, _dtype) = (reader.count()?, reader.byte()?);
            matches!(input, Input::Tensor(sizes) if sizes.len() == rank && sizes.iter().all(|&size| size >= 0))
        }
        kind::INTEGER => matches!(input, Input::Integer(_)),
        kind::CONSTANT_INTEGER => *input == Input::Integer(reader.signed()?),
        kind::CONSTANT_BOOL => *input == Input::Bool(reader.byte()? != 0),
        kind::CONSTANT_DOUBLE => {
            let expected = reader.double()?;
            matches!(input, Input::Double(value) if *value == expected || value.is_nan() && expected.is_nan())
        }
        kind::CONSTANT_STRING => {
            let expected = reader.block()?;
            matches!(input, Input::String(value) if value.as_bytes() == expected)
        }
        kind::ANY => true,
        _ => return Err(Malformed),
    })
}

/// Reads a variable and determines it: `(size - offset) // factor`.
fn determined(reader: &mut Reader, inputs: &[Input]) -> Result<Value, Malformed> {
    let (input, dim) = (reader.count()?, reader.count()?);
    let (factor, offset) = (reader.signed()?, reader.signed()?);
    let size = size(inputs, input, dim)?;
    Ok(size.and_then(|size| floor_div(size.checked_sub(offset)?, factor)))
}

fn skip_outputs(reader: &mut Reader) -> Result<(), Malformed> {
    for _ in 0..reader.count()? {
        let rank = reader.count()?;
        if rank > 0 {
            reader.byte()?;
        }
        for _ in 1..rank {
            reader.unsigned()?;
        }
    }
    Ok(())
}
