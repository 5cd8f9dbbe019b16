//! `nest explain`: the page of a diagnostic code.

use std::fmt::Write;
use std::process::ExitCode;

use nest_diag::{Code, Severity, nearest};

use crate::args::Explain;
use crate::term::{self, ERROR, FAINT, Failure, GOOD, STRONG};

/// Prints a page, or the list of all codes.
pub fn explain(args: &Explain) -> Result<ExitCode, Failure> {
    let Some(wanted) = &args.code else {
        term::print(list());
        return Ok(ExitCode::SUCCESS);
    };
    let Some(code) = Code::from_name(wanted) else {
        let known = Code::ALL.iter().map(|c| c.name());
        let hint = match nearest(wanted, known) {
            Some(near) => format!("did you mean {near}?"),
            None => "nest explain lists all codes".to_owned(),
        };
        return Err(Failure::Usage(format!("there is no code {wanted}; {hint}")));
    };
    term::print(if term::colour_out() {
        styled(code.page())
    } else {
        code.page().to_owned()
    });
    Ok(ExitCode::SUCCESS)
}

fn list() -> String {
    let mut text = String::new();
    for code in Code::ALL {
        let style = match code.severity() {
            Severity::Error => ERROR,
            Severity::Warning => term::STRONG,
        };
        let _ = writeln!(text, "{style}{}{style:#}  {}", code.name(), code.title());
    }
    text
}

/// Markdown for a terminal: headings bold, code set apart, the rest as it is.
fn styled(page: &str) -> String {
    let mut text = String::new();
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if code {
            let _ = writeln!(text, "    {FAINT}|{FAINT:#} {GOOD}{line}{GOOD:#}");
        } else if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim_start();
            let _ = writeln!(text, "{STRONG}{heading}{STRONG:#}");
        } else {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}
