//! A conversation: what a client sends, and what it must be answered.
//!
//! Must not know: where conversations come from, sockets.

use crate::expect::{Expect, literal};

/// A message and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What the client sends; nothing: the server speaks first.
    pub send: Vec<u8>,
    /// What it must receive before it goes on.
    pub expect: Expect,
    /// How long the client waits before it sends this, in milliseconds.
    pub think: u32,
    /// Whether the connection becomes encrypted behind the answer: the client begins a handshake.
    pub encrypts: bool,
}

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// In order. All but the last one have an answer.
    pub requests: Vec<Request>,
    /// Whether the server closes the connection after it.
    pub ends: bool,
    /// Where the conversation may go on after its end, over the same connection, with the same answers.
    pub again: Option<usize>,
}

impl Talk {
    /// A conversation of these messages. A message without an answer joins the next one. It ends before
    /// a handshake that no answer announces: a client cannot know when to begin it.
    #[must_use]
    pub fn of(steps: Vec<Request>, ends: bool) -> Talk {
        let mut talk = Talk::default();
        let mut open: Option<Request> = None;
        for step in steps {
            let mut request = open.take().unwrap_or_default();
            request.think = request.think.max(step.think);
            request.send.extend(step.send);
            request.expect = step.expect;
            request.encrypts = step.encrypts;
            if request.expect.is_empty() {
                if request.encrypts {
                    return talk;
                }
                open = Some(request);
            } else {
                talk.requests.push(request);
            }
        }
        talk.ends = ends;
        // The end is the answer of the last message.
        talk.requests
            .extend(open.filter(|last| ends && !last.send.is_empty()));
        talk
    }

    /// How often a client waits for an answer, or for the end.
    #[must_use]
    pub fn asks(&self) -> usize {
        self.requests.iter().filter(|r| !r.send.is_empty()).count()
    }

    /// Whether the connection becomes encrypted in it.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.requests.iter().any(|request| request.encrypts)
    }

    /// The conversation up to a request, a line for each message and answer.
    #[must_use]
    pub fn shown(&self, until: usize) -> String {
        let mut text = String::new();
        for request in self.requests.iter().take(until) {
            if !request.send.is_empty() {
                text.push_str(&format!("  send     {}\n", literal(&request.send)));
            }
            text.push_str(&format!("  receive  {}\n", request.expect));
            if request.encrypts {
                text.push_str("  handshake\n");
            }
        }
        if let Some(request) = self.requests.get(until)
            && !request.send.is_empty()
        {
            text.push_str(&format!("  send     {}\n", literal(&request.send)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, Talk};
    use crate::expect::Expect;

    #[test]
    fn messages_without_an_answer_join_the_next() {
        let step = |send: &[u8], reply: &[u8]| Request {
            send: send.to_vec(),
            expect: Expect::exact(reply),
            ..Request::default()
        };
        let steps = vec![
            step(b"", b"hello\n"),
            step(b"a\n", b""),
            step(b"b\n", b"ok\n"),
            step(b"c\n", b""),
        ];
        let talk = Talk::of(steps.clone(), false);
        assert_eq!(
            talk.requests,
            [step(b"", b"hello\n"), step(b"a\nb\n", b"ok\n")]
        );
        assert_eq!(talk.asks(), 1);
        assert_eq!(
            talk.shown(1),
            "  receive  \"hello\\n\"\n  send     \"a\\nb\\n\"\n"
        );
        let mut encrypts = steps.clone();
        encrypts[2].encrypts = true;
        let talk = Talk::of(encrypts, false);
        assert_eq!(
            talk.shown(2),
            "  receive  \"hello\\n\"\n  send     \"a\\nb\\n\"\n  receive  \"ok\\n\"\n  handshake\n"
        );
        assert!(talk.encrypts());
        // No answer says that the handshake may begin.
        let mut silent = steps.clone();
        silent[1].encrypts = true;
        let talk = Talk::of(silent, true);
        assert_eq!(talk.requests, [step(b"", b"hello\n")]);
        assert!(!talk.ends && !talk.encrypts());
        // The end is an answer.
        assert_eq!(
            Talk::of(steps, true).requests.last(),
            Some(&step(b"c\n", b""))
        );
    }
}
