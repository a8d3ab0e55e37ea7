//! Headline of a comparison of two runs: their times, the speed of kernels, cache misses, DRAM traffic, and the stalls of the SMs.

use crate::recorded::Statistic;

use super::shift::Shift;

/// Label and statistic of each figure, in the order in which they are shown.
const ASKED: [(&str, &str); 16] = [
    ("simulated time", "run.simulated_time"),
    ("time of kernels", "run.kernel_time"),
    ("thread instructions", "machine.sms.gpu_sim_insn"),
    ("IPC while kernels run", "machine.sms.ipc"),
    ("L1 misses", "machine.sms.L1D_total_cache_misses"),
    ("L2 misses", "machine.l2.L2_total_cache_misses"),
    ("DRAM traffic", "machine.dram.bytes"),
    ("issue slots used", "machine.sms.issue_slots.used"),
    ("stalls: memory", "machine.sms.issue_slots.memory"),
    ("stalls: load-store unit", "machine.sms.issue_slots.memory_pipeline"),
    ("stalls: results of units", "machine.sms.issue_slots.data"),
    ("stalls: units", "machine.sms.issue_slots.pipeline"),
    ("stalls: fetch", "machine.sms.issue_slots.fetch"),
    ("stalls: barriers", "machine.sms.issue_slots.barrier"),
    ("stalls: pages", "machine.sms.issue_slots.page"),
    ("no warp", "machine.sms.issue_slots.idle"),
];

/// Headline numbers of both runs, equal ones included; numbers that only one run has, and numbers that are zero in both, are left out.
pub(super) fn compare(a: &[Statistic], b: &[Statistic]) -> Vec<Shift> {
    let find = |rows: &[Statistic], name: &str| rows.iter().position(|row| row.name == name);
    let shift = |(title, name): (&str, &str)| {
        let (a, b) = (&a[find(a, name)?], &b[find(b, name)?]);
        Some(Shift { name: title.to_owned(), a: a.value, b: b.value, unit: b.unit.clone() })
    };
    ASKED.into_iter().filter_map(shift).filter(|shift| shift.a != 0.0 || shift.b != 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_count_is_shown_in_its_order() {
        let row = |name: &str, value| Statistic { name: name.to_owned(), value, unit: "ps".to_owned() };
        let a = [row("machine.dram.bytes", 0.0), row("machine.sms.ipc", 2.0), row("run.simulated_time", 5.0)];
        let b = [row("run.simulated_time", 5.0), row("machine.dram.bytes", 0.0), row("machine.sms.ipc", 3.0)];
        let found = compare(&a, &b);
        let names: Vec<&str> = found.iter().map(|shift| shift.name.as_str()).collect();
        assert_eq!(names, ["simulated time", "IPC while kernels run"]);
        assert_eq!((found[1].a, found[1].b), (2.0, 3.0));
        assert_eq!(compare(&a[..1], &b), []);
    }
}
