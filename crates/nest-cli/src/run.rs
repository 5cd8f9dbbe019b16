//! `nest run`: builds into the cache, then runs the server.
//!
//! Without `--trace` and `--watch` the server replaces this process, so that signals and the exit
//! status are its own. With them this process supervises the server.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::args::Run;
use crate::build::{Prepared, Recipe};
use crate::cache::{Cache, Key};
use crate::signals::{self, Hold};
use crate::source;
use crate::supervise::{self, Server};
use crate::term::Failure;
use crate::watch;

/// `nest run`.
pub fn run(args: &Run) -> Result<ExitCode, Failure> {
    if args.watch {
        if source::is_stdin(&args.spec.file) {
            return Err(Failure::Usage(
                "--watch needs a file to watch; standard input is read once".into(),
            ));
        }
        return watch::watch(args);
    }
    let hold = Hold::new()?;
    let built = obtain(args, &mut BTreeSet::new());
    hold.release();
    let path = built?;
    if args.trace {
        let events = signals::stream()?;
        return supervise::until_end(Server::start(&path, args)?, &events);
    }
    let error = command(&path, args).exec();
    Err(Failure::io(
        format!("cannot run {}", path.display()),
        &error,
    ))
}

/// The command that starts the server.
pub fn command(path: &PathBuf, args: &Run) -> Command {
    let mut command = Command::new(path);
    command.args(&args.arguments);
    if let Some(name) = path.file_name() {
        command.arg0(name);
    }
    command
}

/// The built server, from the cache if possible. `inputs` receives every file it depends on.
pub fn obtain(args: &Run, inputs: &mut BTreeSet<PathBuf>) -> Result<PathBuf, Failure> {
    let recipe = Recipe {
        spec: &args.spec,
        more: &args.more,
        trace: args.trace,
        cc: &args.cc,
    };
    let prepared = recipe.prepare(inputs)?;
    cached(&recipe, &prepared, inputs)
}

/// The server of a recipe, from the cache if possible.
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
