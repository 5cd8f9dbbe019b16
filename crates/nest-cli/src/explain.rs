//! `nest explain`: prints the page of a diagnostic code.

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
    let Some(code) = named(wanted) else {
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

/// Accepts a code as it appears in a message, `error[E0301]`, and shorter forms: `301`.
fn named(wanted: &str) -> Option<Code> {
    let inner = wanted.split_once('[').map_or(wanted, |(_, code)| code);
    let inner = inner.trim_end_matches([':', ']']);
    let digits = inner.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let number: u16 = digits.parse().ok()?;
    let letters = inner[..inner.len() - digits.len()].to_uppercase();
    let prefixes: &[&str] = match letters.as_str() {
        "" => &["E", "W"],
        "E" | "W" => &[&letters],
        _ => return None,
    };
    prefixes
        .iter()
        .find_map(|letter| Code::from_name(&format!("{letter}{number:04}")))
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

/// Formats Markdown for a terminal: bold headings, highlighted code, the rest unchanged.
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
