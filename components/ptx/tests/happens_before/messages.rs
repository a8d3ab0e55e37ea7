//! Messages from one thread to another by a flag: who races, and what the finding says is missing.

use super::{Ran, run};

/// A message from thread 0 of block 0 to thread 0 of block 1, or to thread 32 of block 0.
pub(super) fn message(same_block: bool, writes: &str, reads: &str) -> String {
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
