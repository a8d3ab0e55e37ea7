//! The numbers that the paper prints: Tables 2 to 6 (arXiv version), as they are printed. Misprints are named beside them.

/// A GPU of Table 2, and its description in sections 5.1 and 5.4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Name of the GPU.
    pub name: &'static str,
    /// Architecture of the GPU. The C2050 is a GF100, not the GF110 that the paper prints.
    pub architecture: &'static str,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Cores of an SM.
    pub cores_per_sm: u32,
    /// Clock of the cores, in MHz. The GTX680's is 1006 according to its maker; 706 may be an early driver's.
    pub core_mhz: f64,
    /// Global memory, in MB.
    pub memory_mb: u32,
    /// Bandwidth of global memory, in GB/s.
    pub bandwidth_gb_s: f64,
    /// Warp schedulers of an SM. Each of the two of a C2050 serves half a warp per cycle, each of the four of a GTX680 a warp, and issues
    /// up to two of its instructions.
    pub schedulers: u32,
    /// Warp instructions per cycle that an SM has at most.
    pub peak_ipc: f64,
    /// The default of `alpha_p`, the threshold of PUR.
    pub alpha_p: f64,
    /// The default of `alpha_m`, the threshold of MUR.
    pub alpha_m: f64,
}

impl Gpu {
    /// The peak MPC: memory requests of this many bytes per cycle of the cores.
    pub fn requests_per_cycle(&self, bytes: f64) -> f64 {
        self.bandwidth_gb_s * 1e3 / self.core_mhz / bytes
    }
}

/// Table 2: the C2050.
pub const C2050: Gpu = Gpu {
    name: "C2050",
    architecture: "Fermi GF110",
    sms: 14,
    cores_per_sm: 32,
    core_mhz: 1147.0,
    memory_mb: 3072,
    bandwidth_gb_s: 144.0,
    schedulers: 2,
    peak_ipc: 1.0,
    alpha_p: 0.4,
    alpha_m: 0.1,
};

/// Table 2: the GTX680.
pub const GTX680: Gpu = Gpu {
    name: "GTX680",
    architecture: "Kepler GK104",
    sms: 8,
    cores_per_sm: 192,
    core_mhz: 706.0,
    memory_mb: 2048,
    bandwidth_gb_s: 192.0,
    schedulers: 4,
    peak_ipc: 8.0,
    alpha_p: 0.4,
    alpha_m: 0.105,
};

/// A row of Table 4 on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Characteristics {
    /// Pipeline utilisation ratio. Those above 1 of the GTX680 contradict the definition; the paper does not
    /// explain them.
    pub pur: f64,
    /// Memory bandwidth utilisation ratio.
    pub mur: f64,
    /// Active warps in those that an SM may have, in per cent. 67.7 is a misprint of 66.7: 32 warps of 48.
    pub occupancy: f64,
}

/// A kernel of Tables 3 and 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Name of the kernel in Table 4.
    pub name: &'static str,
    /// Input settings of the kernel.
    pub input: &'static str,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of the grid. SAD's would be 8040 of whole macroblocks.
    pub blocks: u32,
    /// Characteristics on the C2050.
    pub c2050: Characteristics,
    /// Characteristics on the GTX680.
    pub gtx680: Characteristics,
    /// The kernel has uncoalesced accesses (section 5.3).
    pub uncoalesced: bool,
}

/// A row of Table 4.
const fn on(pur: f64, mur: f64, occupancy: f64) -> Characteristics {
    Characteristics { pur, mur, occupancy }
}

/// Tables 3 and 4.
pub const KERNELS: [Kernel; 8] = [
    Kernel {
        name: "PC",
        input: "Index values for 40 million accesses",
        threads: 256,
        blocks: 16384,
        c2050: on(0.0096, 0.1404, 100.0),
        gtx680: on(0.0072, 0.1746, 100.0),
        uncoalesced: true,
    },
    Kernel {
        name: "SAD",
        input: "Image with 1920x1072 pixels",
        threads: 32,
        blocks: 8048,
        c2050: on(0.1498, 0.1120, 16.7),
        gtx680: on(0.1062, 0.1351, 25.0),
        uncoalesced: false,
    },
    Kernel {
        name: "SPMV",
        input: "A 131072x81200 matrix with 16 non-zero elements per row on average",
        threads: 256,
        blocks: 16384,
        c2050: on(0.3464, 0.003, 100.0),
        gtx680: on(0.3027, 0.0043, 100.0),
        uncoalesced: true,
    },
    Kernel {
        name: "ST",
        input: "3D grid with 134217728 points",
        threads: 128,
        blocks: 16384,
        c2050: on(0.3629, 0.1156, 66.7),
        gtx680: on(0.2016, 0.1179, 100.0),
        uncoalesced: false,
    },
    Kernel {
        name: "MM",
        input: "One 8192x2048 matrix, the other 2048x2048",
        threads: 256,
        blocks: 16384,
        c2050: on(0.5804, 0.0161, 67.7),
        gtx680: on(0.5321, 0.0569, 100.0),
        uncoalesced: false,
    },
    Kernel {
        name: "MRIQ",
        input: "2097152 elements",
        threads: 256,
        blocks: 8192,
        c2050: on(0.8539, 0.0002, 83.3),
        gtx680: on(1.6784, 0.0007, 100.0),
        uncoalesced: false,
    },
    Kernel {
        name: "BS",
        input: "40 million",
        threads: 128,
        blocks: 16384,
        c2050: on(0.8642, 0.0604, 67.7),
        gtx680: on(1.2007, 0.1323, 100.0),
        uncoalesced: false,
    },
    Kernel {
        name: "TEA",
        input: "20971520 elements",
        threads: 128,
        blocks: 16384,
        c2050: on(0.9978, 0.0196, 67.7),
        gtx680: on(1.1417, 0.0353, 100.0),
        uncoalesced: false,
    },
];

/// The applications that are the kernels of [`KERNELS`], each with the kernel's name.
pub const APPLICATIONS: [(&str, &str); 8] = [
    ("kernelet-pc", "PC"),
    ("kernelet-sad-16", "SAD"),
    ("kernelet-spmv", "SPMV"),
    ("kernelet-st", "ST"),
    ("kernelet-mm", "MM"),
    ("kernelet-mriq", "MRIQ"),
    ("kernelet-bs", "BS"),
    ("kernelet-tea", "TEA"),
];

/// Table 5: workloads and their kernels.
pub const WORKLOADS: [(&str, &[&str]); 4] = [
    ("CI", &["BS", "MM", "TEA", "MRIQ"]),
    ("MI", &["PC", "SPMV", "ST", "SAD"]),
    ("MIX", &["PC", "BS", "TEA", "SAD"]),
    // The paper prints TE for TEA.
    ("ALL", &["PC", "SPMV", "ST", "BS", "MM", "TEA", "MRIQ", "SAD"]),
];

/// Table 6: thresholds of MUR, one for each row.
pub const ALPHA_M: [f64; 10] = [0.015, 0.03, 0.045, 0.06, 0.075, 0.09, 0.105, 0.12, 0.135, 0.15];

/// Table 6: thresholds of PUR, one for each column.
pub const ALPHA_P: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Table 6: pairs of the eight kernels that are pruned on the C2050, of 28.
pub const PRUNED: [[usize; 10]; 10] = [
    [0, 0, 2, 2, 3, 4, 4, 4, 4, 4],
    [0, 2, 5, 6, 7, 8, 9, 9, 9, 9],
    [0, 3, 7, 8, 9, 10, 11, 11, 11, 11],
    [1, 4, 8, 9, 12, 13, 15, 15, 15, 15],
    [1, 4, 8, 9, 12, 13, 15, 15, 15, 15],
    [1, 4, 8, 9, 12, 13, 15, 15, 16, 16],
    [1, 4, 9, 10, 14, 15, 18, 18, 20, 20],
    [2, 6, 11, 12, 17, 18, 21, 22, 24, 24],
    [2, 6, 11, 12, 17, 19, 22, 23, 25, 26],
    [2, 6, 11, 13, 18, 20, 23, 24, 27, 28],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_of_the_eight_kernels() {
        for (workload, kernels) in WORKLOADS {
            let known = |name: &&str| KERNELS.iter().any(|kernel| kernel.name == *name);
            assert!(kernels.iter().all(known), "{workload}");
        }
        assert_eq!(WORKLOADS.map(|(_, kernels)| kernels.len()), [4, 4, 4, 8]);
        assert_eq!(APPLICATIONS.map(|(_, kernel)| kernel), KERNELS.map(|kernel| kernel.name));
    }
}
