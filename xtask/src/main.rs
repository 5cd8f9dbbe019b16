//! Everything that is done to the project rather than by it: `cargo xtask TASK`.
//!
//! Must not know: how the compiler works; it runs programs and reads files.

mod bench;
mod book;
mod check;
mod demo;
mod fuzz;
mod install;
mod specification;
mod tidy;
mod tool;
mod worst;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const AFTER_CHECK: &str = "Examples:
  cargo xtask check tidy format clippy     only these steps
  cargo xtask check --seed 20261122000000  what was tried on that day
  cargo xtask check --all --shard 1/4      a quarter of everything";

/// Tasks of the nest project.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the checks, several at a time; the last line counts them
    ///
    /// A step is not repeated while its command, the files that it reads and the installed tools are
    /// unchanged since it passed; it is then reported as unchanged. Steps that draw at random begin
    /// with a seed that is the date, so each day tries something else; the seed is printed, and --seed
    /// brings it back. Some steps do a sample of their work: --all does all of it. Steps that are named
    /// always run. target/check holds what each step printed and a table of times.
    #[command(after_help = AFTER_CHECK)]
    Check(check::Options),
    /// Check the house rules that a program can check
    Tidy,
    /// Measure the compiler against its budgets, and servers beside floors and servers of others
    Bench {
        /// `compiler`: that alone; else arguments of benches/bench.py: the servers alone
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Measure the matchers that nest emits beside those of others
    BenchMatching {
        /// Arguments of benches/matching/bench.py
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print a valid specification of about so many lines
    Specification {
        /// Lines
        #[arg(default_value_t = 2000)]
        lines: usize,
    },
    /// Render the documentation, and look at every link of it
    Book,
    /// Serve the documentation by a server that nest makes
    Demo {
        /// The concurrency model
        #[arg(long, default_value = "event")]
        model: String,
    },
    /// Install nest, its completions and its manual pages
    Install {
        /// Where
        #[arg(long, default_value = "/usr/local")]
        prefix: PathBuf,
        /// Put in front of the prefix, for packaging
        #[arg(long, default_value = "")]
        destdir: OsString,
    },
    /// Fuzz the compiler's front end
    Fuzz {
        /// How long
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Check(options) => return check::check(&options),
        Task::Tidy => tidy::tidy(),
        Task::Bench { arguments } => bench::bench(&arguments),
        Task::BenchMatching { arguments } => bench::matching(&arguments),
        Task::Specification { lines } => {
            print!("{}", specification::specification(lines));
            Ok(String::new())
        }
        Task::Book => book::book(),
        Task::Demo { model } => demo::demo(&model),
        Task::Install { prefix, destdir } => install::install(&prefix, Path::new(&destdir)),
        Task::Fuzz { seconds } => fuzz::fuzz(seconds),
    };
    match result {
        Ok(said) => {
            if !said.is_empty() {
                println!("{said}");
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
