//! Conversations cut where another server answers otherwise, so that all servers do the same work.
//!
//! Must not know: which server it is, how the difference was found.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::talk::Talk;
use crate::trouble::Trouble;

/// What was cut because of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The name of the server.
    pub server: String,
    /// Conversations that became shorter.
    pub shorter: usize,
    /// Conversations of which nothing remained.
    pub left_out: usize,
    /// Messages that clients do not send any more.
    pub messages: usize,
    /// Of so many conversations and messages.
    pub of: (usize, usize),
    /// The first difference: what the server did, what was sent, expected and received.
    pub first: String,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut {
            server,
            shorter,
            left_out,
            messages,
            of,
            first,
        } = self;
        write!(
            f,
            "{server} answers otherwise than the models. Not measured, for any server: {messages} of {} \
             messages; of {} conversations, {shorter} were cut and {left_out} left out. The first \
             difference: {first}",
            of.1, of.0
        )
    }
}

/// The longest line of a difference that is shown.
const LONGEST: usize = 180;

/// Cuts conversations before the requests that these troubles are about, and adds to what was cut.
/// `keep`: only conversations that can be repeated over their connection are wanted.
pub fn apply(talks: &mut Vec<Talk>, troubles: &[Trouble], keep: bool, cut: &mut Cut) {
    let before: usize = talks.iter().map(Talk::asks).sum();
    let mut at: Vec<usize> = talks.iter().map(|talk| talk.requests.len()).collect();
    for (talk, request) in troubles.iter().filter_map(Trouble::differs) {
        if let Some(at) = at.get_mut(talk) {
            // Something is cut, so that it comes to an end.
            *at = request.min(at.saturating_sub(1));
        }
    }
    if cut.first.is_empty() {
        // The one with the shortest conversation.
        let first = troubles
            .iter()
            .filter(|trouble| trouble.differs().is_some());
        let first = first.min_by_key(|trouble| trouble.differs().map(|(talk, at)| (at, talk)));
        cut.first = first.map(shortened).unwrap_or_default();
    }
    let mut at = at.into_iter();
    talks.retain_mut(|talk| {
        let at = at.next().unwrap_or_default();
        if at == talk.requests.len() {
            return true;
        }
        talk.requests.truncate(at);
        // Neither its end nor the states in which it ends are as before.
        (talk.ends, talk.again) = (false, None);
        let remains = talk.asks() > 0 && !keep;
        cut.shorter += usize::from(remains);
        cut.left_out += usize::from(!remains);
        remains
    });
    cut.messages += before - talks.iter().map(Talk::asks).sum::<usize>();
}

/// The text of a trouble, without the ends of long lines.
fn shortened(trouble: &Trouble) -> String {
    let text = trouble.to_string();
    let lines = text
        .lines()
        .map(|line| match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Cut, apply};
    use crate::expect::Expect;
    use crate::talk::{Request, Talk};
    use crate::trouble::{Kind, Trouble};

    /// A conversation of three messages, which closes the connection.
    fn talk() -> Talk {
        let request = |send: &[u8]| Request {
            send: send.to_vec(),
            expect: Expect::exact(b"ok\n"),
            ..Request::default()
        };
        Talk::of(
            vec![request(b"a\n"), request(b"b\n"), request(b"c\n")],
            true,
        )
    }

    fn trouble(kind: Kind, place: Option<(usize, usize)>) -> Trouble {
        Trouble {
            kind,
            talk: "  send     \"x\"\n".to_owned(),
            place,
        }
    }

    #[test]
    fn what_is_answered_otherwise_is_cut() {
        let mut talks = vec![talk(), talk(), talk(), talk()];
        let mut cut = Cut {
            server: "other".to_owned(),
            of: (4, 12),
            ..Cut::default()
        };
        let long = Kind::Unasked("x".repeat(1000));
        let troubles = [
            trouble(Kind::Reset, Some((0, 2))),
            trouble(Kind::Closed, Some((0, 1))),
            trouble(Kind::Reset, Some((1, 0))),
            // The second answer was too long.
            trouble(long, Some((2, 2))),
        ];
        apply(&mut talks, &troubles, false, &mut cut);
        let lengths: Vec<usize> = talks.iter().map(|talk| talk.requests.len()).collect();
        assert_eq!(lengths, [1, 1, 3]);
        assert!(!talks[0].ends && talks[2].ends);
        assert_eq!((cut.shorter, cut.left_out, cut.messages), (2, 1, 7));
        assert_eq!(cut.first, "it reset a connection\n  send     \"x\"");
        // The end of the last one was missing. The first difference stays.
        let open = trouble(Kind::Open(std::time::Duration::from_secs(5)), Some((2, 3)));
        apply(&mut talks, &[open], false, &mut cut);
        assert_eq!(talks[2].requests.len(), 2);
        assert_eq!((cut.shorter, cut.messages), (3, 8));
        assert!(cut.first.starts_with("it reset"));
    }

    #[test]
    fn only_answers_cut_something_and_they_always_do() {
        let all = [
            trouble(Kind::Died("x".to_owned()), Some((0, 1))),
            trouble(Kind::Own("x".to_owned()), None),
        ];
        let mut talks = vec![talk()];
        apply(&mut talks, &all, false, &mut Cut::default());
        assert_eq!(talks, [talk()]);
        let late = trouble(Kind::Closed, Some((0, 3)));
        apply(
            &mut talks,
            std::slice::from_ref(&late),
            false,
            &mut Cut::default(),
        );
        assert_eq!(talks[0].requests.len(), 2);
        // What can no longer be repeated is of no use if all must be.
        apply(&mut talks, &[late], true, &mut Cut::default());
        assert!(talks.is_empty());
    }

    #[test]
    fn a_long_line_is_shortened() {
        let mut cut = Cut::default();
        let wrong = Kind::Wrong {
            expected: "é".repeat(500),
            came: "y".to_owned(),
        };
        apply(
            &mut vec![talk()],
            &[trouble(wrong, Some((0, 0)))],
            false,
            &mut cut,
        );
        let lines: Vec<&str> = cut.first.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[2].ends_with("éé …") && lines[2].chars().count() < 200);
    }
}
