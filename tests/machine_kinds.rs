//! The sources that machines follow: the twins of GPGPU-Sim its files, cards their data sheets, machines of
//! papers the papers. A part of a twin alone must not reach the others by a file that they share.

use counterpoint_framework::topology::{Follows, Machine};
use counterpoint_simulation::find::{Sort, list};
use counterpoint_simulation::registry;
use counterpoint_simulation::run::load_machine;

use crate::support::{request, root};

fn machine(name: &str) -> Machine {
    load_machine(&request(name, "", &[]), &registry()).unwrap().machine
}

/// A parameter of a component as it is written; none if it is not set.
fn text(machine: &Machine, path: &str, parameter: &str) -> Option<String> {
    let instance = machine.instances.iter().find(|one| one.path == path);
    let instance = instance.unwrap_or_else(|| panic!("{} has no {path}", machine.name));
    let node = parameter.split('.').try_fold(&*instance.params, |node, key| node.get(key))?;
    node.as_scalar().map(str::to_owned)
}

#[test]
fn every_machine_says_what_it_follows() {
    let kinds = [
        (Follows::Simulator, &["gtx480", "kepler-titan", "titanx-sm6"][..]),
        (Follows::Card, &["c2050", "gtx680", "k40", "m2050", "titanx-maxwell"]),
    ];
    // Small ones for tests follow nothing.
    let mut named = vec!["integrated", "tiny", "two-gpus"];
    for (follows, names) in kinds {
        for name in names {
            assert_eq!(machine(name).follows, Some(follows), "{name}");
        }
        named.extend(names);
    }
    named.sort_unstable();
    let mut known = list(Sort::Machine, &root(), &registry());
    known.sort_unstable();
    assert_eq!(known, named);
}

#[test]
fn a_twin_has_what_gpgpu_sims_file_says() {
    // gpgpu-sim_distribution 4.2, configs/tested-cfgs: gpgpu_num_sched_per_core, opcode_initiation_dp, opcode_initiation_sfu, units of
    // double precision, dram_atom_size of a sector, and clocks.
    type Fact = (&'static str, &'static str, Option<&'static str>);
    const TWINS: [(&str, &[Fact]); 3] = [
        (
            "gtx480",
            &[
                ("gpu.sm[0]", "schedulers", Some("2")),
                ("gpu.sm[0]", "dp.units", Some("0")),
                ("gpu.sm[0]", "dp_initiation.mad", Some("8")),
                ("gpu.sm[0]", "dp_initiation.max", Some("16")),
                ("gpu.sm[0]", "sfu_initiation", Some("8")),
                ("gpu.dram[0]", "timing.access", Some("32 B")),
            ],
        ),
        (
            "kepler-titan",
            &[
                ("gpu.sm[0]", "schedulers", Some("4")),
                ("gpu.sm[0]", "dp.units", Some("4")),
                ("gpu.sm[0]", "dp_initiation.add", Some("2")),
                ("gpu.sm[0]", "dp_initiation.mad", Some("8")),
                ("gpu.sm[0]", "sfu_latency", Some("200")),
                ("gpu.sm[0]", "sfu_initiation", Some("2")),
                ("gpu.dram[0]", "timing.access", None),
            ],
        ),
        (
            "titanx-sm6",
            &[
                ("gpu.sm[0]", "schedulers", Some("4")),
                ("gpu.sm[0]", "dp.units", Some("0")),
                ("gpu.sm[0]", "dp_initiation.mad", Some("8")),
                ("gpu.sm[0]", "sfu_latency", Some("20")),
                ("gpu.sm[0]", "sfu_initiation", Some("4")),
                ("gpu.dram[0]", "timing.access", None),
            ],
        ),
    ];
    for (name, facts) in TWINS {
        let machine = machine(name);
        for (path, parameter, value) in facts {
            assert_eq!(text(&machine, path, parameter).as_deref(), *value, "{name}: {path}.{parameter}");
        }
    }
}

#[test]
fn only_the_gtx_480_reads_half_bursts() {
    for name in list(Sort::Machine, &root(), &registry()) {
        let machine = machine(&name);
        if machine.instances.iter().any(|one| one.path == "gpu.dram[0]") {
            assert_eq!(text(&machine, "gpu.dram[0]", "timing.access").is_some(), name == "gtx480", "{name}");
        }
    }
}
