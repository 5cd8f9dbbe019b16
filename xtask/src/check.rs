//! `cargo xtask check`: one table of steps, two at a time.
//!
//! A step that fails ends no other. The last line, alone: `N passed, M failed`. A step whose program
//! or script is absent fails; no step is ever skipped in silence.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::tool::{self, Outcome};
use crate::{book, tidy};

/// Steps at once: many of them wait, or keep one processor busy.
const LANES: usize = 2;

/// One check.
struct Step {
    name: &'static str,
    /// What it proves.
    about: &'static str,
    /// It measures times: nothing runs beside it.
    alone: bool,
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

/// A new check is a new line. They begin in this order: what is quick and finds much stands first, what
/// waits stands beside what computes, and who is alone comes last.
const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "the Rust is formatted",
        alone: false,
        work: Work::Cargo(&["fmt", "--check"]),
    },
    Step {
        name: "tidy",
        about: "the house rules hold",
        alone: false,
        work: Work::Task(tidy::tidy),
    },
    Step {
        name: "c-format",
        about: "the C is formatted",
        alone: false,
        work: Work::Task(tidy::c_format),
    },
    Step {
        name: "layers",
        about: "each part of the runtime imports what it may, and no more",
        alone: false,
        work: Work::Program(&["make", "-C", "runtime/tests", "layers"]),
    },
    Step {
        name: "clippy",
        about: "no lint is unheard",
        alone: false,
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
        name: "runtime",
        about: "the engine and its io hold under every cut, stall and failed allocation",
        alone: false,
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
        name: "test",
        about: "the compiler's own tests pass",
        alone: false,
        work: Work::Cargo(&["test", "--quiet", "--workspace"]),
    },
    Step {
        name: "simulate",
        about: "a million drawn conversations, in virtual time, with faults: nothing is ever wrong",
        alone: false,
        work: Work::Program(&["python3", "runtime/tests/simulate.py"]),
    },
    Step {
        name: "patterns",
        about: "two million random conversations are decided as libpcre2 decides them",
        alone: false,
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
        name: "reach",
        about: "a million random conversations come to no states but those that the checker knows",
        alone: false,
        work: Work::Program(&[
            "env",
            "NEST_TRIALS=1000000",
            "cargo",
            "test",
            "--quiet",
            "-p",
            "nest-machine",
            "--test",
            "reach_random",
        ]),
    },
    Step {
        name: "mutations",
        about: "the simulation finds bugs that are planted",
        alone: false,
        work: Work::Program(&["python3", "runtime/tests/simulate.py", "--few"]),
    },
    Step {
        name: "workers",
        about: "worker models, listeners and configuration hold, with memory watched",
        alone: false,
        work: Work::Program(&[
            "python3",
            "runtime/tests/workers.py",
            "--sanitize",
            "address,undefined",
        ]),
    },
    Step {
        name: "races",
        about: "threads of a thread server have no data race",
        alone: false,
        work: Work::Program(&[
            "python3",
            "runtime/tests/workers.py",
            "--model",
            "thread",
            "--sanitize",
            "thread",
        ]),
    },
    Step {
        name: "deploy",
        about: "units and images that nest writes are sound, and servers work in them",
        alone: false,
        work: Work::Program(&["python3", "tests/deploy/run.py"]),
    },
    Step {
        name: "pages",
        about: "the documentation renders, and no link of it is dead",
        alone: false,
        work: Work::Task(book::book),
    },
    Step {
        name: "conformance",
        about: "every model gives the transcript that the language asks for, examples included",
        alone: false,
        work: Work::Program(&["python3", "conformance/run.py"]),
    },
    Step {
        name: "book",
        about: "every command, specification and conversation of the documentation does what it says",
        alone: false,
        work: Work::Program(&["python3", "tests/book/run.py"]),
    },
    Step {
        name: "listeners",
        about: "systemd's and inetd's clients are served; stops, settings, the log, memory",
        alone: false,
        work: Work::Program(&["python3", "tests/listeners/run.py"]),
    },
    Step {
        name: "conditioning",
        about: "the conditioning library, its filters and its chains hold under load, kills, hostile input",
        alone: false,
        work: Work::Program(&["make", "-s", "-C", "conditioning", "check"]),
    },
    Step {
        name: "helpers",
        about: "files and blocks hold: paths, cuts, full and failing disks, helper threads",
        alone: false,
        work: Work::Program(&["python3", "tests/helpers/run.py"]),
    },
    Step {
        name: "servers",
        about: "the web and mail servers serve the clients that people use",
        alone: false,
        work: Work::Program(&["python3", "tests/servers/run.py"]),
    },
    Step {
        name: "project",
        about: "generated C builds everywhere, clean, and says where it came from",
        alone: false,
        work: Work::Program(&["python3", "tests/project/run.py"]),
    },
    Step {
        name: "coverage",
        about: "conversations that nest makes go as they are written, and cover what it says",
        alone: false,
        work: Work::Program(&["python3", "tests/coverage/run.py"]),
    },
    Step {
        name: "costs",
        about: "a request costs the system calls, allocations and wake-ups that are published",
        alone: false,
        work: Work::Program(&["python3", "tests/cost/run.py"]),
    },
    Step {
        name: "matching",
        about: "emitted matchers decide as libpcre2 does, at the same byte, each way of matching in turn",
        alone: false,
        work: Work::Program(&["python3", "tests/matching/run.py"]),
    },
    Step {
        name: "matchers",
        about: "so do those of as many small specifications as a minute allows; no byte is looked at twice",
        alone: false,
        work: Work::Program(&["python3", "tests/matching/many.py"]),
    },
    Step {
        name: "planted",
        about: "both find bugs that are planted in the engine's matcher",
        alone: false,
        work: Work::Program(&["python3", "tests/matching/planted.py"]),
    },
    Step {
        name: "reached",
        about: "generated servers come to no states but those that the checker knows",
        alone: false,
        work: Work::Program(&["python3", "tests/reach/servers.py"]),
    },
    Step {
        name: "unreached",
        about: "random conversations find bugs that are planted in what the checker knows of states",
        alone: false,
        work: Work::Program(&["python3", "tests/reach/planted.py"]),
    },
    Step {
        name: "attacks",
        about: "an attack harms nobody else, and nothing of it is left",
        alone: true,
        work: Work::Program(&["python3", "tests/faults/run.py"]),
    },
];

/// Runs the steps; all of them, or those that are named.
pub fn check(fail_fast: bool, only: &[String]) -> ExitCode {
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
    let started = Instant::now();
    let run = Run::of(STEPS.iter().filter(wanted).collect(), fail_fast);
    run.close(started)
}

/// Steps that are carried out.
struct Run {
    steps: Vec<&'static Step>,
    fail_fast: bool,
    board: Mutex<Board>,
    changed: Condvar,
}

/// What has begun and what has ended.
#[derive(Default)]
struct Board {
    next: usize,
    running: usize,
    /// The one that runs wants to be alone.
    alone: bool,
    passed: usize,
    failed: Vec<&'static str>,
}

impl Run {
    /// Carries out the steps, several at once.
    fn of(steps: Vec<&'static Step>, fail_fast: bool) -> Run {
        let run = Run {
            steps,
            fail_fast,
            board: Mutex::default(),
            changed: Condvar::new(),
        };
        thread::scope(|lanes| {
            for _ in 0..LANES.min(run.steps.len()) {
                lanes.spawn(|| run.lane());
            }
        });
        run
    }

    /// Carries out one step after the other until none is left.
    fn lane(&self) {
        while let Some((number, step)) = self.begin() {
            let started = Instant::now();
            let log = (!self.live(step)).then(|| Log::of(step));
            let result = match &log {
                Some(Err(why)) => Err(why.clone()),
                Some(Ok(log)) => step.run(Some(log)),
                None => step.run(None),
            };
            let seconds = started.elapsed().as_secs_f64();
            let mut board = self.lock();
            if let Some(Ok(log)) = &log {
                println!("== {number} {}: {}", step.name, step.about);
                log.show();
            }
            match result {
                Ok(said) => {
                    board.passed += 1;
                    let said = if said.is_empty() {
                        said
                    } else {
                        format!(": {said}")
                    };
                    println!("-- {} passed in {seconds:.1} s{said}\n", step.name);
                }
                Err(why) => {
                    board.failed.push(step.name);
                    println!("{why}\n-- {} FAILED in {seconds:.1} s\n", step.name);
                }
            }
            board.running -= 1;
            self.changed.notify_all();
        }
    }

    /// Takes the next step as soon as it may run: its place in the list, and itself.
    fn begin(&self) -> Option<(String, &'static Step)> {
        let mut board = self.lock();
        loop {
            if self.fail_fast && !board.failed.is_empty() {
                return None;
            }
            let step = *self.steps.get(board.next)?;
            if board.running == 0 || !(step.alone || board.alone) {
                board.next += 1;
                board.running += 1;
                board.alone = step.alone;
                let number = format!("{}/{}", board.next, self.steps.len());
                if self.live(step) {
                    println!("== {number} {}: {}", step.name, step.about);
                } else {
                    println!(".. {number} {} begins", step.name);
                }
                return Some((number, step));
            }
            board = self
                .changed
                .wait(board)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether a step's output may be shown as it comes: nobody else says anything meanwhile.
    fn live(&self, step: &Step) -> bool {
        step.alone || self.steps.len() == 1
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The closing lines.
    fn close(&self, started: Instant) -> ExitCode {
        let board = self.lock();
        if board.next < self.steps.len() {
            println!(
                "stopped at the first failure; {} steps did not run",
                self.steps.len() - board.next
            );
        }
        println!("{:.0} s", started.elapsed().as_secs_f64());
        if !board.failed.is_empty() {
            println!("failed: {}", board.failed.join(", "));
        }
        println!("{} passed, {} failed", board.passed, board.failed.len());
        if board.failed.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

/// What a step says while others run, shown when it has ended.
struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn of(step: &Step) -> Result<Log, String> {
        let folder = tool::target().join("check");
        let path = folder.join(format!("{}.log", step.name));
        std::fs::create_dir_all(&folder)
            .and_then(|()| File::create(&path))
            .map(|file| Log {
                path: path.clone(),
                file,
            })
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// For standard output or errors of a program.
    fn end(&self) -> Result<Stdio, String> {
        let end = self.file.try_clone();
        Ok(end
            .map_err(|e| format!("cannot write {}: {e}", self.path.display()))?
            .into())
    }

    fn show(&self) {
        match std::fs::read(&self.path) {
            Ok(text) => print!("{}", String::from_utf8_lossy(&text)),
            Err(error) => println!("cannot read {}: {error}", self.path.display()),
        }
    }
}

impl Step {
    fn run(&self, log: Option<&Log>) -> Outcome {
        let mut command = match self.work {
            Work::Cargo(arguments) => {
                let mut command = tool::cargo();
                command.args(arguments);
                command
            }
            Work::Program(words) => {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).current_dir(tool::root());
                command
            }
            Work::Task(task) => return task(),
        };
        if let Some(log) = log {
            command.stdin(Stdio::null());
            command.stdout(log.end()?).stderr(log.end()?);
        }
        tool::run(&mut command)?;
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    use super::*;

    /// Steps that run now, and how many the alone one has met.
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MET: AtomicUsize = AtomicUsize::new(0);

    fn during(look: impl Fn(usize)) {
        NOW.fetch_add(1, SeqCst);
        for _ in 0..20 {
            look(NOW.load(SeqCst));
            thread::sleep(Duration::from_millis(5));
        }
        NOW.fetch_sub(1, SeqCst);
    }

    const fn step(name: &'static str, alone: bool, task: fn() -> Outcome) -> Step {
        Step {
            name,
            about: "a test",
            alone,
            work: Work::Task(task),
        }
    }

    static PLAIN: Step = step("plain", false, || {
        during(|_| ());
        Ok(String::new())
    });
    static ALONE: Step = step("alone", true, || {
        during(|running| _ = MET.fetch_max(running, SeqCst));
        Ok(String::new())
    });
    static WRONG: Step = step("wrong", false, || Err("it is wrong".into()));

    #[test]
    fn one_that_measures_is_alone() {
        let run = Run::of(vec![&PLAIN, &ALONE, &PLAIN, &PLAIN, &ALONE], false);
        assert_eq!((run.lock().passed, MET.load(SeqCst)), (5, 1));
    }

    #[test]
    fn a_failure_ends_no_other_unless_it_shall() {
        let run = Run::of(vec![&WRONG, &WRONG, &WRONG], false);
        assert_eq!(run.lock().failed.len(), 3);
        // What the other lane has begun meanwhile is carried out.
        let run = Run::of(vec![&WRONG, &WRONG, &WRONG, &WRONG], true);
        assert!((1..=LANES).contains(&run.lock().failed.len()));
        assert!(run.lock().next < 4);
    }
}
