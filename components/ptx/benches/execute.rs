//! Warp instructions per second of functional execution, the floor under every timed run.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

struct Launch {
    kernel: Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    params: Vec<u8>,
    memory: FlatMemory,
}

fn kernel(name: &str) -> Kernel {
    let path = format!(
        "{}/../../experiments/applications/{name}/kernel.nvrtc-sm_35.ptx",
        env!("CARGO_MANIFEST_DIR")
    );
    let source = std::fs::read_to_string(path).expect("the kernels are committed");
    Kernel::compile(&source, Some(name)).expect("the committed kernels are valid")
}

fn layout(kernel: &Kernel, values: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; kernel.param_bytes() as usize];
    for (param, value) in kernel.params().iter().zip(values) {
        let size = param.size as usize;
        bytes[param.offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    bytes
}

fn hotspot() -> Launch {
    let n = 512;
    let kernel = kernel("hotspot");
    let mut memory = FlatMemory::new(0);
    let grid = vec![1.0; n * n];
    let [power, source, result] = [(); 3].map(|()| memory.push_f32(&grid));
    let float = |value: f32| u64::from(value.to_bits());
    let (side, steps) = (n as u64, 2);
    let constants = [float(0.1), float(10.0), float(10.0), float(100.0), float(0.01)];
    let mut values = vec![steps, power, source, result, side, side, steps, steps];
    values.extend(constants);
    let params = layout(&kernel, &values);
    Launch { kernel, grid: [43, 43, 1], block: [16, 16, 1], params, memory }
}

fn vecadd() -> Launch {
    let n = 1 << 18;
    let kernel = kernel("vecadd");
    let mut memory = FlatMemory::new(0);
    let data = vec![1.0; n];
    let [a, b, c] = [(); 3].map(|()| memory.push_f32(&data));
    let params = layout(&kernel, &[a, b, c, n as u64]);
    Launch { kernel, grid: [n as u32 / 256, 1, 1], block: [256, 1, 1], params, memory }
}

fn execute(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("functional");
    group.sample_size(10);
    for (name, mut launch) in [("hotspot", hotspot()), ("vecadd", vecadd())] {
        let options = Options::default();
        let mut go = || {
            run(&launch.kernel, launch.grid, launch.block, &launch.params, &mut launch.memory, &options)
                .expect("the launches are valid")
        };
        let executed = go().warp_instructions;
        group.throughput(Throughput::Elements(executed));
        group.bench_function(name, |bencher| bencher.iter(&mut go));
    }
    group.finish();
}

criterion_group!(benches, execute);
criterion_main!(benches);
