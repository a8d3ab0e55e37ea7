//! Any text is read and decoded, or refused with a reason; a kernel that decodes with all others and needs
//! nothing that is not supported decodes alone.
#![no_main]

use counterpoint_ptx::{Kernel, decode, parser};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let decoded = parser::parse(text).and_then(|module| decode::decode(&module));
    match decoded {
        Ok(kernels) => {
            for kernel in kernels.iter().filter(|kernel| kernel.unsupported().is_empty()) {
                let alone = Kernel::compile(text, Some(kernel.name())).expect("it was decoded");
                assert_eq!(alone.instructions().len(), kernel.instructions().len());
            }
        }
        Err(errors) => assert!(!errors.is_empty(), "refused without a reason"),
    }
});
