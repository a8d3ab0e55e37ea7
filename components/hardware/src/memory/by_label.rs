//! Statistics of memory by the label of its requests: for each launch, for requests that belong to none, and for each
//! stream.
//!
//! Requests count only in the set of their label. The totals of the component and of each stream are the sums of these
//! sets when the run is over, so that launches and others add up to the total.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use counterpoint_framework::model::{Keyed, Stat, StatLabel, StatVisitor, Stats};
use counterpoint_protocols::launch_rows::{LaunchRows, Row};
use counterpoint_protocols::memory::Label;

/// The rows that a label is counted for: of its launch, if it has one, and of its stream.
type Rows = (Option<Row>, Row);

/// A set of statistics for each label. Shown are the sums as the component's own, `kernels[NAME#N]` for each launch,
/// `no_kernel` for copies and walks through page tables, and `streams[N]`; beyond the limit of rows, `kernels[others]` and
/// `streams[others]`.
pub(super) struct ByLabel<S> {
    /// The launches that have rows, and the path of the component.
    site: OnceCell<(Arc<LaunchRows>, String)>,
    sets: Keyed<Rows, S>,
    /// The label that was counted last: most labels occur many times in a row.
    last: RefCell<Option<(Label, Rc<S>)>>,
}

impl<S: Stats> Default for ByLabel<S> {
    fn default() -> Self {
        ByLabel { site: OnceCell::new(), sets: Keyed::default(), last: RefCell::default() }
    }
}

/// The row of a number, where a run limits the rows.
fn row(site: &OnceCell<(Arc<LaunchRows>, String)>, number: u32) -> Row {
    site.get().map_or(Row::Own(number), |(rows, _)| rows.row(number))
}

impl<S: Stats> ByLabel<S> {
    /// Sets the rows of the statistics of the component at a path, if the run has a limit.
    pub(super) fn begin(&self, rows: Option<Arc<LaunchRows>>, path: &str) {
        self.site.get_or_init(|| (rows.unwrap_or_default(), path.to_owned()));
    }

    #[inline]
    pub(super) fn of(&self, label: Label) -> Rc<S> {
        match &*self.last.borrow() {
            Some((known, set)) if *known == label => return Rc::clone(set),
            _ => {}
        }
        self.look_up(label)
    }

    #[cold]
    fn look_up(&self, label: Label) -> Rc<S> {
        let row = |number| row(&self.site, number);
        let kernel = (label.kernel > 0).then(|| row(label.kernel));
        let set = self.sets.of((kernel, row(label.stream)));
        *self.last.borrow_mut() = Some((label, Rc::clone(&set)));
        set
    }
}

impl<S: Stats> Stat for ByLabel<S> {
    fn visit(&self, _label: StatLabel, visitor: &mut dyn StatVisitor) {
        let (mut kernels, mut streams) = (BTreeMap::<Option<Row>, S>::new(), BTreeMap::<Row, S>::new());
        let all = S::default();
        for ((kernel, stream), set) in self.sets.sets() {
            all.absorb(&set);
            kernels.entry(kernel).or_default().absorb(&set);
            streams.entry(stream).or_default().absorb(&set);
        }
        all.visit(visitor);
        if !visitor.wants_everything() {
            return;
        }
        for (kernel, set) in &kernels {
            let name = match (kernel, self.site.get()) {
                (None, _) => "no_kernel".to_owned(),
                (Some(Row::Own(number)), Some((rows, path))) => {
                    format!("kernels[{}]", rows.name(*number, path))
                }
                (Some(row), _) => format!("kernels[{row}]"),
            };
            visitor.part(&name, &mut |part| set.visit(part));
        }
        for (stream, set) in &streams {
            visitor.part(&format!("streams[{stream}]"), &mut |part| set.visit(part));
        }
    }

    fn absorb(&self, other: &Self) {
        for (rows, set) in other.sets.sets() {
            self.sets.of(rows).absorb(&set);
        }
    }
}
