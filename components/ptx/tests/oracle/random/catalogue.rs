//! The instructions that random programs are made of: every spelling of the table that is a function of registers.

use crate::oracle::scalar::Opcode;

/// Spellings that are left out, with the reason.
pub(crate) const UNTESTED: [(&str, &str); 8] = [
    ("sin", "an approximation"),
    ("cos", "an approximation"),
    ("lg2", "an approximation"),
    ("ex2", "an approximation"),
    ("tanh", "an approximation"),
    ("rsqrt", "an approximation"),
    ("rcp.approx.ftz.f64", "an approximation"),
    ("mov.pred", "its constants have a form of their own"),
];

/// Spellings, grouped so that those of many types do not hide the others.
pub(crate) struct Catalogue {
    groups: Vec<Vec<&'static str>>,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for (text, _) in counterpoint_ptx::isa::instructions() {
            let op = Opcode::new(text);
            let left_out = UNTESTED.iter().any(|(name, _)| *name == op.head || *name == text);
            // Those that use the carry have nodes of their own.
            let carries = op.has("cc") || matches!(op.head, "addc" | "subc" | "madc");
            if left_out || carries || op.signature().is_none() {
                continue;
            }
            let last = text.rsplit('.').next().unwrap_or("");
            match groups.iter_mut().find(|(head, all)| *head == op.head && all[0].ends_with(last)) {
                Some((_, all)) => all.push(text),
                None => groups.push((op.head, vec![text])),
            }
        }
        Catalogue { groups: groups.into_iter().map(|(_, all)| all).collect() }
    }

    /// A spelling, by two numbers.
    pub(crate) fn pick(&self, group: usize, spelling: usize) -> &'static str {
        let group = &self.groups[group % self.groups.len()];
        group[spelling % group.len()]
    }
}
