//! `nest run`: builds into the cache, then runs the server.
//!
//! Without `--trace`, `--record` and `--watch` the server replaces this process, so that signals and the exit
//! status are its own. With them this process supervises the server.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use crate::args::Run;
use crate::certificate;
use crate::compile::compile_again;
use crate::obtain::{command, features, obtain};
use crate::record;
use crate::signals::{self, Hold};
use crate::source;
use crate::supervise::{self, Server};
use crate::term::Failure;
use crate::tls::Tls;
use crate::watch;

/// `nest run`.
pub fn run(args: &mut Run) -> Result<ExitCode, Failure> {
    if args.record.is_some() {
        recordable(args)?;
    }
    if args.tls == Some(Tls::Own) {
        let file = certificate::own()?;
        let value = format!("tls={file} {file}");
        args.arguments.splice(0..0, ["--set".into(), value.into()]);
    }
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
    if args.trace || args.record.is_some() {
        let events = signals::stream()?;
        return supervise::until_end(Server::start(&path, args)?, &events);
    }
    let error = command(&path, args).exec();
    Err(Failure::io(
        format!("cannot run {}", path.display()),
        &error,
    ))
}

/// Fails if what clients send to this server cannot be recorded.
fn recordable(args: &Run) -> Result<(), Failure> {
    if source::is_stdin(&args.spec.file) {
        return Err(Failure::Usage(
            "--record needs a file; standard input is read once".into(),
        ));
    }
    let machine = compile_again(&args.spec, &args.more, features(args))?;
    record::unsuitable(&machine).map_or(Ok(()), |why| {
        Err(Failure::Usage(format!(
            "--record: this server cannot be recorded: {why}"
        )))
    })
}
