//! Files that are no programs, or ask for too much.
use std::fs;
use std::io::Write;
use std::path::Path;

/// Bytes at random, the same at every run.
fn noise(mut state: u64, length: usize) -> Vec<u8> {
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// An archive of a program whose JSON is this, packed.
fn archive(json: &[u8], copies: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let packed = zip::write::SimpleFileOptions::default();
    for (name, text) in [("archive_format", &b"pt2"[..]), ("archive_version", b"0"), ("byteorder", b"little")]
    {
        zip.start_file(format!("m/{name}"), packed).expect("an entry");
        zip.write_all(text).expect("an entry");
    }
    zip.start_file("m/models/model.json", packed).expect("an entry");
    (0..copies).for_each(|_| zip.write_all(json).expect("an entry"));
    zip.finish().expect("an archive").into_inner()
}

/// Thirty files, and why none of them is a program.
pub fn write_thirty(folder: &Path, program: &[u8], model: &[u8]) -> usize {
    let deep = |open: &str, times: usize| open.repeat(times).into_bytes();
    let zeros = vec![0; 1 << 20];
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("empty.pt2".into(), Vec::new()),
        ("empty.onnx".into(), Vec::new()),
        ("zero.pt2".into(), vec![0; 100]),
        ("magic.pt2".into(), b"PK\x03\x04".to_vec()),
        ("brace.pt2".into(), b"{".to_vec()),
        ("text.pt2".into(), b"no program at all\n".to_vec()),
        ("gzip.onnx".into(), b"\x1f\x8b\x08\x00 and more".to_vec()),
        ("deep_list.pt2".into(), [b"{\"a\":".to_vec(), deep("[", 1_000_000)].concat()),
        ("deep_object.pt2".into(), deep("{\"a\":", 300_000)),
        ("deep_graph.pt2".into(), [b"graph():\n    %x = ".to_vec(), deep("(", 1_000_000)].concat()),
        ("deep_model.onnx".into(), [b"<ir_version: 8> g (".to_vec(), deep("{", 1_000_000)].concat()),
        ("field.onnx".into(), [vec![8, 8, 0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f], noise(1, 64)].concat()),
        ("varint.onnx".into(), [vec![8], vec![0xff; 64]].concat()),
        ("graphs.onnx".into(), [vec![8, 8], [0x3a, 0x7f].repeat(100_000)].concat()),
        ("archive_of_zeros.pt2".into(), archive(&zeros, 64)),
        ("archive_of_nothing.pt2".into(), archive(b"", 1)),
        ("archive_of_list.pt2".into(), archive(b"[]", 1)),
        ("archive_of_depth.pt2".into(), archive(b"[", 2_000_000)),
        ("archive_of_noise.pt2".into(), archive(&noise(2, 4096), 1)),
        ("unicode.pt2".into(), "{\"graph_module\": \"\u{202e}\u{0}\"}".as_bytes().to_vec()),
    ];
    for part in 1..=4 {
        files.push((format!("cut_{part}.pt2"), program[..program.len() * part / 5].to_vec()));
        files.push((format!("cut_{part}.onnx"), model[..model.len() * part / 5 - 1].to_vec()));
    }
    for (name, bytes) in &files {
        fs::write(folder.join(name), bytes).expect("a file");
    }
    let huge = fs::File::create(folder.join("huge.pt2")).expect("a file");
    huge.set_len(64 << 30).expect("a file with holes");
    let dangling = folder.join("dangling.pt2");
    std::os::unix::fs::symlink("nowhere", &dangling).expect("a link");
    files.len() + 2
}
