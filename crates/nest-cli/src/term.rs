//! What is said to the user: results on standard output, messages on standard error.
//!
//! The only file that writes to either, so that a closed pipe ends the program quietly and colours
//! are decided in one place. Must not know: what is said.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
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
/// For what matters less.
pub const FAINT: Style = Style::new().dimmed();

/// Why a command ends without success.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for what cannot be; exit status 2.
    Usage(String),
    /// It did not work; exit status 1.
    Message(String),
    /// All was said already; exit status 1.
    Reported,
}

impl Failure {
    /// It did not work, and why.
    pub fn new(message: impl Into<String>) -> Self {
        Failure::Message(message.into())
    }

    /// `what` failed as the system says.
    pub fn io(what: impl Display, error: &std::io::Error) -> Self {
        Failure::Message(format!("{what}: {}", reason(error)))
    }

    /// Says it, and gives the exit status.
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

/// The system's words without Rust's "(os error N)", in lower case.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// Decides about colours, once, before anything is written.
pub fn choose_colour(choice: Color) {
    match choice {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Whether standard output gets colours.
pub fn colour_out() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Whether standard error gets colours.
pub fn colour_err() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Columns of the terminal on standard output, if there is one.
pub fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(width, _)| usize::from(width.0))
}

/// What a shell has of a program that ended by SIGPIPE: it is no success, for nobody heard what was
/// found.
const UNHEARD: i32 = 128 + 13;

/// Writes a result to standard output, at once. A reader that went away ends the program as it
/// would end any other; a full disk is said.
pub fn print(text: impl Display) {
    let mut out = anstream::stdout().lock();
    let result = write!(out, "{text}").and_then(|()| out.flush());
    match result {
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::BrokenPipe => std::process::exit(UNHEARD),
        Err(e) => {
            say(format_args!(
                "{ERROR}error:{ERROR:#} cannot write to standard output: {}\n",
                reason(&e)
            ));
            std::process::exit(1);
        }
    }
}

/// Writes to standard error; if that is not possible there is nobody to tell.
pub fn say(text: impl Display) {
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}

/// A line about what `nest` itself does.
pub fn note(text: impl Display) {
    say(format_args!("{GOOD}nest:{GOOD:#} {text}\n"));
}

/// Says what is going on if it takes more than a second and somebody watches; takes it back when
/// dropped.
pub struct Progress {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// `text` tells what is being done.
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
