//! The state of the loader that all of its parts share: texts, problems, and small steps such as "a map with these keys".

use std::collections::BTreeMap;
use std::ops::Range as Between;
use std::sync::Arc;

use bytes::Bytes;
use counterpoint_framework::model::{
    self, Diagnostic, Diagnostics, FileId, Later, Node, Params, Registry, SourceMap, Span,
};
use counterpoint_host_model::program::{Application, BufferId};
use counterpoint_ptx::Kernel;

use super::input::InputFile;
use super::loaded::{Expectation, Launched};
use super::parameters::Parameters;
use super::stream_names::StreamNames;
use crate::find::{Files, Sort, reason};
use crate::workloads::element::Element;

/// A part of an output that a step writes.
pub(super) struct Written {
    pub(super) output: u32,
    pub(super) bytes: Between<u64>,
    pub(super) span: Span,
}

/// An application on its way from YAML.
pub(super) struct Reader<'a> {
    pub(super) files: &'a dyn Files,
    /// Contents of the packed files, by path.
    pub(super) unpacked: BTreeMap<String, Bytes>,
    /// Components, variants and files of extensions.
    pub(super) registry: &'a Registry,
    pub(super) sources: SourceMap,
    pub(super) diagnostics: Diagnostics,
    pub(super) parameters: Parameters,
    pub(super) application: Application,
    pub(super) elements: Vec<Element>,
    pub(super) inputs: Vec<InputFile>,
    pub(super) preloaded: Vec<InputFile>,
    pub(super) outputs: Vec<String>,
    /// Buffers that are written to files, and where.
    pub(super) received: Vec<(BufferId, Span)>,
    /// The parts of outputs that steps write.
    pub(super) written: Vec<Written>,
    pub(super) expectations: Vec<Expectation>,
    pub(super) synthetic: Vec<(String, String)>,
    /// Buffers that are variables of modules, each with a kernel of its module.
    pub(super) variables: Vec<(BufferId, Arc<Kernel>)>,
    /// Places in the file of things with fixed addresses, by their names.
    pub(super) fixed: Vec<(String, Span)>,
    /// Places in the file of the releases, the copies and the conditions of loops, in the order of the steps.
    pub(super) places: Vec<Span>,
    pub(super) launched: Vec<Launched>,
    /// The streams and events that the steps name.
    pub(super) names: StreamNames,
    /// Nesting depth of repetitions around the steps that are being read.
    pub(super) rounds: u32,
    /// Whether some code could not be read, so that nothing is known of its kernels.
    pub(super) lacks_code: bool,
    /// The size that applies, if parameters have exactly its values.
    pub(super) size: Option<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a dyn Files, registry: &'a Registry) -> Self {
        Reader {
            files,
            unpacked: BTreeMap::new(),
            registry,
            sources: SourceMap::default(),
            diagnostics: Diagnostics::default(),
            parameters: Parameters::default(),
            application: Application::default(),
            elements: Vec::new(),
            inputs: Vec::new(),
            preloaded: Vec::new(),
            outputs: Vec::new(),
            received: Vec::new(),
            written: Vec::new(),
            expectations: Vec::new(),
            synthetic: Vec::new(),
            variables: Vec::new(),
            fixed: Vec::new(),
            places: Vec::new(),
            launched: Vec::new(),
            names: StreamNames::default(),
            rounds: 0,
            lacks_code: false,
            size: None,
        }
    }

    /// Reports the former name of `co_run`, if a file has it.
    pub(super) fn has_former_key(&mut self, root: &Node) -> bool {
        let mut keys = root.as_map().into_iter().flatten().map(|(key, _)| key);
        let Some(former) = keys.find(|key| key.name == "together") else { return false };
        let diagnostic = Diagnostic::new(former.span, "`together` has moved").help("it is now `co_run`");
        self.diagnostics.report(diagnostic);
        true
    }

    /// Checks that a file declares an application; reports missing declarations.
    pub(super) fn header(&mut self, root: &Node, head: Span) -> Option<()> {
        let help = "every file begins with `counterpoint: 1`";
        match root.get("counterpoint") {
            None => self.diagnostics.report(Diagnostic::new(head, "missing header").help(help)),
            Some(version) if version.as_scalar() != Some("1") => {
                self.diagnostics.report(Diagnostic::new(version.span, "unknown format version").help(help));
            }
            Some(_) => {}
        }
        if root.get("application").is_none() {
            let other = ["machine", "module", "overlay", "study"].into_iter();
            let found = other.filter_map(|key| Some((key, root.get(key)?.span))).next();
            let diagnostic = match found {
                Some((key, span)) => {
                    Diagnostic::new(span, format!("this is the file of a different thing: `{key}`"))
                }
                None => Diagnostic::new(head, "missing key `application`"),
            };
            self.diagnostics.report(diagnostic.help("expected a file with `application: name`"));
            return None;
        }
        Some(())
    }

    /// A file as a text that problems can point into; `from` is the position that names it.
    pub(super) fn text_file(&mut self, path: &str, from: Option<Span>) -> Option<(FileId, String)> {
        let text = self
            .files
            .read(path)
            .map_err(|error| reason(&error))
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned()));
        match text {
            Ok(text) => Some((self.sources.add(path, text.clone()), text)),
            Err(error) => {
                let span = from.unwrap_or_else(|| {
                    let file = self.sources.add(path, "");
                    self.sources.whole(file)
                });
                self.diagnostics.error(span, format!("cannot read `{path}`: {error}"));
                None
            }
        }
    }

    /// Path of a file of a sort that is named at a position; a missing file is reported.
    pub(super) fn locate(&mut self, sort: Sort, place: Span, name: &str) -> Option<String> {
        let located = self.files.locate(self.sources.name(place.file), sort, name);
        located.map_err(|missing| self.diagnostics.report(missing.at(place))).ok()
    }

    /// The reader of declared parameters, which reports its problems here.
    fn declared(&mut self) -> model::Reader<'_> {
        model::Reader::new(self.registry.families(), &mut self.diagnostics)
    }

    /// Checks that a node is a map whose keys are all known; problems are reported.
    pub(super) fn keys(&mut self, node: &Node, known: Vec<&'static str>, called: &'static str) -> Option<()> {
        self.declared().map(node, Some(called), known, &[]).map(drop)
    }

    /// The declared keys of a map; problems with them are reported.
    pub(super) fn read<P: Params>(&mut self, node: &Node) -> Option<P> {
        P::read(node, &mut self.declared())
    }

    /// The declared keys of a value.
    pub(super) fn open<P: Params>(&mut self, value: &Later<P>) -> Option<P> {
        self.read(value)
    }

    /// The value of a key that must be there for a reason that its declaration does not know.
    pub(super) fn required<'n>(
        &mut self,
        found: Option<&'n Node>,
        map: &Node,
        key: &str,
        what: &str,
    ) -> Option<&'n Node> {
        if found.is_none() && map.as_map().is_some() {
            self.diagnostics.error(map.span, format!("{what} needs the key `{key}`"));
        }
        found
    }

    /// The elements of a list that may be missing.
    pub(super) fn list<'n>(&mut self, node: Option<&'n Node>, what: &str) -> &'n [Node] {
        let Some(node) = node else { return &[] };
        node.as_list().unwrap_or_else(|| {
            self.diagnostics.error(node.span, format!("expected a list of {what}, found {}", node.shape()));
            &[]
        })
    }

    pub(super) fn buffer(&mut self, node: &Node) -> Option<BufferId> {
        let name = self.text(node)?;
        let found = self.application.buffers.iter().position(|buffer| buffer.name == name);
        if found.is_none() {
            let diagnostic = Diagnostic::new(node.span, format!("there is no buffer `{name}`"));
            let names = self.application.buffers.iter().map(|buffer| buffer.name.as_str());
            self.diagnostics.report(diagnostic.suggest(&name, names));
        }
        found.map(|index| BufferId(index as u32))
    }
}
