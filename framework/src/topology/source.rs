//! First pass: files to trees. Follows `include:`, checks the header, and names every module.

use std::collections::BTreeMap;

use crate::model::{Diagnostic, Diagnostics, FileId, Key, Node, SourceMap, Span, yaml};

/// The origin of texts: the disk, or a table in a test.
pub trait Files {
    /// The text of a file.
    ///
    /// # Errors
    /// The reason why it cannot be read: a sentence for the user.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The path of a file that the file `from` includes by a name; by default the name is a path relative to `from`.
    ///
    /// # Errors
    /// If there is no such file.
    fn locate(&self, from: &str, name: &str) -> Result<String, Missing> {
        Ok(beside(from, name))
    }
}

/// A file that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Message that names the file: `there is no machine "x"`.
    pub message: String,
    /// The nearest name, and the folders that were searched.
    pub help: Vec<String>,
}

impl Missing {
    /// The problem at the source location that names the file.
    pub fn at(self, span: Span) -> Diagnostic {
        Diagnostic::new(span, self.message).help(self.help.join("; ").replace("?; ", "? "))
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.help.iter().try_for_each(|help| write!(f, "\n  help: {help}"))
    }
}

/// The files of the host on which the program runs.
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

impl Files for BTreeMap<String, String> {
    fn read(&self, path: &str) -> Result<String, String> {
        self.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// A file that is one machine, one module or one overlay.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Name of the file: the value of `machine:`, `module:` or `overlay:`.
    pub name: String,
    /// The place of the name.
    pub span: Span,
    /// The whole map.
    pub node: Node,
    /// The file.
    pub path: String,
    /// The files that it includes.
    pub includes: Vec<String>,
}

/// The input of the passes.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// The machine.
    pub machine: Document,
    /// All modules that it and its overlays include, however indirectly.
    pub modules: BTreeMap<String, Document>,
    /// The overlays that the machine includes: its own settings win over them.
    pub bases: Vec<Document>,
    /// The overlays, in the order in which they apply.
    pub overlays: Vec<Document>,
    /// The overlays of single parts, by the place that names them.
    pub of_parts: BTreeMap<Span, Vec<Document>>,
    /// The settings of the command line as keys and values, in the order in which they apply.
    pub sets: Vec<(Key, Node)>,
    /// Whether every file that the machine includes was read: only then is a name that they lack a wrong name.
    pub complete: bool,
}

/// The option of settings: messages name one as `--set PATH=VALUE`.
pub const COMMAND_LINE: &str = "--set";

/// Deeper chains of includes are refused, so that following them cannot exhaust the stack.
const DEEPEST: usize = 64;

/// Reads a machine file, its includes, overlay files and settings `path=value`.
pub(super) fn read(
    path: &str,
    overlays: &[String],
    sets: &[String],
    files: &dyn Files,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Option<Sources> {
    let (modules, seen, included) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let (of_parts, known) = (BTreeMap::new(), BTreeMap::new());
    let mut reader =
        Reader { files, sources, diagnostics, modules, included, of_parts, known, seen, complete: true };
    let machine = reader.document(path, None, &["machine"], &mut Vec::new());
    let bases = std::mem::take(&mut reader.included);
    for overlay in overlays {
        // An overlay that another overlay includes was applied before that other overlay.
        if reader.seen.get(&normal(overlay)).is_none_or(|seen| *seen != Seen::Overlay) {
            let document = reader.document(overlay, None, &["overlay"], &mut Vec::new());
            reader.included.extend(document);
        }
    }
    let sets: Vec<_> = sets.iter().map(|set| reader.setting(set)).collect();
    let Reader { modules, included, of_parts, complete, .. } = reader;
    Some(Sources {
        machine: machine?,
        modules,
        bases,
        overlays: included,
        of_parts,
        sets: sets.into_iter().flatten().collect(),
        complete,
    })
}

struct Reader<'a> {
    files: &'a dyn Files,
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    modules: BTreeMap<String, Document>,
    /// Overlays in the order in which they apply: each after the overlays that it includes.
    included: Vec<Document>,
    /// Overlays of single parts, by the place that names them, and by their file.
    of_parts: BTreeMap<Span, Vec<Document>>,
    known: BTreeMap<String, Vec<Document>>,
    /// Paths that were read, so that a file included twice is read once.
    seen: BTreeMap<String, Seen>,
    complete: bool,
}

/// The reason for reading a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Machine,
    /// The command line names it.
    Named,
    /// Another file includes the file, which is no overlay.
    Module,
    /// Another file includes the file, which is an overlay.
    Overlay,
}

impl Reader<'_> {
    /// Reads one file, which is one of `roles`; `from` is the place that names it, `chain` the files that led here.
    fn document(
        &mut self,
        path: &str,
        from: Option<Span>,
        roles: &[&str],
        chain: &mut Vec<String>,
    ) -> Option<Document> {
        let path = normal(path);
        let text = match self.files.read(&path) {
            Ok(text) => text,
            Err(error) => {
                let span = from.unwrap_or_else(|| {
                    let file = self.sources.add(&path, "");
                    self.sources.whole(file)
                });
                self.diagnostics.error(span, format!("cannot read `{path}`: {error}"));
                return None;
            }
        };
        if u32::try_from(text.len()).is_err() {
            let file = self.sources.add(&path, "");
            self.diagnostics.error(self.sources.whole(file), "the file is larger than 4 GiB");
            return None;
        }
        let file = self.sources.add(&path, text);
        let seen = match from {
            Some(_) => Seen::Module,
            None if roles == ["machine"] => Seen::Machine,
            None => Seen::Named,
        };
        self.seen.insert(path.clone(), seen);
        let head = Span { file, start: 0, end: 0 };
        let before = self.diagnostics.reports();
        let node = yaml::parse(file, self.sources, self.diagnostics);
        let Some(node) = node.filter(|node| node.as_map().is_some()) else {
            if self.diagnostics.reports() == before {
                let help = format!("begin with `counterpoint: 1` and `{}: name`", roles.join(": name` or `"));
                self.diagnostics.report(Diagnostic::new(head, "the file is not a map").help(help));
            }
            return None;
        };
        self.header(&node, head);
        // A module does not know the places that an overlay speaks of, nor do the files that it includes.
        let inner = if node.get("module").is_some() { &["module"][..] } else { &["module", "overlay"] };
        let includes = self.includes(&node, &path, inner, chain);
        self.overlays_of_parts(&node, &path, chain);
        let (name, span) = self.name(&node, head, roles)?;
        Some(Document { name, span, node, path, includes })
    }

    fn header(&mut self, node: &Node, head: Span) {
        let help = "every file begins with `counterpoint: 1`";
        match node.get("counterpoint") {
            None => self.diagnostics.report(Diagnostic::new(head, "missing header").help(help)),
            Some(version) if version.as_scalar() != Some("1") => {
                self.diagnostics.report(Diagnostic::new(version.span, "unknown format version").help(help));
            }
            Some(_) => {}
        }
    }

    /// Reads the files that a file includes, each of them one of `roles`; their paths.
    fn includes(&mut self, node: &Node, path: &str, roles: &[&str], chain: &mut Vec<String>) -> Vec<String> {
        let Some(include) = node.get("include") else { return Vec::new() };
        chain.push(path.to_owned());
        let targets = self.targets(include, path, chain);
        for (target, item) in &targets {
            if self.seen.get(target) == Some(&Seen::Machine) {
                self.diagnostics.error(item.span, "this is the machine itself");
            } else if !self.seen.contains_key(target) {
                match self.document(target, Some(item.span), roles, chain) {
                    Some(document) if document.node.get("overlay").is_some() => {
                        self.seen.insert(target.clone(), Seen::Overlay);
                        self.included.push(document);
                    }
                    Some(document) => self.add_module(document),
                    None => self.complete = false,
                }
            }
        }
        chain.pop();
        targets.into_iter().map(|(target, _)| target).collect()
    }

    /// The files that a name or a list names, with the places that do, but for those that are missing or lead back here.
    fn targets<'n>(&mut self, named: &'n Node, path: &str, chain: &[String]) -> Vec<(String, &'n Node)> {
        let single = std::slice::from_ref(named);
        let list = if named.as_scalar().is_some() { Some(single) } else { named.as_list() };
        let Some(list) = list else {
            self.diagnostics.error(named.span, format!("expected a list of files, found {}", named.shape()));
            return Vec::new();
        };
        let mut targets = Vec::new();
        for item in list {
            let Some(name) = item.as_scalar() else {
                self.diagnostics.error(item.span, format!("expected a file name, found {}", item.shape()));
                continue;
            };
            match self.files.locate(path, name) {
                Ok(target) => match endless(chain, &target) {
                    Some(problem) => self.diagnostics.error(item.span, problem),
                    None => targets.push((target, item)),
                },
                Err(missing) => {
                    self.diagnostics.report(missing.at(item.span));
                    self.complete = false;
                }
            }
        }
        targets
    }

    /// Reads the overlays that parts of a file have for themselves.
    fn overlays_of_parts(&mut self, node: &Node, path: &str, chain: &mut Vec<String>) {
        let entries = |name| node.get(name).and_then(Node::as_map).unwrap_or_default();
        for (_, changes) in entries("modules").iter().chain(entries("instances")) {
            self.overlays_of_parts(changes, path, chain);
        }
        for (_, part) in entries("components").iter().chain(entries("replace")) {
            let Some(with) = part.get("with").filter(|_| part.get("module").is_some()) else { continue };
            chain.push(path.to_owned());
            let mut overlays: Vec<Document> = Vec::new();
            for (target, item) in self.targets(with, path, chain) {
                let read = match self.known.get(&target) {
                    Some(known) => known.clone(),
                    None => self.overlay_of_part(&target, item.span, chain),
                };
                self.known.insert(target, read.clone());
                let is_new = |one: &Document| overlays.iter().all(|other| other.path != one.path);
                let read: Vec<Document> = read.into_iter().filter(is_new).collect();
                overlays.extend(read);
            }
            chain.pop();
            self.of_parts.insert(with.span, overlays);
        }
    }

    /// Reads an overlay and those that it builds on, whether or not the whole machine has them, too.
    fn overlay_of_part(&mut self, path: &str, from: Span, chain: &mut Vec<String>) -> Vec<Document> {
        let outside = std::mem::take(&mut self.included);
        let before = self.seen.clone();
        self.seen.retain(|_, seen| matches!(seen, Seen::Machine | Seen::Module));
        let last = self.document(path, Some(from), &["overlay"], chain);
        self.complete &= last.is_some();
        let mut overlays = std::mem::replace(&mut self.included, outside);
        overlays.extend(last);
        let modules = std::mem::replace(&mut self.seen, before);
        let is_module = |path: &String| overlays.iter().all(|overlay| overlay.path != *path);
        self.seen.extend(modules.into_iter().filter(|(path, seen)| *seen == Seen::Module && is_module(path)));
        overlays
    }

    fn add_module(&mut self, module: Document) {
        match self.modules.get(&module.name) {
            Some(first) => {
                let diagnostic = Diagnostic::new(module.span, format!("duplicate module `{}`", module.name));
                self.diagnostics.report(diagnostic.note(first.span, "first declared here"));
            }
            None => {
                self.modules.insert(module.name.clone(), module);
            }
        }
    }

    fn name(&mut self, node: &Node, head: Span, roles: &[&str]) -> Option<(String, Span)> {
        let Some(name) = roles.iter().find_map(|role| node.get(role)) else {
            let other = ["machine", "module", "overlay", "application", "study"]
                .into_iter()
                .find_map(|other| Some((other, node.get(other)?.span)));
            let diagnostic = match other {
                Some((other, span)) => {
                    Diagnostic::new(span, format!("this is the file of a different thing: `{other}`"))
                }
                None => Diagnostic::new(head, format!("missing key `{}`", roles.join("` or `"))),
            };
            let help = format!("expected a file with `{}: name`", roles.join(": name` or `"));
            self.diagnostics.report(diagnostic.help(help));
            return None;
        };
        let span = name.span;
        match name.as_scalar().filter(|name| !name.is_empty()) {
            Some(text) => Some((text.to_owned(), span)),
            None => {
                self.diagnostics.error(span, format!("expected a name, found {}", name.shape()));
                None
            }
        }
    }

    /// Reads `path=value`, where the value is YAML.
    fn setting(&mut self, text: &str) -> Option<(Key, Node)> {
        let file = self.sources.add_argument(COMMAND_LINE, text);
        let whole = self.sources.whole(file);
        let Some(equals) = text.find('=') else {
            let diagnostic = Diagnostic::new(whole, "a setting without `=`");
            self.diagnostics.report(diagnostic.help("write --set path=value"));
            return None;
        };
        let (path, value) = (text[..equals].trim_end(), &text[equals + 1..]);
        // The value is parsed in place, so that its places are those of the argument.
        let blank = " ".repeat(equals + 1);
        let mut scratch = SourceMap::default();
        let shifted = scratch.add(COMMAND_LINE, format!("{blank}{value}"));
        let mut found = Diagnostics::default();
        let node = yaml::parse(shifted, &scratch, &mut found);
        for problem in found.sorted() {
            self.diagnostics.error(Span { file, ..problem.span }, problem.message);
        }
        let mut node = node?;
        move_to(&mut node, file);
        let span = Span { file, start: 0, end: path.len() as u32 };
        Some((Key { name: path.to_owned(), span }, node))
    }
}

fn move_to(node: &mut Node, file: FileId) {
    node.span.file = file;
    match &mut node.value {
        crate::model::Value::List(items) => items.iter_mut().for_each(|item| move_to(item, file)),
        crate::model::Value::Map(entries) => entries.iter_mut().for_each(|(key, node)| {
            key.span.file = file;
            move_to(node, file);
        }),
        crate::model::Value::Null | crate::model::Value::Scalar { .. } => {}
    }
}

/// Reason for which `target` must not be included by this chain of files: it is already in the chain, or the chain is too long.
pub fn endless(chain: &[String], target: &str) -> Option<String> {
    if chain.len() > DEEPEST {
        return Some(format!("includes nested more than {DEEPEST} deep"));
    }
    let first = chain.iter().position(|file| file == target)?;
    let circle: Vec<&str> = chain[first..].iter().map(String::as_str).chain([target]).collect();
    Some(format!("include cycle: {}", circle.join(" -> ")))
}

/// The path of a file that another file names, in the form in which a file has one name.
pub fn beside(path: &str, name: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !name.starts_with('/') => normal(&format!("{folder}/{name}")),
        _ => normal(name),
    }
}

/// The path without `.` and without `..` where it can be taken back, so that one file has one name.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_name() {
        assert_eq!(beside("systems/a.yaml", "../modules/./gpu.yaml"), "modules/gpu.yaml");
        assert_eq!(beside("a.yaml", "../b.yaml"), "../b.yaml");
        assert_eq!(beside("x/a.yaml", "/abs/b.yaml"), "/abs/b.yaml");
    }
}
