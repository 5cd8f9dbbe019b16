//! `cargo xtask check`: one table of steps, run in order.
//!
//! The last line, alone: `N passed, M failed`. A step whose program or script is absent fails; no
//! step is ever skipped in silence.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::tool::{self, Outcome};
use crate::{book, tidy};

/// One check.
struct Step {
    name: &'static str,
    /// What it proves.
    about: &'static str,
    work: Work,
}

enum Work {
    /// Arguments of cargo.
    Cargo(&'static [&'static str]),
    /// A program and its arguments, in the root.
    Program(&'static [&'static str]),
    /// A function here.
    Task(fn() -> Outcome),
}

/// A new check is a new line; what is quick and finds much stands first.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "the Rust is formatted",
        work: Work::Cargo(&["fmt", "--check"]),
    },
    Step {
        name: "tidy",
        about: "the house rules hold",
        work: Work::Task(tidy::tidy),
    },
    Step {
        name: "c-format",
        about: "the C is formatted",
        work: Work::Task(tidy::c_format),
    },
    Step {
        name: "clippy",
        about: "no lint is unheard",
        work: Work::Cargo(&[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step {
        name: "layers",
        about: "each part of the runtime imports what it may, and no more",
        work: Work::Program(&["make", "-C", "runtime/tests", "layers"]),
    },
    Step {
        name: "test",
        about: "the compiler's own tests pass",
        work: Work::Cargo(&["test", "--quiet", "--workspace"]),
    },
    Step {
        name: "patterns",
        about: "two million random conversations are decided as libpcre2 decides them",
        work: Work::Program(&[
            "env",
            "NEST_TRIALS=2000000",
            "cargo",
            "test",
            "--quiet",
            "-p",
            "nest-pattern",
            "--test",
            "pattern",
            "differential",
        ]),
    },
    Step {
        name: "runtime",
        about: "the engine and its io hold under every cut, stall and failed allocation",
        work: Work::Program(&[
            "make",
            "-C",
            "runtime/tests",
            "wheel",
            "cuts",
            "times",
            "oracle",
            "faults",
            "sockets",
            "costs",
        ]),
    },
    Step {
        name: "simulate",
        about: "a million drawn conversations, in virtual time, with faults: nothing is ever wrong",
        work: Work::Program(&["python3", "runtime/tests/simulate.py"]),
    },
    Step {
        name: "mutations",
        about: "the simulation finds bugs that are planted",
        work: Work::Program(&["python3", "runtime/tests/simulate.py", "--few"]),
    },
    Step {
        name: "crews",
        about: "crews, listeners and configuration hold, with memory watched",
        work: Work::Program(&[
            "python3",
            "runtime/tests/crews.py",
            "--sanitize",
            "address,undefined",
        ]),
    },
    Step {
        name: "races",
        about: "threads of a thread server have no data race",
        work: Work::Program(&[
            "python3",
            "runtime/tests/crews.py",
            "--model",
            "thread",
            "--sanitize",
            "thread",
        ]),
    },
    Step {
        name: "deploy",
        about: "units and images that nest writes are sound, and servers work in them",
        work: Work::Program(&["python3", "tests/deploy/run.py"]),
    },
    Step {
        name: "pages",
        about: "the documentation renders, and no link of it is dead",
        work: Work::Task(book::book),
    },
    Step {
        name: "book",
        about: "every command, specification and conversation of the documentation does what it says",
        work: Work::Program(&["python3", "tests/book/run.py"]),
    },
    Step {
        name: "conformance",
        about: "every model gives the transcript that the language asks for, examples included",
        work: Work::Program(&["python3", "conformance/run.py"]),
    },
    Step {
        name: "listeners",
        about: "systemd's and inetd's clients are served; stops, settings, the log, memory",
        work: Work::Program(&["python3", "tests/listeners/run.py"]),
    },
    Step {
        name: "costs",
        about: "a request costs the system calls, allocations and wake-ups that are published",
        work: Work::Program(&["python3", "tests/cost/run.py"]),
    },
    Step {
        name: "attacks",
        about: "an attack harms nobody else, and nothing of it is left",
        work: Work::Program(&["python3", "tests/faults/run.py"]),
    },
    Step {
        name: "helpers",
        about: "files and blocks hold: paths, cuts, full and failing disks, helper threads",
        work: Work::Program(&["python3", "tests/helpers/run.py"]),
    },
    Step {
        name: "servers",
        about: "the web and mail servers serve the clients that people use",
        work: Work::Program(&["python3", "tests/servers/run.py"]),
    },
    Step {
        name: "matching",
        about: "emitted matchers decide as libpcre2 does, at the same byte",
        work: Work::Program(&["python3", "tests/matching/run.py"]),
    },
    Step {
        name: "project",
        about: "generated C builds everywhere, clean, and says where it came from",
        work: Work::Program(&["python3", "tests/project/run.py"]),
    },
];

/// Runs the steps; all of them, or those that are named.
pub fn check(keep_going: bool, only: &[String]) -> ExitCode {
    if let Some(unknown) = only
        .iter()
        .find(|name| STEPS.iter().all(|s| s.name != **name))
    {
        let known: Vec<_> = STEPS.iter().map(|s| s.name).collect();
        eprintln!(
            "error: there is no step {unknown}; the steps are {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    }
    let wanted = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    let steps: Vec<&Step> = STEPS.iter().filter(wanted).collect();
    let mut failed = Vec::new();
    let mut passed = 0;
    for (number, step) in steps.iter().enumerate() {
        println!(
            "== {}/{} {}: {}",
            number + 1,
            steps.len(),
            step.name,
            step.about
        );
        let started = Instant::now();
        let result = step.run();
        let seconds = started.elapsed().as_secs_f64();
        match result {
            Ok(said) => {
                passed += 1;
                let said = if said.is_empty() {
                    said
                } else {
                    format!(": {said}")
                };
                println!("-- {} passed in {seconds:.1} s{said}\n", step.name);
            }
            Err(why) => {
                failed.push(step.name);
                println!("{why}\n-- {} FAILED in {seconds:.1} s\n", step.name);
                if !keep_going {
                    break;
                }
            }
        }
    }
    let ran = passed + failed.len();
    if ran < steps.len() {
        println!(
            "stopped at the first failure; {} steps did not run",
            steps.len() - ran
        );
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{passed} passed, {} failed", failed.len());
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Step {
    fn run(&self) -> Outcome {
        match self.work {
            Work::Cargo(arguments) => tool::run(tool::cargo().args(arguments))?,
            Work::Program(words) => {
                tool::run(
                    Command::new(words[0])
                        .args(&words[1..])
                        .current_dir(tool::root()),
                )?;
            }
            Work::Task(task) => return task(),
        }
        Ok(String::new())
    }
}
