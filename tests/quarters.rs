//! An application of four tasks that tests change: each adds a quarter of two vectors.

use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::support::{request, root, run_request};

/// Four tasks that add a quarter of two vectors each, and a kernel behind them that reads all their results.
const TASKS: &str = r#"counterpoint: 1
application: quarters
code: { add: KERNEL }
buffers:
  a: { type: f32, elements: 256 }
  b: { type: f32, elements: 256 }
  c: { type: f32, elements: 256 }
  d: { type: f32, elements: 256 }
prelude:
  - read: { file: a.f32, into: a, generate: { ramp: { start: 1, step: 1 } } }
  - read: { file: b.f32, into: b, generate: { ramp: { start: 0, step: 0.5 } } }
kernels:
  - tasks: 4
    index: task
    copy_in:
      - { buffer: a, element: "${64 * task}", elements: 64 }
      - { buffer: b, element: "${64 * task}", elements: 64 }
    launch: add.vecadd
    grid: 1
    block: 32
    arguments:
      - { buffer: a, element: "${64 * task}" }
      - { buffer: b, element: "${64 * task}" }
      - { buffer: c, element: "${64 * task}" }
      - 32
    copy_out: [{ buffer: c, element: "${64 * task}", elements: 64 }]
  - { launch: add.vecadd, grid: 1, block: 256, arguments: [c, c, d, 256] }
copy_out: [d]
expect:
  - { buffer: c, file: sums.f32 }
  - { buffer: d, file: doubled.f32 }
"#;

/// The application with this text in the place of that, in a folder of its own.
pub struct Quarters(tempfile::TempDir);

impl Quarters {
    /// The application, in a folder that is removed with this value.
    pub fn with(from: &str, to: &str) -> Self {
        assert!(TASKS.contains(from), "{from}");
        let folder = tempfile::tempdir().unwrap();
        let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx");
        // A task adds 64 elements in two blocks of 32 threads.
        let text = TASKS.replace("grid: 1\n", "grid: 2\n").replace("- 32\n", "- 64\n").replacen(from, to, 1);
        let text = text.replace("KERNEL", &kernel.display().to_string());
        std::fs::write(folder.path().join("quarters.yaml"), text).unwrap();
        let sums: Vec<f32> = (0..256_u16).map(|index| 1.0 + 1.5 * f32::from(index)).collect();
        let bytes =
            |factor: f32| -> Vec<u8> { sums.iter().flat_map(|sum| (factor * sum).to_le_bytes()).collect() };
        std::fs::write(folder.path().join("sums.f32"), bytes(1.0)).unwrap();
        std::fs::write(folder.path().join("doubled.f32"), bytes(2.0)).unwrap();
        Quarters(folder)
    }

    /// A run of the application on a named machine.
    pub fn request(&self, machine: &str, sets: &[&str]) -> RunRequest {
        request(machine, &self.0.path().join("quarters.yaml").display().to_string(), sets)
    }

    /// Runs it on the smallest machine.
    pub fn run(&self, sets: &[&str]) -> RunSummary {
        run_request(&self.request("tiny", sets))
    }

    /// The races that a run without time finds.
    pub fn races(&self) -> Vec<String> {
        let request = RunRequest { functional: true, racecheck: true, ..self.request("tiny", &[]) };
        run_request(&request).found.iter().map(ToString::to_string).collect()
    }
}
