//! Bytes a second of every level of memory, against the configured bandwidth.

use std::collections::BTreeSet;

use counterpoint_hardware::memory::address_map::{AddressMap, AddressMapParams};
use counterpoint_hardware::memory::dram::timing::Timing;

use counterpoint_tests::probe::{Configured, Probe, close, lines, micros};

/// Bytes of a line, and of a sector.
const LINE: f64 = 128.0;
const SECTOR: f64 = 32.0;

/// Registers that loads write in turn, so that a warp has sixteen under way.
fn register(number: u64) -> u64 {
    8 + number % 16
}

/// Puts the address of the lane's word in a line into `%rd3`: the line begins `number` times `bytes` behind the first address of
/// the buffer that is a multiple of `whole`.
fn address(whole: u64, number: &str, bytes: u64) -> String {
    format!(
        "rem.u64 %rd4, %rd1, {whole};\nsub.u64 %rd4, %rd1, %rd4;\nadd.u64 %rd4, %rd4, {whole};\n\
         mov.u32 %r4, {number};\nmul.wide.u32 %rd5, %r4, {bytes};\nadd.u64 %rd4, %rd4, %rd5;\n\
         and.b32 %r4, %r3, 31;\nmul.wide.u32 %rd5, %r4, 4;\nadd.u64 %rd3, %rd4, %rd5;\n"
    )
}

/// Between these times, in microseconds, all loads that must miss have missed.
const FROM: f64 = 20.0;
const TO: f64 = 30.0;

#[test]
fn the_l1_delivers_a_line_in_every_cycle() {
    // The collectors of the GTX 480 are too few to hide that an address and a result may want one bank; these are not.
    let wide = "gpu.sm.memory.collectors=16";
    for latency in [20.0, 35.0, 70.0] {
        let set = format!("gpu.sm.l1d.latency={latency} cycles");
        let sets = ["gpu.sms=1", wide, &set];
        let cycles = (TO - FROM) * Configured::of("gtx480", &sets).megahertz("gpu.sm[0]");
        let loads = lines(1500, |n| format!("ld.global.u32 %r{}, [%rd3+{}];", register(n), n % 16 * 128));
        let body = address(128, "0", 0) + &loads;
        let probe = Probe { sets: &sets, body: &body, threads: 1024, buffer: 8192, ..Probe::default() };
        let [hits, misses] = probe.between(
            [FROM, TO].map(micros),
            [("gpu.sm", "L1D_total_cache_accesses"), ("gpu.sm", "L1D_total_cache_misses")],
        );
        assert_eq!(misses, 0.0);
        close(&set, LINE * hits / cycles, LINE);
    }
}

/// Cycles for which an end of the crossbar's replies passes a line: a packet takes the switch a step and one for each flit,
/// and the channel behind it a cycle for each flit.
fn reply_cycles(machine: &Configured) -> f64 {
    let of = |parameter: &str| machine.number("gpu.network", parameter);
    let packets = LINE / of("replies.packet");
    let flits = packets * ((of("replies.packet") + of("replies.header")) / of("replies.flit")).ceil();
    flits.max((packets + flits) / of("speedup"))
}

/// Loads of all warps of some SMs, from the L2.
struct Loads<'a> {
    machine: &'a str,
    sets: &'a [&'a str],
    sms: u32,
    from: Source,
}

/// The lines that they load.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// All lines of one slice.
    OneSlice,
    OwnSlice,
    /// All lines of all slices.
    AllSlices,
}

/// Results of these loads.
struct Found {
    /// Bytes a cycle of the L2.
    bytes: f64,
    /// Replies, and cycles that replies waited at the head of their queue, in a cycle.
    replies: f64,
    conflicts: f64,
}

impl Loads<'_> {
    fn run(&self) -> Found {
        let count = format!("gpu.sms={}", self.sms);
        let sets = [self.sets, &[count.as_str()]].concat();
        let machine = Configured::of(self.machine, &sets);
        let slices = machine.count("gpu.l2[") as u64;
        // After this number of bytes the slices come in the same order again.
        let whole = slices * 256;
        let offset = |n: u64| match self.from {
            Source::AllSlices => n * 7 % (2 * slices) * 128,
            Source::OneSlice | Source::OwnSlice => n % 16 * whole,
        };
        let block = if self.from == Source::OwnSlice { "%ctaid.x" } else { "0" };
        // Past the L1, where it would hold them.
        let load = |n: u64| format!("ld.global.cg.u32 %r{}, [%rd3+{}];", register(n), offset(n));
        let body = address(whole, block, apart(&machine, slices)) + &lines(2000, load);
        let probe = Probe {
            machine: self.machine,
            sets: &sets,
            body: &body,
            blocks: self.sms,
            threads: 1024,
            buffer: 18 * whole,
            ..Probe::default()
        };
        let [sectors, misses, replies, conflicts] = probe.between(
            [FROM, TO].map(micros),
            [
                ("gpu.l2[", "L2_total_cache_accesses"),
                ("gpu.l2[", "L2_total_cache_misses"),
                ("gpu.network.replies", "messages"),
                ("gpu.network.replies", "conflicts"),
            ],
        );
        assert_eq!(misses, 0.0);
        let cycles = (TO - FROM) * machine.megahertz("gpu.l2[0]");
        assert_eq!(machine.megahertz("gpu.network"), machine.megahertz("gpu.l2[0]"));
        Found { bytes: sectors * SECTOR / cycles, replies: replies / cycles, conflicts: conflicts / cycles }
    }
}

/// Bytes between a line of a slice and one of the next slice: slices take turns by lines or by pairs of lines.
fn apart(machine: &Configured, slices: u64) -> u64 {
    let map = AddressMap::new(&machine.group::<AddressMapParams>("gpu.network", "map")).unwrap();
    let all = |bytes: &u64| {
        let found: BTreeSet<u32> = (0..slices).map(|number| map.slice(number * bytes)).collect();
        found.len() as u64 == slices
    };
    [128, 256].into_iter().find(all).unwrap()
}

/// Slices in turn, where a machine has them drawn at random, so that lines of one slice can be named.
const IN_TURN: &[&str] = &["gpu.slice_hash=none"];

/// A slice delivers a sector a cycle to some SMs.
fn assert_slice(machine: &str, sms: u32) {
    let loads = Loads { machine, sets: IN_TURN, sms, from: Source::OneSlice };
    close(&format!("{machine}, {sms} SMs, a slice"), loads.run().bytes, SECTOR);
}

/// Each slice delivers its bandwidth as well, if every SM has a slice of its own and no SM waits for another.
fn assert_slices(machine: &str) {
    let slices = Configured::of(machine, &[]).count("gpu.l2[");
    let each = Loads { machine, sets: IN_TURN, sms: slices as u32, from: Source::OwnSlice };
    close(&format!("{machine}, all slices"), each.run().bytes, slices * SECTOR);
}

#[test]
fn a_slice_of_the_l2_delivers_a_sector_a_cycle() {
    assert_slice("gtx480", 1);
    for machine in ["gtx480", "kepler-titan", "titanx-sm6"] {
        assert_slice(machine, 2);
    }
    assert_slices("gtx480");
}

#[test]
fn an_sm_receives_what_its_port_of_the_crossbar_passes() {
    let settings: [&[&str]; 4] = [
        &[],
        &["gpu.flit=20 B"],
        &["gpu.flit=80 B", "gpu.reply=128 B"],
        &["gpu.flit=16 B", "gpu.reply=64 B", "gpu.network.speedup=1"],
    ];
    for sets in settings {
        let loads = Loads { machine: "gtx480", sets, sms: 1, from: Source::AllSlices };
        let expected = LINE / reply_cycles(&Configured::of("gtx480", sets));
        // Traffic that has passed: queues behind a slow port may still be filling.
        close(&format!("{sets:?}"), loads.run().replies * LINE, expected);
    }
}

#[test]
fn what_all_sms_lose_between_all_slices_they_lose_at_the_heads_of_queues() {
    // The share of the slices' possible throughput that they deliver, with settings.
    let share = |sets: &[&str]| {
        let machine = Configured::of("gtx480", sets);
        let (slices, sms) = (machine.count("gpu.l2["), machine.count("gpu.sm["));
        let loads = Loads { machine: "gtx480", sets, sms: sms as u32, from: Source::AllSlices };
        let Found { replies, conflicts, .. } = loads.run();
        let busy = replies * reply_cycles(&machine);
        // Every slice always has a reply that passes, or one at its head that waits for an output.
        close("busy slices", busy + conflicts, slices);
        busy / slices
    };
    // Queues with one head saturate between 2 - sqrt(2), with very many of them, and 3/4, with two (Karol, Hluchyj and
    // Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch", 1987): where a reply passes as a whole.
    let whole = share(&["gpu.reply=128 B", "gpu.network.speedup=1"]);
    assert!((2.0 - 2_f64.sqrt()..0.75).contains(&whole), "{whole} of what the slices deliver");
    // If packets of several replies take turns at an output, each reply stays longer at the head of its queue: the mean number
    // of replies at a shared output is that of M/G/1-PS, load / (1 - load), which is one per output at load 1/2.
    let in_packets = share(&[]);
    assert!((0.5..whole).contains(&in_packets), "{in_packets} of what the slices deliver, and {whole}");
}

struct Dram {
    machine: Configured,
    timing: Timing,
    channels: f64,
}

impl Dram {
    fn of(machine: &str, sets: &[&str]) -> Self {
        let machine = Configured::of(machine, sets);
        let timing = machine.timing();
        let channels = machine.count("gpu.dram[");
        Dram { machine, timing, channels }
    }

    /// Bytes a microsecond of all channels, where a channel brings `bytes` bytes in `cycles` cycles.
    fn speed(&self, bytes: u64, cycles: u64) -> f64 {
        self.channels * bytes as f64 / cycles as f64 * self.machine.megahertz("gpu.dram[0]")
    }
}

/// Bytes a microsecond that the DRAM brings while all threads of a machine with settings load word after word. Only a value
/// that nothing has would be stored: so the loads have a use, and nothing is written.
fn streamed(name: &str, sets: &[&str]) -> f64 {
    const THREADS: u32 = 512;
    // At its default speed the crossbar would cost the fourteen SMs of the Titan a hundredth of the bandwidth.
    let sets = &[&["gpu.network.speedup=4"], sets].concat();
    let machine = Configured::of(name, sets);
    let sms = machine.count("gpu.sm[") as u64;
    let step = sms * u64::from(THREADS) * 4;
    let count = 1000;
    let load = |n: u64| format!("ld.global.cg.u32 %r{}, [%rd3+{}];", register(n), n * step);
    let use_of = |n: u64| format!("xor.b32 %r5, %r5, %r{};", register(n));
    let body = format!(
        "mov.u32 %r4, %ctaid.x;\nmad.lo.s32 %r4, %r4, {THREADS}, %r3;\nmul.wide.u32 %rd2, %r4, 4;\n\
         add.u64 %rd3, %rd1, %rd2;\nmov.u32 %r5, 0;\n{}{}setp.eq.s32 %p1, %r5, 1234567;\n@%p1 st.global.u32 [%rd3], %r5;\n",
        lines(count, load),
        lines(16, use_of),
    );
    let probe = Probe {
        machine: name,
        sets,
        body: &body,
        blocks: sms as u32,
        threads: THREADS,
        buffer: count * step,
        ..Probe::default()
    };
    let [bytes, writes] =
        probe.between([FROM, TO].map(micros), [("gpu.dram[", "bytes"), ("gpu.dram[", "n_wr")]);
    assert_eq!(writes, 0.0);
    bytes / (TO - FROM)
}

/// A stream of reads takes the bus of the DRAM.
fn assert_stream(name: &str) {
    let dram = Dram::of(name, &[]);
    let Timing { access, burst, burst_cycles, tCCD, .. } = dram.timing;
    // A column access brings `access` bytes, which on the GTX 480 are half of the burst that crosses the bus.
    let expected = dram.speed(access, burst_cycles.max(tCCD));
    close(name, streamed(name, &[]), expected);
    let raw = dram.speed(burst, burst_cycles);
    assert_eq!(expected / raw, if name == "gtx480" { 0.5 } else { 1.0 });
}

#[test]
fn a_stream_of_reads_takes_the_dram_s_bus() {
    assert_stream("gtx480");
    let whole = ["gpu.dram.timing.access=64 B", "gpu.l2.sector=64 B"];
    let dram = Dram::of("gtx480", &whole);
    close(
        "whole bursts",
        streamed("gtx480", &whole),
        dram.speed(dram.timing.burst, dram.timing.burst_cycles),
    );
}

#[test]
fn what_a_refresh_takes_a_stream_loses() {
    let sets = ["gpu.dram.refresh=all-bank", "gpu.dram.timing.tREFI=1000", "gpu.dram.timing.tRFC=100"];
    let dram = Dram::of("gtx480", &sets);
    let Timing { access, tCCD, tREFI, tRFC, tRP, tRCD, tRTP, .. } = dram.timing;
    // No column access from the last before the refresh to the first in rows that are opened again.
    let share = 1.0 - (tRTP + tRP + tRFC + tRCD) as f64 / tREFI as f64;
    close("with refreshes", streamed("gtx480", &sets), share * dram.speed(access, tCCD));
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn all_slices_of_the_l2_deliver_a_sector_a_cycle() {
        for machine in ["gtx480", "kepler-titan", "titanx-sm6"] {
            assert_slice(machine, 1);
            assert_slice(machine, 4);
            assert_slices(machine);
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_stream_of_reads_takes_the_dram_s_bus_of_later_cards() {
        assert_stream("kepler-titan");
        assert_stream("titanx-sm6");
    }
}
