//! Cost of an open row, a closed bank and another row: walks through one channel of the DRAM, load after
//! load.

use counterpoint_hardware::memory::address_map::{AddressMap, AddressMapParams};
use counterpoint_hardware::memory::dram::mapping::{DramAddress, Layout};
use counterpoint_hardware::memory::dram::timing::Timing;

use counterpoint_tests::probe::{Configured, Probe, lines};

/// All clocks are equal, so that cycles of the DRAM are cycles of the SM, and take whole picoseconds, so that no hop waits for a
/// rounded edge. Slices take turns, even on machines that draw them at random, so that a walk stays in one slice.
const SETS: [&str; 5] = [
    "gpu.clocks.core=1 GHz",
    "gpu.clocks.icnt=1 GHz",
    "gpu.clocks.l2=1 GHz",
    "gpu.clocks.dram=1 GHz",
    "gpu.slice_hash=none",
];

/// The target of a hop, within an L2 slice and its channel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// The next line of the same row.
    Column,
    Bank,
    /// The next row of the same bank.
    Row,
}

/// A machine whose DRAM is walked through.
struct Walked<'a> {
    name: &'a str,
    timing: Timing,
    layout: Layout,
    map: AddressMap,
    channels: u64,
}

impl<'a> Walked<'a> {
    fn of(name: &'a str) -> Self {
        let machine = Configured::of(name, &["gpu.slice_hash=none"]);
        let params = machine.group::<AddressMapParams>("gpu.dram[0]", "map");
        let valid = "a machine that was loaded is valid";
        let timing = machine.timing();
        let layout = Layout::new(&timing, params.dram.0).expect(valid);
        let map = AddressMap::new(&params).expect(valid);
        Walked { name, timing, layout, map, channels: machine.count("gpu.dram[") as u64 }
    }

    /// The shortest way there that is a power of two, in bytes of the channel.
    fn distance(&self, to: To) -> u64 {
        let leads = |distance: &u64| {
            let DramAddress { bank, row, .. } = self.layout.place(*distance);
            let found = match (bank, row) {
                (0, 0) => To::Column,
                (0, _) => To::Row,
                (_, 0) => To::Bank,
                (_, _) => return false,
            };
            found == to && self.map.slice(distance * self.channels) == 0
        };
        // Shorter ones stay in a chunk of the channel, whose next one is not the next of all.
        (8..32).map(|bit| 1 << bit).find(leads).expect("there is such a bit")
    }

    /// Cycles of a hop, with settings.
    fn hop(&self, to: To, sets: &[&str]) -> f64 {
        let sets = [&["gpu.sms=1"], &SETS[..], sets].concat();
        let whole = 16 * self.distance(To::Row) * self.channels;
        // A step's address waits for the value before it, which is of no other use.
        let step = format!(
            "ld.global.cg.u32 %r4, [%rd3];\nand.b32 %r4, %r4, 0;\ncvt.u64.u32 %rd4, %r4;\nadd.u64 %rd3, %rd3, %rd4;\n\
             add.u64 %rd3, %rd3, {};",
            self.distance(to) * self.channels
        );
        let cycles = |hops: u64| {
            let body = format!(
                "rem.u64 %rd4, %rd1, {whole};\nsub.u64 %rd3, %rd1, %rd4;\nadd.u64 %rd3, %rd3, {whole};\n{}",
                lines(hops, |_| step.clone())
            );
            let (machine, buffer) = (self.name, 2 * whole);
            let probe = Probe { machine, sets: &sets, body: &body, threads: 1, buffer, ..Probe::default() };
            let counts = probe.run(None);
            assert_eq!(counts.sum("gpu.dram[", "n_req"), hops as f64, "every hop reads the DRAM");
            counts.sum("gpu.sm", "active_cycles")
        };
        (cycles(8) - cycles(4)) / 4.0
    }
}

#[test]
fn another_row_costs_a_precharge_and_an_activation_and_a_closed_bank_only_this() {
    for name in ["gtx480", "kepler-titan", "titanx-sm6"] {
        let walked = Walked::of(name);
        let Timing { tRP, tRCD, .. } = walked.timing;
        let open = walked.hop(To::Column, &[]);
        assert_eq!(walked.hop(To::Row, &[]) - open, (tRP + tRCD) as f64, "{name}: a row after a row");
        assert_eq!(walked.hop(To::Bank, &[]) - open, tRCD as f64, "{name}: a bank after a bank");
    }
}

#[test]
fn a_row_that_must_stay_open_holds_the_next_one_of_its_bank() {
    let walked = Walked::of("gtx480");
    let (stays, again) = ("gpu.dram.timing.tRAS=1000", "gpu.dram.timing.tRC=2000");
    // A hop without them takes some hundred cycles.
    assert_eq!(walked.hop(To::Row, &[stays]), (1000 + walked.timing.tRP) as f64, "tRAS, then tRP");
    assert_eq!(walked.hop(To::Row, &[again]), 2000.0, "tRC");
    assert_eq!(walked.hop(To::Column, &[stays, again]), walked.hop(To::Column, &[]), "in the open row");
}
