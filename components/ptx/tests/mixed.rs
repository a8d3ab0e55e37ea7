//! More output of compilers: every kernel of `mixed/` must decode, and its control flow be sound.

use counterpoint_ptx::{NO_PC, StackSize, decode, parser};

#[test]
fn all_kernels_of_both_dialects_decode() {
    for dialect in ["nvrtc-sm_35", "clang-sm_35"] {
        let path = format!("{}/tests/mixed/kernel.{dialect}.ptx", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(&path).expect("the kernels are committed");
        let module = parser::parse(&source).unwrap_or_else(|errors| panic!("{path}: {errors:#?}"));
        let kernels = decode::decode(&module).unwrap_or_else(|errors| panic!("{path}: {errors:#?}"));
        let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
        assert_eq!(names, ["matmul", "integers", "doubles", "vectors"], "{dialect}");
        for kernel in &kernels {
            for (pc, instruction) in kernel.instructions().iter().enumerate() {
                assert!(
                    instruction.target == NO_PC
                        || (instruction.target as usize) < kernel.instructions().len()
                );
                assert!(instruction.reconvergence != pc as u32);
                let ids = instruction.reads.as_slice().iter().chain(instruction.writes.as_slice());
                assert!(ids.into_iter().all(|id| *id < kernel.scoreboard_registers()));
                let text = &source[instruction.text.0 as usize..instruction.text.1 as usize];
                assert!(text.ends_with(';') || text.is_empty(), "{text}");
            }
        }
        assert_eq!(kernels[0].shared_bytes(), 2048);
        assert_eq!(kernels[0].max_ntid(), Some([256, 1, 1]));
        assert_eq!(kernels[3].local_bytes(StackSize::default()), 32);
    }
}
