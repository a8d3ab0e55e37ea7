//! Narrow tasks whose inputs have random sizes, and tasks that share their places in memory.

use counterpoint::application::{LoadedApplication, RealFiles, load};
use counterpoint::component::Registry;
use counterpoint::host::program::{Step, Task};
use counterpoint::run::RunRequest;

use counterpoint_tests::support::{assert_verified, request, root};

use crate::run_request;

/// Programs whose inputs can be irregular, and whether their tasks have shared memory.
const PROGRAMS: [(&str, bool); 12] = [
    ("narrow-beam-former", false),
    ("narrow-convolution", false),
    ("narrow-convolution-global", false),
    ("narrow-dct", true),
    ("narrow-dct-global", false),
    ("narrow-des", false),
    ("narrow-filter-bank", false),
    ("narrow-mandelbrot", false),
    ("narrow-matmul", true),
    ("narrow-matmul-global", false),
    ("narrow-mixed", true),
    ("narrow-mixed-global", false),
];

fn tasks(program: &str, sets: &[&str]) -> Vec<Task> {
    let path = root().join(format!("experiments/applications/{program}/{program}.yaml"));
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let loaded: LoadedApplication =
        load(&path.display().to_string(), &sets, &RealFiles, &Registry::default())
            .unwrap_or_else(|report| panic!("{}", report.render()));
    let of_step = |step: &Step| match step {
        Step::Tasks(tasks) => tasks.to_vec(),
        _ => Vec::new(),
    };
    loaded.application.steps.iter().flat_map(of_step).collect()
}

#[test]
fn sizes_are_by_chance_and_threads_follow_them() {
    for (program, _) in PROGRAMS {
        let kinds = if program.contains("mixed") { 4 } else { 1 };
        let irregular = tasks(program, &["app.tasks=256", "app.irregular=1"]);
        for kind in 0..kinds {
            let of_kind = || irregular.iter().skip(kind).step_by(kinds);
            let mut threads: Vec<u32> = of_kind().map(|task| task.launch.block[0]).collect();
            let copied = |task: &Task| task.copies().map(|part| part.bytes).sum::<u64>();
            let largest = of_kind().map(copied).max().unwrap();
            for task in of_kind().filter(|task| copied(task) == largest) {
                assert_eq!(task.launch.block[0], 256, "{program}: the largest inputs have the most threads");
            }
            threads.sort_unstable();
            threads.dedup();
            let steps = if threads.len() == 4 { 64 } else { 32 };
            assert_eq!(
                threads,
                (steps..=256).step_by(steps as usize).collect::<Vec<_>>(),
                "{program} {kind}"
            );
        }
    }
}

/// Runs tasks of each program, under those of the runtimes that are chosen by the place of the program and of the runtime.
fn compute(chosen: impl Fn(usize, usize) -> bool) {
    for (place, (program, is_shared)) in PROGRAMS.into_iter().enumerate() {
        let runtimes =
            if is_shared { &["hyperq", "pagoda"][..] } else { &["hyperq", "pagoda", "fusion", "gemtc"] };
        let runtimes = runtimes.iter().enumerate().filter(|(runtime, _)| chosen(place, *runtime));
        for (_, runtime) in runtimes {
            // A cosine transform in global memory works in the place of its result, which then is one task's alone.
            let distinct = match program {
                "narrow-dct-global" => "app.distinct=24",
                "narrow-mixed-global" => "app.distinct=6",
                _ => "app.distinct=5",
            };
            let sets = ["app.size=small", "app.irregular=1", "app.tasks=24", distinct];
            let request =
                RunRequest { overlays: vec![(*runtime).to_owned()], ..request("tiny", program, &sets) };
            assert_verified(&run_request(&request));
        }
    }
}

#[test]
fn tasks_with_irregular_inputs_that_share_places_compute_what_they_should() {
    // Runtimes take turns.
    compute(
        |program, runtime| if PROGRAMS[program].1 { program % 2 == runtime } else { program % 4 == runtime },
    );
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn tasks_with_irregular_inputs_compute_what_they_should_under_every_runtime() {
        compute(|_, _| true);
    }
}
