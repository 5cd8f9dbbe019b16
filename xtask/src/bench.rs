//! `make bench`: measures the compiler's time against its budgets, as a table for benches/record/,
//! and then servers with benches/bench.py. `make bench-matching`: measures matchers.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::specification::specification;
use crate::tool::{self, Outcome};

/// What is measured.
struct Measure<'a> {
    what: String,
    arguments: Vec<&'a str>,
    runs: usize,
    /// The median must not exceed it; `None`: only for comparison.
    budget: Option<Duration>,
}

/// Measures the compiler, then servers. With arguments for the servers, only these; with
/// `compiler`, only the compiler.
pub fn bench(arguments: &[OsString]) -> Outcome {
    let nest = tool::release_nest()?;
    if arguments == ["compiler"] {
        return compiler(&nest);
    }
    let said = if arguments.is_empty() {
        compiler(&nest)?
    } else {
        String::new()
    };
    program("benches/bench.py", &nest, arguments)?;
    Ok(said)
}

/// Measures matchers with benches/matching/bench.py.
pub fn matching(arguments: &[OsString]) -> Outcome {
    let nest = tool::release_nest()?;
    program("benches/matching/bench.py", &nest, arguments)?;
    Ok(String::new())
}

/// Runs a measuring program with the compiler to use.
fn program(path: &str, nest: &Path, arguments: &[OsString]) -> Result<(), String> {
    let mut command = Command::new("python3");
    command
        .args([path, "--nest"])
        .arg(nest)
        .args(arguments)
        .current_dir(tool::root());
    tool::run(&mut command)
}

/// Prints the table. Returns an error if a budget is exceeded.
fn compiler(nest: &Path) -> Outcome {
    let dir = tool::target().join("bench");
    std::fs::create_dir_all(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
    let long = dir.join("long.nest");
    let text = specification(2000);
    let lines = text.lines().count();
    std::fs::write(&long, text).map_err(|e| format!("cannot write {}: {e}", long.display()))?;
    let long = long.to_string_lossy();
    let states = dir.join("states.nest");
    std::fs::write(&states, crate::worst::states())
        .map_err(|e| format!("cannot write {}: {e}", states.display()))?;
    let states = states.to_string_lossy();
    let project = dir.join("project");
    let project = project.to_string_lossy();
    let server = dir.join("demo");
    let server = server.to_string_lossy();
    let demo = tool::root().join("examples/demo/demo.nest");
    let demo = demo.to_string_lossy();
    let mut measures = vec![
        Measure {
            what: "nest --version".to_owned(),
            arguments: vec!["--version"],
            runs: 21,
            budget: None,
        },
        Measure {
            what: "nest check, 2,000 lines".to_owned(),
            arguments: vec!["check", &long],
            runs: 21,
            budget: Some(Duration::from_millis(50)),
        },
        Measure {
            what: "nest gen, 2,000 lines".to_owned(),
            arguments: vec!["gen", &long, "-o", &project],
            runs: 21,
            budget: Some(Duration::from_millis(150)),
        },
        Measure {
            what: "nest check, 64 states and 500 rules".to_owned(),
            arguments: vec!["check", &states],
            runs: 7,
            budget: Some(Duration::from_secs(1)),
        },
        Measure {
            what: "nest check, the demo".to_owned(),
            arguments: vec!["check", &demo],
            runs: 21,
            budget: None,
        },
        Measure {
            what: "nest build, the demo".to_owned(),
            arguments: vec!["build", &demo, "-o", &server],
            runs: 7,
            budget: Some(Duration::from_secs(2)),
        },
    ];
    let mut worst = Vec::new();
    for (number, (what, text)) in crate::worst::all().into_iter().enumerate() {
        let file = dir.join(format!("worst{number}.nest"));
        std::fs::write(&file, text).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
        let project = dir.join(format!("worst{number}"));
        let path = |path: &Path| path.to_string_lossy().into_owned();
        worst.push((what, path(&file), path(&project)));
    }
    measures.extend(worst.iter().map(|(what, file, project)| Measure {
        what: format!("nest gen, {what}"),
        arguments: vec!["gen", file, "-o", project],
        runs: 7,
        budget: Some(Duration::from_millis(200)),
    }));
    println!("The long specification has {lines} lines. {}\n", machine());
    println!("| what | runs | median | fastest | slowest | budget |");
    println!("|---|---|---|---|---|---|");
    let mut exceeded = Vec::new();
    for measure in &measures {
        let times = times(nest, measure)?;
        let median = times[times.len() / 2];
        let budget = measure.budget.map_or_else(|| "-".to_owned(), text_of);
        println!(
            "| {} | {} | {} | {} | {} | {budget} |",
            measure.what,
            measure.runs,
            text_of(median),
            text_of(times[0]),
            text_of(times[times.len() - 1]),
        );
        if measure.budget.is_some_and(|budget| median > budget) {
            exceeded.push(measure.what.as_str());
        }
    }
    println!();
    if exceeded.is_empty() {
        Ok("all within their budgets".to_owned())
    } else {
        Err(format!("over the budget: {}", exceeded.join("; ")))
    }
}

/// The sorted times of several runs, after one that warms the caches.
fn times(nest: &Path, measure: &Measure) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    for run in 0..=measure.runs {
        let mut command = Command::new(nest);
        command.args(&measure.arguments).stdin(Stdio::null());
        let started = Instant::now();
        tool::output(&mut command)?;
        if run > 0 {
            times.push(started.elapsed());
        }
    }
    times.sort();
    Ok(times)
}

fn text_of(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// The processor, the number of cores, and the load: results of a busy machine mean little.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split_once(':'))
        .map_or("an unknown processor", |(_, name)| name.trim());
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!("{count} x {model}, load {load}.")
}
