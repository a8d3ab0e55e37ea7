//! Instructions and special registers that PTX has and the simulator does not support, each with the reason.
//!
//! A module that holds one loads; the kernels that would execute it are refused by its name.

/// The first words of opcodes, and why instructions that begin with them are not supported. The first match counts.
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("wgmma", HOPPER_MATRICES),
    ("setmaxnreg", HOPPER_MATRICES),
    ("tcgen05", BLACKWELL),
    ("clusterlaunchcontrol", BLACKWELL),
    ("redux.sync.min.f32", BLACKWELL),
    ("redux.sync.max.f32", BLACKWELL),
    ("redux.sync.min.abs", BLACKWELL),
    ("redux.sync.max.abs", BLACKWELL),
    ("redux.sync.min.NaN", BLACKWELL),
    ("redux.sync.max.NaN", BLACKWELL),
    ("cp.async.bulk", HOPPER_COPIES),
    ("cp.reduce.async.bulk", HOPPER_COPIES),
    ("tensormap", HOPPER_COPIES),
    ("fence.proxy.async", HOPPER_COPIES),
    ("fence.proxy.tensormap", HOPPER_COPIES),
    ("fence.mbarrier_init", CLUSTERS),
    ("st.async", CLUSTERS),
    ("st.bulk", BLACKWELL),
    ("red.async", CLUSTERS),
    ("barrier.cluster", CLUSTERS),
    ("mapa", CLUSTERS),
    ("getctarank", CLUSTERS),
    ("multimem", "several devices with one address are not simulated"),
    ("suld.p", SURFACES),
    ("sust.p", SURFACES),
    ("sured.p", SURFACES),
    ("suq", SURFACES),
    ("txq", TEXTURES),
    ("tld4", TEXTURES),
    ("tex", TEXTURES),
    ("istypep", TEXTURES),
    ("mma.sp", "sparse matrices are not simulated"),
    ("wmma", MATRICES),
    ("mma", MATRICES),
    ("ldmatrix", MATRICES),
    ("stmatrix", MATRICES),
    ("movmatrix", MATRICES),
    ("cp.async", "this form of copies is not simulated"),
    ("mbarrier", "this form of barriers in memory is not simulated"),
    ("createpolicy.range", "policies for ranges of addresses are not simulated"),
    ("createpolicy.cvt", "policies for ranges of addresses are not simulated"),
    ("cvta.param", PARAMETERS),
    ("cvta.to.param", PARAMETERS),
];

/// Words that only Blackwell's instructions have.
const WORDS: &[&str] = &["f32x2", "v8", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "rs", "scale"];

/// Instructions that take Blackwell where their words are those of others: sums of mixed types, and what their last words
/// are.
const BLACKWELL_ENDS: &[(&str, &str)] = &[
    ("add", ".f32.f16"),
    ("add", ".f32.bf16"),
    ("sub", ".f32.f16"),
    ("sub", ".f32.bf16"),
    ("fma", ".f32.f16"),
    ("fma", ".f32.bf16"),
    ("cvt", ".satfinite.tf32.f32"),
];

const HOPPER_MATRICES: &str = "it needs the matrix unit of sm_90a";
const HOPPER_COPIES: &str = "it needs the copy unit of sm_90";
const CLUSTERS: &str = "clusters of blocks are not simulated";
const BLACKWELL: &str = "it needs sm_100";
const SURFACES: &str =
    "formatted accesses to surfaces, and questions about their channels, are not simulated";
const TEXTURES: &str = "samples, halves, offsets and comparisons of depth of textures, and questions about them, are not simulated";
const PARAMETERS: &str = "parameters of kernels have no generic addresses here";
const MATRICES: &str = "this form of matrices is not simulated";
const FILLED: &str = "the numbers that copies fill in beyond an array's bounds are not simulated";

/// Reason for which an instruction of PTX is not supported; `None` for one that PTX does not have.
pub fn reason(opcode: &str) -> Option<&'static str> {
    let begins = |first: &str| {
        let rest = opcode.strip_prefix(first);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
    };
    let listed = INSTRUCTIONS.iter().find(|(first, _)| begins(first)).map(|(_, why)| *why);
    let ends = |(first, last): &(&str, &str)| begins(first) && opcode.ends_with(last);
    if BLACKWELL_ENDS.iter().any(ends) {
        return Some(BLACKWELL);
    }
    if begins("fma") && opcode.split('.').any(|word| word == "oob") {
        return Some(FILLED);
    }
    listed.or_else(|| opcode.split('.').any(|word| WORDS.contains(&word)).then_some(BLACKWELL)).or_else(
        || {
            let far = ["shared::cluster", "multicast::cluster"];
            opcode.split('.').any(|word| far.contains(&word)).then_some(CLUSTERS)
        },
    )
}

/// Reason for which a special register of PTX is not supported; `None` for a name that PTX does not have.
pub fn register_reason(name: &str) -> Option<&'static str> {
    let head = name.split('.').next().unwrap_or(name);
    let clusters = [
        "%cluster_ctaid",
        "%cluster_nctaid",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%clusterid",
        "%nclusterid",
        "%is_explicit_cluster",
    ];
    if clusters.contains(&head) {
        return Some(CLUSTERS);
    }
    let counter = |prefix: &str| {
        head.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    counter("%pm").then_some("counters of a performance monitor have no meaning here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_ptx_have_a_reason_and_others_none() {
        assert_eq!(reason("wgmma.fence.sync.aligned"), Some(HOPPER_MATRICES));
        assert_eq!(reason("cp.async.bulk.commit_group"), Some(HOPPER_COPIES));
        assert_eq!(reason("fma.rn.f32x2"), Some(BLACKWELL));
        assert_eq!(reason("add.rn.sat.f32.bf16"), Some(BLACKWELL));
        assert_eq!(reason("cvt.rn.satfinite.tf32.f32"), Some(BLACKWELL));
        assert_eq!(reason("cvt.rs.f16x2.f32"), Some(BLACKWELL));
        assert_eq!(reason("fma.rn.oob.relu.f16x2"), Some(FILLED));
        assert_eq!(reason("add.u33"), None);
        assert_eq!(reason("matrix.add"), None);
        assert_eq!(register_reason("%cluster_ctarank"), Some(CLUSTERS));
        assert_eq!(register_reason("%pm3_64"), register_reason("%pm0"));
        assert_eq!(register_reason("%pmx"), None);
    }
}
