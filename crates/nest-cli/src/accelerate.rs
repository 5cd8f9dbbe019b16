//! `nest accelerate`: answers static files from inside the kernel, in front of a server.
//!
//! Must not know: how the kernel does it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nest_kernel::{Options, Question};

use crate::args::Accelerate;
use crate::term::{self, ERROR, Failure};

/// The exit status for a system that cannot do it, as in sysexits.h.
const UNAVAILABLE: u8 = 69;

/// Runs the server behind the kernel, or asks one that runs.
pub fn accelerate(args: &Accelerate) -> Result<ExitCode, Failure> {
    let default = || PathBuf::from(format!("/run/nest-accelerate-{}.sock", args.port));
    let state = args.state.clone().unwrap_or_else(default);
    let served = args.attach || !args.server.is_empty();
    let running = args.root.is_none() && args.hosts.is_empty() && !served;
    let address = match args.metrics {
        Some(None) if !running || args.log.is_some() => {
            return Err(Failure::Usage(
                "--metrics without an address asks a running one: give only --port and --state with it".to_owned(),
            ));
        }
        Some(Some(_)) if (args.root.is_none() && args.hosts.is_empty()) || !served => {
            return Err(Failure::Usage(
                "--metrics ADDRESS is for the start: give --root DIR or --host, and --attach or the server \
                after --"
                    .to_owned(),
            ));
        }
        given => given.flatten(),
    };
    let questions = [
        (args.status, Question::Status),
        (args.metrics == Some(None), Question::Metrics),
        (args.stop, Question::Stop),
    ];
    if let Some((_, question)) = questions.iter().find(|(asked, _)| *asked) {
        let ask = |q| nest_kernel::ask(&state, q).map_err(|e| Failure::new(e.to_string()));
        // A wrong --state must not stop the accelerator of another port.
        if *question == Question::Stop {
            let status = ask(Question::Status)?;
            if !status.starts_with(&format!("port {}: ", args.port)) {
                return Err(Failure::new(format!(
                    "{} belongs to another port than {}: --status tells which",
                    state.display(),
                    args.port
                )));
            }
        }
        term::print(ask(*question)?);
        return Ok(ExitCode::SUCCESS);
    }
    let hosts = args.hosts.iter().map(|text| host(text));
    let options = Options {
        port: args.port,
        root: args.root.clone(),
        hosts: hosts.collect::<Result<_, _>>()?,
        size: args.size * 1024,
        age: Duration::from_secs(args.age.into()),
        state,
        metrics: address,
        counts: args.counts.clone(),
        polls: args.polls,
        tell: args.tell.clone(),
        log: args.log.clone(),
        server: (!args.attach).then(|| args.server.clone()),
    };
    match nest_kernel::accelerate(&options, &|line| term::note(line)) {
        Ok(ended) => Ok(ExitCode::from(nest_kernel::exit_status(ended))),
        // A server that starts nest for itself serves nevertheless.
        Err(nest_kernel::Failure::Missing(what)) if args.counts.is_some() => {
            let what = what.join("; ");
            term::note(format!("the server answers everything itself: {what}"));
            Ok(ExitCode::from(UNAVAILABLE))
        }
        Err(nest_kernel::Failure::Unfit) if args.counts.is_some() => {
            Ok(ExitCode::from(UNAVAILABLE))
        }
        Err(failure @ (nest_kernel::Failure::Missing(_) | nest_kernel::Failure::Unfit)) => {
            term::say(format_args!("{ERROR}error:{ERROR:#} {failure}\n"));
            Ok(ExitCode::from(UNAVAILABLE))
        }
        Err(failure) => Err(Failure::new(failure.to_string())),
    }
}

/// Reads `NAME=DIR`.
fn host(text: &str) -> Result<(String, PathBuf), Failure> {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
            Ok((name.to_ascii_lowercase(), PathBuf::from(folder)))
        }
        _ => Err(Failure::Usage(format!(
            "--host {text}: write it as NAME=DIR, such as www.example.org=/srv/www"
        ))),
    }
}
