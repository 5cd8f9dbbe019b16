//! The Unix socket on which a running accelerator answers questions: one word in, a text out. A request of
//! HTTP gets the metrics, so that `nest top` can be given this socket.
//!
//! Must not know: what the text says.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::exporter::response;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::origin::receive;

/// A client that does not ask, or does not read, in this time is left.
const LIMIT: Duration = Duration::from_millis(100);
/// A running accelerator answers within this time.
const WAIT: Duration = Duration::from_secs(20);
/// How often one that may be about to end is looked at. Each look takes a place in its queue, which has 128.
const LOOK: Duration = Duration::from_millis(250);

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What it does, for people.
    Status,
    /// The same as OpenMetrics.
    Metrics,
    /// To leave everything to the server from now on.
    Stop,
}

const WORDS: [(&str, Question); 3] = [
    ("status", Question::Status),
    ("metrics", Question::Metrics),
    ("stop", Question::Stop),
];

/// Asks the accelerator that has this socket.
pub fn ask(state: &Path, question: Question) -> Result<String, Failure> {
    let word = WORDS.iter().find(|(_, q)| *q == question);
    let word = word.map_or("", |(word, _)| word);
    let failed =
        |e: std::io::Error| Failure::io(format!("nothing answers at {}", state.display()), &e);
    let end = Instant::now() + WAIT;
    loop {
        let answer = UnixStream::connect(state).map(|stream| exchange(stream, word));
        match answer.map_err(failed)? {
            // On a busy machine this process may have been slower than LIMIT: it asks again.
            Err(e) if left(&e) && Instant::now() < end => {}
            answer => return answer.map_err(failed),
        }
    }
}

/// The answer to a word over a new connection.
fn exchange(mut stream: UnixStream, word: &str) -> std::io::Result<String> {
    let mut text = String::new();
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(format!("{word}\n").as_bytes())?;
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Whether the other side has left the connection.
fn left(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// The listening socket. Its file is removed when it is dropped.
pub struct Control {
    listener: UnixListener,
    gate: Gate,
    path: PathBuf,
}

impl Control {
    /// Listens. A socket that a killed accelerator left is replaced, but no other file. `timeout`: so long one that
    /// runs may take to end.
    pub fn listen(path: &Path, timeout: Duration) -> Result<Self, Failure> {
        let until = Instant::now() + timeout;
        while UnixStream::connect(path).is_ok() {
            if Instant::now() >= until {
                let message = format!("another nest accelerate runs: it has {}", path.display());
                return Err(Failure::Failed(message));
            }
            std::thread::sleep(LOOK);
        }
        let failed = |e: std::io::Error| Failure::io(format!("cannot make {}", path.display()), &e);
        if fs::metadata(path).is_ok_and(|data| !data.file_type().is_socket()) {
            let message = format!("cannot make {}: it exists and is no socket", path.display());
            return Err(Failure::Failed(message));
        }
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Control {
            listener,
            gate: Gate::new(path.display().to_string()),
            path: path.to_owned(),
        })
    }

    /// Whether another client can be accepted.
    pub fn accepts(&self) -> bool {
        self.gate.open()
    }

    /// Answers one client, if one waits. `say` prints why none can be accepted.
    pub fn serve(&mut self, answer: impl FnOnce(Question) -> String, say: &dyn Fn(&str)) {
        if !self.accepts() {
            return;
        }
        let Some((mut stream, _)) = self.gate.pass(self.listener.accept(), say) else {
            return;
        };
        let bounded = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(LIMIT)))
            .and_then(|()| stream.set_write_timeout(Some(LIMIT)));
        let mut buffer = [0; 1024];
        let Ok(count) = bounded.and_then(|()| receive(&mut stream, &mut buffer)) else {
            return;
        };
        let text = reply(&buffer[..count], answer);
        let _ = stream.write_all(text.as_bytes());
    }
}

/// The reply to what a client has sent at once.
fn reply(request: &[u8], answer: impl FnOnce(Question) -> String) -> String {
    if request.ends_with(b"\r\n\r\n") {
        let mut answer = Some(answer);
        let mut counts = || {
            let answer = answer.take();
            answer.map_or_else(String::new, |answer| answer(Question::Metrics))
        };
        return response(request, &mut counts);
    }
    let word = String::from_utf8_lossy(request);
    let known = WORDS.iter().find(|(name, _)| *name == word.trim());
    known.map_or_else(|| "unknown\n".to_owned(), |(_, question)| answer(*question))
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Question, ask, reply};
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    #[test]
    fn who_is_left_asks_again() {
        let name = format!("nest-control-{}", std::process::id());
        let state = std::env::temp_dir().join(name);
        let listener = UnixListener::bind(&state).unwrap();
        let served = std::thread::spawn(move || {
            drop(listener.accept().unwrap());
            let (mut second, _) = listener.accept().unwrap();
            let mut word = [0; 8];
            second.read_exact(&mut word).unwrap();
            second.write_all(b"fine\n").unwrap();
        });
        assert_eq!(ask(&state, Question::Metrics).unwrap(), "fine\n");
        served.join().unwrap();
        std::fs::remove_file(&state).unwrap();
    }

    #[test]
    fn only_a_socket_is_replaced() {
        let name = format!("nest-control-place-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        std::fs::write(&place, "precious").unwrap();
        let refused = Control::listen(&place, Duration::ZERO).err().unwrap();
        assert!(
            refused
                .to_string()
                .ends_with(": it exists and is no socket")
        );
        assert_eq!(std::fs::read(&place).unwrap(), b"precious");
        std::fs::remove_file(&place).unwrap();
        drop(UnixListener::bind(&place).unwrap());
        let control = Control::listen(&place, Duration::ZERO).unwrap();
        let refused = Control::listen(&place, Duration::ZERO).err().unwrap();
        assert!(
            refused
                .to_string()
                .starts_with("another nest accelerate runs")
        );
        drop(control);
        assert!(!place.exists());
    }

    #[test]
    fn a_word_is_a_question_and_http_gets_the_metrics() {
        let of = |request: &str| reply(request.as_bytes(), |question| format!("{question:?}"));
        assert_eq!(of("status\n"), "Status");
        assert_eq!(of("stop\n"), "Stop");
        assert_eq!(of("hello\n"), "unknown\n");
        let http = of("GET /metrics?fine HTTP/1.1\r\nHost: nest\r\n\r\n");
        assert!(http.starts_with("HTTP/1.1 200 OK\r\n") && http.ends_with("\r\n\r\nMetrics"));
        assert!(of("POST /stop HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }
}
