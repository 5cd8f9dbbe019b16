//! Records conversations: makes files of the lines that a server writes about its clients.
//!
//! Knows the format of these lines (`ID MS what rest`, as written by runtime/service/record/record.c). A
//! file is written when its conversation is over, and appears as a whole. Memory and files are bounded.
//! Must not know: how the lines arrive, who plays the conversations.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use nest_check::Act;
use nest_machine::{Feature, Framing, Machine};

use crate::quoted::quoted;
use crate::recording::{self, EXTENSION, MOST_BYTES, MOST_MESSAGES, MOST_WAIT, Recorded};
use crate::term::{self, Failure};

/// Shorter pauses are those of the network.
const SHORTEST_WAIT: u64 = 10;
/// A longer line is not the server's.
const LONGEST_LINE: u64 = 4096;

/// What is kept at most.
#[derive(Clone, Copy)]
struct Limits {
    /// Files of this run, and bytes that clients have sent in them.
    files: usize,
    written: usize,
    /// Conversations that are not over, and bytes of their clients.
    open: usize,
    held: usize,
}

const LIMITS: Limits = Limits {
    files: 10_000,
    written: 1 << 28,
    open: 1 << 16,
    held: 1 << 26,
};

/// Why a server's conversations cannot be recorded.
pub fn unsuitable(m: &Machine) -> Option<&'static str> {
    let has = |feature| m.features.contains(feature);
    if has(Feature::Tls) && !has(Feature::StartTls) {
        Some(
            "its connections are encrypted, and a recording would not be; record a server without option tls",
        )
    } else if has(Feature::Stages) {
        Some("%decode changes what clients send before it is matched, and only the result is known")
    } else if has(Feature::Inetd) {
        Some("it is started by inetd for each connection")
    } else if m.settings.framing == Framing::Message {
        Some("with option framing message it is not known where its messages begin")
    } else {
        None
    }
}

/// Makes files of a server's lines.
pub struct Recorder {
    folder: PathBuf,
    limits: Limits,
    /// The number of the next file.
    next: usize,
    files: usize,
    written: usize,
    open: BTreeMap<u64, Open>,
    /// Bytes in all of them.
    held: usize,
    /// Conversations that had no end.
    lost: usize,
    /// A file could not be written, or there are enough: nothing more is recorded.
    over: bool,
    said: BTreeSet<&'static str>,
}

/// A conversation that is not over.
#[derive(Default)]
struct Open {
    talk: Recorded,
    messages: usize,
    bytes: usize,
    /// The time of its last line.
    last: u64,
    /// The client was sent something after its last message.
    replied: bool,
    /// It goes on, but what follows is not recorded.
    cut: bool,
    secret: bool,
}

impl Recorder {
    /// Records in a folder, which is made if there is none.
    pub fn new(folder: &Path) -> Result<Recorder, Failure> {
        let failed =
            |e: std::io::Error| Failure::io(format!("cannot record in {}", folder.display()), &e);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut next = 1;
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = PathBuf::from(entry.map_err(failed)?.file_name());
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if let Some(number) = stem.and_then(|stem| stem.parse::<u32>().ok()) {
                next = next.max(number as usize + 1);
            }
        }
        // A folder in which nothing can be written is reported before the server starts.
        draft(folder).map_err(failed)?;
        Ok(Recorder {
            folder: folder.to_owned(),
            limits: LIMITS,
            next,
            files: 0,
            written: 0,
            open: BTreeMap::new(),
            held: 0,
            lost: 0,
            over: false,
            said: BTreeSet::new(),
        })
    }

    /// Reads lines up to their end, and says what was recorded.
    pub fn run(mut self, mut lines: impl BufRead) {
        loop {
            let mut line = Vec::new();
            let some = lines
                .by_ref()
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line);
            match some {
                Ok(0) | Err(_) => break,
                Ok(_) => self.line(&line),
            }
        }
        term::note(self.summary());
    }

    /// What was recorded.
    fn summary(&self) -> String {
        let many = |n: usize| {
            if n == 1 {
                "conversation"
            } else {
                "conversations"
            }
        };
        let lost = self.lost + self.open.len();
        let left = match lost {
            0 => String::new(),
            n => format!(
                "; {n} {} had no end, and {} not",
                many(n),
                if n == 1 { "is" } else { "are" }
            ),
        };
        let folder = self.folder.display();
        format!(
            "{} {} recorded in {folder}{left}",
            self.files,
            many(self.files)
        )
    }

    /// Takes a line. One that is not the recording's is ignored.
    fn line(&mut self, line: &[u8]) {
        let _ = self.parsed(line.trim_ascii_end());
    }

    fn parsed(&mut self, line: &[u8]) -> Option<()> {
        let mut words = line.splitn(4, |byte| *byte == b' ');
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
        let (id, ms) = (number()?, number()?);
        let (what, rest) = (words.next()?, words.next().unwrap_or_default());
        match what {
            b"open" => self.begins(id, ms),
            b"take" | b"read" => {
                let (bytes, _) = quoted(rest.strip_prefix(b"\"")?).ok()?;
                self.sent(id, ms, what == b"take", &bytes);
            }
            b"reply" => {
                let open = self.open.get_mut(&id)?;
                (open.replied, open.last) = (true, ms);
            }
            b"tls" => self.encrypted(id),
            b"secret" => self.hide(id),
            b"end" => self.ends(id),
            _ => {}
        }
        Some(())
    }

    fn begins(&mut self, id: u64, ms: u64) {
        // A process that was killed has not written the end of its conversations.
        self.lost += usize::from(self.forget(id).is_some());
        if self.over {
            return;
        }
        if self.open.len() >= self.limits.open {
            let most = self.limits.open;
            self.once(
                "open",
                format!("more than {most} clients at a time: some are not recorded"),
            );
            return;
        }
        let last = ms;
        self.open.insert(
            id,
            Open {
                last,
                ..Open::default()
            },
        );
    }

    fn forget(&mut self, id: u64) -> Option<Open> {
        let open = self.open.remove(&id)?;
        self.held -= open.bytes;
        Some(open)
    }

    /// The client has sent bytes: a message, or more of one.
    fn sent(&mut self, id: u64, ms: u64, begins: bool, bytes: &[u8]) {
        let (held, most) = (self.held, self.limits.held);
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.cut) else {
            return;
        };
        let begins = begins || open.replied || open.messages == 0;
        let long = open.bytes + bytes.len() > MOST_BYTES
            || open.messages + usize::from(begins) > MOST_MESSAGES;
        if long || held + bytes.len() > most {
            open.cut = true;
            if !begins {
                // Half a message would be answered otherwise.
                self.held -= open.drop_last();
            }
            if long {
                self.once("long", format!(
                    "a client sends more than {MOST_MESSAGES} messages or {} KB: only the beginning of \
                     such conversations is recorded",
                    MOST_BYTES >> 10
                ));
            } else {
                self.once("held", format!(
                    "conversations that are not over have more than {} MB: some are recorded only in part",
                    most >> 20
                ));
            }
            return;
        }
        open.add(ms, begins, bytes);
        self.held += bytes.len();
    }

    /// The connection became encrypted before what follows, or earlier.
    fn encrypted(&mut self, id: u64) {
        let open = self.open.get_mut(&id);
        let Some(open) = open.filter(|open| !open.cut && open.talk.tls.is_none()) else {
            return;
        };
        open.talk.tls = Some(open.messages);
        // What follows is a message of its own.
        open.replied = true;
        self.once(
            "tls",
            "recordings have in clear what clients send over TLS; only you can read the files"
                .to_owned(),
        );
    }

    /// The connection is encrypted from its beginning: the recording would not be.
    fn hide(&mut self, id: u64) {
        let Some(open) = self.open.get_mut(&id).filter(|open| !open.secret) else {
            return;
        };
        open.secret = true;
        open.cut = true;
        self.once(
            "secret",
            "conversations that are encrypted from their beginning are not recorded".to_owned(),
        );
    }

    fn ends(&mut self, id: u64) {
        let Some(open) = self.forget(id) else { return };
        if self.over || open.secret || open.messages == 0 {
            return;
        }
        if self.files >= self.limits.files || self.written + open.bytes > self.limits.written {
            self.over = true;
            let (files, bytes) = (self.limits.files, self.limits.written >> 20);
            self.once(
                "files",
                format!("there are {files} recordings, or {bytes} MB: nothing more is recorded"),
            );
            return;
        }
        match self.write(&open.talk) {
            Ok(()) => {
                self.files += 1;
                self.written += open.bytes;
            }
            Err(error) => {
                self.over = true;
                let (folder, why) = (self.folder.display().to_string(), term::reason(&error));
                self.once(
                    "failed",
                    format!("cannot record in {folder}: {why}; nothing more is recorded"),
                );
            }
        }
    }

    /// Writes a file with a new name. It appears when it is complete.
    fn write(&mut self, talk: &Recorded) -> std::io::Result<()> {
        let mut file = draft(&self.folder)?;
        file.write_all(recording::text(talk).as_bytes())?;
        loop {
            let name = format!("{:06}.{EXTENSION}", self.next);
            self.next += 1;
            match file.persist_noclobber(self.folder.join(name)) {
                Ok(_) => return Ok(()),
                Err(e) if e.error.kind() == ErrorKind::AlreadyExists => file = e.file,
                Err(e) => return Err(e.error),
            }
        }
    }

    fn once(&mut self, what: &'static str, text: String) {
        if self.said.insert(what) {
            term::note(text);
        }
    }
}

impl Open {
    fn add(&mut self, ms: u64, begins: bool, bytes: &[u8]) {
        if begins {
            let pause = ms.saturating_sub(self.last);
            if self.messages > 0 && pause >= SHORTEST_WAIT {
                let pause = u32::try_from(pause).unwrap_or(MOST_WAIT);
                self.talk.acts.push(Act::Silence(pause.min(MOST_WAIT)));
            }
            self.talk.acts.push(Act::Send(Vec::new()));
            self.messages += 1;
        }
        if let Some(Act::Send(message)) = self.talk.acts.last_mut() {
            message.extend(bytes);
        }
        self.bytes += bytes.len();
        (self.replied, self.last) = (false, ms);
    }

    /// Removes the last message, and the pause before it. Returns the number of its bytes.
    fn drop_last(&mut self) -> usize {
        let Some(Act::Send(message)) = self.talk.acts.pop() else {
            return 0;
        };
        if let Some(Act::Silence(_)) = self.talk.acts.last() {
            self.talk.acts.pop();
        }
        self.messages -= 1;
        self.bytes -= message.len();
        message.len()
    }
}

/// A file without a name of its own, which only this user can read.
fn draft(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".new-").tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Limits, Recorder};

    /// The files that some lines make, with small limits, and what is said at the end.
    fn files(folder: &Path, lines: &str, limits: Limits) -> (Vec<String>, Recorder) {
        let mut recorder = Recorder::new(folder).unwrap();
        recorder.limits = limits;
        lines
            .lines()
            .for_each(|line| recorder.line(line.as_bytes()));
        let all = std::fs::read_dir(folder).unwrap();
        let mut all: Vec<_> = all.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        let text = |path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap();
        (all.iter().map(text).collect(), recorder)
    }

    fn talk(body: &str) -> String {
        format!("nest recording 1\ntalk\n{body}end\n")
    }

    #[test]
    fn conversations_become_files() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("000007.talk"), "x").unwrap();
        let lines = "1 100 open\n2 100 open\n1 105 reply\n1 900 take \"A\\n\"\n2 901 take \"B\"\n\
            2 902 read \"\\x00\\\"\"\n1 903 reply\n1 1500 read \"answer\\n\"\n1 1501 take \"C\"\n2 1600 end eof\n\
            nonsense\n1 x take \"a\"\n9 1 take \"a\"\n3 1 open\n3 1 end eof\n1 1600 end gone\n4 1 open\n4 2 take \"D\"\n";
        let (files, recorder) = files(folder.path(), lines, super::LIMITS);
        let wanted = [
            "x".to_owned(),
            talk("send \"B\\x00\\\"\"\n"),
            talk("send \"A\\n\"\nwait 597\nsend \"answer\\n\"\nsend \"C\"\n"),
        ];
        assert_eq!(files, wanted);
        assert!(folder.path().join("000009.talk").exists());
        let summary = recorder.summary();
        assert!(
            summary.starts_with("2 conversations recorded in "),
            "{summary}"
        );
        assert!(
            summary.ends_with("; 1 conversation had no end, and is not"),
            "{summary}"
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let small = Limits {
            files: 2,
            written: 100,
            open: 2,
            held: 10,
        };
        let folder = tempfile::tempdir().unwrap();
        // The third one is one too many at a time; then the second has too many bytes.
        let lines = "1 1 open\n2 1 open\n3 1 open\n3 1 take \"x\"\n3 1 end eof\n1 1 take \"aaaa\"\n\
            2 1 take \"bb\"\n2 1 take \"cccc\"\n2 1 read \"ddd\"\n2 1 take \"e\"\n2 1 end eof\n\
            1 1 take \"ff\"\n1 1 end eof\n4 1 open\n4 1 take \"g\"\n4 1 end eof\n5 1 open\n";
        let (files, recorder) = files(folder.path(), lines, small);
        let wanted = [talk("send \"bb\"\n"), talk("send \"aaaa\"\nsend \"ff\"\n")];
        assert_eq!(files, wanted);
        assert_eq!(Vec::from_iter(recorder.said), ["files", "held", "open"]);
        assert_eq!((recorder.held, recorder.open.len()), (0, 0));
    }

    #[test]
    fn long_conversations_are_cut_between_messages() {
        let folder = tempfile::tempdir().unwrap();
        let many = "1 1 take \"a\"\n".repeat(1005);
        let half = format!("2 1 read \"{}\"\n", "b".repeat(900)).repeat(300);
        let lines = format!(
            "1 1 open\n{many}1 1 end eof\n2 1 open\n2 1 take \"a\"\n2 1 take \"b\"\n{half}2 1 end eof\n"
        );
        let (files, recorder) = files(folder.path(), &lines, super::LIMITS);
        let wanted = [talk(&"send \"a\"\n".repeat(1000)), talk("send \"a\"\n")];
        assert_eq!(files, wanted);
        assert_eq!(
            (recorder.held, Vec::from_iter(recorder.said)),
            (0, vec!["long"])
        );
    }

    #[test]
    fn secrets_and_lost_ends_are_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "1 1 open\n1 1 secret\n1 1 tls\n1 2 take \"STARTTLS\"\n1 2 tls\n1 2 end eof\n\
            2 1 open\n2 1 take \"lost\"\n2 1 open\n2 1 take \"found\"\n2 1 end eof\n";
        let (files, recorder) = files(folder.path(), lines, super::LIMITS);
        assert_eq!(files, [talk("send \"found\"\n")]);
        assert_eq!((recorder.lost, recorder.held), (1, 0));
        assert_eq!(Vec::from_iter(recorder.said), ["secret"]);
    }

    #[test]
    fn the_place_of_a_handshake_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "1 1 open\n1 1 take \"STARTTLS\"\n1 1 reply\n1 50 tls\n1 50 read \"A\"\n1 50 tls\n\
            1 50 read \"B\"\n1 50 tls\n1 50 take \"C\"\n1 60 end eof\n2 1 open\n2 1 tls\n2 1 take \"D\"\n\
            2 1 end eof\n";
        let (files, recorder) = files(folder.path(), lines, super::LIMITS);
        let wanted = [
            talk("send \"STARTTLS\"\ntls\nwait 49\nsend \"AB\"\nsend \"C\"\n"),
            talk("tls\nsend \"D\"\n"),
        ];
        assert_eq!(files, wanted);
        assert_eq!(Vec::from_iter(recorder.said), ["tls"]);
    }
}
