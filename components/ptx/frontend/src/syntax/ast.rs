//! A PTX module as it is written: names, not registers; text, not meaning.
//!
//! Every statement keeps its byte range and its position, and the module keeps its source and tokens, so that a pass
//! can print a module back with only its own changes.

use std::collections::BTreeMap;

use crate::syntax::error::SourcePosition;
use crate::syntax::lexer::Token;

/// A range of bytes of the source, with the place of its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Line and column of the first byte.
    pub place: SourcePosition,
}

/// A whole PTX file.
#[derive(Clone, Debug)]
pub struct Module {
    /// The text as it was read.
    pub source: String,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// `.version`, as written.
    pub version: String,
    /// `.target`, as written (several names are separated by commas).
    pub target: String,
    /// `.address_size`.
    pub address_size: u32,
    /// Whether the PTX version has no `.address_size`; the width is then that of the addresses of its loads.
    pub is_width_inferred: bool,
    /// Variables of the module, in order.
    pub variables: Vec<Variable>,
    /// Kernels and functions, in order.
    pub functions: Vec<Function>,
    /// `.alias`, in order.
    pub aliases: Vec<Alias>,
    /// The source lines that `.file` and `.loc` give.
    pub sources: SourceLines,
}

impl Module {
    /// The numbers of its `.version`.
    pub fn version_number(&self) -> (u32, u32) {
        let (major, minor) = self.version.split_once('.').unwrap_or((&self.version, ""));
        (major.parse().unwrap_or_default(), minor.parse().unwrap_or_default())
    }
}

/// `.alias name, function;`: a second name of a function.
#[derive(Clone, Debug)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The function that it names.
    pub function: String,
    /// The place of the directive.
    pub span: Span,
}

/// Lines of the program that a module was compiled from (`.file`, `.loc`; PTX ISA 11.5).
#[derive(Clone, Debug, Default)]
pub struct SourceLines {
    /// Names of files by their number.
    pub files: BTreeMap<u32, String>,
    /// In the order of the text: the line of a `.loc`, the number of the file and the line in it.
    pub lines: Vec<(u32, u32, u32)>,
}

impl SourceLines {
    /// The file and line from which the instruction at a line of the text was compiled.
    pub fn find(&self, line: u32) -> Option<(&str, u32)> {
        let before = self.lines.partition_point(|(at, ..)| *at <= line);
        let &(_, file, source) = self.lines.get(before.checked_sub(1)?)?;
        Some((self.files.get(&file)?.as_str(), source)).filter(|_| source != 0)
    }
}

/// State spaces in which a variable can be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageSpace {
    /// `.reg`
    Register,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.global`
    Global,
    /// `.const`
    Const,
}

/// One declaration: `.reg .b32 %r<21>`, `.shared .align 4 .b8 tile[1024]`, `.param .u64 p`.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its state space.
    pub space: StorageSpace,
    /// Declared `.extern`: its size is not known here.
    pub external: bool,
    /// `.align`, if given.
    pub align: Option<u32>,
    /// The element type without its dot, such as `b32`.
    pub element: String,
    /// 1, or 2 or 4 for `.v2` and `.v4`.
    pub vector: u32,
    /// The name; for a register range, the part before `<`.
    pub name: String,
    /// `<n>`: names with the numbers 0 to n-1 appended.
    pub range: Option<u32>,
    /// Array dimensions; `None` is `[]`.
    pub dimensions: Vec<Option<u64>>,
    /// Values after `=`, flattened.
    pub initial: Vec<Operand>,
    /// The place of the declaration.
    pub span: Span,
}

/// `.entry` or `.func`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub entry: bool,
    /// Results, in order; a kernel returns nothing.
    pub results: Vec<Variable>,
    /// Parameters, in order.
    pub params: Vec<Variable>,
    /// `.maxntid`, `.reqntid`: threads in each dimension.
    pub max_ntid: Option<[u32; 3]>,
    /// Whether the threads are exactly `max_ntid` (`.reqntid`).
    pub exact_ntid: bool,
    /// `.minnctapersm`.
    pub min_ctas_per_sm: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
    /// The directive that makes it run in clusters, such as `.reqnctapercluster`.
    pub cluster: Option<String>,
    /// The statements; `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// From the linkage word to the closing brace.
    pub span: Span,
}

/// A statement of a body.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Kind of the statement.
    pub kind: StatementKind,
    /// Place of the statement.
    pub span: Span,
}

/// The kind of a statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `{ … }`, a scope of its own.
    Block(Vec<Statement>),
    /// A declaration.
    Variable(Variable),
    /// `name:`
    Label(String),
    /// `name: .callprototype (results) _ (params);`
    Prototype(Prototype),
    /// `name: .branchtargets label, …;`: the possible targets of a `brx.idx`.
    BranchTargets(String, Vec<String>),
    /// `name: .calltargets function, …;`: the possible targets of a call.
    CallTargets(String, Vec<String>),
    /// `.pragma "text", …;`: advice to the assembler, such as `nounroll` before the loop whose header follows.
    Pragma(Vec<String>),
    /// An instruction.
    Instruction(Instruction),
}

/// Parameters and results of an indirect call.
#[derive(Clone, Debug)]
pub struct Prototype {
    /// Its name.
    pub name: String,
    /// Results of the function.
    pub results: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
}

/// An instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode with its modifiers, such as `ld.global.f32`.
    pub opcode: String,
    /// Operands, destination first.
    pub operands: Vec<Operand>,
}

/// The predicate that guards an instruction.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The predicate register.
    pub name: String,
    /// `@!p`.
    pub negated: bool,
    /// The place of the name.
    pub span: Span,
}

/// An operand and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Kind of the operand.
    pub kind: OperandKind,
    /// Place of the operand.
    pub span: Span,
}

/// The kind of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind {
    /// A register, special register, symbol or label.
    Name(String),
    /// `!p`, in the sources of `setp` and the like.
    Not(String),
    /// `name+offset` outside brackets.
    Offset(String, i64),
    /// An integer; two's complement if it was negative.
    Integer(u64),
    /// `0fXXXXXXXX`, as bits.
    Float32(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal fraction, as bits.
    Float64(u64),
    /// `{a, b}`
    Vector(Vec<OperandKind>),
    /// `a|b`
    Pair(String, String),
    /// `[name]`, `[name+offset]`
    Address(String, i64),
    /// `[offset]`
    Absolute(u64),
    /// `[name, {coordinates}]`
    Texture(String, Vec<OperandKind>),
    /// `(a, b)`: arguments or results of a call.
    List(Vec<Operand>),
    /// `_`: no destination wanted.
    Discard,
}
