//! How long serde_json takes to parse programs' JSON into typed structs: JSON lines on standard output, times in
//! seconds.
//!
//! Arguments: `.pt2` files. Timed is parsing alone: unpacking the archive before and dropping the structs after are
//! not.
use crate::schema::ExportedProgram;
use std::io::Read;
use std::time::Instant;

/// How often a program is parsed; the median counts.
const REPEATS: usize = 15;

/// The JSON in an archive.
fn json(path: &str) -> Vec<u8> {
    let file = std::fs::File::open(path).expect("a file");
    let mut archive = zip::ZipArchive::new(file).expect("an archive");
    let name = archive
        .file_names()
        .map(|name| name.expect("a name").into_owned())
        .find(|name| name.ends_with("models/model.json"))
        .expect("a program");
    let mut bytes = Vec::new();
    archive.by_name(&name).expect("the program").read_to_end(&mut bytes).expect("the program");
    bytes
}

/// Times the programs that the arguments name.
pub fn main() {
    for path in std::env::args().skip(1) {
        let json = json(&path);
        let mut times = Vec::new();
        let mut nodes = 0;
        for _ in 0..REPEATS {
            let start = Instant::now();
            let program: ExportedProgram = serde_json::from_slice(std::hint::black_box(&json)).expect("a program");
            times.push(start.elapsed().as_secs_f64());
            nodes = program.graph_module.graph.nodes.len();
        }
        times.sort_by(f64::total_cmp);
        let (median, least) = (times[REPEATS / 2], times[0]);
        println!("{{\"path\":{path:?},\"bytes\":{},\"nodes\":{nodes},\"median_s\":{median:.6},\"least_s\":{least:.6}}}", json.len());
    }
}
