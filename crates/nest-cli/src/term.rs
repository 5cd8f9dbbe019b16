//! Output for the user: results on standard output, messages on standard error.
//!
//! Only this file writes to them, so that a closed pipe is noticed, quietly, and colours are
//! decided in one place. Must not know: what is written.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};

use crate::args::Color;

/// Red and bold.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Bold.
pub const STRONG: Style = Style::new().bold();
/// Green and bold.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For less important text.
pub const FAINT: Style = Style::new().dimmed();

/// The reason for an unsuccessful exit.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something impossible; exit status 2.
    Usage(String),
    /// It failed; exit status 1.
    Message(String),
    /// All was said already; exit status 1.
    Reported,
}

impl Failure {
    /// It failed, with a reason.
    pub fn new(message: impl Into<String>) -> Self {
        Failure::Message(message.into())
    }

    /// `what` failed with a system error.
    pub fn io(what: impl Display, error: &std::io::Error) -> Self {
        Failure::Message(format!("{what}: {}", reason(error)))
    }

    /// Reports the failure. Returns the exit status.
    pub fn report(self) -> ExitCode {
        let (message, status) = match self {
            Failure::Usage(message) => (message, 2),
            Failure::Message(message) => (message, 1),
            Failure::Reported => return ExitCode::from(1),
        };
        say(format_args!("{ERROR}error:{ERROR:#} {message}\n"));
        ExitCode::from(status)
    }
}

/// The system's error text without Rust's "(os error N)", in lower case.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// Decides about colours. Call it once, before anything is written.
pub fn choose_colour(choice: Color) {
    match choice {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Whether standard output is coloured.
pub fn colour_out() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Whether standard error is coloured.
pub fn colour_err() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// The width of the terminal on standard output, if there is one.
pub fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(width, _)| usize::from(width.0))
}

/// The status that a shell reports for a program ended by SIGPIPE. It is not a success, because
/// nobody has read the findings.
const UNHEARD: u8 = 128 + 13;

/// The exit status because of a result that could not be written; 0: all were.
static UNWRITTEN: AtomicU8 = AtomicU8::new(0);

/// Writes a result to standard output at once. If its reader has gone, or the disk is full, nothing more is
/// written, and the program ends as soon as it leaves nothing behind; see [`unwritten`].
pub fn print(text: impl Display) {
    if unwritten().is_some() {
        return;
    }
    let mut out = anstream::stdout().lock();
    let status = match write!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => return,
        Err(e) if e.kind() == ErrorKind::BrokenPipe => UNHEARD,
        Err(e) => {
            let reason = reason(&e);
            say(format_args!(
                "{ERROR}error:{ERROR:#} cannot write to standard output: {reason}\n"
            ));
            1
        }
    };
    UNWRITTEN.store(status, Ordering::SeqCst);
}

/// The exit status if a result could not be written. What takes long ends then: its temporary files and its
/// processes go with it.
pub fn unwritten() -> Option<u8> {
    let status = UNWRITTEN.load(Ordering::SeqCst);
    (status != 0).then_some(status)
}

/// Writes to standard error. If that fails, nothing can be done.
pub fn say(text: impl Display) {
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}

/// Prints a line about what `nest` itself does.
pub fn note(text: impl Display) {
    say(format_args!("{GOOD}nest:{GOOD:#} {text}\n"));
}

/// Shows what nest is doing if it takes more than a second and standard error is a terminal.
/// Removes the text when dropped.
pub struct Progress {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// `text` describes the current work.
    pub fn start(text: impl Into<String>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress {
                done: None,
                thread: None,
            };
        }
        let text = text.into();
        let (done, waits) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            if waits.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                say(format_args!("{FAINT}{text} ...{FAINT:#}"));
                let _ = waits.recv();
                say("\r\u{1b}[K");
            }
        });
        Progress {
            done: Some(done),
            thread: Some(thread),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
