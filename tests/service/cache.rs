//! Verdicts kept in a file: they come back checked, and nothing damaged is believed.
use crate::client::{config, get, post, post_lines};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Value, json};
use sizewise::service::{App, CacheAt, Config};
use std::path::Path;
use std::sync::Arc;

const VERDICTS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("verdicts");

/// Questions with every verdict and of several rungs.
const QUESTIONS: &[&str] = &[
    r#"{"id":0,"symbols":{"s0":{"min":2}},"given":["Eq(Mod(s0, 8), 0)"],"goal":"Eq(8*(s0//8), s0)"}"#,
    r#"{"id":1,"symbols":{"s0":{"min":2,"max":9}},"goal":"s0*s0 <= 81"}"#,
    r#"{"id":2,"symbols":{"s0":{"min":2}},"goal":"s0 > 7"}"#,
    r#"{"id":3,"symbols":{"s0":{"min":2}},"given":["s0 < 2"],"goal":"s0 > 7"}"#,
    r#"{"id":4,"symbols":{"a":{"min":0},"b":{"min":0}},"given":["a + 2*b <= 10","a >= b + 4"],"goal":"b <= 2"}"#,
    r#"{"id":5,"symbols":{"a":{"min":1},"b":{"min":1}},"goal":"Eq((a*b)//b, a)"}"#,
    r#"{"id":6,"goal":"Eq((x + 1)*(x - 1), x*x - 1)"}"#,
];

fn open(path: &Path) -> Arc<App> {
    App::new(Config { cache: CacheAt::Disk(path.to_path_buf()), ..config() }, None).unwrap()
}

fn timeless(mut answer: Value) -> Value {
    answer["time_ns"] = json!(0);
    answer["setup_ns"] = json!(0);
    answer
}

#[tokio::test]
async fn a_cache_without_a_store_has_none_that_could_be_down() {
    let app = crate::client::service();
    let text = get(&app, "/metrics").await.text;
    assert!(!text.contains("sizewise_cache_store_up"), "{text}");
    assert_eq!(get(&app, "/readyz").await.json()["cache"]["answers"], true);
    let folder = tempfile::tempdir().unwrap();
    let app = open(&folder.path().join("cache"));
    assert_eq!(figure(&app, "sizewise_cache_store_up").await, 1);
}

#[tokio::test]
async fn what_was_built_is_shown() {
    let text = get(&crate::client::service(), "/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with("sizewise_build_info{")).unwrap();
    for part in [
        concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""),
        "features=\"smt,cli,service\"",
        "os=",
        "arch=",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(line.ends_with("} 1"), "{line}");
}

async fn ask_all(app: &Arc<App>) -> Vec<Value> {
    let answers = post_lines(app, "/v1/entail", QUESTIONS.join("\n")).await;
    answers.lines().into_iter().map(timeless).collect()
}

async fn figure(app: &Arc<App>, name: &str) -> u64 {
    let text = get(app, "/metrics").await.text;
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Lets go of the file.
fn close(app: Arc<App>) {
    app.cache.flush();
    drop(Arc::try_unwrap(app).ok().expect("nobody else has it"));
}

/// Changes every entry of a file that nobody has open.
fn change(path: &Path, change: impl Fn(&[u8]) -> Vec<u8>) {
    let database = Database::create(path).unwrap();
    let entries: Vec<([u8; 32], Vec<u8>)> = {
        let read = database.begin_read().unwrap();
        let table = read.open_table(VERDICTS).unwrap();
        table.iter().unwrap().map(|e| e.unwrap()).map(|(k, v)| (*k.value(), change(v.value()))).collect()
    };
    assert!(!entries.is_empty());
    let write = database.begin_write().unwrap();
    for (key, value) in &entries {
        write.open_table(VERDICTS).unwrap().insert(key, value.as_slice()).unwrap();
    }
    write.commit().unwrap();
}

async fn until_released(path: &Path) {
    // The writer's thread ends a moment after the service.
    while Database::create(path).is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_restart_keeps_verdicts_and_checks_them_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let app = open(&path);
    let first = ask_all(&app).await;
    assert_eq!(figure(&app, "sizewise_cache_misses_total").await, QUESTIONS.len() as u64);
    close(app);
    until_released(&path).await;
    let app = open(&path);
    assert_eq!(ask_all(&app).await, first);
    assert_eq!(figure(&app, "sizewise_cache_hits_total{in=\"store\"}").await, QUESTIONS.len() as u64);
    assert_eq!(figure(&app, "sizewise_cache_misses_total").await, 0);
    assert_eq!(get(&app, "/readyz").await.json()["cache"]["store"], "disk");
}

#[tokio::test]
async fn the_same_question_in_other_words_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let app = open(&folder.path().join("cache.redb"));
    post(&app, "/v1/entail", r#"{"symbols":{"s0":{"min":2}},"goal":"s0 + s0 >= 4"}"#).await;
    app.cache.flush();
    let again = r#"{"symbols":{"s0":{"min":2,"max":null}},"given":[],"goal":"2*s0 >= 4"}"#;
    assert_eq!(post(&app, "/v1/entail", again).await.json()["verdict"], "implied");
    assert_eq!(figure(&app, "sizewise_cache_hits_total{in=\"store\"}").await, 1);
}

#[tokio::test]
async fn entries_that_were_changed_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let app = open(&path);
    let first = ask_all(&app).await;
    close(app);
    until_released(&path).await;
    change(&path, |bytes| {
        let mut bytes = bytes.to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    });
    let app = open(&path);
    assert_eq!(ask_all(&app).await, first);
    assert_eq!(
        figure(&app, "sizewise_cache_rejected_total{reason=\"checksum\"}").await,
        QUESTIONS.len() as u64
    );
}

#[tokio::test]
async fn forged_verdicts_do_not_stand_up_to_a_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let app = open(&path);
    // s0 > 7 does not follow from s0 >= 2; the checksum of what is forged is right.
    let question = r#"{"symbols":{"s0":{"min":2}},"goal":"s0 > 7"}"#;
    for forged in [
        r#"{"by":"range","implied":[{"lower":"s0"}],"model":{"s0":9},"ns":1,"setup":1}"#,
        r#"{"by":"range","implied":[{"fact":3}],"model":{"s0":9},"ns":1,"setup":1}"#,
        r#"{"by":"range","implied":[{"nonzero":"s0 - 8"}],"model":{"s0":9},"ns":1,"setup":1}"#,
        r#"{"by":"range","implied":[],"model":{"s0":9},"ns":1,"setup":1}"#,
        r#"{"by":"range","inconsistent":[{"lower":"s0"}],"ns":1,"setup":1}"#,
        r#"{"by":"search","refuted":{"s0":8},"ns":1,"setup":1}"#,
        r#"{"by":"search","refuted":{"s0":1},"ns":1,"setup":1}"#,
        r#"{"by":"search","refuted":{},"ns":1,"setup":1}"#,
        r#"{"by":"magic","refuted":{"s0":2},"ns":1,"setup":1}"#,
        "{}",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        let app = open(&path);
        post(&app, "/v1/entail", question).await;
        close(app);
        until_released(&path).await;
        change(&path, |_| {
            let mut bytes = b"szw1".to_vec();
            bytes.extend_from_slice(&<sha2::Sha256 as sha2::Digest>::digest(forged)[..16]);
            bytes.extend_from_slice(forged.as_bytes());
            bytes
        });
        let app = open(&path);
        let answer = post(&app, "/v1/entail", question).await.json();
        assert_eq!(
            (&answer["verdict"], &answer["witness"]),
            (&json!("refuted"), &json!({"s0": 2})),
            "{forged}"
        );
        assert_eq!(figure(&app, "sizewise_cache_rejected_total{reason=\"check\"}").await, 1, "{forged}");
    }
    close(app);
}

#[tokio::test]
async fn a_damaged_file_is_set_aside() {
    for damage in ["not a database", ""] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        std::fs::write(&path, damage.repeat(1000)).unwrap();
        let app = open(&path);
        assert_eq!(ask_all(&app).await.len(), QUESTIONS.len());
        let aside = std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains(".damaged-"))
            .count();
        // An empty file is where a cache may begin.
        assert_eq!(aside, usize::from(!damage.is_empty()));
    }
}

#[tokio::test]
async fn damage_anywhere_in_a_file_never_changes_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let app = open(&path);
    let first = ask_all(&app).await;
    close(app);
    until_released(&path).await;
    let whole = std::fs::read(&path).unwrap();
    for part in 0..24 {
        let damaged = folder.path().join(format!("damaged-{part}.redb"));
        let mut bytes = whole.clone();
        let (from, length) = (part * whole.len() / 24, whole.len() / 240);
        bytes[from..from + length].iter_mut().for_each(|b| *b = b.wrapping_add(13));
        std::fs::write(&damaged, bytes).unwrap();
        assert_eq!(ask_all(&open(&damaged)).await, first, "part {part}");
    }
    let cut = folder.path().join("cut.redb");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(ask_all(&open(&cut)).await, first);
}

#[tokio::test]
async fn files_that_cannot_be_used_are_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let start = |path: &Path| App::new(Config { cache: CacheAt::Disk(path.to_path_buf()), ..config() }, None);
    assert!(start(folder.path()).is_err());
    assert!(start(&folder.path().join("no/such/folder/cache.redb")).is_err());
    let path = folder.path().join("cache.redb");
    let first = open(&path);
    assert!(start(&path).is_err(), "two services may not share a file");
    drop(first);
}

#[tokio::test]
async fn without_its_redis_it_serves_from_memory_and_says_so() {
    let cache = CacheAt::parse("redis://127.0.0.1:1/");
    let app = App::new(Config { cache, ..config() }, None).unwrap();
    assert_eq!(ask_all(&app).await.len(), QUESTIONS.len());
    let ready = get(&app, "/readyz").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["cache"], json!({"store": "redis", "answers": false, "serving_from": "memory"}));
    assert_eq!(figure(&app, "sizewise_cache_store_up").await, 0);
}
