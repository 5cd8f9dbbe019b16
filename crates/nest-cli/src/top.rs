//! `nest top`: shows what a running server does.
//!
//! Must not know: how the view looks, nor what is counted.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nest_top::{Address, Rates, fetch, table, watch};

use crate::args::Top;
use crate::term::{self, Failure};

/// Shows the server until the user leaves, or one table.
pub fn top(args: &Top) -> Result<ExitCode, Failure> {
    let address = Address::parse(&args.address).map_err(Failure::Usage)?;
    let interval = Duration::from_millis(args.interval);
    let failed = |reason: String| Failure::new(format!("no counts from {address}: {reason}"));
    if !args.once && !std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "standard output is no terminal: --once prints a table".to_string(),
        ));
    }
    if !args.once {
        return watch(&address, interval)
            .map(|()| ExitCode::SUCCESS)
            .map_err(failed);
    }
    let (before, begun) = (fetch(&address).map_err(failed)?, Instant::now());
    std::thread::sleep(interval);
    let after = fetch(&address).map_err(failed)?;
    let rates = Rates::between(&before, &after, begun.elapsed());
    let rates = rates.ok_or_else(|| failed("the server was started anew".to_string()))?;
    term::print(table(&after, &rates));
    Ok(ExitCode::SUCCESS)
}
