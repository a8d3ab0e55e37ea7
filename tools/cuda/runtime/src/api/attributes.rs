//! Attributes of launches and of streams, by CUDA's numbers: those that change neither a value nor a time here, those that are looked at, and those
//! that are refused by their names.

use crate::errors::{Error, Result};

/// Value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    /// The attribute has no effect here.
    Harmless,
    /// Blocks that wait for each other.
    Cooperative,
    /// Blocks in clusters.
    Cluster,
    /// The begin of a launch before the end of the one before it.
    Overlap,
    Priority,
    /// The share of shared memory.
    Carveout,
    /// The attribute is refused.
    Other(&'static str),
}

use Attribute::{Carveout, Cluster, Cooperative, Harmless, Other, Overlap, Priority};

/// Number, attribute, and whether a launch and a stream may have it (`cudaLaunchAttributeID` in CUDA's `driver_types.h`).
static ATTRIBUTES: &[(i32, Attribute, bool, bool)] = &[
    // The ignored attribute, the persisting window of the L2, and the host's way of waiting.
    (0, Harmless, true, true),
    (1, Harmless, true, true),
    (2, Cooperative, true, false),
    (3, Harmless, false, true),
    (4, Cluster, true, false),
    (5, Other("cudaLaunchAttributeClusterSchedulingPolicyPreference"), true, false),
    (6, Overlap, true, false),
    (7, Other("cudaLaunchAttributeProgrammaticEvent"), true, false),
    (8, Priority, true, true),
    // Domains of fences, and which one a launch is in.
    (9, Harmless, true, true),
    (10, Harmless, true, true),
    (11, Other("cudaLaunchAttributePreferredClusterDimension"), true, false),
    (12, Other("cudaLaunchAttributeLaunchCompletionEvent"), true, false),
    (13, Other("cudaLaunchAttributeDeviceUpdatableKernelNode"), true, false),
    (14, Carveout, true, false),
    (16, Other("cudaLaunchAttributeNvlinkUtilCentricScheduling"), true, true),
    (17, Other("cudaLaunchAttributePortableClusterSizeMode"), true, false),
    (18, Other("cudaLaunchAttributeSharedMemoryMode"), true, false),
];

fn find(number: i32, may: impl Fn(bool, bool) -> bool) -> Result<Attribute> {
    let found =
        ATTRIBUTES.iter().find(|(known, _, launch, stream)| *known == number && may(*launch, *stream));
    found.map(|(_, attribute, ..)| *attribute).ok_or(Error::INVALID_VALUE)
}

/// # Errors
/// A launch has no such attribute.
pub(super) fn of_launch(number: i32) -> Result<Attribute> {
    find(number, |launch, _| launch)
}

/// # Errors
/// A stream has no such attribute.
pub(super) fn of_stream(number: i32) -> Result<Attribute> {
    find(number, |_, stream| stream)
}

/// Blocks of a cluster at most, whatever the device.
const LARGEST_CLUSTER: u64 = 8;

/// Checks sizes of a cluster of blocks; true if it has more than one.
///
/// # Errors
/// If no device supports clusters of this size, or the grid is not a multiple of the cluster.
pub(super) fn check_cluster(cluster: [u32; 3], grid: [u32; 3]) -> Result<bool> {
    let blocks = cluster.iter().map(|&size| u64::from(size)).try_fold(1_u64, u64::checked_mul);
    let fits = cluster.iter().zip(grid).all(|(&size, blocks)| size > 0 && blocks % size == 0);
    match blocks {
        Some(blocks) if fits && blocks <= LARGEST_CLUSTER => Ok(blocks > 1),
        _ => Err(Error::INVALID_CLUSTER_SIZE),
    }
}

/// Checks a share of shared memory in percent, or -1 for any.
pub(super) fn check_carveout(percent: i32) -> Result {
    if (-1..=100).contains(&percent) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}
