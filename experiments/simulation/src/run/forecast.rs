//! Forecast of the remaining wall-clock time of a run.
//!
//! Simulated time is a poor measure: reading a file simulates quickly, a kernel slowly. Copied bytes and thread blocks
//! take time, and a block of one kernel may take a thousand times that of another. So wall-clock time is attributed to
//! the kernel whose blocks are in flight, else to copies, and the remaining blocks and bytes are multiplied by their cost
//! so far. A block in flight counts half. There is no forecast while its costs are unknown: until a kernel with a large
//! remaining share has ended as many blocks as are in flight, and while the number of iterations of a loop is unknown.
//!
//! Blocks of later launches may find less to do than those of the first, as in `gaussian`, or more. Where the cost of a
//! kernel's blocks has clearly changed over several of its launches, the forecast extrapolates the change linearly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::progress::Snapshot;

/// Largest share of kernels that have not run yet in the remaining blocks; their blocks are taken to cost what the others
/// do.
const UNSEEN: f64 = 0.1;

/// Number of launches of a kernel, and of observations of it, from which on its price may have a trend.
const LAUNCHES: u64 = 8;

/// Number of standard errors by which a trend must differ from zero.
const CLEAR: f64 = 4.0;

/// A price that falls does not fall below this share of what it was last.
const FLOOR: f64 = 0.1;

/// Cost of something so far.
#[derive(Clone, Copy, Debug, Default)]
struct Booked {
    seconds: f64,
    units: f64,
    trend: Trend,
}

impl Booked {
    fn add(&mut self, seconds: f64, units: f64) {
        if units > 0.0 {
            self.trend.add(self.units + units / 2.0, seconds / units, units);
        }
        self.seconds += seconds;
        self.units += units;
    }

    /// Cost of `units` more at the mean price.
    fn price(&self, units: f64) -> f64 {
        if self.units > 0.0 { units * self.seconds / self.units } else { 0.0 }
    }

    /// Cost of `units` more if the price goes on changing as it has.
    fn price_by_trend(&self, units: f64) -> f64 {
        let Some((price, slope)) = self.trend.line(self.units) else { return self.price(units) };
        let least = FLOOR * price;
        // From this unit on the price stays at its floor.
        let turn = if slope < 0.0 { ((least - price) / slope).clamp(0.0, units) } else { units };
        turn * (price + slope * turn / 2.0) + (units - turn) * least
    }
}

/// Prices by how many units were done before, as a weighted line of least squares.
#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    count: u64,
    /// The sum of the weights, and the weighted means of positions and prices.
    weight: f64,
    position: f64,
    price: f64,
    /// Weighted sums of squares around the means.
    squares: f64,
    products: f64,
    price_squares: f64,
}

impl Trend {
    fn add(&mut self, position: f64, price: f64, weight: f64) {
        self.count += 1;
        self.weight += weight;
        let (by, dear) = (position - self.position, price - self.price);
        self.position += by * weight / self.weight;
        self.price += dear * weight / self.weight;
        let rest = weight * (position - self.position);
        self.squares += rest * by;
        self.products += rest * dear;
        self.price_squares += weight * dear * (price - self.price);
    }

    /// The price at a position and its slope, if there clearly is one.
    fn line(&self, position: f64) -> Option<(f64, f64)> {
        if self.count < LAUNCHES || self.squares <= 0.0 {
            return None;
        }
        let slope = self.products / self.squares;
        let residues = (self.price_squares - slope * self.products).max(0.0);
        let error = (residues / (self.count - 2) as f64 / self.squares).sqrt();
        let price = self.price + slope * (position - self.position);
        (slope.abs() > CLEAR * error && price > 0.0).then_some((price, slope))
    }
}

/// Estimator of the remaining time of a run, from repeated observations of the run.
pub struct Forecast {
    /// The kernels of all launches in their order, each with its blocks.
    blocks: Option<Arc<[(String, u64)]>>,
    before: (Snapshot, Duration),
    copies: Booked,
    /// Seconds of copies since bytes were last seen to arrive: a copy is reported when it has ended.
    copying: f64,
    kernels: BTreeMap<String, Booked>,
}

impl Forecast {
    /// A forecast for a run of these launches: kernels in their order, each with its blocks; `None` if the number of
    /// launches is unknown.
    pub fn new(blocks: Option<Arc<[(String, u64)]>>) -> Self {
        let before = (Snapshot::default(), Duration::ZERO);
        Forecast { blocks, before, copies: Booked::default(), copying: 0.0, kernels: BTreeMap::new() }
    }

    /// Takes the progress of the run after `elapsed`, and returns the time of the rest, if that can be known.
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
        // Bytes that passed between two looks cost next to nothing.
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
                let many = launches_ended(blocks, kernel, done(now)) >= LAUNCHES;
                seconds += if many { booked.price_by_trend(count) } else { booked.price(count) };
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

fn launches_ended(blocks: &[(String, u64)], kernel: &str, done: f64) -> u64 {
    let mut end = 0.0;
    let ended = blocks.iter().take_while(|(_, count)| {
        end += *count as f64;
        end <= done
    });
    ended.filter(|(name, _)| name == kernel).count() as u64
}

/// Kernels of the blocks between two positions in program order, each with its share; the kernel at the position if the
/// two are equal.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Forecast for `more` units after units at these prices, one by one: at the mean price, and by trend.
    fn by_trend(prices: impl Iterator<Item = f64>, more: f64) -> [f64; 2] {
        let mut booked = Booked::default();
        prices.for_each(|price| booked.add(price, 1.0));
        [booked.price(more), booked.price_by_trend(more)]
    }

    #[test]
    fn a_price_that_changes_goes_on_changing() {
        let [mean, trend] = by_trend((0..10).map(|unit| 100.5 - f64::from(unit)), 90.0);
        assert!((mean - 90.0 * 96.0).abs() < 1e-6, "{mean}");
        // The price falls from 91 to the floor of 9.1 after 81.9 units.
        assert!((trend - (81.9 * (91.0 + 9.1) / 2.0 + 8.1 * 9.1)).abs() < 1e-6, "{trend}");
        let [_, rising] = by_trend((0..10).map(|unit| 10.5 + f64::from(unit)), 10.0);
        assert!((rising - 10.0 * 25.0).abs() < 1e-6, "{rising}");
    }

    #[test]
    fn a_price_that_scatters_stays() {
        let scattered = [3.0, 5.0, 2.0, 6.0, 3.0, 5.5, 2.5, 4.5, 3.5, 5.0];
        let [mean, trend] = by_trend(scattered.into_iter(), 100.0);
        assert_eq!(mean, trend);
        let [mean, trend] = by_trend([9.0, 5.0, 1.0].into_iter(), 100.0);
        assert_eq!(mean, trend, "too few");
    }
}
