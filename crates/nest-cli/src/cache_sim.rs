//! `nest cache-sim`: how often files of an access log would be in memory, by policy and size.
//!
//! The policies are those of the server: policy.c of the runtime, which is compiled for this. Must
//! not know: how a policy chooses.

mod plot;
mod size;
mod trace;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use nest_machine::options::{CUSTOM, POLICIES, cache_size};

use crate::args::{CacheSim, Cc, Spec};
use crate::cc::Compiler;
use crate::children::{self, finish};
use crate::compile;
use crate::generate::write_file;
use crate::overwrite;
use crate::signals::Hold;
use crate::term::{self, Failure};
use plot::Curve;
use size::bytes;
use trace::Trace;

const SIMULATOR: &str = include_str!("cache_sim/simulate.c");
/// As many sizes are tried if none is given.
const SIZES: u32 = 6;
const LEAST: u64 = 64 << 10;

/// Of one policy with one size: hits, and their bytes.
type Hits = (u64, u64);
/// One of the two.
type Of = fn(&Hits) -> u64;

/// Prints the table, and writes the picture.
pub fn cache_sim(args: &CacheSim) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.plot {
        let inputs = args.logs.iter().chain(&args.spec).map(PathBuf::as_path);
        overwrite::refuse("the plot", path, inputs)?;
    }
    let trace = read(&args.logs)?;
    let sizes = sizes(args, trace.distinct())?;
    let largest = match &args.largest {
        None => 256 << 10,
        Some(text) => cache_size(text)
            .filter(|n| *n > 0)
            .ok_or_else(|| no_size(text))?,
    };
    let custom = args.spec.as_deref().map(custom).transpose()?;
    let policies = POLICIES.iter().copied();
    let policies = policies.filter(|policy| *policy != CUSTOM || custom.is_some());
    let policies: Vec<&str> = policies.collect();
    let hold = Hold::new()?;
    let simulated = simulate(&trace, &policies, &sizes, largest, custom.as_deref());
    hold.release();
    let hits = simulated?;
    term::print(table(&trace, &policies, &sizes, &hits));
    if let Some(path) = &args.plot {
        let charts = [
            (
                "hit rate: files",
                curves(&policies, &hits, |h| h.0, trace.accesses.len() as u64),
            ),
            (
                "byte-hit rate",
                curves(&policies, &hits, |h| h.1, trace.bytes()),
            ),
        ];
        let text = plot::svg(&charts, &sizes)
            .map_err(|reason| Failure::new(format!("cannot draw: {reason}")))?;
        write_file(path, text.as_bytes())
            .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The C of a specification's `%cache`.
fn custom(file: &Path) -> Result<String, Failure> {
    let spec = Spec {
        file: file.to_owned(),
        model: None,
    };
    let (_, machine, _) = compile::inspect(&spec)?;
    nest_emit::cache_alone(&machine).ok_or_else(|| {
        Failure::new(format!(
            "{} has no %cache, the code of the policy {CUSTOM}",
            file.display()
        ))
    })
}

fn no_size(text: &str) -> Failure {
    Failure::Usage(format!("'{text}' is no size, such as 512K, 64M or 1G"))
}

fn read(logs: &[std::path::PathBuf]) -> Result<Trace, Failure> {
    let mut trace = Trace::default();
    for path in logs {
        let text = std::fs::read(path)
            .map_err(|e| Failure::io(format!("cannot read {}", path.display()), &e))?;
        trace.read(&path.display().to_string(), &text);
    }
    let first = trace.first_strange.as_deref().unwrap_or_default();
    if trace.accesses.is_empty() {
        return Err(Failure::new(if first.is_empty() {
            "no file was sent: no line is a GET with the status 200".to_string()
        } else {
            format!("{first}: neither a line of the common or combined format, nor PATH BYTES")
        }));
    }
    if trace.strange > 0 {
        term::note(format!(
            "lines passed over: {}, the first at {first}: neither of the common or combined format, nor PATH BYTES",
            trace.strange
        ));
    }
    Ok(trace)
}

/// Those that were asked for; or powers of two, up to the one at which nearly everything fits.
fn sizes(args: &CacheSim, distinct: u64) -> Result<Vec<u64>, Failure> {
    let mut sizes = Vec::new();
    for text in &args.sizes {
        sizes.push(
            cache_size(text)
                .filter(|n| (LEAST..=1 << 40).contains(n))
                .ok_or_else(|| {
                    Failure::Usage(format!("'{text}' is no size from 64K to 1T, such as 64M"))
                })?,
        );
    }
    if sizes.is_empty() {
        let last = distinct
            .max(1)
            .next_power_of_two()
            .clamp(LEAST << SIZES, 1 << 40);
        sizes = (0..SIZES).rev().map(|i| last >> i).collect();
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

/// For each policy, for each size. `custom`: the C of the policy of that name.
fn simulate(
    trace: &Trace,
    policies: &[&str],
    sizes: &[u64],
    largest: u64,
    custom: Option<&str>,
) -> Result<Vec<Vec<Hits>>, Failure> {
    let folder = tempfile::tempdir().map_err(|e| Failure::io("cannot make a folder", &e))?;
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text)
            .map_err(|e| Failure::io(format!("cannot write {name}"), &e))
    };
    for file in nest_runtime::parts().flat_map(|part| part.files) {
        if let Some(name) = file.path.strip_prefix("service/contents/policy.") {
            write(&format!("policy.{name}"), file.text)?;
        }
    }
    write("simulate.c", SIMULATOR)?;
    let mut text = format!("{}\n", trace.objects());
    for (object, bytes) in &trace.accesses {
        let _ = writeln!(text, "{object} {bytes}");
    }
    write("trace", &text)?;
    let simulator = folder.path().join("simulate");
    let mut sources: Vec<PathBuf> = ["simulate.c", "policy.c"]
        .map(|name| folder.path().join(name))
        .into();
    if let Some(custom) = custom {
        write("custom.c", custom)?;
        sources.push(folder.path().join("custom.c"));
    }
    Compiler::new(&Cc::default())?.program(&sources, &simulator)?;
    run(&simulator, folder.path(), policies.len(), sizes, largest)
}

fn run(
    simulator: &Path,
    folder: &Path,
    policies: usize,
    sizes: &[u64],
    largest: u64,
) -> Result<Vec<Vec<Hits>>, Failure> {
    let failed = |what: String| Failure::new(format!("the simulator failed: {what}"));
    let mut command = Command::new(simulator);
    command.arg(folder.join("trace")).arg(largest.to_string());
    for policy in 0..policies {
        command.args(sizes.iter().map(|size| format!("{policy}:{size}")));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child =
        children::start(&mut command).map_err(|e| Failure::io("cannot run the simulator", &e))?;
    let outputs = finish(vec![child])?;
    let output = &outputs[0];
    let text = String::from_utf8_lossy(&output.stdout);
    let hits: Vec<Hits> = text
        .lines()
        .filter_map(|line| {
            let (hits, bytes) = line.split_once(' ')?;
            Some((hits.parse().ok()?, bytes.parse().ok()?))
        })
        .collect();
    if !output.status.success() || hits.len() != policies * sizes.len() {
        return Err(failed(output.status.to_string()));
    }
    Ok(hits.chunks(sizes.len()).map(<[Hits]>::to_vec).collect())
}

#[allow(clippy::cast_precision_loss, reason = "a percentage")]
fn rate(part: u64, all: u64) -> f64 {
    100.0 * part as f64 / (all.max(1)) as f64
}

fn curves(
    policies: &[&'static str],
    hits: &[Vec<Hits>],
    of: impl Fn(&Hits) -> u64,
    all: u64,
) -> Vec<Curve> {
    let rates = hits.iter().map(|row| row.iter().map(|h| rate(of(h), all)));
    let named = policies.iter().zip(rates);
    named
        .map(|(name, rates)| Curve {
            name,
            rates: rates.collect(),
        })
        .collect()
}

#[allow(clippy::cast_precision_loss, reason = "shown rounded")]
fn table(trace: &Trace, policies: &[&str], sizes: &[u64], hits: &[Vec<Hits>]) -> String {
    let accesses = trace.accesses.len() as u64;
    let mut out = format!(
        "{accesses} files sent, {} different ones of {} together; {} other requests\n",
        trace.objects(),
        bytes(trace.distinct() as f64),
        trace.passed
    );
    let which: [(&str, Of, u64); 2] = [
        ("hit rate, %", |h| h.0, accesses),
        ("byte-hit rate, %", |h| h.1, trace.bytes()),
    ];
    for (title, of, all) in which {
        let _ = write!(out, "\n{title:<18}");
        for size in sizes {
            let _ = write!(out, "{:>8}", bytes(*size as f64));
        }
        for (policy, row) in policies.iter().zip(hits) {
            let _ = write!(out, "\n  {policy:<16}");
            for h in row {
                let _ = write!(out, "{:>8.2}", rate(of(h), all));
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use nest_machine::options::POLICIES;

    #[test]
    fn policies_are_those_of_the_runtime_in_its_order() {
        let mut files = nest_runtime::parts().flat_map(|part| part.files);
        let file = files
            .find(|f| f.path == "service/contents/policy.c")
            .unwrap();
        let (_, rest) = file
            .text
            .split_once("nest__policy_names[NEST__POLICIES] = {")
            .unwrap();
        let (list, _) = rest.split_once('}').unwrap();
        let names: Vec<&str> = list
            .split(',')
            .map(|w| w.trim().trim_matches('"'))
            .collect();
        assert_eq!(names, POLICIES);
    }
}
