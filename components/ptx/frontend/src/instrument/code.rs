//! The instructions that compute a profiler's values and report its ranges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::bounds::CountedThrough;
use super::graph::{FAR, Graph, Leaf, Number, Op, Truth, ValueNode};
use super::plan::{ArrayPlan, Extent, Plan};
use super::words::does;
use crate::isa::RangeAction;
use crate::isa::range::range_flags;

/// The differences between the two profilers of a kernel.
pub(super) struct Site<'a> {
    /// The function that is called.
    pub(super) action: RangeAction,
    /// Names of the kernel's parameters.
    pub(super) params: &'a [String],
    /// The parameters that hold the kernel's block dimensions; without them, they are the block's own.
    pub(super) dimensions: Option<[String; 3]>,
}

/// The scope with the code of a profiler: one call for each array.
pub(super) fn scope(plan: &Plan, site: &Site<'_>) -> String {
    let mut code = Code {
        graph: &plan.graph,
        site,
        uses: uses(plan),
        text: String::new(),
        numbers: BTreeMap::new(),
        truths: BTreeMap::new(),
        slots: BTreeMap::new(),
        counts: [0; 3],
        labels: 0,
    };
    for counted in &plan.counted {
        code.count_through(counted);
    }
    for array in &plan.arrays {
        code.array(array);
    }
    let mut declared = String::new();
    for (kind, count) in ["pred %claim_p", "b32 %claim_r", "b64 %claim_d"].iter().zip(code.counts) {
        if count > 0 {
            let _ = writeln!(declared, "\t.reg .{kind}<{count}>;");
        }
    }
    format!("{{\n{declared}{}}}\n", code.text)
}

/// The end of a kernel: when all threads of the block have arrived, the first thread executes the calls.
pub(super) fn of_one_thread(scope: &str) -> String {
    let barrier = "\tbar.sync 0;\n";
    let registers = "\t.reg .pred %claim_first;\n\t.reg .b32 %claim_index, %claim_other;\n";
    let mut test = String::from("\tmov.u32 %claim_index, %tid.x;\n");
    for axis in &AXES[1..] {
        let _ = writeln!(test, "\tmov.u32 %claim_other, %tid.{axis};");
        test.push_str("\tor.b32 %claim_index, %claim_index, %claim_other;\n");
    }
    test.push_str("\tsetp.ne.u32 %claim_first, %claim_index, 0;\n\t@%claim_first bra $claim_released;\n");
    format!("{barrier}{{\n{registers}{test}{scope}$claim_released:\n\tret;\n}}\n")
}

/// Number of uses of each number as an operand.
fn uses(plan: &Plan) -> BTreeMap<Number, u32> {
    let mut uses = BTreeMap::new();
    let mut open = plan.roots();
    let mut truths = Vec::new();
    let mut seen = BTreeSet::new();
    while let Some(number) = open.pop() {
        let count: &mut u32 = uses.entry(number).or_default();
        *count += 1;
        if *count > 1 {
            continue;
        }
        match plan.graph.number(number) {
            ValueNode::Binary(_, a, b) => open.extend([a, b]),
            ValueNode::Select(truth, a, b) => {
                open.extend([a, b]);
                truths.push(truth);
            }
            ValueNode::Natural(a) => open.push(a),
            _ => {}
        }
        while let Some(truth) = truths.pop() {
            if !seen.insert(truth) {
                continue;
            }
            match plan.graph.truth(truth) {
                ValueNode::Less(a, b) | ValueNode::Equal(a, b) => open.extend([a, b]),
                ValueNode::Both(a, b) | ValueNode::Either(a, b) => truths.extend([a, b]),
                ValueNode::Not(a) => truths.push(a),
                _ => {}
            }
        }
    }
    uses
}

struct Code<'a> {
    graph: &'a Graph,
    site: &'a Site<'a>,
    uses: BTreeMap<Number, u32>,
    text: String,
    /// The registers that hold computed values.
    numbers: BTreeMap<Number, String>,
    truths: BTreeMap<Truth, String>,
    slots: BTreeMap<u32, String>,
    /// Predicates, registers of 32 bits and of 64 bits.
    counts: [u32; 3],
    labels: u32,
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Code<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "\t{text}");
    }

    fn register(&mut self, kind: usize) -> String {
        let number = self.counts[kind];
        self.counts[kind] += 1;
        format!("%claim_{}{number}", ["p", "r", "d"][kind])
    }

    /// A new register for 64 bits that an instruction writes.
    fn write(&mut self, opcode: &str, sources: &str) -> String {
        let register = self.register(2);
        self.line(&format!("{opcode} {register}, {sources};"));
        register
    }

    fn array(&mut self, array: &ArrayPlan) {
        let does = does(array.reads, array.writes);
        self.line(&format!("// {does} {}: {}", array.name, array.range));
        let (start, low, high) = match &array.extent {
            Extent::Whole(param) => {
                let start = self.number(*param);
                (start, "0".to_owned(), "-1".to_owned())
            }
            Extent::Between { start, low, high } => {
                (self.number(*start), self.number(*low), self.number(*high))
            }
            Extent::Variable { name, bytes } => {
                let start = self.write("mov.u64", name);
                let end = self.write("add.s64", &format!("{start}, {bytes}"));
                (start.clone(), start, end)
            }
        };
        let name = self.site.action.function();
        let flags = range_flags(array.reads, array.writes);
        self.line(&format!("call {name}, ({start}, {low}, {high}, {flags});"));
    }

    fn number(&mut self, number: Number) -> String {
        if let ValueNode::Constant(value) = self.graph.number(number) {
            return value.to_string();
        }
        if let Some(register) = self.numbers.get(&number) {
            return register.clone();
        }
        let register = match self.graph.number(number) {
            ValueNode::Leaf(leaf) => self.leaf(leaf),
            ValueNode::Binary(Op::Add, a, b) => self.sum(a, b),
            ValueNode::Binary(op @ (Op::Shl | Op::Shr), a, b) => {
                let (value, mut bits) = (self.number(a), self.number(b));
                if self.graph.as_constant(b).is_none() {
                    let narrow = self.register(1);
                    self.line(&format!("cvt.u32.u64 {narrow}, {bits};"));
                    bits = narrow;
                }
                let opcode = if op == Op::Shl { "shl.b64" } else { "shr.s64" };
                self.write(opcode, &format!("{value}, {bits}"))
            }
            ValueNode::Binary(op, a, b) => {
                let opcode = match op {
                    Op::Add | Op::Shl | Op::Shr | Op::Mul => "mul.lo.s64",
                    Op::Min => "min.s64",
                    Op::Max => "max.s64",
                    Op::Div => "div.s64",
                    Op::Rem => "rem.s64",
                    Op::And => "and.b64",
                    Op::Or => "or.b64",
                    Op::Xor => "xor.b64",
                };
                let sources = format!("{}, {}", self.number(a), self.number(b));
                self.write(opcode, &sources)
            }
            ValueNode::Select(truth, a, b) => {
                let (a, b, truth) = (self.number(a), self.number(b), self.truth(truth));
                self.write("selp.b64", &format!("{a}, {b}, {truth}"))
            }
            ValueNode::Natural(a) => self.number(a),
            ValueNode::Constant(_)
            | ValueNode::Known(_)
            | ValueNode::Less(..)
            | ValueNode::Equal(..)
            | ValueNode::Both(..)
            | ValueNode::Either(..)
            | ValueNode::Not(_) => unreachable!("constants are operands, and no number is a truth"),
        };
        self.numbers.insert(number, register.clone());
        register
    }

    /// A sum; a product that nobody else wants is part of the same instruction.
    fn sum(&mut self, a: Number, b: Number) -> String {
        for (product, other) in [(a, b), (b, a)] {
            if let ValueNode::Binary(Op::Mul, x, y) = self.graph.number(product)
                && self.uses.get(&product) == Some(&1)
            {
                let sources = format!("{}, {}, {}", self.number(x), self.number(y), self.number(other));
                return self.write("mad.lo.s64", &sources);
            }
        }
        let sources = format!("{}, {}", self.number(a), self.number(b));
        self.write("add.s64", &sources)
    }

    fn leaf(&mut self, leaf: Leaf) -> String {
        let special = match (leaf, &self.site.dimensions) {
            (Leaf::Slot(slot), _) => return self.slots.get(&slot).cloned().unwrap_or_default(),
            (Leaf::Param(index, bytes), _) => {
                let name = &self.site.params[index as usize];
                let kind = if bytes == 8 { "u64".to_owned() } else { format!("s{}", 8 * bytes) };
                let source = format!("[{name}]");
                return self.write(&format!("ld.param.{kind}"), &source);
            }
            (Leaf::Ntid(dimension), Some(names)) => {
                let source = format!("[{}]", names[usize::from(dimension)]);
                return self.write("ld.param.u32", &source);
            }
            (Leaf::Ntid(dimension), None) => ("ntid", dimension),
            (Leaf::Ctaid(dimension), _) => ("ctaid", dimension),
            (Leaf::Nctaid(dimension), _) => ("nctaid", dimension),
        };
        let narrow = self.register(1);
        let (name, axis) = (special.0, AXES[usize::from(special.1)]);
        self.line(&format!("mov.u32 {narrow}, %{name}.{axis};"));
        self.write("cvt.u64.u32", &narrow)
    }

    fn truth(&mut self, truth: Truth) -> String {
        if let Some(register) = self.truths.get(&truth) {
            return register.clone();
        }
        let text = match self.graph.truth(truth) {
            ValueNode::Less(a, b) => ("setp.lt.s64", format!("{}, {}", self.number(a), self.number(b))),
            ValueNode::Equal(a, b) => ("setp.eq.s64", format!("{}, {}", self.number(a), self.number(b))),
            ValueNode::Both(a, b) => ("and.pred", format!("{}, {}", self.truth(a), self.truth(b))),
            ValueNode::Either(a, b) => ("or.pred", format!("{}, {}", self.truth(a), self.truth(b))),
            ValueNode::Not(a) => ("not.pred", self.truth(a)),
            ValueNode::Known(_)
            | ValueNode::Constant(_)
            | ValueNode::Leaf(_)
            | ValueNode::Binary(..)
            | ValueNode::Select(..)
            | ValueNode::Natural(_) => {
                unreachable!("what is known is folded, and no truth is a number")
            }
        };
        let register = self.register(0);
        self.line(&format!("{} {register}, {};", text.0, text.1));
        self.truths.insert(truth, register.clone());
        register
    }

    /// A loop over the values of a variable.
    fn count_through(&mut self, counted: &CountedThrough) {
        // Values that are the same in every round are computed before the first.
        let mut inside = BTreeMap::new();
        let own = slots(counted);
        for number in roots(counted) {
            self.hoist(number, &own, &mut inside);
        }
        let last = self.number(counted.last);
        for (slot, op, _) in &counted.results {
            let initial = if *op == Op::Min { FAR } else { -FAR };
            let register = self.write("mov.u64", &initial.to_string());
            self.slots.insert(*slot, register);
        }
        let variable = self.write("mov.u64", "0");
        self.slots.insert(counted.variable, variable.clone());
        let (label, done) = (self.labels, self.register(0));
        self.labels += 1;
        let _ = writeln!(self.text, "$claim_next{label}:");
        self.line(&format!("setp.gt.s64 {done}, {variable}, {last};"));
        self.line(&format!("@{done} bra $claim_done{label};"));
        for inner in &counted.inner {
            self.count_through(inner);
        }
        for (slot, op, value) in &counted.results {
            let (value, register) = (self.number(*value), self.slots[slot].clone());
            let opcode = if *op == Op::Min { "min.s64" } else { "max.s64" };
            self.line(&format!("{opcode} {register}, {register}, {value};"));
        }
        self.line(&format!("add.s64 {variable}, {variable}, 1;"));
        self.line(&format!("bra $claim_next{label};"));
        let _ = writeln!(self.text, "$claim_done{label}:");
    }

    /// Computes the parts of a number, but for those that depend on slots; gives whether any does.
    fn hoist(&mut self, number: Number, own: &BTreeSet<u32>, inside: &mut BTreeMap<Number, bool>) -> bool {
        if let Some(depends) = inside.get(&number) {
            return *depends;
        }
        let (mut parts, mut truths) = (Vec::new(), Vec::new());
        match self.graph.number(number) {
            ValueNode::Leaf(Leaf::Slot(slot)) => {
                let depends = own.contains(&slot);
                inside.insert(number, depends);
                return depends;
            }
            ValueNode::Binary(_, a, b) => parts.extend([a, b]),
            ValueNode::Select(truth, a, b) => {
                parts.extend([a, b]);
                truths.push(truth);
            }
            ValueNode::Natural(a) => parts.push(a),
            _ => {}
        }
        while let Some(truth) = truths.pop() {
            match self.graph.truth(truth) {
                ValueNode::Less(a, b) | ValueNode::Equal(a, b) => parts.extend([a, b]),
                ValueNode::Both(a, b) | ValueNode::Either(a, b) => truths.extend([a, b]),
                ValueNode::Not(a) => truths.push(a),
                _ => {}
            }
        }
        let mut depends = false;
        for &part in &parts {
            depends |= self.hoist(part, own, inside);
        }
        if depends {
            let fixed = parts.into_iter().filter(|part| !inside[part]);
            for part in fixed.collect::<Vec<_>>() {
                self.number(part);
            }
        }
        inside.insert(number, depends);
        depends
    }
}

/// The values that a loop needs in each of its rounds.
fn roots(counted: &CountedThrough) -> Vec<Number> {
    let own = counted.results.iter().map(|(_, _, value)| *value);
    let inner = counted.inner.iter().flat_map(|inner| roots(inner).into_iter().chain([inner.last]));
    own.chain(inner).collect()
}

/// The slots that a loop changes.
fn slots(counted: &CountedThrough) -> BTreeSet<u32> {
    let own = counted.results.iter().map(|(slot, ..)| *slot).chain([counted.variable]);
    own.chain(counted.inner.iter().flat_map(slots)).collect()
}
