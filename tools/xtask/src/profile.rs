//! The use of the host's time: counts instructions with Valgrind and writes them by component, `cargo xtask
//! profile`.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::speeds::output;

mod callgrind;

const PAGE: &str = "experiments/benches/profile.md";

/// The programs, on one machine: its parts do most of the work of other machines' parts.
const MACHINE: &str = "gtx480";
const PROGRAMS: [&str; 3] = ["reference-vecadd", "reference-matmul", "reference-stencil"];

/// Groups, and the prefixes of their files' paths; a file belongs to the first that names it.
const GROUPS: [(&str, &[&str]); 19] = [
    ("SM: issue", &["components/hardware/src/gpu/sm/issue/"]),
    ("SM: steps and sleep", &["components/hardware/src/gpu/sm/mod.rs"]),
    ("SM: operands, units, results", &["components/hardware/src/gpu/sm/operands/"]),
    ("SM: load-store unit, L1, shared memory", &["components/hardware/src/gpu/sm/load_store/"]),
    ("SM: warps, schedulers, fetch, blocks", &["components/hardware/src/gpu/sm/"]),
    ("PTX: execution", &["components/ptx/src/execute", "components/ptx/frontend/src/isa"]),
    ("PTX: the rest, such as programs and registers", &["components/ptx/"]),
    ("crossbar", &["components/hardware/src/interconnect/"]),
    ("caches: tags, data, misses of L1 and L2", &["components/hardware/src/memory/cache.rs"]),
    (
        "L2 slices",
        &["components/hardware/src/memory/l2_slice.rs", "components/hardware/src/memory/address_map.rs"],
    ),
    ("DRAM", &["components/hardware/src/memory/dram/"]),
    ("other components, protocols, host", &["components/", "host-model/"]),
    ("kernel: links and ports", &["framework/kernel/src/channel/"]),
    ("kernel: processes, queues, time", &["framework/kernel/src/", "framework/src/model/component.rs"]),
    ("around the run: files, machine, statistics, comparison", &["framework/", "experiments/", "tools/"]),
    ("copies of messages and memory", &["./string/"]),
    ("allocation", &["./malloc/"]),
    ("functions of Rust's own library", &["/rustc/"]),
    ("other libraries", &[""]),
];

/// Counts, and writes the page.
pub(crate) fn run() -> Result<(), String> {
    let root = crate::tree::root()?;
    let command = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(name);
        command.current_dir(&root).args(arguments);
        command
    };
    output(&mut command("valgrind", &["--version"]))
        .map_err(|error| format!("{error} (Valgrind is needed)"))?;
    output(&mut command(env!("CARGO"), &["build", "--profile", "profiling", "--quiet"]))?;
    let out = root.join("target/profile");
    let mut profiles = Vec::new();
    for program in PROGRAMS {
        let (counts, results) = (out.join(program).with_extension("callgrind"), out.join(program));
        std::fs::create_dir_all(&results).map_err(|error| format!("{}: {error}", results.display()))?;
        let mut valgrind = command("valgrind", &["--quiet", "--tool=callgrind"]);
        valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
        valgrind.args(["target/profiling/counterpoint", "run", MACHINE, program, "--quiet", "--out"]);
        output(valgrind.arg(&results))?;
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let statistics = read(&results.join("stats.txt"))?;
        profiles.push(Profile {
            by_group: grouped(&callgrind::by_file(&read(&counts)?, &format!("{}/", root.display()))),
            warp_instructions: warp_instructions(&statistics),
        });
    }
    let page = page(&profiles);
    crate::report(&page);
    std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))
}

/// Cost of a program.
struct Profile {
    /// Instructions of the host, in the order of the groups.
    by_group: [u64; GROUPS.len()],
    warp_instructions: u64,
}

/// Adds up files by group.
fn grouped<'a>(by_file: impl IntoIterator<Item = (&'a String, &'a u64)>) -> [u64; GROUPS.len()] {
    let mut sums = [0; GROUPS.len()];
    for (file, count) in by_file {
        let names = |(_, prefixes): &(&str, &[&str])| prefixes.iter().any(|prefix| file.starts_with(prefix));
        sums[GROUPS.iter().position(names).unwrap_or(GROUPS.len() - 1)] += count;
    }
    sums
}

/// The sum of the SMs' warp instructions, by the statistics that a run leaves.
fn warp_instructions(statistics: &str) -> u64 {
    let own = |line: &&str| line.starts_with("gpu.sm[") && line.contains("].warp_insn ");
    let value = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    statistics.lines().filter(own).filter_map(value).sum()
}

fn page(profiles: &[Profile]) -> String {
    let mut page = format!(
        "# Where the host's time goes\n\n\
         Instructions that the host executes for a warp instruction, by the files that they come from, wherever they were\n\
         inlined. What of Rust's own library was inlined into a function of ours counts for this function. `cargo xtask profile`\n\
         counts them with Valgrind's callgrind, which it needs, and writes this page: whole runs of the release build, with line tables, on\n\
         `{MACHINE}`, one thread.\n\n|"
    );
    let row = |page: &mut String, name: &str, cells: Vec<String>| {
        let _ = writeln!(page, " {name} | {} |", cells.join(" | "));
    };
    row(&mut page, "", PROGRAMS.map(|program| format!("{program} | share")).into());
    page.push('|');
    row(&mut page, "---", vec!["---: | ---:".to_owned(); PROGRAMS.len()]);
    let each = |count: u64, profile: &Profile| count as f64 / profile.warp_instructions as f64;
    for (number, (name, _)) in GROUPS.iter().enumerate() {
        page.push('|');
        let cells = profiles.iter().map(|profile| {
            let (count, all) = (profile.by_group[number], profile.by_group.iter().sum::<u64>());
            format!("{:.0} | {:.1} %", each(count, profile), 100.0 * count as f64 / all as f64)
        });
        row(&mut page, name, cells.collect());
    }
    page.push('|');
    let all =
        profiles.iter().map(|profile| format!("{:.0} | ", each(profile.by_group.iter().sum(), profile)));
    row(&mut page, "all", all.collect());
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_the_first_group_that_names_them() {
        let of = |file: &str| {
            let sums = grouped([(&file.to_owned(), &7)]);
            GROUPS[sums.iter().position(|&sum| sum == 7).unwrap_or_default()].0
        };
        assert_eq!(
            of("components/hardware/src/gpu/sm/load_store/l1.rs"),
            "SM: load-store unit, L1, shared memory"
        );
        assert_eq!(of("components/hardware/src/gpu/sm/issue/schedule.rs"), "SM: issue");
        assert_eq!(
            of("components/hardware/src/gpu/sm/frontend/warp.rs"),
            "SM: warps, schedulers, fetch, blocks"
        );
        assert_eq!(of("components/protocols/src/memory.rs"), "other components, protocols, host");
        assert_eq!(of("./string/memmove.S"), "copies of messages and memory");
        assert_eq!(of("/home/somebody/crate.rs"), "other libraries");
    }

    #[test]
    fn instructions_of_warps_are_those_of_the_sms() {
        let statistics = "gpu.scheduler.kernels[k#1].warp_insn 5 # x\ngpu.sm[0].warp_insn   3 # x\ngpu.sm[1].warp_insn 4\n";
        assert_eq!(warp_instructions(statistics), 7);
    }
}
