//! The order in which the parts of an application file are read.

use counterpoint_framework::model::Node;
use counterpoint_host_model::modules::Module;
use counterpoint_host_model::program::{Application, BufferId, Step};

use super::keys::ApplicationKeys;
use super::loaded::LoadedApplication;
use super::reader::Reader;

impl Reader<'_> {
    /// Reads the file and everything that it names.
    pub(super) fn application(&mut self, path: &str, sets: &[String]) -> Option<LoadedApplication> {
        let root = self.tree(path, None, &mut Vec::new())?;
        if self.has_former_key(&root) {
            return None;
        }
        let Some(co_run) = root.get("co_run") else { return self.of_tree(&root, sets) };
        let name = self.text(root.get("application")?)?;
        self.keys(
            &root,
            vec!["counterpoint", "application", "description", "co_run"],
            "a co-run of applications",
        );
        let guests = self.guests(co_run);
        let description = root.get("description").and_then(|node| self.text(node));
        let loaded = self.co_run(&name, &guests, sets)?;
        Some(LoadedApplication { description, ..loaded })
    }

    /// Reads everything that the tree of a file names.
    pub(super) fn of_tree(&mut self, root: &Node, sets: &[String]) -> Option<LoadedApplication> {
        self.application.name = self.text(root.get("application")?)?;
        let keys: ApplicationKeys = self.read(root)?;
        self.read_parameters(keys.parameters.as_deref(), keys.sizes.as_deref(), sets);
        self.read_library(&keys);
        let mut codes = self.read_code(keys.code.as_deref());
        self.read_buffers(keys.buffers.as_deref(), &mut codes);
        self.read_textures(keys.textures.as_deref());
        self.read_surfaces(keys.surfaces.as_deref());
        self.read_prelude(keys.prelude.as_deref());
        self.application.copy_in = self.buffer_list(keys.copy_in.as_deref());
        self.application.steps = self.read_steps(keys.kernels.as_deref(), &mut codes);
        self.check_streams(keys.non_blocking.as_deref());
        self.application.copy_out = self.buffer_list(keys.copy_out.as_deref());
        self.check_releases(keys.copy_out.as_deref());
        let launched = std::mem::take(&mut self.launched);
        self.read_preload(keys.preload.as_deref(), &mut codes);
        self.gather_modules();
        self.place_modules(&codes);
        self.read_postlude(keys.postlude.as_deref());
        self.number_outputs();
        self.read_expectations(keys.expect.as_deref());
        let counts = self.read_counts(keys.counts.as_deref(), keys.sizes.as_deref());
        let description = keys.description.as_deref().and_then(|node| self.text(node));

        // Reported only now, so that a file with other problems has all of them listed.
        Some(LoadedApplication {
            application: std::mem::take(&mut self.application),
            description,
            parameters: self.parameters.as_floats(),
            elements: std::mem::take(&mut self.elements),
            inputs: std::mem::take(&mut self.inputs),
            preloaded: std::mem::take(&mut self.preloaded),
            outputs: std::mem::take(&mut self.outputs),
            expectations: std::mem::take(&mut self.expectations),
            synthetic: std::mem::take(&mut self.synthetic),
            texts: self.sources.texts().map(str::to_owned).collect(),
            counts,
            launched,
            sources: self.sources.clone(),
            parts: Vec::new(),
            remarks: codes.remarks().collect(),
        })
    }

    /// The modules that launches before the run and in it need.
    fn gather_modules(&mut self) {
        let Application { preload, steps, .. } = &self.application;
        let launches = [preload, steps].into_iter().flat_map(|steps| Step::launches(steps));
        self.application.modules = Module::of(launches);
    }

    fn buffer_list(&mut self, node: Option<&Node>) -> Vec<BufferId> {
        let nodes = self.list(node, "buffers");
        nodes.iter().filter_map(|node| self.buffer(node)).collect()
    }
}
