//! Statistics of memory by the label of its requests: of each launch, of what belongs to none, and of each stream.
//!
//! Only the sets of the labels are counted in. What the component comes to, and each stream, is the sum of its sets when
//! the run is over, so that what launches and others come to is all that there is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use counterpoint_framework::model::{Keyed, Stat, StatLabel, StatVisitor, Stats};
use counterpoint_protocols::memory::Label;

/// A set of statistics for each label. Shown are the sums as the component's own, `kernels[N]` for each launch by its
/// number, `no_kernel` for copies and walks through page tables, and `streams[N]`.
pub(super) struct ByLabel<S> {
    sets: Keyed<Label, S>,
    /// The label that was counted last: most come many times in a row.
    last: RefCell<Option<(Label, Rc<S>)>>,
}

impl<S: Stats> Default for ByLabel<S> {
    fn default() -> Self {
        ByLabel { sets: Keyed::default(), last: RefCell::default() }
    }
}

impl<S: Stats> ByLabel<S> {
    /// The statistics of a label.
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
        let set = self.sets.of(label);
        *self.last.borrow_mut() = Some((label, Rc::clone(&set)));
        set
    }
}

impl<S: Stats> Stat for ByLabel<S> {
    fn visit(&self, _label: StatLabel, visitor: &mut dyn StatVisitor) {
        let (mut kernels, mut streams) = (BTreeMap::<u32, S>::new(), BTreeMap::<u32, S>::new());
        let all = S::default();
        for (label, set) in self.sets.sets() {
            all.absorb(&set);
            kernels.entry(label.kernel).or_default().absorb(&set);
            streams.entry(label.stream).or_default().absorb(&set);
        }
        all.visit(visitor);
        if !visitor.wants_everything() {
            return;
        }
        for (kernel, set) in &kernels {
            let name = if *kernel == 0 { "no_kernel".to_owned() } else { format!("kernels[{kernel}]") };
            visitor.part(&name, &mut |part| set.visit(part));
        }
        for (stream, set) in &streams {
            visitor.part(&format!("streams[{stream}]"), &mut |part| set.visit(part));
        }
    }

    fn absorb(&self, other: &Self) {
        for (label, set) in other.sets.sets() {
            self.of(label).absorb(&set);
        }
    }
}
