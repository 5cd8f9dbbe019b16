//! `nest`, the command line program: from arguments to an exit status.
//!
//! Only this crate does I/O for the compiler's crates. Exit status: 0 success, 1 findings or
//! failure, 2 wrong usage. `nest run` passes on the status of the server.

mod accelerate;
mod advice;
mod args;
mod bench;
mod bounds;
mod build;
mod built;
mod cache;
mod cache_sim;
mod cc;
mod cc_messages;
mod certificate;
mod check;
mod children;
mod compile;
mod condition;
mod create;
mod events;
mod explain;
mod findings;
mod generate;
mod graph;
mod matching;
mod obtain;
mod overwrite;
mod pages;
mod quoted;
mod record;
mod recording;
mod replay;
mod run;
mod signals;
mod source;
mod supervise;
mod term;
mod test;
mod tls;
mod top;
mod trace;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use args::{Cli, Color, Command};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    term::choose_colour(wanted_colour(&arguments));
    let mut cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(mut error) => {
            advice::advise(&mut error, &arguments);
            let status = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(status);
        }
    };
    term::choose_colour(cli.color);
    let result = match &mut cli.command {
        Command::New(args) => create::new(args),
        Command::Check(args) => check::check(args),
        Command::Graph(args) => graph::graph(args),
        Command::Gen(args) => generate::generate(args),
        Command::Build(args) => build::build(args),
        Command::Run(args) => run::run(args),
        Command::Test(args) => test::test(args),
        Command::Bench(args) => bench::bench(args),
        Command::Condition(args) => condition::condition(args),
        Command::Accelerate(args) => accelerate::accelerate(args),
        Command::CacheSim(args) => cache_sim::cache_sim(args),
        Command::Top(args) => top::top(args),
        Command::Trace(args) => events::trace(args),
        Command::Explain(args) => explain::explain(args),
        Command::Completions(args) => pages::completions(args),
        Command::Man(args) => pages::man(args),
    };
    let status = result.unwrap_or_else(term::Failure::report);
    term::unwritten().map_or(status, ExitCode::from)
}

/// Reads `--color` before the arguments are parsed, so that help and usage errors follow it too.
fn wanted_colour(arguments: &[OsString]) -> Color {
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).collect();
    let own = words.iter().position(|t| t == "--").unwrap_or(words.len());
    let value = words[..own].iter().enumerate().find_map(|(i, text)| {
        text.strip_prefix("--color=")
            .map(str::to_owned)
            .or_else(|| (text == "--color").then(|| words.get(i + 1).map(ToString::to_string))?)
    });
    value
        .and_then(|v| Color::from_str(&v, false).ok())
        .unwrap_or(Color::Auto)
}
