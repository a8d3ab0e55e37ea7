//! The protocol of the two copies of Pagoda's TaskTable, the host's and the device's, step by step and in random orders.

use std::collections::{BTreeMap, VecDeque};

use counterpoint_narrow_tasks::runtimes::pagoda::task_table::{HostTable, Protocol};
use counterpoint_narrow_tasks::state_machines::pagoda::device_table::{DeviceTable, Inspected};
use counterpoint_narrow_tasks::task_entry::{ENABLED, FREE, PRESENT, RUNNING, Shape, State, TaskId};
use proptest::prelude::*;

const TWO: Shape = Shape { columns: 2, rows: 1 };

/// Both copies of the table, and the messages in flight between them.
struct Tables {
    cpu: HostTable,
    gpu: DeviceTable,
}

impl Tables {
    fn new(shape: Shape) -> Self {
        Tables { cpu: HostTable::new(shape, Protocol::Pipelined), gpu: DeviceTable::new(shape) }
    }

    fn spawn(&mut self) -> (TaskId, State) {
        self.cpu.spawn().unwrap()
    }

    fn copy_all_back(&mut self) {
        for (position, state) in self.gpu.states().to_vec().into_iter().enumerate() {
            self.cpu.copied_back(TaskId(position as i32 + 2), state).unwrap();
        }
    }

    /// Spawns a task and copies it.
    fn send(&mut self) -> TaskId {
        let (id, state) = self.spawn();
        self.gpu.arrive(id, state).unwrap();
        id
    }

    fn states(&self) -> [State; 4] {
        [self.cpu.states()[0], self.cpu.states()[1], self.gpu.states()[0], self.gpu.states()[1]]
    }
}

#[test]
fn the_walk_through_of_figure_2() {
    let mut tables = Tables::new(TWO);
    let named = |id: TaskId| State { ready: id.0, sched: 0 };
    let mut columns = vec![tables.states()];
    let mut note = |tables: &Tables| columns.push(tables.states());
    let (a, state) = tables.spawn();
    note(&tables);
    tables.gpu.arrive(a, state).unwrap();
    note(&tables);
    let (b, state) = tables.spawn();
    note(&tables);
    tables.gpu.arrive(b, state).unwrap();
    note(&tables);
    assert_eq!(tables.gpu.inspect(b), Ok(Inspected { enabled: Some(a), scheduled: false }));
    note(&tables);
    assert_eq!(tables.gpu.inspect(a), Ok(Inspected { enabled: None, scheduled: true }));
    note(&tables);
    tables.copy_all_back();
    tables.gpu.finish(a).unwrap();
    note(&tables);
    tables.copy_all_back();
    note(&tables);
    let expected = [
        [FREE, FREE, FREE, FREE],
        [PRESENT, FREE, FREE, FREE],
        [PRESENT, FREE, PRESENT, FREE],
        [PRESENT, named(a), PRESENT, FREE],
        [PRESENT, named(a), PRESENT, named(a)],
        [PRESENT, named(a), ENABLED, PRESENT],
        [PRESENT, named(a), RUNNING, PRESENT],
        [RUNNING, PRESENT, FREE, PRESENT],
        [FREE, PRESENT, FREE, PRESENT],
    ];
    assert_eq!(columns, expected);
}

#[test]
fn a_task_starts_with_its_successor_or_with_the_flush() {
    let mut tables = Tables::new(Shape { columns: 2, rows: 4 });
    let a = tables.send();
    assert_eq!(tables.gpu.inspect(a), Ok(Inspected::default()), "one task alone does not start");
    let b = tables.send();
    assert_eq!(tables.gpu.inspect(b), Ok(Inspected { enabled: Some(a), scheduled: false }));
    assert!(tables.gpu.inspect(a).unwrap().scheduled);
    assert_eq!(tables.gpu.inspect(b), Ok(Inspected::default()), "the second one waits in turn");
    assert_eq!(tables.cpu.flush(), None, "the CPU does not know yet that its parameters are there");
    tables.copy_all_back();
    let (flushed, state) = tables.cpu.flush().unwrap();
    assert_eq!((flushed, state), (b, ENABLED));
    tables.gpu.arrive(flushed, state).unwrap();
    assert!(tables.gpu.inspect(b).unwrap().scheduled);
    assert_eq!(tables.cpu.flush(), None, "there is nothing left to flush");
}

#[test]
fn behind_a_flush_a_task_is_spawned_as_the_first_one() {
    let mut tables = Tables::new(Shape { columns: 2, rows: 4 });
    let flush = |tables: &mut Tables| {
        tables.copy_all_back();
        let (id, state) = tables.cpu.flush().unwrap();
        tables.gpu.arrive(id, state).unwrap();
        assert!(tables.gpu.inspect(id).unwrap().scheduled);
        id
    };
    tables.send();
    let a = flush(&mut tables);
    let (b, state) = tables.spawn();
    assert_eq!(state, PRESENT);
    tables.gpu.arrive(b, state).unwrap();
    tables.gpu.finish(a).unwrap();
    let c = tables.send();
    assert_eq!(
        tables.gpu.inspect(c),
        Ok(Inspected { enabled: Some(b), scheduled: false }),
        "the next but one starts it"
    );
    assert!(tables.gpu.inspect(b).unwrap().scheduled);
    assert_eq!(flush(&mut tables), c, "or another flush");
}

#[test]
fn a_task_waits_until_the_one_before_it_has_been_seen() {
    let mut tables = Tables::new(Shape { columns: 3, rows: 1 });
    let [a, b, c] = [(); 3].map(|()| tables.send());
    assert_eq!(tables.gpu.inspect(c), Ok(Inspected::default()), "b itself waits for a");
    assert_eq!(tables.gpu.inspect(b).unwrap().enabled, Some(a));
    assert_eq!(tables.gpu.inspect(c).unwrap().enabled, Some(b));
}

#[test]
fn a_full_table_is_copied_back_as_a_whole_and_tasks_go_round_the_columns() {
    let mut tables = Tables::new(Shape { columns: 3, rows: 2 });
    let ids: Vec<i32> = (0..6).map(|_| tables.send().0).collect();
    assert_eq!(ids, [2, 3, 4, 5, 6, 7]);
    assert_eq!(tables.cpu.spawn(), None);
    tables.gpu.inspect(TaskId(3)).unwrap();
    assert!(tables.gpu.inspect(TaskId(2)).unwrap().scheduled);
    tables.gpu.finish(TaskId(2)).unwrap();
    assert_eq!(tables.cpu.spawn(), None, "the CPU knows nothing of it");
    assert_eq!(tables.cpu.check(TaskId(2)), Ok(false));
    tables.copy_all_back();
    assert_eq!(tables.cpu.check(TaskId(2)), Ok(true));
    assert_eq!(tables.spawn().0, TaskId(2));
}

#[test]
fn a_single_copy_enables_its_own_task_and_nobody_waits_for_the_next() {
    let mut tables = Tables { cpu: HostTable::new(TWO, Protocol::SingleCopy), gpu: DeviceTable::new(TWO) };
    let (a, b) = (tables.send(), tables.send());
    assert_eq!(tables.states(), [ENABLED; 4]);
    assert_eq!((tables.cpu.last(), tables.cpu.flush()), (None, None));
    for id in [a, b] {
        assert_eq!(tables.gpu.inspect(id), Ok(Inspected { enabled: None, scheduled: true }));
        tables.gpu.finish(id).unwrap();
    }
    tables.copy_all_back();
    assert_eq!(tables.states(), [FREE; 4]);
}

#[test]
fn unknown_tasks_cannot_be_waited_for() {
    let mut table = HostTable::new(TWO, Protocol::Pipelined);
    table.spawn().unwrap();
    assert_eq!(table.check(TaskId(2)), Ok(false));
    for unknown in [TaskId(3), TaskId(4), TaskId(1), TaskId(-1), TaskId(i32::MIN + 2)] {
        let error = table.check(unknown).unwrap_err().to_string();
        assert!(error.contains(&unknown.0.to_string()), "{error}");
    }
}

#[test]
fn the_gpu_takes_no_entry_that_is_its_own() {
    let mut tables = Tables::new(TWO);
    let a = tables.send();
    assert!(tables.gpu.arrive(a, PRESENT).unwrap_err().contains("not the CPU's"));
    tables.gpu.arrive(a, ENABLED).unwrap();
    assert!(tables.gpu.arrive(a, ENABLED).is_err(), "not twice");
}

#[test]
fn the_titan_x_has_1536_entries() {
    let shape = Shape { columns: 24 * 2, rows: 32 };
    assert_eq!((shape.entries(), shape.id(47, 31)), (1536, TaskId(1537)));
    assert_eq!(shape.columns * 31, 1488);
    assert!((f64::from(shape.columns * 31) / (24.0 * 64.0) - 0.96875).abs() < 1e-12);
}

/// The copy in flight on the stream of the table's copies.
enum Copying {
    Entry(TaskId, State),
    Back,
}

proptest! {
    /// For any interleaving of the spawner, the copies in their stream, the scheduler warps and the executors: each task runs
    /// exactly once, and never before its parameters have arrived.
    #[test]
    fn no_task_is_lost_or_repeated(
        columns in 1_u32..4, rows in 1_u32..4, tasks in 1_usize..40,
        mut seed in any::<u64>(),
    ) {
        let shape = Shape { columns, rows };
        let mut tables = Tables::new(shape);
        let mut stream: VecDeque<Copying> = VecDeque::new();
        // Task whose parameters are in each entry.
        let mut written: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut arrived: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut running: Vec<TaskId> = Vec::new();
        let mut runs = vec![0; tasks];
        let (mut spawned, mut ended, mut backs) = (0, 0, 0);
        let all: Vec<TaskId> = (0..shape.entries() as i32).map(|at| TaskId(at + 2)).collect();
        for _ in 0..200_000 {
            if ended == tasks {
                break;
            }
            // Knuth's generator: everybody's turn comes again and again.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let which = (seed >> 40) as usize;
            match seed >> 33 & 7 {
                // The CPU writes no entry while a copy of the table may write over it.
                0 | 1 if backs == 0 && spawned < tasks => match tables.cpu.spawn() {
                    Some((id, state)) => {
                        written.insert(id, spawned);
                        spawned += 1;
                        stream.push_back(Copying::Entry(id, state));
                    }
                    None => {
                        stream.push_back(Copying::Back);
                        backs += 1;
                    }
                },
                2 if backs == 0 => {
                    stream.push_back(Copying::Back);
                    backs += 1;
                }
                3 | 4 => match stream.pop_front() {
                    Some(Copying::Entry(id, state)) => {
                        prop_assert_eq!(tables.gpu.arrive(id, state), Ok(()));
                        arrived.insert(id, written[&id]);
                    }
                    Some(Copying::Back) => {
                        for (position, &state) in tables.gpu.states().iter().enumerate() {
                            ended += usize::from(tables.cpu.copied_back(all[position], state).unwrap());
                        }
                        backs -= 1;
                        if backs == 0 && which.is_multiple_of(2) && let Some((id, state)) = tables.cpu.flush() {
                            stream.push_back(Copying::Entry(id, state));
                        }
                    }
                    None => {}
                },
                5 | 6 => {
                    let id = all[which % all.len()];
                    if tables.gpu.inspect(id).unwrap().scheduled {
                        prop_assert_eq!(arrived.get(&id), written.get(&id), "its own parameters are there");
                        runs[arrived[&id]] += 1;
                        running.push(id);
                    }
                }
                _ if !running.is_empty() => {
                    let id = running.swap_remove(which % running.len());
                    tables.gpu.finish(id).unwrap();
                }
                _ => {}
            }
        }
        prop_assert_eq!((ended, spawned), (tasks, tasks));
        prop_assert!(runs.iter().all(|&times| times == 1), "{:?}", runs);
    }
}
