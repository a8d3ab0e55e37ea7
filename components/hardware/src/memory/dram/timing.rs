//! DRAM timings: those of a standard, but for what a machine sets.
//!
//! All times are in cycles of the DRAM command clock, under JEDEC's names. A read and a write turn the bus round as in
//! GPGPU-Sim's `memory_config`: read to write tCL + burst + 2 − tWL, write to read tWL + burst + tCDLR.

use counterpoint_framework::model::{Choice, Choose, Invalid, Params};
use counterpoint_framework::time::{Bytes, Hertz};
use counterpoint_protocols::memory::LINE_BYTES;

use super::standard::DramStandard;

/// Bits of the bank number that select the bank group.
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
        /// Timings and shape; values that are set override the standard.
        #[derive(Clone, Debug, Params)]
        #[params(moved("refresh", "refresh is a policy of the controller, beside `timing`: `refresh: all-bank` or `refresh: none`"))]
        #[allow(non_snake_case)]
        pub struct TimingParams {
            /// Standard for all values that are not set.
            #[param(default = "gddr5")]
            pub standard: Choose<dyn DramStandard>,
            /// Banks of the channel.
            #[param(min = "1", max = "64")]
            pub banks: Option<u32>,
            /// Bank groups of the channel; 1 where the standard has none.
            #[param(min = "1", max = "64")]
            pub groups: Option<u32>,
            /// Pseudo channels, among which banks and groups are divided: each has its own data bus, and they share the
            /// command bus.
            #[param(min = "1", max = "4")]
            pub pseudo_channels: Option<u32>,
            /// Bits of the bank number that select the bank group.
            pub grouping: Option<Grouping>,
            $($(#[doc = $doc])+ #[param(max = "1000000")] pub $name: Option<u64>,)*
            /// Bytes of a row of a bank, if the address map does not determine them.
            #[param(min = "128 B", max = "1 MiB")]
            pub row: Option<Bytes>,
            /// Bytes that one column access transfers: bus width × burst length.
            #[param(min = "8 B", max = "128 B")]
            pub burst: Option<Bytes>,
            /// Cycles for which one column access occupies the data bus.
            #[param(min = "1", max = "64")]
            pub burst_cycles: Option<u64>,
            /// Bytes of a read that one column access returns; the burst if not set. GPGPU-Sim reads every 32-byte sector separately, with
            /// a burst of 64 bytes on the GTX 480; its write-backs share bursts.
            #[param(min = "8 B", max = "128 B")]
            pub access: Option<Bytes>,
            /// Whether a row command and a column command can be issued in one cycle.
            pub dual_command_bus: Option<bool>,
        }

        /// A row of a standard's table.
        #[derive(Clone, Debug, Params)]
        #[allow(non_snake_case)]
        pub(super) struct Row {
            /// Banks of the channel.
            #[param(min = "1", max = "64")]
            banks: u32,
            /// Bank groups of the channel.
            #[param(default = "1", min = "1", max = "64")]
            groups: u32,
            /// Pseudo channels.
            #[param(default = "1", min = "1", max = "4")]
            pseudo_channels: u32,
            /// Bits of the bank number that select the bank group.
            #[param(default = "low-bits")]
            grouping: Grouping,
            $($(#[doc = $doc])+ #[param(default = "0", max = "1000000")] $name: u64,)*
            /// Bytes of one row of one bank.
            #[param(min = "128 B", max = "1 MiB")]
            row: Bytes,
            /// Bytes that one column access transfers.
            #[param(min = "8 B", max = "128 B")]
            burst: Bytes,
            /// Cycles for which one column access occupies the data bus.
            #[param(min = "1", max = "64")]
            burst_cycles: u64,
            /// Whether a row command and a column command can be issued in one cycle.
            #[param(default = "off")]
            dual_command_bus: bool,
        }

        impl From<Row> for Timing {
            fn from(row: Row) -> Timing {
                Timing {
                    banks: row.banks,
                    groups: row.groups,
                    pseudo_channels: row.pseudo_channels,
                    grouping: row.grouping,
                    $($name: row.$name,)*
                    row: row.row.get(),
                    burst: row.burst.get(),
                    burst_cycles: row.burst_cycles,
                    access: row.burst.get(),
                    dual_command_bus: row.dual_command_bus,
                }
            }
        }

        /// Timings in the form in which the controller uses them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_snake_case, missing_docs)]
        pub struct Timing {
            pub banks: u32,
            pub groups: u32,
            pub pseudo_channels: u32,
            pub grouping: Grouping,
            $(pub $name: u64,)*
            pub row: u64,
            pub burst: u64,
            pub burst_cycles: u64,
            pub access: u64,
            pub dual_command_bus: bool,
        }

        impl Timing {
            /// The standard's timings, except those that are set.
            fn overridden(params: &TimingParams) -> Self {
                let base = params.standard.build().timing();
                let burst = params.burst.map_or(base.burst, Bytes::get);
                Timing {
                    banks: params.banks.unwrap_or(base.banks),
                    groups: params.groups.unwrap_or(base.groups),
                    pseudo_channels: params.pseudo_channels.unwrap_or(base.pseudo_channels),
                    grouping: params.grouping.unwrap_or(base.grouping),
                    $($name: params.$name.unwrap_or(base.$name),)*
                    row: params.row.map_or(base.row, Bytes::get),
                    burst,
                    burst_cycles: params.burst_cycles.unwrap_or(base.burst_cycles),
                    access: params.access.map_or(burst, Bytes::get),
                    dual_command_bus: params.dual_command_bus.unwrap_or(base.dual_command_bus),
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
    /// Activate to activate, same bank group; 0 where it is tRRD.
    tRRDL,
    /// Window of time in which a channel opens at most four rows; 0: no limit.
    tFAW,
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
    /// Last write data to read command, same bank group; 0 where it is tCDLR.
    tWTRL,
    /// Read to precharge, same bank.
    tRTP,
    /// Read to precharge, same bank group.
    tRTPL,
    /// Interval in which each bank is refreshed once; 0 where the standard's row does not say.
    tREFI,
    /// Refresh of all banks to activate.
    tRFC,
    /// Refresh of one bank of a channel or of a group to activate; 0 where the standard has none.
    tRFCpb,
}

impl Timing {
    /// The timings of these parameters.
    ///
    /// # Errors
    /// When sizes do not divide.
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
        if groups % timing.pseudo_channels != 0 {
            let channels = timing.pseudo_channels;
            return Err(format!(
                "{groups} bank groups cannot be shared out among {channels} pseudo channels"
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

    /// From a refresh that is due to the banks' rest, at the worst: a write has just begun in a row just opened.
    pub(super) const fn longest_close(&self) -> u64 {
        self.tRC + self.tRAS + self.tRP + self.tWL + self.burst_cycles + self.tWR + self.tRTPL
    }

    /// Bytes a second that the data buses of the channel transfer at most.
    pub fn peak(&self, clock: Hertz) -> u64 {
        let bytes = u128::from(clock.get()) * u128::from(self.burst) * u128::from(self.pseudo_channels)
            / u128::from(self.burst_cycles);
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
    use counterpoint_framework::testing::params;

    use crate::memory::dram::standard::timing_of;
    use crate::testing::families;

    fn timing(text: &str) -> Result<Timing, String> {
        Timing::new(&params(&families(), text)).map_err(|invalid| invalid.0)
    }

    #[test]
    fn what_is_set_replaces_the_standards() {
        assert_eq!(timing("{}"), Ok(timing_of("gddr5")));
        assert_eq!(timing("{ standard: gddr5-1502 }"), Ok(timing_of("gddr5-1502")));
        assert_eq!(timing("{ standard: gddr3, tRP: 3 }"), Ok(Timing { tRP: 3, ..timing_of("gddr3") }));
        let quiet = timing("{ standard: hbm2, tREFI: 0, access: 16 B }");
        assert_eq!(quiet, Ok(Timing { tREFI: 0, access: 16, ..timing_of("hbm2") }));
    }

    #[test]
    fn bank_groups_are_runs_or_stripes_of_banks() {
        let [gddr5, hbm2] = ["gddr5", "hbm2"].map(timing_of);
        assert_eq!([0, 3, 4, 15].map(|bank| gddr5.group(bank)), [0, 0, 1, 3]);
        assert_eq!([0, 3, 4, 15].map(|bank| hbm2.group(bank)), [0, 3, 0, 3]);
    }

    #[test]
    fn reads_take_a_column_access_a_part_and_writes_share_bursts() {
        let sectors = timing("{ access: 32 B }").unwrap();
        assert_eq!([1, 2, 3, 4].map(|parts| sectors.columns(parts, false)), [1, 2, 3, 4]);
        assert_eq!([1, 2, 3, 4].map(|parts| sectors.columns(parts, true)), [1, 1, 2, 2]);
        assert_eq!([1, 2].map(|parts| timing_of("gddr5").columns(parts, true)), [1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, message) in [
            ("{ burst: 24 B }", "burst must be a power of two, and row a multiple of 128 B"),
            ("{ access: 128 B }", "access must be a power of two and not more than the burst, 64 B"),
            ("{ groups: 3 }", "16 banks cannot be shared out among 3 groups"),
            ("{ pseudo_channels: 3 }", "4 bank groups cannot be shared out among 3 pseudo channels"),
        ] {
            assert_eq!(timing(text), Err(message.to_owned()), "{text}");
        }
    }
}
