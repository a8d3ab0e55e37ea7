//! Each block walks through a tile of its own.

use counterpoint_framework::model::{Params, Variant};
use counterpoint_framework::time::Bytes;

use super::{Pattern, Stride, Walk};

/// Parameters of the pattern.
#[derive(Clone, Debug, Params)]
pub(super) struct TileParams {
    /// Bytes of a block's tile, a power of two; blocks share tiles where the buffer has fewer.
    #[param(default = "16 KiB", min = "128 B", max = "1 GiB")]
    size: Bytes,
}

/// The pattern `tile`.
pub(super) struct Tile {
    size: u64,
}

impl Variant<dyn Pattern> for Tile {
    const NAME: &'static str = "tile";
    const DOC: &'static str =
        "The warps of a block walk side by side through a tile of the buffer, again and again.";
    type Params = TileParams;

    fn build(params: &TileParams) -> Result<Box<dyn Pattern>, String> {
        let size = params.size.get();
        if !size.is_power_of_two() {
            return Err(format!("a tile of {size} B is not a power of two"));
        }
        Ok(Box::new(Tile { size }))
    }
}

impl Pattern for Tile {
    fn walk(&self, footprint: u64, record: u64) -> Result<Walk, String> {
        if self.size > footprint || self.size < record {
            let size = self.size;
            return Err(format!(
                "a tile of {size} B does not fit between a warp's access, {record} B, and the footprint, {footprint} B"
            ));
        }
        Ok(Walk::Linear { step: Stride::Block, region: self.size, per_block: true })
    }
}
