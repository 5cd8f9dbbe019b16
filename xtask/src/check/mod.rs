//! `cargo xtask check`: runs the steps of `steps`, several at a time.
//!
//! A failed step stops no other. A step whose stamp is unchanged is reported as unchanged and not
//! repeated. A step whose program or script is absent fails. The last line, alone: `N passed, M failed`.
//! Must not know: what steps prove.

mod digest;
mod generated;
mod process;
mod room;
mod sample;
mod stamp;
mod steps;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use self::digest::Digest;
use self::process::{finish, processor_of};
use self::sample::Sample;
pub use self::sample::Shard;
use self::stamp::{Inputs, Stamp};
use self::steps::{STEPS, Step, Work};
use crate::tool::{self, Outcome};

/// Steps at once: many of them wait, or keep one processor busy.
const LANES: usize = 4;

/// The variable that allows a step to skip parts of its work that have passed before, and tells it a
/// digest of the installed tools, on which those results depend.
const TOOLS: &str = "CHECK_TOOLS";

/// How long a step may take: several times what the longest one takes on a busy machine, so only one that
/// hangs is ended. Drivers of tests have less time for each of their tests.
const LIMIT: Duration = Duration::from_secs(45 * 60);
/// The same where steps do everything.
const LIMIT_ALL: Duration = Duration::from_secs(3 * 60 * 60);

/// What to run, as the command line says it.
#[derive(clap::Args)]
pub struct Options {
    /// Begin nothing more after a failure
    #[arg(long)]
    fail_fast: bool,
    /// Also run steps that are unchanged since they passed
    #[arg(long)]
    again: bool,
    /// The first seed of all random work [default: the date]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Do everything, not a sample of the day
    #[arg(long)]
    all: bool,
    /// With --all: do only the I-th of N shares, as in 2/3
    #[arg(long, value_name = "I/N", requires = "all")]
    shard: Option<Shard>,
    /// Only the steps of these names
    #[arg(value_name = "STEP")]
    only: Vec<String>,
}

/// Runs the steps; all of them, or those that are named.
pub fn check(options: &Options) -> ExitCode {
    if let Some(unknown) = options
        .only
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
    let started = Instant::now();
    let sample = Sample::new(options.seed, options.all, options.shard);
    println!("{sample}");
    let (mut steps, mut elsewhere) = (Vec::new(), Vec::new());
    let seconds: Vec<_> = STEPS
        .iter()
        .map(|step| (!step.splits).then_some(step.takes))
        .collect();
    for (step, included) in STEPS.iter().zip(sample.includes(&seconds)) {
        if !options.only.is_empty() {
            if options.only.iter().any(|name| name == step.name) {
                steps.push(step);
            }
        } else if step.rare && !options.all {
            println!("in --all alone: {}", step.name);
        } else if included {
            steps.push(step);
        } else {
            elsewhere.push(step.name);
        }
    }
    if !elsewhere.is_empty() {
        println!("in other shards: {}", elsewhere.join(", "));
    }
    println!();
    let mut built = Spent::default();
    let nest = if steps.iter().any(|step| step.needs_nest()) {
        match build_nest(&mut built.processor) {
            Ok(nest) => Some(nest),
            Err(why) => {
                println!("{why}");
                if let Some(full) = room::trouble(&tool::target()) {
                    println!("{full}");
                }
                println!("0 passed, 1 failed");
                return ExitCode::FAILURE;
            }
        }
    } else {
        None
    };
    built.wall = started.elapsed().as_secs_f64();
    let run = Run::new(steps, sample, options, nest);
    if built.processor.is_some() {
        run.lock().times.push(("(build)", built));
    }
    run.carry_out();
    run.close(started)
}

/// Builds the compiler once for all steps: its path. It is a link of its own, so that no build that a
/// step begins replaces it under another.
fn build_nest(processor: &mut Option<f64>) -> Result<PathBuf, String> {
    let (mut command, built) = tool::test_nest();
    finish(&mut command, LIMIT, processor)?;
    let link = folder().join("nest");
    let wrong = |e| format!("cannot link {}: {e}", link.display());
    std::fs::create_dir_all(folder()).map_err(wrong)?;
    match std::fs::remove_file(&link) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(wrong(e)),
        _ => std::fs::hard_link(&built, &link).map_err(wrong)?,
    }
    Ok(link)
}

/// Where logs, stamps and times are.
fn folder() -> PathBuf {
    tool::target().join("check")
}

/// Steps that are carried out.
struct Run {
    steps: Vec<&'static Step>,
    sample: Sample,
    fail_fast: bool,
    /// Steps run even if their stamps are unchanged.
    again: bool,
    nest: Option<PathBuf>,
    inputs: Inputs,
    folder: PathBuf,
    board: Mutex<Board>,
    changed: Condvar,
}

/// What has begun and what has ended.
#[derive(Default)]
struct Board {
    next: usize,
    running: usize,
    /// The step that runs must be alone.
    alone: bool,
    passed: usize,
    unchanged: usize,
    failed: Vec<&'static str>,
    times: Vec<(&'static str, Spent)>,
}

/// How one step ended.
enum End {
    Passed(String),
    /// The stamp is that of a run that passed.
    Unchanged(Stamp),
    Failed(String),
}

/// Seconds that a step took. Those of processors are unknown of what runs in this process.
#[derive(Clone, Copy, Default)]
struct Spent {
    wall: f64,
    processor: Option<f64>,
}

impl Run {
    fn new(
        steps: Vec<&'static Step>,
        sample: Sample,
        options: &Options,
        nest: Option<PathBuf>,
    ) -> Run {
        let folder = folder();
        Run {
            steps,
            sample,
            fail_fast: options.fail_fast,
            again: options.again || !options.only.is_empty(),
            inputs: Inputs::new(tool::root(), nest.clone(), folder.join("generated")),
            nest,
            folder,
            board: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Carries out the steps, several at once.
    fn carry_out(&self) {
        thread::scope(|lanes| {
            for _ in 0..LANES.min(self.steps.len()) {
                lanes.spawn(|| self.lane());
            }
        });
    }

    /// Carries out one step after the other until none is left.
    fn lane(&self) {
        while let Some((number, step)) = self.begin() {
            let started = Instant::now();
            let mut log = None;
            let mut spent = Spent::default();
            let end = self.step(step, &number, &mut log, &mut spent.processor);
            spent.wall = started.elapsed().as_secs_f64();
            let mut board = self.lock();
            if let Some(log) = &log {
                println!("== {number} {}: {}", step.name, step.about);
                log.show();
            }
            let seconds = spent.wall;
            match end {
                End::Passed(said) => {
                    board.passed += 1;
                    board.times.push((step.name, spent));
                    let said = if said.is_empty() {
                        said
                    } else {
                        format!(": {said}")
                    };
                    println!("-- {} passed in {seconds:.1} s{said}\n", step.name);
                }
                End::Unchanged(stamp) => {
                    board.passed += 1;
                    board.unchanged += 1;
                    println!(
                        "-- {} unchanged since it passed {}\n",
                        step.name,
                        stamp.age()
                    );
                }
                End::Failed(why) => {
                    board.failed.push(step.name);
                    board.times.push((step.name, spent));
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
                return Some((format!("{}/{}", board.next, self.steps.len()), step));
            }
            board = self
                .changed
                .wait(board)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One step: skipped if nothing of it has changed, else run, with a stamp if it passes.
    fn step(
        &self,
        step: &Step,
        number: &str,
        log: &mut Option<Log>,
        processor: &mut Option<f64>,
    ) -> End {
        let before = match self.digest(step) {
            Ok(digest) => digest,
            Err(why) => return End::Failed(why),
        };
        let (path, sample) = (self.stamp_path(step), self.variables(step));
        let stamp = Stamp::read(&path).filter(|stamp| Some(stamp.inputs) == before);
        match stamp {
            Some(stamp) if !self.again && stamp.sample == sample => return End::Unchanged(stamp),
            _ => (),
        }
        let result = if self.live(step) {
            println!("== {number} {}: {}", step.name, step.about);
            self.work(step, None, processor)
        } else {
            println!(".. {number} {} begins", step.name);
            let made = Log::new(&self.folder, step);
            made.and_then(|made| self.work(step, Some(log.insert(made)), processor))
        };
        match result {
            Ok(said) => {
                // What was edited meanwhile may not have been tested.
                if let (Some(inputs), true) = (before, self.digest(step) == Ok(before))
                    && let Err(why) = Stamp::now(inputs, sample).write(&path)
                {
                    return End::Failed(why);
                }
                End::Passed(said)
            }
            Err(why) => {
                let _ = std::fs::remove_file(&path);
                let hint = self.explain(step, stamp.as_ref(), &sample);
                End::Failed(format!("{why}\n{hint}"))
            }
        }
    }

    /// What a failure may mean, and the command that repeats it.
    fn explain(&self, step: &Step, stamp: Option<&Stamp>, sample: &str) -> String {
        let again = self.sample.again(step.name);
        match stamp {
            Some(stamp) if stamp.sample != sample => format!(
                "the code is the same as when this passed {} with {}: a new seed has found an old \
                 fault; add a test for it\nrepeat it: {again}",
                stamp.age(),
                stamp.sample
            ),
            Some(stamp) => format!(
                "the same passed {}: this failure depends on chance or on the machine\n\
                 repeat it: {again} (--again)",
                stamp.age()
            ),
            None => format!("repeat it: {again}"),
        }
    }

    /// Of all that the step's result depends on but the sample; none if it runs always.
    fn digest(&self, step: &Step) -> Result<Option<Digest>, String> {
        let steps::Inputs::Paths(paths) = step.inputs else {
            return Ok(None);
        };
        let mut inputs = Vec::new();
        for path in paths {
            match path.strip_prefix("crate:") {
                Some(name) => inputs.extend(stamp::of_crate(&tool::root(), name)?),
                None => inputs.push((*path).to_owned()),
            }
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.inputs.digest(&step.work.describe(), &inputs).map(Some)
    }

    fn stamp_path(&self, step: &Step) -> PathBuf {
        let all = if self.sample.all { ".all" } else { "" };
        self.folder.join(format!("{}{all}.stamp", step.name))
    }

    /// The variables that the step gets, as text.
    fn variables(&self, step: &Step) -> String {
        let set = self.sample.variables(step.draws, step.splits);
        let set = set.into_iter();
        let words: Vec<_> = set
            .filter_map(|(name, value)| Some(format!("{name}={}", value?)))
            .collect();
        words.join(" ")
    }

    fn work(&self, step: &Step, log: Option<&Log>, processor: &mut Option<f64>) -> Outcome {
        let mut command = match step.work {
            Work::Cargo(arguments) => {
                let mut command = tool::cargo();
                command.args(arguments);
                command
            }
            Work::Program(words) => {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]).current_dir(tool::root());
                if let Some(nest) = &self.nest {
                    command.env("NEST", nest);
                }
                command
            }
            Work::Task(task) => return task(),
        };
        self.sample.tell(&mut command, step.draws, step.splits);
        if self.again || self.sample.all {
            command.env_remove(TOOLS);
        } else {
            command.env(TOOLS, format!("{:016x}", self.inputs.tools()));
        }
        if let Some(log) = log {
            command.stdin(Stdio::null());
            command.stdout(log.end()?).stderr(log.end()?);
        }
        let limit = if self.sample.all { LIMIT_ALL } else { LIMIT };
        finish(&mut command, limit, processor)?;
        Ok(String::new())
    }

    /// Whether a step's output may be shown as it comes: nothing else is printed meanwhile.
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
        let seconds = started.elapsed().as_secs_f64();
        if let Err(why) = self.write_times(&board, seconds) {
            println!("{why}");
        }
        println!("{seconds:.0} s; {}", self.sample);
        if board.unchanged > 0 {
            println!(
                "{} steps are unchanged since they passed, and were not repeated (--again does)",
                board.unchanged
            );
        }
        if !board.failed.is_empty() {
            println!("failed: {}", board.failed.join(", "));
            if let Some(full) = room::trouble(&self.folder) {
                println!("{full}");
            }
        }
        println!("{} passed, {} failed", board.passed, board.failed.len());
        if board.failed.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    /// Leaves a table of what the steps took, the longest first, and of this process with all that it ran.
    fn write_times(&self, board: &Board, seconds: f64) -> Result<(), String> {
        let mut times = board.times.clone();
        times.sort_by(|(_, a), (_, b)| b.wall.total_cmp(&a.wall));
        let mut text = format!("{:14}{:>8}{:>13}\n", "step", "wall s", "processor s");
        for (name, spent) in &times {
            let processor = spent.processor.map_or("-".into(), |s| format!("{s:.1}"));
            text += &format!("{name:14}{:>8.1}{processor:>13}\n", spent.wall);
        }
        let sum = processor_of("self").map_or("-".into(), |s| format!("{s:.1}"));
        text += &format!("{:14}{seconds:>8.1}{sum:>13}\n", "all");
        let path = self.folder.join("times.txt");
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }
}

/// What a step prints while others run, shown when it has ended.
struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn new(folder: &Path, step: &Step) -> Result<Log, String> {
        let path = folder.join(format!("{}.log", step.name));
        std::fs::create_dir_all(folder)
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

#[cfg(test)]
mod tests;
