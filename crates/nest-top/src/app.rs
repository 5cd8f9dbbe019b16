//! The live view: reads the counts at an interval, hears keys, draws.
//!
//! Must not know: what keys do, nor how it looks.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::exposition::Counts;
use crate::scrape::{Address, fetch};
use crate::state::State;
use crate::view;

const GLANCE: Duration = Duration::from_millis(100);

/// Shows the server at this address until the user leaves, or a signal asks to.
///
/// # Errors
/// There is no server at the start, or no terminal.
pub fn watch(address: &Address, interval: Duration) -> Result<(), String> {
    let counts = fetch(address)?;
    let ended = Arc::new(AtomicBool::new(false));
    // HUP ends the process: where the terminal is gone, there is nothing to leave as it was.
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&ended));
        registered.map_err(|e| e.to_string())?;
    }
    let mut terminal = ratatui::try_init().map_err(|e| format!("cannot use the terminal: {e}"))?;
    let result = run(
        &mut terminal,
        State::new(address, interval, counts),
        address,
        &ended,
    );
    ratatui::restore();
    result.map_err(|e| format!("cannot use the terminal: {e}"))
}

type Answer = (Instant, Result<Counts, String>);

/// A thread that reads the counts whenever it is asked: a server may take long to answer.
fn reader(address: &Address) -> (Sender<()>, Receiver<Answer>) {
    let (ask, asked) = channel::<()>();
    let (answer, answers) = channel();
    let address = address.clone();
    std::thread::spawn(move || {
        while asked.recv().is_ok() {
            let result = fetch(&address);
            if answer.send((Instant::now(), result)).is_err() {
                break;
            }
        }
    });
    (ask, answers)
}

fn run(
    terminal: &mut ratatui::DefaultTerminal,
    mut app: State,
    address: &Address,
    ended: &AtomicBool,
) -> io::Result<()> {
    let (ask, answers) = reader(address);
    let (mut waits, mut next) = (false, Instant::now() + app.interval);
    while !ended.load(Ordering::Relaxed) {
        terminal.draw(|frame| view::draw(frame, &app))?;
        if let Ok((at, result)) = answers.try_recv() {
            waits = false;
            app.take(at, result);
            continue;
        }
        let now = Instant::now();
        if !waits && !app.paused && now >= next {
            waits = ask.send(()).is_ok();
            next = now + app.interval;
        }
        if event::poll(GLANCE.min(app.interval / 4))?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
            && !app.press(key)
        {
            break;
        }
    }
    Ok(())
}
