//! Nodes to instructions.

use std::fmt::Write;

use super::operands::Chooser;
use super::{Catalogue, Choices, ProgramNode, function};
use crate::oracle::scalar::{Class, Opcode, PREDICATE, Type};

/// Loops and branches nest no deeper.
const DEEPEST: usize = 6;

pub(crate) struct Writer<'c> {
    pub(crate) text: String,
    catalogue: &'c Catalogue,
    /// The function's number, and how it stores its result; none in the kernel.
    within: Option<(usize, &'static str)>,
    labels: usize,
    depth: usize,
    /// Labels behind the loops that are open.
    ends: Vec<usize>,
    /// Whether all threads that have not ended come together somewhere: no thread jumps over that.
    gathers: bool,
}

impl<'c> Writer<'c> {
    pub(crate) fn new(catalogue: &'c Catalogue, within: Option<(usize, &'static str)>) -> Self {
        Writer {
            text: String::new(),
            catalogue,
            within,
            labels: 0,
            depth: 0,
            ends: Vec::new(),
            gathers: false,
        }
    }

    /// Writes a function's nodes.
    pub(crate) fn body(&mut self, nodes: &[ProgramNode]) {
        let gathers = |node: &ProgramNode| matches!(node, ProgramNode::Barrier | ProgramNode::Collective(_));
        self.gathers = self.within.is_none() && nodes.iter().any(gathers);
        self.nodes(nodes);
    }

    fn nodes(&mut self, nodes: &[ProgramNode]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{text}");
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn node(&mut self, node: &ProgramNode) {
        match node {
            ProgramNode::Operation(choices) => self.operation(choices),
            ProgramNode::Chain(choices) => self.chain(choices),
            ProgramNode::Access(choices) => self.access(choices),
            ProgramNode::Move(choices) => self.moves(choices),
            ProgramNode::Branch(choices, then, otherwise) => self.branch(choices, then, otherwise),
            ProgramNode::Loop(choices, body) => self.repeat(choices, body),
            ProgramNode::Leave(choices) => self.leave(choices),
            ProgramNode::Call(choices) => self.call(choices),
            ProgramNode::Barrier if self.within.is_none() && self.depth == 0 => self.line("bar.sync 0;"),
            ProgramNode::Collective(choices) if self.within.is_none() && self.depth == 0 => {
                let text = collective(&mut Chooser::new(choices));
                self.line(&text);
            }
            ProgramNode::Barrier | ProgramNode::Collective(_) => {}
        }
    }

    fn operation(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let (group, spelling) = (choose.below(1 << 16), choose.below(1 << 16));
        let op = Opcode::new(self.catalogue.pick(group, spelling));
        let text = instruction(&op, &mut choose);
        self.line(&text);
    }

    /// Two to four instructions that hand on their carries.
    fn chain(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let ty = choose.of(&["u32", "s32", "u64", "s64"]);
        let guard = choose.guard();
        for step in 0..2 + choose.below(3) {
            // Sums, differences and products in any order: they mean the same flag.
            let head = match step {
                0 => choose.of(&["add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"]),
                _ => choose.of(&["addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"]),
            };
            let text = format!("{head}.{ty}");
            // The first one alone is guarded or not: all threads must have a carry.
            let line = operands(&Opcode::new(&text), &mut choose);
            self.line(&if step == 0 { line } else { format!("{guard}{line}") });
        }
    }

    fn branch(&mut self, choices: &Choices, then: &[ProgramNode], otherwise: &[ProgramNode]) {
        if self.depth >= DEEPEST {
            return;
        }
        let mut choose = Chooser::new(choices);
        let (other, end) = (self.label(), self.label());
        let not = if choose.once_in(2) { "!" } else { "" };
        self.line(&format!("@{not}{} bra L{other};", choose.register(PREDICATE, 1)));
        self.depth += 1;
        self.nodes(then);
        self.line(&format!("bra L{end};\nL{other}:"));
        self.nodes(otherwise);
        self.depth -= 1;
        self.line(&format!("L{end}:"));
    }

    fn repeat(&mut self, choices: &Choices, body: &[ProgramNode]) {
        if self.ends.len() >= 2 || self.depth >= DEEPEST {
            return;
        }
        let mut choose = Chooser::new(choices);
        let (top, end, place) = (self.label(), self.label(), self.depth);
        let count = choose.register(Type { class: Class::Bits, bits: 32 }, 0);
        self.line(&format!("and.b32 %n{place}, {count}, 3;"));
        let tests_first = choose.once_in(2);
        self.line(&format!("L{top}:"));
        if tests_first {
            self.line(&format!("setp.eq.u32 %q{place}, %n{place}, 0;\n@%q{place} bra L{end};"));
        }
        self.depth += 1;
        self.ends.push(end);
        self.nodes(body);
        self.ends.pop();
        self.depth -= 1;
        self.line(&format!("sub.u32 %n{place}, %n{place}, 1;"));
        if tests_first {
            self.line(&format!("bra L{top};"));
        } else {
            self.line(&format!("setp.gt.s32 %q{place}, %n{place}, 0;\n@%q{place} bra L{top};"));
        }
        self.line(&format!("L{end}:"));
    }

    fn leave(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let guard = format!("@{}{}", choose.of(&["", "!"]), choose.register(PREDICATE, 1));
        let line = match (choose.below(8), self.ends.last().copied(), self.within) {
            (2..=4, Some(end), _) => format!("{guard} bra L{end};"),
            (5, _, None) if self.depth > 0 => format!("{guard} exit;"),
            (0..=3 | 5, _, Some((_, result))) => format!("{result}\n{guard} ret;"),
            (6, _, Some(_)) => format!("{guard} exit;"),
            (6, _, None) if self.depth > 0 => format!("{guard} ret;"),
            (7, ..) if !self.gathers => format!("{guard} bra DONE;"),
            _ => return,
        };
        self.line(&line);
    }

    fn call(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let first = self.within.map_or(0, |(index, _)| index + 1);
        if first >= function::COUNT {
            return;
        }
        let callee = first + choose.below(function::COUNT - first);
        let text = function::call(callee, &mut choose);
        self.line(&text);
    }

    fn moves(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let bits = |bits: usize| Type { class: Class::Bits, bits: bits as u32 };
        let (whole, count) = choose.of(&[(64, 2), (64, 4), (32, 2)]);
        let guard = choose.guard();
        let parts = |choose: &mut Chooser<'_>| {
            // Registers of the parts' width, all different.
            let first = choose.below(2);
            let name = if whole / count == 32 { "%r" } else { "%h" };
            let names: Vec<String> = (0..count).map(|part| format!("{name}{}", (first + part) % 4)).collect();
            names.join(", ")
        };
        let line = match choose.below(3) {
            0 => format!("mov.b{whole} {}, {{{}}};", choose.register(bits(whole), 0), parts(&mut choose)),
            1 => format!("mov.b{whole} {{{}}}, {};", parts(&mut choose), choose.register(bits(whole), 0)),
            _ => format!(
                "mov.u32 {}, {};",
                choose.register(Type { class: Class::Unsigned, bits: 32 }, 0),
                choose.of(&[
                    "%tid.x",
                    "%ntid.x",
                    "%ctaid.x",
                    "%nctaid.x",
                    "%laneid",
                    "%warpid",
                    "%tid.y",
                    "%ntid.z",
                    "%lanemask_lt"
                ])
            ),
        };
        self.line(&(guard + &line));
    }

    fn access(&mut self, choices: &Choices) {
        let mut choose = Chooser::new(choices);
        let line = match (choose.below(7), self.within) {
            (6, None) => in_a_row(&mut choose),
            (0, None) => atomic(&mut choose),
            (5, None) => format!(
                "red.global.add.u{0} [%a6+{1}], {2};",
                32,
                4 * choose.below(8),
                choose.register(Type { class: Class::Unsigned, bits: 32 }, 0)
            ),
            (1 | 2, within) => transfer(&mut choose, within.is_some(), true),
            (_, within) => transfer(&mut choose, within.is_some(), false),
        };
        let guard = choose.guard();
        self.line(&(guard + &line));
    }
}

/// An instruction, with a guard at times.
fn instruction(op: &Opcode<'_>, choose: &mut Chooser<'_>) -> String {
    choose.guard() + &operands(op, choose)
}

pub(crate) fn operands(op: &Opcode<'_>, choose: &mut Chooser<'_>) -> String {
    let (result, sources) = op.signature().expect("the catalogue has no others");
    let wider = op.takes_wider_registers();
    let widest = if wider && !result.is_float() { 64 } else { 0 };
    let to = match op.head {
        "setp" if op.has_two_results() && choose.once_in(3) => {
            format!("%p{}|%p{}", choose.below(4), 4 + choose.below(4))
        }
        _ => choose.register(result, widest),
    };
    let mut texts = vec![to];
    for (index, ty) in sources.iter().enumerate() {
        texts.push(match (op.head, index) {
            // A truth table must be a constant; the place and the length of a field are bytes if they are constants.
            ("lop3", 3) => format!("{:#x}", choose.below(256)),
            ("bfe", 1 | 2) | ("bfi", 2 | 3) if choose.once_in(4) => choose.below(256).to_string(),
            ("bfe", 1 | 2) | ("bfi", 2 | 3) => choose.register(*ty, 0),
            ("setp" | "set", 2) if choose.once_in(2) => format!("!{}", choose.register(*ty, 1)),
            // Parts are of registers.
            (head, 0 | 1) if head.starts_with('v') && head.ends_with(['2', '4']) => choose.register(*ty, 0),
            _ => choose.source(*ty, if wider && !ty.is_float() { 64 } else { 0 }),
        });
    }
    format!("{} {};", op.text, texts.join(", "))
}

/// The place of a thread's own bytes: the space as it is written, and the address.
const PLACES: [(&str, &str, bool); 10] = [
    (".local", "mine", true),
    (".local", "%a4", true),
    (".local", "%t1", true),
    ("", "%a3", true),
    (".global", "%a0", false),
    ("", "%a0", false),
    (".shared", "%a1", false),
    (".shared", "%t0", false),
    ("", "%a2", false),
    ("", "%m0", false),
];

fn transfer(choose: &mut Chooser<'_>, function: bool, stores: bool) -> String {
    let places = PLACES.iter().filter(|(.., local)| *local || !function).copied().collect::<Vec<_>>();
    let (space, address, address_is_local) = choose.of(&places);
    let name = choose
        .of(&["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"]);
    let ty = Type::parse(name).expect("a type");
    let count = choose.of(if ty.bits == 64 { &[1, 2, 1] } else { &[1, 2, 4] });
    let bytes = ty.bits as usize / 8 * count;
    let offset = bytes * choose.below(super::SLOT / bytes);
    let widest = if ty.is_float() { 0 } else { 64 };
    // The registers of a vector are of one width.
    let first = choose.register(ty, widest);
    let family = first.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let members = super::operands::REGISTERS
        .iter()
        .find(|(_, name, _)| *name == family)
        .map_or(1, |(.., count)| *count);
    let mut values = vec![first];
    for _ in 1..count {
        values.push(match choose.below(6) {
            5 if !stores => "_".to_owned(),
            _ => format!("{family}{}", choose.below(members)),
        });
    }
    // Two loads into one register: which of them wins is open.
    if !stores {
        for index in 1..count {
            if values[..index].contains(&values[index]) {
                values[index] = "_".to_owned();
            }
        }
    }
    let volatile = if !address_is_local && choose.once_in(4) { ".volatile" } else { "" };
    let vector = if count == 1 { String::new() } else { format!(".v{count}") };
    let values = if count == 1 { values[0].clone() } else { format!("{{{}}}", values.join(", ")) };
    match stores {
        true => format!("st{volatile}{space}{vector}.{name} [{address}+{offset}], {values};"),
        false => format!("ld{volatile}{space}{vector}.{name} {values}, [{address}+{offset}];"),
    }
}

/// A word of each thread, one behind the other: the accesses that are served at once.
fn in_a_row(choose: &mut Chooser<'_>) -> String {
    let name = choose.of(&["b32", "u32", "s32", "f32"]);
    let space = choose.of(&[".global", ""]);
    let register = choose.register(Type::parse(name).expect("a type"), 0);
    match choose.below(2) {
        0 => format!("st{space}.{name} [%a5], {register};"),
        _ => format!("ld{space}.{name} {register}, [%a5];"),
    }
}

fn atomic(choose: &mut Chooser<'_>) -> String {
    let places =
        [(".global", "%a0"), (".shared", "%a1"), (".shared", "%t0"), ("", "%a2"), ("", "%a0"), ("", "%m1")];
    let (space, address) = choose.of(&places);
    let (operation, name) = choose.of(&[
        ("add", "u32"),
        ("add", "s32"),
        ("add", "u64"),
        ("add", "f32"),
        ("add", "f64"),
        ("min", "u32"),
        ("max", "u32"),
        ("min", "s32"),
        ("max", "s32"),
        ("min", "u64"),
        ("max", "u64"),
        ("min", "s64"),
        ("max", "s64"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
        ("and", "b64"),
        ("or", "b64"),
        ("xor", "b64"),
        ("exch", "b32"),
        ("exch", "b64"),
        ("cas", "b32"),
        ("cas", "b64"),
        ("inc", "u32"),
        ("dec", "u32"),
    ]);
    let ty = Type::parse(name).expect("a type");
    let bytes = ty.bits as usize / 8;
    let offset = bytes * choose.below(super::SLOT / bytes);
    let value = choose.source(ty, 0);
    let swap = if operation == "cas" { format!(", {}", choose.source(ty, 0)) } else { String::new() };
    if !matches!(operation, "exch" | "cas") && choose.once_in(2) {
        return format!("red{space}.{operation}.{name} [{address}+{offset}], {value};");
    }
    format!("atom{space}.{operation}.{name} {}, [{address}+{offset}], {value}{swap};", choose.register(ty, 0))
}

/// Votes, matches, reductions and shuffles of all threads of a warp that have not ended.
fn collective(choose: &mut Chooser<'_>) -> String {
    let ty = |name: &str| Type::parse(name).expect("a type");
    let predicate = choose.register(PREDICATE, 1);
    let not = choose.of(&["", "!"]);
    match choose.below(8) {
        0 => {
            let mode = choose.of(&["all", "any", "uni"]);
            format!("vote.sync.{mode}.pred {}, {not}{predicate}, -1;", choose.register(PREDICATE, 1))
        }
        1 => format!("vote.sync.ballot.b32 {}, {not}{predicate}, -1;", choose.register(ty("b32"), 0)),
        2 => {
            let name = choose.of(&["b32", "b64"]);
            let value = choose.register(ty(&name.replace('b', "u")), 0);
            let mode = choose.of(&["any", "all"]);
            format!("match.{mode}.sync.{name} {}, {value}, -1;", choose.register(ty("u32"), 0))
        }
        3 => {
            let value = choose.register(ty("u32"), 0);
            format!("match.all.sync.b32 {}|{predicate}, {value}, -1;", choose.register(ty("u32"), 0))
        }
        4 => {
            let mode = choose.of(&[
                "add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32",
                "xor.b32",
            ]);
            let value = choose.register(ty("u32"), 0);
            format!("redux.sync.{mode} {}, {value}, -1;", choose.register(ty("u32"), 0))
        }
        _ => shuffle(choose),
    }
}

/// A shuffle; the value from a thread that has ended is open, so that zero replaces it.
fn shuffle(choose: &mut Chooser<'_>) -> String {
    let ty = |name: &str| Type::parse(name).expect("a type");
    let (mode, clamp) = choose.of(&[("up", 0), ("down", 31), ("bfly", 31), ("idx", 31)]);
    let segment = choose.of(&[0, 0x10, 0x18]);
    let (to, from, amount) =
        (choose.register(ty("b32"), 0), choose.register(ty("b32"), 0), choose.register(ty("u32"), 0));
    let source = match mode {
        "up" => "sub.u32 %t5, %t7, %t5;".to_owned(),
        "down" => "add.u32 %t5, %t7, %t5;".to_owned(),
        "bfly" => "xor.b32 %t5, %t7, %t5;".to_owned(),
        _ => {
            format!("and.b32 %t7, %t7, {segment}; and.b32 %t5, %t5, {}; or.b32 %t5, %t5, %t7;", 31 - segment)
        }
    };
    format!(
        "setp.eq.u32 %q7, %t4, %t4; vote.sync.ballot.b32 %t6, %q7, -1; mov.u32 %t7, %laneid; and.b32 %t5, {amount}, 31;\n\
         shfl.sync.{mode}.b32 {to}|%q6, {from}, %t5, {}, -1;\n\
         {source} @!%q6 mov.u32 %t5, %laneid; shr.u32 %t6, %t6, %t5; and.b32 %t6, %t6, 1;\n\
         setp.eq.u32 %q7, %t6, 0; @%q7 mov.b32 {to}, 0; selp.u32 %w0, 1, 0, %q6;",
        clamp | segment << 8
    )
}
