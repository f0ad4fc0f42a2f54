//! What was read is written and read again.

use std::path::Path;

use super::{write, write_json};
use crate::ir::pt2::{ReadOptions, outline, read};
use crate::ir::text;

#[test]
fn programs_that_were_read_are_written_and_read_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the programs") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a program");
        let program = read(&bytes, &ReadOptions::default()).expect("a program");
        let json = write_json(&program).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let archive = write(&program).expect("an archive");
        for written in [json.as_bytes(), &archive] {
            let again = read(written, &ReadOptions::default())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            // Everything that a program holds is in its debug form.
            assert!(format!("{program:?}") == format!("{again:?}"), "{}", path.display());
            assert!(write_json(&again).as_ref() == Ok(&json), "{}", path.display());
        }
        assert_eq!(write(&program).expect("an archive"), archive, "the same bytes");
        outline(&archive, &ReadOptions::default()).expect("an outline");
        count += 1;
    }
    assert!(count > 100, "{count} programs");
}

#[test]
fn what_the_format_has_no_place_for_is_refused() {
    let program = |annotation: &str| {
        let head = format!("class M(torch.nn.Module):\n    def forward(self, x{annotation}):\n");
        text::read(&format!("{head}        return (x,)\n")).expect("a program")
    };
    assert!(write_json(&program(": \"f32[3]\"")).is_ok());
    for (annotation, message) in
        [("", "`x`: nothing is recorded of it"), (": \"int4[3]\"", "`x`: the format has no int4")]
    {
        assert_eq!(write_json(&program(annotation)).expect_err(message).to_string(), message);
    }
}
