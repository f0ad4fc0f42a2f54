//! Verdicts in a file, so that a restart keeps them. A damaged file is set aside and a new one begun.
use super::{CacheError, Key, Store, StoreError};
use redb::{Database, ReadableDatabase, ReadableTableMetadata, TableDefinition};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

const VERDICTS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("verdicts");

/// The file.
pub(super) struct Disk {
    path: PathBuf,
    /// None once the file was found damaged and no new one could be begun.
    database: RwLock<Option<Database>>,
    most_bytes: u64,
}

/// Why the file cannot be used at present.
enum Fault {
    /// Another process has it, or the system refuses.
    Refused(String),
    /// It is no database, or a broken one.
    Damaged(String),
}

impl Fault {
    fn of(error: &redb::Error) -> Fault {
        use redb::Error::{Corrupted, DatabaseAlreadyOpen, Io, RepairAborted, UpgradeRequired};
        match error {
            Io(io)
                if matches!(
                    io.kind(),
                    std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof
                ) =>
            {
                Fault::Damaged(error.to_string())
            }
            Io(_) | DatabaseAlreadyOpen => Fault::Refused(error.to_string()),
            Corrupted(_) | RepairAborted | UpgradeRequired(_) => Fault::Damaged(error.to_string()),
            other => Fault::Damaged(other.to_string()),
        }
    }
}

/// What the database does; a panic in it means that the file is not what it takes it for.
fn guarded<T>(act: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Fault::of(&error)),
        Err(_) => Err(Fault::Damaged("the database panicked".to_string())),
    }
}

/// Opens a file and looks at all of it.
fn open(path: &Path) -> Result<Database, Fault> {
    guarded(|| {
        let mut database = Database::create(path)?;
        // False means that something was repaired; what cannot be is an error.
        database.check_integrity()?;
        let write = database.begin_write()?;
        write.open_table(VERDICTS)?;
        write.commit()?;
        Ok(database)
    })
}

impl Disk {
    /// Opens or begins a file of about `most_bytes` at most.
    pub fn open(path: &Path, most_bytes: u64) -> Result<Disk, CacheError> {
        let refused = |message: String| CacheError { place: path.display().to_string(), message };
        if path.is_dir() {
            return Err(refused("a folder; expected a file".to_string()));
        }
        let database = match open(path) {
            Ok(database) => database,
            Err(Fault::Refused(message)) => return Err(refused(message)),
            Err(Fault::Damaged(message)) => {
                set_aside(path, &message).map_err(refused)?;
                open(path).map_err(|fault| match fault {
                    Fault::Refused(message) | Fault::Damaged(message) => refused(message),
                })?
            }
        };
        Ok(Disk { path: path.to_path_buf(), database: RwLock::new(Some(database)), most_bytes })
    }

    /// Does something with the database; if that shows damage, sets the file aside and begins a new one.
    fn with<T>(&self, act: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StoreError> {
        let outcome = {
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            let Some(database) = database.as_ref() else {
                return Err(StoreError::Damaged("no file is left".to_string()));
            };
            guarded(|| act(database))
        };
        match outcome {
            Ok(value) => Ok(value),
            Err(Fault::Refused(message)) => Err(StoreError::Away(message)),
            Err(Fault::Damaged(message)) => {
                let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
                // Closing a damaged database may panic as well.
                let old = database.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(old)));
                if set_aside(&self.path, &message).is_ok() {
                    *database = open(&self.path).ok();
                }
                Err(StoreError::Damaged(message))
            }
        }
    }
}

/// Renames a damaged file and says so.
fn set_aside(path: &Path, why: &str) -> Result<(), String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let mut n = 0;
    let aside = loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{seconds}"));
        if n > 0 {
            name.push(format!("-{n}"));
        }
        let aside = PathBuf::from(name);
        if !aside.exists() {
            break aside;
        }
        n += 1;
    };
    std::fs::rename(path, &aside)
        .map_err(|error| format!("it is damaged and cannot be set aside: {error}"))?;
    tracing::warn!(file = %path.display(), aside = %aside.display(), why, "the cache is damaged and was set aside; a new one begins");
    Ok(())
}

impl Store for Disk {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.with(|database| {
            let table = database.begin_read()?.open_table(VERDICTS)?;
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                found.push(table.get(key)?.map(|value| value.value().to_vec()));
            }
            Ok(found)
        })
    }

    fn put(&self, entries: &[(Key, Vec<u8>)]) -> Result<(), StoreError> {
        let most_bytes = self.most_bytes;
        self.with(|database| {
            let write = database.begin_write()?;
            let full = {
                let table = write.open_table(VERDICTS)?;
                let stats = table.stats()?;
                stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes() > most_bytes
            };
            if full {
                write.delete_table(VERDICTS)?;
            }
            {
                let mut table = write.open_table(VERDICTS)?;
                for (key, value) in entries {
                    table.insert(key, value.as_slice())?;
                }
            }
            write.commit()?;
            Ok(())
        })
    }

    fn name(&self) -> &'static str {
        "disk"
    }
}
