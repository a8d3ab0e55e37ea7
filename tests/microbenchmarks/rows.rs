//! What an open row, a closed bank and another row cost: walks through one channel of the DRAM, load after load.

use counterpoint_framework::model::Families;
use counterpoint_framework::testing::params;
use counterpoint_hardware::memory::dram::timing::{Timing, TimingParams};

use super::probe::{Configured, Probe, lines};

/// A channel's addresses by the map of these machines: the neighbouring columns of a row, the next of its bank's rows, and
/// the next bank that is not another L2 slice's.
const COLUMN: u64 = 512;
const BANK: u64 = 8192;
const ROW: u64 = 65536;

/// All clocks are alike, so that cycles of the DRAM are cycles of the SM, and last whole picoseconds, so that no hop waits for an
/// edge that was rounded.
const CLOCKS: [&str; 4] =
    ["gpu.clocks.core=1 GHz", "gpu.clocks.icnt=1 GHz", "gpu.clocks.l2=1 GHz", "gpu.clocks.dram=1 GHz"];

/// Cycles of a hop, where each reads so many bytes of a channel behind the one before.
fn hop(machine: &str, bytes: u64, sets: &[&str]) -> f64 {
    let channels = Configured::of(machine, &[]).count("gpu.dram[") as u64;
    let sets = [&["gpu.sms=1"], &CLOCKS[..], sets].concat();
    let whole = 8 * ROW * channels;
    // A step's address waits for the value before it, which is of no other use.
    let step = format!(
        "ld.global.cg.u32 %r4, [%rd3];\nand.b32 %r4, %r4, 0;\ncvt.u64.u32 %rd4, %r4;\nadd.u64 %rd3, %rd3, %rd4;\n\
         add.u64 %rd3, %rd3, {};",
        bytes * channels
    );
    let cycles = |hops: u64| {
        let body = format!(
            "rem.u64 %rd4, %rd1, {whole};\nsub.u64 %rd3, %rd1, %rd4;\nadd.u64 %rd3, %rd3, {whole};\n{}",
            lines(hops, |_| step.clone())
        );
        let probe =
            Probe { machine, sets: &sets, body: &body, threads: 1, buffer: 4 * whole, ..Probe::default() };
        let counts = probe.run(None);
        assert_eq!(counts.sum("gpu.dram[", "n_req"), hops as f64, "every hop reads the DRAM");
        counts.sum("gpu.sm", "active_cycles")
    };
    (cycles(8) - cycles(4)) / 4.0
}

#[test]
fn another_row_costs_a_precharge_and_an_activation_and_a_closed_bank_only_this() {
    for (machine, standard) in [("gtx480", "gddr5"), ("titanx-sm6", "gddr5-1502")] {
        let Timing { tRP, tRCD, .. } = timing(standard);
        let open = hop(machine, COLUMN, &[]);
        assert_eq!(hop(machine, ROW, &[]) - open, (tRP + tRCD) as f64, "{machine}: a row after a row");
        assert_eq!(hop(machine, BANK, &[]) - open, tRCD as f64, "{machine}: a bank after a bank");
    }
}

/// The timings of a standard.
fn timing(standard: &str) -> Timing {
    let params: TimingParams = params(&Families::default(), &format!("{{ standard: {standard} }}"));
    Timing::new(&params).unwrap_or_else(|invalid| panic!("{}", invalid.0))
}

#[test]
fn a_row_that_must_stay_open_holds_the_next_one_of_its_bank() {
    let set = |name: &str, cycles: u64| format!("gpu.dram.timing.{name}={cycles}");
    let (stays, again) = (set("tRAS", 1000), set("tRC", 2000));
    // A hop without them takes some hundred cycles.
    assert_eq!(hop("gtx480", ROW, &[&stays]), (1000 + timing("gddr5").tRP) as f64, "tRAS, then tRP");
    assert_eq!(hop("gtx480", ROW, &[&again]), 2000.0, "tRC");
    assert_eq!(hop("gtx480", COLUMN, &[&stays, &again]), hop("gtx480", COLUMN, &[]), "in the open row");
}
