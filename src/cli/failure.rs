//! Why a command fails, and its exit status.
use std::fmt::Display;

/// A failure that ends a command: nothing is answered beyond this message.
#[derive(Debug)]
pub struct Failure {
    /// The exit status.
    pub status: u8,
    /// What is wrong, with the file that it is about.
    pub message: String,
}

/// What a command comes to: its exit status.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn new(status: u8, message: impl Display) -> Failure {
        Failure { status, message: message.to_string() }
    }

    /// Wrong usage: an argument, or a file that an option names, cannot be used.
    pub fn usage(message: impl Display) -> Failure {
        Failure::new(2, message)
    }

    /// The program cannot be read, or what it needs is not supported.
    pub fn program(message: impl Display) -> Failure {
        Failure::new(3, message)
    }

    /// Nothing could be proved.
    pub fn undecided(message: impl Display) -> Failure {
        Failure::new(4, message)
    }

    /// A bug.
    pub fn internal(message: impl Display) -> Failure {
        Failure::new(70, message)
    }
}
