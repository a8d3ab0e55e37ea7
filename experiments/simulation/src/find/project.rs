//! The files of a project: those on disk, those of `COUNTERPOINT_PATH`, and those in the program.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::topology::{self, Missing, beside};

use super::built_in::{self, BUILT_IN, BuiltIn, joined};
use super::{Files, Found, Head, RealFiles, Sort, cache, reason};

/// The environment variable that names more folders to look into, separated as those of `PATH`.
pub const PATH_VARIABLE: &str = "COUNTERPOINT_PATH";

/// Files that a search from a folder finds.
#[derive(Clone)]
pub struct ProjectFiles<'a> {
    start: PathBuf,
    /// Folders of [`PATH_VARIABLE`].
    folders: Vec<PathBuf>,
    registry: &'a Registry,
}

impl<'a> ProjectFiles<'a> {
    /// The files that can be found from a folder, with those of [`PATH_VARIABLE`] and of a registry.
    pub fn new(start: &Path, registry: &'a Registry) -> Self {
        let variable = std::env::var_os(PATH_VARIABLE).unwrap_or_default();
        let folders = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
        Self::with(start, folders.collect(), registry)
    }

    /// Files found from `start`, with `folders` instead of those of `COUNTERPOINT_PATH`.
    pub(super) fn with(start: &Path, folders: Vec<PathBuf>, registry: &'a Registry) -> Self {
        ProjectFiles { start: start.to_owned(), folders, registry }
    }

    /// The files that can be found from the working directory.
    pub fn here(registry: &'a Registry) -> Self {
        Self::new(&std::env::current_dir().unwrap_or_default(), registry)
    }

    /// Path of the file of a name, for messages and for reading.
    ///
    /// # Errors
    /// If no file has the name: the nearest name, and the searched folders.
    pub fn find(&self, sort: Sort, name: &str) -> Result<String, Missing> {
        let given = self.start.join(name);
        match name.strip_prefix(BUILT_IN) {
            Some(path) if built_in::has(path, self.registry) => return Ok(name.to_owned()),
            None if given.is_file() => return Ok(short(&given)),
            _ => {}
        }
        self.search(sort, name).ok_or_else(|| self.missing(sort, name, None))
    }

    /// The path of a name that the file `from` mentions.
    ///
    /// # Errors
    /// As [`ProjectFiles::find`].
    pub fn named_in(&self, from: &str, sort: Sort, name: &str) -> Result<String, Missing> {
        let near = near(from, name);
        if self.exists(&near) {
            return Ok(near);
        }
        self.search(sort, name).ok_or_else(|| self.missing(sort, name, Some(&near)))
    }

    /// The contents of a file, by a path that was found.
    ///
    /// # Errors
    /// If the file does not exist, or cannot be read.
    pub fn contents(&self, path: &str) -> io::Result<Vec<u8>> {
        match path.strip_prefix(BUILT_IN) {
            Some(path) => built_in::read(path, self.registry),
            None => std::fs::read(path),
        }
    }

    /// A file as text, by a path that was found.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    pub fn text(&self, path: &str) -> Result<String, String> {
        let contents = self.contents(path).map_err(|error| reason(&error))?;
        String::from_utf8(contents).map_err(|_| "it is not UTF-8 text".to_owned())
    }

    /// Head of a file at a path that was found; an empty head if the file cannot be read.
    pub fn head(&self, path: &str) -> Head {
        self.text(path).map(|text| Head::of(&text)).unwrap_or_default()
    }

    /// The names of a sort and their files; of several of a name, the first found.
    pub fn list(&self, sort: Sort) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut add = |folder: &str, path: &str| {
            if let Some(name) = sort.name(path) {
                all.entry(name.to_owned()).or_insert_with(|| format!("{folder}/{path}"));
            }
        };
        let folders: Vec<String> = sort.folders().iter().map(|&folder| folder.to_owned()).collect();
        let own = |extension| Some(joined(extension, sort.own_folder()?));
        let of_extensions: Vec<String> = self.extensions().filter_map(own).collect();
        let places: Vec<&String> = of_extensions.iter().chain(&folders).collect();
        let above = self.start.ancestors().flat_map(|root| places.iter().map(|place| root.join(place)));
        let of_path = self.folders.iter().flat_map(|root| {
            places.iter().map(|place| root.join(place)).chain(sort.own_folder().map(|own| root.join(own)))
        });
        for folder in above.chain(of_path) {
            for path in on_disk(&folder) {
                add(&short(&folder), &path);
            }
        }
        for folder in places {
            for path in built_in::below(folder, self.registry) {
                add(&format!("{BUILT_IN}{folder}"), &path);
            }
        }
        all
    }

    /// The first file of a name at the places of its sort.
    fn search(&self, sort: Sort, name: &str) -> Option<String> {
        if name.starts_with(BUILT_IN) || Path::new(name).is_absolute() {
            return None;
        }
        let own = |extension| Some(joined(extension, &sort.own_place(name)?));
        let of_extensions = self.extensions().filter_map(own);
        let places: Vec<String> = of_extensions.chain(sort.places(name)).collect();
        let above = self.start.ancestors().flat_map(|root| places.iter().map(|place| root.join(place)));
        let as_named = std::iter::once(name.to_owned());
        let in_path: Vec<String> =
            as_named.chain(places.iter().cloned()).chain(sort.own_place(name)).collect();
        let of_path = self.folders.iter().flat_map(|root| in_path.iter().map(|place| root.join(place)));
        if let Some(found) = above.chain(of_path).find(|path| path.is_file()) {
            return Some(short(&found));
        }
        let carried = places.iter().find(|place| built_in::has(place, self.registry));
        carried.map(|place| format!("{BUILT_IN}{place}"))
    }

    /// The places of extensions among the built-in files. Files that belong to no extension have those of a
    /// project, and no folder `machines` of their own.
    fn extensions(&self) -> impl Iterator<Item = &'static str> {
        self.registry.all::<BuiltIn>().map(BuiltIn::folder).filter(|folder| !folder.is_empty())
    }

    fn exists(&self, path: &str) -> bool {
        match path.strip_prefix(BUILT_IN) {
            Some(path) => built_in::has(path, self.registry),
            None => Path::new(path).is_file(),
        }
    }

    /// Error for a name without a file; `near` is the path beside the file that names it.
    fn missing(&self, sort: Sort, name: &str, near: Option<&str>) -> Missing {
        let known = self.list(sort);
        let is_path = name.contains('/') || name.ends_with(".yaml");
        // A path of a built-in file may be meant as its name.
        let file = name.rsplit('/').next().unwrap_or(name);
        let stem = file.strip_suffix(".yaml").unwrap_or(file);
        let mut help = match nearest(stem, known.keys().map(String::as_str)) {
            Some(near) => vec![format!("did you mean `{near}`?")],
            None if known.is_empty() || is_path => Vec::new(),
            None => vec![format!("there are: {}", known.keys().cloned().collect::<Vec<_>>().join(", "))],
        };
        let first = near.unwrap_or(name).to_owned();
        let mut places = vec![first.clone()];
        places.extend(sort.places(name).into_iter().filter(|place| *place != first));
        let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
        let folders: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let folders = if folders.is_empty() { "not set".to_owned() } else { folders.join(", ") };
        let extensions =
            sort.own_place(name).map(|own| format!(", `{own}` of extensions")).unwrap_or_default();
        help.push(format!(
            "looked for {}, in {} and the folders above it, in those of {PATH_VARIABLE} ({folders}){extensions}, and among the built-in files",
            places.join(", "),
            self.start.display(),
        ));
        let message = match is_path {
            true => format!("no such file: `{name}` ({})", sort.word()),
            false => format!("there is no {} `{name}`", sort.word()),
        };
        Missing { message, help }
    }
}

impl topology::Files for ProjectFiles<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        self.text(path)
    }

    fn locate(&self, from: &str, name: &str) -> Result<String, Missing> {
        let overlay = |missing| self.named_in(from, Sort::Overlay, name).map_err(|_| missing);
        self.named_in(from, Sort::Module, name).or_else(overlay)
    }
}

impl Files for ProjectFiles<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.contents(path)
    }

    fn find(&self, path: &str) -> io::Result<Found> {
        match path.strip_prefix(BUILT_IN) {
            Some(path) => built_in::read(path, self.registry).map(|contents| Found::Held(contents.into())),
            None => RealFiles.find(path),
        }
    }

    fn locate(&self, from: &str, sort: Sort, name: &str) -> Result<String, Missing> {
        self.named_in(from, sort, name)
    }

    fn made(&self, from: &str, name: &str, made_by: &str) -> Result<(String, PathBuf), String> {
        let path = near(from, name);
        let Some(place) = path.strip_prefix(BUILT_IN) else { return Ok((path.clone(), path.into())) };
        let kept = cache::place(place.rsplit('/').next().unwrap_or(place), made_by)?;
        Ok((path, kept))
    }
}

/// The path of a file that another file names. Names in built-in files never lead out of the built-in folder.
fn near(from: &str, name: &str) -> String {
    match from.strip_prefix(BUILT_IN) {
        _ if name.starts_with(BUILT_IN) => name.to_owned(),
        Some(from) if !name.starts_with('/') => format!("{BUILT_IN}{}", beside(from, name)),
        _ => beside(from, name),
    }
}

/// YAML files of a folder, and of its subfolders that hold a file of their own name, by their paths relative
/// to the folder.
fn on_disk(folder: &Path) -> Vec<String> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut found = Vec::new();
    for entry in entries(folder) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let file = format!("{name}.yaml");
        if name.ends_with(".yaml") {
            found.push(name);
        } else if entry.path().join(&file).is_file() {
            found.push(format!("{name}/{file}"));
        }
    }
    found
}

/// A path as a user would write it from the working directory.
fn short(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_string_lossy().into_owned()
}
