//! An ONNX model, or the text of one: it is read or refused, and what is read is written as text and walked.
#![no_main]
use libfuzzer_sys::fuzz_target;
use sizewise::onnx::check::shapes;
use sizewise::onnx_model::read::{Model, message};
use sizewise::onnx_model::text;

fuzz_target!(|data: &[u8]| {
    let Ok(found) = message(data.to_vec()) else { return };
    let written = text::print(&found);
    if text::is_text(data) {
        let again = text::parse(&written).expect("what is written reads back");
        assert_eq!(text::print(&again), written);
    }
    if let Ok(model) = Model::read(data.to_vec()) {
        let _ = shapes(&model);
    }
});
