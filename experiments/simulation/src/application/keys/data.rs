//! The keys of what an application has: programs beside it, code, buffers, textures and surfaces, files, expectations and counts.

use counterpoint_framework::model::{Later, Named, Params};

use super::PartKeys;
use super::shapes::{OneOrMore, Rule, Scalar, Single, either};
use crate::workloads::synthetic::Synthetic;

/// An application that runs together with others.
#[derive(Params)]
#[params(called = "an application among others")]
pub(in super::super) struct MemberKeys {
    /// Its file, relative to this one.
    pub application: Single,
    /// Values of its parameters, or its `size`.
    pub set: Option<Later<Named<Scalar>>>,
}

/// An entry of `code` that is a map.
#[derive(Params)]
#[params(called = "a described kernel")]
pub(in super::super) struct CodeKeys {
    /// Description of a synthetic kernel: `counterpoint explain synthetic` shows its parameters.
    pub synthetic: Option<Later<Synthetic>>,
    /// A PTX file, relative to this one, whose variables are to have fixed addresses.
    pub file: Option<Single>,
    /// The address at which its `.global` variables begin on each device, a multiple of 256 from 64 KiB on.
    pub globals: Option<Single>,
    /// The address at which its `.const` variables begin on each device, a multiple of 256 from 64 KiB on.
    pub constants: Option<Single>,
}

/// An entry of `buffers`.
#[derive(Params)]
#[params(called = "a buffer")]
pub(in super::super) struct BufferKeys {
    /// Type of the elements: f32, f64, u8 to u64, s8 to s64; of a variable that of its PTX if not given.
    #[param(name = "type")]
    pub element: Option<Single>,
    /// How many; of a variable all of it if not given.
    pub elements: Option<Single>,
    /// The device on which it lies; 0 if not given.
    pub device: Option<Single>,
    /// Its address on its device, a multiple of 256 from 64 KiB on; buffers without one lie behind all that have one.
    pub address: Option<Single>,
    /// The variable of a module that it is on its device, as `code.variable`; the host has memory of its own for it.
    pub variable: Option<Single>,
}

/// Keys that textures and surfaces have in common.
#[derive(Params)]
pub(in super::super) struct BoundKeys {
    /// The buffer that holds the elements, x fastest, channels of an element together.
    pub of: Single,
    /// The element of the buffer with which it begins; 0 if not given.
    pub element: Option<Single>,
    /// Type of a channel; that of the buffer's elements if not given.
    #[param(name = "type")]
    pub channel: Option<Single>,
    /// Elements in x, y and z; those of a texture are its texels.
    pub size: Later<OneOrMore>,
    /// Layers of an array of one or two dimensions, one behind the other; no array if not given. The faces of a cube are six.
    pub layers: Option<Single>,
    /// Channels of an element: 1, 2 or 4; 1 if not given.
    pub channels: Option<Single>,
}

/// An entry of `textures`.
#[derive(Params)]
#[params(called = "a texture")]
pub(in super::super) struct TextureKeys {
    #[param(flatten)]
    pub bound: BoundKeys,
    /// Elements of the buffer from the beginning of a row to that of the next; those of a row's texels if not given.
    pub pitch: Option<Single>,
    /// `point` (the texel) or `linear` (interpolated); `point` if not given.
    pub filter: Option<Single>,
    /// `texels`, or `normalized` from 0 to 1; `texels` if not given.
    pub coordinates: Option<Single>,
    /// Beyond the edge: `clamp`, `border` (zeros), or for normalised coordinates `wrap` or `mirror`; one of all axes, or one of each; `clamp`
    /// if not given.
    pub edge: Option<Later<OneOrMore>>,
    /// `elements`, or 8 and 16 bits as `fractions` of 1; `elements` if not given.
    pub read: Option<Single>,
}

/// An entry of `surfaces`.
#[derive(Params)]
#[params(called = "a surface")]
pub(in super::super) struct SurfaceKeys {
    #[param(flatten)]
    pub bound: BoundKeys,
}

/// Keys of `load`.
#[derive(Params)]
#[params(called = "load")]
pub(in super::super) struct LoadKeys {
    /// The file, relative to this one; as long as the buffer.
    pub file: Single,
    /// The buffer.
    pub into: Single,
    /// How to make the file if it does not exist; an existing file stays.
    pub generate: Option<Later<Rule>>,
}

/// An entry of `expect`.
#[derive(Params)]
#[params(called = "an expectation")]
pub(in super::super) struct ExpectationKeys {
    /// The buffer.
    pub buffer: Single,
    #[param(flatten)]
    pub part: PartKeys,
    /// A file with a byte for each of them: where it is 0, any value is right.
    #[param(name = "where")]
    pub only: Option<Single>,
    /// A reference implementation that computes what it should hold.
    pub reference: Option<Single>,
    /// A file with what it should hold, relative to this one.
    pub file: Option<Single>,
    /// Where that begins in the file, in bytes; 0 if not given.
    pub offset: Option<Single>,
    /// A rule that makes what it should hold.
    pub generate: Option<Later<Rule>>,
    /// FNV-1a hash of what it should hold, in hexadecimal digits.
    pub fnv64: Option<Single>,
    /// How far a value may be off, as a share of it; equal bits if not given.
    pub relative: Option<Single>,
    /// How far a value may be off in its own unit, for values around zero.
    pub absolute: Option<Single>,
}

/// Keys of a kernel in `counts`.
#[derive(Params)]
#[params(called = "a count")]
pub(in super::super) struct CountKeys {
    /// Thread blocks of every launch, or a list of those of each.
    pub ctas: Later<PerLaunchShape>,
    /// Instructions, counted once for a warp: of every launch, or of each.
    pub warp_insn: Later<PerLaunchShape>,
}

/// Keys of `counts` where launches are too many and too different to be listed.
#[derive(Params)]
#[params(called = "a total")]
pub(in super::super) struct TotalKeys {
    /// The sum over all launches of the kernel.
    pub total: Single,
}

either! {
    /// Shape of a count.
    PerLaunchShape = "a number, a list of numbers or a total": Scalar, Vec<Scalar>, TotalKeys;
}
