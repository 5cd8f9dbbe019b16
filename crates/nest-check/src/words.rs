//! Words that a specification's C knows: names and keys that a client may have to send, so that an
//! action goes another way.
//!
//! Must not know: what they are compared with.

use crate::witness::Talks;
use nest_machine::Machine;
use std::collections::BTreeSet;

/// Longer texts are for people.
const LONGEST: usize = 40;
/// So many are enough.
const MOST: usize = 48;
/// Bytes that tell one choice of a pattern from another.
const TELLING: &[u8] = b"019aAzZ+-*/.,:;=?!@#%&<>()[]|~^_ ";
/// So many of one message are enough.
const MOST_VARIANTS: usize = 16;
/// Messages longer than this are not changed.
const LONGEST_MESSAGE: usize = 64;

/// The strings in the C of a specification, in the order in which they stand.
#[must_use]
pub fn words(m: &Machine) -> Vec<Vec<u8>> {
    let rules = m.rules.iter().map(|r| &r.action);
    let actions = rules.chain(m.timers.iter().map(|t| &t.action));
    let actions = actions.chain(&m.start).map(|a| &a.code);
    let startup = &m.startup;
    let code = m.prologue.iter().chain(&startup.file_scope);
    let code = code.chain(&startup.main).chain(&startup.functions);
    let mut met = BTreeSet::new();
    let all = code.chain(actions).flat_map(|code| strings(&code.text));
    let fitting =
        all.filter(|word| (1..=LONGEST).contains(&word.len()) && met.insert(word.clone()));
    fitting.take(MOST).collect()
}

/// The strings of a C text that have no escapes but plain ones.
fn strings(text: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let inside = &rest[at + 1..];
        let end = match rest.as_bytes()[at] {
            b'/' if inside.starts_with('*') => inside.find("*/").map(|n| n + 1),
            b'/' if inside.starts_with('/') => inside.find('\n'),
            b'/' => {
                rest = inside;
                continue;
            }
            quote => closing(inside, quote),
        };
        let Some(end) = end else { break };
        if rest.as_bytes()[at] == b'"' && !inside[..end].contains('\\') {
            found.push(inside.as_bytes()[..end].to_vec());
        }
        rest = &inside[end + 1..];
    }
    found
}

/// Where a quote ends.
fn closing(text: &str, quote: u8) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == quote && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

impl Talks<'_> {
    /// Messages that a rule takes in a set, too: the shortest with another byte in one place.
    pub fn variants(&mut self, set: usize, rule: usize) -> Vec<Vec<u8>> {
        let Some(plain) = self
            .message(set, rule)
            .filter(|m| m.len() <= LONGEST_MESSAGE)
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (at, byte) in (0..plain.len()).flat_map(|at| TELLING.iter().map(move |b| (at, *b))) {
            let mut message = plain.clone();
            message[at] = byte;
            if byte != plain[at] && self.takes(set, rule, &message) {
                found.push(message);
            }
            if found.len() == MOST_VARIANTS {
                break;
            }
        }
        found
    }

    /// A message that a rule takes in a set and that has the word in it: the shortest that comes of
    /// putting it in place of a part of the shortest one.
    pub fn message_with(&mut self, set: usize, rule: usize, word: &[u8]) -> Option<Vec<u8>> {
        let plain = self.message(set, rule)?;
        if plain.len() > LONGEST_MESSAGE {
            return None;
        }
        for replaced in (0..=plain.len()).rev() {
            for at in 0..=plain.len() - replaced {
                let message = [&plain[..at], word, &plain[at + replaced..]].concat();
                if message != plain && self.takes(set, rule, &message) {
                    return Some(message);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::strings;

    #[test]
    fn strings_are_those_of_c() {
        let text =
            "f(\"one\", '\"', \"t\\\"wo\"); /* \"no\" */ // \"nor this\"\n a / b; g(\"three\")";
        assert_eq!(strings(text), [b"one".to_vec(), b"three".to_vec()]);
        assert!(strings("\"never closed").is_empty());
        assert!(strings("/").is_empty());
        assert_eq!(strings("/ \"é\" '"), ["é".as_bytes().to_vec()]);
    }
}
