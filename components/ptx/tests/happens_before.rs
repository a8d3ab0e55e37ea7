//! Races in global memory by the rules of PTX's memory model: who is found, what the finding says is missing, and who is not
//! accused.

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

/// A message from thread 0 of block 0 to thread 0 of block 1, or to thread 32 of block 0.
fn message(same_block: bool, writes: &str, reads: &str) -> String {
    let roles = if same_block {
        "@%p6 bra WRITER;\n@%p7 bra READER;\nbra DONE;"
    } else {
        "@!%p6 bra DONE;\n@%p4 bra READER;"
    };
    format!(
        "mov.u32 %r1, 1;
{roles}
WRITER:
st.global.u32 [%data], 42;
{writes}
bra DONE;
READER:
WAIT:
{reads}
setp.eq.u32 %p1, %r2, 0;
@%p1 bra WAIT;
BEHIND
ld.global.u32 %r3, [%data];
st.global.u32 [%data+128], %r3;
DONE:"
    )
}

/// The same with a fence behind the loop.
fn passed(target: u32, same_block: bool, writes: &str, (reads, behind): (&str, &str)) -> Ran {
    let body = message(same_block, writes, reads).replace("BEHIND", behind);
    if same_block { run(target, 1, 64, &body) } else { run(target, 2, 32, &body) }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

const SCOPES: [(Scope, &str); 4] =
    [(Scope::Cta, "cta"), (Scope::Cluster, "cluster"), (Scope::Gpu, "gpu"), (Scope::Sys, "sys")];

/// Whether a thread of the same block, or of another, is in a scope. A launch without clusters has a cluster a block.
fn reaches(scope: Scope, same_block: bool) -> bool {
    same_block || matches!(scope, Scope::Gpu | Scope::Sys)
}

/// A side of message passing: its text, whether the access is strong and so far, and the scopes at which it orders what is on its own side.
struct Side {
    text: [String; 2],
    strong: Option<Scope>,
    order: Option<Scope>,
}

fn writers() -> Vec<Side> {
    let mut all =
        vec![Side { text: ["st.global.u32 [%flag], %r1;".into(), String::new()], strong: None, order: None }];
    for (scope, name) in SCOPES {
        for fence in [
            None,
            Some((Scope::Cta, "fence.acq_rel.cta;")),
            Some((Scope::Gpu, "fence.acq_rel.gpu;")),
            Some((Scope::Sys, "fence.sc.sys;")),
        ] {
            let before = fence.map_or("", |(_, text)| text);
            let order = fence.map(|(scope, _)| scope);
            for store in [
                "st.relaxed.SCOPE.global.u32 [%flag], %r1;",
                "atom.relaxed.SCOPE.global.exch.b32 %r4, [%flag], %r1;",
            ] {
                let text = [format!("{before}\n{}", store.replace("SCOPE", name)), String::new()];
                all.push(Side { text, strong: Some(scope), order });
            }
        }
        for store in
            ["st.release.SCOPE.global.u32 [%flag], %r1;", "red.release.SCOPE.global.add.u32 [%flag], %r1;"]
        {
            let text = [store.replace("SCOPE", name), String::new()];
            all.push(Side { text, strong: Some(scope), order: Some(scope) });
        }
        let text = ["fence.acq_rel.gpu;\nst.global.u32 [%flag], %r1;".to_owned(), String::new()];
        all.push(Side { text, strong: None, order: Some(Scope::Gpu) });
    }
    all
}

fn readers() -> Vec<Side> {
    let mut all =
        vec![Side { text: ["ld.global.u32 %r2, [%flag];".into(), String::new()], strong: None, order: None }];
    for (scope, name) in SCOPES {
        for fence in
            [None, Some((Scope::Cta, "fence.acq_rel.cta;")), Some((Scope::Gpu, "fence.acq_rel.gpu;"))]
        {
            let behind = fence.map_or("", |(_, text)| text);
            let order = fence.map(|(scope, _)| scope);
            for load in [
                "ld.relaxed.SCOPE.global.u32 %r2, [%flag];",
                "atom.relaxed.SCOPE.global.or.b32 %r2, [%flag], 0;",
            ] {
                let text = [load.replace("SCOPE", name), behind.to_owned()];
                all.push(Side { text, strong: Some(scope), order });
            }
        }
        let text = [format!("ld.acquire.{name}.global.u32 %r2, [%flag];"), String::new()];
        all.push(Side { text, strong: Some(scope), order: Some(scope) });
    }
    all
}

#[test]
fn a_message_needs_strong_accesses_an_order_on_both_sides_and_scopes_that_reach() {
    let mut counts = [0; 2];
    for same_block in [false, true] {
        for writer in writers() {
            for reader in readers() {
                let within = |scope: Option<Scope>| scope.is_some_and(|scope| reaches(scope, same_block));
                let flag_is_clean = within(writer.strong) && within(reader.strong);
                let data_is_clean = flag_is_clean && within(writer.order) && within(reader.order);
                let ran = passed(75, same_block, &writer.text[0], (&reader.text[0], &reader.text[1]));
                let about =
                    |place: &str| ran.pairs().iter().any(|pair| pair.iter().all(|text| text.contains(place)));
                let name = format!(
                    "same block: {same_block}: {} | {:?}: {:?}",
                    writer.text[0],
                    reader.text,
                    ran.pairs()
                );
                assert_eq!(about("[%flag]"), !flag_is_clean, "the flag, {name}");
                assert_eq!(about("[%data]"), !data_is_clean, "the data, {name}");
                counts[usize::from(data_is_clean)] += 1;
                assert_eq!(ran.data[32], 42);
            }
        }
    }
    assert!(counts.iter().all(|count| *count >= 100), "{counts:?}");
}

#[test]
fn a_finding_names_both_accesses_and_the_fence_that_is_missing() {
    let gpu = "fence.acq_rel.gpu;";
    let [release, acquire] =
        ["st.relaxed.gpu.global.u32 [%flag], %r1;", "ld.relaxed.gpu.global.u32 %r2, [%flag];"];
    let [store, load] = ["st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];"];
    let line = |ran: &Ran, text: &str| 1 + ran.source.lines().position(|line| line == text).unwrap();
    // A fence before the flag is missing.
    let ran = passed(75, false, release, (acquire, gpu));
    let [from, to] = [line(&ran, store), line(&ran, release)];
    let told = ran.told(store, load);
    let address = told.split("reads 4 bytes at ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(
        told,
        format!(
            "block (1, 0, 0), warp 0, lane 0: k.ptx:{}, `{load}`: reads 4 bytes at {address} in `allocation 1` (4096 bytes); \
             block (0, 0, 0), warp 0, lane 0, writes it at k.ptx:{from}, `{store}`, byte {address}, in no order: \
             `fence.acq_rel.gpu` (`__threadfence()`) is missing between k.ptx:{from}, `{store}` and k.ptx:{to}, `{release}`",
            line(&ran, load)
        )
    );
    let missing = |target, same_block, writes: &str, reads: (&str, &str)| {
        let told = passed(target, same_block, writes, reads).told(store, load);
        told.split("in no order: ").nth(1).unwrap().to_owned()
    };
    let fenced = format!("{gpu}\n{release}");
    let after = missing(75, false, &fenced, (acquire, ""));
    assert!(after.starts_with("`fence.acq_rel.gpu` (`__threadfence()`) is missing behind k.ptx:"), "{after}");
    assert!(after.ends_with(acquire.trim()) || after.contains(acquire), "{after}");
    let both = missing(75, false, release, (acquire, ""));
    assert!(
        both.contains(" is missing between ")
            && both.contains(", and ")
            && both.contains(" is missing behind "),
        "{both}"
    );
    let same = missing(75, true, release, (acquire, "fence.acq_rel.cta;"));
    assert!(same.starts_with("`fence.acq_rel.cta` (`__threadfence_block()`) is missing between"), "{same}");
    let old = missing(
        35,
        false,
        "st.volatile.global.u32 [%flag], %r1;",
        ("ld.volatile.global.u32 %r2, [%flag];", "membar.gl;"),
    );
    assert!(old.starts_with("`membar.gl` (`__threadfence()`) is missing between"), "{old}");
    // A fence that is there, and reaches too few.
    let narrow = missing(75, false, &format!("fence.acq_rel.cta;\n{release}"), (acquire, gpu));
    assert!(
        narrow.starts_with("the fence between ") && narrow.contains("reaches its block alone"),
        "{narrow}"
    );
    let narrow = missing(75, false, &fenced, (acquire, "fence.acq_rel.cta;"));
    assert!(narrow.starts_with("the fence behind ") && narrow.contains("`fence.acq_rel.gpu`"), "{narrow}");
}

#[test]
fn a_scope_that_does_not_include_the_other_block_is_named() {
    let atomic = "atom.cta.global.exch.b32 %r4, [%flag], %r1;";
    let load = "ld.acquire.gpu.global.u32 %r2, [%flag];";
    let ran = passed(75, false, &format!("fence.acq_rel.gpu;\n{atomic}"), (load, ""));
    let expected = "scope .cta of `atom.cta.global.exch.b32` at k.ptx:";
    let told = ran.told(atomic, load);
    assert!(
        told.contains(expected) && told.ends_with("does not include block (1, 0, 0): .gpu does"),
        "{told}"
    );
    let told = ran.told("st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];");
    assert!(told.contains(expected), "the same holds for the data: {told}");
    assert_eq!(passed(75, true, &format!("fence.acq_rel.gpu;\n{atomic}"), (load, "")).pairs(), [[""; 2]; 0]);
}

/// Blocks 1 and 2 wait for a word that block 0 writes late.
const STALE_POLL: &str = "@!%p6 bra DONE;
setp.eq.u32 %p2, %block, 0;
@%p2 bra LATE;
WAIT: ld.global.ca.u32 %r2, [%flag];
setp.eq.u32 %p3, %r2, 0;
@%p3 bra WAIT;
bra DONE;
LATE: mov.u32 %r3, 0;
COUNT: add.u32 %r3, %r3, 1;
setp.lt.u32 %p3, %r3, 500;
@%p3 bra COUNT;
mov.u32 %r1, 1;
st.global.u32 [%flag], %r1;
DONE:";

#[test]
fn a_poll_by_a_weak_load_is_a_race_whoever_runs_first() {
    let [poll, store] = ["WAIT: ld.global.ca.u32 %r2, [%flag];", "st.global.u32 [%flag], %r1;"];
    // Block 0 runs first as it stands; the others do if the last block is the one that writes.
    for late in ["0", "2"] {
        let ran = run(80, 3, 32, &STALE_POLL.replace("%p2, %block, 0", &format!("%p2, %block, {late}")));
        assert_eq!(ran.pairs(), [[poll, store]], "block {late} writes");
        let told = ran.told(poll, store);
        assert!(
            told.contains("the poll at k.ptx:")
                && told.contains("is a weak load: `ld.acquire.gpu`, or `ld.relaxed.gpu` and `fence.acq_rel.gpu` (`__threadfence()`) behind it")
                && told.contains("is weak: `st.release.gpu`"),
            "{told}"
        );
    }
    let strong = STALE_POLL
        .replace("ld.global.ca", "ld.relaxed.gpu.global")
        .replace("st.global", "st.relaxed.gpu.global");
    assert_eq!(run(80, 3, 32, &strong).pairs(), [[""; 2]; 0]);
}

/// Every thread stores a word, something happens, thread 0 counts its block, and the last block reads all words.
fn last_block(before: &str, count: &str, after: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %block, 64, %me;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %rd1, %data, %rd1;
add.u32 %r2, %r1, 1;
st.global.u32 [%rd1], %r2;
{before}
mov.u32 %r3, 0;
@!%p6 bra JOIN;
{count}
st.shared.u32 [tile], %r3;
JOIN:
bar.sync 0;
ld.shared.u32 %r3, [tile];
setp.ne.u32 %p1, %r3, 3;
@%p1 bra DONE;
{after}
mul.wide.u32 %rd1, %me, 4;
add.u64 %rd1, %data, %rd1;
mov.u32 %r5, 0;
ld.global.u32 %r4, [%rd1];
add.u32 %r5, %r5, %r4;
ld.global.u32 %r4, [%rd1+512];
add.u32 %r5, %r5, %r4;
st.global.u32 [%rd1+2048], %r5;
DONE:"
    )
}

#[test]
fn the_last_block_may_read_what_all_have_fenced() {
    let count = "atom.global.inc.u32 %r3, [%flag], 4;";
    for (target, before, count, clean) in [
        // CUDA's sample threadFenceReduction: each thread's fence, and none behind the atomic.
        (35, "membar.gl;\nbar.sync 0;", count, true),
        (75, "membar.gl;\nbar.sync 0;", count, true),
        // A barrier, and thread 0's fence for all.
        (35, "bar.sync 0;", "membar.gl;\natom.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", "fence.acq_rel.gpu;\natom.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", "atom.acq_rel.gpu.global.inc.u32 %r3, [%flag], 4;", true),
        (75, "bar.sync 0;", count, false),
        (35, "bar.sync 0;", count, false),
        (75, "bar.sync 0;", "fence.acq_rel.cta;\natom.global.inc.u32 %r3, [%flag], 4;", false),
        // Only thread 0's own store comes before its fence.
        (75, "", "fence.acq_rel.gpu;\natom.global.inc.u32 %r3, [%flag], 4;", false),
        (75, "bar.sync 0;", "atom.acq_rel.cta.global.inc.u32 %r3, [%flag], 4;", false),
    ] {
        let ran = run(target, 4, 64, &last_block(before, count, ""));
        assert_eq!(ran.pairs().is_empty(), clean, "sm_{target} {before} {count}: {:?}", ran.findings);
        assert_eq!(ran.data[512], 1 + 129);
        if !clean {
            let told = ran.told("st.global.u32 [%rd1], %r2;", "ld.global.u32 %r4, [%rd1];");
            assert!(
                told.contains("missing between")
                    || told.contains("scope .cta")
                    || told.contains("its block alone")
                    || told.contains("nothing orders them"),
                "{told}"
            );
        }
    }
}

#[test]
fn what_one_block_has_acquired_it_releases_to_a_third() {
    // Block 0 writes data and a flag; block 1 waits for it and writes a second flag; block 2 waits for that and reads the data.
    let chain = |first: &str, second: &str| {
        format!(
            "@!%p6 bra DONE;
mov.u32 %r1, 1;
@%p4 bra MIDDLE;
@%p5 bra LAST;
st.global.u32 [%data], 42;
st.release.gpu.global.u32 [%flag], %r1;
bra DONE;
MIDDLE: {first}
setp.eq.u32 %p1, %r2, 0;
@%p1 bra MIDDLE;
{second}
bra DONE;
LAST: ld.acquire.gpu.global.u32 %r2, [%flag+128];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra LAST;
ld.global.u32 %r3, [%data];
DONE:"
        )
    };
    let [acquire, relaxed] =
        ["ld.acquire.gpu.global.u32 %r2, [%flag];", "ld.relaxed.gpu.global.u32 %r2, [%flag];"];
    let [release, plain] =
        ["st.release.gpu.global.u32 [%flag+128], %r1;", "st.relaxed.gpu.global.u32 [%flag+128], %r1;"];
    for (first, second, clean) in [
        (acquire, release, true),
        (relaxed, release, false),
        (acquire, plain, false),
        (relaxed, "fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%flag+128], %r1;", true),
    ] {
        let ran = run(75, 3, 32, &chain(first, second));
        assert_eq!(ran.pairs().is_empty(), clean, "{first} {second}: {:?}", ran.findings);
    }
    let ran = run(75, 3, 32, &chain(acquire, plain));
    let told = ran.told("st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];");
    assert!(told.contains("is missing between") && told.ends_with(&format!("`{plain}`")), "{told}");
}

#[test]
fn an_atomic_in_between_hands_on_what_was_released() {
    // Block 0 releases; block 1 adds without an order of its own; block 2 acquires the sum.
    let relay = |add: &str| {
        format!(
            "@!%p6 bra DONE;
@%p4 bra MIDDLE;
@%p5 bra LAST;
st.global.u32 [%data], 42;
red.release.gpu.global.add.u32 [%flag], 1;
bra DONE;
MIDDLE: {add}
bra DONE;
LAST: ld.acquire.gpu.global.u32 %r2, [%flag];
setp.ne.u32 %p1, %r2, 2;
@%p1 bra LAST;
ld.global.u32 %r3, [%data];
DONE:"
        )
    };
    assert_eq!(run(75, 3, 32, &relay("red.relaxed.gpu.global.add.u32 [%flag], 1;")).pairs(), [[""; 2]; 0]);
    let broken = run(75, 3, 32, &relay("mov.u32 %r4, 2;\nst.relaxed.gpu.global.u32 [%flag], %r4;"));
    assert_eq!(broken.pairs(), [["st.global.u32 [%data], 42;", "ld.global.u32 %r3, [%data];"]]);
}

/// Thread 0 of every block adds to a word under a lock.
fn locked(take: &str, give: &str) -> String {
    format!(
        "@!%p6 bra DONE;
WAIT: atom.global.cas.b32 %r2, [%flag], 0, 1;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra WAIT;
{take}
ld.global.u32 %r3, [%data];
add.u32 %r3, %r3, 1;
st.global.u32 [%data], %r3;
{give}
DONE:"
    )
}

#[test]
fn a_lock_needs_a_fence_where_it_is_taken_and_where_it_is_given_back() {
    let [fence, free] = ["membar.gl;", "atom.global.exch.b32 %r4, [%flag], 0;"];
    for target in [35, 75] {
        let ran = run(target, 5, 32, &locked(fence, &format!("{fence}\n{free}")));
        assert_eq!((ran.pairs().len(), ran.data[0]), (0, 5), "{:?}", ran.findings);
        for (take, give, words) in
            [(fence, free.to_owned(), "missing between"), ("", format!("{fence}\n{free}"), "missing behind")]
        {
            let ran = run(target, 5, 32, &locked(take, &give));
            let told = ran.told("st.global.u32 [%data], %r3;", "ld.global.u32 %r3, [%data];");
            assert!(told.contains(words), "{told}");
        }
    }
    // The lanes of a warp take it in turn.
    let body = locked(fence, &format!("{fence}\n{free}")).replace("@!%p6 bra DONE;", "");
    let ran = run(75, 2, 32, &body);
    assert_eq!((ran.pairs().len(), ran.data[0]), (0, 64), "{:?}", ran.findings);
}

/// CUDA's barrier of a grid: each block's thread 0 counts, and waits for the others.
fn grid_barrier(fence: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %block, 64, %me;
mul.wide.u32 %rd1, %r1, 4;
add.u64 %rd2, %data, %rd1;
st.global.u32 [%rd2], %r1;
bar.sync 0;
@!%p6 bra JOIN;
{fence}
atom.global.add.u32 %r2, [%flag], 1;
WAIT: ld.volatile.global.u32 %r2, [%flag];
setp.lt.u32 %p1, %r2, 3;
@%p1 bra WAIT;
{fence}
JOIN:
bar.sync 0;
xor.b32 %r3, %r1, 64;
setp.ge.u32 %p1, %r3, 192;
@%p1 bra DONE;
mul.wide.u32 %rd1, %r3, 4;
add.u64 %rd2, %data, %rd1;
ld.global.u32 %r4, [%rd2];
DONE:"
    )
}

#[test]
fn a_barrier_of_the_grid_orders_all_blocks() {
    for target in [35, 75] {
        assert_eq!(run(target, 3, 64, &grid_barrier("membar.gl;")).pairs(), [[""; 2]; 0], "sm_{target}");
        let ran = run(target, 3, 64, &grid_barrier(""));
        assert_eq!(
            ran.pairs(),
            [["st.global.u32 [%rd2], %r1;", "ld.global.u32 %r4, [%rd2];"]],
            "sm_{target}"
        );
    }
}

#[test]
fn a_look_back_over_packed_words_needs_no_fence() {
    // Block 0 publishes a flag and its value in one strong word; the others read both from it.
    let packed = "@!%p6 bra DONE;
@%p4 bra READER;
mov.u64 %rd3, 0x700000001;
st.relaxed.gpu.global.u64 [%flag], %rd3;
bra DONE;
READER: ld.relaxed.gpu.global.u64 %rd4, [%flag];
cvt.u32.u64 %r2, %rd4;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra READER;
DONE:";
    assert_eq!(run(75, 2, 32, packed).pairs(), [[""; 2]; 0]);
    let halves = packed.replace(
        "ld.relaxed.gpu.global.u64 %rd4, [%flag];\ncvt.u32.u64 %r2, %rd4;",
        "ld.relaxed.gpu.global.u32 %r2, [%flag];",
    );
    let ran = run(75, 2, 32, &halves);
    let told = ran
        .told("st.relaxed.gpu.global.u64 [%flag], %rd3;", "READER: ld.relaxed.gpu.global.u32 %r2, [%flag];");
    assert!(told.contains("of 8 and 4 bytes") || told.contains("of 4 and 8 bytes"), "{told}");
}

#[test]
fn the_read_only_path_need_not_see_what_the_launch_writes() {
    let body = |load: &str| {
        format!(
            "@!%p6 bra DONE;\nst.global.u32 [%data], 42;\nfence.acq_rel.gpu;\nbar.warp.sync -1;\n{load}\nDONE:"
        )
    };
    let load = "ld.global.nc.u32 %r3, [%data];";
    let ran = run(75, 1, 32, &body(load));
    assert!(ran.told("st.global.u32 [%data], 42;", load).ends_with("`ld.global` does"));
    assert_eq!(run(75, 1, 32, &body("ld.global.u32 %r3, [%data];")).pairs(), [[""; 2]; 0]);
    assert_eq!(
        run(75, 1, 32, &body("ld.global.nc.u32 %r3, [%data+4];")).pairs(),
        [[""; 2]; 0],
        "another word"
    );
}

#[test]
fn what_changes_nothing_races_with_nobody() {
    // All threads of all blocks write 1, as a search in a graph does.
    assert_eq!(run(75, 3, 64, "mov.u32 %r1, 1;\nst.global.u32 [%data], %r1;").pairs(), [[""; 2]; 0]);
    let ran = run(75, 3, 64, "st.global.u32 [%data], %block;");
    assert_eq!(ran.pairs(), [["st.global.u32 [%data], %block;"; 2]]);
    assert_eq!(run(75, 3, 64, "red.global.add.u32 [%data], 1;").pairs(), [[""; 2]; 0]);
    assert_eq!(run(75, 3, 64, "ld.global.u32 %r1, [%data];").pairs(), [[""; 2]; 0]);
    // Neighbours within a word.
    let bytes = "mad.lo.u32 %r1, %block, 64, %me;\ncvt.u64.u32 %rd1, %r1;\nadd.u64 %rd1, %data, %rd1;\nadd.u32 %r2, %r1, 1;\nst.global.u8 [%rd1], %r2;";
    assert_eq!(run(75, 3, 64, bytes).pairs(), [[""; 2]; 0]);
}

#[test]
fn a_reader_before_the_writer_races_as_one_behind_it() {
    // The block that writes is the first to run, or the last.
    for writer in ["%p5", "!%p4"] {
        let body = format!(
            "@!%p6 bra DONE;\n@{writer} bra WRITER;\nld.global.u32 %r1, [%data];\nbra DONE;\nWRITER:\nst.global.u32 [%data], 42;\nDONE:"
        );
        let blocks = if writer == "%p5" { 3 } else { 2 };
        let ran = run(75, blocks, 32, &body);
        assert_eq!(ran.pairs(), [["ld.global.u32 %r1, [%data];", "st.global.u32 [%data], 42;"]], "{writer}");
        assert!(
            ran.findings[0]
                .first
                .to_string()
                .ends_with("no release behind the one that the other has acquired")
        );
    }
}

#[test]
fn threads_of_a_block_meet_at_barriers_before_they_share_global_memory() {
    // Each thread stores a word and reads that of a neighbour, or of another warp.
    let exchange = |between: &str, with: u32| {
        format!(
            "mul.wide.u32 %rd1, %me, 4;\nadd.u64 %rd2, %data, %rd1;\nadd.u32 %r2, %me, 1;\nst.global.u32 [%rd2], %r2;\n{between}\n\
             xor.b32 %r1, %me, {with};\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd2, %data, %rd1;\nld.global.u32 %r3, [%rd2];"
        )
    };
    for (target, between, with, missing) in [
        (75, "", 1, Some("`bar.warp.sync` (`__syncwarp()`) does")),
        (75, "bar.warp.sync -1;", 1, None),
        (35, "", 1, None),
        (75, "", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (35, "", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (75, "bar.warp.sync -1;", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
        (75, "bar.sync 0;", 32, None),
        (35, "bar.sync 0;", 32, None),
        // A fence orders nothing by itself.
        (75, "fence.sc.gpu;", 32, Some("`bar.sync` (`__syncthreads()`) between them does")),
    ] {
        let ran = run(target, 1, 64, &exchange(between, with));
        let told = ran.findings.first().map(|finding| finding.first.to_string()).unwrap_or_default();
        assert_eq!(ran.pairs().len(), usize::from(missing.is_some()), "sm_{target} {between} {with}: {told}");
        assert!(told.ends_with(missing.unwrap_or_default()), "{told}");
    }
}

#[test]
fn a_barrier_in_memory_orders_global_memory_too() {
    let exchange = |wait: &str| {
        format!(
            ".reg .b64 %q;\n@%p6 mbarrier.init.shared.b64 [tile], 64;\nbar.sync 0;\nmul.wide.u32 %rd1, %me, 4;\nadd.u64 %rd2, %data, %rd1;\n\
             add.u32 %r2, %me, 1;\nst.global.u32 [%rd2], %r2;\nmbarrier.arrive.shared.b64 %q, [tile];\n{wait}\n\
             xor.b32 %r1, %me, 32;\nmul.wide.u32 %rd1, %r1, 4;\nadd.u64 %rd2, %data, %rd1;\nld.global.u32 %r3, [%rd2];"
        )
    };
    let wait = "AGAIN: mbarrier.test_wait.shared.b64 %p1, [tile], %q;\n@!%p1 bra AGAIN;";
    assert_eq!(run(80, 1, 64, &exchange(wait)).pairs(), [[""; 2]; 0]);
    assert_eq!(run(80, 1, 64, &exchange("")).pairs().len(), 1);
}

#[test]
fn shared_memory_has_the_same_rules_within_a_block() {
    // A flag in shared memory, where there is no barrier.
    let body = |store: &str, load: &str| {
        message(true, store, load)
            .replace("BEHIND", "")
            .replace("[%flag]", "[tile+16]")
            .replace(".global", ".shared")
            .replace("[%data]", "[tile]")
            .replace("[%data+128]", "[tile+32]")
    };
    let [release, acquire] =
        ["st.release.cta.shared.u32 [tile+16], %r1;", "ld.acquire.cta.shared.u32 %r2, [tile+16];"];
    let begin = "st.shared.u32 [tile+16], 0;\nbar.sync 0;\n";
    let clean = run(75, 1, 64, &format!("{begin}{}", body(release, acquire)));
    assert_eq!(clean.pairs(), [[""; 2]; 0]);
    let ran = run(
        75,
        1,
        64,
        &format!(
            "{begin}{}",
            body("st.volatile.shared.u32 [tile+16], %r1;", "ld.volatile.shared.u32 %r2, [tile+16];")
        ),
    );
    assert_eq!(ran.pairs(), [["st.shared.u32 [tile], 42;", "ld.shared.u32 %r3, [tile];"]]);
    assert!(
        ran.findings[0]
            .first
            .to_string()
            .contains("`fence.acq_rel.cta` (`__threadfence_block()`) is missing between")
    );
}

#[test]
fn each_pair_of_lines_is_told_once_and_counted() {
    let ran = run(
        75,
        4,
        32,
        "@!%p6 bra DONE;\nst.global.u32 [%data], %block;\nst.global.u32 [%data+4], %block;\nDONE:",
    );
    let counts: Vec<u64> = ran.findings.iter().map(|finding| finding.count).collect();
    assert_eq!((ran.pairs().len(), counts), (2, vec![3, 3]));
}
