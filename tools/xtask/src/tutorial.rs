//! The crate of `components/TUTORIAL.md`, made of the page's own blocks in a temporary folder, where it is tested and run.

use std::path::Path;

use super::extension::cargo;
use super::starter::FEATURES;

const PAGE: &str = "components/TUTORIAL.md";
/// The checkout, as the page's `Cargo.toml` names it.
const CHECKOUT: &str = "../counterpoint/";

/// Makes the crate, tests it, and runs its command on the page's machine.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let page = std::fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    // Each checkout always uses the same folder, so that a build of the crate replaces the previous one.
    let name = format!("counterpoint-tutorial{}", root.display().to_string().replace('/', "-"));
    let folder = std::env::temp_dir().join(name);
    let result = make(&page, root, &folder).and_then(|()| {
        let manifest = folder.join("Cargo.toml").display().to_string();
        called(root, "test", &["--manifest-path", &manifest])?;
        let explained = called(root, "run", &["--manifest-path", &manifest, "--", "explain", "io/retimer"])?;
        if !blocks(&page, "text").any(|block| block == explained) {
            return Err(format!("{PAGE} does not show what the command says:\n{explained}"));
        }
        let out = folder.join("out").display().to_string();
        let run = ["run", "tests/tutorial/retimed.yaml", "vecadd", "--set", "app.n=1000", "--out", &out];
        called(root, "run", &[&["--manifest-path", &manifest, "--"], &run[..]].concat()).map(drop)
    });
    let removed = std::fs::remove_dir_all(&folder);
    result.and(removed.map_err(|error| format!("{}: {error}", folder.display())))
}

fn blocks<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let fence = format!("```{language}\n");
    let starts: Vec<&str> = page.split(fence.as_str()).skip(1).collect();
    starts.into_iter().filter_map(|rest| Some(rest.split_once("```")?.0))
}

/// Writes the crate's files. With the extension's lock file the libraries are of the versions that it has.
fn make(page: &str, root: &Path, folder: &Path) -> Result<(), String> {
    let one = |mut blocks: Vec<&str>, what: &str| match blocks.len() {
        1 => Ok(blocks.remove(0).to_owned()),
        count => Err(format!("{PAGE} has {count} blocks of {what}, not one")),
    };
    let manifest = one(blocks(page, "toml").collect(), "TOML")?;
    let manifest = manifest.replace(CHECKOUT, &format!("{}/", root.display()));
    // The command has the features that it has been built with.
    let manifest = manifest.replacen("default-features = false", FEATURES, 1);
    let is_main = |block: &&str| block.contains("fn main()");
    let (main, lib) = blocks(page, "rust,ignore").partition(is_main);
    let component = blocks(page, "rust").collect::<Vec<_>>().join("\n");
    let lock = std::fs::read_to_string(root.join("tools/extension/Cargo.lock"));
    let files = [
        ("Cargo.toml", manifest),
        ("Cargo.lock", lock.map_err(|error| format!("tools/extension/Cargo.lock: {error}"))?),
        ("src/retimer.rs", component),
        ("src/lib.rs", one(lib, "the list")?),
        ("src/main.rs", one(main, "`main`")?),
    ];
    std::fs::create_dir_all(folder.join("src")).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Runs cargo from the repository and returns its output.
fn called(root: &Path, name: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = cargo(root, name)?;
    command.current_dir(root).args(arguments).stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(printed)
    } else {
        Err(format!("the tutorial's crate: cargo {name} {} failed\n{printed}", arguments.join(" ")))
    }
}
