//! `nest run`: builds into the cache, then runs the server.
//!
//! Without `--trace` and `--watch` the server replaces this process, so that signals and the exit
//! status are its own. With them this process supervises the server.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use crate::args::Run;
use crate::certificate;
use crate::obtain::{command, obtain};
use crate::signals::{self, Hold};
use crate::source;
use crate::supervise::{self, Server};
use crate::term::Failure;
use crate::tls::Tls;
use crate::watch;

/// `nest run`.
pub fn run(args: &mut Run) -> Result<ExitCode, Failure> {
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
