//! Conclusion of a run that has ended, up to its summary: checks, figures and files.

use std::time::Instant;

use counterpoint_framework::kernel::Outcome;
use counterpoint_framework::time::Hertz;

use super::simulation::{Course, Simulation};
use super::{RunSummary, functional, page_races, record};
use crate::output::RECORDS;
use crate::results::co_run::CoRun;
use crate::results::curves::curves;
use crate::results::hashes::{Hashed, Hashes};
use crate::results::launches::launches;
use crate::results::summary::{Figures, phases};
use crate::results::waits::Waits;
use crate::run::cpu_time::cpu_seconds;

impl Simulation {
    /// The summary of a run that has ended, or that runs without time.
    pub(super) fn conclude(self) -> RunSummary {
        let Simulation {
            request,
            machine,
            application,
            loaded,
            context,
            created,
            remarks,
            folder,
            course,
            pending,
            spent,
            watching,
            ..
        } = self;
        let (mut wall, mut processor) = spent;
        let (mut launched, mut found, mut race_checked) = (None, Vec::new(), None);
        let (mut report, missing) = match course {
            Course::Timed { .. } => unreachable!("a run is concluded when it has ended"),
            Course::Failed(report) => {
                launched = request.functional.then(Vec::new);
                (*report, [].as_slice())
            }
            Course::Ended(report) => {
                if let Some(log) = &context.page_log {
                    let noted = log.take();
                    race_checked = Some(noted.launches.len());
                    found = page_races::races(&context.program, &noted);
                }
                (*report, [].as_slice())
            }
            Course::LeftBehind(report) => (*report, RECORDS),
            Course::Untimed { contents, options } => {
                let (begun, cpu_before) = (Instant::now(), cpu_seconds());
                let places = (&*context.journal, &*context.meter, &*context.disk);
                let ran = functional::run(&loaded, contents, places, *options, request.launch_rows);
                (wall, processor) = (begun.elapsed(), cpu_seconds() - cpu_before);
                (launched, found) = (Some(ran.launched), ran.found);
                (ran.report, [].as_slice())
            }
        };
        drop(watching);

        let mut printed_before = String::new();
        let timed = pending.map(|mut pending| {
            printed_before = std::mem::take(&mut pending.printed);
            let has_ended = matches!(report.outcome, Outcome::Finished(_));
            let places = (&*context.journal, &*context.meter, &*context.disk);
            let (launches, outcome, mistakes) = pending.finish(&loaded, places, has_ended);
            if let Some(outcome) = outcome {
                report.outcome = outcome;
            }
            found.extend(mistakes);
            launches
        });
        let mut printed = context.journal.take_printed();
        printed.text.insert_str(0, &printed_before);
        let writes = context.write_log.map(|log| log.take());
        let partial = !matches!(report.outcome, Outcome::Finished(_));
        let end = report.outcome.time();
        let waits = Waits::new(&report.trace.spans, end);
        let curves =
            report.series.as_ref().map(|series| curves(&machine.machine, series, end)).unwrap_or_default();
        let checks = record::checks(&loaded, &context.program, &context.journal, partial);
        let (outputs, unwritten) = match &folder {
            Some(folder) => {
                let facts = record::Facts {
                    request: &request,
                    machine: &machine,
                    application: &application,
                    loaded: &loaded,
                    report: &report,
                    curves: &curves,
                    waits: &waits,
                    checks: &checks,
                    found: &found,
                    writes: writes.as_deref(),
                    printed: &printed,
                    partial,
                    timed: timed.as_ref(),
                    missing,
                    wall,
                };
                record::write(folder, &facts, &context.disk)
            }
            None => Default::default(),
        };
        let program = &context.program;
        RunSummary {
            machine: machine.machine.name.clone(),
            application: program.name.clone(),
            kinds: machine.machine.instances.iter().map(|one| (one.path.clone(), one.kind.clone())).collect(),
            roles: machine.machine.roles().into_iter().map(|(path, role)| (path.to_owned(), role)).collect(),
            partial,
            missing,
            results: record::results(&loaded, &context.disk),
            checks,
            hashes: Hashes {
                outcome: report.outcome.to_string().lines().next().unwrap_or_default().to_owned(),
                components: machine.machine.processes().map(hashed).collect(),
                snapshots: report.snapshots.clone(),
            },
            phases: phases(&report.trace.spans),
            launches: launches(&machine.machine, &report.trace.spans),
            co_run: CoRun::of(program, &report.trace.spans),
            figures: match &launched {
                Some(launches) => functional::figures(launches),
                None => Figures::new(&machine.machine, &report),
            },
            waits,
            curves,
            found,
            race_checked,
            writes: writes.unwrap_or_default(),
            printed,
            launched,
            timed,
            threads: report.workers.fewer(request.threads).or_else(|| report.workers.asleep()),
            report,
            created,
            remarks,
            outputs,
            unwritten,
            folder: folder.map(|folder| folder.path().to_owned()),
            wall,
            cpu_seconds: processor,
        }
    }
}

fn hashed((path, clock): (String, Hertz)) -> Hashed {
    Hashed { path, hertz: clock.get() }
}
