//! Environments: facts that an exporter adds to while it traces, and puts questions to. They expire when they are not used.
use super::auth::Holder;
use super::problem::{Code, Problem};
use crate::query::{Room, Standing};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An environment; none when a bug has left its facts in disorder.
pub type Slot = Arc<tokio::sync::Mutex<Option<Standing>>>;

struct Env {
    slot: Slot,
    owner: Option<Holder>,
    used: Instant,
}

/// All environments of this process.
pub struct Envs {
    known: Mutex<HashMap<String, Env>>,
    most: usize,
    idle: Duration,
    room: Room,
}

impl Envs {
    /// No environments.
    pub fn new(most: usize, idle: Duration, room: Room) -> Envs {
        Envs { known: Mutex::default(), most, idle, room }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Env>> {
        // Nothing that can panic runs under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Facts to be filled before they become an environment.
    pub fn blank(&self) -> Standing {
        Standing::new(self.room)
    }

    /// How long an environment lives without being used.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Makes an environment and returns its name, which cannot be guessed.
    ///
    /// # Errors
    /// When there are as many as allowed.
    pub fn make(&self, standing: Standing, owner: Option<Holder>) -> Result<String, Problem> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random)
            .map_err(|error| Problem::new(Code::Internal, format!("no random numbers: {error}")))?;
        let id: String = random.iter().map(|b| format!("{b:02x}")).collect();
        self.expire();
        let mut known = self.lock();
        if known.len() >= self.most {
            let detail =
                format!("there are {} environments; delete some, or wait until some expire", known.len());
            return Err(Problem::new(Code::TooManyEnvs, detail).retry_after(30));
        }
        let slot = Arc::new(tokio::sync::Mutex::new(Some(standing)));
        known.insert(id.clone(), Env { slot, owner, used: Instant::now() });
        Ok(id)
    }

    /// The environment of this name, if it is the holder's own.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, id: &str, holder: Option<Holder>) -> Result<Slot, Problem> {
        let mut known = self.lock();
        match known.get_mut(id) {
            Some(env) if env.owner == holder && env.used.elapsed() < self.idle => {
                env.used = Instant::now();
                Ok(Arc::clone(&env.slot))
            }
            _ => Err(Problem::new(Code::UnknownEnv, "no such environment; it may have expired")),
        }
    }

    /// Deletes an environment.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete(&self, id: &str, holder: Option<Holder>) -> Result<(), Problem> {
        self.find(id, holder)?;
        self.lock().remove(id);
        Ok(())
    }

    /// Deletes what was not used for long, and says how many are left.
    pub fn expire(&self) -> usize {
        let mut known = self.lock();
        // One that somebody works with at this moment is in use.
        known.retain(|_, env| env.used.elapsed() < self.idle || Arc::strong_count(&env.slot) > 1);
        known.len()
    }
}
