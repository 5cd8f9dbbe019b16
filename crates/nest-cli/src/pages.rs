//! `nest completions` and `nest man`: made from the command line's own description.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell as Generator;
use clap_mangen::Man as Page;
use nest_diag::nearest;

use crate::args::{Cli, Completions, Man, Shell};
use crate::term::{self, Failure};

/// Prints completions.
pub fn completions(args: &Completions) -> Result<ExitCode, Failure> {
    let generator = match args.shell {
        Shell::Bash => Generator::Bash,
        Shell::Zsh => Generator::Zsh,
        Shell::Fish => Generator::Fish,
    };
    let mut bytes = Vec::new();
    clap_complete::generate(generator, &mut Cli::command(), "nest", &mut bytes);
    term::print(String::from_utf8_lossy(&bytes));
    Ok(ExitCode::SUCCESS)
}

/// Prints a manual page, or writes them all.
pub fn man(args: &Man) -> Result<ExitCode, Failure> {
    let mut command = Cli::command();
    if let Some(dir) = &args.all {
        return std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(command, dir))
            .map(|()| ExitCode::SUCCESS)
            .map_err(|e| Failure::io(format!("cannot write into {}", dir.display()), &e));
    }
    command.build();
    let page = match &args.command {
        None => command.clone(),
        Some(name) => subcommand(&command, name)?,
    };
    let mut bytes = Vec::new();
    Page::new(page)
        .render(&mut bytes)
        .map_err(|e| Failure::io("cannot make the page", &e))?;
    term::print(String::from_utf8_lossy(&bytes));
    Ok(ExitCode::SUCCESS)
}

/// The subcommand by name; a built command knows itself as `nest-build`.
fn subcommand(command: &clap::Command, name: &str) -> Result<clap::Command, Failure> {
    if let Some(found) = command.find_subcommand(name) {
        return Ok(found.clone());
    }
    let known = command.get_subcommands().map(clap::Command::get_name);
    let hint = nearest(name, known).map_or_else(
        || "nest --help lists them".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    Err(Failure::Usage(format!(
        "there is no subcommand {name}; {hint}"
    )))
}
