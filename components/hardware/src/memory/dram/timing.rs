//! DRAM timings, by standard: one row each, with its source.
//!
//! All times are in cycles of the DRAM command clock, under JEDEC's names. A read and a write turn the bus round as in
//! GPGPU-Sim's `memory_config`: read to write tCL + burst + 2 − tWL, write to read tWL + burst + tCDLR.

use counterpoint_framework::model::{Choice, Invalid, Params};
use counterpoint_framework::time::{Bytes, Hertz};
use counterpoint_protocols::memory::LINE_BYTES;

/// A set of timings to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Standard {
    /// GDDR5 at 924 MHz, two chips a channel, as GPGPU-Sim 4.2 ships it for the GTX 480 (Hynix H5GQ1H24AFR).
    Gddr5,
    /// GDDR5 at 1502 MHz, one chip a channel, as GPGPU-Sim 4.2 ships it for the GTX Titan and the Titan X.
    #[param(name = "gddr5-1502")]
    Gddr5At1502,
    /// GDDR3 at 800 MHz, two chips a channel, as GPGPU-Sim 3.0.1 ships it for the Quadro FX 5800 (Samsung K4J52324QH).
    Gddr3,
    /// HBM2 at 1 GHz, 2 Gb/s a pin, a channel of 128 bits, with refresh.
    Hbm2,
}

/// Bits of a bank's number that are its bank group's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Grouping {
    /// The high ones: neighbouring banks share a group.
    HighBits,
    /// The low ones: neighbouring banks lie in different groups.
    LowBits,
}

/// Declares the timings once: as optional parameters that override a standard's, and as the values themselves.
macro_rules! timings {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Timings and shape that differ from the standard's.
        #[derive(Clone, Debug, Params)]
        #[allow(non_snake_case)]
        pub struct TimingParams {
            /// The standard that gives whatever is not set here.
            #[param(default = "gddr5")]
            pub standard: Standard,
            /// Banks of the channel.
            #[param(min = "1", max = "64")]
            pub banks: Option<u32>,
            /// Bank groups of the channel; 1 where the standard has none.
            #[param(min = "1", max = "64")]
            pub groups: Option<u32>,
            /// Bits of a bank's number that are its bank group's.
            pub grouping: Option<Grouping>,
            $($(#[doc = $doc])+ #[param(max = "1000000")] pub $name: Option<u64>,)*
            /// Bytes of one row of one bank, where the address map does not say.
            #[param(min = "128 B", max = "1 MiB")]
            pub row: Option<Bytes>,
            /// Bytes that one column access transfers: bus width × burst length.
            #[param(min = "8 B", max = "128 B")]
            pub burst: Option<Bytes>,
            /// Cycles for which one column access occupies the data bus.
            #[param(min = "1", max = "64")]
            pub burst_cycles: Option<u64>,
            /// Bytes that one column access brings of a read; the burst where it is not set. GPGPU-Sim reads every
            /// 32-byte sector for itself, with a burst of 64 bytes on the GTX 480; its write-backs share bursts.
            #[param(min = "8 B", max = "128 B")]
            pub access: Option<Bytes>,
            /// Whether a row command and a column command can be issued in one cycle.
            pub dual_command_bus: Option<bool>,
            /// Whether the channel is refreshed.
            pub refresh: Option<bool>,
        }

        /// Timings in the form in which the controller uses them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_snake_case, missing_docs)]
        pub struct Timing {
            pub banks: u32,
            pub groups: u32,
            pub grouping: Grouping,
            $(pub $name: u64,)*
            pub row: u64,
            pub burst: u64,
            pub burst_cycles: u64,
            pub access: u64,
            pub dual_command_bus: bool,
            pub refresh: bool,
        }

        impl Timing {
            /// The standard's timings, but for what is set.
            fn overridden(params: &TimingParams) -> Self {
                let base = params.standard.timing();
                let burst = params.burst.map_or(base.burst, Bytes::get);
                Timing {
                    banks: params.banks.unwrap_or(base.banks),
                    groups: params.groups.unwrap_or(base.groups),
                    grouping: params.grouping.unwrap_or(base.grouping),
                    $($name: params.$name.unwrap_or(base.$name),)*
                    row: params.row.map_or(base.row, Bytes::get),
                    burst,
                    burst_cycles: params.burst_cycles.unwrap_or(base.burst_cycles),
                    access: params.access.map_or(burst, Bytes::get),
                    dual_command_bus: params.dual_command_bus.unwrap_or(base.dual_command_bus),
                    refresh: params.refresh.unwrap_or(base.refresh),
                }
            }
        }
    };
}

timings! {
    /// Precharge to activate, same bank.
    tRP,
    /// Column access to column access.
    tCCD,
    /// Column access to column access, same bank group.
    tCCDL,
    /// Activate to activate, different banks.
    tRRD,
    /// Activate to read, same bank.
    tRCD,
    /// Activate to write, same bank.
    tRCDWR,
    /// Activate to precharge, same bank.
    tRAS,
    /// Activate to activate, same bank.
    tRC,
    /// Read command to first data.
    tCL,
    /// Write command to first data.
    tWL,
    /// Last write data to precharge, same bank.
    tWR,
    /// Last write data to read command.
    tCDLR,
    /// Read to precharge, same bank.
    tRTP,
    /// Read to precharge, same bank group.
    tRTPL,
    /// Refresh to refresh; 0 where the standard's row does not say.
    tREFI,
    /// Refresh to activate.
    tRFC,
}

/// gpgpu-sim_distribution 4.2, configs/tested-cfgs/SM2_GTX480: two chips of 4 bytes, bursts of 8 at four transfers a
/// cycle. tRCDWR is its tRCD − (tWL + 1) and tRTP its burst, in all sets of GPGPU-Sim.
const GDDR5: Timing = Timing {
    banks: 16,
    groups: 4,
    grouping: Grouping::HighBits,
    tRP: 12,
    tCCD: 2,
    tCCDL: 3,
    tRRD: 6,
    tRCD: 12,
    tRCDWR: 7,
    tRAS: 28,
    tRC: 40,
    tCL: 12,
    tWL: 4,
    tWR: 12,
    tCDLR: 5,
    tRTP: 2,
    tRTPL: 2,
    tREFI: 0,
    tRFC: 0,
    row: 2048,
    burst: 64,
    burst_cycles: 2,
    access: 64,
    dual_command_bus: false,
    refresh: false,
};

/// gpgpu-sim_distribution 4.2, configs/tested-cfgs/SM3_KEPLER_TITAN and SM6_TITANX: one chip of 4 bytes.
const GDDR5_AT_1502: Timing = Timing {
    tRP: 16,
    tCCDL: 4,
    tRRD: 8,
    tRCD: 16,
    tRCDWR: 9,
    tRAS: 37,
    tRC: 52,
    tCL: 16,
    tWL: 6,
    tWR: 16,
    tCDLR: 7,
    tRTPL: 3,
    burst: 32,
    access: 32,
    ..GDDR5
};

/// gpgpu-sim_distribution 3.0.1, configs/QuadroFX5800: two chips of 4 bytes, bursts of 4 at two transfers a cycle.
const GDDR3: Timing = Timing {
    banks: 8,
    groups: 1,
    tRP: 10,
    tCCDL: 0,
    tRRD: 8,
    tRCDWR: 4,
    tRAS: 25,
    tRC: 35,
    tCL: 10,
    tWL: 7,
    tWR: 11,
    tCDLR: 6,
    tRTPL: 0,
    burst: 32,
    access: 32,
    ..GDDR5
};

/// JESD235 at 1 GHz as gpgpu-sim_distribution 4.2 notes it in configs/tested-cfgs/SM7_TITANV, with that file's low bits
/// for bank groups and its two command buses: 16 bytes, bursts of 2 at two transfers a cycle. Refresh: 3.9 µs and
/// 260 ns, for channels of 4 Gb.
const HBM2: Timing = Timing {
    grouping: Grouping::LowBits,
    tRP: 14,
    tCCD: 1,
    tCCDL: 2,
    tRRD: 4,
    tRCD: 14,
    tRCDWR: 11,
    tRAS: 33,
    tRC: 47,
    tCL: 14,
    tWL: 2,
    tWR: 12,
    tCDLR: 3,
    tRTP: 1,
    tRTPL: 4,
    tREFI: 3900,
    tRFC: 260,
    burst: 32,
    burst_cycles: 1,
    access: 32,
    dual_command_bus: true,
    refresh: true,
    ..GDDR5
};

impl Standard {
    const fn timing(self) -> Timing {
        match self {
            Standard::Gddr5 => GDDR5,
            Standard::Gddr5At1502 => GDDR5_AT_1502,
            Standard::Gddr3 => GDDR3,
            Standard::Hbm2 => HBM2,
        }
    }
}

impl Timing {
    /// The timings of these parameters.
    ///
    /// # Errors
    /// When sizes do not divide, or refreshes leave no time for anything else.
    pub fn new(params: &TimingParams) -> Result<Self, Invalid> {
        let timing = Timing::overridden(params);
        let Timing { banks, groups, row, burst, access, .. } = timing;
        if !burst.is_power_of_two() || row % LINE_BYTES != 0 {
            return Err(format!("burst must be a power of two, and row a multiple of {LINE_BYTES} B").into());
        }
        if !access.is_power_of_two() || access > burst {
            return Err(
                format!("access must be a power of two and not more than the burst, {burst} B").into()
            );
        }
        if banks % groups != 0 {
            return Err(format!("{banks} banks cannot be shared out among {groups} groups").into());
        }
        if timing.refresh && timing.tREFI <= timing.longest_refresh() {
            let standard = params.standard.as_str();
            return Err(format!(
                "refresh needs tRFC, and a tREFI of more than {} cycles: {standard} has {} and {}",
                timing.longest_refresh(),
                timing.tRFC,
                timing.tREFI
            )
            .into());
        }
        Ok(timing)
    }

    /// The bank group of a bank.
    pub const fn group(&self, bank: u32) -> u32 {
        match self.grouping {
            Grouping::HighBits => bank / (self.banks / self.groups),
            Grouping::LowBits => bank % self.groups,
        }
    }

    /// From a refresh that is due to the end of it, at the worst: a write has just begun in a row just opened.
    const fn longest_refresh(&self) -> u64 {
        self.tRC + self.tRAS + self.tRP + self.tWL + self.burst_cycles + self.tWR + self.tRTPL + self.tRFC
    }

    /// Bytes a second that the data bus transfers at most.
    pub fn peak(&self, clock: Hertz) -> u64 {
        let bytes = u128::from(clock.get()) * u128::from(self.burst) / u128::from(self.burst_cycles);
        bytes as u64
    }

    /// Column accesses for a request that touches `parts` parts of `access` bytes.
    pub const fn columns(&self, parts: u64, write: bool) -> u64 {
        if write { (parts * self.access).div_ceil(self.burst) } else { parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterpoint_framework::model::Families;
    use counterpoint_framework::testing::params;

    fn timing(text: &str) -> Result<Timing, String> {
        Timing::new(&params(&Families::default(), text)).map_err(|invalid| invalid.0)
    }

    #[test]
    fn what_is_set_replaces_the_standards() {
        assert_eq!(timing("{}"), Ok(GDDR5));
        assert_eq!(timing("{ standard: gddr5-1502 }"), Ok(GDDR5_AT_1502));
        assert_eq!(timing("{ standard: gddr3, tRP: 3 }"), Ok(Timing { tRP: 3, ..GDDR3 }));
        let quiet = timing("{ standard: hbm2, refresh: off, access: 16 B }");
        assert_eq!(quiet, Ok(Timing { refresh: false, access: 16, ..HBM2 }));
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        // 64 pins at 3.696 Gb/s, 32 at 6.008, 64 at 1.6, 128 at 2.
        let of = |timing: Timing, mhz: u64| timing.peak(Hertz::new(mhz * 1_000_000)) / 1_000_000;
        let found = [of(GDDR5, 924), of(GDDR5_AT_1502, 1502), of(GDDR3, 800), of(HBM2, 1000)];
        assert_eq!(found, [29_568, 24_032, 12_800, 32_000]);
    }

    #[test]
    fn the_sets_of_gpgpu_sim_keep_its_relations() {
        for timing in [GDDR5, GDDR5_AT_1502, GDDR3, HBM2] {
            assert_eq!(timing.tRCDWR, timing.tRCD - (timing.tWL + 1));
            assert_eq!(timing.tRTP, timing.burst_cycles);
            assert!(timing.tRC >= timing.tRAS + timing.tRP - 1, "Kepler's set is one cycle short");
        }
    }

    #[test]
    fn bank_groups_are_runs_or_stripes_of_banks() {
        assert_eq!([0, 3, 4, 15].map(|bank| GDDR5.group(bank)), [0, 0, 1, 3]);
        assert_eq!([0, 3, 4, 15].map(|bank| HBM2.group(bank)), [0, 3, 0, 3]);
    }

    #[test]
    fn reads_take_a_column_access_a_part_and_writes_share_bursts() {
        let sectors = timing("{ access: 32 B }").unwrap();
        assert_eq!([1, 2, 3, 4].map(|parts| sectors.columns(parts, false)), [1, 2, 3, 4]);
        assert_eq!([1, 2, 3, 4].map(|parts| sectors.columns(parts, true)), [1, 1, 2, 2]);
        assert_eq!([1, 2].map(|parts| GDDR5.columns(parts, true)), [1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, message) in [
            ("{ burst: 24 B }", "burst must be a power of two, and row a multiple of 128 B"),
            ("{ access: 128 B }", "access must be a power of two and not more than the burst, 64 B"),
            ("{ groups: 3 }", "16 banks cannot be shared out among 3 groups"),
            ("{ refresh: on }", "refresh needs tRFC, and a tREFI of more than 100 cycles: gddr5 has 0 and 0"),
        ] {
            assert_eq!(timing(text), Err(message.to_owned()), "{text}");
        }
    }
}
