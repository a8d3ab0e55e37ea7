//! Races in global memory by the rules of PTX's memory model: who is found, what the finding says is missing, and who is not
//! accused.

mod idioms;
mod messages;
mod places;

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{Check, Finding, FlatMemory, Grid, Options};

/// A kernel around these lines. `%data` and `%flag` are addresses of words that hold zeros, `%me` and `%block` the
/// thread's place; `%p1` to `%p3` and `%r1` to `%r9` are free. A block number `n` of its own begins at a label `Bn`.
fn source(target: u32, body: &str) -> String {
    format!(
        ".version 7.8
.target sm_{target}
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag)
{{
.reg .pred %p<8>;
.reg .b32 %r<12>, %me, %block;
.reg .b64 %data, %flag, %rd<8>;
.shared .align 8 .b8 tile[256];
ld.param.u64 %data, [data];
ld.param.u64 %flag, [flag];
mov.u32 %me, %tid.x;
mov.u32 %block, %ctaid.x;
setp.eq.u32 %p4, %block, 1;
setp.eq.u32 %p5, %block, 2;
setp.eq.u32 %p6, %me, 0;
setp.eq.u32 %p7, %me, 32;
{body}
ret;
}}
"
    )
}

struct Ran {
    findings: Vec<Finding>,
    source: String,
    data: Vec<u32>,
}

impl Ran {
    /// The texts of the lines that race, in pairs.
    fn pairs(&self) -> Vec<[&str; 2]> {
        let text = |line: u32| self.source.lines().nth(line as usize - 1).unwrap().trim();
        let races = self.findings.iter().filter(|finding| finding.check == Check::Race);
        races.map(|finding| finding.lines.map(text)).collect()
    }

    /// The words of the finding about these lines.
    #[track_caller]
    fn told(&self, one: &str, other: &str) -> String {
        let index = self.pairs().iter().position(|pair| *pair == [one, other] || *pair == [other, one]);
        let index = index.unwrap_or_else(|| panic!("no race of `{one}` and `{other}`: {:?}", self.pairs()));
        self.findings
            .iter()
            .filter(|finding| finding.check == Check::Race)
            .nth(index)
            .unwrap()
            .first
            .to_string()
    }
}

#[track_caller]
fn run_with(target: u32, (blocks, threads): (u32, u32), body: &str) -> Ran {
    let source = source(target, body);
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let kernel = kernel.from_file("k.ptx");
    let mut memory = FlatMemory::new(0);
    let (data, flag) = (memory.push(&[0; 4096]), memory.push(&[0; 4096]));
    let params: Vec<u8> = [data, flag].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { limit: 1_000_000, racecheck: true, ..Options::default() };
    let variables = memory.load("k", &kernel);
    let mut launch =
        Grid::new(&kernel, [blocks, 1, 1], [threads, 1, 1], &params, variables, &options).unwrap();
    let end = launch.run_all(&mut memory, || {});
    let _ = end.unwrap_or_else(|failure| panic!("{failure}\n{source}"));
    let findings = launch.findings().to_vec();
    drop(launch);
    let data = memory.read_f32(data, 1024).into_iter().map(f32::to_bits).collect();
    Ran { findings, source, data }
}

fn run(target: u32, blocks: u32, threads: u32, body: &str) -> Ran {
    run_with(target, (blocks, threads), body)
}
