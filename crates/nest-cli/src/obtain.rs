//! Built servers, from the cache if they are there, and as commands. Must not know: what runs them.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use nest_machine::{Feature, Features};

use crate::args::Run;
use crate::build::{Prepared, Recipe};
use crate::cache::{Cache, Key};
use crate::compile::selected;
use crate::term::Failure;

/// The server as a command that is not started yet.
pub fn command(path: &PathBuf, args: &Run) -> Command {
    let mut command = Command::new(path);
    command.args(&args.arguments);
    if let Some(name) = path.file_name() {
        command.arg0(name);
    }
    command
}

/// The features that the command line selects.
pub fn features(args: &Run) -> Features {
    let mut features = selected(args.trace, args.tls.is_some());
    features.extend(args.record.as_ref().map(|_| Feature::Record));
    features
}

/// The built server, from the cache if it is there. `inputs` gets every file it depends on.
pub fn obtain(args: &Run, inputs: &mut BTreeSet<PathBuf>) -> Result<PathBuf, Failure> {
    let recipe = Recipe {
        spec: &args.spec,
        more: &args.more,
        features: features(args),
        cc: &args.cc,
    };
    let prepared = recipe.prepare(inputs)?;
    cached(&recipe, &prepared, inputs)
}

/// The server of a recipe, from the cache if it is there.
pub fn cached(
    recipe: &Recipe,
    prepared: &Prepared,
    inputs: &mut BTreeSet<PathBuf>,
) -> Result<PathBuf, Failure> {
    let cache = Cache::open()?;
    let mut parts: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into()];
    parts.push(
        std::env::current_dir()
            .unwrap_or_default()
            .into_os_string()
            .into_encoded_bytes(),
    );
    parts.push(
        recipe
            .spec
            .file
            .clone()
            .into_os_string()
            .into_encoded_bytes(),
    );
    parts.extend(
        prepared
            .compiler
            .key()
            .into_iter()
            .map(std::ffi::OsString::into_encoded_bytes),
    );
    for file in recipe.more {
        parts.push(file.clone().into_os_string().into_encoded_bytes());
    }
    for file in &prepared.files {
        parts.push(file.path.clone().into_bytes());
        parts.push(file.text.clone().into_bytes());
    }
    let key = Key::new(parts.iter().map(Vec::as_slice));
    if !prepared.compiler.has_libraries()
        && let Some((server, used)) = cache.find(&key, &prepared.name)
    {
        inputs.extend(used);
        return Ok(server);
    }
    let draft = cache.draft(&key)?;
    let used = recipe.make(prepared, &draft)?;
    let server = cache.keep(&key, &prepared.name, &draft, &used)?;
    inputs.extend(used);
    Ok(server)
}
