//! Reads the loop of a synthetic kernel from its text, without the code that wrote it.

use counterpoint_simulation::synthetic::Class;

pub(crate) struct Instruction {
    opcode: String,
    writes: Option<String>,
    reads: Vec<String>,
}

/// The loop of a kernel.
pub(crate) struct Body {
    pub(crate) instructions: Vec<Instruction>,
    /// Instructions before and behind the loop.
    pub(crate) outside: usize,
}

fn registers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '%'));
    words.filter(|word| word.starts_with('%')).map(str::to_owned).collect()
}

fn is_instruction(line: &str) -> bool {
    line.ends_with(';') && !line.starts_with('.')
}

impl Instruction {
    fn read(line: &str) -> Self {
        let (guard, rest) = match line.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').unwrap(),
            None => ("", line),
        };
        let (opcode, operands) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut reads = registers(operands);
        let writes = !["st.", "bra", "bar."].iter().any(|silent| opcode.starts_with(silent));
        let writes = writes.then(|| reads.remove(0));
        reads.extend(registers(guard));
        Instruction { opcode: opcode.to_owned(), writes, reads }
    }

    /// The class, but for what counts rounds.
    fn class(&self) -> Option<Class> {
        if self.writes.as_deref() == Some("%round") || self.opcode.starts_with("setp") {
            return None;
        }
        if self.reads.iter().any(|read| read == "%more") {
            return None;
        }
        let starts = |start: &str| self.opcode.starts_with(start);
        Some(match () {
            () if starts("ld.global") => Class::GlobalLoad,
            () if starts("st.global") => Class::GlobalStore,
            () if starts("ld.shared") => Class::SharedLoad,
            () if starts("st.shared") => Class::SharedStore,
            () if starts("bra") => Class::Branch,
            () if starts("bar.") => Class::Barrier,
            () if starts("rsqrt") => Class::Sfu,
            () if self.opcode.ends_with(".f32") => Class::Fp,
            () if self.opcode.ends_with(".f64") => Class::Dp,
            () => Class::Int,
        })
    }
}

impl Body {
    pub(crate) fn of(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let first = lines.iter().position(|line| *line == "ROUND:").unwrap();
        let last = lines.iter().position(|line| *line == "@%more bra ROUND;").unwrap();
        let instructions = lines[first..=last].iter().filter(|line| is_instruction(line));
        let outside = lines[..first].iter().chain(&lines[last + 1..]).filter(|line| is_instruction(line));
        Body {
            instructions: instructions.map(|line| Instruction::read(line)).collect(),
            outside: outside.count(),
        }
    }

    pub(crate) fn count(&self, class: Class) -> u32 {
        self.instructions.iter().filter(|instruction| instruction.class() == Some(class)).count() as u32
    }

    /// Shortest distance from an instruction to a later one, in this round or the next, that reads its
    /// result.
    pub(crate) fn shortest_distance(&self) -> usize {
        let all = &self.instructions;
        let mut shortest = usize::MAX;
        for (at, reader) in all.iter().enumerate() {
            for read in &reader.reads {
                // The nearest writer before it, itself a round ago included.
                let back = (1..=all.len()).find(|back| {
                    let writer = &all[(at + all.len() - back) % all.len()];
                    writer.writes.as_ref() == Some(read)
                });
                shortest = shortest.min(back.unwrap_or(usize::MAX));
            }
        }
        shortest
    }
}
