//! Tables of measurements, from CSV texts.

use std::collections::BTreeMap;

use counterpoint::component::{Diagnostic, Diagnostics, Report, SourceMap, Span};
use counterpoint::messages::launch::SmResources;

use super::measured::{Kernel, Measured, PairRates};
use super::table::{Numbers, Row, Source, Table};
use crate::schedule::Profile;

/// The columns of the table of kernels.
const KERNELS: [&str; 13] = [
    "kernel",
    "blocks",
    "rate",
    "instructions_per_block",
    "memory_fraction",
    "uncoalesced_fraction",
    "warps_per_block",
    "threads",
    "registers",
    "shared",
    "pur",
    "mur",
    "minimum_slice",
];

/// The columns of the table of pairs.
const PAIRS: [&str; 6] = ["first", "second", "slice_first", "slice_second", "rate_first", "rate_second"];

/// The columns of the table of tails.
const TAILS: [&str; 3] = ["first", "second", "both"];

impl Measured {
    /// The measurements in three CSV texts.
    ///
    /// - `kernels`: `kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,warps_per_block,threads,registers,`
    ///   `shared,pur,mur,minimum_slice`. One row per kernel: blocks of an instance, blocks per millisecond alone on the whole GPU, and the
    ///   fields of [`Profile`]; threads, registers and bytes of shared memory are per block.
    /// - `pairs`: `first,second,slice_first,slice_second,rate_first,rate_second`. One row per pair of slice sizes, in blocks: blocks per
    ///   millisecond of each kernel while both run. The order of the two kernels does not matter. Every pair of different kernels needs a
    ///   row.
    /// - `tails`: `first,second,both`. Milliseconds of two whole kernels in streams, `first` launched first, under the left-over policy.
    ///   Kernels that have a row in one order overlap alike in the other; those that have none do not.
    ///
    /// A pair of a kernel with itself may be absent: its two instances then share the kernel's rate.
    ///
    /// # Errors
    /// Every problem, each with its line: a missing column, a cell that is no number or has a value out of range, a duplicate kernel or
    /// slice size, a kernel that `kernels` lacks (with the nearest name), a pair of kernels that `pairs` lacks.
    pub fn read(
        kernels: Source<'_>,
        pairs: Source<'_>,
        tails: Option<Source<'_>>,
    ) -> Result<Measured, Box<Report>> {
        let mut sources = SourceMap::default();
        let mut errors = Diagnostics::default();
        let table = Table::read(kernels, KERNELS, &mut sources, &mut errors);
        let mut read = Reading { errors, names: BTreeMap::new() };
        let kernels = read.kernels(&table);
        let pairs = Table::read(pairs, PAIRS, &mut sources, &mut read.errors);
        let tails = tails.map(|tails| Table::read(tails, TAILS, &mut sources, &mut read.errors));
        // Without the table of kernels, all names would be reported as unknown.
        if !read.errors.is_empty() {
            return Err(Box::new(Report::new(&read.errors, sources)));
        }
        let pairs = read.pairs(&pairs, &kernels, &table);
        let both = tails.map(|tails| read.tails(&tails)).unwrap_or_default();
        if !read.errors.is_empty() {
            return Err(Box::new(Report::new(&read.errors, sources)));
        }
        Ok(Measured { kernels, pairs, both })
    }
}

impl Kernel {
    /// The kernels of a CSV text, with the columns of [`Measured::read`].
    ///
    /// # Errors
    /// All that is wrong, each with its line.
    pub fn read(kernels: Source<'_>) -> Result<Vec<Kernel>, Box<Report>> {
        let mut sources = SourceMap::default();
        let mut errors = Diagnostics::default();
        let table = Table::read(kernels, KERNELS, &mut sources, &mut errors);
        let mut read = Reading { errors, names: BTreeMap::new() };
        let kernels = read.kernels(&table);
        if read.errors.is_empty() { Ok(kernels) } else { Err(Box::new(Report::new(&read.errors, sources))) }
    }
}

/// The kernels that are known so far, and the errors.
struct Reading {
    errors: Diagnostics,
    names: BTreeMap<String, usize>,
}

impl Reading {
    fn kernels(&mut self, table: &Table<13>) -> Vec<Kernel> {
        let mut kernels = Vec::new();
        for row in &table.rows {
            let name = table.text(row, "kernel").to_owned();
            if self.names.insert(name.clone(), kernels.len()).is_some() {
                self.errors.error(row.span, format!("kernel `{name}` is there twice"));
            }
            kernels.push(self.kernel(name, table, row));
        }
        kernels
    }

    fn kernel(&mut self, name: String, table: &Table<13>, row: &Row<13>) -> Kernel {
        let errors = &mut self.errors;
        let mut number = |column, numbers| table.number(row, column, numbers, errors);
        let rate = number("rate", Numbers::Positive);
        let instructions_per_block = number("instructions_per_block", Numbers::Positive);
        let memory_fraction = number("memory_fraction", Numbers::Fraction);
        let uncoalesced_fraction = number("uncoalesced_fraction", Numbers::Fraction);
        let pur = number("pur", Numbers::NotNegative);
        let mur = number("mur", Numbers::NotNegative);
        let mut whole = |column, least| table.whole(row, column, least, errors);
        let profile = Profile {
            instructions_per_block,
            memory_fraction,
            uncoalesced_fraction,
            warps_per_block: whole("warps_per_block", 1),
            resources: SmResources {
                threads: whole("threads", 1),
                ctas: 1,
                registers: whole("registers", 0),
                shared: whole("shared", 0),
            },
            pur,
            mur,
            minimum_slice: whole("minimum_slice", 0),
        };
        Kernel { name, blocks: whole("blocks", 1), rate, profile }
    }

    fn pairs(
        &mut self,
        table: &Table<6>,
        kernels: &[Kernel],
        of_kernels: &Table<13>,
    ) -> BTreeMap<[usize; 2], Vec<PairRates>> {
        let mut pairs: BTreeMap<[usize; 2], Vec<PairRates>> = BTreeMap::new();
        for row in &table.rows {
            let names = ["first", "second"].map(|column| self.place(table.text(row, column), row.span));
            let slices =
                ["slice_first", "slice_second"].map(|column| table.whole(row, column, 1, &mut self.errors));
            let rates = ["rate_first", "rate_second"]
                .map(|column| table.number(row, column, Numbers::Positive, &mut self.errors));
            let [Some(first), Some(second)] = names else { continue };
            let rows = pairs.entry([first, second]).or_default();
            if rows.iter().any(|known| known.slices == slices) {
                self.errors.error(row.span, "slices of these kernels with these sizes are there twice");
            }
            rows.push(PairRates { slices, rates });
            if first != second {
                let turned = PairRates { slices: [slices[1], slices[0]], rates: [rates[1], rates[0]] };
                pairs.entry([second, first]).or_default().push(turned);
            }
        }
        for (place, kernel) in kernels.iter().enumerate() {
            let shared = PairRates { slices: [kernel.blocks; 2], rates: [kernel.rate / 2.0; 2] };
            pairs.entry([place; 2]).or_insert_with(|| vec![shared]);
        }
        // One misspelt name would be reported as missing in many pairs.
        if self.errors.is_empty() {
            self.all_are_there(&pairs, kernels, of_kernels);
        }
        pairs
    }

    /// Reports pairs of different kernels without a row.
    fn all_are_there(
        &mut self,
        pairs: &BTreeMap<[usize; 2], Vec<PairRates>>,
        kernels: &[Kernel],
        of_kernels: &Table<13>,
    ) {
        for (second, row) in of_kernels.rows.iter().enumerate() {
            for first in (0..second).filter(|first| !pairs.contains_key(&[*first, second])) {
                let [first, second] = [first, second].map(|place| &kernels[place].name);
                let problem =
                    Diagnostic::new(row.span, format!("no slices of `{first}` and `{second}` are measured"));
                self.errors.report(problem.help("the table of pairs needs at least a row of both"));
            }
        }
    }

    fn tails(&mut self, table: &Table<3>) -> BTreeMap<[usize; 2], f64> {
        let mut both = BTreeMap::new();
        for row in &table.rows {
            let names = ["first", "second"].map(|column| self.place(table.text(row, column), row.span));
            let time = table.number(row, "both", Numbers::Positive, &mut self.errors);
            let [Some(first), Some(second)] = names else { continue };
            if both.insert([first, second], time).is_some() {
                self.errors.error(row.span, "these kernels are there twice in this order");
            }
        }
        both
    }

    /// The place of a kernel; one that is not there is reported.
    fn place(&mut self, name: &str, span: Span) -> Option<usize> {
        let found = self.names.get(name).copied();
        if found.is_none() {
            let problem = Diagnostic::new(span, format!("there is no kernel `{name}`"));
            self.errors.report(problem.suggest(name, self.names.keys().map(String::as_str)));
        }
        found
    }
}
