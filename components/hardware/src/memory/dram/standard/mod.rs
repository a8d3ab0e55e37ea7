//! DRAM standards: a table of timings each, in YAML.
//!
//! A standard is one file and one line in the list. A crate brings another one as a [`Variant`] of [`DramStandard`] that reads
//! its table with [`Timing::from_table`].

use std::sync::LazyLock;

use counterpoint_framework::model::{
    Diagnostics, Families, Params, Reader, Registry, Report, SourceMap, Variant, yaml,
};

use super::timing::{Row, Timing};

/// A set of timings to start from.
pub trait DramStandard {
    /// The timings and the shape of a channel.
    fn timing(&self) -> Timing;
}

impl DramStandard for Timing {
    fn timing(&self) -> Timing {
        *self
    }
}

impl Timing {
    /// The timings in a table of YAML: a line for each, under JEDEC's names, in cycles of the command clock.
    ///
    /// # Errors
    /// A report with the place of everything that is wrong with the table.
    pub fn from_table(text: &str) -> Result<Timing, String> {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("standard.yaml", text);
        let node = yaml::parse(file, &sources, &mut diagnostics);
        let families = Families::default();
        let row = node.and_then(|node| Row::read(&node, &mut Reader::new(&families, &mut diagnostics)));
        match row.filter(|_| diagnostics.is_empty()) {
            Some(row) => Ok(row.into()),
            None => Err(Report::new(&diagnostics, sources).render()),
        }
    }
}

/// Declares the standards of this folder: the type, the name that is also its file's, and what it is.
macro_rules! standards {
    ($($standard:ident = $name:literal, $doc:literal;)+) => {
        $(
            #[doc = $doc]
            struct $standard;

            impl Variant<dyn DramStandard> for $standard {
                const NAME: &'static str = $name;
                const DOC: &'static str = $doc;
                type Params = ();

                fn build((): &()) -> Result<Box<dyn DramStandard>, String> {
                    // Each channel of a machine reads the table, several times while the machine is read.
                    static TABLE: LazyLock<Result<Timing, String>> =
                        LazyLock::new(|| Timing::from_table(include_str!(concat!($name, ".yaml"))));
                    TABLE.clone().map(|timing| Box::new(timing) as Box<dyn DramStandard>)
                }
            }
        )+

        /// Registers the standards of this folder.
        pub(crate) fn register(registry: &mut Registry) {
            registry$(.variant::<dyn DramStandard, $standard>())+;
        }

        /// The names of all standards.
        #[cfg(test)]
        pub(crate) const NAMES: &[&str] = &[$($name),+];

        /// The timings of a standard.
        #[cfg(test)]
        pub(crate) fn timing_of(name: &str) -> Timing {
            let table = match name {
                $($name => include_str!(concat!($name, ".yaml")),)+
                _ => panic!("no standard {name}"),
            };
            Timing::from_table(table).unwrap()
        }
    };
}

standards! {
    Gddr3 = "gddr3", "GDDR3 at 800 MHz, two chips a channel, as GPGPU-Sim 3.0.1 has it for the Quadro FX 5800.";
    Gddr5 = "gddr5", "GDDR5 at 924 MHz, two chips a channel, as GPGPU-Sim 4.2 has it for the GTX 480.";
    Gddr5At1502 = "gddr5-1502", "GDDR5 at 1502 MHz, one chip a channel, as GPGPU-Sim 4.2 has it for the GTX Titan and the Titan X.";
    Gddr6 = "gddr6", "GDDR6 at 1.75 GHz, 14 Gb/s a pin, a channel of 16 bits.";
    Gddr6x = "gddr6x", "GDDR6X at 1.219 GHz, 19.5 Gb/s a pin, a channel of 16 bits.";
    Hbm2 = "hbm2", "HBM2 at 1 GHz, 2 Gb/s a pin, a channel of 128 bits.";
    Hbm2PseudoChannels = "hbm2-pc", "HBM2 at 1 GHz, 2 Gb/s a pin, two pseudo channels of 64 bits.";
    Hbm2e = "hbm2e", "HBM2E at 1.6 GHz, 3.2 Gb/s a pin, two pseudo channels of 64 bits.";
    Hbm3 = "hbm3", "HBM3 at 1.3 GHz, 5.2 Gb/s a pin, two pseudo channels of 32 bits.";
    Ddr4At3200 = "ddr4-3200", "DDR4-3200 at 1.6 GHz, a channel of 64 bits.";
    Ddr5At4800 = "ddr5-4800", "DDR5-4800 at 2.4 GHz, a subchannel of 32 bits.";
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::time::Hertz;

    use super::*;

    #[test]
    fn peaks_are_those_of_the_data_rates() {
        // Bits of the channel and megabits a second of a pin, at a command clock in kHz.
        for (name, khz, pins, rate) in [
            ("gddr3", 800_000, 64, 1600),
            ("gddr5", 924_000, 64, 3696),
            ("gddr5-1502", 1_502_000, 32, 6008),
            ("gddr6", 1_750_000, 16, 14_000),
            ("gddr6x", 1_218_750, 16, 19_500),
            ("hbm2", 1_000_000, 128, 2000),
            ("hbm2-pc", 1_000_000, 128, 2000),
            ("hbm2e", 1_600_000, 128, 3200),
            ("hbm3", 1_300_000, 64, 5200),
            ("ddr4-3200", 1_600_000, 64, 3200),
            ("ddr5-4800", 2_400_000, 32, 4800),
        ] {
            let peak = timing_of(name).peak(Hertz::new(khz * 1000));
            assert_eq!(peak, pins * rate * 1_000_000 / 8, "{name}");
        }
    }

    #[test]
    fn timings_agree_with_each_other() {
        for name in NAMES {
            let t = timing_of(name);
            assert!(t.tRC >= t.tRAS + t.tRP - 1, "{name}: Kepler's set is one cycle short");
            assert!(t.tCCD == t.burst_cycles && (t.tCCDL == 0 || t.tCCDL >= t.tCCD), "{name}");
            assert!(t.tFAW == 0 || t.tFAW >= 4 * t.tRRD, "{name}");
            assert!(t.tRFCpb < t.tRFC || t.tRFC == 0 && t.tRFCpb == 0, "{name}");
        }
    }

    #[test]
    fn the_sets_of_gpgpu_sim_keep_its_relations() {
        for timing in ["gddr5", "gddr5-1502", "gddr3", "hbm2"].map(timing_of) {
            assert_eq!(timing.tRCDWR, timing.tRCD - (timing.tWL + 1));
            assert_eq!(timing.tRTP, timing.burst_cycles);
        }
    }

    #[test]
    fn a_table_with_errors_is_refused_with_their_places() {
        let refused = Timing::from_table("banks: 16\nrow: 2 KiB\nburst: 64 B\nburst_cycles: 2\ntRPP: 3\n");
        let report = refused.unwrap_err();
        assert!(report.contains("tRPP") && report.contains("standard.yaml:5"), "{report}");
    }
}
