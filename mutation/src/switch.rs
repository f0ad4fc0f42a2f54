//! Which mutant is switched on. This file becomes a module of the instrumented copy; `MUTANTS` is written in front of
//! it.
//!
//! `SIZEWISE_MUTANT` is read once: a number switches that mutant on, a path makes this a recording run, which appends
//! the number of each mutant that is reached (four bytes, once a process) and changes nothing.
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const UNREAD: u32 = u32::MAX;
const RECORDING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
static REACHED: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];
static RECORD: OnceLock<Option<File>> = OnceLock::new();

/// Whether the mutant of this number is switched on.
#[inline(always)]
pub fn active(number: u32) -> bool {
    let chosen = CHOSEN.load(Relaxed);
    chosen == number || (chosen >= RECORDING && first(number))
}

#[cold]
fn first(number: u32) -> bool {
    if CHOSEN.load(Relaxed) == UNREAD {
        let value = std::env::var("SIZEWISE_MUTANT").unwrap_or_default();
        let chosen = match value.parse() {
            Ok(n) => n,
            Err(_) if value.is_empty() => NONE,
            Err(_) => {
                RECORD.get_or_init(|| OpenOptions::new().append(true).create(true).open(&value).ok());
                RECORDING
            }
        };
        CHOSEN.store(chosen, Relaxed);
    }
    if CHOSEN.load(Relaxed) != RECORDING {
        return CHOSEN.load(Relaxed) == number;
    }
    if !REACHED[number as usize].swap(true, Relaxed)
        && let Some(Some(file)) = RECORD.get()
    {
        let _ = (&*file).write_all(&number.to_le_bytes());
    }
    false
}
