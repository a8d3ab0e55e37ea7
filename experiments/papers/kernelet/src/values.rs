//! Values of studies from runs with a queue: decisions and profiles from their spans, and the rates of two
//! kernels while both ran.

use counterpoint::run::{RunSummary, RunValue, is_launch};
use counterpoint::telemetry::{Attribute, Level, Span};

use crate::computed::COMPUTED;
use crate::runtime::{CO_SCHEDULE, PROFILES, QUEUE, side_of};
use crate::schedule::Card;

pub(crate) const ALL: [RunValue; 38] = [
    // The reference of PUR: the most warp instructions that all SMs issue in a cycle of the machine's.
    RunValue { name: "kernelet_peak", unit: "instructions/cycle", of: |run| Some(known(&run.machine)?.peak) },
    // The reference of IPC.
    RunValue { name: "kernelet_cycles", unit: "cycles/s", of: |run| Some(known(&run.machine)?.cycles) },
    RunValue { name: "queue_time", unit: "s", of: |run| seconds(named(run, QUEUE)?) },
    RunValue { name: "slice_1", unit: "CTAs", of: |run| decided_or_computed(run, "slice_1") },
    RunValue { name: "slice_2", unit: "CTAs", of: |run| decided_or_computed(run, "slice_2") },
    RunValue { name: "decided_ctas", unit: "CTAs", of: decided_ctas },
    RunValue { name: "ctas_1", unit: "CTAs/s", of: |run| Some(sides(run)?.first()?.ctas) },
    RunValue { name: "ctas_2", unit: "CTAs/s", of: |run| Some(sides(run)?.get(1)?.ctas) },
    RunValue {
        name: "warp_rate_1",
        unit: "instructions/s",
        of: |run| Some(sides(run)?.first()?.instructions),
    },
    RunValue {
        name: "warp_rate_2",
        unit: "instructions/s",
        of: |run| Some(sides(run)?.get(1)?.instructions),
    },
    RunValue {
        name: "predicted_1",
        unit: "instructions/cycle",
        of: |run| shown(decision(run)?, "predicted_1"),
    },
    RunValue {
        name: "predicted_2",
        unit: "instructions/cycle",
        of: |run| shown(decision(run)?, "predicted_2"),
    },
    RunValue {
        name: "predicted_alone_1",
        unit: "instructions/cycle",
        of: |run| shown(decision(run)?, "predicted_alone_1"),
    },
    RunValue {
        name: "predicted_alone_2",
        unit: "instructions/cycle",
        of: |run| shown(decision(run)?, "predicted_alone_2"),
    },
    RunValue {
        name: "predicted_profit",
        unit: "of 1",
        of: |run| decided_or_computed(run, "predicted_profit"),
    },
    RunValue {
        name: "profile_instructions",
        unit: "instructions/CTA",
        of: |run| shown(named(run, PROFILES)?, "instructions_per_block"),
    },
    RunValue {
        name: "profile_memory",
        unit: "of 1",
        of: |run| shown(named(run, PROFILES)?, "memory_fraction"),
    },
    RunValue {
        name: "profile_uncoalesced",
        unit: "of 1",
        of: |run| shown(named(run, PROFILES)?, "uncoalesced_fraction"),
    },
    RunValue { name: "profile_pur", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "pur") },
    RunValue { name: "profile_mur", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "mur") },
    RunValue {
        name: "profile_registers",
        unit: "registers",
        of: |run| shown(named(run, PROFILES)?, "registers"),
    },
    RunValue { name: "profile_threads", unit: "threads", of: |run| shown(named(run, PROFILES)?, "threads") },
    RunValue {
        name: "profile_warps",
        unit: "warps",
        of: |run| shown(named(run, PROFILES)?, "warps_per_block"),
    },
    RunValue { name: "profile_shared", unit: "B", of: |run| shown(named(run, PROFILES)?, "shared") },
    RunValue { name: "pur_1", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "pur_1") },
    RunValue { name: "mur_1", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "mur_1") },
    RunValue { name: "pur_2", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "pur_2") },
    RunValue { name: "mur_2", unit: "of 1", of: |run| shown(named(run, PROFILES)?, "mur_2") },
    RunValue { name: "minimum_slice", unit: "CTAs", of: |run| shown(named(run, PROFILES)?, "minimum_slice") },
    RunValue { name: "replay_time", unit: "s", of: |run| computed(run, "replay_time") },
    RunValue { name: "plans_shorter", unit: "plans", of: |run| computed(run, "plans_shorter") },
    RunValue { name: "plans_fastest", unit: "s", of: |run| computed(run, "plans_fastest") },
    RunValue { name: "plans_median", unit: "s", of: |run| computed(run, "plans_median") },
    RunValue { name: "plans_slowest", unit: "s", of: |run| computed(run, "plans_slowest") },
    RunValue { name: "measured_ipc", unit: "instructions/cycle", of: |run| computed(run, "measured_ipc") },
    RunValue { name: "predicted_ipc", unit: "instructions/cycle", of: |run| computed(run, "predicted_ipc") },
    RunValue { name: "measured_profit", unit: "of 1", of: |run| computed(run, "measured_profit") },
    RunValue { name: "pruned_pairs", unit: "pairs", of: |run| computed(run, "pruned_pairs") },
];

/// Constants of a machine of Table 2.
#[derive(Debug, PartialEq)]
struct Known {
    /// Warp instructions that all SMs issue at most in a cycle of the machine's.
    peak: f64,
    /// Cycles of Table 2 in a second, of all SMs together.
    cycles: f64,
}

/// The C2050's cycles in Table 2 are those of its hot clock, two for one of the machine's.
fn known(machine: &str) -> Option<Known> {
    let card = Card::named(machine).ok()?;
    let hot = if card == Card::C2050 { 2.0 } else { 1.0 };
    let sms = f64::from(card.machine.sms);
    Some(Known { peak: sms * card.machine.peak_ipc * hot, cycles: card.cycles() })
}

fn spans(run: &RunSummary) -> impl Iterator<Item = &Span> {
    run.report.trace.spans.iter().filter(|span| span.level <= Level::Kernels && span.aggregated == 0)
}

fn named<'a>(run: &'a RunSummary, name: &str) -> Option<&'a Span> {
    spans(run).find(|span| span.name == name)
}

/// The first decision of the run.
fn decision(run: &RunSummary) -> Option<&Span> {
    spans(run).filter(|span| span.name.starts_with(CO_SCHEDULE)).min_by_key(|span| (span.start, span.id))
}

/// A number of a computation from measured rates.
fn computed(run: &RunSummary, name: &str) -> Option<f64> {
    shown(named(run, COMPUTED)?, name)
}

/// A number of the first decision, or of a computation where nothing ran.
fn decided_or_computed(run: &RunSummary, name: &str) -> Option<f64> {
    decision(run).map_or_else(|| computed(run, name), |decision| shown(decision, name))
}

fn seconds(span: &Span) -> Option<f64> {
    (!span.partial).then(|| (span.end - span.start).as_ps() as f64 * 1e-12)
}

/// A number that a span shows.
fn shown(span: &Span, name: &str) -> Option<f64> {
    match span.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)? {
        Attribute::Number(number) | Attribute::Amount(number) => Some(*number as f64),
        Attribute::Text(text) => text.parse().ok(),
    }
}

/// The place of a launch among all of the run.
fn number(launch: &Span) -> Option<u64> {
    launch.name.rsplit_once('#')?.1.parse().ok()
}

/// The rates per second of a kernel of the first decision, while both ran.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    ctas: f64,
    instructions: f64,
}

/// The launches of the first decision, in the order in which they were sent.
fn decided(run: &RunSummary) -> Option<Vec<&Span>> {
    let decision = decision(run)?;
    let mut launches: Vec<&Span> =
        spans(run).filter(|span| is_launch(span) && span.parent == Some(decision.id)).collect();
    launches.sort_by_key(|span| number(span));
    Some(launches)
}

fn decided_ctas(run: &RunSummary) -> Option<f64> {
    decided(run)?.into_iter().map(|span| shown(span, "ctas")).sum()
}

/// Kernels of the first decision, measured from the moment when both are on the device to the end of the last slice of the kernel that
/// ends first. A slice that is partly in this interval counts in proportion.
fn sides(run: &RunSummary) -> Option<Vec<Side>> {
    let mut own: Vec<(u64, Vec<&Span>)> = Vec::new();
    for span in decided(run)? {
        // The first slice of the first kernel is sent first.
        let side = side_of(shown(span, "stream")? as u64);
        match own.iter_mut().find(|(known, _)| *known == side) {
            Some((_, spans)) => spans.push(span),
            None => own.push((side, vec![span])),
        }
    }
    let begun = own.iter().filter_map(|(_, own)| own.iter().map(|span| span.start.as_ps()).min());
    let ended = own.iter().filter_map(|(_, own)| own.iter().map(|span| span.end.as_ps()).max());
    let (start, end) = (begun.max()?, ended.min()?);
    let window = end.checked_sub(start).filter(|window| *window > 0)? as f64;
    let sum = |own: &[&Span], name: &str| -> Option<f64> {
        let part = |span: &Span| {
            let (from, to) = (span.start.as_ps().max(start), span.end.as_ps().min(end));
            to.saturating_sub(from) as f64 / (span.end - span.start).as_ps().max(1) as f64
        };
        own.iter().map(|span| Some(part(span) * shown(span, name)?)).sum()
    };
    let side = |(_, own): &(u64, Vec<&Span>)| {
        let rate = |sum: f64| sum / window * 1e12;
        Some(Side { ctas: rate(sum(own, "ctas")?), instructions: rate(sum(own, "warp_insn")?) })
    };
    own.iter().map(side).collect()
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn peaks_are_those_of_table_2() {
        assert_eq!(
            ["c2050", "gtx680", "tiny"].map(|name| Some(known(name)?.peak)),
            [Some(28.0), Some(64.0), None]
        );
    }
}
