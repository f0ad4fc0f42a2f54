//! Environments: an exporter adds facts to them while it traces, and asks questions under these facts. They expire when
//! they are not used.
use super::auth::Holder;
use super::config::Limits;
use super::problem::{Code, Problem};
use prometheus::IntCounterVec;
use sizewise_check::query::{Capacity, Environment};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An environment; `None` after an internal error.
pub type Slot = Arc<tokio::sync::Mutex<Option<Environment>>>;

struct HeldEnv {
    slot: Slot,
    owner: Option<Holder>,
    used: Instant,
}

/// All environments of this process.
pub struct Envs {
    known: Mutex<HashMap<String, HeldEnv>>,
    most: usize,
    /// The most environments with one token.
    share: usize,
    idle: Duration,
    room: Capacity,
    refused: IntCounterVec,
}

impl Envs {
    /// No environments yet; `refused` counts those that are refused.
    pub fn new(limits: &Limits, room: Capacity, refused: IntCounterVec) -> Envs {
        let Limits { envs: most, token_envs: share, env_idle: idle, .. } = *limits;
        Envs { known: Mutex::default(), most, share, idle, room, refused }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HeldEnv>> {
        // Nothing that can panic runs under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No facts, to be filled before they become an environment.
    pub fn blank(&self) -> Environment {
        Environment::new(self.room)
    }

    /// How long an environment lives without use.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Creates an environment and returns its id, which cannot be guessed.
    ///
    /// # Errors
    /// When there are as many as allowed, in all or with this token.
    pub fn make(&self, standing: Environment, owner: Option<Holder>) -> Result<String, Problem> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random)
            .map_err(|error| Problem::new(Code::Internal, format!("no random numbers: {error}")))?;
        let id: String = random.iter().map(|b| format!("{b:02x}")).collect();
        self.expire();
        let mut known = self.lock();
        let own = known.values().filter(|env| env.owner == owner).count();
        if owner.is_some() && own >= self.share {
            return Err(self.refuse("token", &format!("there are {own} environments with this token")));
        }
        if known.len() >= self.most {
            return Err(self.refuse("all", &format!("there are {} environments", known.len())));
        }
        let slot = Arc::new(tokio::sync::Mutex::new(Some(standing)));
        known.insert(id.clone(), HeldEnv { slot, owner, used: Instant::now() });
        Ok(id)
    }

    fn refuse(&self, of: &str, why: &str) -> Problem {
        self.refused.with_label_values(&[of]).inc();
        let detail = format!("{why}; delete some, or wait until some expire");
        Problem::new(Code::TooManyEnvs, detail).at("of", of).retry_after(30)
    }

    /// The environment with this id, if it belongs to the holder.
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

    /// Deletes expired environments, and returns the number of those left.
    pub fn expire(&self) -> usize {
        let mut known = self.lock();
        // One that somebody works with at this moment is in use.
        known.retain(|_, env| env.used.elapsed() < self.idle || Arc::strong_count(&env.slot) > 1);
        known.len()
    }
}
