//! The format of recorded conversations:
//!
//! ```text
//! nest recording 1
//! talk
//! send "PRICE 77\r\n"
//! wait 250
//! send "BYE\r\n"
//! end
//! ```
//!
//! A file has one or more conversations from `talk` to `end`. A line `tls` stands where the connection becomes
//! encrypted. `#` begins a comment. Must not know: who
//! records conversations, who plays them.

use std::fmt::Write as _;

use nest_check::Act;

use crate::quoted::quoted;

/// The end of the names of recordings.
pub const EXTENSION: &str = "talk";
/// The first line, without the version.
const HEAD: &str = "nest recording ";
const VERSION: &str = "1";
/// What a client sends in a conversation, at most: messages and bytes.
pub const MOST_MESSAGES: usize = 1000;
pub const MOST_BYTES: usize = 1 << 18;
/// The longest pause, in milliseconds: a day.
pub const MOST_WAIT: u32 = 86_400_000;
/// The longest file.
pub const LONGEST: usize = 1 << 24;

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// What the client does.
    pub acts: Vec<Act>,
    /// After so many messages the connection becomes encrypted.
    pub tls: Option<usize>,
}

/// The text of a file with one conversation.
pub fn text(talk: &Recorded) -> String {
    let mut text = format!("{HEAD}{VERSION}\ntalk\n");
    let mut messages = 0;
    let encrypted = |text: &mut String, messages: usize| {
        if talk.tls == Some(messages) {
            text.push_str("tls\n");
        }
    };
    encrypted(&mut text, 0);
    for act in &talk.acts {
        match act {
            Act::Send(bytes) => {
                let _ = writeln!(text, "send {}", nest_bench::quoted(bytes));
                messages += 1;
                encrypted(&mut text, messages);
            }
            Act::Silence(ms) => {
                let _ = writeln!(text, "wait {ms}");
            }
        }
    }
    text.push_str("end\n");
    text
}

/// Reads the conversations of a file called `name`. The error names the line, and says what to do.
pub fn read(name: &str, text: &[u8]) -> Result<Vec<Recorded>, String> {
    if text.len() > LONGEST {
        return Err(format!("{name} has more than {} MB", LONGEST >> 20));
    }
    let mut reader = Reader::default();
    let mut last = 0;
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let done = reader.line(number, line.trim_ascii());
        done.map_err(|why| format!("{name}:{number}: {why}"))?;
        last = number;
    }
    let cut = reader.open.is_some();
    if cut {
        return Err(format!(
            "{name}:{last}: the recording is cut: its last conversation has no line \"end\"; remove this \
             conversation, or the file"
        ));
    }
    if reader.all.is_empty() {
        return Err(format!(
            "{name}:{last}: there is no conversation; write \"talk\", \"send\" and \"end\", or remove the file"
        ));
    }
    Ok(reader.all)
}

/// What was read of a file.
#[derive(Default)]
struct Reader {
    all: Vec<Recorded>,
    /// The conversation that has begun.
    open: Option<Open>,
}

#[derive(Default)]
struct Open {
    talk: Recorded,
    messages: usize,
    bytes: usize,
}

impl Reader {
    fn line(&mut self, number: usize, line: &[u8]) -> Result<(), String> {
        if number == 1 {
            return head(line);
        }
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let blank = line.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = line.split_at(blank.unwrap_or(line.len()));
        let rest = rest.trim_ascii_start();
        match (word, &mut self.open) {
            (b"talk", None) => {
                nothing(rest)?;
                self.open = Some(Open::default());
                Ok(())
            }
            (b"talk", Some(_)) => {
                Err("the conversation before has no end; write \"end\" before \"talk\"".to_owned())
            }
            (b"send", Some(open)) => open.send(message(rest)?),
            (b"wait", Some(open)) => open.wait(pause(rest)?),
            (b"tls", Some(open)) => {
                nothing(rest)?;
                open.encrypt()
            }
            (b"end", Some(open)) => {
                nothing(rest)?;
                if open.messages == 0 {
                    return Err(
                        "this conversation sends nothing; write \"send\" before \"end\"".to_owned(),
                    );
                }
                self.all.push(std::mem::take(&mut open.talk));
                self.open = None;
                Ok(())
            }
            (b"send" | b"wait" | b"tls" | b"end", None) => {
                Err("there is no conversation; write \"talk\" before it".to_owned())
            }
            _ => Err(format!(
                "{} is no line of a recording; write \"talk\", \"send TEXT\", \"wait MS\", \"tls\" or \
                 \"end\"",
                nest_bench::literal(word)
            )),
        }
    }
}

impl Open {
    fn send(&mut self, message: Vec<u8>) -> Result<(), String> {
        self.messages += 1;
        self.bytes += message.len();
        if self.messages > MOST_MESSAGES || self.bytes > MOST_BYTES {
            return Err(format!(
                "a conversation sends more than {MOST_MESSAGES} messages or {} KB; write \"end\" before it",
                MOST_BYTES >> 10
            ));
        }
        self.talk.acts.push(Act::Send(message));
        Ok(())
    }

    fn wait(&mut self, ms: u32) -> Result<(), String> {
        match self.talk.acts.last() {
            Some(Act::Send(_)) => {
                self.talk.acts.push(Act::Silence(ms));
                Ok(())
            }
            _ => Err("a pause stands behind a message; write \"send\" before \"wait\"".to_owned()),
        }
    }

    fn encrypt(&mut self) -> Result<(), String> {
        if self.talk.tls.is_some() {
            return Err("a connection becomes encrypted once; remove this line".to_owned());
        }
        self.talk.tls = Some(self.messages);
        Ok(())
    }
}

/// Checks the first line.
fn head(line: &[u8]) -> Result<(), String> {
    match line.strip_prefix(HEAD.as_bytes()) {
        Some(version) if version == VERSION.as_bytes() => Ok(()),
        Some(version) => Err(format!(
            "the recording has version {}, but this nest reads version {VERSION}; record it again",
            nest_bench::literal(version)
        )),
        None if line.is_empty() => Err(format!(
            "the file is empty; its first line must be \"{HEAD}{VERSION}\""
        )),
        None => Err(format!(
            "this is no recording; its first line must be \"{HEAD}{VERSION}\""
        )),
    }
}

fn nothing(rest: &[u8]) -> Result<(), String> {
    if rest.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} is too much; write nothing behind the first word",
        nest_bench::literal(rest)
    ))
}

fn message(rest: &[u8]) -> Result<Vec<u8>, String> {
    let inside = rest.strip_prefix(b"\"");
    let inside = inside.ok_or("a message stands in quotes; write send \"...\"")?;
    let (bytes, behind) = quoted(inside)?;
    nothing(behind.trim_ascii())?;
    if bytes.is_empty() {
        return Err("the message is empty; write its bytes, or remove the line".to_owned());
    }
    Ok(bytes)
}

fn pause(rest: &[u8]) -> Result<u32, String> {
    let text = std::str::from_utf8(rest).ok();
    let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let ms = text.and_then(|text| text.parse::<u32>().ok());
    ms.filter(|ms| (1..=MOST_WAIT).contains(ms)).ok_or_else(|| {
        format!(
            "{} is not a pause; write milliseconds, from 1 to {MOST_WAIT}",
            nest_bench::literal(rest)
        )
    })
}

#[cfg(test)]
mod tests {
    use nest_bench::Random;
    use nest_check::Act;

    use super::{LONGEST, MOST_BYTES, MOST_MESSAGES, Recorded, read, text};

    fn talk(acts: Vec<Act>, tls: Option<usize>) -> Recorded {
        Recorded { acts, tls }
    }

    fn send(bytes: &[u8]) -> Act {
        Act::Send(bytes.to_vec())
    }

    #[test]
    fn what_is_written_is_read() {
        let all: Vec<u8> = (0..=255).collect();
        let acts = vec![
            send(b"A \"b\" \\ c\r\n"),
            Act::Silence(250),
            send(&all),
            send(b"\t"),
        ];
        let written = text(&talk(acts.clone(), None));
        assert!(written.starts_with(
            "nest recording 1\ntalk\nsend \"A \\\"b\\\" \\\\ c\\r\\n\"\nwait 250\nsend \"\\x00\\x01"
        ));
        assert!(written.is_ascii() && written.ends_with("send \"\\t\"\nend\n"));
        assert_eq!(
            read("r", written.as_bytes()),
            Ok(vec![talk(acts.clone(), None)])
        );
        // A handshake stands behind the message that asks for it, before any pause.
        for (tls, wanted) in [
            (0, "talk\ntls\nsend \"A"),
            (1, "\\\\ c\\r\\n\"\ntls\nwait 250\nsend"),
            (3, "send \"\\t\"\ntls\nend\n"),
        ] {
            let talk = talk(acts.clone(), Some(tls));
            let written = text(&talk);
            assert!(written.contains(wanted), "{written}");
            assert_eq!(read("r", written.as_bytes()), Ok(vec![talk]));
        }
    }

    #[test]
    fn files_have_comments_and_several_conversations() {
        let two =
            "nest recording 1\n\n# one\n talk \r\nsend \"a\"\nend\ntalk\nsend \"b\"\nwait 1\nend";
        let wanted = vec![
            talk(vec![send(b"a")], None),
            talk(vec![send(b"b"), Act::Silence(1)], None),
        ];
        assert_eq!(read("r", two.as_bytes()), Ok(wanted));
    }

    #[test]
    fn mistakes_name_the_line() {
        for (body, message) in [
            ("", "r:1: there is no conversation; write"),
            ("talk\n", "r:2: the recording is cut: "),
            ("talk\nsend \"a\"\n", "r:3: the recording is cut: "),
            ("talk\nsend \"a", "r:3: a text does not end in its line"),
            ("talk\nend\n", "r:3: this conversation sends nothing; write"),
            (
                "talk\ntalk\n",
                "r:3: the conversation before has no end; write",
            ),
            (
                "send \"a\"\n",
                "r:2: there is no conversation; write \"talk\"",
            ),
            ("end\n", "r:2: there is no conversation; write \"talk\""),
            ("talk\nsend a\n", "r:3: a message stands in quotes; write"),
            ("talk\nsend \"\"\n", "r:3: the message is empty; write"),
            ("talk\nsend \"a\" b\n", "r:3: \"b\" is too much; write"),
            ("talk now\n", "r:2: \"now\" is too much; write"),
            ("talk\nsend \"\\q\"\n", "r:3: an unknown escape; write"),
            (
                "talk\nsend \"\\xg0\"\n",
                "r:3: \\x needs two hexadecimal digits",
            ),
            (
                "talk\nwait 5\n",
                "r:3: a pause stands behind a message; write",
            ),
            (
                "talk\nsend \"a\"\nwait 5\nwait 5\n",
                "r:5: a pause stands behind",
            ),
            (
                "talk\nsend \"a\"\nwait 0\n",
                "r:4: \"0\" is not a pause; write",
            ),
            (
                "talk\nsend \"a\"\nwait -1\n",
                "r:4: \"-1\" is not a pause; write",
            ),
            (
                "talk\nsend \"a\"\nwait 86400001\n",
                "r:4: \"86400001\" is not a pause",
            ),
            (
                "talk\nsend \"a\"\nwait 99999999999\n",
                "r:4: \"99999999999\" is not a pause",
            ),
            (
                "talk\nsend \"a\"\nwait \n",
                "r:4: \"\" is not a pause; write",
            ),
            ("tls\n", "r:2: there is no conversation; write \"talk\""),
            ("talk\ntls now\n", "r:3: \"now\" is too much; write"),
            (
                "talk\nsend \"a\"\ntls\nsend \"b\"\ntls\n",
                "r:6: a connection becomes encrypted once; remove",
            ),
            ("dance\n", "r:2: \"dance\" is no line of a recording; write"),
        ] {
            let whole = format!("nest recording 1\n{body}");
            let error = read("r", whole.as_bytes()).err().unwrap_or_default();
            assert!(error.starts_with(message), "{body:?}: {error}");
        }
        for (whole, message) in [
            (
                "",
                "r:1: the file is empty; its first line must be \"nest recording 1\"",
            ),
            ("\n\n", "r:1: the file is empty"),
            (
                "nest recording 2\ntalk\n",
                "r:1: the recording has version \"2\", but this nest reads version 1",
            ),
            (
                "nest recording 10\n",
                "r:1: the recording has version \"10\"",
            ),
            (
                "talk\nsend \"a\"\nend\n",
                "r:1: this is no recording; its first line must be",
            ),
            ("\u{7f}ELF", "r:1: this is no recording"),
        ] {
            let error = read("r", whole.as_bytes()).err().unwrap_or_default();
            assert!(error.starts_with(message), "{whole:?}: {error}");
        }
    }

    #[test]
    fn conversations_and_files_are_bounded() {
        let many = "send \"a\"\n".repeat(MOST_MESSAGES);
        let whole = |body: &str| format!("nest recording 1\ntalk\n{body}end\n");
        assert!(read("r", whole(&many).as_bytes()).is_ok());
        let error = read("r", whole(&format!("{many}send \"a\"\n")).as_bytes());
        let message =
            "r:1003: a conversation sends more than 1000 messages or 256 KB; write \"end\"";
        assert!(error.is_err_and(|e| e.starts_with(message)));
        let large = format!("send \"{}\"\n", "a".repeat(MOST_BYTES));
        assert!(read("r", whole(&large).as_bytes()).is_ok());
        let error = read("r", whole(&format!("{large}send \"a\"\n")).as_bytes());
        assert!(error.is_err_and(|e| e.starts_with("r:4: a conversation sends more than")));
        let error = read("r", &vec![b'\n'; LONGEST + 1]);
        assert_eq!(error, Err("r has more than 16 MB".to_owned()));
    }

    /// A file that was cut anywhere is refused, unless only its last line end is missing.
    #[test]
    fn a_cut_file_is_refused() {
        let acts = vec![send(b"one\r\n"), Act::Silence(20), send(b"two\n")];
        let whole = text(&talk(acts, Some(1)));
        for length in 0..whole.len() - 1 {
            let read = read("r", &whole.as_bytes()[..length]);
            assert!(read.is_err_and(|e| e.starts_with("r:")), "{length}");
        }
        assert!(read("r", &whole.as_bytes()[..whole.len() - 1]).is_ok());
    }

    /// What was read is written, and read again, as the same; else one line names the place. Returns whether it
    /// was read.
    fn is_read(text: &[u8]) -> bool {
        match read("r", text) {
            Ok(talks) => {
                for talk in talks {
                    let again = read("r", super::text(&talk).as_bytes());
                    assert_eq!(again, Ok(vec![talk]));
                }
                true
            }
            Err(why) => {
                let one = why.starts_with("r:") && !why.contains(char::is_control);
                assert!(one && why.len() < 600, "{why:?}");
                false
            }
        }
    }

    /// Bytes of a recording that are changed, removed, added, repeated or cut off.
    #[test]
    fn mutated_recordings_are_read_or_refused() {
        let acts = vec![send(b"one\r\n"), Act::Silence(20), send(b"\0\xff\"\\")];
        let whole = text(&talk(acts, Some(2))).into_bytes();
        let mut random = Random(21);
        let (mut kept, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut text = whole.clone();
            for _ in 0..=random.draw(4) {
                let at = random.draw(text.len());
                let length = random.draw(text.len() - at).min(1 << random.draw(8));
                let byte = u8::try_from(random.draw(256)).unwrap();
                match random.draw(5) {
                    0 => text[at] = byte,
                    1 => drop(text.drain(at..at + length)),
                    2 => text.insert(at, byte),
                    3 => {
                        let some = text[at..at + length].to_vec();
                        text.splice(at..at, some);
                    }
                    _ => text.truncate(at + 1),
                }
            }
            if is_read(&text) {
                kept += 1;
            } else {
                refused += 1;
            }
        }
        assert!(kept > 100 && refused > 1000, "{kept}, {refused}");
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let pieces: [&[u8]; 17] = [
            b"talk\n",
            b"tls\n",
            b"send ",
            b"wait ",
            b"end\n",
            b"\"a\"",
            b"\"",
            b"\\x0",
            b"\\n",
            b"7",
            b"\n",
            b"#",
            b"\xff",
            b"\0",
            b" ",
            b"nest recording 1\n",
            b"end",
        ];
        let acts = vec![send(b"a\n"), Act::Silence(7), send(b"b"), send(b"c")];
        let whole = text(&talk(acts, Some(1))).repeat(2);
        let lines = whole.split_inclusive('\n').enumerate();
        let lines: Vec<&str> = lines
            .filter(|(n, _)| *n != 8)
            .map(|(_, line)| line)
            .collect();
        assert!(read("r", lines.concat().as_bytes()).is_ok_and(|all| all.len() == 2));
        let mut random = Random(7);
        let mut kept = 0;
        for _ in 0..5000 {
            let mut text = Vec::new();
            for line in &lines {
                match random.draw(16) {
                    0 => {}
                    1 => text.extend(pieces[random.draw(pieces.len())]),
                    2 => text.extend(&line.as_bytes()[random.draw(line.len())..]),
                    _ => text.extend(line.as_bytes()),
                }
            }
            kept += usize::from(is_read(&text));
        }
        assert!(kept > 10, "{kept}");
    }
}
