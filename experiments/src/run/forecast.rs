//! How long the rest of a run takes, in wall-clock time.
//!
//! Simulated time says little of it: reading a file passes quickly, a kernel slowly. What takes time is bytes that are copied
//! and thread blocks, and a block of one kernel may take a thousand times that of another. So time is booked to what was
//! done in it: to the kernel whose blocks were under way, else to copies; and what is left is multiplied by what it has
//! cost so far. Blocks count half while they are under way. Nothing is said before that is known: while a kernel that has a
//! good part of the rest has not ended as many blocks as are under way, or while nobody knows how often a loop goes round.
//! What cannot be seen is that later blocks of a kernel take less than those before: of `gaussian`, whose blocks find less and
//! less to do, it says twice too much.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::progress::Snapshot;

/// Kernels that nobody has seen may have this share of what is left; it is taken to cost what the others do.
const UNSEEN: f64 = 0.1;

/// What something has cost so far.
#[derive(Clone, Copy, Debug, Default)]
struct Booked {
    seconds: f64,
    units: f64,
}

impl Booked {
    fn add(&mut self, seconds: f64, units: f64) {
        self.seconds += seconds;
        self.units += units;
    }

    /// What so many units more will take.
    fn price(&self, units: f64) -> f64 {
        if self.units > 0.0 { units * self.seconds / self.units } else { 0.0 }
    }
}

/// Learns from looks at a run how long its rest takes.
pub struct Forecast {
    /// The kernels of all launches in their order, each with its blocks.
    blocks: Option<Arc<[(String, u64)]>>,
    before: (Snapshot, Duration),
    copies: Booked,
    /// Seconds of copies since bytes were last seen to arrive: a copy is told when it has ended.
    copying: f64,
    kernels: BTreeMap<String, Booked>,
}

impl Forecast {
    /// A forecast for a run of these launches: kernels in their order, each with its blocks; nothing if nobody knows how often.
    pub fn new(blocks: Option<Arc<[(String, u64)]>>) -> Self {
        let before = (Snapshot::default(), Duration::ZERO);
        Forecast { blocks, before, copies: Booked::default(), copying: 0.0, kernels: BTreeMap::new() }
    }

    /// Learns how far the run is after so much time, and says how long the rest takes, if that can be known.
    pub fn left(&mut self, now: Snapshot, elapsed: Duration) -> Option<Duration> {
        let (before, then) = std::mem::replace(&mut self.before, (now, elapsed));
        let seconds = elapsed.saturating_sub(then).as_secs_f64();
        let blocks = self.blocks.clone()?;
        let (from, to) = (done(&before), done(&now));
        // A look at which no block was under way any more, or not yet: between it and the next, copies took the time.
        let computes = before.under_way > 0 || now.bytes == before.bytes;
        if computes && (to > from || now.under_way > 0) {
            for (kernel, share) in shares(&blocks, from, to) {
                let part = if to > from { share / (to - from) } else { 1.0 };
                self.kernels.entry(kernel.to_owned()).or_default().add(part * seconds, share);
            }
        } else {
            self.copying += seconds;
            if now.bytes > before.bytes {
                let seconds = std::mem::take(&mut self.copying);
                self.copies.add(seconds, (now.bytes - before.bytes) as f64);
            }
        }
        self.rest(&blocks, &now).map(Duration::from_secs_f64)
    }

    /// Seconds that are left.
    fn rest(&self, blocks: &[(String, u64)], now: &Snapshot) -> Option<f64> {
        let bytes = now.all_bytes.saturating_sub(now.bytes) as f64;
        // What passed between two looks costs next to nothing.
        if bytes > 0.0 && now.bytes == 0 {
            return None;
        }
        let mut ahead: BTreeMap<&str, f64> = BTreeMap::new();
        for (kernel, count) in shares(blocks, done(now), now.all_ctas as f64) {
            *ahead.entry(kernel).or_default() += count;
        }
        let left: f64 = ahead.values().sum();
        if left == 0.0 {
            return Some((self.copies.price(bytes) - self.copying).max(0.0));
        }
        if now.ctas < now.under_way {
            return None;
        }
        let (mut seconds, mut seen) = (0.0, 0.0);
        for (kernel, &count) in &ahead {
            if let Some(booked) = self.kernels.get(*kernel).filter(|booked| booked.units > 0.0) {
                seconds += booked.price(count);
                seen += count;
            }
        }
        if left - seen > UNSEEN * left {
            return None;
        }
        Some(seconds * left / seen + self.copies.price(bytes))
    }
}

/// Blocks that are done, those under way by half.
fn done(snapshot: &Snapshot) -> f64 {
    snapshot.ctas as f64 + 0.5 * snapshot.under_way as f64
}

/// The kernels of the blocks from one position in the order of the program to another, each with its part; the one at the
/// position if nothing lies between.
fn shares(blocks: &[(String, u64)], from: f64, to: f64) -> impl Iterator<Item = (&str, f64)> {
    let mut end = 0.0;
    blocks.iter().filter_map(move |(kernel, count)| {
        let begin = end;
        end += *count as f64;
        let share = to.min(end) - from.max(begin);
        let here = from == to && begin <= from && from < end;
        (share > 0.0 || here).then_some((kernel.as_str(), share.max(0.0)))
    })
}
