//! Starting: what cannot be served is said at once.
use assert_cmd::Command;

#[test]
fn wrong_setups_end_with_a_message() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let no_hash = folder.path().join("tokens.txt");
    std::fs::write(&no_hash, "my secret\n").unwrap();
    let no_hash = no_hash.to_str().unwrap();
    for (options, status, says) in [
        (vec!["--listen", "0.0.0.0:0"], 2, "--tokens"),
        (vec!["--listen", "nowhere"], 2, "nowhere"),
        (vec!["--listen", "localhost:port"], 2, "`port` is no port"),
        (vec!["--listen", "::1:8077"], 2, "[::1]:8077"),
        (vec!["--listen", ":8077"], 2, "no host"),
        (vec!["--listen", "no-such-host.invalid:8077"], 3, "--listen no-such-host.invalid:8077"),
        (vec!["--allow-host", "https://shapes.example.org"], 2, "--allow-host"),
        (vec!["--max-connections", "0"], 2, "--max-connections"),
        (vec!["--listen", &taken], 3, &taken),
        (vec!["--tokens", "/no/such/file"], 2, "/no/such/file"),
        (vec!["--tokens", no_hash], 2, "64 hexadecimal digits"),
        (vec!["--log", "a=b=c=d"], 2, "--log"),
        (vec!["--budget", "0"], 2, "--budget"),
    ] {
        let output = Command::cargo_bin("sizewise").unwrap().arg("serve").args(&options).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{options:?}: {message}");
        assert!(message.contains(says), "{options:?}: {message}");
        assert!(!message.contains("secret"), "tokens are not repeated");
    }
}
