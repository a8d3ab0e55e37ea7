//! `code:`: PTX files and descriptions of synthetic kernels, and the kernels in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_framework::model::{self, Diagnostic, FileId, Node, Params, Registry, Span, Value};
use counterpoint_ptx::decode::decode;
use counterpoint_ptx::{Kernel, PtxError, parser};

use super::assembler;
use super::keys::{CodeKeys, Single};
use super::reader::Reader;
use crate::find::Sort;
use crate::workloads::synthetic::{self, Synthetic};

/// Registers of a thread at most (CUDA C programming guide, technical specifications, compute capability 3.5).
const MOST_REGISTERS: u64 = 255;

/// A PTX file, or the text made from a description.
struct Code {
    file: FileId,
    path: String,
    text: String,
    /// Kernels or problems of the text, once a kernel has been requested.
    decoded: Option<Result<Vec<Arc<Kernel>>, Vec<PtxError>>>,
    /// Assumption about the file.
    remark: Option<String>,
    /// The kernels that were asked for so far; nothing for those with problems.
    kernels: BTreeMap<Option<String>, Option<Arc<Kernel>>>,
    /// Registers by the assembler, once asked.
    assembled: Option<Result<BTreeMap<String, u32>, String>>,
    /// Addresses at which its variables begin on each device, if they are fixed: those in global memory, those in constant memory.
    fixed: (Option<u64>, Option<u64>),
}

impl Code {
    fn new(file: FileId, path: String, text: String) -> Self {
        Code {
            file,
            path,
            text,
            decoded: None,
            remark: None,
            kernels: BTreeMap::new(),
            assembled: None,
            fixed: (None, None),
        }
    }

    /// All kernels of the text, which is decoded once.
    fn decoded(&mut self) -> Result<&[Arc<Kernel>], &[PtxError]> {
        let Code { text, path, decoded, remark, .. } = self;
        let decode = || {
            let module = parser::parse(text)?;
            if module.is_width_inferred {
                *remark = Some(format!(
                    "{path} is PTX {}, which has no `.address_size`: its addresses have 64 bits, as those that it loads from",
                    module.version
                ));
            }
            let kernels = decode(&module)?;
            Ok(kernels.into_iter().map(|kernel| Arc::new(kernel.from_file(path))).collect())
        };
        decoded.get_or_insert_with(decode).as_deref().map_err(Vec::as_slice)
    }

    /// The kernel named `entry`, or the only one.
    fn compile(&mut self, entry: Option<&str>) -> Result<Arc<Kernel>, Vec<PtxError>> {
        let kernels = self.decoded().map_err(<[PtxError]>::to_vec)?;
        Ok(Arc::clone(&kernels[Kernel::choose(kernels, entry)?]))
    }
}

/// The PTX files by name, in the order of their lines; nothing for those that cannot be read. Kernels are decoded when
/// they are first launched.
#[derive(Default)]
pub(super) struct Codes(Vec<(String, Option<Code>)>);

impl Codes {
    /// The fixed addresses at which the variables of a module begin.
    pub(super) fn fixed(&self, name: &str) -> (Option<u64>, Option<u64>) {
        let code = self.0.iter().find(|(known, _)| known == name).and_then(|(_, code)| code.as_ref());
        code.map_or((None, None), |code| code.fixed)
    }

    /// Assumptions about files.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().filter_map(|(_, code)| code.as_ref()?.remark.clone())
    }

    /// Registers of a kernel by the assembler, or why there is no number.
    fn assembled(&mut self, name: &str, kernel: &Kernel) -> Result<u32, String> {
        let code = self.0.iter_mut().find_map(|(known, code)| code.as_mut().filter(|_| known == name));
        let code = code.ok_or_else(|| format!("there is no code `{name}`"))?;
        let all = code.assembled.get_or_insert_with(|| assembler::registers(&code.text, kernel.target()));
        let found = all.as_ref().map_err(Clone::clone)?.get(kernel.name());
        found.copied().ok_or_else(|| format!("the assembler does not count `{}`", kernel.name()))
    }
}

impl Reader<'_> {
    /// `registers:` of a launch: a number, `ptxas`, or the estimate.
    pub(super) fn registers(
        &mut self,
        node: Option<&Node>,
        codes: &mut Codes,
        code: &str,
        kernel: &Kernel,
    ) -> Option<u32> {
        let Some(node) = node else { return Some(kernel.registers_per_thread()) };
        if !matches!(&node.value, Value::Scalar { text, .. } if text == "ptxas") {
            return self.count(node, "registers", 1, MOST_REGISTERS).map(|number| number as u32);
        }
        let found = codes.assembled(code, kernel);
        let help = "`PTXAS` names the program; a number, or nothing for an estimate, needs none";
        let told = |message| Diagnostic::new(node.span, message).help(help);
        found.map_err(|message| self.diagnostics.report(told(message))).ok()
    }

    pub(super) fn read_code(&mut self, node: Option<&Node>) -> Codes {
        let Some(node) = node else { return Codes::default() };
        let Some(entries) = node.as_map() else {
            let message = format!("expected code as a map from names to PTX files, found {}", node.shape());
            self.diagnostics.error(node.span, message);
            return Codes::default();
        };
        let mut code = |(key, value): &(model::Key, Node)| {
            let code = if value.as_map().is_some() { self.described(key, value) } else { self.code(value) };
            self.lacks_code |= code.is_none();
            (key.name.clone(), code)
        };
        Codes(entries.iter().map(&mut code).collect())
    }

    /// A map: a file whose variables have fixed addresses, or a kernel that is described.
    fn described(&mut self, key: &model::Key, value: &Node) -> Option<Code> {
        let CodeKeys { synthetic, file, globals, constants } = self.read(value)?;
        let Some(file) = file else {
            if let Some(address) = globals.or(constants) {
                self.diagnostics.error(address.span, "only code of a `file` has variables");
            }
            let described = self.required(synthetic.as_deref(), value, "synthetic", "a described kernel")?;
            return self.synthetic(key, described);
        };
        if let Some(described) = synthetic {
            self.diagnostics.error(described.span, "code is a `file` or is described, not both");
        }
        let mut address = |what: &str, node: Option<Single>| {
            let node = node?;
            self.note_fixed(format!("the {what} of `{}`", key.name), node.span);
            self.fixed_address(&node)
        };
        let fixed = (address("variables", globals), address("constants", constants));
        Some(Code { fixed, ..self.code(&file)? })
    }

    /// A kernel that is described.
    fn synthetic(&mut self, key: &model::Key, described: &Node) -> Option<Code> {
        if !is_name(&key.name) {
            let message = format!("`{}` cannot be the name of a kernel", key.name);
            let help = "expected a letter and then letters, digits and `_`";
            self.diagnostics.report(Diagnostic::new(key.span, message).help(help));
            return None;
        }
        let evaluated = self.evaluated(described)?;
        let mut registry = Registry::default();
        synthetic::register(&mut registry);
        let before = self.diagnostics.reports();
        let mut reader = model::Reader::new(registry.families(), &mut self.diagnostics);
        let description =
            Synthetic::read(&evaluated, &mut reader).filter(|_| before == self.diagnostics.reports())?;
        match synthetic::kernel(&key.name, &description) {
            Ok(text) => {
                let path = format!("{} (synthetic)", key.name);
                let file = self.sources.add(&path, text.clone());
                self.synthetic.push((key.name.clone(), text.clone()));
                Some(Code::new(file, path, text))
            }
            Err(refusal) => {
                let place = described.get(refusal.parameter).unwrap_or(described);
                self.diagnostics.report(Diagnostic::new(place.span, refusal.message).help(refusal.help));
                None
            }
        }
    }

    /// The tree of `node` with each expression replaced by its value.
    fn evaluated(&mut self, node: &Node) -> Option<Node> {
        let value = match &node.value {
            Value::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| Some((key.clone(), self.evaluated(node)?)));
                Value::Map(entries.collect::<Option<_>>()?)
            }
            Value::Scalar { .. } => return Some(Node::scalar(self.text(node)?, node.span)),
            // Wrong here, as the parameters' reader will say.
            other => other.clone(),
        };
        Some(Node { value, span: node.span })
    }

    fn code(&mut self, value: &Node) -> Option<Code> {
        let name = self.text(value)?;
        let path = self.locate(Sort::Code, value.span, &name)?;
        let (file, text) = self.text_file(&path, Some(value.span))?;
        if !counterpoint_ptx::parser::is_ptx(&text) {
            let message = format!("`{path}` is not PTX: it has no `.version`");
            let diagnostic = Diagnostic::new(value.span, message);
            self.diagnostics.report(match path.ends_with(".cu") {
                true => diagnostic.help("`nvcc -ptx` makes PTX of CUDA C"),
                false => diagnostic,
            });
            return None;
        }
        Some(Code::new(file, path, text))
    }

    /// A kernel of a module, for access to the module's variables: the first that can be compiled.
    pub(super) fn any_kernel(
        &mut self,
        node: &Node,
        module: &str,
        Codes(codes): &mut Codes,
    ) -> Option<Arc<Kernel>> {
        let Some(index) = codes.iter().position(|(name, _)| name == module) else {
            let diagnostic = Diagnostic::new(node.span, format!("there is no code `{module}`"));
            let names = codes.iter().map(|(name, _)| name.as_str());
            self.diagnostics.report(diagnostic.suggest(module, names));
            return None;
        };
        let kernels = codes[index].1.as_mut()?.decoded().unwrap_or_default();
        let found = kernels.iter().find(|kernel| kernel.unsupported().is_empty());
        if found.is_none() {
            let message =
                format!("`{module}` has no kernel that can be compiled, so its variables are not known");
            self.diagnostics.error(node.span, message);
        }
        found.cloned()
    }

    /// `code.entry`, or `code` alone where it holds one kernel: the code's name, and the kernel.
    pub(super) fn kernel(
        &mut self,
        node: &Node,
        Codes(codes): &mut Codes,
    ) -> Option<(Arc<str>, Arc<Kernel>)> {
        let text = self.text(node)?;
        let (code_name, entry) = text.split_once('.').map_or((text.as_str(), None), |(c, e)| (c, Some(e)));
        let Some(index) = codes.iter().position(|(name, _)| name == code_name) else {
            let span = node.span.part(text_inset(node), code_name.len());
            let diagnostic = Diagnostic::new(span, format!("there is no code `{code_name}`"));
            self.diagnostics
                .report(diagnostic.suggest(code_name, codes.iter().map(|(name, _)| name.as_str())));
            return None;
        };
        let code = codes[index].1.as_mut()?;
        let key = entry.map(str::to_owned);
        if let Some(known) = code.kernels.get(&key) {
            return Some((code_name.into(), Arc::clone(known.as_ref()?)));
        }
        let kernels = kernels_of(&code.text);
        if let Some(entry) = entry
            && !kernels.contains(&entry)
        {
            let span = node.span.part(text_inset(node) + code_name.len() + 1, entry.len());
            let diagnostic = Diagnostic::new(span, format!("`{code_name}` has no kernel `{entry}`"));
            self.diagnostics.report(diagnostic.suggest(entry, kernels));
            return None;
        }
        if entry.is_none() && kernels.len() != 1 {
            let message = format!("`{code_name}` has {} kernels; say which", kernels.len());
            let help: Vec<String> = kernels.iter().map(|kernel| format!("{code_name}.{kernel}")).collect();
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help.join(", ")));
            return None;
        }
        let compiled = match code.compile(entry) {
            Ok(kernel) => Some(kernel),
            Err(errors) => {
                for error in errors {
                    let span = ptx_span(code.file, &code.text, &error);
                    let from =
                        error.compiled_from.map(|(file, line)| format!(" (compiled from {file}:{line})"));
                    let mut diagnostic = Diagnostic::new(span, error.message + &from.unwrap_or_default());
                    diagnostic.help = error.expected.map(|expected| format!("expected {expected}"));
                    self.diagnostics.report(diagnostic);
                }
                None
            }
        };
        code.kernels.insert(key, compiled.clone());
        Some((code_name.into(), compiled?))
    }
}

/// Whether PTX can call a kernel so.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The names behind `.entry` in a PTX text.
fn kernels_of(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for (at, _) in code.match_indices(".entry") {
            let rest = code[at + ".entry".len()..].trim_start();
            let end =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c))).unwrap_or(rest.len());
            if end > 0 {
                names.push(&rest[..end]);
            }
        }
    }
    names
}

/// The word at the place of an error.
fn ptx_span(file: FileId, text: &str, error: &PtxError) -> Span {
    let before: usize =
        text.split_inclusive('\n').take(error.line.saturating_sub(1) as usize).map(str::len).sum();
    let line = text[before..].lines().next().unwrap_or_default();
    let column = error.column.saturating_sub(1) as usize;
    let start = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let word = line[start..].find(|c: char| c.is_whitespace() || ",;()[]{}".contains(c));
    let length = word.unwrap_or(line.len() - start).max(1);
    let start = (before + start) as u32;
    Span { file, start, end: (start + length as u32).min(text.len() as u32) }
}

/// Bytes between the start of a node and its text: a quotation mark or nothing.
fn text_inset(node: &Node) -> usize {
    usize::from(matches!(node.value, Value::Scalar { quoted: true, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        let text = ".visible .entry step(\n.entry  second()\n// .entry none(";
        assert_eq!(kernels_of(text), ["step", "second"]);
    }

    #[test]
    fn a_place_in_ptx_becomes_the_word_there() {
        let text = "one\n  ädd.f32 %r1;\n";
        let error = PtxError { line: 2, column: 3, ..PtxError::default() };
        let span = ptx_span(FileId::default(), text, &error);
        assert_eq!(&text[span.start as usize..span.end as usize], "ädd.f32");
        let beyond = PtxError { line: 9, column: 3, ..PtxError::default() };
        assert!(ptx_span(FileId::default(), text, &beyond).end as usize <= text.len());
    }
}
