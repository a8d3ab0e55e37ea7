//! DRAM timing parameters, by standard: one table, each row with its source.
//!
//! All times are in cycles of the DRAM command clock, under JEDEC's names.

use counterpoint_framework::model::{Choice, Invalid, Params};
use counterpoint_framework::time::Bytes;

/// A set of timings to start from.
#[derive(Clone, Copy, Debug, Choice)]
pub enum Standard {
    /// GDDR5 as GPGPU-Sim 3.1.1 ships it for the GTX 480 (Hynix H5GQ1H24AFR).
    Gddr5,
    /// GDDR3 as GPGPU-Sim 3.0.1 ships it (Samsung, 800 MHz).
    Gddr3,
}

/// Timings that differ from the standard's.
#[derive(Clone, Debug, Params)]
#[allow(non_snake_case)]
pub struct TimingParams {
    /// The standard that gives whatever is not set here.
    #[param(default = "gddr5")]
    pub standard: Standard,
    /// Banks of the channel.
    #[param(min = "1", max = "64")]
    pub banks: Option<u32>,
    /// Precharge to activate, same bank.
    pub tRP: Option<u64>,
    /// Column access to column access.
    pub tCCD: Option<u64>,
    /// Activate to activate, different banks.
    pub tRRD: Option<u64>,
    /// Activate to column access, same bank.
    pub tRCD: Option<u64>,
    /// Activate to precharge, same bank.
    pub tRAS: Option<u64>,
    /// Activate to activate, same bank.
    pub tRC: Option<u64>,
    /// Read command to first data.
    pub tCL: Option<u64>,
    /// Write command to first data.
    pub tWL: Option<u64>,
    /// Last write data to precharge, same bank.
    pub tWR: Option<u64>,
    /// Last write data to read command.
    pub tCDLR: Option<u64>,
    /// Bytes of one row of one bank.
    #[param(default = "2 KiB", min = "128 B")]
    pub row: Bytes,
    /// Bytes that one column access transfers: bus width × burst length.
    #[param(default = "64 B", min = "8 B", max = "128 B")]
    pub burst: Bytes,
    /// Cycles for which one column access occupies the data bus.
    #[param(default = "2", min = "1")]
    pub burst_cycles: u64,
}

/// Timings in the form in which the controller uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case, missing_docs)]
pub struct Timing {
    pub banks: u32,
    pub tRP: u64,
    pub tCCD: u64,
    pub tRRD: u64,
    pub tRCD: u64,
    pub tRAS: u64,
    pub tRC: u64,
    pub tCL: u64,
    pub tWL: u64,
    pub tWR: u64,
    pub tCDLR: u64,
    pub row: u64,
    pub burst: u64,
    pub burst_cycles: u64,
}

impl Standard {
    /// banks, RP, CCD, RRD, RCD, RAS, RC, CL, WL, WR, CDLR
    const fn row(self) -> [u64; 11] {
        match self {
            // gpgpu-sim_distribution, configs/GTX480, version 3.1.1.
            Standard::Gddr5 => [16, 12, 2, 6, 12, 28, 40, 12, 4, 12, 5],
            // gpgpu-sim_distribution, configs/QuadroFX5800, version 3.0.1.
            Standard::Gddr3 => [8, 10, 2, 8, 12, 25, 35, 10, 7, 11, 6],
        }
    }
}

impl Timing {
    /// The timings of these parameters.
    ///
    /// # Errors
    /// When sizes do not divide.
    pub fn new(params: &TimingParams) -> Result<Self, Invalid> {
        let [banks, rp, ccd, rrd, rcd, ras, rc, cl, wl, wr, cdlr] = params.standard.row();
        let (row, burst) = (params.row.get(), params.burst.get());
        if !burst.is_power_of_two() || row % 128 != 0 {
            return Err("burst must be a power of two, and row a multiple of 128 B".into());
        }
        Ok(Timing {
            banks: params.banks.unwrap_or(banks as u32),
            tRP: params.tRP.unwrap_or(rp),
            tCCD: params.tCCD.unwrap_or(ccd),
            tRRD: params.tRRD.unwrap_or(rrd),
            tRCD: params.tRCD.unwrap_or(rcd),
            tRAS: params.tRAS.unwrap_or(ras),
            tRC: params.tRC.unwrap_or(rc),
            tCL: params.tCL.unwrap_or(cl),
            tWL: params.tWL.unwrap_or(wl),
            tWR: params.tWR.unwrap_or(wr),
            tCDLR: params.tCDLR.unwrap_or(cdlr),
            row,
            burst,
            burst_cycles: params.burst_cycles,
        })
    }
}
