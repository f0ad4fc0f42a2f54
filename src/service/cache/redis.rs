//! Verdicts in a Redis that replicas share. While it is away, nobody waits for it: it is tried again now and then.
use super::{CacheError, Key, Store, StoreError};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// How long an answer may take; a verdict is found anew in about that time.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long a Redis that did not answer is left alone.
const REST: Duration = Duration::from_secs(1);
/// How long an entry is kept, in seconds.
const KEPT: u64 = 30 * 24 * 3600;
/// What the names of all entries begin with.
const PREFIX: &[u8] = b"sizewise:1:";

/// The Redis.
pub(super) struct Redis {
    client: redis::Client,
    /// Its own thread: workers wait for it, and are no part of the server's runtime.
    runtime: Option<Runtime>,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    connection: Option<ConnectionManager>,
    resting_until: Option<Instant>,
}

impl Redis {
    /// Prepares for a Redis; it need not answer yet.
    pub fn open(address: &str) -> Result<Redis, CacheError> {
        let failed = |message: String| CacheError { place: without_password(address), message };
        let client = redis::Client::open(address).map_err(|error| failed(error.to_string()))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cache-redis")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Redis { client, runtime: Some(runtime), link: Mutex::default() })
    }

    /// A connection, or why there is none.
    fn connection(&self) -> Result<ConnectionManager, StoreError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.resting_until.is_some_and(|until| Instant::now() < until) {
            return Err(StoreError::Away("it did not answer a moment ago".to_string()));
        }
        if let Some(connection) = &link.connection {
            return Ok(connection.clone());
        }
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE))
            .set_number_of_retries(1);
        let client = self.client.clone();
        let made = self.block_on(async move {
            tokio::time::timeout(3 * PATIENCE, ConnectionManager::new_with_config(client, config)).await
        });
        match made.unwrap_or(Ok(Err(redis::RedisError::from(std::io::Error::other("shut down"))))) {
            Ok(Ok(connection)) => {
                link.connection = Some(connection.clone());
                Ok(connection)
            }
            Ok(Err(error)) => Err(self.rests(&mut link, error.to_string())),
            Err(_) => Err(self.rests(&mut link, "no connection in time".to_string())),
        }
    }

    /// `None` only while this is being dropped.
    fn block_on<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.runtime.as_ref().map(|runtime| runtime.block_on(work))
    }

    fn rests(&self, link: &mut Link, why: String) -> StoreError {
        link.resting_until = Some(Instant::now() + REST);
        // The next attempt begins with a new connection.
        link.connection = None;
        StoreError::Away(why)
    }

    fn ask<T: redis::FromRedisValue + Send + 'static>(&self, pipe: redis::Pipeline) -> Result<T, StoreError> {
        let mut connection = self.connection()?;
        let asked = self.block_on(async move {
            tokio::time::timeout(2 * PATIENCE, pipe.query_async::<T>(&mut connection)).await
        });
        let why = match asked {
            Some(Ok(Ok(value))) => return Ok(value),
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(_)) | None => "no answer in time".to_string(),
        };
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        Err(self.rests(&mut link, why))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // Waiting for its threads is not allowed where the server's own runtime drops this.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The name of an entry.
fn name(key: &Key) -> Vec<u8> {
    [PREFIX, key.as_slice()].concat()
}

/// An address that may be shown.
fn without_password(address: &str) -> String {
    match (address.find("://"), address.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &address[..scheme], &address[at..]),
        _ => address.to_string(),
    }
}

impl Store for Redis {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut pipe = redis::pipe();
        let names: Vec<Vec<u8>> = keys.iter().map(name).collect();
        pipe.cmd("MGET").arg(names);
        let mut answers: Vec<Vec<Option<Vec<u8>>>> = self.ask(pipe)?;
        match answers.pop() {
            Some(found) if found.len() == keys.len() => Ok(found),
            _ => Err(StoreError::Away("an answer of another length".to_string())),
        }
    }

    fn put(&self, entries: &[(Key, Vec<u8>)]) -> Result<(), StoreError> {
        let mut pipe = redis::pipe();
        for (key, value) in entries {
            pipe.cmd("SET").arg(name(key)).arg(value.as_slice()).arg("EX").arg(KEPT).ignore();
        }
        self.ask::<()>(pipe)
    }

    fn name(&self) -> &'static str {
        "redis"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_password("redis://user:secret@host:6379/0"), "redis://…@host:6379/0");
        assert_eq!(without_password("redis://host"), "redis://host");
    }

    #[test]
    fn a_redis_that_is_not_there_is_away_at_once() {
        let redis = Redis::open("redis://127.0.0.1:1/").unwrap();
        assert!(matches!(redis.get(&[[0; 32]]), Err(StoreError::Away(_))));
        assert!(matches!(redis.put(&[([0; 32], vec![1])]), Err(StoreError::Away(_))));
        assert!(Redis::open("no address").is_err());
    }
}
