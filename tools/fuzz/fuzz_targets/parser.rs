//! Any text is read and decoded, or refused with a reason; what can be decoded with all others can be decoded alone.
#![no_main]

use counterpoint_ptx::{Program, decode, parser};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let decoded = parser::parse(text).and_then(|module| decode::decode(&module));
    match decoded {
        Ok(programs) => {
            for program in programs {
                let alone = Program::compile(text, Some(program.name())).expect("it was decoded");
                assert_eq!(alone.instructions().len(), program.instructions().len());
            }
        }
        Err(errors) => assert!(!errors.is_empty(), "refused without a reason"),
    }
});
