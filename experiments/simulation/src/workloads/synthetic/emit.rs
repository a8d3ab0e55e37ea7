//! Writes a plan down as PTX.
//!
//! Every register is initialised before the loop, since a lane that jumps may skip the instructions that would set it.
//! A store writes a number that depends only on its position, and the buffer that is read is never written: the order
//! of threads therefore has no effect, and two runs leave the same bytes.

use std::fmt::Write as _;

use super::plan::{Access, Plan, Row};
use super::{Class, Synthetic, Walk};
use crate::workloads::generate::SplitMix;

/// Multiplier and increment of the generator that draws lines (Numerical Recipes, section 7.1).
const DRAW: (u32, u32) = (1_664_525, 1_013_904_223);
/// Spreads numbers of threads over 32 bits: 2^32 over the golden ratio.
const SPREAD: u32 = 0x9e37_79b9;

/// A kernel that keeps `spare` registers alive besides those that it needs.
pub(super) fn kernel(name: &str, description: &Synthetic, plan: &Plan, spare: u32) -> String {
    let mut writer = Writer {
        name,
        description,
        plan,
        strands: description.dependence,
        spare,
        random: SplitMix(plan.random),
        labels: 0,
        written: 0,
        skip: None,
        out: String::new(),
    };
    writer.head();
    writer.who();
    writer.values();
    writer.walks();
    writer.round();
    writer.digest();
    writer.out
}

struct Writer<'a> {
    name: &'a str,
    description: &'a Synthetic,
    plan: &'a Plan,
    strands: u32,
    spare: u32,
    random: SplitMix,
    labels: u32,
    /// Instructions of the round so far.
    written: u32,
    /// The label that lanes jump to, and the number of instructions still before it.
    skip: Option<(u32, u32)>,
    out: String,
}

macro_rules! line {
    ($writer:expr, $($text:tt)*) => {{
        // Writing to a String cannot fail.
        let _ = writeln!($writer.out, $($text)*);
    }};
}

/// Registers of a walk end in this.
fn suffix(store: bool) -> &'static str {
    if store { "written" } else { "read" }
}

impl Writer<'_> {
    /// Whether loads, whether stores: for each kind that there is.
    fn accesses(&self) -> impl Iterator<Item = bool> + use<> {
        let (loads, stores) = (self.plan.uses(Class::GlobalLoad), self.plan.uses(Class::GlobalStore));
        [(false, loads), (true, stores)].into_iter().filter_map(|(store, used)| used.then_some(store))
    }

    fn shares(&self) -> bool {
        self.plan.uses(Class::SharedLoad) || self.plan.uses(Class::SharedStore)
    }

    fn head(&mut self) {
        let (name, threads, strands) = (self.name, self.description.threads, self.strands);
        let params: Vec<String> = self.accesses().map(|store| suffix(store).to_owned()).collect();
        let params = params.into_iter().chain(["result".to_owned()]);
        let params: Vec<String> = params.map(|param| format!("\t.param .u64 {name}_{param}")).collect();
        line!(self, ".version 7.8\n.target sm_35\n.address_size 64\n");
        line!(self, ".visible .entry {name}(\n{}\n)", params.join(",\n"));
        line!(self, ".maxntid {threads}, 1, 1\n{{");
        line!(self, "\t.reg .pred %jump, %more;");
        line!(self, "\t.reg .b32 %x, %nx, %y, %ny, %z, %thread, %threads, %block, %blocks;");
        line!(self, "\t.reg .b32 %lane, %warp, %within;");
        line!(self, "\t.reg .b32 %first, %step, %number, %round, %sum, %bits, %value<{strands}>;");
        line!(self, "\t.reg .b64 %result, %long;");
        line!(self, "\t.reg .f32 %real<{strands}>;\n\t.reg .f64 %wide<{strands}>;");
        line!(
            self,
            "\t.reg .b32 %slot<{strands}>, %shared, %token<{strands}>, %keep<{}>;",
            self.spare.max(1)
        );
        for store in [false, true] {
            let which = suffix(store);
            line!(self, "\t.reg .b64 %{which}, %address_{which}<{strands}>;");
            line!(self, "\t.reg .b32 %state_{which}<{strands}>, %place_{which}<{strands}>;");
        }
        if self.plan.shared > 0 {
            line!(self, "\t.shared .align 4 .b8 {name}_shared[{}];", self.plan.shared);
        }
    }

    /// Thread, block, lane and warp as numbers, whatever the shapes of block and grid.
    fn who(&mut self) {
        for (number, count, index, size) in
            [("thread", "threads", "tid", "ntid"), ("block", "blocks", "ctaid", "nctaid")]
        {
            line!(self, "\tmov.u32 %x, %{index}.x;\n\tmov.u32 %y, %{index}.y;\n\tmov.u32 %z, %{index}.z;");
            line!(self, "\tmov.u32 %nx, %{size}.x;\n\tmov.u32 %ny, %{size}.y;");
            line!(self, "\tmad.lo.u32 %y, %z, %ny, %y;\n\tmad.lo.u32 %{number}, %y, %nx, %x;");
            line!(self, "\tmov.u32 %z, %{size}.z;\n\tmul.lo.u32 %{count}, %nx, %ny;");
            line!(self, "\tmul.lo.u32 %{count}, %{count}, %z;");
        }
        line!(self, "\tmad.lo.u32 %number, %block, %threads, %thread;");
        line!(self, "\tand.b32 %lane, %thread, 31;\n\tshr.u32 %warp, %thread, 5;");
        line!(self, "\tsetp.lt.u32 %jump, %lane, {};", self.description.jumping);
    }

    /// First values of the strands.
    fn values(&mut self) {
        for strand in 0..self.strands {
            let seed = self.random.next() as u32;
            line!(self, "\tmad.lo.u32 %value{strand}, %number, {SPREAD}, {seed};");
        }
        if self.plan.uses(Class::Fp) || self.plan.uses(Class::Sfu) {
            line!(
                self,
                "\tcvt.rn.f32.u32 %real0, %lane;\n\tfma.rn.f32 %real0, %real0, 0f3C000000, 0f3F800000;"
            );
            for strand in 1..self.strands {
                line!(self, "\tadd.rn.f32 %real{strand}, %real{}, 0f3C000000;", strand - 1);
            }
        }
        if self.plan.uses(Class::Dp) {
            line!(self, "\tcvt.rn.f64.u32 %wide0, %lane;");
            for strand in 1..self.strands {
                line!(self, "\tadd.rn.f64 %wide{strand}, %wide{}, 0d3F80000000000000;", strand - 1);
            }
        }
        if self.shares() {
            let words = self.plan.shared / (4 * u64::from(self.description.threads));
            line!(
                self,
                "\tmov.u32 %shared, {}_shared;\n\tmad.lo.u32 %shared, %thread, 4, %shared;",
                self.name
            );
            for strand in 0..self.strands {
                let word = u64::from(strand) % words * u64::from(self.description.threads) * 4;
                line!(self, "\tadd.u32 %slot{strand}, %shared, {word};");
                line!(self, "\tst.shared.u32 [%slot{strand}], %value{strand};");
            }
        }
        for keep in 0..self.spare {
            let odd = self.random.next() as u32 | 1;
            line!(self, "\tmul.lo.u32 %keep{keep}, %number, {odd};");
        }
    }

    /// Emits the start addresses of each kind of access.
    fn walks(&mut self) {
        if self.accesses().next().is_none() {
            return;
        }
        let (lines, warps) = (self.description.lines, self.description.threads / 32);
        let (record, each) = (128 * lines, 32 / lines);
        // A warp's lanes fall into groups of `each` neighbours, each on a line of its own.
        line!(self, "\tand.b32 %within, %lane, {};\n\tshl.b32 %within, %within, 2;", each - 1);
        line!(self, "\tshr.u32 %first, %lane, {};", each.trailing_zeros());
        let per_block = matches!(self.plan.walk, Walk::Linear { per_block: true, .. });
        if !per_block {
            line!(self, "\tmad.lo.u32 %warp, %block, {warps}, %warp;");
        }
        if let Walk::Linear { .. } = self.plan.walk {
            line!(self, "\tmad.lo.u32 %first, %first, 128, %within;");
            line!(self, "\tmad.lo.u32 %first, %warp, {record}, %first;");
            match self.plan.fixed_step(self.description) {
                Some(bytes) => line!(self, "\tmov.u32 %step, {};", bytes as u32),
                None => line!(self, "\tmul.lo.u32 %step, %blocks, {};", warps * record),
            }
        } else {
            // Lanes of a group draw the same lines.
            line!(self, "\tmad.lo.u32 %first, %warp, 32, %first;");
        }
        for store in self.accesses() {
            self.walk(store);
        }
        if let Walk::Linear { .. } = self.plan.walk {
            line!(self, "\tmul.lo.u32 %step, %step, {};", self.strands);
        }
    }

    fn walk(&mut self, store: bool) {
        let which = suffix(store);
        line!(self, "\tld.param.u64 %{which}, [{}_{which}];", self.name);
        line!(self, "\tcvta.to.global.u64 %{which}, %{which};");
        match self.plan.walk {
            Walk::Linear { region, per_block, .. } => {
                if per_block {
                    let tiles = self.description.footprint.get() / region;
                    line!(self, "\tand.b32 %x, %block, {};", tiles - 1);
                    line!(self, "\tmad.wide.u32 %{which}, %x, {region}, %{which};");
                }
                line!(self, "\tmov.u32 %state_{which}0, %first;");
                for strand in 1..self.strands {
                    line!(self, "\tadd.u32 %state_{which}{strand}, %state_{which}{}, %step;", strand - 1);
                }
            }
            Walk::Drawn { .. } => {
                line!(self, "\tcvt.u64.u32 %long, %within;\n\tadd.s64 %{which}, %{which}, %long;");
                for strand in 0..self.strands {
                    let seed = self.random.next() as u32;
                    line!(self, "\tmad.lo.u32 %state_{which}{strand}, %first, {SPREAD}, {seed};");
                }
            }
        }
        for strand in 0..self.strands {
            line!(
                self,
                "\tmov.u32 %place_{which}{strand}, 0;\n\tmov.u64 %address_{which}{strand}, %{which};"
            );
        }
    }

    fn round(&mut self) {
        line!(self, "\tmov.u32 %round, 0;\nROUND:\n\tadd.u32 %round, %round, 1;");
        let (plan, strands) = (self.plan, self.strands as usize);
        let plain = plan.rows.len() * strands;
        let mut between = plan.between.iter().enumerate().peekable();
        for number in 0..=plain {
            // Spread evenly, the last of them before the last instruction.
            while let Some((_, &class)) = between.next_if(|(at, _)| at * plain / plan.between.len() <= number)
            {
                self.instruction(Row::Plain(class), 0);
            }
            if number < plain {
                self.instruction(plan.rows[number / strands], (number % strands) as u32);
            }
        }
        self.meet();
        line!(self, "\t@%more bra ROUND;");
    }

    /// Emits the label at which lanes that have jumped rejoin the others.
    fn meet(&mut self) {
        if let Some((label, _)) = self.skip.take() {
            line!(self, "MEET{label}:");
        }
    }

    fn instruction(&mut self, row: Row, strand: u32) {
        // The rows of a store must not be left out in part: place and number belong together.
        let whole = match row {
            Row::Plain(class) => matches!(class, Class::Branch | Class::Barrier | Class::GlobalStore),
            Row::Advance(access) | Row::Place(access) | Row::Address(access) => access.store,
            Row::Number => true,
        };
        if whole || self.skip.is_some_and(|(_, left)| left == 0) {
            self.meet();
        }
        if let Some((_, left)) = &mut self.skip {
            *left -= 1;
        }
        // The rounds are counted as far from their comparison as every other value from its use.
        if self.written == self.strands {
            self.meet();
            line!(self, "\tsetp.lt.u32 %more, %round, {};", self.description.rounds);
        }
        self.written += 1;
        let s = strand;
        match row {
            Row::Plain(class) => self.plain(class, strand),
            Row::Advance(access) => self.advance(access.store, strand),
            Row::Place(access) => self.place(access, strand),
            Row::Address(access) => {
                let which = suffix(access.store);
                let unit = if let Walk::Linear { .. } = self.plan.walk { 1 } else { 128 };
                line!(self, "\tmad.wide.u32 %address_{which}{s}, %place_{which}{s}, {unit}, %{which};");
            }
            Row::Number => line!(self, "\tmad.lo.u32 %token{s}, %value{s}, 0, %place_written{s};"),
        }
    }

    fn plain(&mut self, class: Class, s: u32) {
        match class {
            Class::Int => {
                let number = self.random.next() as u32;
                let operation = if number & 1 == 0 { "add.u32" } else { "xor.b32" };
                line!(self, "\t{operation} %value{s}, %value{s}, {number};");
            }
            // Half of it and something from 0.5 to 1: always between 0.5 and 2.
            Class::Fp => {
                let bits = 0x3f00_0000 | self.random.next() as u32 & 0x007f_ffff;
                line!(self, "\tfma.rn.f32 %real{s}, %real{s}, 0f3F000000, 0f{bits:08X};");
            }
            Class::Sfu => line!(self, "\trsqrt.approx.f32 %real{s}, %real{s};"),
            Class::Dp => {
                let bits = 0x3fe0_0000_0000_0000 | self.random.next() & 0x000f_ffff_ffff_ffff;
                line!(self, "\tfma.rn.f64 %wide{s}, %wide{s}, 0d3FE0000000000000, 0d{bits:016X};");
            }
            Class::SharedLoad => line!(self, "\tld.shared.u32 %value{s}, [%slot{s}];"),
            Class::SharedStore => line!(self, "\tst.shared.u32 [%slot{s}], %value{s};"),
            Class::GlobalLoad => line!(self, "\tld.global.u32 %value{s}, [%address_read{s}];"),
            Class::GlobalStore => line!(self, "\tst.global.u32 [%address_written{s}], %token{s};"),
            Class::Branch => {
                let label = self.labels;
                self.labels += 1;
                line!(self, "\t@%jump bra MEET{label};");
                self.skip = Some((label, self.description.skipped));
            }
            Class::Barrier => line!(self, "\tbar.sync 0;"),
        }
    }

    fn advance(&mut self, store: bool, strand: u32) {
        let state = format!("%state_{}{strand}", suffix(store));
        match self.plan.walk {
            Walk::Linear { .. } => line!(self, "\tadd.u32 {state}, {state}, %step;"),
            Walk::Drawn { .. } => {
                line!(self, "\tmad.lo.u32 {state}, {state}, {}, {};", DRAW.0, DRAW.1);
            }
        }
    }

    fn place(&mut self, access: Access, s: u32) {
        let which = suffix(access.store);
        match self.plan.walk {
            Walk::Linear { region, .. } => {
                line!(self, "\tand.b32 %place_{which}{s}, %state_{which}{s}, {};", region - 1);
            }
            Walk::Drawn { hot, .. } => {
                let bytes = if access.hot { hot } else { self.description.footprint.get() };
                line!(self, "\tmul.hi.u32 %place_{which}{s}, %state_{which}{s}, {};", bytes / 128);
            }
        }
    }

    /// Combines the values of all strands into one word per thread.
    fn digest(&mut self) {
        line!(self, "\tmov.u32 %sum, 0;");
        for strand in 0..self.strands {
            line!(self, "\txor.b32 %sum, %sum, %value{strand};");
            if self.plan.uses(Class::Fp) || self.plan.uses(Class::Sfu) {
                line!(self, "\tmov.b32 %bits, %real{strand};\n\txor.b32 %sum, %sum, %bits;");
            }
            if self.plan.uses(Class::Dp) {
                line!(self, "\tmov.b64 %long, %wide{strand};\n\tcvt.u32.u64 %bits, %long;");
                line!(self, "\txor.b32 %sum, %sum, %bits;");
            }
        }
        for keep in 0..self.spare {
            line!(self, "\txor.b32 %sum, %sum, %keep{keep};");
        }
        line!(
            self,
            "\tld.param.u64 %result, [{}_result];\n\tcvta.to.global.u64 %result, %result;",
            self.name
        );
        line!(
            self,
            "\tmad.wide.u32 %result, %number, 4, %result;\n\tst.global.u32 [%result], %sum;\n\tret;\n}}"
        );
    }
}
