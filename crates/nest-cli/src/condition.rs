//! `nest condition`: runs cc-condition, which puts filters in front of a server.
//!
//! Must not know: what the options and the filters mean.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::args::Condition;
use crate::term::Failure;

const PROGRAM: &str = "cc-condition";

/// Becomes cc-condition with the same options.
pub fn condition(args: &Condition) -> Result<ExitCode, Failure> {
    let own = std::env::current_exe().map_err(|e| Failure::io("cannot find nest itself", &e))?;
    let Some((program, filters)) = find(&own) else {
        return Err(Failure::new(format!(
            "{PROGRAM} is neither beside nest ({}) nor on PATH: make install installs both",
            own.parent().unwrap_or(&own).display()
        )));
    };
    let mut command = Command::new(&program);
    if let Some(filters) = filters
        && std::env::var_os("CC_LIBEXEC").is_none()
    {
        command.env("CC_LIBEXEC", filters);
    }
    for filter in &args.filters {
        command.args(["--filter", filter]);
    }
    let values = [
        ("--ready", args.ready.map(|n| n.to_string())),
        ("--wait", args.wait.map(|n| n.to_string())),
        ("--state", args.state.clone()),
        ("--by", args.by.clone()),
    ];
    for (name, value) in values {
        command.args(value.iter().flat_map(|v| [name, v.as_str()]));
    }
    let flags = [
        ("--options", args.options),
        ("--check", args.check),
        ("--status", args.status),
        ("--metrics", args.metrics),
        ("--change", args.change),
    ];
    command.args(
        flags
            .iter()
            .filter(|(_, given)| *given)
            .map(|(name, _)| name),
    );
    if !args.server.is_empty() {
        command.arg("--").args(&args.server);
    }
    let error = command.exec();
    Err(Failure::io(
        format!("cannot run {}", program.display()),
        &error,
    ))
}

/// The program: installed beside nest, built in the project of this nest, or on PATH. The second path is where
/// the filters are, if the program does not know.
fn find(own: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let installed = own.with_file_name(PROGRAM);
    if installed.is_file() {
        return Some((installed, None));
    }
    let project = own.ancestors().find_map(|folder| {
        let build = folder.join("conditioning/build");
        let built = build.join(PROGRAM);
        built
            .is_file()
            .then(|| (built, Some(build.join("libexec"))))
    });
    project.or_else(|| on_path().map(|program| (program, None)))
}

fn on_path() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::find;
    use std::fs;

    #[test]
    fn the_installed_program_comes_first() {
        let folder = std::env::temp_dir().join(format!("nest-condition-{}", std::process::id()));
        let own = folder.join("target/debug/nest");
        let build = folder.join("conditioning/build");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::create_dir_all(&build).unwrap();
        fs::write(build.join("cc-condition"), "").unwrap();
        let built = (build.join("cc-condition"), Some(build.join("libexec")));
        assert_eq!(find(&own), Some(built));
        let beside = own.with_file_name("cc-condition");
        fs::write(&beside, "").unwrap();
        assert_eq!(find(&own), Some((beside, None)));
        fs::remove_dir_all(folder).unwrap();
    }
}
