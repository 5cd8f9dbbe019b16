//! Tests of how steps are run, skipped and reported.

use std::sync::OnceLock;
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

const fn step(name: &'static str, task: fn() -> Outcome) -> Step {
    Step::new(name, "a test", steps::Inputs::Any, Work::Task(task))
}

static PLAIN: Step = step("plain", || {
    during(|_| ());
    Ok(String::new())
});
static ALONE: Step = step("alone", || {
    during(|running| _ = MET.fetch_max(running, SeqCst));
    Ok(String::new())
})
.alone();
static WRONG: Step = step("wrong", || Err("it is wrong".into()));

/// Steps as a user runs them, with logs and stamps in a folder of the test's own.
struct Trial {
    folder: PathBuf,
    options: Options,
}

impl Trial {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("nest-run-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).unwrap();
        Trial {
            folder,
            options: Options {
                fail_fast: false,
                again: false,
                seed: Some(1),
                all: false,
                shard: None,
                only: Vec::new(),
            },
        }
    }

    fn run(&self, steps: Vec<&'static Step>) -> Run {
        let sample = Sample::new(self.options.seed, self.options.all, self.options.shard);
        let mut run = Run::new(steps, sample, &self.options, None);
        run.folder.clone_from(&self.folder);
        run.inputs = Inputs::new(self.folder.clone(), None, self.folder.join("generated"));
        run.carry_out();
        run
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn one_that_measures_is_alone() {
    let trial = Trial::new("alone");
    let run = trial.run(vec![&PLAIN, &ALONE, &PLAIN, &PLAIN, &ALONE]);
    assert_eq!((run.lock().passed, MET.load(SeqCst)), (5, 1));
}

#[test]
fn a_failure_ends_no_other_unless_it_shall() {
    let mut trial = Trial::new("failure");
    let run = trial.run(vec![&WRONG, &WRONG, &WRONG]);
    assert_eq!(run.lock().failed.len(), 3);
    // What other lanes have begun meanwhile is carried out.
    trial.options.fail_fast = true;
    let run = trial.run(vec![&WRONG, &WRONG, &WRONG, &WRONG, &WRONG]);
    assert!((1..=LANES).contains(&run.lock().failed.len()));
    assert!(run.lock().next < 5);
}

/// Whether the step ran or was skipped: (passed, unchanged, failed).
fn counts(run: &Run) -> (usize, usize, usize) {
    let board = run.lock();
    (board.passed, board.unchanged, board.failed.len())
}

#[test]
fn an_unchanged_step_is_skipped_and_counted() {
    static STEP: Step = Step::new(
        "reads",
        "a test",
        steps::Inputs::Paths(&["in"]),
        Work::Program(&["true"]),
    );
    let mut trial = Trial::new("unchanged");
    std::fs::write(trial.folder.join("in/a"), "1").unwrap();
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 1, 0));
    // It draws nothing, so another seed is nothing new; --again and --all are.
    trial.options.seed = Some(2);
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 1, 0));
    trial.options.again = true;
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    trial.options.again = false;
    trial.options.all = true;
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    trial.options.all = false;
    std::fs::write(trial.folder.join("in/a"), "2").unwrap();
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    // Named, it always runs.
    trial.options.only.push("reads".into());
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
}

#[test]
fn a_seed_that_finds_an_old_fault_is_reported_so() {
    static STEP: Step = Step {
        draws: true,
        ..Step::new(
            "drawn",
            "a test",
            steps::Inputs::Paths(&["in"]),
            Work::Program(&["sh", "-c", "test \"$CHECK_SEED\" = 1"]),
        )
    };
    let mut trial = Trial::new("seed");
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    trial.options.seed = Some(2);
    let run = trial.run(Vec::new());
    let end = run.step(&STEP, "1/1", &mut None, &mut None);
    let End::Failed(why) = end else {
        panic!("seed 2 passes")
    };
    assert!(why.contains("a new seed has found an old fault"), "{why}");
    assert!(why.contains("CHECK_SEED=1"), "{why}");
    assert!(why.contains("make check SEED=2 CHECKFLAGS=drawn"), "{why}");
    // What failed is not skipped afterwards, also not with the seed that passed.
    trial.options.seed = Some(1);
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
}

#[test]
fn what_is_edited_while_it_is_tested_gets_no_stamp() {
    static EDITED: OnceLock<PathBuf> = OnceLock::new();
    static STEP: Step = Step::new(
        "edited",
        "a test",
        steps::Inputs::Paths(&["in"]),
        Work::Task(|| {
            let file = EDITED.get().expect("set below");
            let text = std::fs::read_to_string(file).unwrap();
            std::fs::write(file, if text == "1" { "2" } else { "3" }).unwrap();
            Ok(String::new())
        }),
    );
    let trial = Trial::new("edited");
    let file = EDITED.get_or_init(|| trial.folder.join("in/a"));
    std::fs::write(file, "1").unwrap();
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    // Now it writes what is there already.
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 0, 0));
    assert_eq!(counts(&trial.run(vec![&STEP])), (1, 1, 0));
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<_> = STEPS.iter().map(|s| s.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), STEPS.len());
    for step in STEPS {
        match step.inputs {
            steps::Inputs::Any => assert!(!step.draws && !step.splits, "{}", step.name),
            steps::Inputs::Paths(paths) => {
                for path in paths.iter().filter(|path| !path.starts_with('@')) {
                    let there = match path.strip_prefix("crate:") {
                        Some(name) => stamp::of_crate(&tool::root(), name).is_ok(),
                        None => tool::root().join(path).exists(),
                    };
                    assert!(there, "{}: {path}", step.name);
                }
            }
        }
    }
}

#[test]
fn what_cargo_compiles_is_read() {
    let paths = |name: &str| {
        let step = STEPS.iter().find(|step| step.name == name).unwrap();
        match step.inputs {
            steps::Inputs::Paths(paths) => paths,
            steps::Inputs::Any => panic!("{name} reads anything"),
        }
    };
    let crates = tool::files(".").unwrap().into_iter();
    for file in crates.filter(|file| file.ends_with("Cargo.toml") && !file.starts_with("fuzz")) {
        for step in ["clippy", "test", "damaged"] {
            let inside = paths(step).iter().any(|path| file.starts_with(path));
            assert!(inside, "{step} does not read {}", file.display());
        }
    }
}

#[test]
fn every_check_of_the_runtime_is_in_a_step() {
    let run: Vec<&str> = STEPS
        .iter()
        .flat_map(|step| match step.work {
            Work::Program(words) if words.contains(&"runtime/tests") => words,
            _ => &[],
        })
        .copied()
        .collect();
    let makefile = tool::text("runtime/tests/Makefile".as_ref()).unwrap();
    let checks = makefile
        .lines()
        .find_map(|line| line.strip_prefix("check: "));
    for check in checks.unwrap().split_whitespace() {
        assert!(run.contains(&check), "{check} is in no step");
    }
}

#[test]
fn shards_of_the_shapes_of_specifications_are_all_of_them() {
    let listed = |shard: &str| -> Vec<String> {
        let mut command = Command::new("python3");
        command.args(["tests/growth/run.py", "--list"]);
        command
            .current_dir(tool::root())
            .env("CHECK_ALL", "1")
            .env("CHECK_SHARD", shard);
        let list = tool::output(&mut command).unwrap();
        list.lines().map(str::to_owned).collect()
    };
    let mut parts: Vec<String> = ["1/3", "2/3", "3/3"].into_iter().flat_map(listed).collect();
    let mut all = listed("1/1");
    parts.sort();
    all.sort();
    assert!(all.len() > 200);
    assert_eq!(parts, all);
}
