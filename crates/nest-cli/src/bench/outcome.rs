//! What a run of `nest bench` came to: printed, written, and compared with an earlier run.
//!
//! Must not know: how figures were measured.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use nest_bench::{
    Cut, Entry, FORMAT, MOST_FIGURES, Processes, Run, WAITED, changes, encryption_table,
    harm_table, html, literal, load_table, sentence, table,
};

use crate::args::{Bench, BenchTls};
use crate::generate;
use crate::source;
use crate::term::{self, FAINT, Failure, STRONG};

/// The figures of an earlier run.
pub fn read(path: &Path) -> Result<Run, Failure> {
    let name = path.display().to_string();
    let text = source::at_most(path, MOST_FIGURES);
    let text = text.map_err(|e| Failure::io(format!("cannot read {name}"), &e))?;
    Run::read(&name, &text).map_err(Failure::new)
}

/// Whether a file can be written, before the work begins.
pub fn writable(path: &Path) -> Result<(), Failure> {
    let failed = |e| Failure::io(format!("cannot write {}", path.display()), &e);
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(failed(ErrorKind::IsADirectory.into())),
        // A pipe or a device.
        Ok(found) if !found.is_file() => Ok(()),
        _ => {
            let folder = source::directory(path);
            tempfile::tempfile_in(folder).map(drop).map_err(failed)
        }
    }
}

/// Prints and writes everything. Fails if a server has become dearer.
pub fn show(
    args: &Bench,
    all: &[Entry],
    cuts: Vec<Cut>,
    clients: usize,
    old: Option<&Run>,
) -> Result<(), Failure> {
    term::print(table(all));
    term::print(load_table(all));
    term::print(harm_table(all));
    term::print(encryption_table(all));
    for cut in &cuts {
        term::print(format_args!("{cut}\n"));
    }
    for line in notes(all) {
        term::print(format_args!("{FAINT}{line}{FAINT:#}\n"));
    }
    let sentence = sentence(all, clients);
    term::print(format_args!("{STRONG}{sentence}{STRONG:#}\n"));
    let run = Run {
        format: FORMAT,
        specification: args
            .file
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string(),
        clients,
        options: options(args, all),
        counted: counted(),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        servers: all.to_vec(),
        cuts,
        sentence,
    };
    let write = |path: &Path, text: String| {
        let failed = |e| Failure::io(format!("cannot write {}", path.display()), &e);
        generate::write_file(path, text.as_bytes()).map_err(failed)
    };
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&run).unwrap_or_default();
        write(path, text + "\n")?;
    }
    if let Some(path) = &args.report {
        write(path, html(&run))?;
    }
    old.map_or(Ok(()), |old| compared(old, &run))
}

/// How processor time is counted here.
fn counted() -> String {
    let group = Processes::group(&format!("nest-bench-{}", std::process::id()));
    let text = if group.is_some() {
        "a control group"
    } else {
        "/proc, in steps of 10 ms"
    };
    text.to_owned()
}

fn options(args: &Bench, all: &[Entry]) -> Vec<String> {
    let encrypted = all.iter().any(|entry| entry.tls.is_some());
    let mut over = all.iter().filter_map(|entry| entry.tls.as_ref());
    let later = over.any(|tls| tls.later);
    let mut all = vec![match &args.replay {
        Some(path) => format!("--replay {}", path.display()),
        None => format!("--messages {}", args.messages),
    }];
    all.extend(args.think.map(|factor| format!("--think {factor}")));
    all.extend(args.keep_alive.then(|| "--keep-alive".to_owned()));
    all.extend((args.pipeline > 1).then(|| format!("--pipeline {}", args.pipeline)));
    all.extend((args.idle > 0).then(|| format!("--idle {}", args.idle)));
    let profile = args.profile.as_ref();
    all.extend(profile.map(|path| format!("--profile {}", path.display())));
    if encrypted {
        all.push(match &args.tls {
            Some(BenchTls::File(path)) => format!("--tls {}", path.display()),
            _ if later => "--tls start".to_owned(),
            _ => "--tls self".to_owned(),
        });
    }
    all.extend(args.tls_resume.then(|| "--tls-resume".to_owned()));
    all.push(format!("--seed {}", args.seed));
    all
}

/// Says what has changed since an earlier run.
fn compared(old: &Run, new: &Run) -> Result<(), Failure> {
    if old.specification != new.specification {
        term::note(format!(
            "the earlier run was of another specification: {}",
            literal(old.specification.as_bytes())
        ));
    }
    if (&old.options, old.clients) != (&new.options, new.clients) {
        term::note(format!(
            "the earlier run was another load: {} clients, {}",
            old.clients,
            literal(old.options.join(" ").as_bytes())
        ));
    } else if old.cuts != new.cuts {
        term::note("in the earlier run other messages were cut because of another server");
    }
    let all = changes(&old.servers, &new.servers);
    if all.is_empty() {
        return Err(Failure::new(
            "the earlier run has measured none of these servers",
        ));
    }
    let mut dearer = Vec::new();
    for change in &all {
        let what = match (change.is_sure(), change.ratio) {
            (false, _) => "may be chance",
            (true, ratio) if ratio > 1.0 => "dearer",
            (true, _) => "cheaper",
        };
        term::print(format_args!(
            "  {:<8} {:.2} of the earlier processor time: {what} (p = {:.3})\n",
            change.name, change.ratio, change.chance
        ));
        dearer.extend(change.is_regression().then(|| change.name.clone()));
    }
    if dearer.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "a request has become dearer with {}",
        dearer.join(", ")
    )))
}

/// Remarks about figures that are not what they seem.
fn notes(all: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    if all.iter().any(Entry::is_limited) {
        lines.push(
            "requests/s is - where the driver had no time to spare: it is the limit, not the server"
                .to_owned(),
        );
    }
    let waited = all.iter().map(|entry| entry.median(|s| s.waited));
    if waited.fold(0.0, f64::max) > WAITED {
        lines.push(
            "the driver often waited for a core: other programs run, or there are too few cores; rates \
             and latencies are those of this state"
                .to_owned(),
        );
    }
    lines
}
