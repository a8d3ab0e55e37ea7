//! Lines at the distance of a client's last reads from each other.

use counterpoint_framework::model::{Params, Variant};

use super::{LookedUp, Prefetcher};

/// Detection of strides, and depth of the prefetch.
#[derive(Clone, Debug, Params)]
pub(super) struct StrideParams {
    /// Lines that are fetched ahead of a read.
    #[param(default = "1", min = "1", max = "32")]
    degree: u32,
    /// Repetitions of a stride before its lines are prefetched.
    #[param(default = "2", min = "1", max = "16")]
    confidence: u32,
    /// Table entries, one per client; clients beyond this number share entries.
    #[param(default = "64", min = "1", max = "4096")]
    entries: u32,
}

/// The last reads of a client.
#[derive(Clone, Copy, Default)]
struct Entry {
    line: u64,
    stride: i64,
    /// Number of repetitions of the stride.
    again: u32,
}

/// The prefetcher `stride`.
pub(super) struct Stride {
    params: StrideParams,
    entries: Vec<Entry>,
}

impl Variant<dyn Prefetcher> for Stride {
    const NAME: &'static str = "stride";
    const DOC: &'static str = "Lines at a client's repeated stride ahead of its read are fetched.";
    type Params = StrideParams;

    fn build(params: &StrideParams) -> Result<Box<dyn Prefetcher>, String> {
        Ok(Box::new(Stride {
            params: params.clone(),
            entries: vec![Entry::default(); params.entries as usize],
        }))
    }
}

impl Prefetcher for Stride {
    fn looked_up(&mut self, read: &LookedUp, wanted: &mut Vec<u64>) {
        let entry = &mut self.entries[(read.client % self.params.entries) as usize];
        let stride = read.line.wrapping_sub(entry.line) as i64;
        if stride == 0 {
            return;
        }
        entry.again = if stride == entry.stride { entry.again + 1 } else { 0 };
        (entry.line, entry.stride) = (read.line, stride);
        if entry.again >= self.params.confidence {
            let ahead = (1..=i64::from(self.params.degree)).map(|step| step * stride);
            wanted.extend(ahead.map(|distance| read.line.wrapping_add_signed(distance)));
        }
    }
}
